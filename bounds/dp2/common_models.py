"""Finite runs in one metric: models of theorems C and C-TV, right ones and broken ones.

F = sum_j slope |w_j - best| on the box [0, 1], noise of plus or minus nu in every outcome, an EMA
that is renewed by what the last step released. Index 1 of an array is at position 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bounds.dp2.runs import Array, signs
from bounds.model import Model

__all__ = ["common_models", "count_models", "freeze_models", "metric_models", "size_models"]

#: From a letter's value in a run to another one.
Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Common:
    """A run in one metric.

    Attributes
    ----------
    steps, delay, dimension : int
        T, s and d; in mode "freeze" T counts the steps that move.
    freeze : bool
        Collection steps do not move and are not counted.
    rate, decay : float
        The step size is rate * decay**updates.
    ema, damping, first : float
        Of the preconditioner; `first` is v before any update.
    noises : tuple of float
        Standard deviations in collection steps and in adaptive ones.
    slope, start, best : float
        Of the loss, of the first iterate, of the minimiser.
    tuned : bool
        The step size is the best one for the constants of a first run.
    changes : mapping of str to callable
        Letters whose values are not those of the run.
    note : str
        What is special about the run.
    """

    steps: int = 6
    delay: int = 2
    dimension: int = 1
    freeze: bool = False
    rate: float = 0.3
    decay: float = 1.0
    ema: float = 0.64
    damping: float = 0.5
    first: float = 0.25
    noises: tuple[float, float] = (0.25, 0.5)
    slope: float = 1.0
    start: float = 1.0
    best: float = 0.0
    tuned: bool = False
    changes: Mapping[str, Change] = field(default_factory=dict)
    note: str = ""

    def model(self) -> Model:
        """Play the run and fill in every letter."""
        arrays, values = self._play(self.rate)
        if self.tuned:
            loose = {name: 1.25 * values[name] for name in ("D1", "Gam", "Gc")}
            best = self._costs({**values, **loose})
            arrays, again = self._play(best["eta"])
            values = {**again, **loose, **best}
        else:
            values |= {**self._costs(values), "eta": self.rate}
        for letter, change in self.changes.items():
            known = arrays if letter in arrays else values
            known[letter] = change(known[letter])
        return Model(values, arrays, note=self.note)

    def _modes(self) -> tuple[Array, Array]:
        """Modes, and whether the preconditioner is renewed after a step."""
        phase = np.arange(self.steps + 1) // self.delay
        if self.freeze:
            return np.ones(self.steps), np.diff(phase)
        mode = phase % 2
        return mode[:-1], np.maximum(np.diff(mode), 0)

    def _play(self, rate: float) -> tuple[dict[str, Array], dict[str, Any]]:
        mode, renewal = self._modes()
        stds = np.where(mode == 1, self.noises[1], self.noises[0])
        if any(self.noises):
            draws = signs(self.steps, self.dimension)
        else:
            draws = np.zeros((self.steps, self.dimension, 1))
        N = stds[:, None, None] * draws
        updates = np.concatenate([[0], np.cumsum(renewal)[:-1]]) + int(self.freeze)
        sizes = rate * self.decay**updates
        w, v = [np.full(N.shape[1:], self.start)], [np.full(N.shape[1:], self.first)]
        g, D, X = [], [], []
        for t in range(self.steps):
            D.append(np.sqrt(v[t]) + self.damping)
            g.append(self.slope * np.where(w[t] >= self.best, 1.0, -1.0))
            noise = N[t] if mode[t] else N[t] / D[t]
            w.append(np.clip(w[t] - sizes[t] * (g[t] / D[t] + noise), 0.0, 1.0))
            X.append(g[t] + N[t])
            v.append(v[t] + renewal[t] * (1 - self.ema) * (X[t] ** 2 - v[t]))
        metric, slope = np.stack(D), np.stack(g)
        away = np.stack(w)[:-1] - self.best
        ones = np.ones(self.dimension)
        arrays = {
            "w": np.stack(w),
            "g": slope,
            "grad": slope,
            "N": N,
            "D": metric,
            "X": np.stack(X),
            "v": np.stack(v)[: self.steps],
            "gap": (slope * away).sum(axis=1),
            "mode": mode,
            "renew": renewal,
            "upd": updates,
            "a": sizes,
            "nu": stds,
            "omega": np.ones(self.steps),
            "Rj": ones,
            "lower": 0 * ones,
            "wstar": self.best * ones,
            "Q": metric,
        }
        return arrays, self._constants(arrays)

    def _constants(self, arrays: Mapping[str, Array]) -> dict[str, Any]:
        metric, adaptive = arrays["D"], arrays["mode"] == 1
        moment = (arrays["g"] ** 2 / metric).sum(axis=1).mean(axis=-1)
        norms = metric.sum(axis=1).mean(axis=-1)
        released = np.abs(arrays["X"]).sum(axis=1).mean(axis=-1)
        size = float(max(norms.max(), released.max()))
        rises = np.maximum(np.diff(metric, axis=0), 0).sum(axis=1).mean(axis=-1)
        return {
            "T": self.steps,
            "Tm": self.steps,
            "s": self.delay,
            "d": self.dimension,
            "R": 1.0,
            "C": self.slope,
            "eps": self.damping,
            "beta": self.ema,
            "alpha": self.decay,
            "nu1": self.noises[0],
            "nu2": self.noises[1],
            "D1": size,
            "Gam": float(moment.max()),
            "Gc": float(moment[~adaptive].max()) if (~adaptive).any() else float(moment.max()),
            "chi": float(rises.max()) / size if rises.size else 0.0,
        }

    def _costs(self, known: Mapping[str, Any]) -> dict[str, float]:
        """V, G and the step size that is best for them."""
        mode, renewal = self._modes()
        last = int(renewal[:-1].sum())
        noise = known["nu2"] ** 2 * known["D1"]
        divided = max(noise, known["nu1"] ** 2 * known["d"] / known["eps"])
        adaptive = mode.sum() * (known["Gam"] + noise)
        collecting = (len(mode) - mode.sum()) * (known["Gc"] + divided)
        V = known["R"] ** 2 * known["D1"] * (1 + known["chi"] * last)
        G = float(adaptive + collecting)
        return {"V0": V, "G0": G, "eta": float(np.sqrt(V / G))}


def _scaled(factor: float) -> Change:
    return lambda value: factor * np.asarray(value)


def _jump(value: Any) -> Any:
    return np.concatenate([np.asarray(value)[:-1], 9.0 + 0 * np.asarray(value)[-1:]])


def _broken(run: Common, letters: str) -> Iterator[Model]:
    """The run with one letter after the other claimed smaller and larger than it is."""
    for letter in letters.split():
        for factor in (0.1, 4.0):
            changed = {letter: _scaled(factor)}
            yield replace(run, changes=changed, note=f"{letter} times {factor}").model()
    for letter in ("v", "D", "mode"):
        yield replace(run, changes={letter: _jump}, note=f"{letter} jumps at the end").model()


_LETTERS = "D1 Gam Gc chi R Rj nu nu1 nu2 beta eps a gap N X"
_QUIET = (0.0, 0.0)


def _runs(rng: np.random.Generator, freeze: bool) -> Iterator[Common]:
    root = 0.8  # sqrt(0.64)
    for steps, delay, dimension in ((1, 1, 1), (4, 1, 1), (6, 2, 1), (5, 3, 1), (3, 1, 2)):
        run = Common(steps, delay, dimension, freeze=freeze, decay=root)
        yield run
        yield replace(run, decay=1.0)
        yield replace(run, decay=1.0, tuned=True)
    for decay in (0.5, root, 1.0):
        for tuned in (False, True):
            yield Common(
                40, 7, freeze=freeze, decay=decay, tuned=tuned, noises=_QUIET, rate=0.02, first=0.0
            )
    for _ in range(3):
        yield Common(
            delay=int(rng.integers(1, 4)),
            freeze=freeze,
            rate=float(rng.uniform(0.1, 0.8)),
            decay=root if rng.random() < 0.5 else 1.0,
            damping=float(rng.uniform(0.2, 1.0)),
            first=float(rng.uniform(0.0, 1.0)),
            noises=(0.25, 0.25),
            best=float(rng.uniform(0.0, 0.5)),
            tuned=bool(rng.random() < 0.5),
        )


def common_models(rng: np.random.Generator, freeze: bool = False) -> Iterator[Model]:
    """Runs of mode "common": constant steps, decaying ones, tuned ones; then broken ones."""
    for run in _runs(rng, freeze):
        yield run.model()
    for decay, tuned in ((0.8, False), (1.0, False), (1.0, True)):
        for noises in (_QUIET, (0.25, 0.25)):
            steps = 6 if any(noises) else 40
            run = Common(steps, 2, freeze=freeze, decay=decay, tuned=tuned, noises=noises)
            yield from _broken(replace(run, rate=1 / steps), _LETTERS)
    growing = Common(40, 7, freeze=freeze, decay=1.3, rate=0.01, noises=_QUIET)
    yield replace(growing, note="growing steps").model()


def freeze_models(rng: np.random.Generator) -> Iterator[Model]:
    """The same in mode "freeze"."""
    yield from common_models(rng, freeze=True)


def metric_models(rng: np.random.Generator) -> Iterator[Model]:
    """Runs for statements on the metric alone; data that vanish make it fall as far as it may."""
    for run in _runs(rng, False):
        yield run.model()
    for ema, damping in ((0.64, 1e-9), (0.25, 0.5), (0.01, 1e-9)):
        falling = Common(
            40,
            2,
            slope=1e-9,
            ema=ema,
            damping=damping,
            decay=float(np.sqrt(ema)),
            first=4.0,
            noises=_QUIET,
            note="the averages vanish",
        )
        yield falling.model()
        yield from _broken(falling, "beta alpha upd renew a v")
        yield replace(falling, decay=1.0, note="constant steps").model()
    for first in (0.0, 1e-12):
        yield Common(8, 1, ema=0.01, damping=1e-9, first=first, noises=_QUIET).model()
    yield from _broken(Common(8, 1, ema=0.5, first=0.0, noises=_QUIET), "beta D1 X v eps D renew")


def count_models(rng: np.random.Generator) -> Iterator[Model]:
    """Alternating modes; and modes that change a step early."""
    for steps, delay in ((1, 1), (2, 1), (2, 2), (5, 1), (7, 2), (9, 4), (12, 5), (6, 9)):
        for early in (0, 1):
            mode = ((np.arange(steps + 2) + early) // delay) % 2
            yield Model({"T": steps, "s": delay}, {"mode": mode}, note=f"early by {early}")


def size_models(rng: np.random.Generator) -> Iterator[Model]:
    """Averages of gradient and noise that are the same sign: the mean size is attained."""
    for ema, factor in ((0.0, 1.0), (0.5, 1.0), (0.5, 3.0), (0.5, 0.1)):
        for letter in ("", "C", "nu1", "eps", "v", "D", "X", "beta"):
            sign = np.array([-1.0, 1.0])
            noise = np.broadcast_to(0.5 * sign, (3, 1, 2))
            mean = np.broadcast_to(0.75 * sign, (3, 1, 2))
            v = [np.zeros((1, 2))]
            for k in range(2):
                v.append(ema * v[k] + (1 - ema) * (mean[k] + noise[k]) ** 2)
            arrays: dict[str, Any] = {
                "mbar": mean,
                "nbar": noise,
                "X": mean + noise,
                "v": np.stack(v),
                "D": np.sqrt(np.stack(v)) + 0.1,
            }
            values: dict[str, Any] = {"C": 0.75, "nu1": 1.0, "s": 4, "eps": 0.1, "beta": ema}
            known = arrays if letter in arrays else values
            if letter:
                known[letter] = factor * known[letter]
            yield Model(values, arrays, note=f"{letter} times {factor}" if letter else "right")
