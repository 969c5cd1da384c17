"""Utility of a private ball subproblem: the reference minimum, slopes, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.verification.resque_utility import ball_minimum, regularised, utility_study


@pytest.mark.parametrize(("radius", "inside"), [(0.02, False), (2.0, True)])
def test_the_reference_minimum_is_one(radius: float, inside: bool) -> None:
    loss = function_named("absolute", records=200, dimension=3)
    assert isinstance(loss, AbsoluteLoss)
    found = ball_minimum(loss, loss.start, radius=radius, smoothing=0.1, multiplier=4.0)
    assert bool(np.linalg.norm(found) < 0.999 * radius) == inside
    least = regularised(loss, found, loss.start, 0.1, 4.0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        near = found + 0.01 * rng.standard_normal(3)
        near *= min(1.0, radius / float(np.linalg.norm(near)))
        assert regularised(loss, near, loss.start, 0.1, 4.0) >= least
    if inside:
        free = minimize(lambda x: regularised(loss, x, loss.start, 0.1, 4.0), found + 0.1)
        assert least == pytest.approx(free.fun, abs=1e-10)


def test_a_small_study_has_falling_excess_and_plain_values() -> None:
    study = utility_study(sizes=(100, 400, 1600), seeds=4, records=500, dimension=4)
    for sigma in (0.0, 8.0):
        rows = [row for row in study.rows if row.noise_multiplier == sigma]
        assert rows[0].excess > rows[-1].excess > 0
        assert all(row.excess < row.estimate for row in rows)
        slope = study.slope(sigma, 3)
        assert slope.lower <= slope.slope <= slope.upper < 0
    assert study.rows[0].excess < study.rows[3].excess  # noise costs
    assert json.loads(json.dumps(study.to_json()))["seeds"] == 4
    with pytest.raises(KeyError):
        study.slope(1.0, 3)


def test_bad_input_is_refused() -> None:
    for change, named in (
        ({"sizes": (10, 20)}, "sizes"),
        ({"sizes": (10, 10, 20)}, "sizes"),
        ({"seeds": 1}, "seeds"),
        ({"seed": -1}, "seed"),
        ({"noise_multipliers": (float("nan"),)}, "noise_multipliers"),
        ({"radius": 0.0}, "radius"),
        ({"multiplier": -1.0}, "multiplier"),
    ):
        settings: dict[str, Any] = {"sizes": (10, 20, 40), "seeds": 2, "records": 50, **change}
        with pytest.raises(ValueError, match=named):
            utility_study(**settings)


@pytest.mark.slow
def test_excess_falls_at_the_slopes_of_the_theory() -> None:
    study = utility_study(seeds=24)
    plain = study.slope(0.0, 6)
    assert -1.1 < plain.lower < -0.9 < plain.upper + 0.1
    assert -1.05 < plain.slope < -0.8
    private = study.slope(8.0, 6)
    assert -1.1 < private.slope < -0.7
    # Once noise is below what the ball allows anyway it falls between 1/N and 1/N^2.
    assert -2.0 < study.slope(8.0, 3).slope < -0.9
