"""`account --event`: existing runs from files, runs on top of them, and the steps that remain."""

import json

import dp_accounting
import pytest

from accountants import ExactAccountant, NeighboringRelation
from accountants.ledger import event_to_json, write_ledger, write_state

DELTA = "--delta 1e-5 --tightness fast"
GAUSSIAN = dp_accounting.GaussianDpEvent(1.1)
POISSON = dp_accounting.PoissonSampledDpEvent(0.01, GAUSSIAN)
TREE = dp_accounting.ComposedDpEvent(
    [
        dp_accounting.SelfComposedDpEvent(POISSON, 300),
        dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(0.02, GAUSSIAN), 50),
    ]
)
WITHOUT = dp_accounting.SampledWithoutReplacementDpEvent(
    1000, 10, dp_accounting.GaussianDpEvent(4.0)
)
RUNS = [
    {"noise_multiplier": 1.1, "sampling": "poisson", "sampling_probability": 0.01, "steps": 300},
    {"noise_multiplier": 1.1, "sampling": "poisson", "sampling_probability": 0.02, "steps": 50},
]
HISTORY = [[1.1, 0.01, 300], [1.1, 0.02, 50]]
FORMS = {
    "event tree": event_to_json(TREE),
    "runs": RUNS,
    "opacus history": {"history": HISTORY, "mechanism": "rdp"},
}


def epsilon(event, relation=NeighboringRelation.ADD_OR_REMOVE_ONE):
    return ExactAccountant(relation).compose(event).epsilon_bracket(1e-5)


def saved(tmp_path, document):
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_epsilon(cli, tmp_path, form):
    path = saved(tmp_path, FORMS[form])
    document = cli(f"account --json --event {path}", DELTA).document
    expected = epsilon(TREE)
    assert document["result"]["epsilon"] == {"lower": expected.lower, "upper": expected.upper}
    assert document["result"]["steps"] == 350
    assert document["inputs"]["event"]["value"] == str(path)
    assert document["inputs"]["form"]["value"] == form
    assert document["inputs"]["relation"]["value"] == "add-or-remove-one"
    assert len(document["result"]["notes"]) == (form == "opacus history")
    assert ("note: " in cli(f"account --event {path}", DELTA).out) == (form == "opacus history")


def test_the_state_of_an_accountant_is_a_ledger(cli, tmp_path):
    path = tmp_path / "state.json"
    write_state(path, ExactAccountant().compose(TREE))
    document = cli(f"account --json --event {path}", DELTA).document
    assert document["inputs"]["form"]["value"] == "state"
    assert document["result"]["epsilon"]["upper"] == epsilon(TREE).upper


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (TREE, "add-or-remove-one"),
        (dp_accounting.SelfComposedDpEvent(WITHOUT, 500), "replace-one"),
        (
            dp_accounting.ComposedDpEvent([TREE, dp_accounting.SelfComposedDpEvent(WITHOUT, 500)]),
            "replace-one",
        ),
    ],
)
def test_the_relation_goes_with_what_the_ledger_holds(cli, tmp_path, event, relation):
    path = tmp_path / "ledger.json"
    write_ledger(path, event)
    document = cli(f"account --json --event {path}", DELTA).document
    assert document["inputs"]["relation"] == {"value": relation, "unit": "name", "default": True}
    named = NeighboringRelation[relation.replace("-", "_").upper()]
    assert document["result"]["epsilon"]["upper"] == epsilon(event, named).upper
    given = cli(f"account --json --event {path} --relation replace-special", DELTA).document
    assert given["inputs"]["relation"]["value"] == "replace-special"
    special = epsilon(event, NeighboringRelation.REPLACE_SPECIAL)
    assert given["result"]["epsilon"]["upper"] == special.upper


