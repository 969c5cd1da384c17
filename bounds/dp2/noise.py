"""What averaging a phase does to the noise: the variance of the averaged noise is nu1^2/s."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from sympy import Eq, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import C1, N, S, nu1, s
from bounds.operators import E, Independent
from bounds.proof.methods import Linearity, ZeroMean
from bounds.proof.step import Induction, at, expectation, identity, inequality
from bounds.symbols import b, d, j, sigma, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model

NOISE_STD = Assumption(
    "noise_std",
    Eq(nu1, sigma * C1 / b),
    "each coordinate of the noise of a DP-SGD step has std sigma C1/b: noise sigma C1 on the sum "
    "of the clipped gradients, divided by the batch size",
    CODE,
)
_START = Assumption("start", Eq(S(1, j), 0), "the sum of the noise starts at 0", CODE)
_ADD = Assumption("add", Eq(S(t + 1, j), S(t, j) + N(t, j)), "each step adds its noise", CODE)
_FRESH = Assumption(
    "fresh", Independent(N(t, j), S(t, j)), "the noise of a step is independent of the past", CODE
)
_MEAN = Assumption("mean", Eq(E(N(t, j)), 0), "the noise has mean 0", CODE)
_VARIANCE = Assumption(
    "variance", Eq(E(N(t, j) ** 2), nu1**2), "the noise has the same variance in each step", CODE
)

_AVERAGE = E((S(s + 1, j) / s) ** 2)
_STATEMENT = Eq(_AVERAGE, (sigma * C1 / b) ** 2 / s)

_STEPS = (
    expectation(
        "cross",
        Eq(E(S(t, j) * N(t, j)), 0),
        "fresh",
        "mean",
        by=ZeroMean(),
        note="new noise is uncorrelated with the sum so far",
    ),
    identity(
        "square",
        Eq(S(t + 1, j) ** 2, S(t, j) ** 2 + 2 * S(t, j) * N(t, j) + N(t, j) ** 2),
        "add",
    ),
    expectation(
        "grow",
        Eq(E(S(t + 1, j) ** 2), E(S(t, j) ** 2) + 2 * E(S(t, j) * N(t, j)) + E(N(t, j) ** 2)),
        "square",
        by=Linearity(over=(E,)),
    ),
    identity("first", Eq(E(S(1, j) ** 2), 0), "start"),
    inequality(
        "sum",
        Eq(E(S(t, j) ** 2), (t - 1) * nu1**2),
        "first",
        "grow",
        "cross",
        "variance",
        induction=Induction(t),
        note="each step adds nu1^2 to the second moment of the sum",
    ),
    inequality(
        "average",
        _STATEMENT,
        at("sum", {t: s + 1}),
        "noise_std",
        note="divide by s^2",
    ),
)


def average_models(rng: np.random.Generator) -> Iterator[Model]:
    """Noise +-nu1 with equal chances, over all 2^s outcomes; then one assumption broken each."""
    import numpy as np

    for steps in (1, 2, 3, 4):
        signs = np.array(list(product((-1.0, 1.0), repeat=steps))).T[:, None, :]
        multiplier, clip_norm = rng.uniform(0.5, 2, size=2)
        yield _model(signs, multiplier, clip_norm)
        yield _model(np.broadcast_to(signs[:1], signs.shape), multiplier, clip_norm)  # one draw
        yield _model(signs + 1, multiplier, clip_norm)  # a mean
        yield _model(1.5 * signs, multiplier, clip_norm)  # another variance
        yield _model(signs, multiplier, clip_norm, first=1.0)
        yield _model(signs, multiplier, clip_norm, kept=0.5)
        yield _model(signs, multiplier, clip_norm, claimed=2.0)


def _model(
    unit: np.ndarray,
    multiplier: float,
    clip_norm: float,
    *,
    first: float = 0.0,
    kept: float = 1.0,
    claimed: float = 1.0,
) -> Model:
    """Noise nu1 times `unit`; the sum starts at `first` and adds `kept` times the noise."""
    import numpy as np

    from bounds.model import Model

    std = multiplier * clip_norm / 2
    noise = std * unit
    total = first + np.concatenate([np.zeros_like(noise[:1]), kept * np.cumsum(noise, axis=0)])
    values = {sigma: claimed * multiplier, C1: clip_norm, b: 2, nu1: std, s: len(unit), d: 1}
    return Model(values, {"N": noise, "S": total})


AVERAGE = Theorem(
    id="dp2.noise.average",
    title="Averaging s noisy gradients divides the noise variance by s",
    statement=_STATEMENT,
    kind=Kind.TIGHT,
    source=Source(
        "li2023dp2",
        "variance of the averaged gradient",
        Status.STATED,
        note="the paper gives the value sigma^2 C^2/(s b^2); this proof is ours",
    ),
    assumptions=(NOISE_STD, _START, _ADD, _FRESH, _MEAN, _VARIANCE),
    steps=_STEPS,
    explanation=(
        "DP² averages the noisy gradients of the s steps of a phase before it updates the "
        "preconditioner. The noise of that average has variance sigma^2 C1^2/(s b^2) in every "
        "coordinate, exactly: s independent draws, divided by s. The iterates, and with them the "
        "gradients, may depend on the noise in any way: the statement is on the noise alone."
    ),
    evaluations={"bound": (sigma * C1 / b) ** 2 / s, "std": sigma * C1 / (b * sqrt(s))},
    models=average_models,
    curve=Curve(
        along="delay",
        values=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
        fixed={"noise_multiplier": 1.0, "clip_norm": 1.0, "batch_size": 32},
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "It says nothing on the average of the gradients, which depends on the noise: see "
        "dp2.noise.bias for the square of the sum of both.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (AVERAGE,)
