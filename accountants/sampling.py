"""What a data loader really does, as frozen descriptions.

A description says how the records of one batch are drawn.  Accountants, samplers and the
planner all read the same object, so that the mechanism that runs is the one accounted.
"""

from __future__ import annotations

from dataclasses import dataclass

from accountants import validation


@dataclass(frozen=True)
class Poisson:
    """Every record enters a batch independently with ``sampling_probability``.

    The batch size is random; sums are divided by the public expected size.
    """

    sampling_probability: float

    def __post_init__(self) -> None:
        validation.probability(self.sampling_probability)


@dataclass(frozen=True)
class _FixedSize:
    dataset_size: int
    batch_size: int

    def __post_init__(self) -> None:
        validation.whole(self.dataset_size, "dataset_size", 1)
        validation.whole(self.batch_size, "batch_size", 1)


@dataclass(frozen=True)
class WithoutReplacement(_FixedSize):
    """A fresh uniform subset of ``batch_size`` distinct records for every batch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.require(
            self.batch_size <= self.dataset_size,
            "batch_size",
            self.batch_size,
            f"at most dataset_size={self.dataset_size} without replacement",
        )


@dataclass(frozen=True)
class WithReplacement(_FixedSize):
    """``batch_size`` independent uniform draws; one record may appear several times."""


Sampling = Poisson | WithoutReplacement | WithReplacement