def test_a_run_on_top_of_a_ledger(cli, tmp_path):
    path = saved(tmp_path, RUNS)
    run = "--dataset-size 1000 --batch-size 10 --steps 100 --noise-multiplier 2"
    document = cli(f"account --json --event {path}", run, DELTA).document
    more = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(2.0)), 100
    )
    whole = epsilon(dp_accounting.ComposedDpEvent([TREE, more]))
    assert document["result"]["epsilon"]["upper"] == whole.upper
    assert document["result"]["steps"] == 450
    # a part whose usual relation is the wider one decides for the whole
    fixed = cli(f"account --json --event {path} --sampling without-replacement", run, DELTA)
    assert fixed.document["inputs"]["relation"]["value"] == "replace-one"


def test_the_default_delta_needs_a_size(cli, tmp_path):
    path = saved(tmp_path, RUNS)
    cli(f"account --event {path}").refused(2, "--delta is wanted", "--dataset-size")
    document = cli(f"account --json --event {path} --dataset-size 1000").document
    assert document["inputs"]["delta"]["value"] == 1000**-1.1
    assert document["inputs"]["dataset_size"]["value"] == 1000


REMAINING = "--remaining 2 --delta 1e-5 --tightness fast"


def test_steps_that_remain_are_those_of_the_last_step(cli, tmp_path):
    path = saved(tmp_path, RUNS)
    document = cli(f"account --json --event {path}", REMAINING).document
    result = document["result"]
    steps = result["remaining_steps"]
    assert steps > 0
    assert result["spent"] == {"lower": epsilon(TREE).lower, "upper": epsilon(TREE).upper}

    def after(count):
        more = [RUNS[0], RUNS[1] | {"steps": 50 + count}]
        return cli(f"account --json --event {saved(tmp_path, more)}", DELTA).document["result"]

    assert after(steps)["epsilon"]["upper"] == pytest.approx(result["epsilon"]["upper"], rel=1e-9)
    assert after(steps)["epsilon"]["upper"] <= 2 < after(steps + 1)["epsilon"]["upper"]
    saved(tmp_path, RUNS)
    assert cli(f"account --quiet --event {path}", REMAINING).out == f"{steps}\n"
    text = cli(f"account --event {path}", REMAINING).out
    assert text.startswith(f"remaining steps = {steps}\n")
    assert f"with one more: <= {result['next_epsilon']['upper']!r}, over 2.0" in text


def test_steps_that_remain_of_a_described_kind(cli, tmp_path):
    path = saved(tmp_path, RUNS)
    step = "--dataset-size 1000 --batch-size 10 --noise-multiplier 2"
    result = cli(f"account --json --event {path}", REMAINING, step).document["result"]
    steps = result["remaining_steps"]
    for count, within in ((steps, True), (steps + 1, False)):
        run = f"--steps {count} {step}"
        answer = cli(f"account --json --event {path}", DELTA, run).document["result"]
        assert (answer["epsilon"]["upper"] <= 2) is within


def test_steps_of_a_budget_with_nothing_spent_are_what_calibrate_finds(cli):
    step = "--dataset-size 1000 --batch-size 10 --noise-multiplier 2 --delta 1e-5 --tightness fast"
    remaining = cli("account --quiet --remaining 2", step).out
    assert remaining == cli("calibrate --for steps --quiet --epsilon 2", step).out


def test_whole_epochs_remain_of_shuffled_ones(cli, tmp_path):
    runs = [{"noise_multiplier": 20, "sampling": "shuffled-epochs", "dataset_size": 99,
             "batch_size": 10, "epochs": 2}]  # fmt: skip
    path = saved(tmp_path, runs)
    result = cli(f"account --json --event {path}", REMAINING).document["result"]
    assert result["remaining_steps"] == 10 * result["remaining_epochs"] > 0
    more = saved(tmp_path, [runs[0] | {"epochs": 2 + result["remaining_epochs"]}])
    answer = cli(f"account --json --event {more}", DELTA).document["result"]
    assert answer["epsilon"]["upper"] == pytest.approx(result["epsilon"]["upper"], rel=1e-9)


def test_a_spent_budget_is_exit_4(cli, tmp_path):
    path = saved(tmp_path, RUNS)
    upper = epsilon(TREE).upper
    cli(f"account --json --event {path} --remaining 0.1 --delta 1e-5").refused(
        4, "what has run costs", "nearest feasible", repr(upper)
    )


