"""The folded normal: the mean of |G/s| when the averaged gradient is a fixed mean plus noise.

With a fixed mean m_j and averaged noise of std tau, E|G/s| in coordinate j is the mean of a folded
normal. It grows with |m_j| and with tau.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sympy import Abs, And, Derivative, Eq, Expr, Gt, Lt, Piecewise, Sum, erf, exp, pi, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import m, tau
from bounds.operators import E, RandomVariable, StandardNormal, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, expectation, identity, inequality
from bounds.symbols import d, j
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model

Z = RandomVariable("Z")
NORMAL = Assumption("normal", StandardNormal(Z), "Z is a standard normal variable", CODE)

_x = Variable("x")
_y = Variable("y", positive=True)


def folded(mean: Any, std: Any) -> Expr:
    """E|mean + std Z| for a standard normal Z."""
    tail = exp(-(mean**2) / (2 * std**2))
    return std * sqrt(2 / pi) * tail + mean * erf(mean / (std * sqrt(2)))


def folded_norm() -> Expr:
    """Sum over the coordinates of the folded normal of mean m(j) and std tau."""
    return Sum(folded(m(j), tau), (j, 1, d))


_SHIFTED = _x + tau * Z
_ABOVE = Piecewise((_SHIFTED, Gt(Z, -_x / tau)), (0, True))
_BELOW = Piecewise((_SHIFTED, Lt(Z, -_x / tau)), (0, True))
_DENSITY = tau * exp(-(_x**2) / (2 * tau**2)) / sqrt(2 * pi)
_STATEMENT = Eq(E(Abs(m(j) + tau * Z)), folded(m(j), tau))

_STEPS = (
    inequality("split", Eq(Abs(_SHIFTED), _ABOVE - _BELOW), note="|x| = x_+ - (-x)_+"),
    identity(
        "above",
        Eq(E(_ABOVE), _DENSITY + _x * (1 + erf(_x / (tau * sqrt(2)))) / 2),
        "normal",
        evaluate=True,
    ),
    identity(
        "below",
        Eq(E(_BELOW), -_DENSITY + _x * (1 - erf(_x / (tau * sqrt(2)))) / 2),
        "normal",
        evaluate=True,
    ),
    expectation(
        "parts",
        Eq(E(Abs(_SHIFTED)), E(_ABOVE) - E(_BELOW)),
        "split",
        by=Linearity(over=(E,)),
    ),
    identity(
        "folded",
        _STATEMENT,
        at("parts", {_x: m(j)}),
        at("above", {_x: m(j)}),
        at("below", {_x: m(j)}),
    ),
)

_IN_MEAN = Eq(Derivative(folded(_x, _y), _x), erf(_x / (_y * sqrt(2))))
_IN_STD = Eq(Derivative(folded(_x, _y), _y), sqrt(2 / pi) * exp(-(_x**2) / (2 * _y**2)))
_SLOPES = And(_IN_MEAN, _IN_STD, Gt(Derivative(folded(_x, _y), _y), 0))

EXACT = (
    "It is exact when the means do not depend on the noise of their phase: when the iterate is "
    "frozen while gradients are collected, or when the noise is drawn anew on a fixed trace of "
    "gradients. In a run of DP² the noise moves the iterate, mean and noise are dependent, and the "
    "value is an approximation."
)

CURVE_STDS = tuple(0.001 * 1.3**step for step in range(32))
CURVE_MEANS = {"mean_gradient": (0.3, 0.1, 0.03, 0.01), "dimension": 4}


def normal_models(rng: np.random.Generator) -> Iterator[Model]:
    """A standard normal by quadrature, then other laws.

    The panels end where |m + tau Z| or |tau Z| is 0 or tau: there functions of them have their
    kinks.
    """
    import numpy as np

    from bounds.model import Model

    nodes, weights = np.polynomial.legendre.leggauss(40)
    for std in (0.05, 1.0, 3.0):
        for mean in (0.0, *rng.normal(size=3), 4 * std):
            kinks = np.array([-1.0, 0.0, 1.0])
            moved = np.clip(kinks - mean / std, -9, 9)
            ends = np.unique([-10.0, *kinks, *moved, 10.0])
            half = np.diff(ends)[:, None] / 2
            z = (ends[:-1, None] + half * (1 + nodes)).ravel()
            mass = (half * weights).ravel() * np.exp(-(z**2) / 2)
            mass = mass / mass.sum()
            values = {tau: std, d: 1}
            for law in (z, z + 0.5, 2 * z):  # standard normal, a mean, another variance
                yield Model(values, {"Z": law, "m": np.array([mean])}, mass)


FOLDED = Theorem(
    id="dp2.h.folded-normal",
    title="Mean absolute value of an averaged noisy gradient",
    statement=_STATEMENT,
    kind=Kind.IDENTITY,
    source=Source("li2023dp2", "h(s)", Status.DERIVED, note="the denominator of h(s)"),
    assumptions=(NORMAL,),
    steps=_STEPS,
    explanation=(
        "Averaging s noisy gradients leaves noise of std tau = nu1/sqrt(s) = sigma C1/(b sqrt(s)) "
        "on a coordinate. The absolute value of mean plus noise has the mean of a folded normal: "
        "about |m_j| where the gradient is large against tau, and tau sqrt(2/pi) where it is 0. "
        "Summed over the coordinates it is E||G/s||_1, the denominator of h(s)."
    ),
    evaluations={"bound": folded_norm()},
    models=normal_models,
    curve=Curve(
        along="averaged_noise_std",
        values=CURVE_STDS,
        fixed=CURVE_MEANS,
        log_x=True,
        log_y=True,
    ),
    caveats=(EXACT,),
)

SLOPES = Theorem(
    id="dp2.h.folded-normal.slopes",
    title="The folded normal grows with the mean and with the noise",
    statement=_SLOPES,
    kind=Kind.IDENTITY,
    source=Source("li2023dp2", "h(s)", Status.DERIVED),
    steps=(
        identity("mean", _IN_MEAN, evaluate=True),
        identity("std", _IN_STD, evaluate=True),
        inequality("slopes", _SLOPES, "mean", "std"),
    ),
    explanation=(
        "x stands for the mean and y for the std of the noise. The derivative in the mean is erf, "
        "which has the sign of the mean: E|x + yZ| is increasing in |x|, so that a measured mean "
        "absolute value can be turned back into |x|. The derivative in the std is positive: more "
        "noise, a larger norm, and a smaller h(s)."
    ),
)

THEOREMS: tuple[Theorem, ...] = (FOLDED, SLOPES)
