"""Taking the noise variance off a square and clamping at 0: what is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sympy import And, Eq, Expr, Gt, Lambda, Le, Lt, Piecewise, Rational, Sum, erfc, exp, pi, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.delay_folded import CURVE_MEANS, CURVE_STDS, EXACT, NORMAL, Z, normal_models
from bounds.dp2.symbols import X, beta, m, tau, v
from bounds.operators import E, Max, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, identity, inequality
from bounds.symbols import d, j, k
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model

_x = Variable("x")


def upper_part(x: Any) -> Expr:
    """E of ((x + Z)^2 - 1) where x + Z > 1."""
    tail = erfc((1 - x) / sqrt(2)) / 2
    density = exp(-((1 - x) ** 2) / 2) / sqrt(2 * pi)
    return x**2 * tail + (1 + x) * density


def clamped(mean: Any, std: Any) -> Expr:
    """E max((mean + std Z)^2 - std^2, 0)."""
    return std**2 * (upper_part(mean / std) + upper_part(-mean / std))


_c = Variable("c")
_EXCESS = (_x + Z) ** 2 - 1
_DENSITY = exp(-(_c**2) / 2) / sqrt(2 * pi)
_TAIL = erfc(_c / sqrt(2)) / 2


def _beyond(value: Any, cut: Any) -> Piecewise:
    return Piecewise((value, Gt(Z, cut)), (0, True))


_LEFT = E(Max((m(j) + tau * Z) ** 2 - tau**2, 0))
_STATEMENT = Eq(_LEFT, clamped(m(j), tau))
_SCALED = m(j) / tau

_STEPS = (
    identity("tail", Eq(E(_beyond(1, _c)), _TAIL), "normal", evaluate=True),
    identity("first", Eq(E(_beyond(Z, _c)), _DENSITY), "normal", evaluate=True),
    identity("second", Eq(E(_beyond(Z**2, _c)), _TAIL + _c * _DENSITY), "normal", evaluate=True),
    identity("square", Eq(E(_EXCESS), _x**2), "normal", evaluate=True),
    inequality(
        "powers",
        Eq(
            _beyond(_EXCESS, _c),
            (_x**2 - 1) * _beyond(1, _c) + 2 * _x * _beyond(Z, _c) + _beyond(Z**2, _c),
        ),
    ),
    expectation(
        "beyond",
        Eq(
            E(_beyond(_EXCESS, _c)),
            (_x**2 - 1) * E(_beyond(1, _c)) + 2 * _x * E(_beyond(Z, _c)) + E(_beyond(Z**2, _c)),
        ),
        "powers",
        by=Linearity(over=(E,)),
    ),
    inequality(
        "split", Eq(Max(_EXCESS, 0), _EXCESS + _beyond(_EXCESS, 1 - _x) - _beyond(_EXCESS, -1 - _x))
    ),
    expectation(
        "parts",
        Eq(
            E(Max(_EXCESS, 0)),
            E(_EXCESS) + E(_beyond(_EXCESS, 1 - _x)) - E(_beyond(_EXCESS, -1 - _x)),
        ),
        "split",
        by=Linearity(over=(E,)),
    ),
    identity(
        "cut",
        Eq(E(_beyond(_EXCESS, _c)), _x**2 * _TAIL + (2 * _x + _c) * _DENSITY),
        "beyond",
        "tail",
        "first",
        "second",
    ),
    identity(
        "unit",
        Eq(E(Max(_EXCESS, 0)), upper_part(_x) + upper_part(-_x)),
        "parts",
        "square",
        at("cut", {_c: 1 - _x}),
        at("cut", {_c: -1 - _x}),
    ),
    inequality(
        "scale",
        Eq(
            Max((m(j) + tau * Z) ** 2 - tau**2, 0), tau**2 * Max(_EXCESS, 0).xreplace({_x: _SCALED})
        ),
    ),
    expectation(
        "scaled",
        Eq(_LEFT, tau**2 * E(Max(_EXCESS, 0).xreplace({_x: _SCALED}))),
        "scale",
        by=Linearity(over=(E,)),
    ),
    identity("clamped", _STATEMENT, "scaled", at("unit", {_x: _SCALED})),
)
_AT_ZERO = Eq(E(Max((tau * Z) ** 2 - tau**2, 0)), tau**2 * sqrt(2 / pi) * exp(Rational(-1, 2)))

CLAMPED = Theorem(
    id="dp2.noise.clamped",
    title="Square of a noisy average, minus the noise variance, clamped at 0",
    statement=_STATEMENT,
    kind=Kind.IDENTITY,
    source=Source("li2023dp2", "bias of the squared average", Status.DERIVED),
    assumptions=(NORMAL,),
    steps=_STEPS,
    explanation=(
        "The square of an averaged noisy gradient is too large by the noise variance tau^2 in the "
        "mean. Subtracting tau^2 removes that bias, but a second moment must not be negative, and "
        "clamping at 0 brings part of the bias back. This is the mean of what remains, for a "
        "coordinate of mean m_j: about m_j^2 where m_j is large against tau, and 0.484 tau^2 where "
        "it is 0."
    ),
    evaluations={"bound": Sum(clamped(m(j), tau), (j, 1, d)), "true": Sum(m(j) ** 2, (j, 1, d))},
    models=normal_models,
    curve=Curve(
        along="averaged_noise_std",
        values=CURVE_STDS,
        fixed=CURVE_MEANS,
        log_x=True,
        log_y=True,
    ),
    caveats=(
        EXACT,
        "Clamping the average over updates instead of every square leaves less of the bias.",
    ),
)

ZERO = Theorem(
    id="dp2.noise.clamped.zero",
    title="Where the gradient is 0, the clamped correction removes 52 % of the noise",
    statement=_AT_ZERO,
    kind=Kind.IDENTITY,
    source=Source("li2023dp2", "bias of the squared average", Status.DERIVED),
    assumptions=(NORMAL,),
    steps=(identity("zero", _AT_ZERO, cite("dp2.noise.clamped", {m: Lambda(j, 0)})),),
    explanation=(
        "A coordinate without gradient has tau^2 in its square. Subtracting tau^2 and clamping at "
        "0 leaves 2 phi(1) tau^2 = 0.484 tau^2 in the mean, phi the standard normal density."
    ),
    evaluations={"bound": tau**2 * sqrt(2 / pi) * exp(Rational(-1, 2))},
    models=normal_models,
)

_EMA = Assumption(
    "ema",
    Eq(v(k + 1, j), beta * v(k, j) + (1 - beta) * Max(X(k, j) ** 2 - tau**2, 0)),
    "each update averages in the corrected square, clamped at 0",
    CODE,
)
_FORGETS = Assumption("forgets", Lt(beta, 1), "beta is below 1", CODE)
_DECAY = And(
    Le(beta * v(k, j), v(k + 1, j)),
    Le(v(k + 1, j), beta * v(k, j) + (1 - beta) * X(k, j) ** 2),
)


def _updates(rng: np.random.Generator) -> Iterator[Model]:
    """Moving averages with the clamp, without it, and with one that is taken off afterwards."""
    import numpy as np

    from bounds.model import Model

    for forget in (0.0, 0.5, 0.9):
        released = rng.normal(size=(5, 2, 3))
        for floor in (0.0, -np.inf):
            second = [rng.uniform(size=(2, 3))]
            for square in released**2:
                second.append(forget * second[-1] + (1 - forget) * np.maximum(square - 1, floor))
            values = {beta: forget, tau: 1.0, d: 2}
            yield Model(values, {"v": np.abs(np.array(second)), "X": released})


UPDATE = Theorem(
    id="dp2.noise.clamped.update",
    title="A moving average of clamped squares never falls faster than by beta",
    statement=_DECAY,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "bias of the squared average", Status.DERIVED),
    assumptions=(_EMA, _FORGETS),
    steps=(inequality("decay", _DECAY, "ema", "forgets"),),
    explanation=(
        "With the noise variance taken off every square and the result clamped at 0, an update of "
        "v loses at most the factor beta, as without the correction: theorems that stand on "
        "v_new >= beta v_old stay true. It is at most the update without the correction."
    ),
    models=_updates,
    caveats=(
        "v_new >= (1 - beta) X^2 is no longer true, and a bound on h(s) by way of it falls.",
        "If the clamp is applied to the moving average instead, v_new >= beta v_old is false too.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (CLAMPED, ZERO, UPDATE)
