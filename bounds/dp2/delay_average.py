"""The root of an average of squares: E sqrt(v) is sqrt(E v) up to a factor sqrt(2/pi)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import Abs, And, Eq, Lambda, Le, Sum, pi, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.delay_folded import CURVE_MEANS, EXACT, Z
from bounds.dp2.symbols import U, X, beta, eps, m, mk, omega, tau, zbar
from bounds.operators import E, StandardNormal
from bounds.proof.methods import CauchySchwarz, Linearity
from bounds.proof.step import cite, expectation, identity, inequality
from bounds.symbols import d, j, k
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model

_K = (k, 1, U)
_NORMAL = Assumption("normal", StandardNormal(zbar(k, j)), "the averaged noise is Gaussian", CODE)
_AVERAGED = Assumption(
    "averaged",
    Eq(X(k, j), mk(k, j) + tau * zbar(k, j)),
    "phase k releases a fixed mean plus noise of std tau",
)
_SQUARES = Sum(omega(k) * X(k, j) ** 2, _K)
_MOMENTS = Sum(omega(k) * (mk(k, j) ** 2 + tau**2), _K)
_STATEMENT = And(
    Le(sqrt(2 / pi) * sqrt(_MOMENTS), E(sqrt(_SQUARES))), Le(E(sqrt(_SQUARES)), sqrt(_MOMENTS))
)
_NORM = sqrt(mk(k, j) ** 2 + tau**2)
_MIXED = Sum(omega(k) * _NORM * Abs(X(k, j)), _K)

_STEPS = (
    identity(
        "moment",
        Eq(E((mk(k, j) + tau * zbar(k, j)) ** 2), mk(k, j) ** 2 + tau**2),
        "normal",
        evaluate=True,
    ),
    identity("square", Eq(E(X(k, j) ** 2), E((mk(k, j) + tau * zbar(k, j)) ** 2)), "averaged"),
    inequality(
        "weighted",
        Eq(omega(k) * E(X(k, j) ** 2), omega(k) * (mk(k, j) ** 2 + tau**2)),
        "moment",
        "square",
    ),
    expectation(
        "moments",
        Eq(Sum(omega(k) * E(X(k, j) ** 2), _K), _MOMENTS),
        "weighted",
        by=Linearity(over=(_K,)),
    ),
    expectation(
        "root",
        Le(E(sqrt(_SQUARES)), sqrt(Sum(omega(k) * E(X(k, j) ** 2), _K))),
        by=CauchySchwarz(sqrt(_SQUARES), 1),
    ),
    identity("same", Eq(E(Abs(X(k, j))), E(Abs(mk(k, j) + tau * zbar(k, j)))), "averaged"),
    inequality(
        "folded",
        Le(sqrt(2 / pi) * omega(k) * _NORM**2, omega(k) * _NORM * E(Abs(X(k, j)))),
        "same",
        cite("dp2.h.bounds", {Z: zbar(k, j), m: Lambda(j, mk(k, j))}),
    ),
    expectation(
        "folded_sum",
        Le(
            Sum(sqrt(2 / pi) * omega(k) * _NORM**2, _K),
            Sum(omega(k) * _NORM * E(Abs(X(k, j))), _K),
        ),
        "folded",
        by=Linearity(over=(_K,)),
    ),
    expectation(
        "mixed",
        Le(_MIXED, sqrt(_MOMENTS) * sqrt(_SQUARES)),
        by=CauchySchwarz(sqrt(omega(k)) * _NORM, sqrt(omega(k)) * Abs(X(k, j)), over=(_K,)),
    ),
    expectation(
        "mixed_mean",
        Le(Sum(omega(k) * _NORM * E(Abs(X(k, j))), _K), sqrt(_MOMENTS) * E(sqrt(_SQUARES))),
        "mixed",
        by=Linearity(over=(E,)),
    ),
    inequality("between", _STATEMENT, "root", "moments", "folded_sum", "mixed_mean"),
)
_ROOTS = Sum(sqrt((1 - beta**U) * (m(j) ** 2 + tau**2)), (j, 1, d))


def _models(rng: np.random.Generator) -> Iterator[Model]:
    """Independent and repeated noise of up to two updates; then other laws and other averages."""
    import numpy as np

    from bounds.model import Model

    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    first, second = (each.ravel() for each in np.meshgrid(nodes, nodes))
    joint = np.outer(weights, weights).ravel()
    for means in ((0.0, 0.0), tuple(rng.normal(size=2)), (30.0, 0.0)):
        for draws in ((first, second), (first, first)):
            noise = np.array(draws)[:, None]
            mean = np.array(means)[:, None]
            released = mean[..., None] + 0.5 * noise
            values = {U: 2, tau: 0.5, d: 1}
            processes = {"mk": mean, "omega": rng.uniform(0.1, 1, size=2)}
            yield Model(values, {**processes, "zbar": noise, "X": released}, joint)
            yield Model(values, {**processes, "zbar": 2 * noise, "X": released}, joint)
            yield Model(values, {**processes, "zbar": noise, "X": 3 * released}, joint)
    for mean_ in (0.0, 30.0):
        single = {"mk": np.array([[mean_]]), "omega": np.array([0.7])}
        for size in (1.0, 3.0):
            released = size * (mean_ + 0.5 * nodes[None, None])
            drawn = {"zbar": nodes[None, None], "X": released}
            yield Model({U: 1, tau: 0.5, d: 1}, {**single, **drawn}, weights)


AVERAGE = Theorem(
    id="dp2.h.bounds.average",
    title="The mean of sqrt(v) is the root of the mean of v, up to a factor 0.8",
    statement=_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "h(s)", Status.DERIVED),
    assumptions=(_NORMAL, _AVERAGED),
    steps=_STEPS,
    explanation=(
        "The preconditioner is the root of a weighted sum of squared averages; an exponential "
        "moving average has the weights (1 - beta) beta^(U - k). If phase k releases a fixed mean "
        "m_k plus Gaussian noise of std tau, the mean of the root lies between sqrt(2/pi) = 0.798 "
        "times and once the root of the weighted sum of m_k^2 + tau^2. So E||D||_1 is known up to "
        "a factor 1.254 from the means and the noise alone."
    ),
    evaluations={"bound": _ROOTS, "lower": sqrt(2 / pi) * _ROOTS, "norm": _ROOTS + d * eps},
    models=_models,
    curve=Curve(
        along="update_count",
        values=(1, 2, 3, 5, 8, 12, 20, 30),
        fixed={**CURVE_MEANS, "averaged_noise_std": 0.05, "ema": 0.9},
        names=("bound", "lower"),
    ),
    caveats=(
        EXACT,
        "The evaluations are for a moving average from 0 with the same means in every phase.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (AVERAGE,)
