"""The tight engine against what is attained, against adaptive adversaries, and its refusals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest

from accountants.errors import AccuracyError
from accountants.fixed_size import log_without_replacement
from accountants.sampling import (
    Poisson,
    ShuffledEpochs,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from accountants.tight.engine import tight_epsilon, tight_log_delta
from accountants.tight.steps import step_of
from accountants.walk import Release
from tests.tight import checks

LARGE = WithoutReplacement(50_000, 256)


@pytest.mark.parametrize("row", checks.ATTAINED[::2], ids=lambda r: f"{r[0].scheme}-{r[1]}-{r[2]}")
def test_above_the_attained_pair_and_close(row: checks.Row) -> None:
    checks.check_attained(*row)


def test_above_adaptive_adversaries() -> None:
    checks.check_adaptive()
    checks.check_bang_bang()


@pytest.mark.parametrize(("n", "m", "sigma", "grid"), [(10, 3, 1.5, 0.4), (20, 1, 1.0, 0.4)])
def test_no_configuration_beats_a_step_of_the_recursion(
    n: int, m: int, sigma: float, grid: float
) -> None:
    step = step_of(Release(WithoutReplacement(n, m), sigma), 0.0)
    profiles = checks.planar_profiles(m / n, sigma)
    checks.check_steps(step, profiles, grid=grid, at=(1, 2, 10, 30), count=200, slack=1e-6)


@pytest.mark.parametrize(("n", "m", "sigma"), [(10, 3, 1.0)])
def test_no_configuration_with_replacement_beats_a_step(n: int, m: int, sigma: float) -> None:
    step = step_of(Release(WithReplacement(n, m), sigma), 1e-300)
    profiles = checks.copies_profiles(n, m, sigma)
    checks.check_steps(step, profiles, grid=0.4, at=(1, 2, 10), count=200, slack=2e-4)


@pytest.mark.parametrize("sigma", [6.0, 3.0, 1.5])
def test_adversary_who_sees_a_full_batch_first(sigma: float) -> None:
    """One plain release, then the better order of one sampled step: by quadrature."""
    checks.check_mixed(sigma)


@pytest.mark.parametrize(
    "check",
    [checks.check_small_grid, checks.check_mass, checks.check_unimodal, checks.check_truncation],
)
def test_invariants(check: Callable[[], None]) -> None:
    check()


def test_order_of_counts_does_not_matter() -> None:
    one, two = Release(LARGE, 1.0), Release(WithoutReplacement(50_000, 512), 2.0)
    first = tight_epsilon({one: 100, two: 20}, 1e-6)
    second = tight_epsilon({two: 20, one: 100}, 1e-6)
    assert first == second
    alone = tight_epsilon({one: 100}, 1e-6)
    more = tight_epsilon({one: 120}, 1e-6)
    assert alone.value < first.value < more.value


def test_one_curve_both_ways() -> None:
    counts = {Release(LARGE, 1.5): 200}
    epsilon = tight_epsilon(counts, 1e-5).value
    assert tight_log_delta(counts, epsilon).value == pytest.approx(math.log(1e-5), abs=0.02)


def test_one_step_is_the_profile() -> None:
    release = Release(WithoutReplacement(10, 3), 1.5)
    for epsilon in (0.0, 0.4, 1.7):
        exact = float(log_without_replacement(epsilon, 0.3, 1.5))
        found = tight_log_delta({release: 1}, epsilon).value
        assert exact <= found <= exact + 2e-4


def test_monotone() -> None:
    epsilons = [tight_epsilon({Release(LARGE, s): 100}, 1e-6).value for s in (0.8, 1.0, 1.5, 3.0)]
    assert epsilons == sorted(epsilons, reverse=True)
    counts = {Release(LARGE, 1.0): 300}
    deltas = [tight_log_delta(counts, e).value for e in (0.5, 2.0, 5.0, 8.0)]
    assert deltas == sorted(deltas, reverse=True)


def test_weights_and_equal_weights_agree() -> None:
    equal = tight_epsilon({Release(WithReplacement(1000, 10), 4.0): 50}, 1e-5)
    weighted = tight_epsilon({Release(WeightedWithReplacement(0.001, 10), 4.0): 50}, 1e-5)
    heavier = tight_epsilon({Release(WeightedWithReplacement(0.002, 10), 4.0): 50}, 1e-5)
    assert equal.value == pytest.approx(weighted.value, rel=1e-9)
    assert heavier.value > weighted.value


def test_one_draw_is_without_replacement() -> None:
    with_ = tight_epsilon({Release(WithReplacement(100, 1), 1.0): 20}, 1e-5)
    without = tight_epsilon({Release(WithoutReplacement(100, 1), 1.0): 20}, 1e-5)
    assert with_.value == without.value


def test_releases_that_reveal_nothing_are_free() -> None:
    counts = {Release(LARGE, 1.0): 10}
    free = {Release(LARGE, math.inf): 5, Release(Poisson(0.0), 1.0): 7, Release(LARGE, 2.0): 0}
    assert tight_epsilon(counts | free, 1e-5) == tight_epsilon(counts, 1e-5)


@pytest.mark.parametrize(
    ("counts", "delta", "why"),
    [
        ({Release(LARGE, 1.0): 10}, 1e-12, "resolves"),
        ({Release(LARGE, 0.0): 10}, 1e-5, "without noise"),
        ({Release(LARGE, 0.05): 10}, 1e-5, "losses are too large"),
        ({Release(Poisson(0.1), 1.0): 10}, 1e-5, "nothing to tighten"),
        ({Release(WithoutReplacement(10, 10), 1.0): 10}, 1e-5, "nothing to tighten"),
        ({}, 1e-5, "nothing to tighten"),
        ({Release(WithReplacement(1, 3), 1.0): 10}, 1e-5, "draw probability"),
        ({Release(WithReplacement(50, 2000), 100.0): 10}, 1e-5, "copies"),
        ({Release(ShuffledEpochs(50, 10), 1.0): 10}, 1e-5, "not covered"),
        ({Release(LARGE, 1.0): 10**9}, 1e-5, "too many nodes|too long|too large"),
    ],
)
def test_refuses_with_a_reason(counts: dict[Release, int], delta: float, why: str) -> None:
    with pytest.raises(AccuracyError, match=why):
        tight_epsilon(counts, delta)


def test_delta_out_of_reach() -> None:
    with pytest.raises(AccuracyError, match="delta below"):
        tight_log_delta({Release(LARGE, 2.0): 10}, 5.0)
    with pytest.raises(AccuracyError, match="infinite"):
        tight_log_delta({Release(LARGE, 2.0): 10}, math.inf)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(ValueError, match="target_delta"):
        tight_epsilon({Release(LARGE, 1.0): 10}, delta)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan])
def test_bad_epsilon(epsilon: float) -> None:
    with pytest.raises(ValueError, match="target_epsilon"):
        tight_log_delta({Release(LARGE, 1.0): 10}, epsilon)


def test_a_thousand_steps_take_seconds() -> None:
    started = time.process_time()
    tight_epsilon({Release(WithReplacement(50_000, 300), 1.1): 1000}, 1e-6)
    assert time.process_time() - started < 3.0


@pytest.mark.slow
@pytest.mark.parametrize("row", checks.ATTAINED_LONG, ids=lambda r: f"{r[0].scheme}-{r[1]}-{r[2]}")
def test_long_runs(row: checks.Row) -> None:
    started = time.process_time()
    checks.check_attained(*row)
    assert time.process_time() - started < 2 * 20.0  # two answers


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_settings_lie_between_the_attained_and_the_symmetrised_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(1.5, 5))
    m = max(1, int(n * 10 ** -rng.uniform(0.3, 3)))
    sigma = float(10 ** rng.uniform(-0.1, 1))
    steps = int(10 ** rng.uniform(0, 3))
    checks.check_between(WithoutReplacement(n, m), sigma, steps)
