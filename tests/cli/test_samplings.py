"""Every sampling and relation on the command line: defaults, numbers, steps, refusals."""

import json

import pytest

from accountants import ExactAccountant, NeighboringRelation
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, ShuffledEpochs, WithoutReplacement, WithReplacement

N, B, T = 1000, 20, 200
RUN = f"--dataset-size {N} --batch-size {B} --steps {T} --noise-multiplier 4 --delta 1e-5"
FAST = "--tightness fast"
SAMPLINGS = {
    "poisson": (Poisson(B / N), "add-or-remove-one"),
    "without-replacement": (WithoutReplacement(N, B), "replace-one"),
    "with-replacement": (WithReplacement(N, B), "replace-one"),
    "shuffled-epochs": (ShuffledEpochs(N, B), "replace-one"),
}
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")


def relation_named(name):
    return NeighboringRelation[name.replace("-", "_").upper()]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_default_relation_goes_with_the_sampling(cli, sampling):
    description, relation = SAMPLINGS[sampling]
    document = cli("account --json", RUN, FAST, f"--sampling {sampling}").document
    assert document["inputs"]["relation"] == {"value": relation, "unit": "name", "default": True}
    event = dp_sgd_event(sampling=description, noise_multiplier=4.0, steps=T)
    accountant = ExactAccountant(relation_named(relation)).compose(event)
    bracket = accountant.epsilon_bracket(1e-5)
    assert document["result"]["epsilon"] == {"lower": bracket.lower, "upper": bracket.upper}
    assert document["result"]["steps"] == T
    explained = accountant.explain(event)
    assert document["result"]["explanation"]["upper"] == explained.upper
    assert document["result"]["explanation"]["exact"] == explained.exact
    text = cli("account", RUN, FAST, f"--sampling {sampling}").out
    for line in (f"epsilon <= {bracket.upper!r}", f"upper end: {explained.upper}",
                 f"lower end: {explained.lower}", f"proofs: {explained.source}"):  # fmt: skip
        assert line in text


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_combination_is_answered_or_refused_by_name(cli, sampling, relation):
    arguments = f"--sampling {sampling} --relation {relation}"
    outcome = cli("account --json", RUN, FAST, arguments)
    if (sampling, relation) == ("shuffled-epochs", "add-or-remove-one"):
        outcome.refused(5, "shuffled-epochs", "ADD_OR_REMOVE_ONE", "covered under REPLACE_ONE")
        return
    description, _ = SAMPLINGS[sampling]
    event = dp_sgd_event(sampling=description, noise_multiplier=4.0, steps=T)
    bracket = ExactAccountant(relation_named(relation)).compose(event).epsilon_bracket(1e-5)
    assert outcome.document["result"]["epsilon"]["upper"] == bracket.upper
    assert outcome.document["inputs"]["relation"]["default"] is False


def test_the_tight_end_is_the_default_and_no_larger(cli):
    run = f"{RUN} --sampling without-replacement"
    fast = cli("account --json", run, FAST).document
    tight = cli("account --json", run).document
    assert tight["inputs"]["tightness"] == {"value": "tight", "unit": "name", "default": True}
    assert fast["inputs"]["tightness"]["default"] is False
    # The fast pair is 20 % above the attained end here; the recursion removes most of that.
    low, high = tight["result"]["epsilon"]["lower"], fast["result"]["epsilon"]["upper"]
    assert low == fast["result"]["epsilon"]["lower"]
    assert low < tight["result"]["epsilon"]["upper"] < low + 0.25 * (high - low)


@pytest.mark.parametrize(
    ("noise", "lower", "upper"), [(2, 1.82823667, 2.1989100), (1, 13.3608240, 14.8206665)]
)
def test_fixed_size_batches_of_a_public_report(cli, noise, lower, upper):
    """q = 1/100, 1000 steps; references: the attained pair, and the closed one by FFT."""
    run = "--dataset-size 10000 --batch-size 100 --steps 1000 --delta 1e-5"
    arguments = f"--sampling without-replacement --noise-multiplier {noise}"
    fast = cli("account --json", run, FAST, arguments).document["result"]["epsilon"]
    assert fast["lower"] == pytest.approx(lower, rel=1e-8)
    assert fast["upper"] == pytest.approx(upper, rel=2e-7)
    tight = cli("account --json", run, arguments).document["result"]["epsilon"]
    assert lower * (1 - 1e-8) <= tight["upper"] < 1.02 * lower


