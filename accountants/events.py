"""From what runs to dp_accounting event trees.

A mechanism is described once, here; every accountant reads the tree.
"""

from __future__ import annotations

import attr
import dp_accounting

from accountants import validation
from accountants.sampling import (
    Poisson,
    Sampling,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class WeightedWithReplacementDpEvent(dp_accounting.DpEvent):
    """A mechanism on a batch of weighted draws with replacement.

    Attributes
    ----------
    largest_probability : float
        Largest share of one record in the weights, which do not depend on the data.
    sample_size : int
        Draws for the batch.
    event : dp_accounting.DpEvent
        What is applied to the batch.
    """

    largest_probability: float
    sample_size: int
    event: dp_accounting.DpEvent


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffledEpochDpEvent(dp_accounting.DpEvent):
    """One epoch over a shuffled data set: a mechanism on every batch of a partition.

    Attributes
    ----------
    dataset_size, batch_size : int
        Records, and records in a batch.
    event : dp_accounting.DpEvent
        What is applied to each batch.
    """

    dataset_size: int
    batch_size: int
    event: dp_accounting.DpEvent


def sampled_gaussian_event(*, sampling: Sampling, noise_multiplier: float) -> dp_accounting.DpEvent:
    """One noisy sum of clipped per-record vectors over one sampled batch.

    Parameters
    ----------
    sampling : Sampling
        How the batch is drawn (``accountants.sampling``); ``ShuffledEpochs`` gives the event of
        one whole epoch.
    noise_multiplier : float
        Noise std on the sum divided by the clip norm, >= 0.

    Returns
    -------
    dp_accounting.DpEvent

    Raises
    ------
    ValueError
        If ``noise_multiplier`` is NaN or negative, or ``sampling`` is not a description.
    """
    gaussian = dp_accounting.GaussianDpEvent(validation.noise_multiplier(noise_multiplier))
    if isinstance(sampling, Poisson):
        return dp_accounting.PoissonSampledDpEvent(sampling.sampling_probability, gaussian)
    if isinstance(sampling, WithoutReplacement):
        return dp_accounting.SampledWithoutReplacementDpEvent(
            sampling.dataset_size, sampling.batch_size, gaussian
        )
    if isinstance(sampling, WithReplacement):
        return dp_accounting.SampledWithReplacementDpEvent(
            sampling.dataset_size, sampling.batch_size, gaussian
        )
    if isinstance(sampling, WeightedWithReplacement):
        return WeightedWithReplacementDpEvent(
            sampling.largest_probability, sampling.batch_size, gaussian
        )
    if isinstance(sampling, ShuffledEpochs):
        return ShuffledEpochDpEvent(sampling.dataset_size, sampling.batch_size, gaussian)
    if isinstance(sampling, TruncatedPoisson):
        return dp_accounting.TruncatedSubsampledGaussianDpEvent(
            sampling.dataset_size,
            sampling.sampling_probability,
            sampling.truncated_batch_size,
            gaussian.noise_multiplier,
        )
    raise ValueError(
        f"sampling={sampling!r}: must be a description of accountants.sampling, such as "
        "Poisson, WithoutReplacement or WithReplacement"
    )


def dp_sgd_event(
    *, sampling: Sampling, noise_multiplier: float, steps: int
) -> dp_accounting.DpEvent:
    """``steps`` adaptive repetitions of one sampled Gaussian release (DP-SGD and its kin).

    Parameters
    ----------
    sampling : Sampling
        How each batch is drawn (``accountants.sampling``).
    noise_multiplier : float
        Noise std on the summed clipped gradients divided by the clip norm.
    steps : int
        Number of releases, >= 0; with ``ShuffledEpochs`` a multiple of the batches of an epoch.

    Returns
    -------
    dp_accounting.SelfComposedDpEvent

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    event = sampled_gaussian_event(sampling=sampling, noise_multiplier=noise_multiplier)
    times = validation.whole(steps, "steps")
    if isinstance(sampling, ShuffledEpochs):
        batches = sampling.batches
        allowed = f"a multiple of the {batches} batches of an epoch (only whole epochs are covered)"
        validation.require(times % batches == 0, "steps", times, allowed)
        times //= batches
    return dp_accounting.SelfComposedDpEvent(event, times)


def dp2_event(*, sampling: Sampling, noise_multiplier: float, steps: int) -> dp_accounting.DpEvent:
    """``steps`` steps of DP² (Li et al., ICLR 2023): the same tree as DP-SGD.

    Both phases release one noisy clipped sum a step, and the preconditioner is a function of
    earlier releases, so that the delay does not enter the accounting.
    """
    return dp_sgd_event(sampling=sampling, noise_multiplier=noise_multiplier, steps=steps)
