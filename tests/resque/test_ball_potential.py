"""The potential and the bound: where a check says that something is wrong, and what it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bounds
from dp2theory.resque.ball_potential import accepted_bound, check_potential, potential
from tests.resque import ball_checks as checks
from tests.resque.test_ball_acceleration import named

NUMBERS: dict[str, Any] = {
    "domain_radius": 1.0,
    "ball_radius": 1 / 64,
    "lipschitz": 1.0,
    "accuracy": 0.01,
}


def test_the_bound_has_the_known_values() -> None:
    checks.check_bound_values(accepted_bound)


def test_a_raised_floor_has_its_own_bound() -> None:
    theorem = bounds.theorems()["resque.ball.floor"]
    highest = float(theorem.evaluate("floor", radius=1.0, ball_radius=1 / 64, accuracy=0.01))
    assert highest == pytest.approx(0.01 * 64 ** (4 / 3))
    low = accepted_bound(**NUMBERS)
    assert accepted_bound(**NUMBERS, floor=0.02) == low  # 2 accuracy/R^2: not raised
    raised = accepted_bound(**NUMBERS, floor=highest)
    assert raised == accepted_bound(**NUMBERS, floor=0.1)
    assert raised == pytest.approx(low + 16 * np.log(3200) / np.sqrt(2))
    with pytest.raises(ValueError, match="floor"):
        accepted_bound(**NUMBERS, floor=1.01 * highest)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_bad_numbers_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        accepted_bound(**{**NUMBERS, name: value})


@pytest.mark.parametrize("band", [(0.0, 1.0), (0.5, 1.5), (0.5, 0.5), 0.5])
def test_bad_bands_are_named(band: Any) -> None:
    with pytest.raises(ValueError, match="band"):
        accepted_bound(**NUMBERS, band=band)


def test_a_potential_that_falls() -> None:
    found = check_potential(np.array([4.0, 3.0, 2.5]), [1.0, 0.25])
    assert found.holds
    assert found.step is None
    assert found.excess == 0.0
    assert check_potential(np.array([1.0])).holds


def test_the_step_at_which_a_potential_rises_is_said() -> None:
    found = check_potential(np.array([4.0, 3.0, 3.5, 1.0, 2.0]))
    assert not found.holds
    assert found.step == 2
    assert found.excess == 1.0
    assert found.message.startswith("step 2 of 4: the potential goes from 3 to 3.5")
    late = check_potential(np.array([4.0, 3.0, 2.5]), [1.0, 0.75])
    assert (late.holds, late.step, late.excess) == (False, 2, 0.25)
    assert "must fall by 0.75" in late.message


def test_rounding_is_forgiven_relative_to_the_first_value() -> None:
    values = np.array([1e6, 1e6 + 1e-5])
    assert check_potential(values).holds
    assert not check_potential(values, tolerance=0.0).holds
    assert not check_potential(values / 1e6 + [0, 1e-6]).holds


@pytest.mark.parametrize(
    ("values", "promised"),
    [([], None), ([1.0, np.nan], None), ([1.0, 0.0], [1.0, 2.0]), ([1.0, 0.0], [np.nan])],
)
def test_bad_potentials_are_refused(values: Any, promised: Any) -> None:
    with pytest.raises(ValueError, match=r"values|promised"):
        check_potential(np.array(values), promised)


def test_a_potential_begins_with_the_distance() -> None:
    function, accuracy = named("max", 6)
    _, steps = checks.run(function, 8, accuracy)
    values = checks.potential_of(function, steps)
    assert values[0] == pytest.approx(function.radius**2 / 2)
    assert len(values) == len(steps) + 1
    last = steps[-1]
    assert values[-1] == pytest.approx(
        last.weight * function.value(last.x) + ((last.v - function.center) ** 2).sum() / 2
    )
    with pytest.raises(ValueError, match="start"):
        potential(
            steps,
            start=np.zeros(2),
            minimiser=function.center,
            optimal_value=0.0,
            value=function.value,
        )
