"""Broken ledgers, states and solves are caught by the checks that hold the true ones."""

import dataclasses
import json
import math

import dp_accounting
import pytest

from accountants import Bracket, ExactAccountant, NeighboringRelation, ledger_runs, ledger_trees
from accountants.budget import calibrate_steps, remaining_steps
from accountants.events import dp_sgd_event
from accountants.integer_search import Search
from accountants.ledger import (
    event_from_json,
    event_to_json,
    ledger_from_json,
    restore,
    state_to_json,
)
from accountants.sampling import Poisson, WithoutReplacement

GAUSSIAN = dp_accounting.GaussianDpEvent(1.1 / 3)
POISSON = dp_accounting.PoissonSampledDpEvent(0.01 / 3, GAUSSIAN)
TREE = dp_accounting.ComposedDpEvent(
    [dp_accounting.SelfComposedDpEvent(POISSON, 300), GAUSSIAN, POISSON]
)


def comes_back(event):
    """The check of tests/accountants/test_ledger.py."""
    return event_from_json(json.loads(json.dumps(event_to_json(event)))) == event


def test_floats_cut_to_twelve_digits_do_not_come_back(monkeypatch):
    assert comes_back(TREE)
    write = ledger_trees._write_value

    def rounded(value, place, depth):
        written = write(value, place, depth)
        return float(f"{written:.12g}") if isinstance(written, float) else written

    monkeypatch.setattr(ledger_trees, "_write_value", rounded)
    assert not comes_back(TREE)


def test_a_count_that_is_dropped_does_not_come_back(monkeypatch):
    read = ledger_trees._read

    def forgetful(document, place, depth):
        event = read(document, place, depth)
        return event.event if isinstance(event, dp_accounting.SelfComposedDpEvent) else event

    monkeypatch.setattr(ledger_trees, "_read", forgetful)
    assert not comes_back(TREE)


def state_comes_back(accountant, delta=1e-6):
    """The check of tests/accountants/test_ledger_state.py: the same to the last bit."""
    again = restore(json.dumps(state_to_json(accountant)))
    return again.epsilon_bracket(delta) == accountant.epsilon_bracket(delta)


def test_a_state_that_forgets_its_relation_is_caught(monkeypatch):
    accountant = ExactAccountant(NeighboringRelation.REPLACE_ONE).compose(POISSON, 1000)
    assert state_comes_back(accountant)
    monkeypatch.setattr(ExactAccountant, "settings", lambda _: {"direction": "both"})
    assert not state_comes_back(accountant)


def test_a_state_by_the_epsilon_alone_would_not_resume():
    """Why the ledger is kept: the cost of both halves is not the sum of their costs."""
    half = ExactAccountant().compose(run_of(500))
    whole = ExactAccountant().compose(run_of(1000))
    assert whole.get_epsilon(1e-6) < 1.9 * half.get_epsilon(1e-6)


def test_swapped_columns_of_a_history_are_caught(monkeypatch):
    history = [[0.9, 0.1, 3]]  # both numbers could be either
    right = ledger_from_json(history).event
    read = ledger_runs.history_from_json
    monkeypatch.setattr(
        "accountants.ledger.history_from_json",
        lambda entries, place="$": read([[q, s, t] for s, q, t in entries], place),
    )
    wrong = ledger_from_json(history).event
    assert right.event == dp_accounting.PoissonSampledDpEvent(
        0.1, dp_accounting.GaussianDpEvent(0.9)
    )
    assert wrong != right


def test_fixed_size_runs_read_as_poisson_are_caught():
    run = {
        "noise_multiplier": 3,
        "sampling": "without-replacement",
        "dataset_size": 10_000,
        "batch_size": 100,
        "steps": 100,
    }
    event = ledger_from_json([run]).event
    poisson = ledger_from_json(
        [{key: value for key, value in run.items() if key != "sampling"} | {"sampling": "poisson"}]
    ).event

    def lower(what):
        accountant = ExactAccountant(NeighboringRelation.REPLACE_ONE).compose(what)
        return accountant.epsilon_bracket(1e-6).lower

    added = ExactAccountant().compose(poisson).get_epsilon(1e-6)
    assert event != poisson
    assert added < lower(event)  # what a reading as Poisson would have reported


# --- solves -----------------------------------------------------------------------------------

BUDGET = {"target_epsilon": 2.0, "target_delta": 1e-6}


def run_of(steps):
    return dp_sgd_event(sampling=Poisson(0.01), noise_multiplier=1.0, steps=steps)


def epsilon(event):
    return ExactAccountant().compose(event).epsilon_bracket(1e-6)


def holds(found, target=2.0):
    """The check of tests/accountants/test_budget.py."""
    return (
        found.epsilon == epsilon(run_of(found.value))
        and found.next_epsilon == epsilon(run_of(found.value + 1))
        and found.epsilon.upper <= target < found.next_epsilon.upper
    )


@pytest.mark.parametrize("slip", [-1, 1])
def test_an_answer_that_is_one_off_is_caught(monkeypatch, slip):
    assert holds(calibrate_steps(run_of, **BUDGET))
    run = Search.run

    def slipped(self, start):
        left, right = run(self, start)
        return left + slip, right + slip

    monkeypatch.setattr(Search, "run", slipped)
    assert not holds(calibrate_steps(run_of, **BUDGET))


def test_a_search_for_the_lower_end_is_caught(monkeypatch):
    """An answer that only its attained end keeps is over budget by its guarantee."""
    relation = NeighboringRelation.REPLACE_ONE

    def fixed(steps):
        sampling = WithoutReplacement(10_000, 100)
        return dp_sgd_event(sampling=sampling, noise_multiplier=3.0, steps=steps)

    def within(found):
        accountant = ExactAccountant(relation).compose(fixed(found.value))
        return accountant.get_epsilon(1e-6) <= 2.0

    assert within(calibrate_steps(fixed, **BUDGET, neighboring_relation=relation))
    value = Search._value

    def lower(self, number):
        self.end = "lower"
        return value(self, number)

    monkeypatch.setattr(Search, "_value", lower)
    assert not within(calibrate_steps(fixed, **BUDGET, neighboring_relation=relation))


def test_remaining_steps_that_forget_what_has_run_are_caught():
    spent, step = run_of(500), run_of(1).event

    def within(found):
        whole = dp_accounting.ComposedDpEvent(
            [spent, dp_accounting.SelfComposedDpEvent(step, found.value)]
        )
        return epsilon(whole).upper <= 2.0

    assert within(remaining_steps(spent, step, **BUDGET))
    assert not within(remaining_steps(dp_accounting.NoOpDpEvent(), step, **BUDGET))


def test_a_search_that_takes_a_failure_for_success_is_caught(monkeypatch):
    """Numbers that cannot be computed count as over the target, so that no answer is one."""
    from accountants import AccuracyError

    def cost(number):
        if number > 10:
            raise AccuracyError("too hard")
        return Bracket(0.0, float(number))

    with pytest.raises(AccuracyError):
        Search(cost, 50.0, 1, 100).run(20)
    value = Search._value

    def hopeful(self, number):
        found = value(self, number)
        return 0.0 if found == math.inf else found

    monkeypatch.setattr(Search, "_value", hopeful)
    assert Search(cost, 50.0, 1, 100).run(20) == (100, None)


def test_a_bracket_of_another_number_is_caught():
    found = calibrate_steps(run_of, **BUDGET)
    assert not holds(dataclasses.replace(found, epsilon=epsilon(run_of(found.value - 1))))