@pytest.mark.parametrize("sampling", ["poisson", "without-replacement"])
def test_all_accountants(cli, sampling):
    arguments = f"--accountant all --sampling {sampling}"
    result = cli("account --json", RUN, FAST, arguments).document["result"]
    exact, renyi, tcdp = result["answers"]
    assert [answer["accountant"] for answer in result["answers"]] == ["exact", "renyi", "tcdp"]
    assert exact["epsilon"] == result["epsilon"]
    assert exact["claim"] == "two-sided"
    for other in (renyi, tcdp):
        assert other["claim"] == "upper"
        assert other["epsilon"]["lower"] == 0
        assert other["epsilon"]["upper"] >= exact["epsilon"]["lower"]
        assert other["releases"] == T
    text = cli("account", RUN, FAST, arguments).out
    assert f"Rényi (upper end only): epsilon <= {renyi['epsilon']['upper']!r}" in text
    assert f"truncated CDP (upper end only): epsilon <= {tcdp['epsilon']['upper']!r}" in text


@pytest.mark.parametrize("accountant", ["renyi", "tcdp"])
def test_one_accountant_alone(cli, accountant):
    result = cli("account --json", RUN, f"--accountant {accountant}").document["result"]
    (answer,) = result["answers"]
    assert answer["accountant"] == accountant
    assert result["epsilon"] == answer["epsilon"]
    assert result["explanation"] is None
    text = cli("account", RUN, f"--accountant {accountant}").out
    assert text.startswith(f"epsilon <= {answer['epsilon']['upper']!r}\n")
    assert "epsilon >=" not in text
    delta = cli("account --json", RUN.replace("--delta 1e-5", "--epsilon 1"),
                f"--accountant {accountant}").document["result"]  # fmt: skip
    assert 0 < delta["delta"]["upper"] < 1
    assert delta["log_delta"]["lower"] == "-inf"


def test_a_refusal_of_one_accountant_is_shown_among_several(cli, monkeypatch):
    from dp_accounting.privacy_accountant import UnsupportedEventError

    from accountants.tcdp.accountant import TruncatedCdpAccountant

    def refuse(_self, event, count=1):
        raise UnsupportedEventError(f"Unsupported event: {event}. Error: [no curve] caused by x.")

    monkeypatch.setattr(TruncatedCdpAccountant, "compose", refuse)
    result = cli("account --json --accountant all", RUN, FAST).document["result"]
    assert result["answers"][2] == {"accountant": "tcdp", "claim": "none", "refused": "no curve"}
    assert "truncated CDP: not supported: no curve" in cli("account --accountant all", RUN).out
    cli("account --accountant tcdp", RUN).refused(5, "not supported", "no curve")


def test_shuffled_epochs_say_what_sampling_would_save(cli):
    arguments = "--sampling shuffled-epochs"
    document = cli("account --json", RUN, FAST, arguments).document
    saved = {other["sampling"]: other for other in document["result"]["alternatives"]}
    assert set(saved) == {"poisson", "without-replacement"}
    upper = document["result"]["epsilon"]["upper"]
    for sampling, other in saved.items():
        outcome = cli("account --json", RUN, FAST, f"--sampling {sampling} --relation replace-one")
        assert other["epsilon"] == outcome.document["result"]["epsilon"]
        assert other["relation"] == "replace-one"
        assert other["epsilon"]["upper"] < upper / 2
    text = cli("account", RUN, FAST, arguments).out
    assert f"epsilon <= {saved['poisson']['epsilon']['upper']!r}" in text
    # δ is asked of them too
    asked = cli("account --json", RUN.replace("--delta 1e-5", "--epsilon 1"), FAST, arguments)
    assert all("delta" in other for other in asked.document["result"]["alternatives"])


