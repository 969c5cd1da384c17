"""Figure 3: h(s), how large today's gradients are against the average they are scaled by.

h(s) is measured by its definition (theorem dp2.h.definition) on runs of DP²-RMSProp with delay s:
the largest ratio, over the adaptive steps, of E||g_t||_1 to E||G/s||_1 + d * damping, expectations
over runs. g_t is the raw clipped mean gradient on the run's own batch; nobody but the experimenter
sees it. Beside it stand

* the noise-only prediction: the denominator as if the average held nothing but noise,
  d tau sqrt(2/pi) with tau = sigma C/(b sqrt s);
* the folded normal (dp2.h.folded-normal): noise drawn anew on the measured means;
* the band of dp2.h.bounds around it, which needs the root mean squares alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.experiments.figures.watched import WatchedProblem
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.problems.protocol import Array, IndexArray

if TYPE_CHECKING:
    from dp2theory.experiments.settings import Setting

#: Resamples of the runs, for the interval of h(s).
RESAMPLES = 400
#: Below this ratio of signal to noise the noise-only prediction is to hold.
NOISE_DOMINATES = 0.1


@dataclass(frozen=True)
class Trace:
    """What one run shows, update by update (k) and adaptive step by adaptive step (t).

    Attributes
    ----------
    gradients : ndarray, shape (adaptive steps,)
        ||g_t||_1.
    updates : ndarray of int, shape (adaptive steps,)
        The update k that step looks back on.
    averages : ndarray, shape (updates,)
        ||G/s||_1 of the released average.
    folded, roots : ndarray, shape (updates,)
        Sum over coordinates of E|m + tau Z| and of sqrt(m^2 + tau^2) for the raw average m.
    signals : ndarray, shape (updates,)
        ||m||^2.
    """

    gradients: Array
    updates: IndexArray
    averages: Array
    folded: Array
    roots: Array
    signals: Array


def folded_norm(means: Array, std: float) -> float:
    """Sum over coordinates of E|m_j + std Z|, Z standard normal (theorem dp2.h.folded-normal)."""
    from scipy.special import erf

    if std == 0:
        return float(np.abs(means).sum())
    scaled = means / (std * math.sqrt(2))
    bell = std * math.sqrt(2 / math.pi) * np.exp(-(scaled**2))
    return float((bell + means * erf(scaled)).sum())


def trace_run(setting: Setting, optimizer: Dp2RmsProp, seed: int) -> Trace:
    """Run DP² once and watch what h(s) is made of.

    Parameters
    ----------
    setting : Setting
    optimizer : Dp2RmsProp
    seed : int
    """
    watcher = _Watcher(optimizer, setting)
    run(
        optimizer,
        WatchedProblem(watcher.problem, watcher.see),
        sampling=setting.description(),
        steps=setting.run_steps,
        rng=seed,
        on_release=watcher.released,
    )
    return watcher.trace()


class _Watcher:
    """Collects a `Trace` along a run."""

    def __init__(self, optimizer: Dp2RmsProp, setting: Setting) -> None:
        self.problem = setting.load()
        self.optimizer = optimizer
        self.phases = optimizer.phases
        self.divisor = float(setting.batch_size)
        length = self.phases.sgd_steps
        self.noise = (
            optimizer.noise_multiplier * optimizer.clip_norm / self.divisor / math.sqrt(length)
        )
        self.raw = np.zeros(self.problem.dimension)
        self.noisy = np.zeros(self.problem.dimension)
        self.rows: list[tuple[float, float, float, float]] = []
        self.gradients: list[float] = []
        self.updates: list[int] = []

    def see(
        self, parameters: Array, batch: IndexArray, preconditioner: Array | None, total: Array
    ) -> None:
        """Take in the raw sum of one step; in adaptive steps the plain sum on the same batch."""
        if preconditioner is None:
            self.raw += total
            return
        plain = self.problem.clipped_gradient_sum(
            parameters, batch, clip_norm=self.optimizer.clip_norm
        )
        self.gradients.append(float(np.abs(plain).sum()) / self.divisor)
        self.updates.append(len(self.rows) - 1)

    def released(self, step: int, released: Array) -> None:
        """Take in the release of one step; at the end of a phase, its averages."""
        if not self.phases.is_sgd(step):
            return
        self.noisy += released
        if not self.phases.ends_sgd(step):
            return
        length = self.phases.sgd_steps
        mean = self.raw / (self.divisor * length)
        self.rows.append(
            (
                float(np.abs(self.noisy).sum()) / length,
                folded_norm(mean, self.noise),
                float(np.hypot(mean, self.noise).sum()),
                float(mean @ mean),
            )
        )
        self.raw[:] = 0
        self.noisy[:] = 0

    def trace(self) -> Trace:
        """What was seen."""
        columns = np.array(self.rows, dtype=np.float64).reshape(-1, 4).T
        return Trace(
            gradients=np.array(self.gradients),
            updates=np.array(self.updates, dtype=np.int64),
            averages=columns[0],
            folded=columns[1],
            roots=columns[2],
            signals=columns[3],
        )


@dataclass(frozen=True)
class Staleness:
    """h(s) at one delay.

    Attributes
    ----------
    delay : int
    measured : float
        The largest ratio, by the definition. It overestimates h(s) when runs are few.
    lower, upper : float or None
        Basic bootstrap interval over runs, which need not hold `measured`; None for a single run.
    noise_only, folded, band_lower, band_upper : float
        The same with the predicted denominators.
    saturation : float
        Bound of dp2.h.saturation.
    signal_to_noise : float
        Mean ||m||^2 of the raw averages over d tau^2, over the run.
    signal_to_noise_attained : float
        The same of the one update behind the largest ratio; the first updates have the most.
    """

    delay: int
    measured: float
    lower: float | None
    upper: float | None
    noise_only: float
    folded: float
    band_lower: float
    band_upper: float
    saturation: float
    signal_to_noise: float
    signal_to_noise_attained: float

    @property
    def noise_only_error(self) -> float:
        """Noise-only prediction over the measured value, minus 1."""
        return self.noise_only / self.measured - 1

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "delay": self.delay,
            "h": self.measured,
            "interval": (
                None if self.lower is None else {"lower": self.lower, "upper": self.upper}
            ),
            "noise_only": self.noise_only,
            "noise_only_error": self.noise_only_error,
            "folded_normal": self.folded,
            "bounds": {"lower": self.band_lower, "upper": self.band_upper},
            "saturation": self.saturation,
            "signal_to_noise": self.signal_to_noise,
            "signal_to_noise_attained": self.signal_to_noise_attained,
        }


def staleness(
    setting: Setting, optimizer: Dp2RmsProp, traces: Sequence[Trace], *, seed: int = 0
) -> Staleness:
    """h(s) of one delay from the traces of several runs.

    Parameters
    ----------
    setting : Setting
    optimizer : Dp2RmsProp
        What was run.
    traces : sequence of Trace
        One per seed; the run must reach an adaptive phase.
    seed : int
        Of the resampling of runs.
    """
    if not traces or not traces[0].gradients.size:
        raise ValueError(
            f"delay={optimizer.delay!r} must leave an adaptive phase within the run's "
            f"{setting.run_steps} steps"
        )
    d, b = setting.load().dimension, float(setting.batch_size)
    length = optimizer.phases.sgd_steps
    tau = optimizer.noise_multiplier * optimizer.clip_norm / b / math.sqrt(length)
    floor = d * optimizer.damping
    updates = traces[0].updates
    top = np.array([trace.gradients for trace in traces])

    def largest(below: Array) -> float:
        """The largest ratio of mean gradient norm to denominator (one per update)."""
        return float((top.mean(axis=0) / below[updates]).max())

    def mean(name: str) -> Array:
        return np.asarray(np.mean([getattr(trace, name) for trace in traces], axis=0))

    averages, roots = mean("averages") + floor, mean("roots")
    signals = mean("signals") / (d * tau**2)
    attained = int(updates[np.argmax(top.mean(axis=0) / averages[updates])])
    noise_alone = np.full(traces[0].averages.size, d * tau * math.sqrt(2 / math.pi) + floor)
    low, high = _interval(
        top, np.array([trace.averages for trace in traces]) + floor, updates, seed
    )
    # Poisson batches with a fixed divisor: the caveat of dp2.h.saturation.
    excess = 1 + (1 - b / setting.load().dataset_size) / b if setting.sampling == "poisson" else 1.0
    return Staleness(
        delay=length,
        measured=largest(averages),
        lower=low,
        upper=high,
        noise_only=largest(noise_alone),
        folded=largest(mean("folded") + floor),
        band_lower=largest(roots + floor),
        band_upper=largest(roots * math.sqrt(2 / math.pi) + floor),
        saturation=optimizer.clip_norm * math.sqrt(excess) / (optimizer.damping * math.sqrt(d)),
        signal_to_noise=float(signals.mean()),
        signal_to_noise_attained=float(signals[attained]),
    )


def _interval(
    top: Array, below: Array, updates: IndexArray, seed: int
) -> tuple[float | None, float | None]:
    """Basic bootstrap interval of log h over runs.

    A largest ratio of means overestimates, and does so once more when runs are drawn again. The
    basic interval mirrors the quantiles, which takes that bias off; percentiles would double it.
    """
    runs = top.shape[0]
    if runs < 2:
        return None, None
    rng = np.random.default_rng(seed)

    def largest(weights: Array) -> float:
        return float(((weights @ top) / (weights @ below)[updates]).max())

    measured = largest(np.full(runs, 1 / runs))
    drawn = rng.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    low, high = np.quantile([largest(weights) for weights in drawn], [0.025, 0.975])
    return float(measured**2 / high), float(measured**2 / low)
