"""The setting of the convex theorems: update rule, assumptions, and what is put together of them.

Steps t count from 1. D is any positive random diagonal, N the noise of a step, B = omega D/a the
metric in which a step is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import And, Or, Sum

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.relations import Eq, Le
from bounds.dp2.symbols import D, N, Rj, a, g, gap, grad, lower, mode, nu, omega, w, wstar
from bounds.operators import Conditional, E, Independent, Max, Min
from bounds.symbols import T, d, i, j, t

#: All steps, as limits of a sum.
OVER_T = (t, 1, T)
#: All coordinates, as limits of a sum.
OVER_J = (j, 1, d)
#: From a step and a coordinate to an expression.
Field = Callable[[Any, Any], Any]


def metric(step: Any, coordinate: Any) -> Any:
    """B(t, j) = omega(t) D(t, j)/a(t)."""
    return omega(step) * D(step, coordinate) / a(step)


def growth(B: Field, coordinate: Any = j) -> Any:
    """E of B(1) and of all increases of B up to step T, in one coordinate."""
    increases = Sum(E(Max(B(t + 1, coordinate) - B(t, coordinate), 0)), (t, 1, T - 1))
    return E(B(1, coordinate)) + increases


def decline(B: Field, coordinate: Any = j) -> Any:
    """E of B(T) and of all decreases of B up to step T: equal to `growth`."""
    decreases = Sum(E(Max(B(t, coordinate) - B(t + 1, coordinate), 0)), (t, 1, T - 1))
    return E(B(T, coordinate)) + decreases


def right_side(variation: Any, moment: Any) -> Any:
    """Half the squared sides times the variation, plus half the second moments of the steps."""
    return (
        Sum(Rj(j) ** 2 * variation, OVER_J) / 2
        + Sum(omega(t) * a(t) * Sum(moment, OVER_J), OVER_T) / 2
    )


def noise_after(step: Any, coordinate: Any) -> Any:
    """Noise that is added after the preconditioner."""
    return N(step, coordinate)


def noise_mixed(step: Any, coordinate: Any) -> Any:
    """Noise after the preconditioner in adaptive steps, before it in the others."""
    return (mode(step) + (1 - mode(step)) / D(step, coordinate)) * N(step, coordinate)


#: Second moment of what step t adds to coordinate j, noise after the preconditioner.
MOMENT = E(g(t, j) ** 2 / D(t, j)) + nu(t) ** 2 * E(D(t, j))
#: The same where steps that are not adaptive add the noise before it.
MOMENT_MIXED = E(g(t, j) ** 2 / D(t, j)) + nu(t) ** 2 * (
    mode(t) * E(D(t, j)) + (1 - mode(t)) * E(1 / D(t, j))
)

INSIDE = Assumption(
    "inside",
    And(Le(lower(j), w(t, j)), Le(w(t, j), lower(j) + Rj(j))),
    "every iterate lies in the box (the first is put there, the others are clipped)",
    CODE,
)
OPTIMUM = Assumption(
    "optimum",
    And(Le(lower(j), wstar(j)), Le(wstar(j), lower(j) + Rj(j))),
    "the minimiser lies in the box",
    CODE,
)
CONVEX = Assumption(
    "convex",
    Le(gap(t), Sum(grad(t, j) * (w(t, j) - wstar(j)), OVER_J)),
    "F is convex: F(w_t) - F* is at most <G_t, w_t - w*> for the subgradient G_t at w_t",
    CALLER,
)
UNBIASED = Assumption(
    "unbiased",
    Conditional(g(t, j), grad(t, j), w(t, i)),
    "the batch is drawn afresh and nothing is clipped away: the mean of g_t given w_t is a "
    "subgradient at w_t",
    CALLER,
)
FRESH = Assumption(
    "fresh",
    Independent(N(t, j), w(t, i), D(t, i), g(t, i)),
    "the noise of a step is drawn independently of the iterate, the preconditioner and the batch",
    CODE,
)
MEAN = Assumption("mean", Eq(E(N(t, j)), 0), "the noise has mean zero", CODE)
VARIANCE = Assumption(
    "variance",
    Eq(E(N(t, j) ** 2), nu(t) ** 2),
    "the noise of step t has standard deviation nu_t in every coordinate",
    CODE,
)
MODES = Assumption(
    "modes",
    Or(Eq(mode(t), 0), Eq(mode(t), 1)),
    "every step is either adaptive (1) or not (0)",
    CODE,
)


def update(noise: Field) -> Assumption:
    """The update rule: a step along g/D + noise, clipped to the box."""
    moved = w(t, j) - a(t) * (g(t, j) / D(t, j) + noise(t, j))
    return Assumption(
        "update",
        Eq(w(t + 1, j), Min(Max(moved, lower(j)), lower(j) + Rj(j))),
        "w_{t+1} is w_t - a_t (g_t/D_t + noise), clipped to the box in every coordinate",
        CODE,
    )


#: What is assumed of every run.
ASSUMPTIONS = (INSIDE, OPTIMUM, update(noise_after), CONVEX, UNBIASED, FRESH, MEAN, VARIANCE)
#: The same where the noise of some steps is added before the preconditioner.
ASSUMPTIONS_MIXED = (
    INSIDE,
    OPTIMUM,
    update(noise_mixed),
    CONVEX,
    UNBIASED,
    FRESH,
    MEAN,
    VARIANCE,
    MODES,
)

#: Weighted sum of the mean optimality gaps.
LEFT = Sum(omega(t) * E(gap(t)), OVER_T)
