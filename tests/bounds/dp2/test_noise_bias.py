"""The bias of the squared average: proofs, the sign of E[m n], and where it fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
import z3
from sympy import Abs, Eq, Le

from bounds.assumptions import Assumption
from bounds.counterexample import satisfying
from bounds.dp2.noise import AVERAGE
from bounds.dp2.noise_bias import BIAS, DEPENDENT, INDEPENDENT
from bounds.dp2.noise_models import outcomes, phase, run
from bounds.dp2.symbols import X, mbar, nbar
from bounds.evaluate import evaluate
from bounds.operators import Conditional, E
from bounds.proof.methods import Jensen
from bounds.proof.replay import replay
from bounds.proof.step import expectation
from bounds.symbols import j, k
from bounds.theorem import Kind, Source, Theorem

Array = np.ndarray[Any, np.dtype[np.float64]]
ALL = {each.id: each for each in (AVERAGE, BIAS, INDEPENDENT, DEPENDENT)}


@pytest.mark.parametrize("theorem", [BIAS, INDEPENDENT, DEPENDENT], ids=lambda each: each.id)
def test_proof_replays(theorem: Theorem) -> None:
    report = replay(theorem, theorems=ALL)
    assert report.ok, report.describe()
    assert report.unused_assumptions == report.unused_steps == report.assumed == ()
    assert satisfying(theorem) is not None
    assert theorem.counterexample(tries=25) is None


@pytest.mark.parametrize(
    "id",
    ["convex", "step_size", "update", "copy", "redrawn", "same_law", "second_draw", "first_draw",
     "second_mean", "second_variance", "fresh_start", "fresh", "variance"],
)  # fmt: skip
def test_every_assumption_counts(id: str) -> None:
    assert not replay(BIAS.without_assumption(id), theorems=ALL).ok


@pytest.mark.parametrize("id", ["convex", "step_size"])
def test_false_without_convexity_and_for_long_steps(id: str) -> None:
    """A concave loss, and a step of 4/L: noise and gradients pull together."""
    found = BIAS.without_assumption(id).counterexample(tries=40)
    assert found is not None


def test_bias_relative_to_the_gradient() -> None:
    given: dict[str, Any] = {"noise_multiplier": 1, "clip_norm": 1, "batch_size": 256, "delay": 100}
    relative = evaluate(BIAS.evaluations["relative"], dimension=10**6, gradient_bound=1, **given)
    assert relative == pytest.approx(0.15, abs=0.005)
    assert evaluate(BIAS.evaluations["bound"], **given) == pytest.approx(1 / (100 * 256**2))


def quadratic_covariance(eigenvalue: float, steps: int, std: float, step_size: float) -> float:
    """E[m n] of one eigendirection: -(a nu^2/s^2) lam sum_i (1 - x^i)/(1 - x), x = 1 - a lam."""
    x = 1 - step_size * eigenvalue
    total = sum((steps - 1 - power) * x**power for power in range(steps - 1))
    return -step_size * std**2 / steps**2 * eigenvalue * total


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
@pytest.mark.parametrize("eigenvalue", [0.1, 1.0, 1.9])
def test_quadratics_against_their_formula(steps: int, eigenvalue: float) -> None:
    noise = 0.8 * outcomes(steps)[:, None]
    _, gradients = run(lambda w: eigenvalue * w, np.ones((1, 1)), noise, 1.0)
    product = gradients.mean(axis=0) * noise.mean(axis=0)
    assert product.mean() == pytest.approx(
        quadratic_covariance(eigenvalue, steps, 0.8, 1.0), abs=1e-14
    )


@pytest.mark.parametrize("steps", range(2, 9))
def test_the_sum_of_the_quadratic_is_not_negative(steps: int) -> None:
    """S = sum_{k <= s-2} (s - 1 - k) x^k >= 0 on [-1, 1], by z3."""
    x = z3.Real("x")
    total = sum((steps - 1 - power) * x**power for power in range(1, steps - 1)) + (steps - 1)
    solver = z3.Solver()
    solver.add(x >= -1, x <= 1, total < 0)
    assert solver.check() == z3.unsat


SLOPES = np.array([[-0.944, 0.069], [1.389, -0.425], [-0.264, -1.182], [-0.981, -0.433],
                   [-0.332, 0.212]])  # fmt: skip
OFFSETS = np.array([0.014, -0.024, -0.015, 0.003, 0.062])


def steepest(iterate: Array) -> Array:
    """A subgradient of max_k (<A_k, w> + b_k), for iterates of shape (2, runs)."""
    return np.asarray(SLOPES[(SLOPES @ iterate + OFFSETS[:, None]).argmax(axis=0)].T)


def test_false_for_a_loss_that_is_not_smooth() -> None:
    """Five affine functions in the plane: E[m_1 n_1] is positive, 180 standard errors from 0."""
    rng = np.random.default_rng(0)
    steps, step_size, std, runs = 7, 0.3699, 0.0712, 200_000
    noise = std * rng.normal(size=(steps, 2, runs))
    _, gradients = run(steepest, np.array([[-0.0367], [0.2725]]), noise, step_size)
    m, n = gradients.mean(axis=0)[0], noise.mean(axis=0)[0]
    product, released = m * n, (m + n) ** 2
    error = product.std() / np.sqrt(runs)
    assert product.mean() > 100 * error
    assert product.mean() == pytest.approx(4.78e-4, abs=5e-6 + 3 * error)
    assert released.mean() == pytest.approx(0.00291, abs=2e-5)
    assert (m**2).mean() + std**2 / steps == pytest.approx(0.00196, abs=2e-5)
    # what holds for any loss
    assert released.mean() <= (np.sqrt((m**2).mean()) + std / np.sqrt(steps)) ** 2


def test_a_kink_breaks_the_assumption_on_the_loss_and_no_other() -> None:
    """|w| is convex, and its gradient is not co-coercive."""
    model = phase(
        lambda w: np.asarray(np.sign(w)),
        np.array([[0.05]]),
        steps=3,
        std=0.25,
        step_size=0.5,
        smoothness=4.0,
    )
    failing = [each.id for each in BIAS.assumptions if not model.holds(each.formula)]
    assert failing == ["convex"]


JENSEN = Theorem(
    id="dp2.false.jensen",
    title="The mean of |m + n| is at least that of |m|",
    statement=Le(E(Abs(mbar(k, j))), E(Abs(X(k, j)))),
    kind=Kind.LOWER,
    source=Source("li2023dp2", "h(s)"),
    assumptions=INDEPENDENT.assumptions,
    models=INDEPENDENT.models,
)


def _jensen(*premises: str) -> Any:
    y = sympy.Symbol("y", real=True)
    return expectation(
        "jensen",
        JENSEN.statement,
        *premises,
        by=Jensen(sympy.Lambda(y, sympy.Abs(y)), X(k, j)),
    )


def test_jensen_under_dependence_is_refused_and_false() -> None:
    """With E n = 0 alone: m = -2 n has E|m + n| = E|n| < E|m|."""
    claim = replace(JENSEN, steps=(_jensen("averaged", "zero_mean"),)).without_assumption("frozen")
    assert not claim.replay().ok
    assert claim.counterexample() is not None


def test_jensen_given_the_gradients_is_accepted() -> None:
    """If X has conditional mean m given m, the step holds, and no counterexample is found."""
    conditional = Assumption(
        "conditional", Conditional(X(k, j), mbar(k, j), mbar(k, j)), "E[X | m] = m"
    )
    claim = replace(
        JENSEN, assumptions=(*JENSEN.assumptions, conditional), steps=(_jensen("conditional"),)
    )
    assert claim.replay().ok
    assert claim.counterexample() is None


def test_jensen_fails_in_a_phase_of_dp_sgd() -> None:
    """Two steps of size 2/L on a parabola: the average is smaller than its gradient part."""
    noise = outcomes(2)[:, None]
    _, gradients = run(lambda w: w, np.zeros((1, 1)), noise, 2.0)
    m, n = gradients.mean(axis=0), noise.mean(axis=0)
    assert np.abs(m + n).mean() < np.abs(m).mean()


def test_half_the_bias_is_refuted() -> None:
    half = INDEPENDENT.with_claim(Eq(E(X(k, j) ** 2), E(mbar(k, j) ** 2) + E(nbar(k, j) ** 2) / 2))
    assert not half.replay().ok
    assert half.counterexample() is not None
