"""`dp2theory calibrate`: the printed noise multiplier keeps its budget, and what is refused."""

import pytest

from dp2theory.cli import calibrate as calibrate_module

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


@pytest.mark.parametrize("target", ["steps", "batch-size"])
def test_other_targets_are_refused_with_the_reason(cli, target):
    cli(f"calibrate --for {target} --epsilon 2 {RUN}").refused(2, target, "not available yet")


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


def test_unsupported_sampling_is_exit_5(cli):
    command = f"calibrate --for noise-multiplier --epsilon 2 {RUN}"
    cli(command, "--sampling with-replacement").refused(5, "with-replacement")


def test_infeasible_budget_is_exit_4_with_the_nearest(cli, monkeypatch):
    import accountants

    def refuse(*_arguments, **_options):
        error = accountants.InfeasibleBudgetError("no noise multiplier meets epsilon=2")
        error.nearest = "epsilon 3.5"
        raise error

    monkeypatch.setattr(accountants, "calibrate_noise_multiplier", refuse, raising=False)
    outcome = cli(f"calibrate --json --for noise-multiplier --epsilon 2 {RUN}")
    outcome.refused(4, "no noise multiplier", "nearest feasible: epsilon 3.5")


def test_help_names_every_target():
    # the refusal above is only worth something while the list is complete
    assert calibrate_module.TARGETS == ("noise-multiplier", "steps", "batch-size")


@pytest.mark.parametrize("name", ["dataset-size", "batch-size", "steps", "epochs"])
@pytest.mark.parametrize("digits", [30, 400])
def test_counts_that_are_no_doubles_are_refused(cli, name, digits):
    counts = {"dataset-size": "100", "batch-size": "1", "steps": "9"}
    if name == "epochs":
        del counts["steps"]
    counts[name] = "9" * digits
    words = " ".join(f"--{key} {value}" for key, value in counts.items())
    cli(f"calibrate --for noise-multiplier --epsilon 2 {words}").refused(2, f"--{name} 9999999999")
