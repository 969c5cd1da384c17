"""Whether the noise of private releases is what their ledger says.

A release and what was hidden in it differ by noise that should be normal with a standard deviation
of ``noise_multiplier c L eta`` in each coordinate, and independent of all other noise. The squares
of scaled noise add up to a chi-square; their root mean is known to a few parts in a hundred from
some thousand numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from scipy import stats

from dp2theory.problems.validation import open_unit, positive_real, whole_number
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.functions import Array, StochasticFunction
from dp2theory.resque.localization import PrivateBallOracle, Release

#: How far a standard deviation may be from what it should be.
TOLERANCE = 0.03
#: Probability that right noise is called wrong, all rows together.
ERROR = 1e-6
# Correlations with this many of the releases before are looked at.
_LAGS = 16


class Recorded(Protocol):
    """What is read of a release."""

    @property
    def clean(self) -> Array:
        """Before the noise."""

    @property
    def released(self) -> Array:
        """After it."""


@dataclass(frozen=True)
class NoiseRow:
    """Noise of all releases of one name.

    Attributes
    ----------
    name : str
    numbers : int
        Coordinates of all releases together.
    ratio : float
        Standard deviation found over the one asked for, about a mean of 0.
    lower, upper : float
        What the ratio is in, by the chi-square law.
    """

    name: str
    numbers: int
    ratio: float
    lower: float
    upper: float

    @property
    def holds(self) -> bool:
        """Whether 1 is inside the interval."""
        return self.lower <= 1 <= self.upper


@dataclass(frozen=True)
class NoiseLaw:
    """What was found.

    Attributes
    ----------
    rows : tuple of NoiseRow
        One for each name, and one for all together ("all").
    correlation : float
        Largest correlation, in absolute value, of a release's noise with that of a release up to
        16 places before.
    largest_correlation : float
        What it is at most for independent noise.
    tolerance, error : float
    """

    rows: tuple[NoiseRow, ...]
    correlation: float
    largest_correlation: float
    tolerance: float
    error: float

    @property
    def resolved(self) -> bool:
        """Whether the intervals are narrow enough to see a deviation of `tolerance`."""
        widest = max(max(row.upper / row.ratio - 1, 1 - row.lower / row.ratio) for row in self.rows)
        return widest <= self.tolerance

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the law, and a deviation of `tolerance` would have."""
        inside = all(row.holds and abs(row.ratio - 1) <= self.tolerance for row in self.rows)
        return self.resolved and inside and self.correlation <= self.largest_correlation

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "holds": self.holds,
            "resolved": self.resolved,
            "rows": [{**asdict(row), "holds": row.holds} for row in self.rows],
            "correlation": self.correlation,
            "largest_correlation": self.largest_correlation,
            "tolerance": self.tolerance,
            "error": self.error,
        }


def noise_law(
    releases: Sequence[Recorded],
    wanted: Callable[[Any], float],
    *,
    names: Callable[[Any], str] = lambda release: str(release.name),
    tolerance: float = TOLERANCE,
    error: float = ERROR,
) -> NoiseLaw:
    """Compare noise with what it should be.

    Parameters
    ----------
    releases : sequence
        In the order in which they were made, all of one length; each has `clean` and `released`.
    wanted : callable
        From a release to the standard deviation that the ledger asks for. It should not read the
        release's own word on its noise.
    names : callable
        From a release to its group.
    tolerance : float
        In (0, 1).
    error : float
        In (0, 1).

    Returns
    -------
    NoiseLaw

    Raises
    ------
    ValueError
        For no releases, or standard deviations that are not > 0.
    """
    if not releases:
        raise ValueError("releases is empty, must hold at least one")
    tolerance, error = open_unit("tolerance", tolerance), open_unit("error", error)
    scales = np.array([positive_real("wanted", wanted(release)) for release in releases])
    noise = np.array([release.released - release.clean for release in releases]) / scales[:, None]
    labels = np.array([names(release) for release in releases])
    groups = list(dict.fromkeys(labels.tolist()))
    share = error / (2 * len(groups) + 2)
    rows = [_row(name, noise[labels == name], share) for name in groups]
    lags = min(_LAGS, len(noise) - 1)
    found = max((abs(_correlation(noise, lag)) for lag in range(1, lags + 1)), default=0.0)
    fewest = noise.shape[1] * max(1, len(noise) - lags)
    # A sum of products of n independent pairs over n is nearly normal with deviation n^(-1/2).
    limit = float(stats.norm.isf(error / (4 * max(1, lags)))) / np.sqrt(fewest)
    return NoiseLaw((*rows, _row("all", noise, share)), found, float(limit), tolerance, error)


def ball_releases(
    function: StochasticFunction,
    *,
    calls: int,
    radius: float,
    smoothing: float,
    draws: int,
    noise_multiplier: float,
    multipliers: Iterable[float],
    rng: np.random.Generator,
    constants: PrivateConstants | None = None,
) -> tuple[Release, ...]:
    """Make calls of a private ball oracle and keep all that it releases.

    Parameters
    ----------
    function : StochasticFunction
    calls : int
        From the start, each with the next of `multipliers` (repeated in turn).
    radius, smoothing, draws, noise_multiplier
        Of the oracle.
    multipliers : iterable of float
        l of the calls.
    rng : numpy.random.Generator
    constants : PrivateConstants, optional

    Returns
    -------
    tuple of Release
    """
    kept: list[Release] = []
    oracle = PrivateBallOracle(
        function,
        radius,
        smoothing,
        draws,
        noise_multiplier,
        rng,
        constants=constants or PrivateConstants(),
        observe=kept.append,
    )
    turns = itertools.islice(itertools.cycle(multipliers), whole_number("calls", calls))
    for multiplier in turns:
        oracle.solve(function.start, multiplier)
    return tuple(kept)


def ball_noise(
    lipschitz: float, noise_multiplier: float, drift_factor: float
) -> Callable[[Release], float]:
    """What the noise of a phase should be: sigma c L eta, from the ledger's sigma.

    Parameters
    ----------
    lipschitz : float
        L.
    noise_multiplier : float
        sigma of the ledger.
    drift_factor : float
        c.
    """
    return lambda release: noise_multiplier * drift_factor * lipschitz * release.step


def _row(name: str, noise: Array, error: float) -> NoiseRow:
    square = float(np.square(noise).sum())
    low, high = stats.chi2.ppf([error / 2, 1 - error / 2], noise.size)
    # square = ratio^2 chi-square: the ratio's ends are those that make it an ordinary one.
    ends = np.sqrt(square / np.array([high, low]))
    ratio = float(np.sqrt(square / noise.size))
    return NoiseRow(name, int(noise.size), ratio, float(ends[0]), float(ends[1]))


def _correlation(noise: Array, lag: int) -> float:
    first, second = noise[:-lag], noise[lag:]
    size = float(np.sqrt(np.square(first).sum() * np.square(second).sum()))
    return float((first * second).sum()) / size if size > 0 else 0.0
