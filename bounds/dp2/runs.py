"""Finite runs of DP²: models for the convex theorems, right ones and ones that break an assumption.

A run plays the update rule in every outcome of a noise that takes two values, on convex losses for
which the bounds are tight or nearly so. The loss may differ from step to step (the theorems never
use that it is the same), so that a stretch of steps in which nothing moves can be made to cost.
Every letter of the setting is filled in: constants such as C, R, D1 are the smallest that hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds.model import Model

__all__ = ["Run", "perturbed", "signs"]

Array = NDArray[Any]


def signs(steps: int, dimension: int = 1) -> Array:
    """All outcomes of independent signs: shape (steps, dimension, 2**(steps*dimension))."""
    outcomes = np.array(list(product((-1.0, 1.0), repeat=steps * dimension))).T
    return outcomes.reshape(steps, dimension, -1)


@dataclass(frozen=True)
class Run:
    """A run and the claims that are made of it.

    Attributes
    ----------
    steps, delay : int
        T and s.
    slopes : array
        The loss of step t is ``sum_j slopes[t, j] |w_j - wstar_j|`` (to the right of wstar it is
        linear): shape (T, d).
    noise : array
        Shape (T, d, scenarios), or a callable of step and iterate.
    metric : array
        D: shape (T, d) or (T, d, scenarios).
    sizes : array
        a(t).
    start, sides, best : float
        First iterate, side of the box [0, side], minimiser.
    weights : array, optional
        omega(t), 1 by default.
    mixed : bool
        Noise before the preconditioner in steps that are not adaptive.
    stuck, ascent : bool
        No step is taken; steps go up.
    claims : mapping
        Letters whose values are not those of the run.
    parameters : mapping
        Letters that the run does not fix: eta, alpha, rho, eps, M, ...
    note : str
        What is special about the run.
    """

    steps: int
    delay: int
    slopes: Array
    noise: Any
    metric: Array
    sizes: Array
    start: Any = 1.0
    sides: float = 1.0
    best: float = 0.0
    weights: Array | None = None
    mixed: bool = False
    stuck: bool = False
    ascent: bool = False
    claims: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def mode(self) -> Array:
        """1 in adaptive steps."""
        return ((np.arange(self.steps) // self.delay) % 2).astype(float)

    def claiming(self, note: str, **claims: Any) -> Run:
        """The same run with other values for some letters."""
        return replace(self, claims={**self.claims, **claims}, note=note)

    def model(self) -> Model:
        """Play the run and fill in every letter."""
        dimension = self.slopes.shape[1]
        drawn = None if callable(self.noise) else np.asarray(self.noise, dtype=float)
        scenarios = np.size(self.start) if drawn is None else drawn.shape[-1]
        shape = (dimension, scenarios)
        w = [np.broadcast_to(np.asarray(self.start, dtype=float), shape)]
        D = np.asarray(self.metric, dtype=float)
        D = np.broadcast_to(D if D.ndim == 3 else D[..., None], (self.steps, *shape))
        gradients, raws, noises = [], [], []
        for t in range(self.steps):
            raw = self.slopes[t][:, None] * np.where(w[t] >= self.best, 1.0, -1.0)
            noise = self.noise(t, w[t]) if drawn is None else drawn[t]
            g = -raw if self.ascent else raw
            ahead = noise / D[t] if self.mixed and not self.mode[t] else noise
            moved = np.clip(w[t] - self.sizes[t] * (g / D[t] + ahead), 0.0, self.sides)
            w.append(w[t] if self.stuck else moved)
            gradients.append(g)
            raws.append(raw)
            noises.append(np.broadcast_to(noise, shape))
        w_, g_, raw_, N = map(np.stack, (w, gradients, raws, noises))
        gap = (raw_ * (w_[:-1] - self.best)).sum(axis=1)
        processes: dict[str, Any] = {"w": w_, "g": g_, "grad": raw_, "N": N, "D": D, "gap": gap}
        processes["Q"] = D
        processes.update(self._sequences(g_, N, D, dimension))
        values: dict[str, Any] = {"T": self.steps, "s": self.delay, "d": dimension}
        values.update(self._constants(processes, dimension))
        self._averages(processes, values)
        values.update(self.parameters)
        for letter, claim in self.claims.items():
            known = processes if letter in processes else values
            known[letter] = claim(known[letter]) if callable(claim) else claim
        return Model(values, processes, note=self.note)

    def _sequences(self, g: Array, N: Array, D: Array, dimension: int) -> dict[str, Any]:
        adaptive = self.mode == 1
        mean = D.mean(axis=-1)
        norms, moments = mean.sum(axis=1), (g**2 / D).mean(axis=-1).sum(axis=1)
        distance = np.abs(D - 1).mean(axis=-1)
        phases = -(-self.steps // self.delay)
        X = np.stack([(g + N)[self._phase(k)].mean(axis=0) for k in range(phases)])
        return {
            "a": self.sizes,
            "omega": np.ones(self.steps) if self.weights is None else self.weights,
            "nu": np.sqrt((N**2).mean(axis=-1).max(axis=1)),
            "mode": self.mode,
            "Rj": np.full(dimension, self.sides),
            "lower": np.zeros(dimension),
            "wstar": np.full(dimension, self.best),
            "Dn": norms,
            "Gamt": moments,
            "Dup": mean[adaptive].max(axis=0) if adaptive.any() else np.ones(dimension),
            "spread": distance[adaptive].max(axis=0) if adaptive.any() else np.zeros(dimension),
            "X": np.concatenate([X[:1], X]),  # phase k + 1 reads what phase k released
            "v": np.zeros((phases + 1, dimension, 1)),
        }

    def _phase(self, k: int) -> slice:
        return slice(k * self.delay, min((k + 1) * self.delay, self.steps))

    def _constants(self, known: Mapping[str, Any], dimension: int) -> dict[str, float]:
        adaptive, g, D = self.mode == 1, known["g"], known["D"]
        nu = known["nu"]

        def largest(values: Array, where: Array, default: float) -> float:
            return float(values[where].max()) if where.any() else default

        tiny = 1e-6
        return {
            "R": self.sides,
            "K": -(-self.steps // self.delay),
            "u": self.delay / self.steps if self.delay <= self.steps else 1.0,
            "C": max(tiny, float(np.sqrt((g**2).sum(axis=1)).max())),
            "C2": max(tiny, float(np.sqrt(((g / D) ** 2).sum(axis=1)).max())),
            "nu1": largest(nu, ~adaptive, 0.0),
            "nu2": largest(nu, adaptive, largest(nu, ~adaptive, 0.0)),
            "D1": largest(known["Dn"], adaptive, float(dimension)),
            "Gam": largest(known["Gamt"], adaptive, largest(known["Gamt"], ~adaptive, 0.0)),
            "best_gap": float(known["gap"].mean(axis=-1).min()),
            "eta": float(self.sizes[0]),
            "alpha": 1.0,
            "rho": 1.0,
            "eps": float(D.min()),
            "M": 1.0,
            "beta": 0.5,
            "kap": 0.0,
            "h": 0.0,
            "chi": 0.0,
            "c1": max(tiny, float(np.abs(g).mean(axis=-1).sum(axis=1).max())),
            "c2": 0.0,
        }

    def _averages(self, processes: dict[str, Any], values: dict[str, Any]) -> None:
        omega = processes["omega"][:, None, None]
        average = (omega * processes["w"][:-1]).sum(axis=0) / omega.sum()
        side = self.slopes.mean(axis=0)[:, None]
        if np.ptp(self.slopes, axis=0).max() == 0:  # one loss for all steps
            processes["slope"] = side * np.where(average >= self.best, 1.0, -1.0)
            values["Delta_avg"] = (processes["slope"] * (average - self.best)).sum(axis=0)
        else:
            processes["slope"] = np.zeros_like(average)
            values["Delta_avg"] = processes["gap"].min(axis=0)
        processes["average"] = average


def perturbed(run: Run, letters: str, factors: tuple[float, ...] = (0.2, 5.0)) -> Iterator[Run]:
    """The run with one claimed letter after the other made smaller and larger."""
    for letter in letters.split():
        for factor in factors:
            yield run.claiming(f"{letter} times {factor}", **{letter: _Scaled(factor)})


@dataclass(frozen=True)
class _Scaled:
    factor: float

    def __call__(self, value: Any) -> Any:
        return self.factor * np.asarray(value)
