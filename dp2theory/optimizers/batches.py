"""Samplers: each draws the batches of a sampling description and emits the matching event.

The event is made from the same frozen description that drives the draws, so that what is
accounted is what runs. A loader that shuffles and walks through epochs is none of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from accountants.sampling import Poisson, Sampling, WithoutReplacement, WithReplacement
from dp2theory.problems.protocol import IndexArray
from dp2theory.problems.validation import whole_number

if TYPE_CHECKING:
    from dp_accounting import DpEvent


class Sampler(Protocol):
    """Draws batches of record indices."""

    @property
    def sampling(self) -> Sampling:
        """The description this sampler executes."""

    @property
    def dataset_size(self) -> int:
        """Number of records drawn from."""

    @property
    def expected_batch_size(self) -> float:
        """Public divisor of the noisy sum; never the size of the batch that was drawn."""

    def sample(self, rng: np.random.Generator) -> IndexArray:
        """Return the record indices of one batch."""

    def event(self, noise_multiplier: float, steps: int) -> DpEvent:
        """Return the event of `steps` noisy sums over batches of this sampler."""


@dataclass(frozen=True)
class _Described:
    sampling: Sampling
    dataset_size: int

    def event(self, noise_multiplier: float, steps: int) -> DpEvent:
        """Return the event of `steps` noisy sums over batches of this sampler."""
        from accountants.events import dp_sgd_event  # dp_accounting takes a second to import

        return dp_sgd_event(sampling=self.sampling, noise_multiplier=noise_multiplier, steps=steps)


@dataclass(frozen=True)
class PoissonSampler(_Described):
    """Every record enters the batch independently with the sampling probability.

    Drawn as a binomial size and a uniform subset of that size: the same law as one coin per
    record, at a cost that grows with the batch and not with the data set.
    """

    sampling: Poisson

    @property
    def expected_batch_size(self) -> float:
        """Sampling probability times the number of records."""
        return self.sampling.sampling_probability * self.dataset_size

    def sample(self, rng: np.random.Generator) -> IndexArray:
        """Return distinct record indices, possibly none."""
        size = rng.binomial(self.dataset_size, self.sampling.sampling_probability)
        return rng.choice(self.dataset_size, size, replace=False, shuffle=False)


@dataclass(frozen=True)
class WithoutReplacementSampler(_Described):
    """A fresh uniform subset of fixed size for every batch.

    Attributes
    ----------
    sampling : WithoutReplacement
        The description that is executed.
    dataset_size : int
    """

    sampling: WithoutReplacement

    @property
    def expected_batch_size(self) -> float:
        """The fixed batch size."""
        return float(self.sampling.batch_size)

    def sample(self, rng: np.random.Generator) -> IndexArray:
        """Return `batch_size` distinct record indices."""
        return rng.choice(self.dataset_size, self.sampling.batch_size, replace=False, shuffle=False)


@dataclass(frozen=True)
class WithReplacementSampler(_Described):
    """Independent uniform draws; a record that is drawn twice counts twice.

    Attributes
    ----------
    sampling : WithReplacement
        The description that is executed.
    dataset_size : int
    """

    sampling: WithReplacement

    @property
    def expected_batch_size(self) -> float:
        """The fixed batch size."""
        return float(self.sampling.batch_size)

    def sample(self, rng: np.random.Generator) -> IndexArray:
        """Return `batch_size` record indices, repeats possible."""
        return rng.integers(self.dataset_size, size=self.sampling.batch_size)


def make_sampler(sampling: Sampling, dataset_size: int) -> Sampler:
    """Return the sampler that executes a description on `dataset_size` records.

    Parameters
    ----------
    sampling : Poisson, WithoutReplacement or WithReplacement
        From `accountants.sampling`.
    dataset_size : int
        Number of records; the fixed-size descriptions must state the same number.

    Returns
    -------
    Sampler

    Raises
    ------
    ValueError
        For an unknown description, a probability of 0, or sizes that disagree.
    """
    dataset_size = whole_number("dataset_size", dataset_size)
    if isinstance(sampling, Poisson):
        if not sampling.sampling_probability > 0:
            raise ValueError(
                f"sampling_probability={sampling.sampling_probability!r} must be in (0, 1] "
                "to train: at 0 every batch is empty"
            )
        return PoissonSampler(sampling, dataset_size)
    if not isinstance(sampling, (WithoutReplacement, WithReplacement)):
        raise ValueError(
            f"sampling={sampling!r} must be a Poisson, WithoutReplacement or WithReplacement "
            "description"
        )
    if sampling.dataset_size != dataset_size:
        raise ValueError(
            f"sampling.dataset_size={sampling.dataset_size} must be the problem's number of "
            f"train records, {dataset_size}"
        )
    if isinstance(sampling, WithoutReplacement):
        return WithoutReplacementSampler(sampling, dataset_size)
    return WithReplacementSampler(sampling, dataset_size)
