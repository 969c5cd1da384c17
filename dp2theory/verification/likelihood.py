"""Log-likelihoods of releases on a data set whose records are all alike but one.

A batch is known by two numbers, the copies k of the differing record and the number j of the
others. Given them the noisy sum is Gaussian around k a + j c, and all releases on one batch
share them: the likelihood of a step is a mixture over (k, j) of products over its releases.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import special

from dp2theory.problems.protocol import Array
from dp2theory.verification.neighbours import Side
from dp2theory.verification.trials import Release, Trials

#: The divisor of a batch of (copies, others), over the public one.
Divisor: TypeAlias = Callable[[Side, float, Array, Array], Array]


def public_divisor(side: Side, expected: float, copies: Array, others: Array) -> Array:
    """The expected batch size, as it should be."""
    return np.ones_like(copies)


def drawn_divisor(side: Side, expected: float, copies: Array, others: Array) -> Array:
    """The size of the batch that was drawn."""
    return np.maximum(1.0, copies + others) / expected


def counted_divisor(side: Side, expected: float, copies: Array, others: Array) -> Array:
    """Proportional to the number of records of this very data set."""
    whole = side.others + 1
    return np.full_like(copies, side.problem.dataset_size / whole)


@dataclass(frozen=True)
class Model:
    """What an attacker takes the mechanism to be.

    Attributes
    ----------
    divisor : callable
        What sums over batches are divided by.
    noise : tuple of float, optional
        Noise standard deviation of each release over what was asked for; ones if None.
    """

    divisor: Divisor = public_divisor
    noise: tuple[float, ...] | None = None


def step_scores(trials: Trials, model: Model) -> Array:
    """Return log p_first - log p_second of each run and step, shape (runs, steps).

    Releases over all records have no batch to share and are counted to the step they fall in.
    """
    logs = [_log_likelihoods(trials, side, model) for side in (0, 1)]
    with np.errstate(invalid="ignore"):
        difference = logs[0] - logs[1]
    # A log-likelihood of -inf on both sides tells nothing.
    return np.clip(np.nan_to_num(difference, nan=0.0), -1e12, 1e12)


def _log_likelihoods(trials: Trials, index: int, model: Model) -> Array:
    noise = model.noise or (1.0,) * len(trials.releases)
    numbered = list(zip(trials.releases, noise, strict=True))
    steps = [
        _step(trials, index, list(group), model)
        for _, group in itertools.groupby(numbered, key=lambda pair: pair[0].kind.step)
    ]
    return np.column_stack(steps)


def _step(
    trials: Trials, index: int, releases: Sequence[tuple[Release, float]], model: Model
) -> Array:
    side = trials.neighbours.sides[index]
    copies, others, log_chances = side.batches()
    divisor = model.divisor(side, trials.neighbours.expected_batch_size, copies, others)
    batch = np.zeros((trials.runs, copies.size))
    whole = np.zeros(trials.runs)
    everybody = np.array([float(side.present)]), np.array([float(side.others)]), np.ones(1)
    sampled = False
    for release, noise in releases:
        if release.kind.records == "all":
            whole += _exponents(release, index, noise, *everybody)[:, 0]
        else:
            sampled = True
            batch += _exponents(release, index, noise, copies, others, divisor)
    if not sampled:
        return whole
    return np.asarray(whole + special.logsumexp(batch + log_chances, axis=1))


def _exponents(
    release: Release, index: int, noise: float, copies: Array, others: Array, divisor: Array
) -> Array:
    """log density of the vector released, for each kind of batch, up to a common constant."""
    scale = (release.scales[index] * noise)[:, None]
    x = release.values / scale
    a, c = release.records[index] / scale, release.others[index] / scale
    # |D x - k a - j c|^2 by inner products, so that no (runs, batches, length) array is made.
    xx, xa, xc = _dot(x, x), _dot(x, a), _dot(x, c)
    aa, ac, cc = _dot(a, a), _dot(a, c), _dot(c, c)
    squares = (
        divisor**2 * xx
        - 2 * divisor * (copies * xa + others * xc)
        + copies**2 * aa
        + 2 * copies * others * ac
        + others**2 * cc
    )
    length = release.values.shape[1]
    return np.asarray(-0.5 * squares + length * (np.log(divisor) - np.log(scale)))


def _dot(one: Array, other: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", one, other))[:, None]
