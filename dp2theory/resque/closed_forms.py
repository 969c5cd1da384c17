"""Gaussian averages of functions of one variable."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dp2theory.resque.functions import check_numbers

Array = NDArray[np.float64]

_DENSITY = 1 / math.sqrt(2 * math.pi)


def smoothed_absolute(at: ArrayLike, deviation: ArrayLike) -> tuple[Array, Array]:
    """E |m + s Z| and its derivative in m, for a standard normal Z.

    Parameters
    ----------
    at : array_like
        m, any shape.
    deviation : array_like
        s >= 0; where it is 0 the absolute value itself comes back, with the sign of m.

    Returns
    -------
    (ndarray, ndarray)
        m (2 Phi(m/s) - 1) + 2 s phi(m/s), and 2 Phi(m/s) - 1 (theorem resque.F5).
    """
    m, ratio, density = _scaled(at, deviation)
    slope = special.erf(ratio / math.sqrt(2))
    return m * slope + 2 * density, slope


def smoothed_hinge(at: ArrayLike, deviation: ArrayLike) -> tuple[Array, Array]:
    """E max(0, m + s Z) and its derivative in m, for a standard normal Z.

    Parameters
    ----------
    at : array_like
        m, any shape.
    deviation : array_like
        s >= 0.

    Returns
    -------
    (ndarray, ndarray)
        m Phi(m/s) + s phi(m/s), and Phi(m/s): max(0, m) is (m + |m|)/2, and resque.F5.
    """
    m, ratio, density = _scaled(at, deviation)
    slope = special.ndtr(ratio)
    return m * slope + density, slope


def _scaled(at: ArrayLike, deviation: ArrayLike) -> tuple[Array, Array, Array]:
    """m, m/s (0/0 is 0) and s phi(m/s)."""
    m, s = np.broadcast_arrays(check_numbers("at", at), check_numbers("deviation", deviation))
    if not (np.isfinite(m).all() and np.isfinite(s).all() and (s >= 0).all()):
        raise ValueError("at and deviation must be finite, and deviation at least 0")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        ratio = np.where(m == 0, 0.0, m / s)
        density = s * _DENSITY * np.exp(-0.5 * ratio * ratio)
    return m, ratio, density
