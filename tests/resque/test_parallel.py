"""The parallel methods: accuracy, depths and their slopes, workers, counts, what is refused."""

from __future__ import annotations

import json
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from bounds import catalogue
from dp2theory.resque import smoothing
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.ball_solvers import SOLVERS, ParallelConstants, pool_size
from dp2theory.resque.counters import Counter
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.parallel import (
    METHODS,
    ball_steps,
    multiplier_floor,
    smoothing_for,
    solve_parallel,
)
from dp2theory.resque.parallel_study import parallel_study
from dp2theory.resque.reference import reference_optimum

RESQUE = METHODS[2:]
#: Slopes of query depth that are allowed: in log(1/eps), and in log d.
EPS_GATE, DIMENSION_GATE = (0.5, 0.9), (0.2, 0.45)


@pytest.fixture(scope="module")
def study():
    return parallel_study(methods=["resque-2"], functions=["max"], data={})


def test_every_run_reaches_its_accuracy(study):
    assert len(study.rows) == 2 * (7 + 4)
    for row in study.rows:
        assert row.stopped == "accuracy"
        assert row.suboptimality <= row.accuracy


def test_query_depth_grows_as_a_power_of_the_accuracy_below_sgd(study):
    low, high = EPS_GATE
    assert low <= study.slope("accuracy", "resque-2", "query_depth") <= high
    assert low <= study.slope("accuracy", "resque-2", "accepted") <= high


def test_query_depth_grows_slowly_with_the_dimension(study):
    low, high = DIMENSION_GATE
    assert low <= study.slope("dimension", "resque-2", "query_depth") <= high


def test_query_depth_is_the_number_of_subproblems(study):
    for row in study.rows:
        assert row.query_depth == row.oracle_calls >= row.accepted
        # Bisection costs less than one call more for three accepted steps, and steps stay within
        # what theory allows for exact answers.
        assert row.query_depth <= 4 / 3 * row.accepted + 2
        assert row.queries >= row.computational_depth > row.query_depth


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["max", "max-flat", "l1", "l1-flat"])
def test_all_methods_on_functions_with_known_minima(method, name):
    run = solve_parallel(function_named(name), accuracy=0.1, method=method, rng=1)
    assert run.stopped == "accuracy"
    assert run.suboptimality <= 0.1
    assert (run.method, run.function, run.dimension) == (method, name, 16)
    counts = run.counts
    assert counts.oracle_calls == (counts.query_depth if method in RESQUE else 0)
    document = json.loads(json.dumps(run.to_json()))
    assert document["counts"]["query_depth"] == counts.query_depth
    assert "x" not in document


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["hinge", "absolute"])
def test_all_methods_on_losses_of_records(method, name):
    function = function_named(name, records=150)
    best = reference_optimum(function).lower
    run = solve_parallel(function, accuracy=0.1, method=method, rng=0, optimal_value=best)
    assert run.stopped == "accuracy"
    assert run.suboptimality == run.value - best <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["svm-breast-cancer", "l1-diabetes"])
def test_all_methods_on_real_data(method, name):
    pytest.importorskip("sklearn")
    function = function_named(name)
    best = reference_optimum(function).lower
    for accuracy in (0.2, 0.1, 0.05):
        run = solve_parallel(function, accuracy=accuracy, method=method, rng=0, optimal_value=best)
        assert run.stopped == "accuracy"
        assert run.suboptimality <= accuracy


@pytest.mark.parametrize("method", RESQUE)
@pytest.mark.parametrize("name", ["max", "l1"])
def test_the_weights_end_a_run_whose_optimum_is_unknown(method, name):
    """What the weights prove for exact answers holds here for the stochastic ones."""
    function = function_named(name)
    run = solve_parallel(replace(function, optimal_value=None), accuracy=0.1, method=method, rng=0)
    assert run.stopped == "guarantee"
    assert run.suboptimality is None
    assert function.value(run.x) <= 0.1


def test_sizes_are_those_of_the_theorems():
    setting = {"lipschitz": 2.0, "radius": 3.0, "dimension": 25, "accuracy": 0.06}
    rho = smoothing_for(0.06, 25, 2.0)
    assert rho == pytest.approx(0.06 / 20) == smoothing.smoothing_for(0.06, 25, 2.0)
    steps = ball_steps(3.0, rho)
    assert steps == pytest.approx(100.0)
    floor = multiplier_floor(0.06, 3.0, rho)
    first = catalogue.theorem("resque.parallel.1")
    depth = first.evaluate("query_depth", **setting, call_factor=1.0)
    assert float(depth) == pytest.approx(steps)
    # A subproblem at the floor queries C (L R/eps)^2/K gradients.
    assert abs(pool_size(2.0, floor, rho, 20.0) - 20 * 100**2 / steps) <= 1
    total = first.evaluate("bound", **setting, call_factor=1.0)
    factor = 2 * (1 + math.exp(0.5)) ** 2
    assert steps * (pool_size(2.0, floor, rho, factor) - 1) <= float(total)


