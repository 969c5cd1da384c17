"""Checks of an accountant, each a function that raises AssertionError.

They take a factory instead of a class, so that tests/bites can hand them accountants that are
known to be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dp_accounting

from accountants import Bracket, NeighboringRelation
from tests.reference.rows import Row

Make = Callable[[NeighboringRelation, str], Any]

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
RELATIONS = (ADD_REMOVE, REPLACE, SPECIAL)

PROMISED = 1e-9  # relative error of epsilon and delta where the project promises it


def gaussian(sigma: float) -> dp_accounting.DpEvent:
    """One release to every record."""
    return dp_accounting.GaussianDpEvent(sigma)


def sampled(q: float, sigma: float) -> dp_accounting.DpEvent:
    """One release on a Poisson sample."""
    return dp_accounting.PoissonSampledDpEvent(q, gaussian(sigma))


def run(q: float, sigma: float, steps: int) -> dp_accounting.DpEvent:
    """A run of equal steps."""
    return dp_accounting.SelfComposedDpEvent(sampled(q, sigma), steps)


def filled(make: Make, row: Row) -> Any:
    """An accountant that has composed the steps of ``row``."""
    if row.direction == "replace":
        accountant = make(REPLACE, "both")
    else:
        accountant = make(ADD_REMOVE, row.direction)
    for q, sigma, count in row.steps:
        if q == 1:
            accountant.compose(gaussian(float(sigma)), count)
        else:
            accountant.compose(sampled(float(q), float(sigma)), count)
    return accountant


def holds(bracket: Bracket, value: float, slack: float) -> None:
    """``bracket`` contains ``value`` up to the relative error of the reference."""
    room = slack * abs(value)
    assert bracket.lower - room <= value, f"lower end {bracket.lower!r} above {value!r}"
    assert value <= bracket.upper + room, f"upper end {bracket.upper!r} below {value!r}"


def close(bracket: Bracket, value: float, tolerance: float) -> None:
    """Both ends lie within ``tolerance`` of ``value``, relatively (0 means exactly 0)."""
    for end in (bracket.lower, bracket.upper):
        assert abs(end - value) <= tolerance * abs(value), f"{end!r} is not {value!r}"


def check_row(make: Make, row: Row, tolerance: float = PROMISED) -> None:
    """The accountant's bracket contains the reference and is as narrow as promised."""
    accountant = filled(make, row)
    if row.quantity == "epsilon":
        assert row.delta is not None
        bracket = accountant.epsilon_bracket(float(row.delta))
        holds(bracket, row.number, row.slack)
        close(bracket, row.number, tolerance + row.slack)
        assert accountant.get_epsilon(float(row.delta)) == bracket.upper
        return
    assert row.quantity == "delta"
    assert row.epsilon is not None
    logs = accountant.log_delta_bracket(float(row.epsilon))
    assert logs.lower - row.slack <= row.log + 4e-16 * abs(row.log), f"{logs!r}, not {row.log!r}"
    assert row.log - 4e-16 * abs(row.log) <= logs.upper + row.slack, f"{logs!r}, not {row.log!r}"
    assert logs.upper - logs.lower <= 2 * tolerance, f"{logs!r} is wider than promised"
    if row.number > 1e-290:
        bracket = accountant.delta_bracket(float(row.epsilon))
        holds(bracket, row.number, row.slack)
        close(bracket, row.number, 2 * tolerance + row.slack)
        assert accountant.get_delta(float(row.epsilon)) == bracket.upper


# ------------------------------------------------------------------------- state and composition


def check_counts(make: Make) -> None:
    """k-fold composition in every spelling equals k single compositions."""
    event = sampled(0.9, 3.0)
    singles = make(ADD_REMOVE, "both")
    for _ in range(10):
        singles.compose(event)
    expected = singles.get_epsilon(1e-6)
    assert expected > make(ADD_REMOVE, "both").compose(event).get_epsilon(1e-6)
    many = dp_accounting.SelfComposedDpEvent
    spellings = [
        (event, 10),
        (many(event, 10), 1),
        (dp_accounting.ComposedDpEvent([event] * 10), 1),
        (dp_accounting.ComposedDpEvent([many(event, 3), event, many(many(event, 2), 3)]), 1),
        (many(dp_accounting.ComposedDpEvent([event, event]), 5), 1),
        (many(event, 5), 2),
    ]
    for tree, count in spellings:
        accountant = make(ADD_REMOVE, "both").compose(tree, count)
        answer = accountant.get_epsilon(1e-6)
        assert answer == expected, f"{count} times {tree!r}: {answer!r} is not {expected!r}"


