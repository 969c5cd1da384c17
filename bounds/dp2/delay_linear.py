"""h(s) <= c1 + c2 s for a smooth loss: gradients drift no faster than the iterate moves.

Numerator: today's gradient is the one at the start of the DP-SGD phase, plus the drift since, plus
sampling. Denominator: the average is unbiased step by step, so multiplied by the sign of the
gradient at the start it is that gradient up to the drift inside the phase. (Jensen's inequality on
the whole average would need its noise to have mean zero given its gradients. It has not: the noise
moved the iterate that later gradients were taken at.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import And, Expr, Le, sqrt

from bounds.dp2.delay import ATTAINED
from bounds.dp2.delay_drift import DRIFT, ONE_STEP
from bounds.dp2.delay_ratio import ABOVE, BELOW
from bounds.dp2.delay_setting import ASSUMPTIONS, D1, D2
from bounds.dp2.symbols import C2, C, L, a1, a2, eps, h, i0, k0, nu1, nu2, s, tau_g
from bounds.operators import Max
from bounds.proof.step import at, inequality
from bounds.symbols import b, d, i, k
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model


_EXCESS = tau_g * sqrt(d) / sqrt(b) + (3 * s - 1) * D1 / 2 + (s - 1) * D2
_INTERCEPT = 1 + tau_g / (eps * sqrt(d * b))
_SLOPE = (3 * D1 / 2 + D2) / (d * eps)
_SHARP = Max(1, _EXCESS / (d * eps))
_STATEMENT = And(Le(h, _SHARP), Le(h, _INTERCEPT + _SLOPE * s))


def _triangle_slope() -> Expr:
    """The slope with the norm of gradient and noise added instead of their squares."""
    size = 3 * a1 * (C + nu1 * sqrt(d)) / 2 + a2 * (C2 + nu2 * sqrt(d))
    return L * size / (eps * sqrt(d))


def _models(rng: np.random.Generator) -> Iterator[Model]:
    from bounds.dp2.delay_models import models

    return models(rng)


LINEAR = Theorem(
    id="dp2.h.linear",
    title="h(s) grows at most linearly with the delay",
    statement=_STATEMENT,
    kind=Kind.UPPER,
    source=Source(
        "li2023dp2",
        "h(s) <= c1 + c2 s",
        Status.STATED,
        note="the paper states the form; constants and proof are ours",
    ),
    assumptions=(*ASSUMPTIONS, ATTAINED),
    steps=(
        *ONE_STEP,
        *DRIFT,
        *BELOW,
        *ABOVE,
        inequality(
            "ratio",
            Le(h, _SHARP),
            "attained",
            at("numerator", {k: k0, i: i0}),
            at("denominator", {k: k0}),
        ),
        inequality("linear", _STATEMENT, "ratio", note="max(1, x) <= 1 + x"),
    ),
    explanation=(
        "For a smooth loss the gradient moves at most L times as fast as the iterate, and the "
        "iterate at most a step size times what is added to it. So after s steps of collecting and "
        "s adaptive steps the gradient is still near the average that the preconditioner was made "
        "of, up to a term proportional to s: h(s) <= c1 + c2 s with c1 = 1 + tau_g/(eps sqrt(d b)) "
        "and c2 = L (3/2 a1 sqrt(C^2 + d nu1^2) + a2 sqrt(C2^2 + d nu2^2))/(eps sqrt(d)). The "
        "first part of the statement is sharper."
    ),
    evaluations={
        "bound": _INTERCEPT + _SLOPE * s,
        "sharp": _SHARP,
        "intercept": _INTERCEPT,
        "slope": _SLOPE,
        "triangle": _INTERCEPT + _triangle_slope() * s,
    },
    models=_models,
    curve=Curve(
        along="delay",
        values=(1, 2, 5, 10, 20, 50, 100, 200),
        fixed={
            "smoothness": 0.05,
            "sgd_step_size": 0.02,
            "adaptive_step_size": 0.004,
            "gradient_bound": 1.0,
            "preconditioned_clip_norm": 10.0,
            "noise_std": 1 / 32,
            "preconditioned_noise_std": 10 / 32,
            "damping": 0.1,
            "gradient_std": 1.0,
            "batch_size": 32,
            "dimension": 10,
        },
        names=("bound", "sharp"),
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "An upper bound, not a law: h(s) itself may fall with s.",
        "It is loose: in runs on a logistic loss h is 0.15 to 0.25 and the bound 1 to 36, five "
        "times h at s = 5 and more than 200 times at s = 200.",
        "It is a bound in expectation over runs, as h(s) is; dp2.h.saturation is smaller for most "
        "settings, so use the smaller of the two.",
        "E||G/s||_1 >= E||m||_1 for the averaged gradients m does not hold in general: the noise "
        "of the average is not independent of them. The proof compares with the gradient at the "
        "start of the phase, which is.",
        "Gradients must be unbiased in all steps: clipping must not be active.",
        "tau_g^2/b is the sampling variance of batches of a fixed size; under Poisson sampling "
        "with the fixed divisor b put C for tau_g.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (LINEAR,)
