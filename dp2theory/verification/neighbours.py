"""Pairs of neighbouring data sets on which an optimizer gives away as much as it can.

Every record's gradient is one constant vector, however the parameters move, so that what is
released follows the pairs of distributions that the accountants prove to be attained
(`accountants/relations.py`, docs/proofs/lower-ends.md):

* Poisson batches: the record's gradient has the clip norm, the others' are 0;
* batches of fixed size: the others' are opposite to it, so that a batch without it moves the
  sum by two clip norms;
* replace-one: the record that takes its place has the opposite gradient.

The data sets are real linear models: their sums are clipped by `LinearProblem`. One pair more,
`turned`, shows an influence of raw gradients on the preconditioner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from scipy import stats

from accountants.sampling import Poisson, Sampling, WithoutReplacement, WithReplacement
from dp2theory.problems.linear import LinearProblem
from dp2theory.problems.protocol import Array
from dp2theory.problems.rows import DenseRows
from dp2theory.problems.validation import whole_number

#: Norm of a gradient that is clipped whatever it is divided by first.
LARGE = 1e6
#: Norm of the record's gradient where it is to drown the others in a preconditioner.
HUGE = 1e12
#: Coordinates that no gradient touches show the noise alone; they tell how large it is.
DIMENSION = 32


@dataclass(frozen=True)
class FixedSlope:
    """Loss slope * z: every record's gradient is its target times its row, at any parameters."""

    classifies: ClassVar[bool] = False

    def value(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.value`."""
        return predictions * targets

    def derivative(self, predictions: Array, targets: Array) -> Array:
        """See `PointLoss.derivative`."""
        return targets


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two data sets.

    Attributes
    ----------
    problem : LinearProblem
        The differing record, if there is one, is its first.
    sampling : Sampling
        How its batches are drawn.
    present : bool
        Whether the differing record is in it.
    """

    problem: LinearProblem
    sampling: Sampling
    present: bool

    @property
    def others(self) -> int:
        """Number of the records that both data sets share."""
        return self.problem.dataset_size - self.present

    def batches(self) -> tuple[Array, Array, Array]:
        """Return what a batch may hold: copies of the record, others, and log chances."""
        sampling = self.sampling
        if isinstance(sampling, Poisson):
            q = sampling.sampling_probability
            mine, theirs = np.arange(self.present + 1), np.arange(self.others + 1)
            copies, rest = (grid.ravel() for grid in np.meshgrid(mine, theirs, indexing="ij"))
            chance = stats.binom.pmf(copies, int(self.present), q)
            chance = chance * stats.binom.pmf(rest, self.others, q)
        elif isinstance(sampling, WithoutReplacement):
            m, n = sampling.batch_size, sampling.dataset_size
            copies = np.arange(self.present + 1)
            rest = m - copies
            chance = np.array([1 - m / n, m / n]) if self.present else np.ones(1)
        elif isinstance(sampling, WithReplacement):
            m = sampling.batch_size
            copies = np.arange(m * self.present + 1)
            rest = m - copies
            chance = stats.binom.pmf(copies, m, sampling.draw_probability * self.present)
        else:
            raise ValueError(f"sampling={sampling!r}: its batches are not known here")
        kept = chance > 0
        return copies[kept].astype(float), rest[kept].astype(float), np.log(chance[kept])


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two neighbouring data sets and the public divisor of both.

    Attributes
    ----------
    name : str
    sides : tuple of Side
        The data set with the record (or with +u in its place) and the other one.
    expected_batch_size : float
        The same for both: the number of records is no public quantity under add-or-remove-one.
    """

    name: str
    sides: tuple[Side, Side]
    expected_batch_size: float


#: Samplings whose batches are known here; those that `run` draws.
Known: TypeAlias = Poisson | WithoutReplacement | WithReplacement


def neighbouring_data_sets(
    sampling: Sampling, dataset_size: int, relation: str, *, dimension: int = DIMENSION
) -> list[Neighbours]:
    """Return the pairs of data sets that an audit tries.

    Parameters
    ----------
    sampling : Poisson, WithoutReplacement or WithReplacement
        Of the larger data set.
    dataset_size : int
        Records of the larger data set, at least 2; few, so that one of them counts.
    relation : str
        ``add-or-remove-one``, ``replace-one`` or ``replace-special``.
    dimension : int
        Number of coordinates, at least 3.

    Returns
    -------
    list of Neighbours
    """
    size = whole_number("dataset_size", dataset_size, minimum=2)
    whole_number("dimension", dimension, minimum=3)
    if relation not in ("add-or-remove-one", "replace-one", "replace-special"):
        raise ValueError(
            f"relation={relation!r} must be add-or-remove-one, replace-one or replace-special"
        )
    if not isinstance(sampling, (Poisson, WithoutReplacement, WithReplacement)):
        raise ValueError(
            f"sampling={sampling!r} must be a Poisson, WithoutReplacement or WithReplacement "
            "description"
        )
    first, second = np.zeros(dimension), np.zeros(dimension)
    first[0] = second[1] = 1.0
    u = LARGE * first
    opposite = {"add-or-remove-one": None, "replace-one": -u, "replace-special": 0 * u}[relation]
    make = _Maker(sampling, size)
    if isinstance(sampling, Poisson):
        pairs = [make("record", u, opposite, others=0 * u)]
    else:
        pairs = [make("record against others", u, opposite, others=-u)]
        if relation == "replace-special":
            pairs.append(make("record among its like", -u, opposite, others=-u))
        if isinstance(sampling, WithReplacement) and relation == "replace-one":
            pairs.append(make("record alone", u, opposite, others=0 * u))
    diagonal = u + LARGE * second
    replacement = None if opposite is None else (diagonal if opposite.any() else opposite)
    pairs.append(make("turned", HUGE * first, replacement, others=diagonal))
    return pairs


@dataclass(frozen=True)
class _Maker:
    sampling: Known
    size: int

    def __call__(
        self, name: str, record: Array, replaced: Array | None, *, others: Array
    ) -> Neighbours:
        rest = np.tile(others, (self.size - 1, 1))
        whole = _problem(np.vstack([record, rest]))
        if isinstance(self.sampling, Poisson):
            divisor = self.sampling.sampling_probability * self.size
        else:
            divisor = float(self.sampling.batch_size)
        if replaced is not None:
            swapped = Side(_problem(np.vstack([replaced, rest])), self.sampling, True)
        else:
            swapped = Side(_problem(rest), _smaller(self.sampling), False)
        return Neighbours(name, (Side(whole, self.sampling, True), swapped), divisor)


def _problem(gradients: Array) -> LinearProblem:
    targets = np.ones(len(gradients))
    return LinearProblem(
        "worst-case", {"train": DenseRows(gradients)}, {"train": targets}, FixedSlope()
    )


def _smaller(sampling: Known) -> Known:
    """The sampling on a data set with one record less."""
    if isinstance(sampling, Poisson):
        return sampling
    if sampling.batch_size > sampling.dataset_size - 1 and isinstance(sampling, WithoutReplacement):
        raise ValueError(
            f"batch_size={sampling.batch_size!r} must be below "
            f"dataset_size={sampling.dataset_size!r}: the smaller neighbour has to fill a batch"
        )
    return type(sampling)(sampling.dataset_size - 1, sampling.batch_size)


def smallest_shift(sampling: Sampling, relation: str) -> float:
    """Return by how many clip norms the record moves a sum, for choosing a noise multiplier."""
    alone = isinstance(sampling, Poisson) and relation != "replace-one"
    return 1.0 if alone else 2.0