@pytest.mark.parametrize("method", RESQUE)
def test_a_smaller_problem_is_the_same_problem(method):
    """L, R and eps scale: f(x) = 4 |x/2| with eps = 4 * 0.1 takes the same steps."""
    center = function_named("l1").center
    weights = function_named("l1").weights
    plain = replace(function_named("l1"))
    scaled = replace(plain, center=2 * center, weights=2 * weights)
    runs = [
        solve_parallel(function, accuracy=eps, method=method, rng=3)
        for function, eps in ((plain, 0.1), (scaled, 0.4))
    ]
    assert runs[0].counts == runs[1].counts
    assert runs[1].x == pytest.approx(2 * runs[0].x, rel=1e-9, abs=1e-12)


def test_no_result_depends_on_the_workers():
    function = function_named("l1")
    given = {
        "accuracy": 0.1,
        "method": "resque-2",
        "constants": ParallelConstants(pool_factor=1e4),  # pools of several blocks
        "max_rounds": 3,
    }
    alone = solve_parallel(function, rng=5, **given)
    assert alone.accepted > 0
    assert alone.counts.queries > 3 * 2 * 4096
    spawn = multiprocessing.get_context("spawn")
    for executor in (
        ThreadPoolExecutor(3),
        ProcessPoolExecutor(1, mp_context=spawn),
        ProcessPoolExecutor(2, mp_context=spawn),
    ):
        with executor:
            run = solve_parallel(function, rng=5, executor=executor, **given)
        assert np.array_equal(run.x, alone.x)
        assert run.counts == alone.counts
    other = solve_parallel(function, rng=6, **given)
    assert not np.array_equal(other.x, alone.x)


def test_randomised_smoothing_uses_the_executor_too():
    function = function_named("l1")
    given = {"accuracy": 0.1, "method": "randomized-smoothing", "max_rounds": 4}
    alone = solve_parallel(function, rng=np.random.default_rng(5), **given)
    with ThreadPoolExecutor(2) as executor:
        run = solve_parallel(function, rng=5, executor=executor, **given)
    assert np.array_equal(run.x, alone.x)


@pytest.mark.parametrize("method", METHODS)
def test_a_cap_on_rounds_is_kept(method):
    counter, seen = Counter(), []
    run = solve_parallel(
        function_named("max"), accuracy=0.05, method=method, rng=0, max_rounds=5, counter=counter,
        progress=lambda rounds, gap: seen.append((rounds, gap)),
    )  # fmt: skip
    assert (run.stopped, run.counts.query_depth) == ("max_rounds", 5)
    assert run.counts == counter.snapshot()
    assert seen[-1] == (5, run.suboptimality)


def test_constants_are_used():
    runs = [
        solve_parallel(
            function_named("max"), accuracy=0.1, method="resque-2", rng=0, max_rounds=1,
            constants=ParallelConstants(pool_factor=factor, rounds_factor=steps),
        ).counts
        for factor, steps in ((20.0, 3.0), (40.0, 6.0))
    ]  # fmt: skip
    assert runs[1].queries == pytest.approx(2 * runs[0].queries, abs=1)
    assert runs[1].computational_depth == pytest.approx(2 * runs[0].computational_depth, abs=1)
    half = ParallelConstants(radius_over_smoothing=0.5)
    run = solve_parallel(
        function_named("max"), accuracy=0.1, method="resque-2", rng=0, max_rounds=1, constants=half
    )
    assert pytest.approx(ball_steps(1.0, 0.5 * run.smoothing)) == run.K


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("method", "resque-3"),
        ("accuracy", -1.0),
        ("accuracy", float("nan")),
        ("max_rounds", 0),
        ("optimal_value", float("nan")),
        ("function", None),
    ],
)
def test_what_is_refused(argument, value):
    given = {"function": function_named("max"), "accuracy": 0.1, "rng": 0, argument: value}
    with pytest.raises(ValueError, match=argument):
        solve_parallel(given.pop("function"), **given)


def test_constants_of_another_method_are_refused():
    with pytest.raises(ValueError, match="constants"):
        solve_parallel(
            function_named("max"), accuracy=0.1, method="sgd", rng=0, constants=ParallelConstants()
        )


