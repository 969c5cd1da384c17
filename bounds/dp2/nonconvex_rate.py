"""The nonconvex bound under a privacy budget: how steps and noise are chosen, and the rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import Eq, Expr, Gt, Le, Lt, Sum, log, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.nonconvex import ASSUMPTIONS, AVERAGE, run_models
from bounds.dp2.symbols import (
    C,
    L,
    alpha0,
    c_s,
    c_T,
    eps,
    eta,
    gap1,
    mode,
    nu1,
    nu2,
    tau_g,
)
from bounds.operators import Min
from bounds.proof.methods import Linearity
from bounds.proof.step import Step, cite, expectation, identity, inequality
from bounds.symbols import T, b, d, delta, eps_dp, n, sigma, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model

_LOG = log(1 / delta)
_RATE = Assumption("rate", Eq(eta, alpha0 / sqrt(d)), "the step size is alpha0/sqrt(d)", CODE)
_NOISE = Assumption(
    "noise", Eq(nu1, sigma * C / b), "gradients are clipped to C in DP-SGD steps", CODE
)
_ALIKE = Assumption(
    "alike", Eq(nu2, nu1), "preconditioned gradients are clipped to C too: C2 = C", CODE
)
_PRIVACY = Assumption(
    "privacy",
    Eq(sigma**2, c_s * b**2 * T * _LOG / (n**2 * eps_dp**2)),
    "the noise multiplier is what the privacy budget asks for, up to the constant c_s",
    CODE,
)
_BUDGET = Assumption("budget", Lt(delta, 1), "delta is below 1", CODE)
_LONG = Assumption(
    "steps", Eq(T, c_T * n * eps_dp / _LOG), "T is c_T n eps_dp/log(1/delta) steps", CODE
)
_SHORT = Assumption(
    "steps",
    Eq(T, c_T * n * eps_dp / sqrt(_LOG)),
    "T is c_T n eps_dp/sqrt(log(1/delta)) steps",
    CODE,
)

_SAMPLING = L * alpha0 * tau_g**2 / (Min(1, eps) ** 2 * sqrt(d) * b)
_OPTIMISE, _PERTURB = 2 * gap1 / (alpha0 * c_T), L * alpha0 * C**2 * c_s * c_T
LONG_RATE = sqrt(d) / (n * eps_dp) * (_OPTIMISE * _LOG + _PERTURB) + _SAMPLING
SHORT_RATE = sqrt(d * _LOG) / (n * eps_dp) * (_OPTIMISE + _PERTURB) + _SAMPLING


def _proof(rate: Expr, optimise: Expr, perturb: Expr) -> tuple[Step, ...]:
    return (
        inequality("at_most_one", Le(mode(t), 1), "modes"),
        expectation(
            "counted",
            Le(Sum(mode(t), (t, 1, T)), T),
            "at_most_one",
            by=Linearity(over=((t, 1, T),)),
        ),
        inequality(
            "worst",
            Le(
                AVERAGE,
                2 * gap1 / (eta * T) + L * eta * (tau_g**2 / (Min(1, eps) ** 2 * b) + d * nu1**2),
            ),
            cite("dp2.nonconvex"),
            "counted",
            "count",
            "alike",
        ),
        inequality("budget_log", Gt(_LOG, 0), "budget"),
        identity("optimise", Eq(2 * gap1 / (eta * T), optimise), "rate", "steps", "budget_log"),
        identity(
            "perturb",
            Eq(L * eta * d * nu1**2, perturb),
            "rate",
            "noise",
            "privacy",
            "steps",
            "budget_log",
        ),
        identity(
            "sampling_error", Eq(L * eta * tau_g**2 / (Min(1, eps) ** 2 * b), _SAMPLING), "rate"
        ),
        inequality(
            "rate_bound", Le(AVERAGE, rate), "worst", "optimise", "perturb", "sampling_error"
        ),
    )


_CURVE = Curve(
    along="dataset_size",
    values=(1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    fixed={
        "dimension": 1000,
        "target_epsilon": 1.0,
        "target_delta": 1e-5,
        "initial_gap": 1.0,
        "rate_constant": 0.1,
        "steps_constant": 1.0,
        "noise_constant": 1.0,
        "smoothness": 1.0,
        "gradient_bound": 1.0,
        "gradient_std": 0.1,
        "damping": 0.3,
        "batch_size": 256,
    },
    log_x=True,
    log_y=True,
)
_CAVEATS = (
    "The sampling term does not fall with n: it needs large batches.",
    "The step size must be at most min(1, eps)/L: sqrt(d) >= alpha0 L/min(1, eps).",
    "C2 = C with clipping that is not active needs preconditioned gradients of norm at most C.",
    "The noise multiplier is of the moments-accountant form, with a constant c_s that an "
    "accountant has to supply; it is no privacy guarantee by itself.",
)


def _short_models(rng: np.random.Generator) -> Iterator[Model]:
    from bounds.dp2.nonconvex_models import short_models

    return short_models(rng)


RATE = Theorem(
    id="dp2.nonconvex.rate",
    title="Rate for smooth nonconvex losses under a privacy budget",
    statement=Le(AVERAGE, LONG_RATE),
    kind=Kind.RATE,
    source=Source(
        "li2023dp2",
        "nonconvex rate",
        Status.STATED,
        note="the paper states the order in d, n and the budget; constants and proof are ours",
    ),
    assumptions=(*ASSUMPTIONS, _RATE, _NOISE, _ALIKE, _PRIVACY, _BUDGET, _LONG),
    steps=_proof(
        LONG_RATE,
        sqrt(d) / (n * eps_dp) * _OPTIMISE * _LOG,
        sqrt(d) / (n * eps_dp) * _PERTURB,
    ),
    explanation=(
        "Put the noise that the budget asks for, a step size proportional to 1/sqrt(d) and "
        "n eps_dp/log(1/delta) steps into the nonconvex bound: the squared gradient norm falls "
        "like sqrt(d)/(n eps_dp), as for DP-SGD, plus the sampling error of a batch. The first "
        "term keeps a factor log(1/delta); dp2.nonconvex.rate.short has its root for both."
    ),
    evaluations={"bound": LONG_RATE, "noise_free": _SAMPLING},
    models=run_models,
    curve=_CURVE,
    caveats=_CAVEATS,
)

SHORT = Theorem(
    id="dp2.nonconvex.rate.short",
    title="The same rate with more steps",
    statement=Le(AVERAGE, SHORT_RATE),
    kind=Kind.RATE,
    source=Source("li2023dp2", "nonconvex rate", Status.DERIVED),
    assumptions=(*ASSUMPTIONS, _RATE, _NOISE, _ALIKE, _PRIVACY, _BUDGET, _SHORT),
    steps=_proof(
        SHORT_RATE,
        sqrt(d * _LOG) / (n * eps_dp) * _OPTIMISE,
        sqrt(d * _LOG) / (n * eps_dp) * _PERTURB,
    ),
    explanation=(
        "With n eps_dp/sqrt(log(1/delta)) steps both the optimisation term and the noise are of "
        "order sqrt(d log(1/delta))/(n eps_dp)."
    ),
    evaluations={"bound": SHORT_RATE, "noise_free": _SAMPLING},
    models=_short_models,
    curve=_CURVE,
    caveats=_CAVEATS,
)

THEOREMS: tuple[Theorem, ...] = (RATE, SHORT)
