"""The private pipeline: population, regularised empirical risks, balls, phases; and its ledger."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dp2theory.resque.counters import Counter, Counts
from dp2theory.resque.functions import Array, Recorded, check_function, check_rng
from dp2theory.resque.localization import Release
from dp2theory.resque.private_erm import PartRun, minimise_privately
from dp2theory.resque.private_ledger import Ledger, PartLedger
from dp2theory.resque.private_plan import PrivatePlan
from dp2theory.resque.reduction import split_records

__all__ = ["PrivateRun", "run_private"]


@dataclass(frozen=True)
class PrivateRun:
    """What a private run returns; all of it may be published.

    Attributes
    ----------
    parameters : ndarray, shape (d,)
        The answer.
    counts : Counts
        Oracle calls, parallel rounds, steps, queries.
    ledger : Ledger
    parts : tuple of PartRun
    """

    parameters: Array = field(repr=False)
    counts: Counts
    ledger: Ledger
    parts: tuple[PartRun, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "parameters": self.parameters.tolist(),
            "counts": self.counts.to_json(),
            "ledger": self.ledger.to_json(),
            "parts": [part.to_json() for part in self.parts],
        }


def run_private(
    function: Recorded,
    plan: PrivatePlan,
    *,
    rng: np.random.Generator | int,
    counter: Counter | None = None,
    executor: Executor | None = None,
    observe: Callable[[Release], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PrivateRun:
    """Run a plan on a data set.

    Parameters
    ----------
    function : Recorded
        Mean over the records; it must be what was planned for.
    plan : PrivatePlan
    rng : numpy.random.Generator or int
        Order of the records, draws and noise; equal seeds give equal runs, bit for bit.
    counter : Counter, optional
    executor : concurrent.futures.Executor, optional
        Where queries are evaluated; the answer does not depend on it.
    observe : callable, optional
        Is shown every `Release`, its clean mean included: for tests and audits, not for users of
        a private run.
    progress : callable, optional
        ``progress(part, parts)`` after each part.

    Returns
    -------
    PrivateRun

    Raises
    ------
    ValueError
        If the function has another number of records or another L than the plan, no parts can be
        taken of it, or a part has an L or a dimension of its own.
    """
    check_function(function)
    if not isinstance(function, Recorded):
        raise ValueError(f"function={function!r} must be a mean over records (method `part`)")
    sizes = tuple(part.dataset_size for part in plan.parts)
    if function.sample_size != sum(sizes):
        raise ValueError(
            f"function has {function.sample_size} records, must have {sum(sizes)} as planned"
        )
    generator = check_rng(rng)
    counter = counter or Counter()
    before = counter.snapshot()
    groups = split_records(function.sample_size, sizes, generator)
    x = np.array(function.start, dtype=np.float64)
    runs: list[PartRun] = []
    for records, part in zip(groups, plan.parts, strict=True):
        share = function.part(records)
        if (share.lipschitz, share.dimension) != (function.lipschitz, function.dimension):
            raise ValueError(
                f"function.part: has lipschitz={share.lipschitz!r} and dimension="
                f"{share.dimension!r}, must have those of the whole, {function.lipschitz!r} and "
                f"{function.dimension!r}: else the noise would depend on the data"
            )
        run = minimise_privately(
            share,
            part,
            start=x,
            rng=generator,
            constants=plan.constants,
            counter=counter,
            executor=executor,
            observe=observe,
        )
        runs.append(run)
        x = run.parameters
        if progress is not None:
            progress(len(runs), len(sizes))
    ledger = Ledger(tuple(PartLedger(run.plan, run.calls) for run in runs))
    after = counter.snapshot().to_json()
    spent = Counts(**{name: after[name] - each for name, each in before.to_json().items()})
    return PrivateRun(x, spent, ledger, tuple(runs))
