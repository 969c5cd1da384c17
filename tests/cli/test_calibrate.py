"""`dp2theory calibrate`: the printed noise multiplier keeps its budget, and what is refused."""

import pytest

RUN = "--dataset-size 100 --batch-size 1 --steps 1000"


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(2, "1e-6"), (0.01, "1e-6"), (100, "1e-6"), (2, "1e-30"), (0.01, "1e-30"), (100, "1e-30")],
)
def test_accounting_the_printed_value_meets_the_budget(cli, epsilon, delta):
    budget = f"--delta {delta} {RUN}"
    command = f"calibrate --for noise-multiplier --epsilon {epsilon} --quiet {budget}"
    printed = cli(command).out.strip()
    assert repr(float(printed)) == printed
    again = cli(f"account --json --noise-multiplier {printed} {budget}").document["result"]
    assert epsilon * (1 - 1e-9) < again["epsilon"]["upper"] <= epsilon


def test_json_and_text_print_the_same_digits(cli):
    command = f"calibrate --for noise-multiplier --epsilon 2 --delta 1e-6 {RUN}"
    document = cli(command, "--json").document
    multiplier = document["result"]["noise_multiplier"]
    assert f"noise multiplier = {multiplier!r}\n" in cli(command).out
    assert document["result"]["epsilon"]["upper"] <= 2
    assert document["inputs"]["for"]["value"] == "noise-multiplier"
    assert document["inputs"]["epsilon"] == {"value": 2.0, "unit": "nats", "default": False}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--for magic --epsilon 2", ["magic", "noise-multiplier"]),
        ("--epsilon 2", ["--for"]),
        ("--for noise-multiplier", ["--epsilon"]),
        ("--for noise-multiplier --epsilon 0", ["--epsilon 0"]),
        ("--for noise-multiplier --epsilon -1", ["--epsilon -1"]),
        ("--for noise-multiplier --epsilon nan", ["--epsilon nan"]),
        ("--for noise-multiplier --epsilon inf", ["--epsilon inf"]),
        ("--for noise-multiplier --epsilon 2 --delta 0", ["--delta 0"]),
        ("--for noise-multiplier --epsilon 2 --delta 1", ["--delta 1"]),
        ("--for noise-multiplier --epsilon 2 --delta nan", ["--delta nan"]),
        ("--for noise-multiplier --epsilon 2 --batch-size 101", ["--batch-size 101"]),
        ("--for noise-multiplier --epsilon 2 --epochs 1", ["--epochs", "both"]),
        ("--for noise-multiplier --epsilon 2 --relation cousin", ["cousin", "replace-one"]),
        ("--for noise-multiplier --epsilon 2 --sampling gossip", ["gossip", "poisson"]),
        ("--for noise-multiplier --epsilon 2 --noise-multiplier 1", ["--noise-multiplier"]),
    ],
)
def test_bad_input_is_one_line_and_exit_2(cli, arguments, words):
    cli("calibrate --json", RUN, arguments).refused(2, *words)


def test_infeasible_budget_is_exit_4_with_the_nearest(cli, monkeypatch):
    import accountants

    def refuse(*_arguments, **_options):
        error = accountants.InfeasibleBudgetError("no noise multiplier meets epsilon=2")
        error.nearest = "epsilon 3.5"
        raise error

    monkeypatch.setattr(accountants, "calibrate_noise_multiplier", refuse, raising=False)
    outcome = cli(f"calibrate --json --for noise-multiplier --epsilon 2 {RUN}")
    outcome.refused(4, "no noise multiplier", "nearest feasible: epsilon 3.5")


@pytest.mark.parametrize("name", ["dataset-size", "batch-size", "steps", "epochs"])
@pytest.mark.parametrize("digits", [30, 400])
def test_counts_that_are_no_doubles_are_refused(cli, name, digits):
    counts = {"dataset-size": "100", "batch-size": "1", "steps": "9"}
    if name == "epochs":
        del counts["steps"]
    counts[name] = "9" * digits
    words = " ".join(f"--{key} {value}" for key, value in counts.items())
    cli(f"calibrate --for noise-multiplier --epsilon 2 {words}").refused(2, f"--{name} 9999999999")


WHOLE = "--epsilon 2 --delta 1e-6 --dataset-size 10000 --tightness fast"
STEPS = f"calibrate --for steps --batch-size 100 --noise-multiplier 3 {WHOLE}"
BATCH = f"calibrate --for batch-size --steps 500 --noise-multiplier 3 {WHOLE}"


@pytest.mark.parametrize("sampling", ["poisson", "without-replacement"])
@pytest.mark.parametrize("command", [STEPS, BATCH])
def test_the_largest_whole_number_meets_the_budget_and_the_next_does_not(cli, command, sampling):
    name = "steps" if command == STEPS else "batch_size"
    option = "--" + name.replace("_", "-")
    document = cli(command, f"--json --sampling {sampling}").document
    value = document["result"][name]
    assert cli(command, f"--quiet --sampling {sampling}").out == f"{value}\n"

    def account(number):
        words = (
            command.replace("calibrate --for steps", "")
            .replace("calibrate --for batch-size", "")
            .replace("--epsilon 2", "")
        )
        run = f"account --json {words} --sampling {sampling} {option} {number}"
        return cli(run).document["result"]["epsilon"]

    assert account(value) == document["result"]["epsilon"]
    assert account(value + 1) == document["result"]["next_epsilon"]
    assert account(value)["upper"] <= 2 < account(value + 1)["upper"]
    text = cli(command, f"--sampling {sampling}").out
    assert text.startswith(f"{name.replace('_', ' ')} = {value}\n")
    assert f"with one more: epsilon <= {account(value + 1)['upper']!r}, over 2.0" in text


