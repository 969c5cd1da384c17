"""Theorems C and C-TV: reference numbers, exact counts, and a metric that never falls by more."""

import numpy as np
import pytest

from bounds.assumptions import CODE, Assumption
from bounds.dp2.common_constant import ANY_STEP, RENEWED, TUNED
from bounds.dp2.common_decay import BEFORE, C
from bounds.dp2.common_freeze import FREEZE as C_FREEZE
from bounds.dp2.common_freeze_constant import FREEZE
from bounds.dp2.common_metric import RATIO, SHRINK
from bounds.dp2.relations import Le
from bounds.dp2.symbols import alpha, beta
from bounds.theorem import Theorem
from tests.bounds.dp2.convex_runs import modes, replayed

NU1 = 0.007544800579799


def certified(delay, damping, scale, c1, c2, chi=0.05):
    """What C-TV needs in the two worked examples, mode "common", C = R = 1, C2 = 1/damping."""
    means = scale * 0.9 ** np.arange(50)
    size = float(np.sqrt(means**2 + NU1**2 / delay).sum() + 50 * damping)
    moment = min(1 / damping, (c1 + c2 * delay) * size / damping)
    return {
        "steps": 1000,
        "delay": delay,
        "dimension": 50,
        "diameter": 1.0,
        "variation_ratio": chi,
        "damping": damping,
        "preconditioner_norm": size,
        "preconditioned_gradient_moment": moment,
        "collecting_gradient_moment": moment,
        "noise_std": NU1,
        "preconditioned_noise_std": NU1 / damping,
    }


FIRST, SECOND = (0.1, 0.3, 0.8, 0.004), (0.01, 0.03, 0.3, 0.002)


@pytest.mark.parametrize(
    ("delay", "example", "chi", "bound"),
    [
        (1000, FIRST, 0.05, 0.2832136187887),
        (1000, FIRST, 0.1**0.5, 0.2832136187887),
        (71, FIRST, 0.05, 0.3291080180947),
        (67, SECOND, 0.05, 0.1979001741736),
        (1000, SECOND, 0.05, 0.2834698649888),
        (200, SECOND, 0.1**0.5, 0.2729869636559),
        (100, SECOND, 0.1**0.5, 0.2921372224263),
    ],
)
def test_reference_numbers(delay, example, chi, bound):
    given = certified(delay, *example, chi=chi)
    for backend in ("numpy", "mpmath"):
        value = TUNED.evaluate(backend=backend, **given)
        assert float(value) == pytest.approx(bound, rel=2e-12)


def frozen(delay, example):
    given = certified(delay, *example)
    unused = ("dimension", "damping", "collecting_gradient_moment", "noise_std")
    return {name: value for name, value in given.items() if name not in unused}


