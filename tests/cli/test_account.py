"""`dp2theory account`: its numbers, its envelope, and what it refuses."""

import math

import pytest

RUN = "--dataset-size 1000 --batch-size 10 --steps 50 --noise-multiplier 1"


@pytest.mark.parametrize(
    ("run", "steps", "epsilon"),
    [
        # Reference values of the project's issue 2, computed there to 11 digits.
        (
            "--dataset-size 25000 --batch-size 64 --epochs 100 --noise-multiplier 1"
            " --delta 1.4530012585117147e-5",
            39_000,
            2.7241678314,
        ),
        (
            "--dataset-size 80000 --batch-size 64 --epochs 50 --noise-multiplier 0.5"
            " --delta 4.04204379110848e-6",
            62_500,
            8.9083437922,
        ),
    ],
)
def test_epsilon_of_published_runs(cli, run, steps, epsilon):
    result = cli("account --json", run).document["result"]
    assert result["steps"] == steps
    assert result["epsilon"]["upper"] - result["epsilon"]["lower"] < 1e-8
    # the reference is rounded to ten decimals
    assert result["epsilon"]["lower"] <= epsilon + 5e-11
    assert result["epsilon"]["upper"] >= epsilon - 5e-11


def test_default_delta_and_every_input_are_printed(cli):
    inputs = cli("account --json", RUN).document["inputs"]
    assert inputs["delta"] == {"value": 1000**-1.1, "unit": "probability", "default": True}
    assert inputs["sampling_probability"]["value"] == 0.01
    assert inputs["relation"] == {"value": "add-or-remove-one", "unit": "name", "default": True}
    text = cli("account", RUN).out
    assert repr(1000**-1.1) in text
    assert "add-or-remove-one" in text
    assert "[default]" in text


def test_steps_from_epochs_drop_the_last_partial_batch(cli):
    result = cli("account --json --dataset-size 99 --batch-size 10 --epochs 7 --noise-multiplier 2")
    assert result.document["result"]["steps"] == 63
    assert result.document["inputs"]["steps"] == {"value": 63, "unit": "steps", "default": True}


def test_delta_at_epsilon_is_the_inverse(cli):
    epsilon = cli("account --json --delta 1e-5", RUN).document["result"]["epsilon"]["upper"]
    result = cli(f"account --json --epsilon {epsilon!r}", RUN).document["result"]
    assert result["delta"]["upper"] == pytest.approx(1e-5, rel=1e-7)
    assert result["log_delta"]["upper"] == pytest.approx(math.log(1e-5), abs=1e-7)
    assert result["delta"]["lower"] <= result["delta"]["upper"]


def test_relations_differ_and_replacing_costs_more(cli):
    def upper(relation):
        outcome = cli("account --json --delta 1e-5", RUN, f"--relation {relation}")
        return outcome.document["result"]["epsilon"]["upper"]

    assert upper("replace-one") > upper("add-or-remove-one")


def test_text_has_the_same_digits_as_json(cli):
    bracket = cli("account --json --delta 1e-5", RUN).document["result"]["epsilon"]
    text = cli("account --delta 1e-5", RUN).out
    assert f"epsilon <= {bracket['upper']!r}" in text
    assert f"epsilon >= {bracket['lower']!r}" in text
    assert cli("account --quiet --delta 1e-5", RUN).out == f"{bracket['upper']!r}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--noise-multiplier nan", ["--noise-multiplier", "nan"]),
        ("--noise-multiplier inf", ["--noise-multiplier", "inf"]),
        ("--noise-multiplier 0", ["--noise-multiplier", "greater than 0"]),
        ("--noise-multiplier -1", ["--noise-multiplier", "-1"]),
        ("--noise-multiplier one", ["--noise-multiplier"]),
        ("--delta 0", ["--delta", "strictly between 0 and 1"]),
        ("--delta 1", ["--delta", "strictly between 0 and 1"]),
        ("--delta 1.5", ["--delta", "1.5"]),
        ("--delta -1e-6", ["--delta"]),
        ("--delta nan", ["--delta", "nan"]),
        ("--delta inf", ["--delta", "inf"]),
        ("--epsilon nan", ["--epsilon", "nan"]),
        ("--epsilon inf", ["--epsilon", "inf"]),
        ("--epsilon -1", ["--epsilon", "-1"]),
        ("--delta 1e-5 --epsilon 1", ["--delta", "--epsilon", "both"]),
        ("--batch-size 1001", ["--batch-size 1001", "1000"]),
        ("--batch-size 0", ["--batch-size 0"]),
        ("--batch-size 1.5", ["--batch-size"]),
        ("--dataset-size -5", ["--dataset-size -5"]),
        ("--dataset-size ten", ["--dataset-size"]),
        ("--steps 0", ["--steps 0"]),
        ("--steps -3", ["--steps -3"]),
        ("--steps nan", ["--steps"]),
        ("--epochs 2", ["--epochs", "--steps", "both"]),
        ("--sampling gossip", ["gossip", "poisson", "without-replacement", "with-replacement"]),
        ("--relation cousin", ["cousin", "add-or-remove-one", "replace-one", "replace-special"]),
        ("--noise-multiplier 1e-300", ["--noise-multiplier 1e-300", "1e-100"]),
        ("--noise-multiplier 0", ["--noise-multiplier 0"]),
        ("--tau 3", ["--tau"]),
        ("stray", ["stray"]),
    ],
)
def test_bad_input_is_one_line_and_exit_2(cli, arguments, words):
    cli("account --json", RUN, arguments).refused(2, *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--dataset-size 10 --batch-size 1 --noise-multiplier 1", ["--epochs", "neither"]),
        (
            "--dataset-size 10 --batch-size 1 --noise-multiplier 1 --epochs 0",
            ["--epochs 0", "no steps"],
        ),
        ("--dataset-size 10 --batch-size 1 --steps 3", ["--noise-multiplier"]),
        ("--batch-size 1 --steps 3 --noise-multiplier 1", ["--dataset-size"]),
        # the default delta of one record would be 1
        ("--dataset-size 1 --batch-size 1 --steps 3 --noise-multiplier 1", ["--delta", "n^-1.1"]),
    ],
)
def test_incomplete_input_is_one_line_and_exit_2(cli, arguments, words):
    cli("account", arguments).refused(2, *words)


def test_an_infinite_upper_end_says_why(cli):
    words = "no finite value is proved: there is none (no noise, or failures that alone weigh"
    run = "--dataset-size 100 --batch-size 5 --steps 1 --noise-multiplier 4"
    assert words in cli("account --sampling with-replacement --delta 1e-310", run).out
    assert words not in cli("account", RUN).out
