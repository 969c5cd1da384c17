"""How well noise alone predicts h(s), at the delays of a problem.

h(s) is the largest ratio of E||g_t||_1 to E||G/s||_1 + d damping over the adaptive steps (theorem
dp2.h.definition). If the average G/s held nothing but noise, the denominator would be
d sigma C sqrt(2/pi)/(b sqrt s) + d damping. How far that is from the truth depends on the signal
in *the* average that a step looks back on, and the largest ratio tends to be attained early, where
gradients are large and the signal too. So the prediction is held to its bar over the steps whose
average has little signal; a ratio of signal to noise in the mean over the run would mix them up
with others. The prediction of the whole h(s) is reported besides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.experiments.figures.staleness import Trace, trace_run
from dp2theory.optimizers.dp2 import Dp2RmsProp

if TYPE_CHECKING:
    from dp2theory.experiments.settings import Setting

#: Below this ratio of signal to noise the prediction is held to its bar.
LOW_SIGNAL = 0.1


@dataclass(frozen=True)
class Prediction:
    """The noise-only prediction of h at one delay.

    Attributes
    ----------
    delay : int
    error : float
        Relative error of the predicted h(s).
    signal_to_noise : float
        Energy of the raw average over that of its noise, in the mean over the updates.
    low_updates, updates : int
        How many updates have a ratio below `LOW_SIGNAL`, and how many there are in all.
    low_error : float or None
        Relative error of the prediction over the steps that look back on those updates.
    """

    delay: int
    error: float
    signal_to_noise: float
    low_updates: int
    updates: int
    low_error: float | None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "delay": self.delay,
            "error": self.error,
            "signal_to_noise": self.signal_to_noise,
            "low_signal_updates": self.low_updates,
            "updates": self.updates,
            "low_signal_error": self.low_error,
        }


def predictions(
    setting: Setting, optimizers: Mapping[int, Dp2RmsProp], seeds: Sequence[int]
) -> tuple[Prediction, ...]:
    """Measure h(s) and predict it from noise alone, for DP²-RMSProp at several delays.

    Parameters
    ----------
    setting : Setting
    optimizers : mapping of int to Dp2RmsProp
        By delay; each must reach an adaptive phase.
    seeds : sequence of int
        Of the runs that expectations are taken over.
    """
    return tuple(
        predict(
            delay,
            [trace_run(setting, optimizer, seed) for seed in seeds],
            dimension=setting.load().dimension,
            noise_std=optimizer.noise_multiplier
            * optimizer.clip_norm
            / (setting.batch_size * math.sqrt(delay)),
            damping=optimizer.damping,
        )
        for delay, optimizer in sorted(optimizers.items())
    )


def predict(
    delay: int, traces: Sequence[Trace], *, dimension: int, noise_std: float, damping: float
) -> Prediction:
    """Compare measured and predicted h of one delay.

    Parameters
    ----------
    delay : int
    traces : sequence of Trace
        Of runs with the same settings.
    dimension : int
    noise_std : float
        Standard deviation of the noise in one coordinate of an average.
    damping : float
    """
    updates = traces[0].updates
    # An update whose average no step looks back on does not count.
    used = np.unique(updates)
    gradients = np.mean([trace.gradients for trace in traces], axis=0)
    measured = gradients / (
        np.mean([trace.averages for trace in traces], axis=0)[updates] + dimension * damping
    )
    predicted = gradients / (dimension * (noise_std * math.sqrt(2 / math.pi) + damping))
    ratio = np.mean([trace.signals for trace in traces], axis=0) / (dimension * noise_std**2)
    low = ratio[updates] < LOW_SIGNAL
    return Prediction(
        delay=delay,
        error=float(predicted.max() / measured.max() - 1),
        signal_to_noise=float(ratio[used].mean()),
        low_updates=int((ratio[used] < LOW_SIGNAL).sum()),
        updates=used.size,
        low_error=float(predicted[low].max() / measured[low].max() - 1) if low.any() else None,
    )
