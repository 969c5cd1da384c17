"""From what runs to dp_accounting event trees.

A mechanism is described once, here; every accountant reads the tree.
"""

from __future__ import annotations

import dp_accounting

from accountants import validation
from accountants.sampling import Poisson, Sampling, WithoutReplacement, WithReplacement


def sampled_gaussian_event(*, sampling: Sampling, noise_multiplier: float) -> dp_accounting.DpEvent:
    """One noisy sum of clipped per-record vectors over one sampled batch.

    Parameters
    ----------
    sampling : Poisson, WithoutReplacement or WithReplacement
        How the batch is drawn.
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
    raise ValueError(
        f"sampling={sampling!r}: must be Poisson, WithoutReplacement or WithReplacement "
        "(accountants.sampling)"
    )


def dp_sgd_event(
    *, sampling: Sampling, noise_multiplier: float, steps: int
) -> dp_accounting.DpEvent:
    """``steps`` adaptive repetitions of one sampled Gaussian release (DP-SGD and its kin).

    Parameters
    ----------
    sampling : Poisson, WithoutReplacement or WithReplacement
        How each batch is drawn.
    noise_multiplier : float
        Noise std on the summed clipped gradients divided by the clip norm.
    steps : int
        Number of releases, >= 0.

    Returns
    -------
    dp_accounting.SelfComposedDpEvent

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    event = sampled_gaussian_event(sampling=sampling, noise_multiplier=noise_multiplier)
    return dp_accounting.SelfComposedDpEvent(event, validation.whole(steps, "steps"))


def dp2_event(*, sampling: Sampling, noise_multiplier: float, steps: int) -> dp_accounting.DpEvent:
    """``steps`` steps of DP² (Li et al., ICLR 2023): the same tree as DP-SGD.

    Both phases release one noisy clipped sum a step, and the preconditioner is a function of
    earlier releases, so that the delay does not enter the accounting.
    """
    return dp_sgd_event(sampling=sampling, noise_multiplier=noise_multiplier, steps=steps)
