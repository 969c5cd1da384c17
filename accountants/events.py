"""From what runs to dp_accounting event trees.

A mechanism is described once, here; every accountant reads the tree.
"""

from __future__ import annotations

import attr
import dp_accounting

from accountants import validation
from accountants.sampling import (
    OracleDraws,
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


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ResqueOracleDpEvent(dp_accounting.DpEvent):
    """One call of a private ReSQue ball oracle, of which only a dominating Gaussian is known.

    The call draws ``draws`` records uniformly with replacement.  For any two tuples of draws that
    differ in b >= 1 places its output laws are dominated, up to the failure probability, by two
    Gaussians that are 2b/``noise_multiplier`` standard deviations apart.  That is all: a call is
    no noisy sum, so that less is known of it than of ``SampledWithReplacementDpEvent``.

    Attributes
    ----------
    dataset_size, draws : int
        Records, and draws of all phases and restarts of the call together.
    noise_multiplier : float
        sigma; noise / sensitivity of one replaced draw is sigma/2.
    failure_probability : float
        Given b >= 1, the largest chance that the Gaussian bound fails.

    References
    ----------
    Derived in docs/proofs/resque.md.
    """

    dataset_size: int
    draws: int
    noise_multiplier: float
    failure_probability: float = 0.0


def resque_event(
    *,
    dataset_size: int,
    draws: int,
    noise_multiplier: float,
    failure_probability: float,
    calls: int,
) -> dp_accounting.DpEvent:
    """``calls`` adaptive calls of one private ReSQue ball oracle.

    Every call counts, also those of a search whose answer is thrown away.

    Parameters
    ----------
    dataset_size : int
        Records that are drawn from, >= 2.
    draws : int
        Draws of one call in all its phases and restarts, >= 1.
    noise_multiplier : float
        sigma >= 0 (twice the noise / sensitivity; at 0 epsilon is infinite); infinite only where
        nothing can fail.
    failure_probability : float
        In [0, 1]: given that the record is drawn, the chance that the Gaussian bound of a call
        fails.
    calls : int
        >= 0.

    Returns
    -------
    dp_accounting.SelfComposedDpEvent

    Raises
    ------
    ValueError
        If an argument is outside its domain.

    Examples
    --------
    >>> call = {"dataset_size": 100_000, "draws": 678, "noise_multiplier": 8.0}
    >>> resque_event(**call, failure_probability=1e-12, calls=216).count
    216
    """
    draws = validation.whole(draws, "draws", 1)
    sampling = OracleDraws(dataset_size, draws, failure_probability)
    sigma = validation.oracle_noise(noise_multiplier, sampling.failure_probability)
    event = ResqueOracleDpEvent(
        sampling.dataset_size, sampling.batch_size, sigma, float(sampling.failure_probability)
    )
    return dp_accounting.SelfComposedDpEvent(event, validation.whole(calls, "calls"))


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
