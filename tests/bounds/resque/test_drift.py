"""Drift of coupled runs: the lemma's numbers, and runs against them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bounds.catalogue import theorem


def given(radius: float, steps: int) -> dict[str, Any]:
    """eta = r/(L sqrt(T)), in units of rho."""
    return {
        "relative_radius": radius,
        "steps": steps,
        "lipschitz": 1,
        "smoothing_std": 1,
        "ball_learning_rate": radius / math.sqrt(steps),
    }


def bound(order: int, radius: float, steps: int, name: str = "simple factor") -> float:
    """Bound on the drift over 2 eta L."""
    run = given(radius, steps)
    if order == 2:
        return float(theorem("resque.drift").evaluate(**run) / (2 * run["ball_learning_rate"]))
    return float(theorem("resque.drift.orders").evaluate(name, norm_order=order, **run))


@pytest.mark.parametrize(
    ("radius", "steps", "values"),
    [
        (0.05, 200, (1.00251, 1.01056, 1.0426)),
        (0.1, 200, (1.01015, 1.0457, 1.239)),
        (0.2, 200, (1.0425, 1.2495, 5.57)),
        (0.25, 1600, (1.0689, 1.481, 28.2)),
    ],
)
def test_bounds_with_the_first_step(
    radius: float, steps: int, values: tuple[float, float, float]
) -> None:
    for order, value in zip((2, 4, 8), values, strict=True):
        digits = len(str(value).partition(".")[2])
        assert bound(order, radius, steps) == pytest.approx(value, abs=0.6 * 10**-digits)


@pytest.mark.parametrize(
    ("radius", "steps", "values"),
    [
        (0.05, 200, (1.00126, 1.00678, 1.0335)),
        (0.1, 200, (1.00511, 1.03014, 1.19683)),
        (0.2, 200, (1.02188, 1.17675, 4.84)),
        (0.1, 400, (1.005, 1.030, 1.191)),
        (0.25, 1600, (1.036, 1.349, 22.6)),
    ],
)
def test_growth_after_the_first_step(
    radius: float, steps: int, values: tuple[float, float, float]
) -> None:
    run = given(radius, steps)
    two = theorem("resque.drift").evaluate("factor", **run)
    assert two == pytest.approx(
        values[0], abs=6e-4 if steps == 400 else 6e-5 if steps == 200 else 1e-3
    )
    for order, value in zip((4, 8), values[1:], strict=True):
        growth = theorem("resque.drift.orders").evaluate("growth", norm_order=order, **run)
        assert growth == pytest.approx(value, rel=2e-3)


def test_the_product_form_is_below_the_exponential_one() -> None:
    for order in (3, 4, 8):
        for radius in (0.05, 0.2):
            assert bound(order, radius, 200, "factor") <= bound(order, radius, 200)


def test_order_just_above_two_meets_the_second_moment() -> None:
    run = given(0.1, 200)
    two = theorem("resque.drift").evaluate(**run)
    near = theorem("resque.drift.orders").evaluate(norm_order=2 + 1e-9, **run)
    assert near == pytest.approx(two, rel=1e-6)


def test_alternating_linear_losses_stay_below_the_bound() -> None:
    """A martingale, the worst case: +-1 slopes in one dimension, noise and samples shared."""
    rng = np.random.default_rng(11)
    radius, steps, paths = 0.1, 200, 20_000
    eta = radius / math.sqrt(steps)
    x = np.zeros(paths)
    other = np.zeros(paths)
    for step in range(steps):
        z = rng.normal(size=paths)
        slope = 1.0 if step % 2 == 0 else -1.0
        different = -slope if step == 0 else slope
        x = np.clip(x - eta * np.exp(x * z - x**2 / 2) * slope, -radius, radius)
        other = np.clip(other - eta * np.exp(other * z - other**2 / 2) * different, -radius, radius)
    apart = np.abs(x - other) / (2 * eta)
    for order, measured in ((2, 1.00467), (4, 1.01477), (8, 1.03527)):
        norm = float((apart**order).mean() ** (1 / order))
        assert norm <= bound(order, radius, steps)
        assert norm == pytest.approx(measured, abs=0.006)


def hard_start(steps: int) -> tuple[float, np.ndarray[Any, Any], np.ndarray[Any, Any], float]:
    """max(0, max x_i - gamma) in T dimensions; the runs part along (1, ..., 1)/sqrt(T)."""
    radius = 0.25
    eta = radius / math.sqrt(steps)
    x, other = np.zeros(steps), np.full(steps, 2 * eta / math.sqrt(steps))
    return eta, x, other, eta / math.sqrt(steps)


@pytest.mark.parametrize(("steps", "value"), [(50, 2.54), (100, 4.00), (200, 6.07), (400, 9.00)])
def test_plain_subgradient_steps_drift_as_the_root_of_t(steps: int, value: float) -> None:
    eta, x, other, gamma = hard_start(steps)
    for _ in range(steps):
        for point in (x, other):
            place = int(np.argmax(point))
            if point[place] > gamma:
                point[place] -= eta
    drift = np.linalg.norm(x - other) / (2 * eta)
    assert drift == pytest.approx(value, abs=0.006)
    assert drift > bound(2, 0.25, steps)


def test_reweighted_steps_with_shared_noise_do_not_drift_there() -> None:
    steps = 200
    rng = np.random.default_rng(12)
    squares = []
    for _ in range(30):
        eta, x, other, gamma = hard_start(steps)
        for _ in range(steps):
            z = rng.normal(size=steps)
            place = int(np.argmax(z))
            if z[place] > gamma:
                for point in (x, other):
                    point[place] -= eta * np.exp(point @ z - point @ point / 2)
        squares.append(float(np.sum((x - other) ** 2)) / (2 * eta) ** 2)
    drift = math.sqrt(np.mean(squares))
    assert drift <= bound(2, 0.25, steps)
    assert drift < 6.07 / 5  # plain steps: 6.07


def test_the_powers_lie_between_a_run_and_the_bound_at_every_order() -> None:
    run = given(0.1, 200)
    powers = theorem("resque.drift.powers")
    # Alternating linear losses, 3e5 pairs of runs that part at the centre: without the start.
    for order, seen, below in ((4, 1.01477, 1.02), (8, 1.03527, 1.04)):
        growth = powers.evaluate("growth", order_excess=order - 2, **run)
        assert seen < growth < below
        assert growth < theorem("resque.drift.orders").evaluate("growth", norm_order=order, **run)


def test_the_powers_of_a_step_by_hand() -> None:
    run = given(0.3, 1)
    kappa = {q: theorem("resque.E6").evaluate("kappa", norm_order=q, relative_radius=0.3)
             for q in (2, 3, 4)}  # fmt: skip
    h = {q: 0.3 * value for q, value in kappa.items()}
    wanted = 1 + 6 * h[2] ** 2 + 4 * h[3] ** 3 + h[4] ** 4
    growth = theorem("resque.drift.powers").evaluate("growth", order_excess=2, **run)
    assert growth**4 == pytest.approx(wanted, rel=1e-12)
    factor = theorem("resque.drift.powers").evaluate(order_excess=2, **run)
    assert factor == pytest.approx(2 * 0.3 * math.exp(3 * 0.09 / 2) * growth, rel=1e-12)
