"""Steps of the proof of the linear bound on h(s): the ratio, from below and from above."""

from __future__ import annotations

from sympy import Abs, Eq, Implies, Le, Sum, sign, sqrt

from bounds.dp2.delay import averaged, numerator
from bounds.dp2.delay_setting import ADAPTIVE, COORDINATES, D1, D2, FIRST, LATER, SGD, away
from bounds.dp2.symbols import N, X, g, grad, s, tau_g
from bounds.operators import E
from bounds.proof.methods import CauchySchwarz, Linearity, Tower, ZeroMean
from bounds.proof.step import Step, at, expectation, identity, inequality
from bounds.symbols import b, d, i, j, k, t

_START, _NOW = grad(FIRST, j), grad(SGD, j)
_SIGN = sign(_START)
#: Sum over coordinates of E |gradient at the start of the phase|.
AT_START = Sum(E(Abs(_START)), COORDINATES)

#: Lemmas of the lower bound on the mean of the collected gradients.
BELOW: tuple[Step, ...] = (
    expectation(
        "unbiased_later",
        Eq(E(sign(grad(t, j)) * g(LATER, j)), E(sign(grad(t, j)) * grad(LATER, j))),
        "unbiased",
        by=Tower(),
        note="the sign of a gradient is known before the later ones are drawn",
    ),
    inequality("mean_later", Eq(E(N(LATER, j)), 0), at("mean", {t: LATER})),
    expectation(
        "noise_later",
        Eq(E(sign(grad(t, j)) * N(LATER, j)), 0),
        "future",
        "mean_later",
        by=ZeroMean(),
    ),
    inequality(
        "noisy_later",
        Eq(
            E(sign(grad(t, j)) * (g(LATER, j) + N(LATER, j))),
            E(sign(grad(t, j)) * grad(LATER, j)),
        ),
        "unbiased_later",
        "noise_later",
    ),
    expectation(
        "phase_sum",
        Eq(
            Sum(E(_SIGN * (g(SGD, j) + N(SGD, j))), (i, 1, s), COORDINATES),
            Sum(E(_SIGN * _NOW), (i, 1, s), COORDINATES),
        ),
        at("noisy_later", {t: FIRST}),
        by=Linearity(over=(COORDINATES, (i, 1, s))),
    ),
    identity(
        "average_coordinate",
        Eq(s * E(_SIGN * X(k, j)), Sum(E(_SIGN * (g(SGD, j) + N(SGD, j))), (i, 1, s))),
        "average",
    ),
    expectation(
        "average_sum",
        Eq(
            s * Sum(E(_SIGN * X(k, j)), COORDINATES),
            Sum(E(_SIGN * (g(SGD, j) + N(SGD, j))), (i, 1, s), COORDINATES),
        ),
        "average_coordinate",
        by=Linearity(over=(COORDINATES,)),
    ),
    inequality("sign", Le(_SIGN * X(k, j), Abs(X(k, j)))),
    expectation(
        "signs",
        Le(Sum(E(_SIGN * X(k, j)), COORDINATES), averaged(k)),
        "sign",
        by=Linearity(over=(COORDINATES, E)),
    ),
    inequality("kept", Le(Abs(_START) - Abs(_NOW - _START), _SIGN * _NOW)),
    expectation(
        "kept_sum",
        Le(
            s * AT_START - Sum(away(SGD), (i, 1, s)),
            Sum(E(_SIGN * _NOW), (i, 1, s), COORDINATES),
        ),
        "kept",
        by=Linearity(over=(COORDINATES, (i, 1, s), E)),
    ),
    expectation(
        "collected_sum",
        Le(Sum(away(SGD), (i, 1, s)), Sum((i - 1) * D1, (i, 1, s))),
        "collected",
        by=Linearity(over=((i, 1, s),)),
    ),
    identity(
        "staircase",
        Eq(Sum(i - 1, (i, 1, s)), s * (s - 1) / 2),
        evaluate=True,
    ),
    inequality(
        "denominator",
        Le(AT_START - (s - 1) * D1 / 2, averaged(k)),
        "signs",
        "average_sum",
        "phase_sum",
        "kept_sum",
        "collected_sum",
        "staircase",
    ),
)
_ERROR = g(t, j) - grad(t, j)
_LATE = g(ADAPTIVE, j)

#: Lemmas of the upper bound on it.
ABOVE: tuple[Step, ...] = (
    expectation(
        "error_norms",
        Le(Sum(E(Abs(_ERROR)), COORDINATES) ** 2, d * Sum(E(_ERROR**2), COORDINATES)),
        by=CauchySchwarz(Abs(_ERROR), 1, over=(COORDINATES, E)),
    ),
    inequality(
        "error",
        Le(Sum(E(Abs(_ERROR)), COORDINATES), tau_g * sqrt(d) / sqrt(b)),
        "error_norms",
        "sampling",
    ),
    inequality(
        "parts",
        Le(
            Abs(_LATE),
            Abs(_START) + Abs(grad(ADAPTIVE, j) - _START) + Abs(_LATE - grad(ADAPTIVE, j)),
        ),
    ),
    expectation(
        "parts_sum",
        Le(
            numerator(k, i),
            AT_START + away(ADAPTIVE) + Sum(E(Abs(_LATE - grad(ADAPTIVE, j))), COORDINATES),
        ),
        "parts",
        by=Linearity(over=(COORDINATES, E)),
    ),
    inequality(
        "numerator",
        Implies(
            Le(i, s),
            Le(numerator(k, i), AT_START + s * D1 + (s - 1) * D2 + tau_g * sqrt(d) / sqrt(b)),
        ),
        "parts_sum",
        "stale",
        at("error", {t: ADAPTIVE}),
    ),
)
