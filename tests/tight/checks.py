"""What a tight engine must satisfy; used on the real one and on broken ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from accountants import ExactAccountant, NeighboringRelation
from accountants.errors import AccuracyError
from accountants.events import sampled_gaussian_event
from accountants.fixed_size import log_without_replacement
from accountants.sampling import Poisson, Sampling, WithoutReplacement, WithReplacement
from accountants.tight import engine, kernel
from accountants.tight.fold import Fold
from accountants.tight.steps import Step, step_of
from accountants.walk import Release
from tests.tight.configurations import (
    Copies,
    both_orders,
    random_planar,
    squared_hellinger,
    sticks,
)

Array = NDArray[np.float64]
Profiles = Callable[[np.random.Generator, Array], tuple[Array, Array]]


def values(fold: Fold) -> Array:
    """Upper bound at the nodes l = 0 … size of a state."""
    n = fold.size
    distance = np.arange(n + 1)[:, None] - np.arange(1, n + 1)
    table = np.where(distance < 0, -np.expm1(np.minimum(distance, 0) * fold.h), 0.0)
    return fold.infinite + fold.rounding + table @ fold.masses


def one_more_step(fold: Fold, ahead: Array, behind: Array) -> Array:
    """E_P V(aQ/P) at the nodes for a configuration: H_j(P||Q) and H_j(Q||P), j = 0 … 2 size."""
    n = fold.size
    k = np.arange(-n, n + 1)
    mirrored = fold.masses * np.exp(-fold.h * np.arange(1, n + 1))
    law = np.concatenate([mirrored[::-1], [fold.centre], fold.masses])
    distance = np.arange(n + 1)[:, None] - k
    below = np.abs(np.minimum(distance, 0))
    lower = -np.expm1(-below * fold.h) + np.exp(-below * fold.h) * behind[below]
    table = np.where(distance >= 0, ahead[np.maximum(distance, 0)], lower)
    return fold.infinite + fold.rounding + table @ law


def check_steps(
    step: Step,
    profiles: Profiles,
    *,
    grid: float,
    at: tuple[int, ...],
    count: int,
    slack: float,
) -> None:
    """No configuration beats one certified step, from the states after ``at`` steps.

    ``slack``, relative, is what the brute-force profiles are known to.
    """
    rng = np.random.default_rng(0)
    h = grid * step.scale
    table = engine._caps(step, h, 1e-11)
    size = table.size + int(6 / h)
    main = kernel.build(table, kernel.grid_budget(step.hellinger, h), h)
    epsilon = h * np.arange(2 * size + 1)
    trials = [profiles(rng, epsilon) for _ in range(count)]
    fold = Fold(main, h, size)
    for t in range(2, max(at) + 2):
        before = values(fold)
        found = [one_more_step(fold, *trial) for trial in trials] if t - 1 in at else []
        fold.step()
        after = values(fold)
        for reached in found:
            gain = (after - before)[: size - 1]
            excess = (reached - after)[: size - 1]
            assert np.all(excess <= slack * gain + 1e-10), (t, excess.max())


def planar_profiles(q: float, sigma: float) -> Profiles:
    """Profiles of random configurations without replacement."""

    def draw(rng: np.random.Generator, epsilon: Array) -> tuple[Array, Array]:
        pair = random_planar(rng, 1)[0]
        short = epsilon[epsilon < 12]
        ahead, behind = both_orders(pair, q, sigma, short)
        pad = epsilon.size - short.size
        return np.pad(np.maximum(ahead, 0), (0, pad)), np.pad(np.maximum(behind, 0), (0, pad))

    return draw


def copies_profiles(n: int, m: int, sigma: float) -> Profiles:
    """Profiles of random configurations with replacement."""
    first = [True]

    def draw(rng: np.random.Generator, epsilon: Array) -> tuple[Array, Array]:
        p, q = Copies(rng, n, m, sigma, attained=first[0]).densities(160)
        first[0] = False
        short = epsilon[epsilon < 12]
        pad = epsilon.size - short.size
        return np.pad(sticks(p, q, short), (0, pad)), np.pad(sticks(q, p, short), (0, pad))

    return draw


ADAPTIVE = (
    # steps, epsilon, δ of an adaptive adversary by nested quadrature, q = .3, sigma = 1.5
    (2, 0.0, 0.237195),
    (2, 0.25, 0.173139),
    (2, 1.0, 0.066575),
    (2, 1.8, 0.021567),
    (2, 2.5, 0.007222),
    (3, 0.0, 0.300108),
    (3, 1.8, 0.039607),
)


def check_adaptive() -> None:
    """Above what an adaptive adversary attains in two and three steps."""
    release = Release(WithoutReplacement(10, 3), 1.5)
    for steps, epsilon, attained in ADAPTIVE:
        found = math.exp(engine.tight_log_delta({release: steps}, epsilon).value)
        assert found > attained - 1e-6, (steps, epsilon, found)
        assert found < 1.03 * attained, (steps, epsilon, found)


Row = tuple[Sampling, float, int, float, float, float]

ATTAINED: tuple[Row, ...] = (
    # sampling, sigma, steps, ε at δ = 1e-5 and 1e-6 of the pair that is attained (contour sums
    # of two codes), largest ratio allowed
    (WithoutReplacement(50_000, 256), 1.0, 10, 3.30273, 4.44964, 1.002),
    (WithoutReplacement(50_000, 256), 1.0, 1000, 8.06421, 9.61450, 1.012),
    (WithoutReplacement(50_000, 256), 1.5, 1000, 2.02421, 2.54037, 1.012),
    (WithoutReplacement(50_000, 256), 2.0, 10, 0.17864, 0.29988, 1.008),
    (WithoutReplacement(50_000, 256), 2.0, 1000, 0.88635, 1.05353, 1.016),
    (WithoutReplacement(50_000, 256), 4.0, 1000, 0.29970, 0.35195, 1.016),
    (WithoutReplacement(50_000, 256), 0.7, 1000, 26.77107, 30.91999, 1.02),
    (WithoutReplacement(50_000, 256), 0.6, 500, 33.25611, 38.55386, 1.03),
    (WithoutReplacement(100, 1), 2.0, 1000, 1.82824, 2.12452, 1.016),
    (WithoutReplacement(10, 1), 2.0, 1000, 25.20455, 27.55049, 1.025),
    (WithoutReplacement(10, 1), 1.0, 100, 31.37099, 35.32639, 1.025),
    (WithoutReplacement(10, 3), 2.0, 100, 22.52352, 24.85378, 1.025),
    (WithReplacement(50_000, 256), 0.8, 1000, 21.43057, 26.76197, 1.02),
    (WithReplacement(50_000, 256), 1.0, 1000, 10.50928, 13.59701, 1.012),
    (WithReplacement(50_000, 256), 1.5, 1000, 2.35895, 3.25354, 1.012),
    (WithReplacement(50_000, 256), 2.0, 1000, 0.90488, 1.09809, 1.02),
    (WithReplacement(50_000, 256), 4.0, 1000, 0.30003, 0.35235, 1.02),
    (WithReplacement(1000, 10), 4.0, 1000, 0.62325, 0.72237, 1.022),
)

ATTAINED_LONG: tuple[Row, ...] = (
    (WithoutReplacement(50_000, 256), 1.0, 20_000, 31.25728, 34.50950, 1.018),
    (WithoutReplacement(50_000, 256), 1.5, 20_000, 8.02886, 8.97231, 1.018),
    (WithoutReplacement(50_000, 256), 2.0, 20_000, 4.22087, 4.73545, 1.018),
    (WithoutReplacement(50_000, 256), 4.0, 20_000, 1.50553, 1.71241, 1.018),
    (WithoutReplacement(1000, 1), 1.0, 20_000, 6.50512, 7.72986, 1.02),
    (WithoutReplacement(1000, 1), 0.8, 20_000, 16.94107, 19.56249, 1.02),
    (WithReplacement(50_000, 256), 0.8, 20_000, 81.96941, 89.60909, 1.03),
    (WithReplacement(50_000, 256), 1.0, 20_000, 33.45791, 37.28505, 1.02),
    (WithReplacement(50_000, 256), 1.5, 20_000, 8.24324, 9.26859, 1.02),
)


BANG_BANG = (
    # n, m, sigma, steps, ε at δ = 1e-5 and 1e-6 of the adversary who always takes the better of
    # the two orders of the attained pair: by extrapolation in the grid, to 5e-4 relative
    (50_000, 256, 1.0, 10, 3.30534, 4.45234),
    (50_000, 256, 1.0, 1000, 8.1111, 9.6589),
    (50_000, 256, 1.5, 100, 1.11902, 1.62037),
    (50_000, 256, 2.0, 100, 0.35738, 0.50546),
    (50_000, 256, 2.0, 1000, 0.89036, 1.05744),
    (100, 1, 2.0, 100, 0.72274, 0.95889),
    (100, 1, 2.0, 1000, 1.83589, 2.13191),
)


def check_bang_bang() -> None:
    """Above an adversary of whom the fixed pair falls short."""
    for n, m, sigma, steps, at_5, at_6 in BANG_BANG:
        for delta, attained in ((1e-5, at_5), (1e-6, at_6)):
            counts = {Release(WithoutReplacement(n, m), sigma): steps}
            found = engine.tight_epsilon(counts, delta).value
            assert attained * (1 - 5e-4) < found < 1.011 * attained, (sigma, steps, found)


def check_attained(
    sampling: Sampling, sigma: float, steps: int, at_5: float, at_6: float, largest: float
) -> None:
    """Above the attained pair, and not far."""
    for delta, attained in ((1e-5, at_5), (1e-6, at_6)):
        answer = engine.tight_epsilon({Release(sampling, sigma): steps}, delta)
        assert answer.value > attained, (delta, answer)
        assert answer.value < largest * attained, (delta, answer)
        assert answer.extra < 2, answer


def one_step(epsilon: Array, q: float, sigma: float) -> Array:
    """One-step profile without replacement, also for epsilon < 0."""
    size = np.abs(epsilon)
    outer = np.exp(log_without_replacement(size, q, sigma))
    return np.where(epsilon >= 0, outer, -np.expm1(-size) + np.exp(-size) * outer)


def check_mixed(sigma: float) -> None:
    """A plain release, after which the adversary picks the better order of a sampled step.

    Its value is an integral of the one-step profile over the loss of the plain release.
    """
    counts = {Release(WithoutReplacement(10, 3), 1.5): 1, Release(Poisson(1.0), sigma): 1}
    gap = 2 / sigma
    x = np.linspace(-9, 9, 100_001)
    weight = np.exp(-0.5 * x * x)
    weight /= weight.sum()
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
        attained = float(weight @ one_step(epsilon - gap * x - 0.5 * gap * gap, 0.3, 1.5))
        found = math.exp(engine.tight_log_delta(counts, epsilon).value)
        assert attained < found < 1.002 * attained, (epsilon, found / attained)


def check_between(sampling: WithoutReplacement, sigma: float, steps: int) -> None:
    """Above what the attained pair gives, and not above the symmetrised pair by more than 2 %."""
    accountant = ExactAccountant(NeighboringRelation.REPLACE_ONE)
    accountant.compose(sampled_gaussian_event(sampling=sampling, noise_multiplier=sigma), steps)
    fast = accountant.epsilon_bracket(1e-6)
    try:
        tight = engine.tight_epsilon({Release(sampling, sigma): steps}, 1e-6)
    except AccuracyError:
        return
    assert tight.value >= fast.lower * (1 - 1e-9)
    assert tight.value <= 1.02 * fast.upper


def small_fold(size: int, steps: int) -> Fold:
    """A run with q = .3 and sigma = 1.5 on a grid of ``size`` nodes."""
    step = step_of(Release(WithoutReplacement(10, 3), 1.5), 0.0)
    h = 0.3 * step.scale
    table = engine._caps(step, h, 1e-4)
    fold = Fold(kernel.build(table, kernel.grid_budget(step.hellinger, h), h), h, size)
    for _ in range(steps - 1):
        fold.step()
    return fold


def check_small_grid() -> None:
    """Mass beyond a small grid is not lost: cutting the grid never lowers the bound."""
    wide, narrow = small_fold(4000, 60).result(), small_fold(60, 60).result()
    end = narrow.h * narrow.masses.size
    for epsilon in (0.0, 0.5 * end, 0.95 * end):
        assert narrow.delta(epsilon) >= wide.delta(epsilon) - 1e-9, epsilon
    assert narrow.infinite > 1e-3
    assert narrow.delta(0.95 * end) > 1.01 * wide.delta(0.95 * end)


def check_mass() -> None:
    """The law has mass 1, infinity included, unless extra mass was asked for."""
    for size in (60, 400):
        fold = small_fold(size, 30)
        mass = (
            fold.infinite
            + fold.centre
            + np.sum(fold.masses * (1 + np.exp(-fold.h * np.arange(1, fold.size + 1))))
        )
        assert fold.extra < 1e-12
        assert abs(mass - 1) < 1e-12, mass - 1


def check_unimodal() -> None:
    """The symmetrised law falls on both sides of 0, also after a step from an uneven law."""
    fold = small_fold(200, 5)
    fold.masses[20] *= 0.5
    fold.masses[40] += 1e-3
    fold._settle()
    symmetric = fold.masses * np.exp(-0.5 * fold.h * np.arange(1, fold.size + 1))
    assert np.all(np.diff(np.append(fold.centre, symmetric)) <= 1e-15)


def check_truncation() -> None:
    """Leaving out copies is paid for: a coarse cut never gives less than a fine one."""
    release = Release(WithReplacement(20, 4), 2.0)
    fine = step_of(release, 1e-12)
    for tail in (0.2, 1e-2):
        coarse = step_of(release, tail)
        lowest = 1 - (1 - coarse.tail) * (1 - float(coarse.caps(np.array([1.0]))[0]))
        assert lowest >= float(fine.caps(np.array([1.0]))[0])
        plan = engine._Plan(coarse, 3, (), -math.expm1(3 * math.log1p(-coarse.tail)))
        exact = engine._Plan(fine, 3, (), 0.0)
        worse, better = (
            engine._best(engine._runs(p, 1e-2, lambda w, p=p: p.log_delta(w, 1.0)))
            for p in (plan, exact)
        )
        assert worse.value >= better.value - 1e-3


def check_one_step(q: float, sigma: float) -> None:
    """Caps and budget against random configurations."""
    step = Step(q, sigma, 2.0, None, single=False)
    epsilon = np.array([0.0, 0.05, 0.3, 1.0, 3.0])
    caps, largest = step.caps(epsilon), step.hellinger
    for pair in random_planar(np.random.default_rng(1), 200):
        for profile in both_orders(pair, q, sigma, epsilon):
            assert np.all(profile <= caps * (1 + 1e-9) + 1e-15)
        assert squared_hellinger(pair, q, sigma) <= largest * (1 + 1e-9)