def test_an_empty_ledger_has_no_step(cli, tmp_path):
    path = saved(tmp_path, [])
    cli(f"account --event {path}", REMAINING).refused(2, "--remaining", "what is a step?")
    answer = cli(f"account --json --event {path} --delta 1e-5").document["result"]
    assert answer["epsilon"] == {"lower": 0.0, "upper": 0.0}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([RUNS[0] | {"sampling": "gossip"}], ["$[0].sampling: 'gossip'", "poisson"]),
        ([[1.1, 0.01]], ["$[0]", "num_steps"]),
        ({"steps": 3}, ["$:", "event tree"]),
        (
            event_to_json(dp_accounting.SampledWithoutReplacementDpEvent(9, 10, GAUSSIAN)),
            ["10", "9"],
        ),
    ],
)
def test_a_corrupt_ledger_is_one_line_and_exit_2(cli, tmp_path, document, words):
    path = saved(tmp_path, document)
    for more in (DELTA, REMAINING):
        cli(f"account --json --event {path}", more).refused(2, str(path), *words)


def test_what_is_no_file_or_no_json(cli, tmp_path):
    cli(f"account --event {tmp_path}/nowhere.json", DELTA).refused(2, "nowhere.json", "No such")
    path = tmp_path / "run.json"
    path.write_text('[[1.1, 0.01\n, "3]]')
    cli(f"account --event {path}", DELTA).refused(2, f"{path}: line 2", "JSON")


def test_a_ledger_is_not_overwritten(cli, tmp_path):
    path = saved(tmp_path, RUNS)
    before = path.read_text()
    cli(f"account --event {path} --curve {path}", DELTA).refused(2, "--curve", "--event")
    assert path.read_text() == before


def test_an_event_without_a_theorem_is_exit_5(cli, tmp_path):
    path = tmp_path / "ledger.json"
    write_ledger(path, dp_accounting.dp_event.LaplaceDpEvent(1.0))
    cli(f"account --event {path}", DELTA).refused(5, "LaplaceDpEvent", "not supported")


def test_incomplete_descriptions_on_top_of_a_ledger(cli, tmp_path):
    path = saved(tmp_path, RUNS)
    cli(f"account --event {path} --steps 3", DELTA).refused(2, "--dataset-size is wanted")
    cli(f"account --event {path} --steps 3 --dataset-size 9", DELTA).refused(2, "--batch-size")
    cli(f"account --event {path} --dataset-size 0", DELTA).refused(2, "--dataset-size 0")
    cli("account", DELTA).refused(2, "--dataset-size is wanted (or --event FILE)")


@pytest.mark.parametrize("sampling", ["poisson", "with-replacement"])
@pytest.mark.parametrize("more", ["", "--remaining 9", "--dataset-size 1000"])
def test_a_sampling_without_a_run_is_not_ignored(cli, tmp_path, sampling, more):
    path = saved(tmp_path, RUNS)
    outcome = cli(f"account --event {path} --sampling {sampling} {more}", DELTA)
    outcome.refused(2, f"--sampling {sampling}", "leave it out")


@pytest.mark.parametrize(
    "document",
    [
        [[1.1, 0.01, int("9" * 400)]],
        [[1.1, 0.01, 10**15 + 1]],
        [RUNS[0] | {"steps": int("9" * 400)}],
        [[1.1, 0.01, int("9" * 19)]],
        event_to_json(
            dp_accounting.SelfComposedDpEvent(
                dp_accounting.SelfComposedDpEvent(POISSON, 10**8), 10**8
            )
        ),
    ],
)
@pytest.mark.parametrize("accountant", ["exact", "all"])
def test_counts_beyond_doubles_are_refused(cli, tmp_path, document, accountant):
    path = saved(tmp_path, document)
    outcome = cli(f"account --event {path} --accountant {accountant}", DELTA)
    outcome.refused(2, "must be")
    assert len(outcome.err) < 400
