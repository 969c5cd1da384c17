"""Damaged ledgers and states: refused with the file and the place, or read; never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import dp_accounting
import pytest

from accountants import ExactAccountant, RenyiAccountant
from accountants.events import resque_event, sampled_gaussian_event
from accountants.ledger import event_to_json, read_ledger, read_state, state_to_json
from accountants.sampling import Poisson, WithoutReplacement
from dp2theory.cli.app import main
from tests.fuzz.mutations import LIGHT_AND_HEAVY, altered, damaged, fuzz, refusal, text_of

TREE = dp_accounting.ComposedDpEvent(
    [
        dp_accounting.SelfComposedDpEvent(
            sampled_gaussian_event(sampling=Poisson(0.01), noise_multiplier=1.1), 30
        ),
        sampled_gaussian_event(sampling=WithoutReplacement(1000, 10), noise_multiplier=2.0),
        dp_accounting.GaussianDpEvent(3.0),
    ]
)
ORACLES = resque_event(
    dataset_size=1000, draws=8, noise_multiplier=300.0, failure_probability=1e-12, calls=9
)
LEDGERS = {
    "tree": event_to_json(TREE),
    "oracles": event_to_json(ORACLES),
    "history": {"history": [[1.1, 0.01, 500], [1.0, 0.02, 3]], "mechanism": "rdp"},
    "runs": [
        {"noise_multiplier": 1.1, "sampling": "poisson", "sampling_probability": 0.1, "steps": 9},
        {
            "noise_multiplier": 1.1,
            "sampling": "shuffled-epochs",
            "dataset_size": 100,
            "batch_size": 10,
            "epochs": 2,
        },
        {"noise_multiplier": 2, "sampling": "none", "steps": 1},
    ],
}
STATES = {
    "exact": state_to_json(ExactAccountant().compose(TREE.events[0])),
    "renyi": state_to_json(RenyiAccountant().compose(TREE.events[0])),
}


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
@pytest.mark.parametrize("name", LEDGERS)
def test_ledgers(tmp_path, name, many):
    path = tmp_path / "ledger.json"

    def check(content):
        path.write_bytes(content if isinstance(content, bytes) else text_of(content).encode())
        refusal(path, read_ledger)

    good = LEDGERS[name]
    check(good)
    assert refusal(path, read_ledger) is None
    fuzz(altered(good), check, 60 * many)
    fuzz(damaged(json.dumps(good).encode()), check, 60 * many)


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
@pytest.mark.parametrize("name", STATES)
def test_states(tmp_path, name, many):
    path = tmp_path / "state.json"

    def check(content):
        path.write_bytes(content if isinstance(content, bytes) else text_of(content).encode())
        refusal(path, read_state)

    good = STATES[name]
    check(good)
    assert refusal(path, read_state) is None
    fuzz(altered(good), check, 40 * many)
    fuzz(damaged(json.dumps(good).encode()), check, 40 * many)


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
@pytest.mark.parametrize("name", LEDGERS)
def test_accounts_of_ledgers(tmp_path, capfd, name, many):
    path = Path(tmp_path, "ledger.json")

    def check(document):
        path.write_text(text_of(document))
        code = main(
            f"account --event {path} --delta 1e-5 --tightness fast --accountant renyi".split()
        )
        out, err = capfd.readouterr()
        assert code in (0, 2, 5), err
        assert "internal error" not in err
        if code:
            assert (out, err.count("\n")) == ("", 1), err

    fuzz(altered(LEDGERS[name]), check, 15 * many)