@pytest.mark.parametrize(
    ("delay", "example", "loose"), [(500, FIRST, 0.41042), (71, SECOND, 0.28305)]
)
def test_freeze_pays_for_one_update_less(delay, example, loose):
    """With r updates in place of r - 1 the bound would be the looser number."""
    given = frozen(delay, example)
    moving = modes(1000, delay).sum()
    updates = -(-moving // delay)
    assert updates == (np.diff(modes(1000, delay)) == 1).sum()
    factor = np.sqrt((1 + 0.05 * updates) / (1 + 0.05 * (updates - 1)))
    value = FREEZE.evaluate(**given)
    assert value < loose
    assert value * factor == pytest.approx(loose, abs=6e-6)


def test_the_best_step_is_the_best():
    given = certified(67, *SECOND)
    step = TUNED.evaluate("learning_rate", **given)
    best = TUNED.evaluate(**given)
    assert ANY_STEP.evaluate(learning_rate=step, **given) == pytest.approx(best, rel=1e-12)
    others = ANY_STEP.evaluate(learning_rate=step * np.array([0.5, 2.0]), **given)
    assert (others > best).all()


def decayed(steps, delay, ema, eta, given):
    """Theorem C by summing over the steps one by one."""
    mode = modes(steps, delay)
    updates = (np.arange(steps) // delay + 1) // 2
    moment = given["moment"] + np.where(
        mode == 1,
        given["nu2"] ** 2 * given["size"],
        given["nu1"] ** 2 * given["dimension"] / given["damping"],
    )
    first = ema ** (-updates[-1] / 2) * given["R"] ** 2 * given["size"] / (2 * eta * steps)
    return first + eta / (2 * steps) * (ema ** (updates / 2) * moment).sum()


@pytest.mark.parametrize(("steps", "delay"), [(1, 1), (10, 3), (100, 7), (101, 50), (60, 60)])
def test_decaying_step_by_hand(steps, delay):
    given = {"moment": 1.3, "size": 2.0, "nu1": 0.1, "nu2": 0.4, "damping": 0.2, "dimension": 5}
    value = BEFORE.evaluate(
        steps=steps,
        delay=delay,
        dimension=5,
        diameter=1.5,
        learning_rate=0.3,
        ema=0.8,
        damping=0.2,
        noise_std=0.1,
        preconditioned_noise_std=0.4,
        preconditioned_gradient_moment=1.3,
        preconditioner_norm=2.0,
    )
    wanted = decayed(steps, delay, 0.8, 0.3, {**given, "R": 1.5})
    assert value == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("steps", "delay"), [(10, 3), (100, 7), (101, 50)])
def test_decaying_step_in_mode_freeze_by_hand(steps, delay):
    moving = int(modes(steps, delay).sum())
    updates = np.arange(moving) // delay + 1
    moment = 1.3 + 0.4**2 * 2.0
    first = 0.8 ** (-updates[-1] / 2) * 1.5**2 * 2.0 / (2 * 0.3 * moving)
    wanted = first + 0.3 / (2 * moving) * (0.8 ** (updates / 2) * moment).sum()
    value = C_FREEZE.evaluate(
        steps=steps,
        delay=delay,
        diameter=1.5,
        learning_rate=0.3,
        ema=0.8,
        preconditioned_noise_std=0.4,
        preconditioned_gradient_moment=1.3,
        preconditioner_norm=2.0,
    )
    assert value == pytest.approx(wanted, rel=1e-12)


def test_the_metric_over_the_step_never_falls_in_any_run():
    """Played: data that vanish at once are the worst case, and attain sqrt(beta)."""
    rng = np.random.default_rng(5)
    for ema, damping in ((0.5, 0.0), (0.9, 0.3), (0.1, 1.0)):
        v, ratios = 4.0, []
        for average in (*rng.normal(0, 1, 20), *np.zeros(5)):
            new = ema * v + (1 - ema) * average**2
            ratios.append((np.sqrt(new) + damping) / (np.sqrt(v) + damping))
            v = new
        assert min(ratios) >= np.sqrt(ema) * (1 - 1e-12)
        if damping == 0:
            assert min(ratios) == pytest.approx(np.sqrt(ema))


def test_a_growing_metric_is_bounded_by_the_new_average():
    rng = np.random.default_rng(6)
    for ema in (0.0, 0.5, 0.99):
        v, x = rng.exponential(1, 500), rng.normal(0, 3, 500)
        rise = np.sqrt(ema * v + (1 - ema) * x**2) - np.sqrt(v)
        assert (rise <= np.sqrt(1 - ema) * np.abs(x) + 1e-12).all()


def test_a_step_that_decays_faster_is_refused():
    fast = Assumption("slow", Le(alpha, beta**0.25), "decays by more than sqrt(beta)", CODE)
    broken = Theorem(
        "t",
        "t",
        RATIO.statement,
        RATIO.kind,
        RATIO.source,
        tuple(fast if each.id == "slow" else each for each in RATIO.assumptions),
        RATIO.steps,
    )
    assert not replayed(broken).ok


@pytest.mark.parametrize(
    ("theorem", "id"),
    [(RATIO, "memory"), (RATIO, "counted"), (SHRINK, "ema"), (RENEWED, "averages"), (C, "phases")],
)
def test_assumptions_are_needed(theorem, id):
    assert not replayed(theorem.without_assumption(id)).ok


def test_bad_input_is_refused():
    given = certified(67, *SECOND)
    with pytest.raises(ValueError, match="preconditioner_norm"):
        TUNED.evaluate(**{**given, "preconditioner_norm": 0.0})
    with pytest.raises(ValueError, match="variation_ratio"):
        TUNED.evaluate(**{**given, "variation_ratio": -0.1})