def test_steps_of_shuffled_epochs_are_whole_epochs(cli):
    command = STEPS.replace("--noise-multiplier 3", "--noise-multiplier 30")
    document = cli(command, "--json --sampling shuffled-epochs").document
    result = document["result"]
    assert result["steps"] == 100 * result["epochs"] > 0
    run = "--dataset-size 10000 --batch-size 100 --noise-multiplier 30 --delta 1e-6"
    for epochs, bracket in ((result["epochs"], result["epsilon"]),
                            (result["epochs"] + 1, result["next_epsilon"])):  # fmt: skip
        again = cli(f"account --json --sampling shuffled-epochs --epochs {epochs}", run)
        assert again.document["result"]["epsilon"]["upper"] == bracket["upper"]
    assert f"({result['epochs']} epochs)" in cli(command, "--sampling shuffled-epochs").out


def test_batch_size_with_epochs_takes_the_steps_along(cli):
    command = BATCH.replace("--steps 500", "--epochs 4")
    result = cli(command, "--json").document["result"]
    assert result["steps"] == 10000 // result["batch_size"] * 4
    assert result["epsilon"]["upper"] <= 2 < result["next_epsilon"]["upper"]


def test_a_generous_budget_takes_the_whole_data_set(cli):
    result = cli(BATCH.replace("--epsilon 2", "--epsilon 1000"), "--json").document["result"]
    assert (result["batch_size"], result["next_epsilon"]) == (10000, None)
    assert "whole data set" in cli(BATCH.replace("--epsilon 2", "--epsilon 1000")).out


@pytest.mark.parametrize("sampling", ["without-replacement", "with-replacement", "shuffled-epochs"])
def test_noise_for_fixed_size_batches(cli, sampling):
    budget = f"--delta 1e-6 --sampling {sampling} --tightness fast --dataset-size 10000"
    budget += " --batch-size 100 --epochs 5"
    printed = cli(f"calibrate --for noise-multiplier --epsilon 2 --quiet {budget}").out.strip()
    again = cli(f"account --json --noise-multiplier {printed} {budget}").document["result"]
    assert 2 * (1 - 1e-6) < again["epsilon"]["upper"] <= 2


def test_tight_noise_is_smaller_and_keeps_the_budget(cli):
    budget = "--delta 1e-6 --sampling without-replacement --dataset-size 1000 --batch-size 20"
    command = f"calibrate --for noise-multiplier --epsilon 1 --steps 100 {budget}"
    fast = cli(command, "--quiet --tightness fast").out.strip()
    tight = cli(command, "--quiet").out.strip()
    again = cli(f"account --json --noise-multiplier {tight} --steps 100 {budget}").document[
        "result"
    ]
    assert 1 - 1e-3 <= again["epsilon"]["upper"] <= 1
    assert float(tight) < 0.98 * float(fast)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (STEPS.replace("--epsilon 2", "--epsilon 1e-5"), ["not met by steps=1", "epsilon="]),
        (BATCH.replace("--epsilon 2", "--epsilon 1e-9"), ["not met by batch_size=1", "epsilon="]),
    ],
)
def test_what_no_number_meets_is_exit_4_with_the_nearest(cli, command, words):
    cli(command, "--json").refused(4, "nearest feasible", *words)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"{STEPS} --steps 3", ["--steps", "solved for"]),
        (f"{STEPS} --epochs 3", ["--epochs", "solved for"]),
        (f"{BATCH} --batch-size 3", ["--batch-size", "solved for"]),
        (STEPS.replace("--noise-multiplier 3", ""), ["--noise-multiplier is wanted"]),
        (BATCH.replace("--noise-multiplier 3", ""), ["--noise-multiplier is wanted"]),
        (STEPS.replace("--batch-size 100", ""), ["--batch-size is wanted"]),
        (BATCH.replace("--steps 500", ""), ["--epochs", "--steps", "neither"]),
        (STEPS.replace("multiplier 3", "multiplier -3"), ["--noise-multiplier -3"]),
        (STEPS.replace("--batch-size 100", "--batch-size 10001"), ["--batch-size 10001"]),
        (f"{STEPS} --sampling gossip", ["gossip", "poisson"]),
        (f"{STEPS} --relation cousin", ["cousin", "replace-one"]),
        (f"{STEPS} --tightness loose", ["loose", "fast"]),
    ],
)
def test_whole_number_targets_refuse_bad_input(cli, command, words):
    cli(command, "--json").refused(2, *words)


def test_a_relation_without_a_theorem_is_exit_5_for_every_target(cli):
    arguments = "--sampling shuffled-epochs --relation add-or-remove-one"
    noise = f"calibrate --for noise-multiplier --batch-size 10 --epochs 5 {WHOLE}"
    for command in (STEPS, BATCH.replace("--steps 500", "--epochs 5"), noise):
        cli(command, arguments).refused(5, "shuffled-epochs", "covered under REPLACE_ONE")


def test_an_infeasible_number_of_epochs_is_told_in_steps(cli):
    outcome = cli(
        "calibrate --for steps --epsilon 1.7 --dataset-size 2000 --batch-size 20",
        "--noise-multiplier 1.3 --sampling shuffled-epochs",
    )
    outcome.refused(4, "steps=100 (1 epochs)")
    assert "steps=1," not in outcome.err
    assert "steps=1 " not in outcome.err
