"""Ball subproblems from one pool: their guarantees, their counts, and what they refuse."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from bounds import catalogue
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_solvers import (
    SOLVERS,
    AcceleratedBallOracle,
    ParallelConstants,
    WeightedBallOracle,
    accelerated_excess,
    accelerated_steps,
    pool_size,
    weighted_excess,
)
from dp2theory.resque.counters import Counter
from dp2theory.resque.estimator import QueryPool
from tests.resque import solver_checks as checks
from tests.resque.solver_checks import FUNCTION, MULTIPLIER, RADIUS, SMOOTHING

BOTH = pytest.mark.parametrize("kind", [WeightedBallOracle, AcceleratedBallOracle])
SETTING = {
    "lipschitz": FUNCTION.lipschitz,
    "multiplier": MULTIPLIER,
    "radius": RADIUS,
    "smoothing": SMOOTHING,
}


def guarantee(kind, counts):
    if kind is WeightedBallOracle:
        return weighted_excess(**SETTING, queries=counts.queries)
    steps = counts.computational_depth
    return accelerated_excess(**SETTING, steps=steps, queries=counts.queries)


@BOTH
def test_the_excess_is_below_the_guarantee_and_below_l_r_squared(kind):
    counter = Counter()
    checks.make(kind, counter=counter).solve(checks.CENTER, MULTIPLIER)
    excess = checks.mean_excess(kind)
    assert 0 <= excess < guarantee(kind, counter.snapshot())
    assert excess < 0.1 * MULTIPLIER * RADIUS**2


@BOTH
def test_more_queries_and_steps_bring_the_excess_down(kind):
    more = {"pool_factor": 80.0, "rounds_factor": 6.0}
    assert checks.mean_excess(kind, **more, runs=10) < checks.mean_excess(kind, runs=10) / 2


@BOTH
def test_one_round_for_a_subproblem_and_the_steps_of_the_theorem(kind):
    counter = Counter()
    oracle = checks.make(kind, counter=counter)
    for _ in range(3):
        oracle.solve(checks.CENTER, MULTIPLIER)
    counts = counter.snapshot()
    queries = pool_size(FUNCTION.lipschitz, MULTIPLIER, RADIUS, 20.0)
    assert queries == math.ceil(20 * 100 * (1 - 1e-12))
    assert counts.oracle_calls == counts.query_depth == 3
    assert counts.queries == 3 * queries
    steps = accelerated_steps(FUNCTION.lipschitz, MULTIPLIER, SMOOTHING, 3.0)
    assert steps == math.ceil(3 * math.sqrt(1 + math.sqrt(2 / math.pi) * 10))
    assert counts.computational_depth == 3 * (queries if kind is WeightedBallOracle else steps)


@BOTH
def test_answers_repeat_and_depend_on_the_seed(kind):
    first, again, other = (
        checks.make(kind, seed).solve(checks.CENTER, MULTIPLIER) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@BOTH
@pytest.mark.parametrize("multiplier", [0.5, 3.0, 30.0, 300.0])
def test_gradients_are_estimated_in_the_ball_only(kind, multiplier, monkeypatch):
    seen = []
    mean = QueryPool.mean

    def watched(pool, point, part=slice(None)):
        seen.append(float(np.linalg.norm(point - pool.center)))
        return mean(pool, point, part)

    monkeypatch.setattr(QueryPool, "mean", watched)
    far = FUNCTION.center + 10
    answer = checks.make(kind, pool_factor=0.01).solve(far, multiplier)
    assert np.linalg.norm(answer - far) <= RADIUS * (1 + 1e-12)
    assert max(seen, default=0.0) <= RADIUS * (1 + 1e-12)
    assert bool(seen) == (kind is AcceleratedBallOracle)


def test_the_weighted_solver_reweights_as_the_pool_does():
    """Its inner loop writes the weight out: with one query it must be the pool's estimate."""
    oracle = checks.make(WeightedBallOracle)
    pool = QueryPool.draw(
        FUNCTION, checks.CENTER, smoothing=SMOOTHING, size=2, rng=np.random.default_rng(3)
    )
    # u_1 = 0, u_2 = -(1/l) g_1 (projected); the mean has weights 1/3 and 2/3.
    u = -pool.estimates(pool.center, slice(0, 1))[0] / MULTIPLIER
    u *= min(1.0, RADIUS / np.linalg.norm(u))
    assert oracle._steps(pool, MULTIPLIER) == pytest.approx(2 / 3 * u, rel=1e-12)
    third = QueryPool(
        pool.center,
        np.vstack([pool.offsets, pool.offsets[:1]]),
        np.zeros(3, dtype=np.int64),
        np.vstack([pool.gradients, pool.gradients[:1]]),
        SMOOTHING,
    )
    e = third.estimates(third.center + u, slice(1, 2))[0]
    w = u - 2 / (MULTIPLIER * 3) * (e + MULTIPLIER * u)
    w *= min(1.0, RADIUS / np.linalg.norm(w))
    assert oracle._steps(third, MULTIPLIER) == pytest.approx(u / 3 + w / 2, rel=1e-12)


