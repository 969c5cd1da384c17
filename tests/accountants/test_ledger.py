"""Ledgers and states as JSON: every tree comes back, and corrupt files say where and why."""

import json
import math

import attr
import dp_accounting
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import ExactAccountant
from accountants.events import (
    ResqueOracleDpEvent,
    ShuffledEpochDpEvent,
    WeightedWithReplacementDpEvent,
)
from accountants.ledger import (
    event_from_json,
    event_to_json,
    ledger_from_json,
    read_ledger,
    write_ledger,
)

GAUSSIAN = dp_accounting.GaussianDpEvent(1.1)
POISSON = dp_accounting.PoissonSampledDpEvent(0.01, GAUSSIAN)
ONE_OF_EACH = [
    dp_accounting.NoOpDpEvent(),
    dp_accounting.NonPrivateDpEvent(),
    dp_accounting.UnsupportedDpEvent(),
    dp_accounting.dp_event.RandomizedResponseDpEvent(0.3, 4),
    GAUSSIAN,
    dp_accounting.GaussianDpEvent(math.inf),
    dp_accounting.dp_event.LaplaceDpEvent(0.1 + 0.2),
    dp_accounting.dp_event.DiscreteLaplaceDpEvent(0.5, 2),
    POISSON,
    dp_accounting.SampledWithReplacementDpEvent(1000, 10, GAUSSIAN),
    dp_accounting.SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN),
    dp_accounting.dp_event.SingleEpochTreeAggregationDpEvent(1.0, 7),
    dp_accounting.dp_event.SingleEpochTreeAggregationDpEvent(1.0, [3, 4]),
    dp_accounting.dp_event.RepeatAndSelectDpEvent(POISSON, 3.0, math.inf),
    dp_accounting.dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 2.0], [0.9, 0.1]),
    dp_accounting.dp_event.ZCDpEvent(0.2),
    dp_accounting.dp_event.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 30, 1.0),
    WeightedWithReplacementDpEvent(0.003, 10, GAUSSIAN),
    ShuffledEpochDpEvent(1000, 10, GAUSSIAN),
    ResqueOracleDpEvent(1000, 10, 4.0, 1e-12),
    dp_accounting.SelfComposedDpEvent(dp_accounting.ComposedDpEvent([POISSON, GAUSSIAN]), 10**15),
    dp_accounting.ComposedDpEvent([]),
]


def through_text(document):
    return json.loads(json.dumps(document, allow_nan=False))


