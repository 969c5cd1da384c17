"""Many runs of an optimizer on one of two data sets, and what an attacker keeps of each.

The attacker sees every released vector (`on_release` of the real `run`) and the parameters and
state at the end, and he knows the optimizer, both data sets and the clipping (`replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp2theory.optimizers.protocol import run
from dp2theory.problems.protocol import Array
from dp2theory.verification.neighbours import Neighbours
from dp2theory.verification.replay import VARYING, Kind, MakeOptimizer, Replayer

if TYPE_CHECKING:
    from dp_accounting import DpEvent

#: Runs that share one stream of random numbers: the unit of work of an executor.
CHUNK = 250


@dataclass(frozen=True, eq=False)
class Release:
    """One release of many runs; first axis: runs.

    Attributes
    ----------
    kind : Kind
    values : ndarray, shape (runs, length)
        The released vectors times the public divisor: noisy sums.
    scales : ndarray, shape (2, runs)
        Noise standard deviation of the sum as asked for, on either data set.
    records, others : tuple of ndarray, each of shape (runs, length)
        What one copy of the differing record, and one of the others, adds to the sum, on either
        data set.
    """

    kind: Kind
    values: Array
    scales: Array
    records: tuple[Array, Array]
    others: tuple[Array, Array]

    @property
    def untouched(self) -> Array:
        """Which coordinates hold noise alone, shape (length,)."""
        parts = [np.abs(part).max(axis=0, initial=0.0) for part in (*self.records, *self.others)]
        return np.asarray(np.max(parts, axis=0) == 0)


@dataclass(frozen=True, eq=False)
class Trials:
    """Runs on one data set.

    Attributes
    ----------
    neighbours : Neighbours
        The two data sets.
    side : int
        Which of them the runs were on: the attacker must not look.
    releases : tuple of Release
    strays : ndarray, shape (2, runs)
        How far parameters and state at the end are from a replay on either data set.
    drifts : ndarray, shape (runs, dimension)
        Parameters at the end less those of the replay on the first data set.
    event : DpEvent
        The ledger of a run.
    """

    neighbours: Neighbours
    side: int
    releases: tuple[Release, ...]
    strays: Array
    drifts: Array
    event: DpEvent

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(self.strays.shape[1])


def observe(
    make: MakeOptimizer,
    neighbours: Neighbours,
    side: int,
    *,
    steps: int,
    runs: int,
    seed: np.random.SeedSequence,
    executor: Executor | None = None,
    on_runs: Callable[[int], None] | None = None,
) -> Trials:
    """Run an optimizer `runs` times on one of two data sets and keep what an attacker sees.

    Parameters
    ----------
    make : callable
        Answers the optimizer for a data set.
    neighbours : Neighbours
    side : int
        0 or 1.
    steps, runs : int
    seed : numpy.random.SeedSequence
        Each `CHUNK` runs get a generator of their own spawned from it, and draw from it one
        after the other.
    executor : concurrent.futures.Executor, optional
        Runs chunks side by side; the outcome does not depend on it. `make` must be picklable
        where it has processes.
    on_runs : callable, optional
        Called with the number of runs that have been done since the last call.

    Returns
    -------
    Trials

    Raises
    ------
    ValueError
        When runs differ in what they release: then no ledger can be foretold.
    """
    sizes = [CHUNK] * (runs // CHUNK) + [runs % CHUNK] * (runs % CHUNK > 0)
    chunks = [
        _Chunk(make, neighbours, side, steps, size, part)
        for size, part in zip(sizes, seed.spawn(len(sizes)), strict=True)
    ]
    parts = []
    for part in _done(chunks, executor):
        parts.append(part)
        if on_runs is not None:
            on_runs(part.runs)
    return joined(parts)


def joined(parts: Sequence[Trials]) -> Trials:
    """Return the trials of several calls as one.

    Raises
    ------
    ValueError
        When they differ in what they release.
    """
    first = parts[0]
    if len({tuple(release.kind for release in part.releases) for part in parts}) > 1:
        raise ValueError(VARYING)
    releases = [
        Release(
            kind=releases[0].kind,
            values=np.concatenate([release.values for release in releases]),
            scales=np.concatenate([release.scales for release in releases], axis=1),
            records=_stacked([release.records for release in releases]),
            others=_stacked([release.others for release in releases]),
        )
        for releases in zip(*(part.releases for part in parts), strict=True)
    ]
    return Trials(
        neighbours=first.neighbours,
        side=first.side,
        releases=tuple(releases),
        strays=np.concatenate([part.strays for part in parts], axis=1),
        drifts=np.concatenate([part.drifts for part in parts]),
        event=first.event,
    )


def _stacked(pairs: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    first, second = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return first, second


def _done(chunks: Sequence[_Chunk], executor: Executor | None) -> Iterator[Trials]:
    if executor is None:
        for chunk in chunks:
            yield chunk()
        return
    futures: list[Future[Trials]] = [executor.submit(chunk) for chunk in chunks]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


@dataclass(frozen=True)
class _Chunk:
    make: MakeOptimizer
    neighbours: Neighbours
    side: int
    steps: int
    runs: int
    seed: np.random.SeedSequence

    def __call__(self) -> Trials:
        here = self.neighbours.sides[self.side]
        rng = np.random.Generator(np.random.SFC64(self.seed))
        replayer = Replayer(self.make, self.neighbours)
        rows, strays, drifts = [], [], []
        kept: list[Array] = []

        def keep(_step: int, released: Array) -> None:
            kept.append(released.copy())

        for _ in range(self.runs):
            kept.clear()
            result = run(
                self.make(here.problem),
                here.problem,
                sampling=here.sampling,
                steps=self.steps,
                rng=rng,
                expected_batch_size=self.neighbours.expected_batch_size,
                on_release=keep,
            )
            seen = replayer(kept, result.parameters, result.state)
            rows.append(seen.releases)
            strays.append(seen.strays)
            drifts.append(seen.drift)
        releases = []
        for kind, column in zip(replayer.kinds, zip(*rows, strict=True), strict=True):
            values, scales, records, others = (list(x) for x in zip(*column, strict=True))
            releases.append(
                Release(kind, np.array(values), np.array(scales).T, _sides(records), _sides(others))
            )
        return Trials(
            self.neighbours,
            self.side,
            tuple(releases),
            np.array(strays).T,
            np.array(drifts),
            result.ledger,
        )


def _sides(rows: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
