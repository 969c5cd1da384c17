"""From a population to regularised empirical risks on disjoint parts of the data.

Feldman, Koren and Talwar 2020 (recalled; so are the constants): part i minimises the mean loss of
fresh records plus a regulariser around the answer of part i - 1 that grows sharply from part to
part. A record is in one part only, so that the parts do not compose: the guarantee of the whole is
that of the dearest part.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from accountants import validation
from dp2theory.problems.validation import positive_real, real_in, whole_number
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.functions import IndexArray

__all__ = ["RiskPart", "first_step", "part_sizes", "risk_parts", "split_records"]


@dataclass(frozen=True)
class RiskPart:
    """A regularised empirical risk: mean loss + regularisation/2 ||x - x_{i-1}||^2.

    Attributes
    ----------
    index : int
        i, from 1.
    dataset_size : int
        n_i.
    learning_rate : float
        eta_i.
    regularisation : float
        2/(eta_i n_i).
    domain_radius : float
        A minimiser lies within this of the start: at most L/regularisation.
    accuracy : float
        Excess that is asked for.
    """

    index: int
    dataset_size: int
    learning_rate: float
    regularisation: float
    domain_radius: float
    accuracy: float

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)


def first_step(
    *,
    dataset_size: int,
    dimension: int,
    lipschitz: float,
    radius: float,
    target_epsilon: float,
    target_delta: float,
    constants: PrivateConstants,
) -> float:
    """Return eta: R/L times the smaller of a/sqrt(n) and b epsilon/sqrt(d log(1/delta)).

    a and b are `statistical_step` and `private_step`.
    """
    size = whole_number("dataset_size", dataset_size)
    epsilon = validation.target_epsilon(target_epsilon, open_ends=True)
    delta = validation.target_delta(target_delta, open_ends=True)
    statistical = constants.statistical_step / math.sqrt(size)
    private = constants.private_step * epsilon / math.sqrt(dimension * -math.log(delta))
    return radius / lipschitz * min(statistical, private)


def part_sizes(dataset_size: int, parts: int, shrink: float = 2.0) -> tuple[int, ...]:
    """Return the records of every part: floor(n/shrink^i), and what is left over in part 1.

    Raises
    ------
    ValueError
        If the last part would be empty.
    """
    whole_number("dataset_size", dataset_size)
    whole_number("parts", parts)
    if not positive_real("shrink", shrink) > 1:
        raise ValueError(f"shrink={shrink!r} must be above 1")
    log_last = math.log(dataset_size) - parts * math.log(shrink)
    later = (
        [math.floor(dataset_size / shrink**i) for i in range(2, parts + 1)]
        if (parts == 1 or log_last >= 0)
        else [0]
    )
    if 0 in later:
        raise ValueError(
            f"parts={parts!r} must leave a record for each: dataset_size={dataset_size!r}"
        )
    return (dataset_size - sum(later), *later)


def split_records(
    dataset_size: int, sizes: tuple[int, ...], rng: np.random.Generator
) -> tuple[IndexArray, ...]:
    """Return disjoint sets of record indices of these sizes.

    The order is random and does not depend on the records.

    Parameters
    ----------
    dataset_size : int
        n, at least the sum of the sizes.
    sizes : tuple of int
    rng : numpy.random.Generator

    Returns
    -------
    tuple of ndarray of int
    """
    whole_number("dataset_size", dataset_size, minimum=sum(sizes))
    order = rng.permutation(dataset_size)
    cuts = np.cumsum((0, *sizes))
    return tuple(np.sort(order[a:b]) for a, b in itertools.pairwise(cuts))


def risk_parts(
    *,
    dataset_size: int,
    parts: int,
    dimension: int,
    lipschitz: float,
    radius: float,
    accuracy: float,
    target_epsilon: float,
    target_delta: float,
    constants: PrivateConstants | None = None,
) -> tuple[RiskPart, ...]:
    """Return the regularised empirical risks, one for each part.

    Parameters
    ----------
    dataset_size, parts : int
        n records in all, and into how many parts.
    dimension : int
        d.
    lipschitz, radius : float
        L and R.
    accuracy : float
        Excess asked of the whole; part i gets ``accuracy_share accuracy/accuracy_shrink^(i-1)``.
    target_epsilon, target_delta : float
        The budget, which limits the step size.
    constants : PrivateConstants, optional

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """
    constants = constants or PrivateConstants()
    whole_number("dimension", dimension)
    positive_real("lipschitz", lipschitz)
    positive_real("radius", radius)
    real_in("accuracy", positive_real("accuracy", accuracy), 0.0, lipschitz * radius)
    step = first_step(
        dataset_size=dataset_size,
        dimension=dimension,
        lipschitz=lipschitz,
        radius=radius,
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        constants=constants,
    )
    found = []
    target = constants.accuracy_share * accuracy
    for index, size in enumerate(part_sizes(dataset_size, parts, constants.part_shrink), 1):
        step /= constants.part_step_shrink
        regularisation = 2 / (step * size)
        # From the start a minimiser is within R, from a later point of the ball within 2R.
        domain = min(radius if index == 1 else 2 * radius, lipschitz / regularisation)
        found.append(RiskPart(index, size, step, regularisation, domain, target))
        target /= constants.accuracy_shrink
    return tuple(found)
