"""Two runs of a phase that differ in one draw of the noise, and what that says of E[w N].

The second run has the noise of step i drawn anew in coordinate j. Gradient steps on a convex
smooth loss bring two iterates no further apart, so all later iterates of the two runs differ by at
most the step size times the difference of the two draws.
"""

from __future__ import annotations

from sympy import And, Eq, Implies, Le, Sum

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import L, N, Nc, ell, eta, g, gc, nu1, s, w, wc
from bounds.operators import E, Independent
from bounds.proof.methods import Linearity, ZeroMean
from bounds.proof.step import Induction, Step, at, expectation, identity, inequality
from bounds.symbols import d, i, j, k, t

_L = (ell, 1, d)

UPDATE = Assumption(
    "update",
    Eq(w(t + 1, j), w(t, j) - eta * (g(t, j) + N(t, j))),
    "DP-SGD steps 1 to s of a phase, with a constant step size and without projection",
    CODE,
)
COPY = Assumption(
    "copy",
    Eq(wc(i, j, k + 1, ell), wc(i, j, k, ell) - eta * (gc(i, j, k, ell) + N(i + k, ell))),
    "the second run goes on with the same batches and the same noise",
    CODE,
)
REDRAWN = Assumption(
    "redrawn",
    Eq(
        Sum((wc(i, j, 1, ell) - w(i + 1, ell)) ** 2, _L),
        eta**2 * (Nc(i, j) - N(i, j)) ** 2,
    ),
    "the two runs are one up to step i, and there differ in coordinate j of the noise",
    CODE,
)
SAME_LAW = Assumption(
    "same_law",
    Eq(E(wc(i, j, k, j) * Nc(i, j)), E(w(i + k, j) * N(i, j))),
    "the second run and its noise have the law of the first",
    CODE,
)
SECOND_DRAW = Assumption(
    "second_draw",
    Independent(Nc(i, j), w(t, ell), N(t, ell)),
    "the second draw is independent of the first run",
    CODE,
)
FIRST_DRAW = Assumption(
    "first_draw",
    Independent(N(i, j), wc(i, j, k, ell)),
    "the second run does not use the noise that was replaced",
    CODE,
)
SECOND_MEAN = Assumption("second_mean", Eq(E(Nc(i, j)), 0), "it has mean 0", CODE)
SECOND_VARIANCE = Assumption(
    "second_variance", Eq(E(Nc(i, j) ** 2), nu1**2), "it has the same variance", CODE
)
FRESH_START = Assumption(
    "fresh_start",
    Independent(N(t, j), w(1, j)),
    "the noise is independent of the iterate that the phase starts from",
    CODE,
)
CONVEX = Assumption(
    "convex",
    Le(
        Sum((gc(i, j, k, ell) - g(i + k, ell)) ** 2, _L),
        L * Sum((gc(i, j, k, ell) - g(i + k, ell)) * (wc(i, j, k, ell) - w(i + k, ell)), _L),
    ),
    "the loss of every batch is convex and L-smooth on the whole space: its gradient is "
    "co-coercive",
)
STEP_SIZE = Assumption("step_size", Le(eta * L, 2), "the step size is at most 2/L", CODE)

#: What is assumed of two runs that differ in the noise of one step.
ASSUMPTIONS = (
    UPDATE,
    COPY,
    REDRAWN,
    SAME_LAW,
    SECOND_DRAW,
    FIRST_DRAW,
    SECOND_MEAN,
    SECOND_VARIANCE,
    FRESH_START,
    CONVEX,
    STEP_SIZE,
)

_APART = (wc(i, j, k, ell) - w(i + k, ell)) ** 2
_GAP = Sum(_APART, _L)
_NEXT = Sum((wc(i, j, k + 1, ell) - w(i + k + 1, ell)) ** 2, _L)
_TURN = (gc(i, j, k, ell) - g(i + k, ell)) ** 2
_NOISE = N(i, j) - Nc(i, j)
_COORDINATE = w(i + k, j) - wc(i, j, k, j)

#: The two runs stay together.
NEAR: tuple[Step, ...] = (
    identity(
        "square",
        Eq(
            _NEXT,
            _GAP
            - 2
            * eta
            * Sum((gc(i, j, k, ell) - g(i + k, ell)) * (wc(i, j, k, ell) - w(i + k, ell)), _L)
            + eta**2 * Sum(_TURN, _L),
        ),
        "copy",
        at("update", {t: i + k, j: ell}),
    ),
    inequality("turn", Le(0, _TURN, evaluate=False)),
    expectation("turns", Le(0, Sum(_TURN, _L), evaluate=False), "turn", by=Linearity(over=(_L,))),
    inequality("contraction", Le(_NEXT, _GAP), "square", "convex", "step_size", "turns"),
    inequality(
        "near", Le(_GAP, eta**2 * _NOISE**2), "redrawn", "contraction", induction=Induction(k)
    ),
    inequality("distance", Le(0, _APART, evaluate=False)),
    expectation(
        "distances",
        Le(0, Sum(_APART, (ell, 1, t - 1)), evaluate=False),
        "distance",
        by=Linearity(over=((ell, 1, t - 1),)),
    ),
    inequality(
        "one_of",
        Implies(Le(j, t), Le(_COORDINATE**2, Sum(_APART, (ell, 1, t)))),
        "distances",
        induction=Induction(t),
        note="one square is at most the sum of all",
    ),
    inequality(
        "coupled",
        Implies(Le(j, d), Le(-eta * _NOISE**2, _COORDINATE * _NOISE)),
        "near",
        at("one_of", {t: d}),
    ),
)

#: In the mean: what an iterate has of an earlier noise.
INFLUENCE: tuple[Step, ...] = (
    expectation(
        "differences",
        Implies(Le(j, d), Le(-eta * E(_NOISE**2), E(_COORDINATE * _NOISE))),
        "coupled",
        by=Linearity(over=(E,)),
    ),
    expectation(
        "two_draws",
        Eq(E(_NOISE**2), 2 * nu1**2),
        "second_draw",
        "second_mean",
        "second_variance",
        at("variance", {t: i}),
        by=ZeroMean(),
    ),
    expectation(
        "not_yet",
        Eq(E(w(i + k, j) * Nc(i, j)), 0),
        "second_draw",
        "second_mean",
        by=ZeroMean(),
        note="the first run has nothing of the second draw",
    ),
    expectation(
        "no_more",
        Eq(E(wc(i, j, k, j) * N(i, j)), 0),
        "first_draw",
        at("mean", {t: i}),
        by=ZeroMean(),
        note="the second run has nothing of the first draw",
    ),
    inequality(
        "influence",
        Implies(Le(j, d), Le(-eta * nu1**2, E(w(i + k, j) * N(i, j)))),
        "differences",
        "two_draws",
        "not_yet",
        "no_more",
        "same_law",
    ),
    inequality(
        "last",
        Implies(And(Le(i, s), Le(j, d)), Le(-eta * nu1**2, E(w(s + 1, j) * N(i, j)))),
        at("influence", {k: s + 1 - i}),
    ),
    expectation(
        "all_steps",
        Implies(
            Le(j, d),
            Le(Sum(-eta * nu1**2, (i, 1, s)), Sum(E(w(s + 1, j) * N(i, j)), (i, 1, s))),
        ),
        "last",
        by=Linearity(over=((i, 1, s),)),
    ),
)
