"""What the engine needs to know about one kind of release: caps, budget and scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from accountants.copies import CopyLaw, copies_for_tail
from accountants.errors import AccuracyError
from accountants.fixed_size import log_with_replacement, log_without_replacement
from accountants.profiles import log_gap, log_gaussian_delta
from accountants.sampling import (
    Poisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from accountants.tight import budget
from accountants.walk import Release

Array = NDArray[np.float64]

_ROUND_UP = 1 + 1e-11
_MAX_COPIES = 40


@dataclass(frozen=True)
class Step:
    """One kind of release under REPLACE_ONE.

    Attributes
    ----------
    q : float
        Expected number of copies of a record in a batch.
    sigma : float
        Noise multiplier.
    shift : float
        Largest move of the sum by one copy: 2 with batches of fixed size, else 1.
    copies : CopyLaw or None
        Number of copies, where it may exceed 1.
    single : bool
        Whether one pair is known to dominate at every a > 0, so that nothing is gained by
        the recursion.
    """

    q: float
    sigma: float
    shift: float
    copies: CopyLaw | None
    single: bool

    @property
    def tail(self) -> float:
        """Probability of more copies than accounted."""
        return self.copies.tail if self.copies else 0.0

    @cached_property
    def scale(self) -> float:
        """Width that the grid has to resolve: standard deviation of one step's loss, capped."""
        z = self.shift / self.sigma
        if self.shift == 2:
            spread = math.expm1(min(z * z, 60.0))
        else:
            spread = 2 * math.exp(-z * z) * math.expm1(min(2 * z * z, 60.0))
        return self.q * min(math.sqrt(spread), 8 * (1 + z))

    @cached_property
    def hellinger(self) -> float:
        """Certified largest 2 int (sqrt P - sqrt Q)^2 over all configurations."""
        if self.copies:
            return budget.with_replacement(self.copies, self.sigma)
        return budget.without_replacement(self.q, self.sigma)

    def caps(self, epsilon: Array) -> Array:
        """Upper bound on the one-step profile in both orders at ``epsilon`` >= 0."""
        if self.copies:
            values = np.exp(log_with_replacement(epsilon, self.copies, self.sigma))
        elif self.shift == 2:
            values = np.exp(log_without_replacement(epsilon, self.q, self.sigma))
        elif self.q == 1:
            values = np.exp(log_gaussian_delta(epsilon, 2 / self.sigma))
        else:
            values = np.exp(_log_poisson(epsilon, self.q, self.sigma))
        return np.minimum(values * _ROUND_UP, 1.0)


def _log_poisson(epsilon: Array, q: float, sigma: float) -> Array:
    """log δ of ((1-q)N(0)+qN(1), (1-q)N(0)+qN(-1)) at ε >= 0, as in docs/proofs/poisson.md.

    The threshold x solves a quadratic in exp(x/sigma^2).
    """
    gap = 1 / sigma
    near = np.log(np.maximum(np.expm1(np.minimum(epsilon, 1.0)), 1e-300))
    far = epsilon + np.log1p(-np.exp(-np.maximum(epsilon, 1.0)))
    log_b = np.where(epsilon > 1, far, near) + math.log1p(-q)
    log_root = 0.5 * np.logaddexp(2 * log_b, math.log(4) + epsilon + 2 * math.log(q) - gap * gap)
    log_w = np.logaddexp(log_b, log_root) - math.log(2) - math.log(q) + 0.5 * gap * gap
    u = sigma * log_w
    first = log_gap(u - gap, gap)
    second = epsilon + log_gap(u, gap) - u * gap - 0.5 * gap * gap
    return np.asarray(math.log(q) + np.logaddexp(first, second))


def step_of(release: Release, tail: float) -> Step:
    """The step of a release; copies beyond probability ``tail`` are cut off.

    Raises
    ------
    AccuracyError
        If the release is outside what the engine covers.
    """
    sampling, sigma = release.sampling, release.noise_multiplier
    if isinstance(sampling, Poisson):
        q = sampling.sampling_probability
        return Step(q, sigma, 1.0, None, single=True)
    if isinstance(sampling, WithoutReplacement):
        q = sampling.batch_size / sampling.dataset_size
        return Step(q, sigma, 2.0, None, single=q == 1)
    if isinstance(sampling, WithReplacement | WeightedWithReplacement):
        draws, w = sampling.batch_size, sampling.draw_probability
        if draws == 1:
            return Step(w, sigma, 2.0, None, single=w == 1)
        if not 0 < w < 1:
            raise AccuracyError(f"draw probability {w:g}: the tight engine needs it in (0, 1)")
        largest = copies_for_tail(draws, w, tail)
        if largest > _MAX_COPIES:
            raise AccuracyError(
                f"up to {largest} copies of a record in a batch: more than the tight engine takes"
            )
        law = CopyLaw.of(draws, w, largest=largest)
        return Step(draws * w, sigma, 2.0, law, single=False)
    raise AccuracyError(f"{type(sampling).__name__}: not covered by the tight engine")


def convex(values: Array, h: float) -> Array:
    """Largest convex function of a = exp(jh) below the values at the nodes.

    The profile that the values bound is convex in a, so that it stays below.  A point above a
    chord of two others is no vertex of the hull and is dropped, until there is none.
    """
    nodes = np.expm1(h * np.arange(values.size))
    kept = np.arange(values.size)
    while True:
        slopes = np.diff(values[kept]) / np.diff(nodes[kept])
        bad = np.flatnonzero(np.diff(slopes) < 0) + 1
        if not bad.size:
            return np.asarray(np.interp(nodes, nodes[kept], values[kept]))
        kept = np.delete(kept, bad)
