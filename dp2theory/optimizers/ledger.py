"""The ledger: which releases were made, as the event that the accountants read.

One step makes one release on a fresh batch, perhaps more on the same batch, and perhaps one over
all records. Gaussian releases on one batch are one Gaussian release of the stacked vector: in
units of its noise a record moves it by at most sqrt(sum sigma_k^-2), so that the stack costs what
one release with multiplier (sum sigma_k^-2)^(-1/2) costs. Derived in docs/proofs/joint-releases.md,
which needs the queries on one batch to be fixed before the first of them is answered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accountants import validation
from dp2theory.optimizers.batches import Sampler, make_sampler
from dp2theory.optimizers.statistics import LENGTHS
from dp2theory.optimizers.steps import Optimizer, Query
from dp2theory.problems.validation import whole_number

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants.sampling import Sampling

#: Steps of a dry run: it takes some microseconds for each, and a calibration makes many.
LARGEST_PLAN = 10**7
#: Slack of a sum of squares of floats, taken off the joint multiplier.
_ROUNDING = 1e-15


def joint_noise_multiplier(multipliers: Sequence[float]) -> float:
    """Return the multiplier of one release that costs what these on one batch cost together.

    Parameters
    ----------
    multipliers : sequence of float
        Noise multipliers of the releases, >= 0, at least one.

    Returns
    -------
    float
        (sum sigma_k^-2)^(-1/2), rounded down where there are several.
    """
    values = validation.reals("multipliers", multipliers, "numbers >= 0, at least one")
    good = values.ndim == 1 and values.size > 0 and bool((values >= 0).all())
    validation.require(good, "multipliers", multipliers, "numbers >= 0, at least one")
    if len(multipliers) == 1:
        return float(multipliers[0])
    smallest = min(multipliers)
    if smallest in (0, math.inf):
        return float(smallest)
    total = math.fsum((smallest / sigma) ** 2 for sigma in multipliers)
    return smallest / math.sqrt(total) * (1 - len(multipliers) * _ROUNDING)


class Ledger:
    """Collects releases as they are made.

    Parameters
    ----------
    sampler : Sampler
        Whose batches are released on.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._batch: tuple[float, ...] | None = None
        self._batches: dict[tuple[float, ...], int] = {}
        self._full: dict[float, int] = {}

    def add(self, query: Query) -> None:
        """Count a release.

        Raises
        ------
        ValueError
            When a query asks for the same batch before there was one, or for unknown records.
        """
        sigma = float(query.noise_multiplier)
        if query.records == "all":
            self._full[sigma] = self._full.get(sigma, 0) + 1
        elif query.records == "new-batch":
            self._count((sigma,))
        elif query.records == "same-batch":
            if self._batch is None:
                raise ValueError("records='same-batch' was asked for before any batch was drawn")
            before, self._batch = self._batch, None
            self._batches[before] -= 1
            self._count((*before, sigma))
        else:
            raise ValueError(f"records={query.records!r} must be one of new-batch, same-batch, all")

    def _count(self, batch: tuple[float, ...]) -> None:
        self._batches[batch] = self._batches.get(batch, 0) + 1
        self._batch = batch

    def event(self, noise_multiplier: float) -> DpEvent:
        """Return the event of all releases so far.

        Parameters
        ----------
        noise_multiplier : float
            Of the optimizer, for the event of no release at all.
        """
        from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent

        parts: list[DpEvent] = [
            SelfComposedDpEvent(GaussianDpEvent(sigma), count)
            for sigma, count in self._full.items()
        ]
        parts += [
            self._sampler.event(joint_noise_multiplier(batch), count)
            for batch, count in self._batches.items()
            if count
        ]
        if not parts:
            return self._sampler.event(noise_multiplier, 0)
        return parts[0] if len(parts) == 1 else ComposedDpEvent(parts)


def planned_event(
    optimizer: Optimizer, sampling: Sampling, dataset_size: int, steps: int
) -> DpEvent:
    """Return the event that a run from a fresh state will have executed, without running it.

    Parameters
    ----------
    optimizer : Optimizer
    sampling : Sampling
        How batches will be drawn.
    dataset_size : int
        Number of private records.
    steps : int
        Steps of the run, from 0 to 10^7.

    Returns
    -------
    DpEvent
        Equal to the `ledger` of `dp2theory.optimizers.protocol.run`.
    """
    steps = whole_number("steps", steps, minimum=0, maximum=LARGEST_PLAN)
    ledger = Ledger(make_sampler(sampling, dataset_size))
    # Queries depend on step and stage alone, so that any release serves, and one coordinate does
    # where the optimizer is not made for a certain dimension.
    dimension = getattr(optimizer, "dimension", 1)
    parameters, state = np.zeros(dimension), optimizer.initial_state(dimension)
    with np.errstate(all="ignore"):
        while state.step < steps:
            query = optimizer.query(state)
            ledger.add(query)
            released = np.ones(LENGTHS.get(query.statistic, dimension))
            parameters, state = optimizer.apply(parameters, state, released)
    return ledger.event(optimizer.noise_multiplier)