def check_order_free(make: Make) -> None:
    """The order of compositions does not matter, to the last bit."""
    events = [(sampled(0.1, 1.3), 5), (gaussian(9.0), 2), (sampled(0.02, 0.9), 40)]
    answers = set()
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        accountant = make(ADD_REMOVE, "both")
        for index in order:
            accountant.compose(*events[index])
        answers.add(accountant.get_epsilon(1e-6))
    assert len(answers) == 1, f"{answers}"


def check_length(make: Make) -> None:
    """The length is the number of steps, not of calls."""
    accountant = make(ADD_REMOVE, "both")
    assert len(accountant) == 0
    accountant.compose(sampled(0.1, 1.3), 100)
    assert len(accountant) == 100, f"{len(accountant)}"
    accountant.compose(run(0.1, 1.3, 30), 2)
    accountant.compose(gaussian(3.0))
    accountant.compose(dp_accounting.NoOpDpEvent())
    assert len(accountant) == 161, f"{len(accountant)}"


# ----------------------------------------------------------------------- relations and directions


def check_units(make: Make) -> None:
    """Unsampled, replacing with twice the noise costs what adding or removing does."""
    for steps in (1, 7):
        plain = make(ADD_REMOVE, "both").compose(gaussian(1.7), steps).get_epsilon(1e-5)
        replaced = make(REPLACE, "both").compose(gaussian(3.4), steps).get_epsilon(1e-5)
        same = make(REPLACE, "both").compose(gaussian(1.7), steps).get_epsilon(1e-5)
        assert math.isclose(plain, replaced, rel_tol=1e-12), f"{plain!r}, {replaced!r}"
        assert same > 1.5 * plain, f"{same!r} against {plain!r}"
        # T releases are one with sqrt(T) less noise
        one = make(ADD_REMOVE, "both").compose(gaussian(1.7 / math.sqrt(steps)))
        assert math.isclose(plain, one.get_epsilon(1e-5), rel_tol=1e-12)
    special = make(SPECIAL, "both").compose(run(0.02, 1.1, 300)).get_epsilon(1e-6)
    unit = make(ADD_REMOVE, "both").compose(run(0.02, 1.1, 300)).get_epsilon(1e-6)
    assert special == unit, f"{special!r} is not {unit!r}"


def check_directions(make: Make) -> None:
    """ "both" is the maximum; the two differ; at epsilon = 0 both are the total variation."""
    event = run(0.02, 1.1, 300)
    made = {d: make(ADD_REMOVE, d).compose(event) for d in ("both", "remove", "add")}
    answers = {d: a.get_epsilon(1e-6) for d, a in made.items()}
    assert answers["remove"] > 1.05 * answers["add"], f"{answers}"
    assert answers["both"] == max(answers["remove"], answers["add"]), f"{answers}"
    zero = {d: a.delta_bracket(0.0) for d, a in made.items()}
    assert zero["remove"].lower <= zero["add"].upper, f"{zero}"
    assert zero["add"].lower <= zero["remove"].upper, f"{zero}"
    replaced = make(REPLACE, "both").compose(event).get_epsilon(1e-6)
    assert replaced > 1.05 * answers["both"], f"{replaced!r} against {answers}"


def check_sampling(make: Make) -> None:
    """Sampling helps; probability 1 is no sampling, 0 is no use at all."""
    for relation in (ADD_REMOVE, REPLACE):
        full = make(relation, "both").compose(gaussian(2.0), 10).get_epsilon(1e-6)
        one = make(relation, "both").compose(sampled(1.0, 2.0), 10).get_epsilon(1e-6)
        half = make(relation, "both").compose(sampled(0.5, 2.0), 10).get_epsilon(1e-6)
        none = make(relation, "both").compose(sampled(0.0, 2.0), 10).get_epsilon(1e-6)
        assert one == full, f"{one!r} is not {full!r}"
        assert 0.3 * full < half < 0.95 * full, f"{half!r} against {full!r}"
        assert none == 0.0, f"{none!r}"
