"""Compiled bounds of the whole catalogue against 50 digits and balls, breakpoints included."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from flint import arb, ctx

import bounds
from bounds.evaluate import arguments_of
from bounds.evaluate_domain import domain_of
from bounds.theorem import Theorem

POINTS = 4


def grid(theorem: Theorem) -> Iterator[tuple[str, dict]]:
    """Points of the theorem's own picture: both ends, the middle, and a breakpoint between."""
    curve = theorem.curve
    assert curve is not None
    values = list(curve.values)
    chosen = values if len(values) <= POINTS else [values[0], *values[1::3][:2], values[-1]]
    for name in curve.names:
        wanted = arguments_of(theorem.evaluations[name])
        for value in chosen:
            point = {**curve.fixed, curve.along: value}
            if curve.along in wanted and domain_of(wanted[curve.along]).startswith("integer"):
                point[curve.along] = int(value)
            yield name, {key: each for key, each in point.items() if key in wanted}


def check(theorem: Theorem) -> int:
    """Compare the three at all points; how many there were."""
    count = 0
    for name, point in grid(theorem):
        fast = theorem.evaluate(name, **point)
        digits = theorem.evaluate(name, backend="mpmath", **point)
        ball = theorem.evaluate(name, backend="ball", **point)
        where = f"{theorem.id} {name} {point}"
        assert float(np.asarray(fast)) == pytest.approx(float(digits), rel=1e-10, abs=1e-300), where
        with ctx.workprec(200):
            near = arb(str(digits), abs(float(digits)) * 1e-45 + 1e-300)
            assert ball.overlaps(near), where
        assert math.isfinite(float(ball.mid())), where
        count += 1
    return count


SAMPLE = ("dp2.noise.average", "dp2.h.folded-normal", "dp2.phi.convex", "resque.E6")


@pytest.mark.parametrize("id", SAMPLE)
def test_the_three_agree_on_a_theorem(id: str) -> None:
    theorem = bounds.theorems()[id]
    if theorem.curve is None:
        pytest.skip("no curve")
    assert check(theorem) >= 1


@pytest.mark.slow
def test_the_three_agree_on_every_theorem_with_a_curve() -> None:
    drawn = [each for each in bounds.theorems().values() if each.curve is not None]
    assert len(drawn) >= 20
    assert sum(check(each) for each in drawn) >= 60
