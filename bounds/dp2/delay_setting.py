"""What the linear bound on h(s) assumes: a smooth loss, bounded steps, unbiased gradients."""

from __future__ import annotations

from typing import Any

from sympy import Abs, And, Eq, Expr, Implies, Le, Sum, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.delay import adaptive
from bounds.dp2.symbols import (
    C2,
    C,
    D,
    L,
    N,
    X,
    a,
    a1,
    a2,
    clip,
    g,
    grad,
    nu,
    nu1,
    nu2,
    s,
    tau_g,
    w,
)
from bounds.operators import Conditional, E, Independent
from bounds.symbols import b, d, i, j, k, t

#: All coordinates, as limits of a sum.
COORDINATES = (j, 1, d)


def collecting(update: Any, step: Any) -> Expr:
    """The step number of step `step` of the DP-SGD phase before update `update`."""
    return 2 * (update - 1) * s + step


FIRST = collecting(k, 1)  #: the step at which the phase starts
#: Step numbers of step i of the two phases around update k.
SGD, ADAPTIVE = collecting(k, i), adaptive(k, i)

SMOOTH = Assumption(
    "smooth",
    Le(
        Sum((grad(t + 1, j) - grad(t, j)) ** 2, COORDINATES),
        L**2 * Sum((w(t + 1, j) - w(t, j)) ** 2, COORDINATES),
    ),
    "the gradient of F is L-Lipschitz",
)
MOVED = Assumption(
    "moved",
    Le(Abs(w(t + 1, j) - w(t, j)), a(t) * Abs(g(t, j) / D(t, j) + N(t, j))),
    "a step moves a coordinate by at most a_t |g/D + N|: by just that, or less when the iterate "
    "is clipped to a box that it was in",
    CODE,
)
CLIPPED = Assumption(
    "clipped",
    Le(Sum(E((g(t, j) / D(t, j)) ** 2), COORDINATES), clip(t) ** 2),
    "the norm of g_t/D_t has mean square at most c_t^2, as clipping to c_t makes it",
    CODE,
)
FRESH = Assumption(
    "fresh",
    Independent(N(t, j), g(t, j), D(t, j)),
    "the noise of a step is independent of its gradient and of the preconditioner",
    CODE,
)
MEAN = Assumption("mean", Eq(E(N(t, j)), 0), "the noise has mean 0", CODE)
VARIANCE = Assumption(
    "variance", Eq(E(N(t, j) ** 2), nu(t) ** 2), "the noise of step t has std nu_t", CODE
)
SGD_STEPS = Assumption(
    "sgd_steps",
    Implies(Le(i, s), And(Le(a(SGD), a1), Le(clip(SGD), C), Le(nu(SGD), nu1))),
    "in DP-SGD phases: steps at most a1, gradients at most C, noise std at most nu1",
    CODE,
)
ADAPTIVE_STEPS = Assumption(
    "adaptive_steps",
    Implies(Le(i, s), And(Le(a(ADAPTIVE), a2), Le(clip(ADAPTIVE), C2), Le(nu(ADAPTIVE), nu2))),
    "in adaptive phases: steps at most a2, preconditioned gradients at most C2, noise std at most "
    "nu2",
    CODE,
)
AVERAGE = Assumption(
    "average",
    Eq(X(k, j), Sum(g(SGD, j) + N(SGD, j), (i, 1, s)) / s),
    "an update averages the noisy gradients of its phase",
    CODE,
)
#: Step i of a phase that starts at step t.
LATER = t + i - 1
UNBIASED = Assumption(
    "unbiased",
    Conditional(g(LATER, j), grad(LATER, j), grad(LATER, j), grad(t, j)),
    "given the past, g_t has mean grad F(w_t); the past has the gradients at w_t and before",
)
FUTURE = Assumption(
    "future",
    Independent(N(LATER, j), grad(t, j)),
    "the noise of a step is independent of the gradients at its iterate and before",
    CODE,
)
SAMPLING = Assumption(
    "sampling",
    Le(Sum(E((g(t, j) - grad(t, j)) ** 2), COORDINATES), tau_g**2 / b),
    "a batch of b records has mean square deviation tau_g^2/b from grad F",
)

#: Assumptions of the bound, in reading order.
ASSUMPTIONS = (
    SMOOTH,
    MOVED,
    CLIPPED,
    FRESH,
    MEAN,
    VARIANCE,
    SGD_STEPS,
    ADAPTIVE_STEPS,
    AVERAGE,
    UNBIASED,
    FUTURE,
    SAMPLING,
)


def drift(step_size: Any, size: Any, std: Any) -> Expr:
    """How far the gradient moves in a step at most, in the mean of the l1 norm."""
    return L * sqrt(d) * step_size * sqrt(size**2 + d * std**2)


#: Bounds on how far the gradient drifts in one step, DP-SGD and adaptive.
D1, D2 = drift(a1, C, nu1), drift(a2, C2, nu2)


def away(step: Any) -> Expr:
    """How far the gradient of a step is from the one at the start of the DP-SGD phase."""
    return Sum(E(Abs(grad(step, j) - grad(FIRST, j))), COORDINATES)