def test_a_study_is_rows_that_do_not_depend_on_the_workers():
    small = {
        "functions": ["max"],
        "accuracies": (0.2, 0.1),
        "dimensions": (4, 16),
        "dimension_accuracy": 0.2,
        "data": {"l1": (0.2,)},
        "seeds": (0, 1),
    }
    done = []
    alone = parallel_study(**small, progress=lambda *at: done.append(at))
    with ThreadPoolExecutor(2) as executor:
        assert parallel_study(**small, executor=executor) == alone
    # SGD on "max" is deterministic: one seed.
    assert len(alone.rows) == 4 * (3 * 2 + 1) + 4 * 2
    assert done[-1] == (len(alone.rows), len(alone.rows))
    assert len(json.loads(json.dumps(alone.to_json()))["rows"]) == len(alone.rows)
    assert all(row.suboptimality <= row.accuracy for row in alone.rows)
    assert {row.function for row in alone.rows if row.sweep == "data"} == {"l1"}
    assert -2.5 < -alone.slope("accuracy", "sgd", "queries") < -1.5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"methods": ["newton"]}, "methods holds 'newton'"),
        ({"functions": ["absolute"]}, "functions holds 'absolute'"),
        ({"functions": ["nothing"]}, "nothing"),
        ({"seeds": [-1]}, "seeds"),
        ({"accuracies": [0.0]}, "accuracy"),
        ({"data": {"max": [-1.0]}}, "accuracy"),
    ],
)
def test_what_a_study_refuses(changed, message):
    with pytest.raises(ValueError, match=message):
        parallel_study(**changed)


def test_slopes_that_cannot_be_fitted_are_refused(study):
    with pytest.raises(ValueError, match="sweep"):
        study.slope("data", "resque-2", "queries")
    with pytest.raises(ValueError, match="count"):
        study.slope("accuracy", "resque-2", "stopped")
    with pytest.raises(ValueError, match="two different values"):
        study.slope("accuracy", "sgd", "queries")


@pytest.mark.slow
def test_the_whole_study():
    """Table 1, measured: every gate, all four methods, both functions and real data."""
    pytest.importorskip("sklearn")
    study = parallel_study()
    assert all(row.stopped == "accuracy" for row in study.rows)
    assert all(row.suboptimality <= row.accuracy for row in study.rows)
    for function in ("max", "max-flat"):
        for method in RESQUE:
            slope = study.slope("accuracy", method, "query_depth", function=function)
            assert EPS_GATE[0] <= slope <= EPS_GATE[1]
    for method in RESQUE:
        slope = study.slope("dimension", method, "query_depth")
        assert DIMENSION_GATE[0] <= slope <= DIMENSION_GATE[1]
    assert 1.8 <= study.slope("accuracy", "sgd", "query_depth") <= 2.2
    assert 0.5 <= study.slope("accuracy", "randomized-smoothing", "query_depth") <= 1.1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "low", "high"), [("max-flat", 0.2, 0.6), ("max", 1.2, 2.0)])
def test_which_method_needs_fewer_rounds_depends_on_the_function(name, low, high):
    """Rounds of Theorem 2 over those of randomised smoothing, d = 256, eps = 0.1/64."""
    function = function_named(name, dimension=256)
    given = {"accuracy": 0.1 / 64, "rng": 0}
    depths = [
        solve_parallel(function, method=method, **given).counts.query_depth
        for method in ("resque-2", "randomized-smoothing")
    ]
    assert low < depths[0] / depths[1] < high


@pytest.mark.parametrize("method", RESQUE)
def test_forced_steps_are_those_at_the_largest_multiplier(method):
    """An exact answer there would be inside the band; a stochastic one may be outside."""
    function = function_named("max")
    taken = []
    rho = smoothing_for(0.0125, 16, 1.0)
    constants = ParallelConstants()
    oracle = SOLVERS[method](function, rho, rho, np.random.default_rng(0), constants)
    run = accelerate(
        oracle, start=function.start, domain_radius=1.0, lipschitz=1.0, accuracy=0.00625,
        floor=multiplier_floor(0.0125, 1.0, rho), floor_first=False, band=constants.band,
        calls_per_step=constants.calls_per_step, stop=lambda x: function.value(x) <= 0.0125,
        observe=taken.append,
    )  # fmt: skip
    largest = 1 / (constants.band[1] * rho)
    forced = [step for step in taken if step.forced]
    assert len(forced) == run.forced
    assert all(step.multiplier == pytest.approx(largest) for step in forced)
    assert all(step.move <= rho * (1 + 1e-12) for step in taken)
