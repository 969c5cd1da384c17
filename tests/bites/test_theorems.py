"""Three false steps that such proofs are usually written with, and that are noticed here.

The phase floor(t/s), which jumps one step early; Jensen's inequality where noise and mean depend on
each other; a metric that grows on average where it has to grow surely. Each has a repaired twin
that is accepted, so that it is the false step which is refused and not the way it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sympy import Abs, And, Eq, Ge, Implies, Lambda, Le, Rational, floor, sqrt

from bounds.assumptions import Assumption
from bounds.dp2.schedule_metric import METRIC
from bounds.dp2.symbols import M, R, a, alpha, eps, eta, s, v
from bounds.model import Model
from bounds.mutants import mutants, without_step
from bounds.operators import Conditional, E, RandomVariable, Variable, random_process
from bounds.proof.methods import Jensen, Linearity
from bounds.proof.step import Step, expectation, inequality
from bounds.symbols import T, d, j, t
from bounds.theorem import Kind, Source, Theorem

A = random_process("bite_A")
x = random_process("bite_x", nonnegative=True)
mean, noise = RandomVariable("bite_m"), RandomVariable("bite_n")


def theorem(statement, assumptions, steps, models=None) -> Theorem:
    return Theorem(
        id="bite.false",
        title="made",
        statement=statement,
        kind=Kind.UPPER,
        source=Source("li2023dp2", "none"),
        assumptions=tuple(Assumption(id, formula, id) for id, formula in assumptions.items()),
        steps=tuple(steps),
        models=models,
    )


def failing(made: Theorem) -> dict[str, str]:
    return {each.id: each.message for each in made.replay().steps if not each.ok}


# --- the phase that jumps at t = s instead of t = s + 1

PHASES = 4
DELAY = 3


def schedule(early: bool, *, damping: float, decay: float) -> Model:
    """A run of capped DP² with v = 0 (D = damping) in every adaptive phase."""
    steps = np.arange(1, PHASES * DELAY + 1)
    phase = (steps - 1) // DELAY
    jumps = steps // DELAY if early else phase
    metric = np.where(phase % 2 == 0, 1.0, damping)[:, None, None]
    return Model(
        {s: DELAY, eta: 1.0, alpha: decay, eps: damping, M: 1.0, T: len(steps), d: 1},
        {
            "D": metric,
            "a": decay**jumps / np.sqrt(steps),
            "v": np.zeros((PHASES + 1, 1, 1)),
        },
    )


def early_phase() -> Theorem:
    variants = {each.id: each.theorem for each in mutants(METRIC)}
    return replace(
        variants["phase schedule"],
        models=lambda rng: iter([schedule(True, damping=0.25, decay=0.25)]),
    )


def test_the_early_phase_is_what_is_meant() -> None:
    formula = next(each.formula for each in early_phase().assumptions if each.id == "schedule")
    assert formula == Eq(a(t), eta * alpha ** floor(t / s) / sqrt(t))
    assert METRIC.replay().ok


def test_floor_of_t_over_s_fails_the_proof() -> None:
    assert "metric" in failing(early_phase())


def test_floor_of_t_over_s_has_a_counterexample() -> None:
    found = early_phase().counterexample()
    assert found is not None
    # Before an adaptive phase: the exponent went up one step before D came down to the damping.
    last = found.at["t"]
    assert last % (2 * DELAY) == DELAY
    assert found.left / found.right == pytest.approx(np.sqrt(last / (last + 1)) / 0.25)
    right = replace(METRIC, models=lambda rng: iter([schedule(False, damping=0.25, decay=0.25)]))
    assert right.counterexample() is None
    model = schedule(False, damping=0.25, decay=0.25)
    assert all(model.holds(each.formula) for each in METRIC.assumptions)


def test_z3_knows_where_the_early_phase_breaks() -> None:
    """At t = s, between two steps in which D is 1 and then the damping."""
    before, after = Variable("before", positive=True), Variable("after", positive=True)
    right = Implies(And(Eq(before, 1), Ge(after, eps), alpha <= eps), alpha * before <= after)
    # With floor(t/s) the factor alpha was spent at t = s, when D was still 1.
    early = Implies(And(Eq(before, 1), Ge(after, eps), alpha <= eps), before <= after)
    assert not failing(theorem(right, {}, [inequality("ratio", right)]))
    message = failing(theorem(early, {}, [inequality("ratio", early)]))["ratio"]
    assert "counter-model" in message
    assert re.search(r"before = 1\b", message)


# --- Jensen's inequality under dependence

JENSEN = Le(E(Abs(mean)), E(Abs(mean + noise)))
MEAN_ZERO = {"zero": Eq(E(noise), 0)}
FRESH = {"fresh": Conditional(mean + noise, mean, mean)}


def quadratic(step: float, *, frozen: bool = False) -> Model:
    """Two steps of SGD on w^2/2 from 0: mean and noise of the averaged gradient."""
    first, second = np.array(list(product((-1.0, 1.0), repeat=2))).T
    w = np.zeros(4)
    gradients = [w, w if frozen else w - step * (w + first)]
    return Model(
        {"bite_m": sum(gradients) / 2, "bite_n": (first + second) / 2},
        note=f"step size {step}",
    )


def jensen(assumptions: dict, *premises: str) -> Theorem:
    y = Variable("y")
    step = expectation("jensen", JENSEN, *premises, by=Jensen(Lambda(y, Abs(y)), mean + noise))
    models = (quadratic(2.0), quadratic(1.0), quadratic(1.0, frozen=True), quadratic(3.0))
    return theorem(JENSEN, assumptions, [step], lambda rng: iter(models))


def test_jensen_with_a_noise_of_mean_zero_is_refused() -> None:
    assert "jensen" in failing(jensen(MEAN_ZERO, "zero"))


def test_jensen_given_the_mean_is_accepted() -> None:
    assert not failing(jensen(FRESH, "fresh"))
    assert jensen(FRESH, "fresh").counterexample() is None


def test_jensen_fails_on_two_steps_of_sgd() -> None:
    """The noise of the first step moves the gradient of the second: they are dependent."""
    found = jensen(MEAN_ZERO, "zero").counterexample()
    assert found is not None
    assert found.left == pytest.approx(1.0)
    assert found.right == pytest.approx(0.5)
    assert found.model is not None
    assert "step size 2" in repr(found.model)
    # Frozen while gradients are collected, the noise is fresh.
    assert quadratic(2.0, frozen=True).holds(FRESH["fresh"])
    assert not quadratic(2.0).holds(FRESH["fresh"])


# --- a metric that grows on average only

GROWTH = Le(E(x(t, j) * (A(t + 1, j) - A(t, j))), R**2 * E(A(t + 1, j) - A(t, j)))
SMALL = {"small": Le(x(t, j), R**2)}
ON_AVERAGE = {**SMALL, "grows": Le(E(A(t, j)), E(A(t + 1, j)))}
SURELY = {**SMALL, "grows": Le(A(t, j), A(t + 1, j))}


def grown(rng: np.random.Generator) -> Iterator[Model]:
    """A moves by +1 or -1; the distance is 1 where it grows and 0 where it falls; then others."""
    for change, distance in (
        ([1.0, 0.0], [1.0, 0.0]),
        ([1.0, -1.0], [0.0, 1.0]),
        ([1.0, -1.0], [1.0, 0.0]),
    ):
        moved = np.array([[[0.0, 0.0]], [change]]) + 1
        yield Model({R: 1.0}, {"bite_A": moved, "bite_x": np.array([[distance]])})


def growth(assumptions: dict) -> Theorem:
    steps: list[Step] = [
        inequality(
            "pointwise",
            Le(x(t, j) * (A(t + 1, j) - A(t, j)), R**2 * (A(t + 1, j) - A(t, j))),
            "small",
            "grows",
        ),
        expectation("lifted", GROWTH, "pointwise", by=Linearity(over=(E,))),
    ]
    return theorem(GROWTH, assumptions, steps, grown)


def test_growth_on_average_is_not_enough() -> None:
    message = failing(growth(ON_AVERAGE))["pointwise"]
    assert "counter-model" in message
    found = growth(ON_AVERAGE).counterexample()
    assert found is not None
    assert (found.left, found.right) == (0.5, 0.0)


def test_sure_growth_is() -> None:
    assert not failing(growth(SURELY))
    assert growth(SURELY).counterexample() is None


def test_without_the_cap_the_metric_falls() -> None:
    """v above M in one run of two: alpha D exceeds 1 there, although the mean of v is M."""
    capless = METRIC.without_assumption("cap")
    uncapped = replace(
        without_step(capless, "ceiling"),
        assumptions=(*capless.assumptions, Assumption("mean", Le(E(v(1, j)), M), "E v <= M")),
        models=lambda rng: iter([rising(rng)]),
    )
    assert "counter-model" in failing(uncapped)["ratio"]
    found = uncapped.counterexample()
    assert found is not None
    assert found.at["t"] == 2 * DELAY
    assert METRIC.replay().ok


def rising(rng: np.random.Generator) -> Model:
    """An uncapped run: v is 0 or 32 with mean 16 = M, decay 1/(sqrt(M) + damping)."""
    damping, cap = 0.25, 16.0
    decay = 1 / (np.sqrt(cap) + damping)
    steps = np.arange(1, PHASES * DELAY + 1)
    phase = (steps - 1) // DELAY
    moments = np.broadcast_to(np.array([0.0, 2 * cap]), (PHASES + 1, 1, 2))
    adaptive = np.sqrt(moments[phase]) + damping
    metric = np.where((phase % 2 == 0)[:, None, None], 1.0, adaptive)
    return Model(
        {s: DELAY, eta: 1.0, alpha: decay, eps: damping, M: cap, T: len(steps), d: 1},
        {"D": metric, "a": decay**phase / np.sqrt(steps), "v": moments},
    )


def test_z3_finds_a_cap_that_is_exceeded() -> None:
    """Leaving an adaptive phase with D above 1/alpha: sat, at alpha = 1/2 and D = 3."""
    p, q = Variable("p", positive=True), Variable("q", positive=True)
    D_ = Variable("D_", positive=True)
    claim = Implies(And(p <= q, Ge(D_, eps), alpha <= eps), alpha * D_ * p <= q)
    assert "counter-model" in failing(theorem(claim, {}, [inequality("A2", claim)]))["A2"]
    witness = {alpha: Rational(1, 2), eps: Rational(1, 2), D_: 3, p: 1, q: Rational(5, 4)}
    assert claim.subs(witness) == False  # noqa: E712  SymPy's false
    capped = Implies(And(p <= q, alpha * D_ <= 1), alpha * D_ * p <= q)
    assert not failing(theorem(capped, {}, [inequality("A2", capped)]))
