"""How the excess of a private ball subproblem falls with the number of queries.

Without noise a strongly convex subproblem on N queries errs by some 1/N; with noise of fixed
multiplier the privacy error falls as 1/N^2 once it is below what the ball allows anyway. The study
measures both on the smoothed l1 regression, whose minimum over a ball is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dp2theory.problems.validation import positive_real, real_in, whole_number, whole_numbers
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.functions import Array
from dp2theory.resque.localization import PrivateBallOracle
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.phases import excess_estimate

#: Sizes of section "utility": doublings, so that slopes are over a factor of 32.
SIZES = (250, 500, 1000, 2000, 4000, 8000)
#: Resamplings of seeds for the intervals of slopes.
_RESAMPLES = 2000
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class UtilityRow:
    """Runs of one size.

    Attributes
    ----------
    noise_multiplier : float
        0: without privacy.
    draws : int
        N.
    excess : float
        Mean over seeds of the regularised smoothed objective above its minimum over the ball.
    standard_error : float
    estimate : float
        What the schedule expects of its step sizes.
    """

    noise_multiplier: float
    draws: int
    excess: float
    standard_error: float
    estimate: float


@dataclass(frozen=True)
class Slope:
    """A least-squares slope of log excess in log N.

    Attributes
    ----------
    noise_multiplier : float
    points : int
        How many of the largest sizes.
    slope : float
    lower, upper : float
        Central 95 % of slopes when seeds are drawn again from those that ran.
    """

    noise_multiplier: float
    points: int
    slope: float
    lower: float
    upper: float


@dataclass(frozen=True)
class UtilityStudy:
    """Rows and slopes.

    Attributes
    ----------
    rows : tuple of UtilityRow
    slopes : tuple of Slope
        Over all sizes and over the last three, for each noise multiplier.
    seeds : int
    saturation : float
        multiplier r^2: about what an answer on the edge of the ball costs.
    """

    rows: tuple[UtilityRow, ...]
    slopes: tuple[Slope, ...]
    seeds: int
    saturation: float

    def slope(self, noise_multiplier: float, points: int) -> Slope:
        """Return one of the slopes, or raise KeyError."""
        for each in self.slopes:
            if (each.noise_multiplier, each.points) == (noise_multiplier, points):
                return each
        raise KeyError((noise_multiplier, points))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "slopes": [asdict(slope) for slope in self.slopes],
            "seeds": self.seeds,
            "saturation": self.saturation,
        }


def utility_study(
    *,
    sizes: Sequence[int] = SIZES,
    seeds: int = 12,
    noise_multipliers: Sequence[float] = (0.0, 8.0),
    records: int = 4000,
    dimension: int = 8,
    radius: float = 0.1,
    smoothing: float = 0.1,
    multiplier: float = 4.0,
    constants: PrivateConstants | None = None,
    seed: int = 0,
) -> UtilityStudy:
    """Run the private ball oracle for several numbers of queries.

    Parameters
    ----------
    sizes : sequence of int
        N, rising; at least three.
    seeds : int
        Runs of each size, >= 2.
    noise_multipliers : sequence of float
        sigma, twice "noise / sensitivity"; 8 is 4 times the sensitivity.
    records, dimension : int
        Of the data.
    radius, smoothing, multiplier : float
        r, rho and the strong convexity. With r = rho there is no bound on the failure probability:
        this study is of utility alone.
    constants : PrivateConstants, optional
    seed : int
        Runs differ in their draws and noise; the data are the same.

    Returns
    -------
    UtilityStudy

    Raises
    ------
    ValueError
        For values outside their domain.
    """
    seeds = whole_number("seeds", seeds, minimum=2)
    whole_number("seed", seed, minimum=0)
    sizes = whole_numbers("sizes", sizes)
    if len(sizes) < 3 or sorted(set(sizes)) != list(sizes):
        raise ValueError(f"sizes={sizes!r} must be at least three rising numbers")
    if not isinstance(noise_multipliers, Iterable):
        raise ValueError(f"noise_multipliers={noise_multipliers!r} must be numbers >= 0")
    if not len(noise_multipliers):
        raise ValueError(f"noise_multipliers={noise_multipliers!r} must not be empty")
    for sigma in noise_multipliers:
        real_in("noise_multipliers", sigma, 0.0, math.inf, open_high=True)
    constants = constants or PrivateConstants()
    loss = function_named("absolute", records=records, dimension=dimension)
    assert isinstance(loss, AbsoluteLoss)
    best = ball_minimum(loss, loss.start, radius=radius, smoothing=smoothing, multiplier=multiplier)
    least = regularised(loss, best, loss.start, smoothing, multiplier)
    streams = np.random.SeedSequence(seed).spawn(len(noise_multipliers) * len(sizes) * seeds)
    rngs = iter([np.random.default_rng(stream) for stream in streams])
    rows: list[UtilityRow] = []
    slopes: list[Slope] = []
    for sigma in noise_multipliers:
        table = np.empty((len(sizes), seeds))
        for i, draws in enumerate(sizes):
            for j in range(seeds):
                oracle = PrivateBallOracle(
                    loss, radius, smoothing, draws, sigma, next(rngs), constants=constants
                )
                point = oracle.solve(loss.start, multiplier)
                table[i, j] = regularised(loss, point, loss.start, smoothing, multiplier) - least
            estimate = excess_estimate(
                draws=draws,
                dimension=dimension,
                lipschitz=loss.lipschitz,
                radius=radius,
                smoothing=smoothing,
                multiplier=multiplier,
                noise_multiplier=sigma,
                constants=constants,
            )
            error = float(table[i].std(ddof=1) / math.sqrt(seeds))
            rows.append(UtilityRow(float(sigma), draws, float(table[i].mean()), error, estimate))
        logs = np.log(np.asarray(sizes, dtype=np.float64))
        for points in sorted({len(sizes), 3}, reverse=True):
            slopes.append(_slope(float(sigma), logs[-points:], table[-points:]))
    return UtilityStudy(tuple(rows), tuple(slopes), seeds, multiplier * radius**2)


def regularised(
    loss: AbsoluteLoss, x: Array, center: Array, smoothing: float, multiplier: float
) -> float:
    """Return f_rho(x) + multiplier/2 ||x - center||^2."""
    away = x - center
    return loss.smoothed_value(x, smoothing) + 0.5 * multiplier * float(away @ away)


def ball_minimum(
    loss: AbsoluteLoss, center: Array, *, radius: float, smoothing: float, multiplier: float
) -> Array:
    """Return argmin over B(center, radius) of f_rho + multiplier/2 ||. - center||^2.

    Projected gradient steps of 1/(smoothness): distances shrink by at least
    1 - multiplier/smoothness a step, so that the number of steps for 1e-12 r is known.

    Parameters
    ----------
    loss : AbsoluteLoss
    center : ndarray, shape (d,)
    radius, smoothing, multiplier : float
        All > 0.
    """
    radius = positive_real("radius", radius)
    smoothing, multiplier = (
        positive_real("smoothing", smoothing),
        positive_real("multiplier", multiplier),
    )
    smoothness = math.sqrt(2 / math.pi) * loss.lipschitz / smoothing + multiplier
    steps = math.ceil(math.log(2e12) * smoothness / multiplier)
    u = np.zeros_like(center)
    for _ in range(steps):
        u = u - (loss.smoothed_gradient(center + u, smoothing) + multiplier * u) / smoothness
        length = float(np.linalg.norm(u))
        u = u * min(1.0, radius / length) if length > 0 else u
    return center + u


def _slope(noise_multiplier: float, logs: Array, table: Array) -> Slope:
    """Slope over the rows of a table (sizes, seeds), and its interval by resampled seeds."""
    rng = np.random.default_rng(0)
    sizes, seeds = table.shape
    chosen = rng.integers(seeds, size=(_RESAMPLES, sizes, seeds))
    means = np.take_along_axis(np.broadcast_to(table, chosen.shape), chosen, axis=2).mean(axis=2)
    weights = (logs - logs.mean()) / np.square(logs - logs.mean()).sum()
    resampled = np.log(means) @ weights
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail])
    found = float(np.log(table.mean(axis=1)) @ weights)
    return Slope(noise_multiplier, sizes, found, float(low), float(high))
