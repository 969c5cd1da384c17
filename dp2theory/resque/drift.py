"""Drift of two coupled runs: simulations of what the drift lemma bounds.

Two runs of a subgradient method share everything but the loss of their first step, which moves
them 2 eta L apart.  Afterwards both see the same losses.  Measured is ||Phi_T||_p/(2 eta L) after
T more steps, Phi the difference of the runs, with one of three kinds of gradients:

* ``shared``: reweighted queries around the centre of a ball of radius r, the same noise xi for
  both runs: what the private method does.  The lemma says that this stays near 1;
* ``independent``: the same with noise of its own for each run;
* ``raw``: subgradients at the iterates, no smoothing.

Steps are r/(L sqrt(T)) (half of that for the hard losses), and iterates are projected on the ball.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.distances import PositiveMax
from dp2theory.resque.estimator import log_weights
from dp2theory.resque.failure import Phase, log_drift
from dp2theory.resque.functions import Array, IndexArray, check_rng
from dp2theory.resque.losses import AbsoluteLoss

#: Kinds of gradients, as above.
METHODS = ("shared", "independent", "raw")
#: Paths that are run at a time, times the dimension: bounds the memory.
_ENTRIES = 1_000_000

#: Subgradients at points (N, d) in step t, for samples (N,) that both runs share.
Gradients = Callable[[int, Array, IndexArray], Array]


@dataclass(frozen=True, eq=False)
class Instance:
    """Losses on which two runs drift; L = 1.

    Attributes
    ----------
    name : str
    dimension : int
    parting : ndarray, shape (d,)
        Unit vector v: the first step is on the loss <v, x> in one run, -<v, x> in the other.
    sample_size : int
        Later steps draw a sample uniformly from so many.
    gradients : callable
        ``gradients(step, points (N, d), samples (N,)) -> (N, d)``.
    step_share : float
        Steps are step_share r/(L sqrt(T)).
    """

    name: str
    dimension: int
    parting: Array
    sample_size: int
    gradients: Gradients
    step_share: float = 1.0


def linear(steps: int) -> Instance:
    """Losses x and -x in turn, in one dimension: log ||Phi|| is a martingale but for the ball."""
    whole_number("steps", steps)

    def gradients(step: int, points: Array, samples: IndexArray) -> Array:
        return np.full_like(points, 1.0 if step % 2 else -1.0)

    return Instance("linear", 1, np.ones(1), 1, gradients)


def absolute(steps: int, *, dimension: int = 10, records: int = 1000, seed: int = 0) -> Instance:
    """|<a, x> - b| of random records: a uniform on the sphere, b standard normal over 10.

    Parameters
    ----------
    steps : int
        Not used.
    dimension, records, seed : int
        Hand-chosen.
    """
    whole_number("steps", steps)
    whole_number("dimension", dimension)
    whole_number("records", records)
    rng = np.random.default_rng(whole_number("seed", seed, minimum=0))
    rows = rng.standard_normal((records, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-12)
    loss = AbsoluteLoss(rows, 0.1 * rng.standard_normal(records), lipschitz=1.0)

    def gradients(step: int, points: Array, samples: IndexArray) -> Array:
        return loss.subgradients(points, samples)

    return Instance("absolute", dimension, np.eye(dimension)[0], records, gradients)


def hard(steps: int) -> Instance:
    """max(0, max_i x_i - offset) in as many dimensions as steps.

    One run has left the flat part of the loss, the other one has not: without smoothing every
    step moves a coordinate of its own in the first run and nothing in the second, and the drift
    is sqrt(T)/2 - 1 exactly.  Steps are half as long as elsewhere, so that no run reaches the rim
    of the ball, where the projection alone would bring two runs together.
    """
    loss = PositiveMax(whole_number("steps", steps))

    def gradients(step: int, points: Array, samples: IndexArray) -> Array:
        return loss.subgradients(points, samples)

    return Instance("hard", steps, np.full(steps, steps**-0.5), 1, gradients, 0.5)


#: Gradients of the two runs, by name.
INSTANCES: dict[str, Callable[[int], Instance]] = {
    "linear": linear,
    "absolute": absolute,
    "hard": hard,
}


@dataclass(frozen=True)
class DriftRow:
    """One measured drift.

    Attributes
    ----------
    kind, method : str
    steps : int
        T, steps after the one that sets the runs apart.
    ratio : float
        r/rho.
    order : float
        p.
    drift : float
        ||Phi_T||_p/(2 eta L).
    standard_error : float
        Of `drift`; 0 where nothing is random.
    bound : float or None
        D_p of resque.drift (p = 2) or resque.drift.orders (p > 2), for shared noise.
    sharp_bound : float or None
        D_p of resque.drift (p = 2) or resque.drift.powers (p > 2), at whole orders.
    paths : int
    """

    kind: str
    method: str
    steps: int
    ratio: float
    order: float
    drift: float
    standard_error: float
    bound: float | None
    sharp_bound: float | None
    paths: int


@dataclass(frozen=True)
class DriftTable:
    """Measured drifts of one instance.

    Attributes
    ----------
    kind : str
        The instance.
    rows : tuple of DriftRow
        One for each method, number of steps, radius and order.
    """

    kind: str
    rows: tuple[DriftRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "rows": [asdict(row) for row in self.rows]}


def drift_table(
    kind: str,
    *,
    horizons: Sequence[int],
    ratios: Sequence[float] = (0.1,),
    orders: Sequence[float] = (2.0,),
    paths: int = 2000,
    methods: Sequence[str] = METHODS,
    rng: np.random.Generator | int,
) -> DriftTable:
    """Measure drifts at every horizon and ratio, by every method.

    Parameters
    ----------
    kind : str
        A key of `INSTANCES`.
    horizons : sequence of int
        T, each >= 1.
    ratios : sequence of float
        r/rho > 0.
    orders : sequence of float
        p >= 2.
    paths : int
        Pairs of runs for each horizon, ratio and method, >= 2.
    methods : sequence of str
        From `METHODS`.
    rng : numpy.random.Generator or int
        Every cell has a stream of its own, spawned in the order of the rows.

    Returns
    -------
    DriftTable

    Raises
    ------
    ValueError
        For unknown names and values outside their domains.
    """
    if kind not in INSTANCES:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(INSTANCES)}")
    for name, value in (
        ("horizons", horizons), ("ratios", ratios), ("orders", orders), ("methods", methods)
    ):  # fmt: skip
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError(f"{name}={value!r} must be a sequence")
    unknown = [each for each in methods if each not in METHODS]
    if unknown:
        raise ValueError(f"methods holds {unknown[0]!r}, must be from {', '.join(METHODS)}")
    horizons = [whole_number("horizons", each) for each in horizons]
    ratios = [positive_real("ratios", each) for each in ratios]
    powers = np.array([positive_real("orders", each) for each in orders])
    if not (horizons and ratios and powers.size and methods):
        raise ValueError("horizons, ratios, orders and methods must not be empty")
    if powers.min() < 2:
        raise ValueError(f"orders holds {powers.min():g}, must be >= 2")
    paths = whole_number("paths", paths, minimum=2, maximum=10**9)
    cells = [(t, ratio, method) for t in horizons for ratio in ratios for method in methods]
    streams = check_rng(rng).spawn(len(cells))
    rows: list[DriftRow] = []
    for (steps, ratio, method), stream in zip(cells, streams, strict=True):
        instance = INSTANCES[kind](steps)
        sizes = simulate(instance, steps=steps, ratio=ratio, method=method, paths=paths, rng=stream)
        size = instance.step_share * steps**-0.5
        rows.extend(_row(kind, method, steps, ratio, float(p), sizes, size) for p in powers)
    return DriftTable(kind, tuple(rows))


def simulate(
    instance: Instance,
    *,
    steps: int,
    ratio: float,
    method: str,
    paths: int,
    rng: np.random.Generator,
) -> Array:
    """||Phi_T||/(2 eta L) of every pair of runs, shape (paths,).

    Parameters
    ----------
    instance : Instance
    steps : int
        T, steps after the parting one.
    ratio : float
        r/rho; lengths are in units of r.
    method : str
        From `METHODS`.
    paths : int
    rng : numpy.random.Generator
    """
    most = max(1, _ENTRIES // instance.dimension)
    sizes = [
        _pairs(instance, steps, ratio, method, min(most, paths - start), rng)
        for start in range(0, paths, most)
    ]
    return np.concatenate(sizes)


def _pairs(
    instance: Instance, steps: int, ratio: float, method: str, paths: int, rng: np.random.Generator
) -> Array:
    step, smoothing = instance.step_share * steps**-0.5, 1 / ratio
    shape = (paths, instance.dimension)
    # At the centre every weight is 1.
    first = _project(np.tile(step * instance.parting, (paths, 1)))
    second = -first
    for t in range(1, steps + 1):
        samples = rng.integers(0, instance.sample_size, size=paths)
        if method == "raw":
            moves = (
                instance.gradients(t, first, samples),
                instance.gradients(t, second, samples),
            )
        else:
            noise = smoothing * rng.standard_normal(shape)
            gradients = instance.gradients(t, noise, samples)
            other, others = noise, gradients
            if method == "independent":
                other = smoothing * rng.standard_normal(shape)
                others = instance.gradients(t, other, samples)
            moves = (
                _weighted(first, noise, gradients, smoothing),
                _weighted(second, other, others, smoothing),
            )
        first = _project(first - step * moves[0])
        second = _project(second - step * moves[1])
    result: Array = np.linalg.norm(first - second, axis=1) / (2 * step)
    return result


def _weighted(points: Array, noise: Array, gradients: Array, smoothing: float) -> Array:
    weights: Array = np.exp(log_weights(points, noise, smoothing))[:, None] * gradients
    return weights


def _project(points: Array) -> Array:
    """The nearest points of the unit ball."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    result: Array = points / np.maximum(lengths, 1.0)
    return result


def _row(
    kind: str, method: str, steps: int, ratio: float, order: float, sizes: Array, size: float
) -> DriftRow:
    powers = sizes**order
    mean = float(powers.mean())
    drift = mean ** (1 / order)
    spread = float(powers.std(ddof=1)) / math.sqrt(sizes.size)
    error = drift * spread / (order * mean) if mean > 0 else 0.0
    bound = sharp = None
    if method == "shared":
        phase = Phase(steps, size, 1.0, 1 / ratio, 1.0, 2.0)
        bound = _finite(log_drift(phase, np.array([order]), lemma="orders"))
        if order == round(order):
            sharp = _finite(log_drift(phase, np.array([order])))
    return DriftRow(kind, method, steps, ratio, order, drift, error, bound, sharp, sizes.size)


def _finite(log: Array) -> float:
    """The exponential; infinity where it is no double."""
    value = float(log[0])
    return math.exp(value) if value < 700 else math.inf