def test_the_guarantee_of_the_weighted_solver_is_the_theorem():
    for queries in (1, 20, 5000):
        value = weighted_excess(**SETTING, queries=queries)
        proved = catalogue.theorem("resque.parallel.solver").evaluate(
            steps=queries,
            estimate_moment=FUNCTION.lipschitz * math.exp(0.5),
            regularisation=MULTIPLIER,
            ball_radius=RADIUS,
        )
        assert value == pytest.approx(float(proved), rel=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 1.5, 7.0, 100.0])
def test_the_default_pool_is_enough_for_an_excess_of_l_r_squared(ratio):
    """Theorem 1 for the weighted solver; the accelerated one leaves e^-3 of the start's excess."""
    multiplier = FUNCTION.lipschitz / (ratio * RADIUS)
    setting = {**SETTING, "multiplier": multiplier}
    queries = pool_size(FUNCTION.lipschitz, multiplier, RADIUS, ParallelConstants().pool_factor)
    wanted = multiplier * RADIUS**2
    assert weighted_excess(**setting, queries=queries) <= wanted
    steps = accelerated_steps(FUNCTION.lipschitz, multiplier, SMOOTHING, 3.0)
    bound = accelerated_excess(**setting, steps=steps, queries=queries)
    assert bound <= wanted * (1 + ratio * math.exp(-3))


def test_more_steps_than_queries_are_paid_by_more_queries():
    counter = Counter()
    oracle = checks.make(AcceleratedBallOracle, counter=counter, pool_factor=1e-3)
    oracle.solve(checks.CENTER, MULTIPLIER)
    counts = counter.snapshot()
    assert counts.queries == counts.computational_depth > 1


@BOTH
def test_the_outer_loop_takes_them(kind):
    run = accelerate(
        checks.make(kind, counter=(counter := Counter())),
        start=FUNCTION.start,
        domain_radius=FUNCTION.radius,
        lipschitz=FUNCTION.lipschitz,
        accuracy=0.2,
        floor=5.0,
        floor_first=False,
        band=(0.5, 0.93),
        stop=lambda x: FUNCTION.value(x) < 0.3,
        counter=counter,
    )
    assert run.stopped == "stop"
    assert counter.query_depth == run.calls
    with pytest.raises(ValueError, match="band"):
        accelerate(
            checks.make(kind),
            start=FUNCTION.start,
            domain_radius=1.0,
            lipschitz=1.0,
            accuracy=0.2,
        )


def test_every_constant_names_its_source():
    values = json.loads(json.dumps(ParallelConstants().to_json()))
    assert values["pool_factor"]["value"] == 20
    assert "hand-chosen" in values["pool_factor"]["source"]
    assert all(each["source"] for each in values.values())
    assert set(values) == set(ParallelConstants.SOURCES)
    assert set(SOLVERS) == {"resque-1", "resque-2"}


@pytest.mark.parametrize(
    "changed",
    [
        {"pool_factor": 0.0},
        {"rounds_factor": float("nan")},
        {"radius_over_smoothing": 1.5},
        {"band": (0.5, 1.0)},
        {"band": (0.9, 0.5)},
        {"calls_per_step": 1},
    ],
)
def test_constants_outside_their_domain_are_refused(changed):
    with pytest.raises(ValueError, match=next(iter(changed))):
        ParallelConstants(**changed)


@BOTH
def test_what_an_oracle_refuses(kind):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"radius=0\.2 must be at most smoothing"):
        kind(FUNCTION, 0.2, 0.1, rng)
    with pytest.raises(ValueError, match="rng=7"):
        kind(FUNCTION, 0.1, 0.1, 7)
    with pytest.raises(ValueError, match="multiplier"):
        kind(FUNCTION, 0.1, 0.1, rng).solve(checks.CENTER, 0.0)
    with pytest.raises(ValueError, match="center"):
        kind(FUNCTION, 0.1, 0.1, rng).solve(np.full(3, np.nan), 1.0)
    with pytest.raises(ValueError, match="function"):
        kind(object(), 0.1, 0.1, rng)


def test_gradients_are_asked_where_the_proof_wants_them(monkeypatch):
    """Between x and z, as (x + a z)/(1 + a): then x' - y = a (z' - a y - (1 - a) z)."""
    asked = []
    mean = QueryPool.mean

    def recording(pool, point, part=slice(None)):
        found = mean(pool, point, part)
        asked.append((point - pool.center, found))
        return found

    monkeypatch.setattr(QueryPool, "mean", recording)
    answer = checks.make(AcceleratedBallOracle).solve(checks.CENTER, MULTIPLIER)
    smooth = math.sqrt(2 / math.pi) * FUNCTION.lipschitz / SMOOTHING + MULTIPLIER
    rate = math.sqrt(MULTIPLIER / smooth)
    x = z = np.zeros_like(checks.CENTER)
    for point, gradient in asked:
        y = (x + rate * z) / (1 + rate)
        np.testing.assert_allclose(point, y, rtol=1e-9, atol=1e-12)
        pulled = rate * y + (1 - rate) * z - rate / MULTIPLIER * (gradient + MULTIPLIER * y)
        after = pulled * min(1.0, RADIUS / float(np.linalg.norm(pulled)))
        x_after = rate * after + (1 - rate) * x
        np.testing.assert_allclose(
            x_after - y, rate * (after - rate * y - (1 - rate) * z), atol=1e-12
        )
        x, z = x_after, after
    assert len(asked) > 3
    np.testing.assert_allclose(answer, checks.CENTER + x, atol=1e-12)
