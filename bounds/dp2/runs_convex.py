"""Models of the convex theorems, family by family: general metrics, DP-SGD, two rates, decay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bounds.dp2.runs import Array, Run, perturbed, signs
from bounds.model import Model

__all__ = ["decay_models", "master_models", "rate_models", "sgd_models"]


def _still(steps: int, dimension: int = 1) -> Array:
    return np.zeros((steps, dimension, 1))


def _plain(steps: int, sizes: Array, slope: float = 1.0, **more: Any) -> Run:
    """DP-SGD without noise on a linear loss, from the far end of the box."""
    return Run(
        steps,
        steps,
        np.full((steps, 1), slope),
        _still(steps),
        np.ones((steps, 1)),
        sizes,
        **more,
    )


def _broken(shape: Array) -> Iterator[Run]:
    """Runs of DP-SGD that break one assumption on the loss, the box or the noise each.

    `shape` is the step size up to a factor, which is chosen so that the bound is small.
    """
    steps = len(shape)

    def size(noise: float) -> Array:
        return np.asarray(shape / np.sqrt((shape**2).sum() * (1 + noise**2)))

    right = _plain(steps, size(0))
    yield right
    yield replace(right, start=10.0, note="starts outside of the box")
    yield replace(right, best=-10.0, note="the minimiser is outside of the box")
    yield replace(right, stuck=True, note="takes no steps")
    yield right.claiming("a loss that is not convex", gap=lambda gap: 0 * gap + 1.0)
    yield replace(right, ascent=True, note="steps go the wrong way")
    push = np.full((steps, 1, 1), -1.0)
    yield replace(right, sizes=size(1), noise=push, note="the noise has a mean")
    few = min(steps, 10 if shape[-1] < shape[0] else 6)
    wild = 50.0 * steps * signs(few)
    short = _plain(few, shape[:few] / np.sqrt((shape[:few] ** 2).sum()) / 2, best=0.5)
    zero = np.zeros(short.steps)
    yield replace(
        short,
        noise=wild,
        slopes=np.full((short.steps, 1), 2.0),
        note="more noise than is claimed",
    ).claiming("more noise than is claimed", nu=zero, nu1=0.0, nu2=0.0)
    ends = np.array([0.0, 1.0])
    yield replace(
        right,
        start=ends,
        best=0.5,
        sizes=size(1),
        noise=lambda t, w: np.where(w > 0.5, -1.0, 1.0),
        note="the noise looks at the iterate",
    )


def master_models(rng: np.random.Generator) -> Iterator[Model]:
    """Any metric, any step sizes, any weights; runs that break an assumption."""
    for run in _broken(np.ones(16)):
        yield run.model()
    for run in _free(rng):
        yield run.model()


def _free(rng: np.random.Generator) -> Iterator[Run]:
    for dimension, steps in ((1, 1), (1, 2), (1, 4), (2, 2), (2, 1), (1, 3)):
        for mixed in (False, True):
            draws = signs(steps, dimension)
            past = np.concatenate([np.zeros_like(draws[:1]), np.cumsum(draws[:-1], axis=0)])
            yield Run(
                steps,
                int(rng.integers(1, steps + 1)),
                rng.uniform(0, 2, (steps, dimension)),
                rng.uniform(0, 1, (steps, 1, 1)) * draws,
                np.exp(rng.uniform(-1, 1, (steps, dimension, 1)) + 0.2 * past),
                rng.uniform(0.05, 0.6, steps),
                best=float(rng.choice([0.0, 0.3])),
                weights=rng.uniform(0.5, 2, steps),
                mixed=mixed,
            )
    steps = 5
    for mixed in (False, True):  # one loss for all steps: it has a value at the average
        yield Run(
            steps,
            2,
            np.full((steps, 1), 1.0),
            0.3 * signs(steps),
            np.array([1.0, 1.0, 0.5, 0.5, 1.0])[:, None],
            np.full(steps, 0.25),
            best=0.2,
            mixed=mixed,
        )
    yield from _tight()


def _tight() -> Iterator[Run]:
    """Linear loss, no noise, step R/(C T) in the metric: every inequality is an equality."""
    for steps, delay in ((1, 1), (7, 2), (6, 3), (5, 5)):
        mode = (np.arange(steps) // delay) % 2
        rate = 1.5
        yield Run(
            steps,
            delay,
            np.ones((steps, 1)),
            _still(steps),
            np.where(mode == 1, rate, 1.0)[:, None],
            rate**mode / steps,
            parameters={"rho": rate, "eps": 0.5, "eta": 1 / steps},
        )


def sgd_models(rng: np.random.Generator) -> Iterator[Model]:
    """DP-SGD with a constant step, tuned or not; claims that are too small."""
    for run in _broken(np.ones(16)):
        yield run.model()
    steps = 5
    tuned = _plain(steps, np.full(steps, 1 / np.sqrt(steps)))
    noisy = replace(
        tuned,
        noise=0.5 * signs(steps),
        sizes=np.full(steps, 1 / np.sqrt(steps * 1.25)),
        best=0.25,
    )
    for run in (tuned, noisy, _plain(steps, np.full(steps, 1 / steps))):
        yield run.model()
        for other in perturbed(run, "C R Rj nu nu1"):
            yield other.model()
    yield replace(tuned, sizes=np.full(steps, 1e-3), note="step sizes far too small").model()
    # Tuned to a bound on the gradients, or a side of the box, that does not hold.
    large = replace(tuned, sizes=5 * tuned.sizes)
    yield large.claiming("gradients above their bound", C=0.2).model()
    small = replace(tuned, sizes=tuned.sizes / 5)
    yield small.claiming("a box larger than claimed", R=0.2).model()


def rate_models(rng: np.random.Generator) -> Iterator[Model]:
    """Two rates (B) and step sizes as weights (W): tight runs, noisy ones, wrong claims."""
    letters = "C R Rj nu1 nu2 nu D1 Gam Dup spread rho eta D mode Q"
    for run in _broken(np.ones(16)):
        yield run.model()
    for run in _tight():
        weighted = replace(run, weights=run.sizes)
        yield weighted.model()
    steps, delay = 6, 2
    mode = (np.arange(steps) // delay) % 2
    for rate, damping in ((1.0, 0.5), (0.6, 0.6), (2.0, 2.0)):
        run = Run(
            steps,
            delay,
            np.ones((steps, 1)),
            0.2 * signs(steps),
            np.where(mode == 1, damping, 1.0)[:, None],
            0.3 * rate**mode,
            best=0.1,
            parameters={"rho": rate, "eps": damping, "eta": 0.3},
        )
        yield replace(run, weights=run.sizes).model()
        for other in perturbed(run, letters):
            yield replace(other, weights=run.sizes).model()
    yield from _frozen_stretch()


def _frozen_stretch() -> Iterator[Model]:
    """A metric that is huge for a stretch in which the loss counts, unlike what is claimed."""
    steps, delay = 60, 20
    stretch = (np.arange(steps) // delay) % 2
    for huge in (stretch, np.arange(steps) < 20):
        metric = np.where(huge == 1, 1e3, 1.0)[:, None]
        run = Run(
            steps,
            delay,
            np.where(huge == 1, 1.0, 0.0)[:, None],
            _still(steps),
            metric,
            np.full(steps, 1 / np.sqrt(steps)),
            parameters={"eps": 0.5},
        )
        yield run.model()
        yield run.claiming("spread", spread=np.zeros(1)).model()
        yield run.claiming("Dup", Dup=np.full(1, 0.5)).model()


def decay_models(rng: np.random.Generator) -> Iterator[Model]:
    """The decaying schedule with a capped v: right runs, and runs that break one rule each."""
    for run in _broken(1 / np.sqrt(np.arange(1, 17))):
        yield _with_v(run).model()
    letters = "C R Rj nu nu1 Dn Gamt kap a h"
    for steps, delay, damping in ((4, 4, 0.5), (4, 2, 0.5), (6, 2, 0.5), (5, 1, 0.9)):
        yield from _decaying(steps, delay, damping, rng, letters)
    yield from _rules()


def _decaying(
    steps: int, delay: int, damping: float, rng: np.random.Generator, letters: str
) -> Iterator[Model]:
    phase = np.arange(steps) // delay
    decay = damping
    draws = signs(steps)
    phases = int(phase.max()) + 1
    moment = rng.uniform(0, 1, (phases, 1, 1)) * (1 + 0.5 * draws[:1])  # of the first noise
    moment[:1] = 0.0
    cap = float(min(moment.max() + 1e-9, (1 / decay - damping) ** 2))
    moment = np.minimum(moment, cap)
    metric = np.where((phase % 2 == 1)[:, None, None], np.sqrt(moment[phase]) + damping, 1.0)
    for rate in (0.4, 1.0):
        run = Run(
            steps,
            delay,
            np.ones((steps, 1)),
            0.3 * draws,
            metric,
            rate * decay**phase / np.sqrt(np.arange(1, steps + 1)),
            best=0.1,
            parameters={"eta": rate, "alpha": decay, "eps": damping, "M": cap, "kap": 1.0},
            claims={"v": moment},
        )
        yield run.model()
        for other in perturbed(run, letters):
            yield other.model()


def _with_v(run: Run) -> Run:
    return replace(
        run,
        parameters={**run.parameters, "eps": 1.0, "alpha": 0.5, "M": 1.0, "kap": 1.0},
        claims={**run.claims, "v": np.zeros((2, 1, 1))},
    )


def _rules() -> Iterator[Model]:
    """One rule of the schedule broken: the run stands still where its loss counts."""
    steps, delay = 60, 20
    phase = np.arange(steps) // delay
    root = np.sqrt(np.arange(1, steps + 1))
    odd = phase % 2 == 1

    def run(
        counts: Array,
        metric: Array,
        *,
        size: float = 1.0,
        alpha: float = 0.99,
        eps: float = 1.0,
        cap: float = 0.0,
        v: float = 0.0,
        sizes: Array | None = None,
        note: str = "",
    ) -> Model:
        moments = np.zeros((4, 1, 1))
        moments[1] = v
        made = Run(
            steps,
            delay,
            np.where(counts, 1.0, 0.0)[:, None],
            _still(steps),
            metric[:, None],
            size * alpha**phase / root if sizes is None else sizes,
            parameters={"eta": size, "alpha": alpha, "eps": eps, "M": cap + 1e-9, "kap": 1.0},
            note=note,
        )
        return made.claiming(note, v=moments).model()

    yield run(odd, np.where(odd, 1.0, 1.0), note="right")
    yield run(phase == 0, np.where(phase == 0, 1e3, 1.0), note="D is not 1 in an even phase")
    yield run(odd, np.where(odd, 1e3, 1.0), note="D is not sqrt(v) + damping")
    yield run(odd, np.where(odd, 1e3 + 1, 1.0), v=1e6, note="v is above its cap")
    yield run(odd, np.where(odd, 1e3 + 1, 1.0), v=1e6, cap=1e6, note="no decay for a large D")
    yield run(phase >= 0, np.ones(steps), sizes=np.full(steps, 1e-4), note="other step sizes")
    yield run(phase >= 0, np.ones(steps), sizes=1e-4 * root, note="growing step sizes")
    yield run(odd, np.where(odd, 1.0, 1e-3), note="a tiny D in even phases")
    yield run(odd, np.where(odd, 1e-3, 1.0), note="a tiny D in odd phases")
    # The metric falls into an adaptive phase: tiny steps first, then a tiny D.
    steps, delay = 8, 4
    phase = np.arange(steps) // delay
    root, odd = np.sqrt(np.arange(1, steps + 1)), phase % 2 == 1
    yield run(
        phase >= 0,
        np.where(odd, 0.01, 1.0),
        size=0.01,
        alpha=1.0,
        eps=0.01,
        note="the decay is larger than the damping",
    )
