"""What leaves a private oracle call is noisy, and what is planned covers the worst of its calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accountants.errors import InfeasibleBudgetError
from dp2theory.resque import failure, localization, private_part
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.distances import PositiveMax
from dp2theory.resque.functions import Array
from dp2theory.resque.localization import PrivateBallOracle, Release
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.phases import schedule
from dp2theory.resque.private_part import longest_phases
from dp2theory.resque.private_plan import plan_private

RADIUS, SMOOTHING = 0.01, 1.28


def projected(u: Array) -> Array:
    length = float(np.linalg.norm(u))
    return u * min(1.0, RADIUS / length)


def test_phases_begin_and_calls_end_at_what_was_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clean means are seen by nobody: not by the next phase, and not by the caller."""
    starts: list[Array] = []
    descend = localization._descend

    def spying(pool: Any, phase: Any, u: Array, *rest: Any) -> Array:
        starts.append(u.copy())
        return descend(pool, phase, u, *rest)

    monkeypatch.setattr(localization, "_descend", spying)
    seen: list[Release] = []
    oracle = PrivateBallOracle(
        function_named("absolute", records=50, dimension=2), RADIUS, SMOOTHING, 40, 6.0,
        np.random.default_rng(1), observe=seen.append,
    )  # fmt: skip
    center = np.array([0.1, -0.2])
    answer = oracle.solve(center, 3.0)
    assert len(seen) == len(starts) > 2
    np.testing.assert_array_equal(starts[0], np.zeros(2))
    for start, release in zip(starts[1:], seen, strict=False):
        assert not np.allclose(release.clean, release.released, rtol=1e-3)
        np.testing.assert_allclose(start, projected(release.released), rtol=1e-12)
    np.testing.assert_allclose(answer, center + projected(seen[-1].released), rtol=1e-12)


def test_multiplier_and_regulariser_pull_in_proportion() -> None:
    """Where f is flat the answer is between the centre and the anchor, by their multipliers."""
    flat = PositiveMax(2, offset=100.0)
    anchor, center = np.array([0.004, 0.0]), np.zeros(2)
    oracle = PrivateBallOracle(
        flat, RADIUS, SMOOTHING, 400, 0.0, np.random.default_rng(0),
        anchor=anchor, regularisation=3e4,
    )  # fmt: skip
    np.testing.assert_allclose(oracle.solve(center, 1e4), 0.75 * anchor, rtol=1e-2)


def test_failures_are_counted_at_steps_that_no_call_exceeds() -> None:
    """With restarts, steps grow with the radius that the one before may leave: at low multipliers.

    Steps for one multiplier would be too short for the calls at lower ones.
    """
    constants = PrivateConstants(restarts=3)
    geometry: dict[str, Any] = {
        "draws": 300, "dimension": 2, "lipschitz": 1e-6, "radius": RADIUS, "smoothing": SMOOTHING,
        "constants": constants,
    }  # fmt: skip
    longest = longest_phases(**geometry)
    shorter = 0
    for multiplier in (1e-15, 1e-9, 1.0, 1e3):
        for noise in (0.0, 0.5, 8.0):
            real = schedule(multiplier=multiplier, noise_multiplier=noise, **geometry)
            for bound, phase in zip(longest, real, strict=True):
                assert bound.steps == phase.draws
                assert bound.step_size >= phase.step * (1 - 1e-12)
                shorter += phase.step < 0.9 * bound.step_size
    assert shorter
    last = [each.step_size for each in longest if each.steps == longest[0].steps]
    assert len(last) == 3
    assert max(last) == pytest.approx(min(last), rel=1e-9)  # no restart shrinks its ball


@pytest.mark.parametrize(("part_of_delta", "refused"), [(0.45, False), (0.55, True)])
def test_failures_may_take_less_than_half_of_delta(
    monkeypatch: pytest.MonkeyPatch, part_of_delta: float, refused: bool
) -> None:
    drawn, calls, delta = 1 - (1 - 1 / 40) ** 8, 4, 1e-6
    chance = part_of_delta * delta / (drawn * calls)
    monkeypatch.setattr(failure, "call_failure", lambda phases: chance)
    monkeypatch.setattr(private_part, "smallest_noise", lambda *_, **__: 8.0)

    def plan() -> Any:
        return plan_private(
            function_named("absolute", records=40, dimension=2),
            accuracy=0.4, parts=1, draws=8, max_calls=calls, target_epsilon=1.0,
            target_delta=delta,
        )  # fmt: skip

    if refused:
        with pytest.raises(InfeasibleBudgetError, match="must be below delta/2"):
            plan()
    else:
        assert plan().parts[0].failure_delta == pytest.approx(part_of_delta * delta, rel=1e-6)
