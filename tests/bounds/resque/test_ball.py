"""Ball acceleration: proofs replay, cannot be weakened, and the count has the known values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy

import bounds
from bounds.resque.ball_count import LOG_TERM, NATURAL
from bounds.resque.symbols import A, R_dom, c_acc, gap_ball, lam, r
from bounds.symbols import T, t
from bounds.theorem import Theorem

IDS = (
    "resque.ball.potential",
    "resque.ball.sum",
    "resque.ball.count",
    "resque.ball.floor",
    "resque.ball.free",
    "resque.ball.log",
)


#: The part of the count that grows.
MAIN = (R_dom / (c_acc * r) * LOG_TERM) ** sympy.Rational(2, 3)


def theorem(id: str) -> Theorem:
    return bounds.theorems()[id]


@pytest.mark.parametrize("id", IDS)
def test_proof_replays_without_assumed_steps_and_without_leftovers(id: str) -> None:
    report = theorem(id).replay()
    assert report.ok, report.describe()
    assert not report.assumed
    assert not report.unused_assumptions
    assert not report.unused_steps


@pytest.mark.parametrize("id", IDS[:5])
def test_models_hold_or_break_one_assumption(id: str) -> None:
    whole = 0
    for model in theorem(id).models(np.random.default_rng(1)):  # type: ignore[misc]
        broken = [each.id for each in theorem(id).assumptions if not model.holds(each.formula)]
        if not broken:
            whole += 1
            assert model.holds(theorem(id).statement), model.note
        else:
            assert len(broken) == 1, (model.note, broken)
            assert model.violates(theorem(id).statement), model.note
    assert whole >= 1


@pytest.mark.parametrize(
    ("id", "dropped"),
    [
        ("resque.ball.potential", each)
        for each in ("weight", "size", "centre", "mirror", "convex-iterate", "convex-minimiser")
    ]
    + [("resque.ball.sum", each) for each in ("first", "carry", "move", "dist", "start")]
    + [("resque.ball.count", each) for each in ("accepted", "running", "start")]
    + [
        ("resque.ball.free", each)
        for each in ("size", "centre", "part", "weight", "mirror", "sphere", "convex-mean")
    ],
)
def test_a_dropped_assumption_has_a_counterexample_and_no_proof(id: str, dropped: str) -> None:
    less = theorem(id).without_assumption(dropped)
    assert not less.replay().ok
    assert less.counterexample() is not None


def test_nothing_contradicts_the_theorems_themselves() -> None:
    for id in IDS:
        assert theorem(id).counterexample(tries=20) is None, id


def test_the_potential_falls_by_no_more_than_it_says() -> None:
    one = theorem("resque.ball.potential")
    left, right = one.statement.args
    assert one.statement.func in (sympy.Le, sympy.LessThan)
    extra = lam(t) * A(t) / 100
    more = one.with_claim(left + extra <= right)
    assert not more.replay().ok
    assert more.counterexample() is not None


def test_whole_steps_of_the_other_branch_do_not_prove() -> None:
    """The bisection-free step needs the smaller of guess and multiplier in both branches."""
    free = theorem("resque.ball.free")
    first, second = free.statement.args
    branches = {first, second}
    swapped = sympy.And(
        *[
            sympy.Implies(sympy.Not(each.args[0]), each.args[1])
            for each in sorted(branches, key=str)
        ]
    )
    assert not free.with_claim(swapped).replay().ok


@pytest.mark.parametrize(
    "claim",
    [
        sympy.Le(T + 2, 1 + MAIN),
        sympy.Le(T + 3, 2 + MAIN),
        sympy.Le(T + 2, 2 + MAIN / 2),
        sympy.Le(T + 2, 2 + NATURAL),
    ],
)
def test_smaller_counts_do_not_prove(claim: Any) -> None:
    assert not theorem("resque.ball.count").with_claim(claim).replay().ok


def test_missing_steps_are_missed() -> None:
    for step in ("moves", "range"):
        assert not theorem("resque.ball.count").without_step(step).replay().ok, step


POINT: dict[str, Any] = {"lipschitz": 1.0, "radius": 1.0, "ball_radius": 1 / 64, "accuracy": 0.01}


@pytest.mark.parametrize(
    ("acceptance", "value"), [(1.0, 66.37760936574884), (0.5, 104.19308483038752)]
)
def test_count_at_the_reference_point(acceptance: float, value: float) -> None:
    count = theorem("resque.ball.count")
    found = count.evaluate(**POINT, acceptance=acceptance)
    assert float(found) == pytest.approx(value, rel=1e-14)
    exact = count.evaluate(backend="mpmath", **POINT, acceptance=acceptance)
    assert float(exact) == pytest.approx(value, rel=1e-15)
    ball = count.evaluate(backend="ball", **POINT, acceptance=acceptance)
    assert float(ball.mid()) == pytest.approx(value, rel=1e-14)


def test_count_where_the_logarithm_would_be_negative() -> None:
    count = theorem("resque.ball.count")
    easy: dict[str, Any] = {**POINT, "accuracy": 40.0, "acceptance": 0.5}
    assert float(count.evaluate(**easy)) == 2
    assert math.isfinite(float(count.evaluate(**easy)))


@pytest.mark.parametrize(
    ("wrong", "value"),
    [("ball_radius", 0.0), ("accuracy", -1.0), ("acceptance", 1.5), ("radius", math.nan)],
)
def test_count_refuses_bad_values(wrong: str, value: float) -> None:
    with pytest.raises(ValueError, match=wrong):
        theorem("resque.ball.count").evaluate(**{**POINT, "acceptance": 0.5, wrong: value})


def test_high_floor_costs_the_natural_number_of_steps_times_the_logarithm() -> None:
    floor = theorem("resque.ball.floor")
    at: dict[str, Any] = {**POINT, "acceptance": 0.5}
    extra = float(floor.evaluate(**at)) - float(floor.evaluate("lowest_floor", **at))
    assert extra == pytest.approx(16 * math.log(64 / 0.02) / math.sqrt(2), rel=1e-13)
    lowest: dict[str, Any] = {name: POINT[name] for name in ("radius", "ball_radius", "accuracy")}
    assert float(floor.evaluate("floor", **lowest)) == pytest.approx(0.01 * 16**2, rel=1e-13)


def test_the_gap_is_bounded_by_the_weight() -> None:
    """What the sum says without its other terms: A_k (f(x) - f*) <= R^2/2."""
    total = theorem("resque.ball.sum").statement
    assert total.args[1] == R_dom**2 / 2
    assert gap_ball in {each.func for each in total.atoms(sympy.core.function.AppliedUndef)}
