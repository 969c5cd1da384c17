"""Parallel methods: solver, depths, gradients; table 1 and its crossovers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import bounds
from bounds.resque.parallel_solver import solver_error
from bounds.resque.symbols import eps_opt, gap_avg
from bounds.resque.tables import ROWS
from bounds.symbols import T, d
from bounds.theorem import Status, Theorem

IDS = ("resque.parallel.solver", "resque.parallel.1", "resque.parallel.2", "resque.table1")


def theorem(id: str) -> Theorem:
    return bounds.theorems()[id]


@pytest.mark.parametrize("id", IDS)
def test_proof_replays(id: str) -> None:
    report = theorem(id).replay()
    assert report.ok, report.describe()
    assert not report.unused_assumptions
    assert not report.unused_steps


def test_only_the_accelerated_rate_is_assumed() -> None:
    assumed = {id: theorem(id).replay().assumed for id in IDS}
    assert {id: list(steps) for id, steps in assumed.items() if steps} == {
        "resque.parallel.2": ["rate"]
    }


@pytest.mark.parametrize("id", IDS[:3])
def test_models_hold_or_break_one_assumption(id: str) -> None:
    for model in theorem(id).models(np.random.default_rng(1)):  # type: ignore[misc]
        broken = [each.id for each in theorem(id).assumptions if not model.holds(each.formula)]
        assert len(broken) <= 1, (model.note, broken)
        if broken:
            assert model.violates(theorem(id).statement), model.note
        else:
            assert model.holds(theorem(id).statement), model.note


@pytest.mark.parametrize(
    ("id", "dropped"),
    [
        ("resque.parallel.solver", each)
        for each in ("update", "dist", "inside", "unbiased", "moment", "strongly-convex", "average")
    ]
    + [("resque.parallel.1", each) for each in ("radius", "floor", "largest", "calls", "batch")]
    + [("resque.parallel.2", each) for each in ("radius", "floor", "calls", "batch", "rounds")],
)
def test_a_dropped_assumption_has_a_counterexample_and_no_proof(id: str, dropped: str) -> None:
    less = theorem(id).without_assumption(dropped)
    assert not less.replay().ok
    assert less.counterexample() is not None


def test_half_the_excess_does_not_prove() -> None:
    solver = theorem("resque.parallel.solver")
    half = bounds.operators.E(gap_avg(T)) <= solver_error / 2
    assert not solver.with_claim(half).replay().ok


def test_solver_on_a_quadratic() -> None:
    """The mean over seeds of a real run stays below the guarantee; the order in T is right."""
    lam, r, tilt, noise = 4.0, 0.1, 0.2, 0.5
    rng = np.random.default_rng(0)
    least = tilt * -tilt / lam + lam / 2 * (tilt / lam) ** 2
    excesses = []
    for steps in (16, 256):
        u = np.zeros(4000)
        mean = np.zeros(4000)
        for t in range(1, steps + 1):
            mean += 2 * t / (steps * (steps + 1)) * u
            e = tilt + noise * rng.choice([-1.0, 1.0], u.size)
            u = np.clip(u - 2 / (lam * (t + 1)) * (e + lam * u), -r, r)
        excess = float((tilt * mean + lam / 2 * mean**2 - least).mean())
        bound = theorem("resque.parallel.solver").evaluate(
            steps=steps,
            regularisation=lam,
            ball_radius=r,
            estimate_moment=float(np.hypot(tilt, noise)),
        )
        assert 0 < excess <= float(bound)
        excesses.append(excess)
    assert excesses[0] / excesses[1] > 8


UNIT: dict[str, Any] = {
    "lipschitz": 1.0,
    "radius": 1.0,
    "accuracy": 0.1,
    "dimension": 16,
    "call_factor": 1.0,
}


def test_parallel_1_at_a_point() -> None:
    """d = 16, eps = .1, L = R = 1: (2 sqrt(d)/eps)^(2/3) = 18.57, the calls of the first method."""
    first = theorem("resque.parallel.1")
    assert float(first.evaluate("query_depth", **UNIT)) == pytest.approx(18.5664, abs=1e-3)
    samples = 2 * (1 + np.exp(0.5)) ** 2
    expected = samples * 100 + 18.566355
    assert float(first.evaluate(**UNIT)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("eps", "calls"),
    [
        (0.1, 18.57),
        (0.05, 29.47),
        (0.025, 46.78),
        (0.0125, 74.27),
        (0.00625, 117.9),
        (0.003125, 187.1),
        (0.0015625, 297.1),
    ],
)
def test_natural_number_of_calls(eps: float, calls: float) -> None:
    found = theorem("resque.parallel.1").evaluate("query_depth", **{**UNIT, "accuracy": eps})
    assert float(found) == pytest.approx(calls, rel=5e-4)


def test_parallel_2_at_a_point() -> None:
    second = theorem("resque.parallel.2")
    depth = float(second.evaluate(**UNIT, rounds_factor=3.0))
    by_hand = 4 * 18.566355 + 3 * np.sqrt(2 * np.sqrt(2 / np.pi)) * 2 * 10
    assert depth == pytest.approx(by_hand, rel=1e-6)
    queries = float(second.evaluate("queries", **UNIT, query_factor=20.0))
    assert queries == pytest.approx(20 * 100 + 18.566355, rel=1e-6)


def at(name: str, eps: float, dimension: int = 10_000) -> float:
    table = theorem("resque.table1")
    expression = table.evaluations[name]
    wanted: dict[str, Any] = {"accuracy": eps, "dimension": dimension}
    used = {eps_opt: "accuracy", d: "dimension"}
    given: dict[str, Any] = {
        used[symbol]: wanted[used[symbol]] for symbol in expression.free_symbols
    }
    return float(table.evaluate(name, **given))


@pytest.mark.parametrize(
    ("eps", "name", "value"),
    [
        (0.1, "sgd", 100),
        (0.1, "smoothing", 100),
        (0.1, "bound", 100),
        (0.1, "theorem1_total", 200),
        (0.01, "sgd", 1e4),
        (0.01, "smoothing", 1000),
        (0.01, "bound", 464.2),
        (0.01, "highly_smooth_total", 4.642e6),
        (0.01, "theorem1_total", 1.046e4),
        (0.01, "theorem2_depth", 1464),
        (1e-4, "sgd", 1e8),
        (1e-4, "smoothing", 1e5),
        (1e-4, "bound", 1e4),
        (1e-4, "highly_smooth_total", 1e8),
        (1e-4, "theorem1_total", 1e8),
    ],
)
def test_table1_values(eps: float, name: str, value: float) -> None:
    assert at(name, eps) == pytest.approx(value, rel=5e-4)


def test_table1_window() -> None:
    assert at("window_low", 1.0) == pytest.approx(1e-4)
    assert at("window_high", 1.0) == pytest.approx(0.1)


@pytest.mark.parametrize("eps", [1e-5, 1e-3, 0.05, 0.2, 0.9])
def test_table1_order_on_both_sides_of_the_crossover(eps: float) -> None:
    order = [at(name, eps) for name in ("bound", "smoothing", "sgd")]
    assert order == sorted(order, reverse=eps > 0.1)


def test_table1_claims_that_are_false_do_not_prove() -> None:
    table = theorem("resque.table1")
    parts = {name: table.evaluations[name] for name in ("bound", "smoothing", "sgd")}
    always = parts["bound"] <= parts["smoothing"]
    later = sympy.Implies(sympy.Le(eps_opt, 2 * d ** -sympy.Rational(1, 4)), always)
    for claim in (always, later):
        changed = table.with_claim(claim)
        assert not changed.replay().ok
        assert changed.counterexample() is not None


def test_table1_rows_say_what_is_recalled() -> None:
    rows = {row.name: row for row in ROWS}
    assert "recalled" in rows["DBW12"].note
    assert "recalled" in rows["BJL+19"].note
    assert rows["SGD"].status is Status.STATED
    assert rows["Theorem 2"].status is Status.DERIVED
    for row in ROWS:
        assert set(row.values) == {"query depth", "computational depth", "total queries"}


def test_smoothing_is_a_geometric_mean_of_the_other_depths() -> None:
    values = theorem("resque.table1").evaluations
    mean = values["sgd"] ** sympy.Rational(1, 4) * values["bound"] ** sympy.Rational(3, 4)
    assert sympy.simplify(values["smoothing"] / mean) == 1
