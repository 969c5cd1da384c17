"""Private ball subproblems: schedule, steps, noise, sensitivity."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.counters import Counter
from dp2theory.resque.estimator import QueryPool
from dp2theory.resque.functions import Array
from dp2theory.resque.localization import Localised, PrivateBallOracle, Release, localise
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.phases import Phase, excess_estimate, phase_sizes, schedule

TWICE = PrivateConstants(restarts=2)
GEOMETRY: dict[str, Any] = {
    "draws": 100,
    "dimension": 3,
    "lipschitz": 1.0,
    "radius": 0.01,
    "smoothing": 1.28,
    "multiplier": 50.0,
}


def loss(records: int = 400, dimension: int = 3) -> AbsoluteLoss:
    found = function_named("absolute", records=records, dimension=dimension)
    assert isinstance(found, AbsoluteLoss)
    return found


def oracle(noise_multiplier: float = 4.0, **changes: Any) -> PrivateBallOracle:
    settings: dict[str, Any] = {
        "function": loss(),
        "radius": 0.01,
        "smoothing": 1.28,
        "draws": 60,
        "noise_multiplier": noise_multiplier,
        "rng": np.random.default_rng(5),
        "constants": TWICE,
    }
    return PrivateBallOracle(**{**settings, **changes})


# ---------------------------------------------------------------------------------------- schedule


@pytest.mark.parametrize("draws", [1, 2, 3, 7, 32, 33, 1000])
def test_phases_use_every_draw(draws: int) -> None:
    sizes = phase_sizes(draws, PrivateConstants())
    assert sum(sizes) == draws
    assert list(sizes) == sorted(sizes, reverse=True)
    assert all(size >= 1 for size in sizes)


def test_number_of_phases_can_be_capped() -> None:
    assert phase_sizes(32, PrivateConstants(phases=1)) == (32,)
    assert phase_sizes(32, PrivateConstants(phases=2)) == (24, 8)
    assert phase_sizes(32, PrivateConstants()) == (17, 8, 4, 2, 1)


def test_schedule_is_contiguous_and_its_noise_is_in_proportion_to_its_steps() -> None:
    found = schedule(noise_multiplier=6.0, constants=TWICE, **GEOMETRY)
    assert [phase.start for phase in found] == list(
        np.cumsum([0, *(phase.draws for phase in found)])[:-1]
    )
    assert sum(phase.draws for phase in found) == 100
    for phase in found:
        assert phase.noise_std == pytest.approx(6.0 * 1.1 * 1.0 * phase.step, rel=1e-14)
        assert phase.to_json()["noise_multiplier"] == 6.0
    for before, after in itertools.pairwise(found):
        if before.restart == after.restart:
            assert after.step == before.step / 4
    assert {phase.restart for phase in found} == {1, 2}


def test_steps_shrink_with_noise_and_never_exceed_those_without() -> None:
    silent = schedule(noise_multiplier=0.0, constants=TWICE, **{**GEOMETRY, "multiplier": 1e-200})
    for sigma in (0.5, 5.0, 500.0):
        noisy = schedule(noise_multiplier=sigma, constants=TWICE, **GEOMETRY)
        assert all(a.step <= b.step for a, b in zip(noisy, silent, strict=True))
    # The drift bounds need eta sqrt(T) of the order of r/L.
    assert all(phase.step * math.sqrt(phase.draws) <= 0.01 for phase in silent)


def test_estimate_falls_with_draws_and_grows_with_noise() -> None:
    settings = {**GEOMETRY, "noise_multiplier": 0.0, "multiplier": 1000.0}
    few, many = (excess_estimate(**{**settings, "draws": n}) for n in (50, 3200))
    assert few == pytest.approx(8 * many, rel=0.01)
    # Strong convexity lets a second restart search a quarter of the ball, with half of the draws.
    again = excess_estimate(**settings | {"draws": 3200, "constants": TWICE})
    assert many == pytest.approx(4 / math.sqrt(2) * again, rel=0.01)
    noisy = [excess_estimate(noise_multiplier=s, **GEOMETRY) for s in (0.0, 4.0, 40.0)]
    assert noisy == sorted(noisy)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("draws", 1),
        ("radius", 2.0),
        ("radius", -1.0),
        ("multiplier", 0.0),
        ("noise_multiplier", -1.0),
        ("noise_multiplier", math.nan),
        ("dimension", 0),
        ("lipschitz", math.inf),
    ],
)
def test_bad_schedules_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        schedule(**{**GEOMETRY, "noise_multiplier": 1.0, "constants": TWICE, name: value})


# ------------------------------------------------------------------------------------------- steps


def slow(
    pool: QueryPool, phases: tuple[Phase, ...], radius: float, multiplier: float, anchor: Array
) -> list[Array]:
    """The means without noise, by the public estimator and textbook steps."""
    means, u = [], np.zeros(pool.center.size)
    for phase in phases:
        iterates = []
        for t in range(phase.start, phase.start + phase.draws):
            gradient = pool.estimates(pool.center + u, slice(t, t + 1))[0]
            moved = u - phase.step * gradient
            proximal = (moved + phase.step * multiplier * anchor) / (1 + phase.step * multiplier)
            length = float(np.linalg.norm(proximal))
            u = proximal if length <= radius else proximal * radius / length
            iterates.append(u)
        u = np.mean(iterates, axis=0)
        means.append(u)
    return means


def test_steps_are_the_textbook_ones() -> None:
    function, rng = loss(), np.random.default_rng(2)
    phases = schedule(noise_multiplier=0.0, **GEOMETRY)
    pool = QueryPool.draw(function, np.full(3, 0.1), smoothing=1.28, size=100, rng=rng)
    anchor = np.array([0.004, -0.02, 0.001])
    found = localise(pool, phases, radius=0.01, multiplier=50.0, anchor=anchor, rng=rng)
    expected = slow(pool, phases, 0.01, 50.0, anchor)
    for release, mean in zip(found.releases, expected, strict=True):
        np.testing.assert_allclose(release.clean, mean, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(release.released, release.clean)
    np.testing.assert_array_equal(found.point, found.releases[-1].clean)


def test_answers_stay_in_the_ball_whatever_the_noise() -> None:
    private = oracle(noise_multiplier=1e4)
    center = np.array([0.3, -0.1, 0.2])
    for _ in range(5):
        assert np.linalg.norm(private.solve(center, 30.0) - center) <= 0.01 * (1 + 1e-12)


def test_a_phase_wants_its_draws_in_the_pool() -> None:
    rng = np.random.default_rng(0)
    pool = QueryPool.draw(loss(), np.zeros(3), smoothing=1.28, size=50, rng=rng)
    phases = schedule(noise_multiplier=0.0, **GEOMETRY)
    for wrong in (phases, ()):
        with pytest.raises(ValueError, match="draws"):
            localise(pool, wrong, radius=0.01, multiplier=50.0, rng=rng)


# ------------------------------------------------------------------------------------------- noise


def collect(private: PrivateBallOracle, calls: int) -> list[Release]:
    seen: list[Release] = []
    private.observe = seen.append
    for _ in range(calls):
        private.solve(np.zeros(private.function.dimension), 50.0)
    return seen


def test_noise_of_every_release_has_its_stated_law() -> None:
    found = collect(oracle(), 400)
    names = {release.name for release in found}
    assert len(names) == len(phase_sizes(30, TWICE)) * 2
    for name in names:
        mine = [release for release in found if release.name == name]
        noise = np.array([(each.released - each.clean) / each.noise_std for each in mine])
        assert noise.std() == pytest.approx(1.0, rel=0.08)
        assert mine[0].noise_std == 4.0 * 1.1 * 1.0 * mine[0].step
    everything = np.concatenate([(r.released - r.clean) / r.noise_std for r in found])
    assert everything.std() == pytest.approx(1.0, rel=0.03)
    assert stats.kstest(everything, "norm").pvalue > 1e-3


def test_noise_is_fresh_in_every_release_and_coordinate() -> None:
    found = collect(oracle(), 60)
    noise = np.concatenate([(r.released - r.clean) / r.noise_std for r in found])
    assert len(np.unique(noise)) == noise.size
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 0.1


# ------------------------------------------------------------------------------------- sensitivity


def pair(
    function: AbsoluteLoss, copies: int, rng: np.random.Generator, draws: int = 40
) -> tuple[Localised, Localised, tuple[Phase, ...]]:
    """One subproblem on neighbouring data sets, with shared draws and query noise."""
    features, targets = function.features.copy(), function.targets.copy()
    features[0], targets[0] = -features[0], targets[0] + 20.0
    other = replace(function, features=features, targets=targets)
    samples = rng.integers(1, function.sample_size, draws)
    samples[rng.choice(draws, copies, replace=False)] = 0
    seed = int(rng.integers(2**31))
    settings = {**GEOMETRY, "dimension": function.dimension, "draws": draws, "multiplier": 5.0}
    constants = PrivateConstants(phases=1)
    phases = schedule(noise_multiplier=0.0, constants=constants, **settings)
    runs = [
        localise(
            QueryPool.draw(
                each,
                np.full(function.dimension, 0.1),
                smoothing=1.28,
                size=draws,
                rng=np.random.default_rng(seed),
                samples=samples,
            ),
            phases,
            radius=0.01,
            multiplier=5.0,
            rng=np.random.default_rng(0),
        )
        for each in (function, other)
    ]
    return runs[0], runs[1], phases


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_copies_of_a_record_move_a_phase_by_what_its_noise_covers(copies: int) -> None:
    rng = np.random.default_rng(copies)
    moved = []
    for _ in range(60):
        first, second, phases = pair(loss(), copies, rng)
        distance = np.linalg.norm(first.releases[0].clean - second.releases[0].clean)
        moved.append(distance / (copies * 2 * 1.1 * phases[0].step))
    assert max(moved) <= 1
    assert max(moved) > 0.25  # not vacuous: the record does move the mean


def test_the_whole_sensitivity_is_attained_without_a_drift_factor() -> None:
    """One draw of a record whose gradient turns round: the mean moves by 2 L eta, nearly."""
    function = AbsoluteLoss(np.array([[1.0], [1.0]]), np.array([-20.0, -20.0]), lipschitz=1.0)
    other = replace(function, targets=np.array([20.0, -20.0]))
    constants = PrivateConstants(drift_factor=1.0, phases=1)
    means = []
    for each in (function, other):
        private = oracle(
            0.0, function=each, draws=1, constants=constants, radius=1e-3,
            samples=np.array([0]), rng=np.random.default_rng(1),
        )  # fmt: skip
        means.append(collect(private, 1)[0])
    moved = abs(float((means[0].clean - means[1].clean)[0]))
    # The ball is wide enough for one step of D/L sqrt(p/q) only up to its radius.
    assert moved == pytest.approx(2 * min(means[0].step, 1e-3), rel=0.06)


# ------------------------------------------------------------------------------------------ oracle


def test_a_call_is_one_round_and_is_counted() -> None:
    counter = Counter()
    private = oracle(counter=counter)
    for _ in range(3):
        private.solve(np.zeros(3), 20.0)
    counts = counter.snapshot()
    assert (counts.oracle_calls, counts.query_depth, counts.queries) == (3, 3, 180)
    assert counts.computational_depth == 180


def test_runs_repeat_bit_for_bit_with_any_executor() -> None:
    answers = []
    with ThreadPoolExecutor(3) as pool:
        for executor in (None, None, pool):
            private = oracle(draws=9000, executor=executor, rng=np.random.default_rng(3))
            answers.append([private.solve(np.zeros(3), 20.0) for _ in range(2)])
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])
    assert not np.array_equal(answers[0][0], answers[0][1])


def test_regularisation_pulls_to_the_anchor() -> None:
    anchor = np.full(3, 0.05)
    heavy = oracle(0.0, anchor=anchor, regularisation=1e5, draws=400)
    assert np.linalg.norm(heavy.solve(anchor - 0.005, 1.0) - anchor) < 1e-3
    # In the answer it counts as much as the multiplier around the centre.
    twice = oracle(0.0, anchor=np.zeros(3), regularisation=40.0, rng=np.random.default_rng(1))
    once = oracle(0.0, rng=np.random.default_rng(1))
    np.testing.assert_allclose(
        twice.solve(np.zeros(3), 40.0), once.solve(np.zeros(3), 80.0), atol=1e-15
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("radius", 2.0),
        ("draws", 1),
        ("noise_multiplier", math.inf),
        ("regularisation", -1.0),
        ("anchor", np.zeros(2)),
        ("rng", 5),
        ("samples", np.array([400])),
    ],
)
def test_bad_oracles_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        oracle(**{name: value})
    with pytest.raises(ValueError, match="multiplier"):
        oracle().solve(np.zeros(3), 0.0)


# -------------------------------------------------------------------------------------- excess in N


def ball_excess(function: AbsoluteLoss, radius: float, multiplier: float) -> Any:
    """The excess of a point over the smallest value of the subproblem around 0."""

    def value(x: Array) -> float:
        return function.smoothed_value(x, radius) + multiplier / 2 * float(x @ x)

    def slope(x: Array) -> Array:
        return function.smoothed_gradient(x, radius) + multiplier * x

    inside = {"type": "ineq", "fun": lambda x: radius**2 - x @ x, "jac": lambda x: -2 * x}
    found = optimize.minimize(
        value, np.zeros(function.dimension), jac=slope, method="SLSQP",
        constraints=[inside], options={"ftol": 1e-15, "maxiter": 500},
    )  # fmt: skip
    return lambda x: value(x) - found.fun


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "low", "high"), [(0.0, -1.2, -0.8), (8.0, -1.5, -0.6)])
def test_excess_falls_as_the_draws_grow(sigma: float, low: float, high: float) -> None:
    function = loss(4000, 8)
    excess = ball_excess(function, 0.1, 4.0)
    sizes = (250, 500, 1000, 2000, 4000, 8000)
    means = []
    for size in sizes:
        private = oracle(
            sigma, function=function, radius=0.1, smoothing=0.1, draws=size,
            rng=np.random.default_rng(size), constants=PrivateConstants(),
        )  # fmt: skip
        answers = [private.solve(np.zeros(8), 4.0) for _ in range(12)]
        means.append(np.mean([excess(x) for x in answers]))
        assert means[-1] < excess_estimate(
            draws=size, dimension=8, lipschitz=1.0, radius=0.1, smoothing=0.1, multiplier=4.0,
            noise_multiplier=sigma,
        )  # fmt: skip
    slope = np.polyfit(np.log(sizes), np.log(means), 1)[0]
    assert low < slope < high, means
