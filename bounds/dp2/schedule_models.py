"""Small runs of the schedule, where its theorems can be tried and broken.

One coordinate, F(w) = slope |w|, noise of plus or minus nu, phases of one or two steps: every
path of the noise is a scenario. Index 1 of an array is at position 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from bounds.dp2.symbols import (
    C,
    K,
    M,
    R,
    alpha,
    best_gap,
    beta,
    eps,
    eta,
    h,
    kap,
    lip,
    margin,
    nu1,
    nu2,
    s,
    u,
)
from bounds.model import Model
from bounds.symbols import T, d

__all__ = ["Run", "best_models", "metric_models", "run_models", "tail_models", "unit_models"]

_NODES = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)])
_NODE_WEIGHTS = np.array([1.0, 4.0, 1.0]) / 6


@dataclass(frozen=True)
class Run:
    """What a small run is made of.

    Attributes
    ----------
    steps, delay : int
        Of the schedule.
    slope : float
        Of the loss; the gradient's size.
    start, side : float
        First iterate, and length of the box [0, side]; the minimiser is 0.
    rate, decay, damping : float
        Learning rate, decay of the step size per phase, damping.
    second_moments : tuple of float
        v of the phases 1, 2, …; only those of adaptive phases matter.
    cap : float
        M.
    noises : tuple of float
        Standard deviations in DP-SGD and in adaptive phases.
    jump, early : int
        Steps by which the phases of the step sizes are shifted, and by which those of the
        preconditioner are.
    normal : bool
        Whether v comes from Gaussian averages (nodes of a quadrature) by the EMA with constant
        `ema`, and not from `second_moments`.
    raw : float
        Raw average of the gradients that v is made of, where it is Gaussian.
    margin : float
        Standard deviations by which 1/alpha exceeds damping, C and noise.
    change : mapping
        Letters whose values are not those of the run.
    """

    steps: int = 4
    delay: int = 1
    slope: float = 1.0
    start: float = 1.0
    side: float = 1.0
    rate: float = 0.25
    decay: float = 0.5
    damping: float = 0.5
    second_moments: tuple[float, ...] = (0.0, 1.0, 0.0, 0.25, 0.0, 1.0)
    cap: float = 2.25
    noises: tuple[float, float] = (0.25, 0.5)
    jump: int = 0
    early: int = 0
    normal: bool = False
    ema: float = 0.5
    raw: float = 0.5
    margin: float = 0.5
    change: Mapping[str, Any] = field(default_factory=dict)

    def model(self, note: str = "") -> Model:
        """The run on every path of its noise."""
        weights, signs, nodes = self._space()
        length = self.steps + 1
        phases = [(step + self.jump) // self.delay for step in range(length)]
        modes = [((step + self.early) // self.delay) % 2 for step in range(length)]
        sizes = np.array(
            [self.rate * self.decay**k / np.sqrt(step + 1) for step, k in enumerate(phases)]
        )
        deviations = np.array([self.noises[mode] for mode in modes])
        moments = self._moments(nodes, weights.size, max(phases) + 2)
        metric = np.ones((length, 1, weights.size))
        for step, mode in enumerate(modes):
            if mode:
                metric[step, 0] = np.sqrt(moments[phases[step]]) + self.damping
        iterates = np.zeros((length, 1, weights.size))
        gradients = np.zeros_like(iterates)
        iterates[0] = self.start
        noise = signs[:, np.newaxis, :] * deviations[:, np.newaxis, np.newaxis]
        for step in range(length):
            gradients[step] = self.slope * np.sign(iterates[step])
            if step + 1 < length:
                move = gradients[step] / metric[step] + noise[step]
                iterates[step + 1] = np.clip(iterates[step] - sizes[step] * move, 0.0, self.side)
        gaps = self.slope * iterates[:, 0]
        arrays = {
            "w": iterates,
            "g": gradients,
            "grad": gradients,
            "gap": gaps,
            "D": metric,
            "N": noise[: self.steps],
            "v": moments[:, np.newaxis, :],
            "a": sizes,
            "nu": deviations,
            "wstar": np.zeros(1),
            "lower": np.zeros(1),
            "Rj": np.full(1, self.side),
            "omega": np.ones(length),
            "Dn": metric[:, 0] @ weights,
            "X": np.zeros((max(phases) + 2, 1, weights.size)),
            "Gamt": (gradients[:, 0] ** 2 / metric[:, 0]) @ weights,
            **self._noise_arrays(nodes, weights.size),
        }
        values = {
            T: self.steps,
            d: 1,
            s: self.delay,
            u: self.delay / self.steps,
            K: -(-self.steps // self.delay),
            R: self.side,
            C: max(self.slope, self.raw) if self.normal else self.slope,
            eta: self.rate,
            alpha: self.decay,
            eps: self.damping,
            M: self.cap,
            beta: self.ema,
            nu1: self.noises[0],
            nu2: self.noises[1],
            best_gap: float((gaps[: self.steps] @ weights).min()),
            margin: self.margin,
            lip: self._spread(),
            h: self.slope / self.damping,
        }
        values[kap] = max(
            (self.decay * values[C]) ** 2,
            values[C] * values[h] / (self.damping * np.sqrt(1 - self.ema)),
        )
        return Model(values, {**arrays, **self.change}, weights, note=note)

    def _space(self) -> tuple[Any, Any, Any]:
        """Probabilities, signs of the noise by step, nodes of Gaussian averages by phase."""
        draws = 2 if self.normal else 0
        paths = [(1.0,) * self.steps]
        if any(self.noises):
            paths = list(product((-1.0, 1.0), repeat=self.steps))
        # Step T + 1 is looked at before its noise is drawn.
        signs = np.array([(*path, 0.0) for path in paths]).T
        chosen = list(product(range(len(_NODES)), repeat=draws))
        nodes = (
            np.array([[_NODES[at] for at in each] for each in chosen]).reshape(len(chosen), draws).T
        )
        node_weights = np.array([np.prod([_NODE_WEIGHTS[at] for at in each]) for each in chosen])
        weights = np.repeat(node_weights, signs.shape[1]) / signs.shape[1]
        return (
            weights,
            np.tile(signs, node_weights.size),
            np.repeat(nodes, signs.shape[1], axis=1),
        )

    def _spread(self) -> float:
        return float(np.sqrt((1 - self.ema) / self.delay) * self.noises[0])

    def _moments(self, nodes: Any, scenarios: int, phases: int) -> Any:
        """v by phase; by the EMA of squared averages when they are Gaussian."""
        moments = np.zeros((phases, scenarios))
        if not self.normal:
            given = np.resize(self.second_moments, phases)
            return moments + given[:, np.newaxis]
        deviation = self.noises[0] / np.sqrt(self.delay)
        value = np.zeros(scenarios)
        for update, node in enumerate(nodes):
            value = self.ema * value + (1 - self.ema) * (self.raw + deviation * node) ** 2
            if 2 * update + 1 < phases:
                moments[2 * update + 1] = value
        return moments

    def _noise_arrays(self, nodes: Any, scenarios: int) -> dict[str, Any]:
        if not self.normal:
            return {}
        deviation = self.noises[0] / np.sqrt(self.delay)
        norms, square = [], np.zeros(scenarios)
        for node in nodes:
            square = self.ema * square + (1 - self.ema) * (deviation * node) ** 2
            norms.append(np.sqrt(square))
        return {
            "zbar": nodes[:, np.newaxis, :],
            "xbar": np.full((len(nodes), 1), self.raw),
            "ynorm": np.array(norms)[:, np.newaxis, :],
        }


_QUIET = (0.0, 0.0)


def _drawn(rng: np.random.Generator, **fixed: Any) -> Run:
    """A run with drawn loss, damping, cap and decay that satisfies the rules."""
    damping = float(rng.uniform(0.1, 1.2))
    cap = float(rng.uniform(0.01, 2.0))
    return replace(
        Run(
            delay=int(rng.integers(1, 3)),
            slope=float(rng.uniform(0.2, 2.0)),
            start=float(rng.uniform(0.0, 1.0)),
            rate=float(rng.uniform(0.1, 1.0)),
            damping=damping,
            cap=cap,
            decay=float(rng.uniform(0.3, 1.0)) * min(damping, 1 / (np.sqrt(cap) + damping)),
            second_moments=tuple(rng.uniform(0.0, cap, 6)),
            noises=(float(rng.uniform(0.0, 0.5)), float(rng.uniform(0.0, 0.5))),
        ),
        **fixed,
    )


def run_models(rng: np.random.Generator, **fixed: Any) -> Iterator[Model]:
    """Runs that satisfy the rules: by hand, then drawn; then runs that break one rule each."""
    yield replace(Run(), **fixed).model("alpha = damping, v up to the cap")
    yield replace(Run(delay=2), **fixed).model("two phases of two steps")
    yield replace(Run(steps=3, delay=4, noises=_QUIET), **fixed).model("one phase, no noise")
    for _ in range(4):
        yield _drawn(rng, **fixed).model("drawn")
    yield from with_decay(_broken(fixed), rng)


def _broken(fixed: Mapping[str, Any]) -> Iterator[Model]:
    yield replace(Run(second_moments=(0.0, 9.0) * 3), **fixed).model("v above the cap")
    yield replace(Run(decay=0.9, damping=0.1, cap=0.01, second_moments=(0.0,)), **fixed).model(
        "the decay is above the damping"
    )
    yield replace(Run(damping=2.0, decay=1.0, cap=1.0), **fixed).model(
        "the decay is above 1/(sqrt(cap) + damping)"
    )
    yield replace(Run(jump=1, delay=2), **fixed).model("the step sizes decay one step early")
    yield replace(Run(early=1, delay=2), **fixed).model("the preconditioner comes one step early")


def with_decay(own: Iterator[Model], rng: np.random.Generator) -> Iterator[Model]:
    """Runs of this module, then those that break each assumption of the setting as well."""
    from bounds.dp2.runs_convex import decay_models

    yield from own
    yield from decay_models(rng)


def metric_models(rng: np.random.Generator) -> Iterator[Model]:
    """Runs for statements about the metric alone: more steps, no noise."""
    for delay in (1, 2, 3):
        yield Run(steps=8, delay=delay, noises=_QUIET).model("alpha = damping")
    for _ in range(6):
        yield _drawn(rng, steps=6, noises=_QUIET).model("drawn")
    yield from with_decay(_broken({"steps": 6, "noises": _QUIET}), rng)


def unit_models(rng: np.random.Generator) -> Iterator[Model]:
    """As `run_models`, with learning rate 1."""
    yield from run_models(rng, rate=1.0)


def best_models(rng: np.random.Generator) -> Iterator[Model]:
    """Runs in which the first phase is what matters."""
    yield from run_models(rng)
    yield Run(steps=4, delay=2, start=1.0, rate=8.0, noises=_QUIET).model("large steps")


def tail_models(rng: np.random.Generator) -> Iterator[Model]:
    """Runs without a cap, with Gaussian averages on the nodes of a quadrature."""
    for margin_, noise in ((0.5, 0.25), (2.0, 0.5), (0.0, 0.1)):
        yield _uncapped(margin_, noise, delay=1).model("1/alpha by the margin")
    yield _uncapped(1.0, 0.25, delay=2).model("phases of two steps")
    for _ in range(2):
        margin_, noise = rng.uniform(0, 3), rng.uniform(0.05, 0.5)
        yield _uncapped(float(margin_), float(noise), delay=1).model("drawn")


def _uncapped(stds: float, noise: float, delay: int) -> Run:
    run = Run(
        steps=4,
        delay=delay,
        slope=0.5,
        damping=1.0,
        noises=(noise, noise / 2),
        normal=True,
        margin=stds,
    )
    clear = run.damping + max(run.slope, run.raw) + noise / np.sqrt(delay) + stds * run._spread()
    return replace(run, decay=float(1 / clear))
