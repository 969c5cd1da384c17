"""Steps of the proof of the linear bound on h(s): how far the gradient drifts in a phase."""

from __future__ import annotations

from typing import Any

from sympy import Abs, Eq, Implies, Le, Sum

from bounds.dp2.delay_setting import ADAPTIVE, COORDINATES, D1, D2, FIRST, SGD, away, drift
from bounds.dp2.symbols import D, L, N, a, clip, g, grad, nu, s, w
from bounds.operators import E
from bounds.proof.methods import CauchySchwarz, Linearity, ZeroMean
from bounds.proof.step import Induction, Step, at, expectation, inequality
from bounds.symbols import d, i, j, t

_CHANGE = grad(t + 1, j) - grad(t, j)
_MOVE = w(t + 1, j) - w(t, j)
_USED = g(t, j) / D(t, j) + N(t, j)

#: One step.
ONE_STEP: tuple[Step, ...] = (
    inequality("move", Le(_MOVE**2, a(t) ** 2 * _USED**2), "moved"),
    expectation(
        "moves",
        Le(Sum(E(_MOVE**2), COORDINATES), a(t) ** 2 * Sum(E(_USED**2), COORDINATES)),
        "move",
        by=Linearity(over=(COORDINATES, E)),
    ),
    expectation(
        "used",
        Eq(E(_USED**2), E((g(t, j) / D(t, j)) ** 2) + nu(t) ** 2),
        "fresh",
        "mean",
        "variance",
        by=ZeroMean(),
        note="gradient and noise are uncorrelated",
    ),
    expectation(
        "used_norm",
        Eq(
            Sum(E(_USED**2), COORDINATES),
            Sum(E((g(t, j) / D(t, j)) ** 2), COORDINATES) + d * nu(t) ** 2,
        ),
        "used",
        by=Linearity(over=(COORDINATES,)),
    ),
    expectation(
        "lipschitz",
        Le(Sum(E(_CHANGE**2), COORDINATES), L**2 * Sum(E(_MOVE**2), COORDINATES)),
        "smooth",
        by=Linearity(over=(E,)),
    ),
    expectation(
        "norms",
        Le(Sum(E(Abs(_CHANGE)), COORDINATES) ** 2, d * Sum(E(_CHANGE**2), COORDINATES)),
        by=CauchySchwarz(Abs(_CHANGE), 1, over=(COORDINATES, E)),
    ),
    inequality(
        "squares",
        Le(Sum(E(_CHANGE**2), COORDINATES), L**2 * a(t) ** 2 * (clip(t) ** 2 + d * nu(t) ** 2)),
        "lipschitz",
        "moves",
        "used_norm",
        "clipped",
    ),
    inequality(
        "step",
        Le(Sum(E(Abs(_CHANGE)), COORDINATES), drift(a(t), clip(t), nu(t))),
        "norms",
        "squares",
    ),
    inequality(
        "sgd_drift",
        Implies(Le(i, s), Le(drift(a(SGD), clip(SGD), nu(SGD)), D1)),
        "sgd_steps",
    ),
    inequality(
        "adaptive_drift",
        Implies(Le(i, s), Le(drift(a(ADAPTIVE), clip(ADAPTIVE), nu(ADAPTIVE)), D2)),
        "adaptive_steps",
    ),
)


def _triangle(id: str, step: Any) -> tuple[Step, Step]:
    one = Abs(grad(step + 1, j) - grad(step, j))
    return (
        inequality(
            f"{id}_coordinate",
            Le(
                Abs(grad(step + 1, j) - grad(FIRST, j)),
                Abs(grad(step, j) - grad(FIRST, j)) + one,
            ),
        ),
        expectation(
            f"{id}_triangle",
            Le(away(step + 1), away(step) + Sum(E(one), COORDINATES)),
            f"{id}_coordinate",
            by=Linearity(over=(COORDINATES, E)),
        ),
    )


#: From the start of the phase to any step of it, and on into the adaptive phase.
DRIFT: tuple[Step, ...] = (
    *_triangle("sgd", SGD),
    inequality(
        "collected",
        Implies(Le(i, s + 1), Le(away(SGD), (i - 1) * D1)),
        "sgd_triangle",
        at("step", {t: SGD}),
        "sgd_drift",
        induction=Induction(i),
    ),
    *_triangle("adaptive", ADAPTIVE),
    inequality(
        "stale",
        Implies(Le(i, s), Le(away(ADAPTIVE), s * D1 + (i - 1) * D2)),
        "adaptive_triangle",
        at("step", {t: ADAPTIVE}),
        "adaptive_drift",
        at("collected", {i: s + 1}),
        induction=Induction(i),
    ),
)
