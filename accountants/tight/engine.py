"""Tight upper ends under REPLACE_ONE: which runs of the recursion to make, and their minimum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from accountants import validation
from accountants.errors import AccuracyError
from accountants.tight import kernel
from accountants.tight.fold import Fold, Worst
from accountants.tight.steps import Step, convex, step_of
from accountants.walk import Release

Array = NDArray[np.float64]

#: Smallest δ that the grids resolve.
SMALLEST_DELTA = 1e-10
_GRIDS = (
    0.1,
    0.12,
    0.15,
    0.2,
    0.25,
    0.28,
    0.32,
    0.4,
)  # node distance in units of the scale of a step
_FINER = (0.04, 0.06)  # for few steps
_WIDER = ((0.4, 1.02), (0.55, 1.0), (0.8, 1.0))  # tried where none of these runs well
_CLEAN = 1e-9  # extra mass of a run as good as none
_HOPELESS = 1.0  # extra mass at which a run is given up
_AMPLIFIED = 1.05  # growth of a wave on the nodes in one step beyond which no run is tried
_FEW = 50  # steps for which that does not matter
_MAX_NODES = 60_000
_MAX_LOSS = 500.0  # loss at the end of a table
_WORK = (3e9, 1.8e6)  # of a run on a fine grid, 1/3 ns: at least, and for each step
_MOST_WORK = (9e9, 3e6)  # of a run on a coarse grid
_COARSE = 0.4
_CUT = 1e-6  # share of delta that the ends of tables may cost
_TAIL = 1e-4  # share of delta that copies beyond those counted may cost
_ROUNDING = 0.5  # share of delta that rounding may cost


@dataclass(frozen=True)
class TightRun:
    """One run of the recursion.

    Attributes
    ----------
    grid : float
        Node distance in units of the scale of a step.
    factor : float
        Factor on the Hellinger budget, >= 1.
    nodes : int
    value : float
        Its answer; inf where it was given up.
    extra : float
        Mass added to keep the law unimodal; near 0 in a good run.
    """

    grid: float
    factor: float
    nodes: int
    value: float
    extra: float


@dataclass(frozen=True)
class TightAnswer:
    """Smallest of several proved upper ends.

    Attributes
    ----------
    value : float
        Upper end of ε or of log δ.
    extra : float
        Extra mass of the run that gave it.
    runs : tuple of TightRun
        All of them, in the order in which they were made.
    """

    value: float
    extra: float
    runs: tuple[TightRun, ...]


def tight_epsilon(counts: Mapping[Release, int], target_delta: float) -> TightAnswer:
    """Upper end of ε under REPLACE_ONE against adaptive adversaries.

    Parameters
    ----------
    counts : mapping of Release to int
        How often each release is used, in any order.
    target_delta : float
        δ in [1e-10, 1).

    Returns
    -------
    TightAnswer

    Raises
    ------
    ValueError
        If ``target_delta`` is not in (0, 1).
    AccuracyError
        If the run is outside the range of this engine, or no run of it is of use.

    Notes
    -----
    Fold and Hellinger budget, derived in docs/proofs/adaptive.md.
    """
    target = validation.target_delta(target_delta, open_ends=True)
    if target < SMALLEST_DELTA:
        raise AccuracyError(f"delta {target:g}: the tight engine resolves {SMALLEST_DELTA:g} up")
    plan = _plan(counts, target)
    inner = (target - plan.tail) / (1 - plan.tail) * (1 - 1e-14)
    return _best(_runs(plan, target, lambda worst: worst.epsilon(inner)))


def tight_log_delta(counts: Mapping[Release, int], epsilon: float) -> TightAnswer:
    """Upper end of log δ(ε) under REPLACE_ONE against adaptive adversaries.

    Parameters
    ----------
    counts : mapping of Release to int
    epsilon : float
        ε >= 0, finite.

    Returns
    -------
    TightAnswer

    Raises
    ------
    ValueError
        If ``epsilon`` is outside its domain.
    AccuracyError
        If the run is outside the range of this engine, δ is below 1e-10, or no run is of use.
    """
    at = validation.target_epsilon(epsilon)
    if at == math.inf:
        raise AccuracyError("epsilon is infinite: nothing for the tight engine")
    # Tables are cut in proportion to delta, which is not known yet: guess, run, run again.
    guess = 1e-3
    for _ in range(8):
        plan = _plan(counts, guess)
        answer = _best(_runs(plan, guess, partial(plan.log_delta, epsilon=at)))
        found = math.exp(answer.value)
        if found < SMALLEST_DELTA:
            break
        if found >= 0.2 * guess:
            return answer
        guess = max(found, SMALLEST_DELTA)
    raise AccuracyError(f"delta below {SMALLEST_DELTA:g}: the tight engine does not resolve it")


@dataclass(frozen=True)
class _Plan:
    """Steps in the order of the recursion: ``main`` by the budget, then single pairs."""

    main: Step
    count: int
    pairs: tuple[tuple[Step, int], ...]
    tail: float

    def log_delta(self, worst: Worst, epsilon: float) -> float:
        total = self.tail + (1 - self.tail) * worst.delta(epsilon)
        return math.log(min(1.0, total * (1 + 1e-15)))


def _plan(counts: Mapping[Release, int], delta: float) -> _Plan:
    """The kind of release that costs most is followed by the budget, others by single pairs.

    Steps with a single dominating pair may be moved before all others, which only helps the
    adversary: this covers every order in which the releases come, also an adaptive one
    (docs/proofs/adaptive.md, section 7).
    """
    steps: list[tuple[Step, int]] = []
    total = sum(validation.whole(count, "count") for count in counts.values())
    for release, count in counts.items():
        if count == 0 or release.reveals_nothing:
            continue
        if release.reveals_everything:
            raise AccuracyError("a release without noise: nothing for the tight engine")
        steps.append((step_of(release, _TAIL * delta / total), count))
    folded = [(step, count) for step, count in steps if not step.single]
    if not folded:
        raise AccuracyError("every release has a single dominating pair: nothing to tighten")
    survival = sum(count * math.log1p(-step.tail) for step, count in steps)
    tail = -math.expm1(survival) * (1 + 1e-12)
    main, count = max(folded, key=lambda item: item[1] * item[0].scale ** 2)
    others = tuple((s, c) for s, c in steps if s is not main)
    return _Plan(main, count, others, tail)


def _best(runs: list[TightRun]) -> TightAnswer:
    best = min(runs, key=lambda run: run.value)
    if best.value == math.inf:
        raise AccuracyError("no run of the tight engine gave a finite answer")
    return TightAnswer(best.value, best.extra, tuple(runs))


def _runs(plan: _Plan, delta: float, of: Callable[[Worst], float]) -> list[TightRun]:
    """From the finest grid on, until a run needs no extra mass."""
    runs: list[TightRun] = []
    reasons: list[str] = []
    grids = _FINER + _GRIDS if plan.count <= _FEW else _GRIDS
    for grid, factor in [(grid, 1.0) for grid in grids] + list(_WIDER):
        if factor > 1 and min((run.value for run in runs), default=math.inf) < math.inf:
            break
        try:
            run = _run(plan, delta, grid, factor, of)
        except AccuracyError as error:
            reasons.append(str(error))
            continue
        runs.append(run)
        if run.extra <= _CLEAN:
            break
    if not runs:
        raise AccuracyError(reasons[-1])
    return runs


def _run(
    plan: _Plan, delta: float, grid: float, factor: float, of: Callable[[Worst], float]
) -> TightRun:
    steps = [(plan.main, plan.count), *plan.pairs]
    h = grid * min(step.scale for step, _ in steps)
    total = sum(count for _, count in steps)
    tables = [_caps(step, h, _CUT * delta / total) for step, _ in steps]
    size = _size(tables, [count for _, count in steps], h, delta)
    main = kernel.build(tables[0], kernel.grid_budget(plan.main.hellinger, h) * factor, h)
    if plan.count > _FEW and main.amplification() > _AMPLIFIED:
        raise AccuracyError("the grid is too fine for a stable recursion")
    work = plan.count * main.work(size) + sum(c for _, c in plan.pairs) * 100.0 * size
    least, each = _WORK if grid < _COARSE else _MOST_WORK
    if work > max(least, each * total):
        raise AccuracyError("the recursion would take too long")
    fold = Fold(main, h, size)
    for _ in range(plan.count - 1):
        fold.step()
        if fold.extra > _HOPELESS:
            return TightRun(grid, factor, size, math.inf, fold.extra)
    for (_, count), table in zip(plan.pairs, tables[1:], strict=True):
        fold.switch(kernel.symmetric(table, h))
        for _ in range(count):
            fold.step()
    worst = fold.result()
    if worst.rounding > _ROUNDING * delta:
        raise AccuracyError("rounding is not small against delta")
    return TightRun(grid, factor, size, of(worst), worst.extra)


def _caps(step: Step, h: float, floor: float) -> Array:
    """Table of caps down to the first one below ``floor``."""
    reach = 64
    while True:
        if h * reach > _MAX_LOSS:
            raise AccuracyError("losses are too large for the grid of the tight engine")
        values = step.caps(h * np.arange(reach + 1.0))
        if values[-1] < floor:
            break
        reach *= 2
        if reach > 2 * _MAX_NODES:
            raise AccuracyError("the grid would need too many nodes")
    values = values[: int(np.argmax(values < floor)) + 1]
    # Rounding must not make a bound increase.
    values = np.maximum.accumulate(values[::-1])[::-1]
    return convex(values, h) if step.copies else values


def _size(tables: list[Array], counts: list[int], h: float, delta: float) -> int:
    """Nodes beyond which little mass remains, by the moments of the symmetrised steps."""
    orders = np.geomspace(0.05, 200.0, 60)
    exponents = np.zeros(orders.size)
    for table, count in zip(tables, counts, strict=True):
        pair = kernel.symmetric(table, h)
        k = np.arange(1, pair.up.size + 1)
        powers = orders[:, None] * (k * h)
        up = np.expm1(np.minimum(powers, 700.0)) @ pair.up
        up[powers[:, -1] > 700] = np.inf
        down = np.expm1(-powers) @ (pair.up * np.exp(-k * h))
        exponents += count * np.log1p(up + down)
    length = float(np.min((exponents - math.log(delta * 1e-4)) / orders))
    if length > _MAX_LOSS:
        raise AccuracyError("losses are too large for the grid of the tight engine")
    size = max(int(length / h) + 2, *(table.size for table in tables))
    if size > _MAX_NODES:
        raise AccuracyError("the grid would need too many nodes")
    return size
