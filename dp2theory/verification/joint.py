"""The likelihood of a whole run where the noise of its releases may hang together.

Right noise is fresh in every release. If some of it is used again, differences of releases show
what the noise hid. So the covariance of the noise between releases is measured on coordinates
that no gradient touches, and the likelihood sums over what all batches of a run may hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from dp2theory.problems.protocol import Array
from dp2theory.verification.trials import Trials

#: Ways to fill all batches of a run beyond which the sum over them is not tried.
MOST_WAYS = 512
_RUNS_AT_ONCE = 250
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Ways:
    """What the batches of a run may hold, on one data set.

    Attributes
    ----------
    copies, others : ndarray, shape (ways, releases)
    log_chances : ndarray, shape (ways,)
    """

    copies: Array
    others: Array
    log_chances: Array


def ways_of(trials: Trials, index: int) -> Ways | None:
    """Return all ways to fill the batches of a run, or None where they are too many."""
    side = trials.neighbours.sides[index]
    steps = sorted({release.kind.step for release in trials.releases})
    contents = [_contents(trials, index, step) for step in steps]
    if np.prod([float(chances.size) for _, _, chances in contents]) > MOST_WAYS:
        return None
    grids = np.meshgrid(*(np.arange(chances.size) for _, _, chances in contents), indexing="ij")
    chosen = {step: grid.ravel() for step, grid in zip(steps, grids, strict=True)}
    copies, others = [], []
    for release in trials.releases:
        step = release.kind.step
        mine, theirs, _ = contents[steps.index(step)]
        if release.kind.records == "all":
            copies.append(np.full(chosen[step].size, float(side.present)))
            others.append(np.full(chosen[step].size, float(side.others)))
        else:
            copies.append(mine[chosen[step]])
            others.append(theirs[chosen[step]])
    logs = [chances[chosen[step]] for step, (_, _, chances) in zip(steps, contents, strict=True)]
    return Ways(np.column_stack(copies), np.column_stack(others), np.sum(logs, axis=0))


def _contents(trials: Trials, index: int, step: int) -> tuple[Array, Array, Array]:
    """Copies, others and log chances of one batch; others that add nothing are not told apart."""
    releases = [
        release
        for release in trials.releases
        if release.kind.step == step and release.kind.records != "all"
    ]
    if not releases:
        return np.zeros(1), np.zeros(1), np.zeros(1)
    copies, others, logs = trials.neighbours.sides[index].batches()
    if any(release.others[index].any() for release in releases):
        return copies, others, logs
    kinds = np.unique(copies)
    sums = [special.logsumexp(logs[copies == kind]) for kind in kinds]
    return kinds, np.zeros_like(kinds), np.array(sums)


def measured_covariance(trials: Trials) -> Array | None:
    """Return the covariance of noise between releases, over what was asked for of each.

    None where releases differ in length or no coordinate is free of gradients in all of them.
    """
    releases = trials.releases
    if len({release.values.shape[1] for release in releases}) > 1:
        return None
    free = np.all([release.untouched for release in releases], axis=0)
    if not free.any():
        return None
    noise = np.stack(
        [
            (release.values[:, free] / release.scales[trials.side][:, None]).ravel()
            for release in releases
        ]
    )
    return np.asarray(noise @ noise.T / noise.shape[1])


def joint_scores(trials: Trials, covariance: Array) -> Array:
    """Return log p_first - log p_second of each run, shape (runs,)."""
    values, vectors = np.linalg.eigh(covariance)
    white = (vectors / np.sqrt(np.maximum(values, _LEAST_VARIANCE))).T
    first, second = (_log_likelihood(trials, index, white) for index in (0, 1))
    return np.clip(np.nan_to_num(first - second, nan=0.0), -1e12, 1e12)


def _log_likelihood(trials: Trials, index: int, white: Array) -> Array:
    ways = ways_of(trials, index)
    assert ways is not None
    touched = ~np.all([release.untouched for release in trials.releases], axis=0)

    def stacked(parts: list[Array]) -> Array:
        scaled = [
            part[:, touched] / release.scales[index][:, None]
            for part, release in zip(parts, trials.releases, strict=True)
        ]
        return np.stack(scaled, axis=1)  # (runs, releases, coordinates)

    values = stacked([release.values for release in trials.releases])
    records = stacked([release.records[index] for release in trials.releases])
    others = stacked([release.others[index] for release in trials.releases])
    logs = []
    for start in range(0, trials.runs, _RUNS_AT_ONCE):
        part = slice(start, start + _RUNS_AT_ONCE)
        gaps = values[part, None] - (
            ways.copies[None, :, :, None] * records[part, None]
            + ways.others[None, :, :, None] * others[part, None]
        )
        squares = np.einsum("ij,rwjc->rwic", white, gaps) ** 2
        exponents = -0.5 * squares.sum(axis=(2, 3)) + ways.log_chances
        logs.append(special.logsumexp(exponents, axis=1))
    return np.concatenate(logs)