@pytest.mark.parametrize(
    ("sampling", "steps"), [("poisson", 30), ("with-replacement", 30), ("shuffled-epochs", 33)]
)
def test_steps_of_an_epoch(cli, sampling, steps):
    # 119 records in batches of 11: 10 whole batches and a rest, which only shuffling uses
    run = "--dataset-size 119 --batch-size 11 --noise-multiplier 9 --delta 1e-5 --tightness fast"
    outcome = cli(f"account --json --epochs 3 --sampling {sampling}", run)
    assert outcome.document["result"]["steps"] == steps
    assert outcome.document["inputs"]["steps"]["default"] is True


def test_a_broken_epoch_is_refused(cli):
    run = "--dataset-size 100 --batch-size 10 --noise-multiplier 9 --delta 1e-5"
    cli("account --steps 25 --sampling shuffled-epochs", run).refused(
        2, "--steps 25", "10 batches", "whole epochs"
    )


def test_inputs_name_what_the_sampling_rests_on(cli):
    def inputs(sampling):
        return cli("account --json", RUN, FAST, f"--sampling {sampling}").document["inputs"]

    assert inputs("without-replacement")["sampling_probability"]["value"] == B / N
    assert inputs("without-replacement")["batch_size"]["unit"] == "records in every batch"
    drawn = inputs("with-replacement")
    assert drawn["draw_probability"] == {
        "value": 1 / N, "unit": "per record and draw", "default": True,
    }  # fmt: skip
    assert "sampling_probability" not in drawn
    assert "sampling_probability" not in inputs("shuffled-epochs")


def test_batches_larger_than_the_data_only_with_replacement(cli):
    run = "--dataset-size 5 --batch-size 8 --steps 90 --noise-multiplier 300 --delta 1e-3"
    assert cli("account --tightness fast --sampling with-replacement", run).code == 0
    for sampling in ("poisson", "without-replacement", "shuffled-epochs"):
        cli(f"account --sampling {sampling}", run).refused(2, "--batch-size 8", "--dataset-size 5")


@pytest.mark.parametrize(
    ("command", "sampling"),
    [
        ("plan", "without-replacement"),
        ("plan", "with-replacement"),
        ("plan", "shuffled-epochs"),
        ("train --method dp-sgd", "shuffled-epochs"),
    ],
)
def test_commands_refuse_samplings_that_they_do_not_draw(cli, command, sampling):
    problem = "--problem het:n=300,d=9,amin=1/9,avg=2,seed=1 --batch-size 20 --steps 30 --epsilon 2"
    cli(command, problem, f"--sampling {sampling}").refused(5, sampling, "not supported", "poisson")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--accountant moments", ["--accountant 'moments'", "exact", "renyi", "tcdp", "all"]),
        ("--tightness loose", ["--tightness 'loose'", "tight", "fast"]),
        ("--remaining 0", ["--remaining 0"]),
        ("--remaining nan", ["--remaining nan"]),
        ("--remaining 2", ["--steps", "leave it out"]),
        ("--remaining 2 --epsilon 2", ["--remaining", "--epsilon"]),
        ("--remaining 2 --peers", ["--peers", "--remaining"]),
        ("--plot picture.pdf", ["--plot picture.pdf", ".png", ".svg"]),
        ("--plot picture.png --epsilon 1", ["--plot", "--epsilon"]),
        ("--curve /nowhere/x.csv", ["--curve /nowhere/x.csv", "folder"]),
    ],
)
def test_bad_input_is_one_line_and_exit_2(cli, arguments, words):
    run = RUN.replace("--delta 1e-5", "") if "--epsilon" in arguments else RUN
    cli("account --json", run, arguments).refused(2, *words)


def test_json_of_everything_at_once_is_strict(cli, tmp_path):
    run = RUN.replace("--steps 200", "--steps 1000")
    files = f"--curve {tmp_path}/c.csv --plot {tmp_path}/p.svg"
    outcome = cli("account --json --accountant all --peers", run, FAST, files)
    result = outcome.document["result"]  # checked against the schema
    assert json.loads(outcome.out)["result"] == result
    assert {"epsilon", "answers", "peers", "curve", "plot", "against_steps"} <= set(result)
