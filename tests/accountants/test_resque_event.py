"""The event of an oracle call: its domain, its file form, and who refuses it for which reason."""

from __future__ import annotations

import json
import math
from typing import Any

import dp_accounting
import pytest
from dp_accounting.privacy_accountant import UnsupportedEventError

from accountants import (
    AdvancedCompositionAccountant,
    ExactAccountant,
    NeighboringRelation,
    RenyiAccountant,
    TruncatedCdpAccountant,
    read_ledger,
    restore,
    state_to_json,
    write_ledger,
)
from accountants.events import ResqueOracleDpEvent, resque_event, sampled_gaussian_event
from accountants.group import GroupAccountant
from accountants.laws.ball_events import read
from accountants.ledger import event_from_json, event_to_json
from accountants.sampling import OracleDraws, WithReplacement
from accountants.walk import Release, UnsupportedLeaf
from dp2theory.cli.app import main

REPLACE = NeighboringRelation.REPLACE_ONE
EVERY = (ExactAccountant, RenyiAccountant, TruncatedCdpAccountant, AdvancedCompositionAccountant)
GOOD: dict[str, Any] = {
    "dataset_size": 1000,
    "draws": 50,
    "noise_multiplier": 8.0,
    "failure_probability": 1e-9,
    "calls": 20,
}


def run(**changed: Any) -> dp_accounting.DpEvent:
    return resque_event(**(GOOD | changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dataset_size": 1}, "dataset_size=1: must be a whole number >= 2"),
        ({"dataset_size": 10.0}, "dataset_size=10.0"),
        ({"draws": 0}, "draws=0: must be a whole number >= 1"),
        ({"noise_multiplier": math.nan}, "noise_multiplier=nan"),
        ({"noise_multiplier": -1.0}, r"noise_multiplier=-1\.0"),
        ({"noise_multiplier": math.inf}, "noise_multiplier=inf: must be finite where failure_prob"),
        ({"failure_probability": 1.5}, r"failure_probability=1\.5: must be a number in \[0, 1\]"),
        ({"failure_probability": math.nan}, "failure_probability=nan"),
        ({"calls": -1}, "calls=-1"),
        ({"calls": True}, "calls=True"),
    ],
)
def test_bad_values_are_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(**changed)
    if "calls" not in changed:  # the same where an event was made by hand, or by a file
        values = {**GOOD, **changed}
        del values["calls"]
        for accountant in EVERY:
            with pytest.raises(ValueError, match=next(iter(changed))):
                accountant(REPLACE).compose(ResqueOracleDpEvent(**values))
        document = event_to_json(run())
        document["event"] |= values
        with pytest.raises(ValueError, match=next(iter(changed))):
            event_from_json(document)


def test_infinite_noise_hides_everything_where_nothing_fails() -> None:
    for accountant in EVERY:
        silent = accountant(REPLACE).compose(
            run(noise_multiplier=math.inf, failure_probability=0.0)
        )
        assert silent.get_epsilon(1e-6) == 0.0
        bare = accountant(REPLACE).compose(run(noise_multiplier=0.0))
        assert bare.get_epsilon(0.1) == math.inf


@pytest.mark.parametrize("accountant", EVERY)
@pytest.mark.parametrize(
    "relation", [r for r in NeighboringRelation if r is not REPLACE], ids=lambda r: r.name
)
def test_other_relations_are_refused_with_the_reason(
    accountant: Any, relation: NeighboringRelation
) -> None:
    one = accountant(relation)
    assert not one.supports(run())
    with pytest.raises(UnsupportedEventError, match="covered under REPLACE_ONE; where a record is"):
        one.compose(run())
    assert len(one) == 0


def test_other_ways_that_have_no_theorem_are_refused() -> None:
    with pytest.raises(UnsupportedEventError, match="single records: use group_size=1"):
        GroupAccountant(REPLACE, group_size=2).compose(run())
    with pytest.raises(ValueError, match="single records: use group_size=1"):
        GroupAccountant(REPLACE, group_size=2).explain(run())
    alone = GroupAccountant(REPLACE, group_size=1).compose(run())
    assert alone.get_epsilon(1e-6) == ExactAccountant(REPLACE).compose(run()).get_epsilon(1e-6)
    for method in ("agnostic", "agnostic-closed"):
        with pytest.raises(UnsupportedEventError, match="use method='gaussian' or 'gaussian-clos"):
            TruncatedCdpAccountant(REPLACE, method).compose(run())
    with pytest.raises(ValueError, match="must be a description"):  # a call is no noisy sum
        sampled_gaussian_event(sampling=OracleDraws(10, 2), noise_multiplier=1.0)
    with pytest.raises(UnsupportedLeaf, match="no one law of its own"):
        read(run(), REPLACE)


def test_files_and_states_come_back_whole(tmp_path: Any) -> None:
    path = tmp_path / "run.json"
    write_ledger(path, run())
    assert read_ledger(path).event == run()
    for accountant in EVERY:
        one = accountant(REPLACE).compose(run())
        again = restore(json.loads(json.dumps(state_to_json(one))))
        assert again.get_epsilon(1e-5) == one.get_epsilon(1e-5)


def test_the_command_line_takes_it(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "run.json"
    write_ledger(path, run())
    assert main(["account", "--event", str(path), "--delta", "1e-6", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    found = ExactAccountant(REPLACE).compose(run()).epsilon_bracket(1e-6)
    text = json.dumps(result)
    assert repr(found.upper) in text
    assert repr(found.lower) in text
    assert "docs/proofs/resque.md" in text


def test_counts() -> None:
    one = ExactAccountant(REPLACE).compose(run())
    assert len(one) == one.steps == 20
    leaf = Release(OracleDraws(1000, 50, 0.5), 8.0)
    assert leaf.most_copies == 50
    assert leaf.chance == pytest.approx(0.05)
    assert leaf.failure == pytest.approx(0.5 * (1 - 0.999**50))
    assert Release(WithReplacement(1000, 50), 8.0).failure == 0


def test_tight_changes_nothing_and_is_not_claimed() -> None:
    """The recursion over adaptive steps is proved for noisy sums."""
    fast = ExactAccountant(REPLACE).compose(run())
    tight = ExactAccountant(REPLACE, tightness="tight").compose(run())
    assert tight.epsilon_bracket(1e-5) == fast.epsilon_bracket(1e-5)
    assert tight.get_delta(0.5) == fast.get_delta(0.5)
    assert tight.explain(run()) == fast.explain(run())
    assert "Hellinger" not in tight.explain(run()).upper
    # A leak would be seen: the same sizes as a noisy sum have a smaller tight end.
    total = dp_accounting.SelfComposedDpEvent(
        dp_accounting.SampledWithReplacementDpEvent(1000, 50, dp_accounting.GaussianDpEvent(8.0)),
        20,
    )
    sharper = ExactAccountant(REPLACE, tightness="tight").compose(total).get_epsilon(1e-5)
    assert sharper < 0.99 * fast.get_epsilon(1e-5)
    mixed = dp_accounting.ComposedDpEvent([run(), total])
    both = ExactAccountant(REPLACE, tightness="tight").compose(mixed)
    assert both.get_epsilon(1e-5) == ExactAccountant(REPLACE).compose(mixed).get_epsilon(1e-5)
    assert "Hellinger" not in both.explain(mixed).upper


def test_the_explanation_names_what_attains_the_lower_end() -> None:
    found = ExactAccountant(REPLACE).explain(run())
    assert not found.exact
    assert "one mechanism of the class, the Gaussian sum of the draws" in found.lower
    assert "failures of a call are cut from both laws" in found.upper
