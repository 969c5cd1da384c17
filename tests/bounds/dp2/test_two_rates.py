"""Theorem B: reference numbers, exactly tight runs, and what must break it."""

from math import erf, exp, pi, sqrt

import numpy as np
import pytest

from bounds.dp2.relations import Le
from bounds.dp2.two_rates import RUN, B
from bounds.dp2.two_rates_before import BEFORE, TUNED
from bounds.dp2.two_rates_metric import METRIC
from tests.bounds.dp2.convex_runs import linear_run, replayed

#: sigma = 1.9315, b = 256, C = 1, C2 = 10
NU1 = 0.007544800579799
PILOT = 0.3 * 0.9 ** np.arange(50)


def folded(mean: float, std: float) -> float:
    """E|mean + N(0, std^2)|."""
    bulk = mean * erf(mean / (std * sqrt(2)))
    return std * sqrt(2 / pi) * exp(-((mean / std) ** 2) / 2) + bulk


def example(delay: int) -> dict:
    """The example: T = 1000, d = 50, R = 1, damping .1, h = .8 + .004 s."""
    roots = np.sqrt(PILOT**2 + NU1**2 / delay)
    averaged = sum(folded(each, NU1 / sqrt(delay)) for each in PILOT)
    stale = (0.8 + 0.004 * delay) * (averaged + 50 * 0.1)
    return {
        "steps": 1000,
        "delay": delay,
        "dimension": 50,
        "side": np.ones(50),
        "preconditioner_mean_bound": roots + 0.1,
        "preconditioner_norm": float((roots + 0.1).sum()),
        "damping": 0.1,
        "rate_ratio": float(np.median(roots)) + 0.1,
        "gradient_bound": 1.0,
        "preconditioned_gradient_moment": min(10.0, 10 * stale),
        "noise_std": NU1,
        "preconditioned_noise_std": 10 * NU1,
    }


VARIATION = (
    "steps",
    "delay",
    "dimension",
    "side",
    "preconditioner_mean_bound",
    "damping",
    "rate_ratio",
)
MOMENTS = (
    "steps",
    "delay",
    "dimension",
    "rate_ratio",
    "gradient_bound",
    "preconditioned_gradient_moment",
    "noise_std",
    "preconditioned_noise_std",
    "preconditioner_norm",
)


@pytest.mark.parametrize(
    ("delay", "bound", "step", "ratio", "variation", "moments"),
    [
        (50, 0.6569923053785, 0.5876461596577, 0.1227585316031, 386.0790051803, 1118.006634743),
        (100, 0.493634335276, 0.4415558753597, 0.1227459874393, 217.9671410204, 1117.943079964),
        (500, 0.3056716756695, 0.2734357356298, 0.1227359470698, 83.58155949788, 1117.892198566),
    ],
)
def test_reference_numbers(delay, bound, step, ratio, variation, moments):
    given = example(delay)
    assert given["rate_ratio"] == pytest.approx(ratio, rel=1e-12)
    costs = {name: given[name] for name in VARIATION}
    assert TUNED.evaluate("variation", **costs) == pytest.approx(variation, rel=1e-12)
    spent = {name: given[name] for name in MOMENTS}
    assert TUNED.evaluate("moments", **spent) == pytest.approx(moments, rel=1e-12)
    assert TUNED.evaluate("learning_rate", **given) == pytest.approx(step, rel=1e-12)
    for backend in ("numpy", "mpmath"):
        value = TUNED.evaluate(backend=backend, **given)
        assert float(value) == pytest.approx(bound, rel=1e-12)


def test_the_best_step_is_the_best():
    given = example(100)
    best = TUNED.evaluate(**given)
    step = TUNED.evaluate("learning_rate", **given)
    assert BEFORE.evaluate(learning_rate=step, **given) == pytest.approx(best, rel=1e-12)
    others = BEFORE.evaluate(learning_rate=step * np.array([0.5, 0.9, 1.1, 2.0]), **given)
    assert (others > best).all()


@pytest.mark.parametrize(("delay", "bound"), [(20, 3.27), (100, 1.47), (500, 0.682)])
def test_before_any_pilot(delay, bound):
    """rho = damping, and only the clip norm is known of the gradients."""
    size = METRIC.evaluate(delay=delay, gradient_bound=1.0, noise_std=1 / 32, damping=0.1)
    value = TUNED.evaluate(
        steps=1000,
        delay=delay,
        dimension=10,
        side=np.full(10, 2.0),
        preconditioner_mean_bound=np.full(10, size),
        preconditioner_norm=10 * size,
        damping=0.1,
        rate_ratio=0.1,
        gradient_bound=1.0,
        preconditioned_gradient_moment=10.0,
        noise_std=1 / 32,
        preconditioned_noise_std=10 / 32,
    )
    assert value == pytest.approx(bound, rel=2e-3)


@pytest.mark.parametrize(("steps", "delay"), [(7, 2), (20, 5), (13, 20), (31, 4)])
def test_both_sides_agree_on_a_linear_loss(steps, delay):
    run = linear_run(steps, delay)
    assert all(run.holds(each.formula) for each in RUN)
    left, right = (run.value(side) for side in B.statement.args)
    assert right / left == pytest.approx(1, abs=1e-14)
    assert not run.holds(Le(B.statement.args[0], 0.999 * B.statement.args[1]))


@pytest.mark.parametrize("id", ["gradient"])
def test_assumptions_are_needed(id):
    assert not replayed(B.without_assumption(id)).ok


def test_bad_input_is_refused():
    given = example(100)
    with pytest.raises(ValueError, match="rate_ratio"):
        TUNED.evaluate(**{**given, "rate_ratio": 0.0})
    with pytest.raises(ValueError, match="delay"):
        TUNED.evaluate(**{**given, "delay": 0})
