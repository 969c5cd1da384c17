"""What a data loader really does, as frozen descriptions.

A description says how the records of one batch are drawn.  Accountants, samplers and the
planner all read the same object, so that the mechanism that runs is the one accounted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from accountants import validation


@dataclass(frozen=True)
class Poisson:
    """Every record enters a batch independently with ``sampling_probability``.

    The batch size is random; sums are divided by the public expected size.
    """

    sampling_probability: float
    scheme: ClassVar[str] = "poisson"

    def __post_init__(self) -> None:
        validation.probability(self.sampling_probability)


@dataclass(frozen=True)
class GroupedPoisson:
    """Poisson sampling seen by a group of ``group_size`` records, each with a coin of its own.

    The number of them in a batch is binomial.  It describes no loader: `GroupAccountant` puts it
    in the place of ``Poisson`` where the unit of privacy is a group.

    Attributes
    ----------
    sampling_probability : float
        Of every record, in [0, 1].
    group_size : int
        Records of the group, >= 1.
    """

    sampling_probability: float
    group_size: int
    scheme: ClassVar[str] = "poisson-group"

    def __post_init__(self) -> None:
        validation.probability(self.sampling_probability)
        validation.whole(self.group_size, "group_size", 1)


@dataclass(frozen=True)
class _FixedSize:
    dataset_size: int
    batch_size: int

    def __post_init__(self) -> None:
        validation.whole(self.dataset_size, "dataset_size", 1)
        validation.whole(self.batch_size, "batch_size", 1)


@dataclass(frozen=True)
class WithoutReplacement(_FixedSize):
    """A fresh uniform subset of ``batch_size`` distinct records for every batch.

    Both sizes are public; under add-or-remove-one ``dataset_size`` is the larger of the two.
    """

    scheme: ClassVar[str] = "without-replacement"

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.require(
            self.batch_size <= self.dataset_size,
            "batch_size",
            self.batch_size,
            f"at most dataset_size={self.dataset_size} without replacement",
        )

    @property
    def sampling_probability(self) -> float:
        """Chance of a record to be in one batch, m/n."""
        return self.batch_size / self.dataset_size


@dataclass(frozen=True)
class WithReplacement(_FixedSize):
    """``batch_size`` independent uniform draws; one record may appear several times."""

    scheme: ClassVar[str] = "with-replacement"

    @property
    def draw_probability(self) -> float:
        """Chance of a record to be what one draw gives, 1/n."""
        return 1 / self.dataset_size


@dataclass(frozen=True)
class WeightedWithReplacement:
    """``batch_size`` independent draws with fixed weights that do not depend on the data.

    ``largest_probability`` is the largest share of one record in the weights; under
    add-or-remove-one it must also bound the share of a record that is added.  Make one from
    weights with ``weighted_sampling``.
    """

    largest_probability: float
    batch_size: int
    scheme: ClassVar[str] = "weighted-with-replacement"

    def __post_init__(self) -> None:
        allowed = "a number in (0, 1)"
        value = validation.real("largest_probability", self.largest_probability, allowed)
        validation.require(0 < value < 1, "largest_probability", value, allowed)
        validation.whole(self.batch_size, "batch_size", 1)

    @property
    def draw_probability(self) -> float:
        """Largest chance of a record to be what one draw gives."""
        return self.largest_probability


@dataclass(frozen=True)
class ShuffledEpochs(_FixedSize):
    """Batches that partition a shuffled data set; one use of this is one whole epoch.

    Every record is in exactly one batch of an epoch (the last one may be smaller).
    """

    scheme: ClassVar[str] = "shuffled-epochs"

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.require(
            self.batch_size <= self.dataset_size,
            "batch_size",
            self.batch_size,
            f"at most dataset_size={self.dataset_size} where epochs are shuffled",
        )

    @property
    def batches(self) -> int:
        """Number of batches, and of releases, in one epoch."""
        return -(-self.dataset_size // self.batch_size)


@dataclass(frozen=True)
class TruncatedPoisson:
    """Poisson sampling, cut to a random subset of ``truncated_batch_size`` where it gives more.

    Attributes
    ----------
    dataset_size : int
        Records, >= 1; accountants cover both readings of it, with and without the record.
    sampling_probability : float
        Of every record before the cut, in [0, 1].
    truncated_batch_size : int
        Largest size of a batch, >= 1.
    """

    dataset_size: int
    sampling_probability: float
    truncated_batch_size: int
    scheme: ClassVar[str] = "truncated-poisson"

    def __post_init__(self) -> None:
        validation.whole(self.dataset_size, "dataset_size", 1)
        validation.probability(self.sampling_probability)
        validation.whole(self.truncated_batch_size, "truncated_batch_size", 1)


@dataclass(frozen=True)
class OracleDraws(_FixedSize):
    """The uniform draws with replacement of one call of a private ReSQue ball oracle.

    ``batch_size`` counts the draws of all phases and restarts of the call together, because the
    Gaussian bound that stands behind a call is one for the number of draws in all of them.
    Given that the record is drawn, that bound fails with probability ``failure_probability`` at
    most (docs/proofs/resque.md).
    """

    failure_probability: float = 0.0
    scheme: ClassVar[str] = "resque-oracle"

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.whole(self.dataset_size, "dataset_size", 2)
        validation.probability(self.failure_probability, "failure_probability")

    @property
    def draw_probability(self) -> float:
        """Chance of a record to be what one draw gives, 1/n."""
        return 1 / self.dataset_size


#: Independent draws, so that one record may be in a batch several times.  Each has a
#: ``batch_size`` (its draws) and a ``draw_probability`` (chance of a draw to give the record).
Repeating = WithReplacement | WeightedWithReplacement | OracleDraws

#: Every description.  Code that asks which one it has ends in ``assert_never``, so that mypy
#: names the places that a new scheme must be added to.
Sampling = (
    Poisson | GroupedPoisson | WithoutReplacement | ShuffledEpochs | TruncatedPoisson | Repeating
)


def weighted_sampling(
    weights: ArrayLike, *, batch_size: int, weights_depend_on_data: bool
) -> WeightedWithReplacement:
    """The description of PyTorch's ``WeightedRandomSampler(weights, …, replacement=True)``.

    Parameters
    ----------
    weights : array_like, shape (n,)
        Weights >= 0 attached to positions in the data set, not all 0; at least two positive.
    batch_size : int
        Draws for one batch.
    weights_depend_on_data : bool
        Whether any weight was computed from the data (class balancing, loss-based sampling).

    Returns
    -------
    WeightedWithReplacement

    Raises
    ------
    ValueError
        If the weights are not such numbers, or depend on the data: then replacing a record
        changes the weights of others, and nothing here covers that.
    """
    validation.require(
        weights_depend_on_data is False,
        "weights_depend_on_data",
        weights_depend_on_data,
        "False: weights computed from the data (class balancing, for one) have no theorem; use "
        "weights fixed in advance, or uniform draws (WithReplacement)",
    )
    allowed = "a vector of finite numbers >= 0, at least two of them > 0"
    values = validation.reals("weights", weights, allowed)
    good = values.ndim == 1 and values.size > 1 and bool(np.isfinite(values).all())
    good = good and bool((values >= 0).all()) and int((values > 0).sum()) > 1
    shown = f"array of shape {values.shape}"
    if not good:
        raise ValueError(f"weights={shown}: must be {allowed}")
    values = values / values.max()  # so that the sum stays finite
    largest = float(1 / values.sum())
    # The division and the sum round: the share is rounded up so that it bounds the true one.
    return WeightedWithReplacement(largest * (1 + values.size * 2.0**-52), batch_size)
