"""Sizes that squares and products of doubles can hold, for accountants of upper bounds.

More noise, or a record that is drawn more rarely, never costs more.  An upper bound for less
noise and larger chances is therefore one for the release itself.
"""

from __future__ import annotations

from dataclasses import replace

from accountants.sampling import Poisson, TruncatedPoisson, WeightedWithReplacement
from accountants.walk import Release

__all__ = ["moderate"]

# The second-order parts of a divergence are about (chance / noise)^2: 1e-280 at the smallest.
_SMALLEST_CHANCE = 1e-70
_LARGEST_NOISE = 1e70
_SMALLEST_NOISE = 1e-70


def moderate(release: Release) -> Release | None:
    """A release that costs at least as much and whose sizes do not leave the doubles.

    Parameters
    ----------
    release : Release
        That reveals something, and not everything.

    Returns
    -------
    Release or None
        The release itself but for noise multipliers above 1e70 and chances below 1e-70, which
        are moved there; None, which stands for no privacy at all, for noise multipliers below
        1e-70.
    """
    noise = release.noise_multiplier
    if noise < _SMALLEST_NOISE:
        return None
    sampling = release.sampling
    if isinstance(sampling, (Poisson, TruncatedPoisson)):
        chance = max(sampling.sampling_probability, _SMALLEST_CHANCE)
        if chance > sampling.sampling_probability:
            sampling = replace(sampling, sampling_probability=chance)
    elif isinstance(sampling, WeightedWithReplacement):
        chance = max(sampling.largest_probability, _SMALLEST_CHANCE)
        if chance > sampling.largest_probability:
            sampling = replace(sampling, largest_probability=chance)
    return Release(sampling, min(noise, _LARGEST_NOISE))
