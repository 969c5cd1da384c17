"""Noise before or after preconditioning: which order is better, coordinate by coordinate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import And, Eq, Gt, Implies, Le, Lt, Or, Sum, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.noise import NOISE_STD
from bounds.dp2.symbols import C1, C2, D, Dup, eps, nu1, nu2
from bounds.proof.methods import CauchySchwarz
from bounds.proof.step import expectation, inequality
from bounds.symbols import b, d, j, sigma, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model

_NOISE_STD = Assumption(
    "preconditioned_noise_std",
    Eq(nu2, sigma * C2 / b),
    "each coordinate of the noise of an adaptive step has std sigma C2/b",
    CODE,
)
_NOISY = Assumption("noisy", Gt(sigma, 0), "there is noise", CODE)

_TOTAL, _INVERSE = Sum(D(t, j), (j, 1, d)), Sum(1 / D(t, j), (j, 1, d))
#: Noise std on the preconditioned gradient: order 1 divides the noise by D, order 2 does not.
_COORDINATE = Or(
    And(Lt(D(t, j), C1 / C2), Lt(nu2, nu1 / D(t, j))),
    And(Eq(D(t, j), C1 / C2), Eq(nu2, nu1 / D(t, j))),
    And(Gt(D(t, j), C1 / C2), Gt(nu2, nu1 / D(t, j))),
)
_MEAN = Implies(Le(_TOTAL, d * C1 / C2), Le(nu2**2 * _TOTAL, nu1**2 * _INVERSE))
_STATEMENT = And(_COORDINATE, _MEAN)

_STEPS = (
    inequality("coordinate", _COORDINATE, "noise_std", "preconditioned_noise_std", "noisy"),
    expectation(
        "means",
        Le(d**2, _TOTAL * _INVERSE),
        by=CauchySchwarz(sqrt(D(t, j)), 1 / sqrt(D(t, j)), over=((j, 1, d),)),
        note="arithmetic mean and harmonic mean",
    ),
    inequality(
        "mean",
        _MEAN,
        "means",
        "noise_std",
        "preconditioned_noise_std",
    ),
    inequality("order", _STATEMENT, "coordinate", "mean"),
)


def _models(rng: np.random.Generator) -> Iterator[Model]:
    """Preconditioners around the threshold C1/C2, on it too; then one assumption broken each."""
    import numpy as np

    from bounds.model import Model

    for dimension in (1, 2, 4):
        first, second, multiplier = rng.uniform(0.5, 2, size=3)
        factors = np.exp(rng.normal(size=(6, dimension)))
        factors[0], factors[1], factors[4] = 1.0, 0.5, 1.5
        factors[2:4] /= factors[2:4].mean(axis=1, keepdims=True)
        values = {C1: first, C2: second, sigma: multiplier, b: 2, d: dimension}
        std1, std2 = multiplier * first / 2, multiplier * second / 2
        metric = {"D": first / second * factors[:, :, None]}
        yield Model({**values, nu1: std1, nu2: std2}, metric)
        yield Model({**values, nu1: 2 * std1, nu2: std2}, metric)
        yield Model({**values, nu1: std1, nu2: 2 * std2}, metric)
        yield Model({**values, sigma: 0.0, nu1: 0.0, nu2: 0.0}, metric)


_STD1, _STD2 = sigma * C1 / b, sigma * C2 / b

ORDER = Theorem(
    id="dp2.noise.order",
    title="Noise before or after preconditioning",
    statement=_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "order of preconditioning and noise", Status.DERIVED),
    assumptions=(NOISE_STD, _NOISE_STD, _NOISY),
    steps=_STEPS,
    explanation=(
        "Noise can be added to the clipped gradient before it is divided by the preconditioner D "
        "(order 1, std nu1/D_j) or after division and clipping (order 2, std nu2). "
        "In a coordinate order 2 has less noise exactly where D_j < C1/C2. In the bounds, where "
        "noise counts in the metric D, order 2 costs nu2^2 sum D_j and order 1 nu1^2 sum 1/D_j: "
        "order 2 is no worse as soon as the mean of D_j is at most C1/C2."
    ),
    evaluations={
        "bound": C1 / C2,
        "order1": _STD1**2 * Sum(1 / Dup(j), (j, 1, d)),
        "order2": _STD2**2 * Sum(Dup(j), (j, 1, d)),
        "amplification": 1 / eps,
    },
    models=_models,
    curve=Curve(
        along="preconditioned_clip_norm",
        values=tuple(0.1 * 10 ** (step / 5) for step in range(16)),
        fixed={
            "clip_norm": 1.0,
            "noise_multiplier": 1.0,
            "batch_size": 32,
            "preconditioner_mean_bound": (0.1, 0.2, 0.5, 1.0),
            "dimension": 4,
        },
        names=("order1", "order2"),
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "Where C2 has to be C1/eps so that clipping is never active, the threshold C1/C2 = eps is "
        "below every D_j, and order 2 is never the better one: its gain needs C2 near C1.",
        "A coordinate that the preconditioner has not seen has D_j = eps: order 1 multiplies its "
        "noise by 1/eps.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (ORDER,)