def plain(value):
    """What a program without this package would save: named tuples as objects."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_every_event_class_is_tried():
    from accountants.ledger_trees import known_classes

    def classes(event):
        yield type(event)
        for field in attr.fields(type(event)):
            value = getattr(event, field.name)
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dp_accounting.DpEvent):
                    yield from classes(item)

    tried = {kind for event in ONE_OF_EACH for kind in classes(event)}
    assert tried == set(known_classes().values())


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
def test_events_come_back_whole(event):
    assert event_from_json(through_text(event_to_json(event))) == event
    # dp_accounting's own named tuples, by name and (what json.dumps makes of them) by position
    named = event.to_named_tuple()
    assert event_from_json(json.loads(json.dumps(plain(named)))) == event
    assert event_from_json(json.loads(json.dumps(named))) == event
    assert ledger_from_json(json.loads(json.dumps(named))).event == event


trees = st.recursive(
    st.one_of(
        st.builds(dp_accounting.GaussianDpEvent, st.floats(0, allow_nan=False)),
        st.builds(
            dp_accounting.PoissonSampledDpEvent,
            st.floats(0, 1),
            st.builds(dp_accounting.GaussianDpEvent, st.floats(1e-300, 1e300)),
        ),
    ),
    lambda inner: st.one_of(
        st.builds(dp_accounting.SelfComposedDpEvent, inner, st.integers(0, 10**18)),
        st.builds(dp_accounting.ComposedDpEvent, st.lists(inner, max_size=4)),
    ),
    max_leaves=8,
)


@given(trees)
@settings(max_examples=100, deadline=None)
def test_any_tree_comes_back_to_the_last_bit(event):
    assert event_from_json(through_text(event_to_json(event))) == event


def test_numpy_numbers_are_written_as_plain_ones():
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.GaussianDpEvent(np.float64(1.5)), np.int64(3)
    )
    document = event_to_json(event)
    assert json.dumps(document)
    assert event_from_json(document) == dp_accounting.SelfComposedDpEvent(
        dp_accounting.GaussianDpEvent(1.5), 3
    )


@attr.s(frozen=True, auto_attribs=True)
class StrangeDpEvent(dp_accounting.DpEvent):
    """Not an event of these packages."""

    noise_multiplier: float


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (StrangeDpEvent(1.0), ["$:", "StrangeDpEvent", "accountants.events"]),
        (dp_accounting.PoissonSampledDpEvent(0.1, StrangeDpEvent(1.0)), ["$.event:"]),
        (dp_accounting.GaussianDpEvent(math.nan), ["$.noise_multiplier: nan", "a number"]),
        (dp_accounting.GaussianDpEvent("1"), ["$.noise_multiplier: '1'"]),
        (dp_accounting.GaussianDpEvent(True), ["$.noise_multiplier: True"]),
    ],
)
def test_what_cannot_be_written_is_refused(event, words):
    with pytest.raises(ValueError) as stop:
        event_to_json(event)
    for word in words:
        assert word in str(stop.value)


def poisson(rate, noise, steps):
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    return dp_accounting.SelfComposedDpEvent(event, steps)


HISTORY = [[1.1, 0.01, 500], [0.9, 0.02, 100]]


@pytest.mark.parametrize(
    "document", [HISTORY, {"history": HISTORY, "mechanism": "prv"}, {"history": HISTORY}]
)
def test_opacus_histories(document):
    ledger = ledger_from_json(document)
    assert ledger.form == "opacus history"
    assert ledger.event == dp_accounting.ComposedDpEvent(
        [poisson(0.01, 1.1, 500), poisson(0.02, 0.9, 100)]
    )


RUN_EVENTS = [
    ({"sampling": "none", "steps": 3}, poisson(1.0, 2.0, 3)),
    ({"sampling": "poisson", "sampling_probability": 0.5, "steps": 3}, poisson(0.5, 2.0, 3)),
    (
        {"sampling": "poisson", "dataset_size": 300, "batch_size": 3, "steps": 3},
        poisson(0.01, 2.0, 3),
    ),
    (
        {"sampling": "without-replacement", "dataset_size": 9, "batch_size": 2, "steps": 3},
        dp_accounting.SelfComposedDpEvent(
            dp_accounting.SampledWithoutReplacementDpEvent(
                9, 2, dp_accounting.GaussianDpEvent(2.0)
            ),
            3,
        ),
    ),
    (
        {"sampling": "with-replacement", "dataset_size": 9, "batch_size": 12, "steps": 3},
        dp_accounting.SelfComposedDpEvent(
            dp_accounting.SampledWithReplacementDpEvent(9, 12, dp_accounting.GaussianDpEvent(2.0)),
            3,
        ),
    ),
    (
        {
            "sampling": "weighted-with-replacement",
            "largest_probability": 0.1,
            "batch_size": 2,
            "steps": 3,
        },
        dp_accounting.SelfComposedDpEvent(
            WeightedWithReplacementDpEvent(0.1, 2, dp_accounting.GaussianDpEvent(2.0)), 3
        ),
    ),
    (
        {"sampling": "shuffled-epochs", "dataset_size": 9, "batch_size": 2, "epochs": 3},
        dp_accounting.SelfComposedDpEvent(
            ShuffledEpochDpEvent(9, 2, dp_accounting.GaussianDpEvent(2.0)), 3
        ),
    ),
    (
        {
            "sampling": "truncated-poisson",
            "dataset_size": 900,
            "sampling_probability": 0.01,
            "truncated_batch_size": 20,
            "steps": 3,
        },
        dp_accounting.SelfComposedDpEvent(
            dp_accounting.dp_event.TruncatedSubsampledGaussianDpEvent(900, 0.01, 20, 2.0), 3
        ),
    ),
]


@pytest.mark.parametrize(("run", "event"), RUN_EVENTS, ids=lambda x: str(x)[:40])
def test_described_runs(run, event):
    run = run | {"noise_multiplier": 2}
    ledger = ledger_from_json([run])
    assert (ledger.form, ledger.event) == ("runs", event)
    assert ledger_from_json([run, run]).event == dp_accounting.ComposedDpEvent([event, event])


def test_every_sampling_of_a_run_is_tried():
    from accountants.ledger_runs import SAMPLING_FIELDS

    assert {run["sampling"] for run, _ in RUN_EVENTS} == set(SAMPLING_FIELDS)


def test_a_list_of_trees_and_nothing_at_all():
    documents = [event_to_json(GAUSSIAN), event_to_json(POISSON)]
    assert ledger_from_json(documents).event == dp_accounting.ComposedDpEvent([GAUSSIAN, POISSON])
    assert ExactAccountant().compose(ledger_from_json([]).event).get_epsilon(1e-5) == 0


RUN = {"noise_multiplier": 1, "sampling": "poisson", "sampling_probability": 0.1, "steps": 3}
TREE = event_to_json(dp_accounting.ComposedDpEvent([POISSON, POISSON]))


def changed(document, path, value):
    """A copy with one place replaced; `...` deletes it."""
    document = json.loads(json.dumps(document))
    *way, last = path
    inner = document
    for key in way:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return document


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (3, ["$: 3", "event tree", "Opacus", "list of runs"]),
        ({"steps": 3}, ["$:", "event tree"]),
        ({"history": 3}, ["$.history: 3", "[noise_multiplier, sample_rate, num_steps]"]),
        ([[1.0, 0.1]], ["$[0]", "[noise_multiplier, sample_rate, num_steps]"]),
        ([[1.0, 0.1, 3], [1.0, 1.5, 3]], ["$[1][1]: 1.5", "[0, 1]"]),
        ([[-1.0, 0.1, 3]], ["$[0][0]: -1.0", ">= 0"]),
        ([["x", 0.1, 3]], ["$[0][0]: 'x'", "a number"]),
        ([[1.0, 0.1, 2.5]], ["$[0][2]: 2.5", "whole number"]),
        ([[1.0, 0.1, True]], ["$[0][2]: True", "whole number"]),
        ([RUN, 3], ["$[1]: 3", "a run"]),
        ([RUN | {"sampling": "gossip"}], ["$[0].sampling: 'gossip'", "shuffled-epochs"]),
        ([RUN | {"sampling": ["poisson"]}], ["$[0].sampling", "shuffled-epochs"]),
        ([changed(RUN, ["sampling"], ...)], ["$[0].sampling: None"]),
        ([changed(RUN, ["steps"], ...)], ["$[0].steps", "given"]),
        ([RUN | {"epochs": 3}], ["$[0].epochs: 3", "left out", "sampling_probability"]),
        ([RUN | {"noise_multiplier": None}], ["$[0].noise_multiplier: None", "a number"]),
        (
            [{"noise_multiplier": 1, "sampling": "poisson", "dataset_size": 3, "batch_size": 4,
              "steps": 1}],
            ["$[0].batch_size: 4", "at most dataset_size=3"],
        ),
        (
            [{"noise_multiplier": 1, "sampling": "without-replacement", "dataset_size": 3,
              "batch_size": 4, "steps": 1}],
            ["$[0]", "batch_size=4", "at most dataset_size=3"],
        ),
        (changed(TREE, ["events"], 3), ["$.events: 3", "a list"]),
        (changed(TREE, ["events", 1], 3), ["$.events[1]: 3", "an event"]),
        (changed(TREE, ["class_name"], "GossipDpEvent"), ["$.class_name: 'GossipDpEvent'",
                                                          "PoissonSampledDpEvent"]),
        (changed(TREE, ["class_name"], 3), ["$.class_name: 3"]),
        (changed(TREE, ["module_name"], "os"), ["$.module_name: 'os'", "dp_accounting.dp_event"]),
        (
            changed(TREE, ["events", 1, "sampling_probability"], -0.1),
            ["$.events[1].sampling_probability: -0.1", "[0, 1]"],
        ),
        (
            changed(TREE, ["events", 1, "event", "noise_multiplier"], "one"),
            ["$.events[1].event.noise_multiplier: 'one'", "a number"],
        ),
        (
            changed(TREE, ["events", 0, "event", "noise_multiplier"], ...),
            ["$.events[0].event.noise_multiplier", "missing"],
        ),
        (changed(TREE, ["events", 0, "event", "sigma"], 1), ["$.events[0].event.sigma: 1",
                                                             "noise_multiplier"]),
        (["dp_accounting.dp_event", "GaussianDpEvent", 1.0, 2.0], ["$:", "noise_multiplier"]),
        (["dp_accounting.dp_event", "GaussianDpEvent"], ["$.noise_multiplier", "missing"]),
        (["dp_accounting.dp_event", "SelfComposedDpEvent", ["dp_accounting.dp_event",
          "GaussianDpEvent", 1.0], 1.5], ["$.count: 1.5", "whole number"]),
        (
            event_to_json(ShuffledEpochDpEvent(9, 10, GAUSSIAN)),
            ["$: batch_size=10", "at most dataset_size=9"],
        ),
        (
            event_to_json(dp_accounting.SelfComposedDpEvent(
                dp_accounting.SampledWithReplacementDpEvent(9, 0, GAUSSIAN), 2)),
            ["$.event: batch_size=0", ">= 1"],
        ),
        (
            event_to_json(WeightedWithReplacementDpEvent(1.0, 2, GAUSSIAN)),
            ["$: largest_probability=1.0", "(0, 1)"],
        ),
        ([event_to_json(GAUSSIAN), 3], ["$[1]: 3", "an event"]),
    ],
)  # fmt: skip
def test_corrupt_documents_say_where_and_what_is_allowed(document, words, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError) as stop:
        read_ledger(path)
    for word in [f"{path}: ", "must be", *words]:
        assert word in str(stop.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["line 1 column 1", "JSON"]),
        ('[[1.0, 0.1,\n 3]', ["line 2", "JSON"]),
        ('{"history": [], "history": []}', ["'history'", "only once"]),
        ("[[NaN, 0.1, 3]]", ["$[0][0]: nan", "a number"]),
        ("[" * 100_000, ["nested"]),
        (b"\xff\xfe", ["byte 0", "UTF-8"]),
        ("[[1.0, 0.1, 1" + "0" * 5000 + "]]", ["digits"]),
    ],
)  # fmt: skip
def test_files_that_are_no_json_say_where(text, words, tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError) as stop:
        read_ledger(path)
    for word in [f"{path}: ", *words]:
        assert word in str(stop.value)


def test_deep_trees_are_refused_by_name():
    document = event_to_json(GAUSSIAN)
    for _ in range(150):
        document = {
            "module_name": "dp_accounting.dp_event",
            "class_name": "SelfComposedDpEvent",
            "event": document,
            "count": 1,
        }
    with pytest.raises(ValueError, match="nested at most 100"):
        event_from_json(document)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_ledger(tmp_path / "nowhere.json")


def test_written_files_are_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "ledger.json"
    write_ledger(path, POISSON)
    assert read_ledger(path).event == POISSON
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_ledger(path, GAUSSIAN)
    assert read_ledger(path).event == POISSON
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.json"]
