"""The state of an accountant as JSON: a resumed one answers to the last bit."""

import json

import dp_accounting
import pytest

from accountants import ExactAccountant, NeighboringRelation
from accountants.ledger import (
    event_to_json,
    read_ledger,
    read_state,
    restore,
    state_to_json,
    write_state,
)
from accountants.renyi.accountant import RenyiAccountant
from accountants.tcdp.accountant import TruncatedCdpAccountant
from tests.accountants.test_ledger import POISSON, changed

REPLACE = NeighboringRelation.REPLACE_ONE

MIXED = [
    (POISSON, 321),
    (dp_accounting.PoissonSampledDpEvent(1 / 3, dp_accounting.GaussianDpEvent(7.7)), 5),
    (dp_accounting.GaussianDpEvent(31.0), 1),
    (dp_accounting.SelfComposedDpEvent(POISSON, 3), 2),
]


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_a_resumed_accountant_answers_to_the_last_bit(relation, tmp_path):
    whole, first = ExactAccountant(relation), ExactAccountant(relation)
    for event, count in MIXED[:2]:
        whole.compose(event, count)
        first.compose(event, count)
    path = tmp_path / "state.json"
    write_state(path, first)
    resumed = read_state(path)
    for event, count in MIXED[2:]:
        whole.compose(event, count)
        resumed.compose(event, count)
    assert type(resumed) is ExactAccountant
    assert resumed.neighboring_relation is relation
    assert (len(resumed), resumed.ledger) == (len(whole), whole.ledger)
    for delta in (1e-5, 1e-12):
        assert resumed.epsilon_bracket(delta) == whole.epsilon_bracket(delta)
    assert resumed.delta_bracket(1.0) == whole.delta_bracket(1.0)


def test_settings_are_part_of_the_state():
    accountant = ExactAccountant(direction="add").compose(POISSON, 100)
    resumed = restore(json.dumps(state_to_json(accountant)))
    assert resumed.direction == "add"
    assert resumed.settings() == accountant.settings()
    assert resumed.get_epsilon(1e-6) == accountant.get_epsilon(1e-6)
    assert resumed.get_epsilon(1e-6) != ExactAccountant().compose(POISSON, 100).get_epsilon(1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ExactAccountant(NeighboringRelation.REPLACE_ONE, tightness="tight"),
        lambda: RenyiAccountant(NeighboringRelation.REPLACE_ONE),
        lambda: RenyiAccountant(orders=[1.5, 2.0, 7.0, 64.0]),
        lambda: TruncatedCdpAccountant(NeighboringRelation.REPLACE_ONE),
    ],
)
def test_every_accountant_resumes_to_the_last_bit(make, tmp_path):
    whole, first = make(), make()
    fixed = dp_accounting.SampledWithoutReplacementDpEvent(
        1000, 10, dp_accounting.GaussianDpEvent(3.3)
    )
    plain = dp_accounting.GaussianDpEvent(30.0)
    mixed = [plain] if first.neighboring_relation is not REPLACE else [fixed, plain]
    for event in mixed:
        whole.compose(event, 70)
        first.compose(event, 70)
    path = tmp_path / "state.json"
    write_state(path, first)
    resumed = read_state(path)
    for accountant in (whole, resumed):
        accountant.compose(mixed[0], 30)
    assert type(resumed) is type(whole)
    assert resumed.settings() == whole.settings()
    assert len(resumed) == len(whole)
    assert resumed.get_epsilon(1e-6) == whole.get_epsilon(1e-6)
    assert resumed.get_delta(1.0) == whole.get_delta(1.0)


def test_an_empty_accountant_comes_back_empty():
    resumed = restore(state_to_json(ExactAccountant()))
    assert (len(resumed), resumed.get_epsilon(0.0)) == (0, 0.0)


STATE = {
    "format": "accountants/state/1",
    "accountant": "ExactAccountant",
    "settings": {
        "neighboring_relation": "ADD_OR_REMOVE_ONE",
        "direction": "both",
        "tightness": "fast",
    },
    "ledger": event_to_json(dp_accounting.SelfComposedDpEvent(POISSON, 10)),
}


def test_the_state_of_an_accountant_is_this_document():
    assert state_to_json(ExactAccountant().compose(POISSON, 10)) == STATE


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (3, ["$: 3", "accountants/state/1"]),
        (STATE | {"format": "accountants/state/9"}, ["accountants/state/1"]),
        (STATE | {"accountant": "RdpAccountant"}, ["$.accountant", "ExactAccountant"]),
        (changed(STATE, ["ledger"], ...), ["$.ledger", "given"]),
        (changed(STATE, ["settings"], 3), ["$.settings: 3"]),
        (changed(STATE, ["settings", "orders"], 3), ["$.settings", "orders"]),
        (changed(STATE, ["settings", "direction"], "up"), ["$.settings", "direction='up'"]),
        (
            changed(STATE, ["settings", "neighboring_relation"], "COUSIN"),
            ["$.settings.neighboring_relation: 'COUSIN'", "REPLACE_ONE"],
        ),
        (changed(STATE, ["ledger", "count"], -3), ["$.ledger.count: -3", ">= 0"]),
    ],
)
def test_corrupt_states_say_where(document, words, tmp_path):
    path = tmp_path / "state.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError) as stop:
        read_state(path)
    for word in [f"{path}: ", *words]:
        assert word in str(stop.value)


def test_a_state_is_a_ledger_too(tmp_path):
    path = tmp_path / "state.json"
    write_state(path, ExactAccountant().compose(POISSON, 10))
    ledger = read_ledger(path)
    assert ledger.form == "state"
    assert ledger.event == dp_accounting.SelfComposedDpEvent(POISSON, 10)


def test_only_our_accountants_have_a_state():
    with pytest.raises(ValueError, match="must be one of ExactAccountant"):
        state_to_json(dp_accounting.rdp.RdpAccountant())
