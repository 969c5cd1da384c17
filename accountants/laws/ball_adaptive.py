"""Lower ends against runs in which the data sets are chosen anew at each step, in balls.

``adaptive.plan`` writes down a rule in doubles: cells of outputs, which pair is played in which
state, and when to accept.  Here its two chances of acceptance p and q are computed in balls, so
that δ(ε) >= p - exp(ε) q is certain whatever the rule.  Proof: docs/proofs/lower-ends.md,
section 7.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import flint
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws import adaptive
from accountants.laws.adaptive import Option, Plan
from accountants.laws.ball_events import Leaf
from accountants.laws.ball_masses import Masses, OutOfReach
from accountants.laws.ball_pairs import LocationPair

_BITS = 96
_LOG_TAIL = -120.0
_FINENESS = (100, 200, 400, 800, 1600)
#: Steps of a run that is enclosed, at the most.
MOST_STEPS = 200
_MOST_WORK = 200_000  # states of all steps and pairs: a few seconds in balls

#: Chances of cells of outputs under the two data sets, by rising loss, as balls.
Law = tuple[list[Any], list[Any]]


def promising(
    counts: Mapping[Leaf, int], relation: NeighboringRelation, epsilon: float, delta: float
) -> Plan | None:
    """A rule whose lower end of δ at ``epsilon`` is above ``delta`` in doubles, if one is found.

    Parameters
    ----------
    counts : mapping from leaf to int
        Only runs of one kind have such rules.
    relation : NeighboringRelation
    epsilon : float
    delta : float
        In (0, 1): what is claimed at ``epsilon``.
    """
    if len(counts) != 1 or not 0 < delta < 1:
        return None
    leaf, steps = next(iter(counts.items()))
    if not 2 <= steps <= MOST_STEPS:
        return None
    pairs = adaptive.alternatives(leaf, relation)
    if not pairs:
        return None
    before = 0.0
    for half in _FINENESS:
        if half * steps * 2 * len(pairs) > _MOST_WORK:
            return None
        try:
            plan = adaptive.plan(pairs, steps, delta, half=half)
        except OutOfReach:
            return None
        value = plan.delta(epsilon)
        if value > delta:
            return plan
        # Errors fall by about 4: without hope if several times the rest is not enough.
        if half > _FINENESS[0] and value + 2 * abs(value - before) < delta:
            return None
        before = value
    return None


def lower_end(plan: Plan, epsilon: Any) -> Any:
    """p - exp(ε) q of the rule of ``plan`` that does best at ``epsilon``, a ball."""
    with flint.ctx.workprec(_BITS):
        p, q = _accepted(plan, plan.start(float(epsilon)))
        return p - epsilon.exp() * q


def _accepted(plan: Plan, start: int) -> tuple[Any, Any]:
    """Chances of acceptance of the rule from one state, under the two data sets."""
    known: dict[LocationPair, Law] = {}
    laws = [_law(option, known) for option in plan.options]
    zero, one = flint.arb(0), flint.arb(1)
    now: list[list[Any]] = [[one] * plan.half + [zero] * (plan.half + 1) for _ in range(2)]
    for choice in plan.choices[:-1]:
        used = {int(i) for i in choice}
        tried = {
            i: [
                _after(row, law, plan.options[i].lowest)
                for row, law in zip(now, laws[i], strict=True)
            ]
            for i in used
        }
        now = [[tried[int(i)][side][k] for k, i in enumerate(choice)] for side in range(2)]
    first = int(plan.choices[-1][start])
    lowest = plan.options[first].lowest
    p, q = (_at(row, law, lowest, start) for row, law in zip(now, laws[first], strict=True))
    return p, q


def _law(option: Option, known: dict[LocationPair, Law]) -> Law:
    """Chances of the cells under the two data sets, by rising loss."""
    if option.pair not in known:
        masses = Masses(option.pair, _LOG_TAIL)
        places = [masses.at(float(cut)) for cut in option.cuts]
        cells = [masses.between(a, b) for a, b in itertools.pairwise([None, *places, None])]
        known[option.pair] = [first for first, _ in cells], [second for _, second in cells]
    first, second = known[option.pair]
    return (second[::-1], first[::-1]) if option.reverse else (first, second)


def _padded(accepted: list[Any], law: list[Any], lowest: int) -> list[Any]:
    """With what is decided beyond both ends of the lattice."""
    ones, zeros = [flint.arb(1)], [flint.arb(0)]
    return ones * (lowest + len(law) - 1) + accepted + zeros * -lowest


def _after(accepted: list[Any], law: list[Any], lowest: int) -> list[Any]:
    """``adaptive.after`` in balls."""
    padded = _padded(accepted, law, lowest)
    product = list((flint.arb_poly(padded) * flint.arb_poly(law)).coeffs())
    product += [flint.arb(0)] * (len(padded) - len(product))
    return product[len(law) - 1 : len(padded)]


def _at(accepted: list[Any], law: list[Any], lowest: int, start: int) -> Any:
    """One entry of ``_after``."""
    padded = _padded(accepted, law, lowest)
    top = start + len(law) - 1
    return sum(
        (mass * padded[top - i] for i, mass in enumerate(law)),
        flint.arb(0),
    )
