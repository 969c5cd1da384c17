"""How second moments (and Adam's first) accumulate, apart from when they do.

Every adaptive method here divides by D = root(v) + damping. A `SecondMoment` says how v takes in
a gradient and what its root is; whether the gradient comes at every step or as the mean over a
phase, with noise or without, is the business of `dp2theory.optimizers.adaptive`. All of it is
arithmetic on released vectors, and costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dp2theory.problems.protocol import Array


class SecondMoment(Protocol):
    """A running statistic v of squared gradients, per coordinate."""

    def initial(self, dimension: int) -> Array:
        """Return v before the first gradient."""

    def updated(self, old: Array, gradient: Array) -> Array:
        """Return v after one more gradient; `old` is not written to."""

    def root(self, moment: Array, updates: int) -> Array:
        """Return the scale of a gradient, given v after `updates` gradients."""


@dataclass(frozen=True)
class MovingAverage:
    """v <- ema v + (1 - ema) g^2 from v = 0 (RMSProp); with bias correction, Adam's.

    Attributes
    ----------
    ema : float
        Weight of the old v, in [0, 1).
    bias_correction : bool
        Whether the root is that of v / (1 - ema^updates), a proper average of the squares, and
        not that of v, which is too small while there have been few.
    """

    ema: float
    bias_correction: bool = False

    def initial(self, dimension: int) -> Array:
        """Return zeros."""
        return np.zeros(dimension)

    def updated(self, old: Array, gradient: Array) -> Array:
        """Return ema v + (1 - ema) g^2."""
        return self.ema * old + (1 - self.ema) * gradient**2

    def root(self, moment: Array, updates: int) -> Array:
        """Return sqrt(v), or sqrt(v / (1 - ema^updates))."""
        if self.bias_correction:
            return np.sqrt(moment / weight_sum(self.ema, updates))
        return np.sqrt(moment)


@dataclass(frozen=True)
class RunningSum:
    """v <- v + g^2 from v = 0 (AdaGrad)."""

    def initial(self, dimension: int) -> Array:
        """Return zeros."""
        return np.zeros(dimension)

    def updated(self, old: Array, gradient: Array) -> Array:
        """Return v + g^2."""
        return old + gradient**2

    def root(self, moment: Array, updates: int) -> Array:
        """Return sqrt(v)."""
        return np.sqrt(moment)


@dataclass(frozen=True)
class SignedSteps:
    """v <- v - (1 - ema) sign(v - g^2) g^2 (Yogi): the change never exceeds (1 - ema) g^2.

    Attributes
    ----------
    ema : float
        One minus the weight of the change, in [0, 1).
    initial_value : float
        v before the first gradient, > 0. v stays positive: it shrinks only while g^2 < v, and
        then by less than (1 - ema) v.
    """

    ema: float
    initial_value: float

    def initial(self, dimension: int) -> Array:
        """Return `initial_value` in every coordinate."""
        return np.full(dimension, self.initial_value)

    def updated(self, old: Array, gradient: Array) -> Array:
        """Return v - (1 - ema) sign(v - g^2) g^2."""
        square = gradient**2
        return old - (1 - self.ema) * np.sign(old - square) * square

    def root(self, moment: Array, updates: int) -> Array:
        """Return sqrt(v)."""
        return np.sqrt(moment)


@dataclass(frozen=True)
class FirstMoment:
    """m <- ema m + (1 - ema) g from m = 0: the direction of Adam and Yogi.

    Attributes
    ----------
    ema : float
        Weight of the old m, in [0, 1).
    bias_correction : bool
        Whether the direction is m / (1 - ema^updates).
    """

    ema: float
    bias_correction: bool = True

    def updated(self, old: Array, gradient: Array) -> Array:
        """Return ema m + (1 - ema) g."""
        return self.ema * old + (1 - self.ema) * gradient

    def value(self, moment: Array, updates: int) -> Array:
        """Return m, or m / (1 - ema^updates)."""
        return moment / weight_sum(self.ema, updates) if self.bias_correction else moment


def weight_sum(ema: float, updates: int) -> float:
    """Return 1 - ema^updates, the total weight of `updates` terms of an average from 0."""
    return -math.expm1(updates * math.log(ema)) if ema > 0 else 1.0


def effective_terms(ema: float, updates: int) -> float:
    """Return how many equally weighted terms average out as much noise as the average does.

    Term i of k has weight proportional to ema^(k-i). The answer is (sum of weights)^2 over the
    sum of squared weights: 1 after one update, (1 + ema) / (1 - ema) in the end.

    Parameters
    ----------
    ema : float
        Weight of the old average, in [0, 1).
    updates : int
        Number k of terms, at least 1.
    """
    squared = weight_sum(ema, updates) ** 2 / weight_sum(ema * ema, updates)
    return squared * (1 + ema) / (1 - ema)
