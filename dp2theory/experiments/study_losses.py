"""What the study measured on a problem: tuned methods with their losses, and pilots' advice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from accountants import Bracket
from dp2theory.experiments.study_delay_ratio import Prediction
from dp2theory.planning.paired import PairedComparison, compare_pairs


@dataclass(frozen=True)
class Arm:
    """One tuned method on one problem.

    Attributes
    ----------
    method : str
    settings : mapping
        Chosen on the tuning seeds.
    noise_multiplier : float
    epsilon : Bracket
        Of the whole event.
    tuning_loss : float
        Mean train loss of the choice on the tuning seeds.
    losses : tuple of float
        Final train losses, one per evaluation seed.
    """

    method: str
    settings: Mapping[str, Any]
    noise_multiplier: float
    epsilon: Bracket
    tuning_loss: float
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean final train loss."""
        return math.fsum(self.losses) / len(self.losses)

    def over(self, other: Arm) -> PairedComparison:
        """Compare with another method on the same seeds."""
        return compare_pairs(self.losses, other.losses)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "method": self.method,
            "settings": dict(self.settings),
            "noise_multiplier": self.noise_multiplier,
            "epsilon": self.epsilon.to_json(),
            "tuning_loss": self.tuning_loss,
            "mean_train_loss": self.mean if math.isfinite(self.mean) else "inf",
            "train_losses": [loss if math.isfinite(loss) else "inf" for loss in self.losses],
        }


@dataclass(frozen=True)
class Advice:
    """What a pilot advised.

    Attributes
    ----------
    seed : int
        Of the pilot.
    advice : str
        "dp2", "marginal" or "dp-sgd".
    delay : int or None
        Advised delay; None with the advice not to delay anything.
    snr : float
        Signal-to-noise ratio at the default delay.
    """

    seed: int
    advice: str
    delay: int | None
    snr: float

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "seed": self.seed,
            "advice": self.advice,
            "delay": self.delay,
            "signal_to_noise": self.snr,
        }


@dataclass(frozen=True)
class Measured:
    """Everything that was run on one problem.

    Attributes
    ----------
    problem : str
    arms : mapping of str to Arm
        By method, DP² left out.
    delays : mapping of int to Arm
        DP²-RMSProp by delay, each tuned anew: the grid of delays, and delays that were advised.
    grid : tuple of int
        The delays of the grid.
    advice : tuple of Advice
        Of the pilots, the first of which counts.
    tuned_advice : tuple of Advice
        Of pilots that walk with the tuned DP-SGD's step sizes.
    predictions : tuple of Prediction
        Of h(s) from noise alone.
    switched : tuple of float
        Final train losses of the online form: pilot with DP-SGD's step sizes, then DP² from its
        iterate at the advised delay; on the first evaluation seeds.
    """

    problem: str
    arms: Mapping[str, Arm]
    delays: Mapping[int, Arm] = field(default_factory=dict)
    grid: tuple[int, ...] = ()
    advice: tuple[Advice, ...] = ()
    tuned_advice: tuple[Advice, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    switched: tuple[float, ...] = ()

    @property
    def best_delay(self) -> int:
        """The delay of the grid with the smallest loss on the tuning seeds."""
        return min(self.grid, key=lambda delay: self.delays[delay].tuning_loss)

    @property
    def best(self) -> Arm:
        """DP² at its best delay."""
        return self.delays[self.best_delay]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "problem": self.problem,
            "methods": {name: arm.to_json() for name, arm in self.arms.items()},
            "delays": {str(delay): arm.to_json() for delay, arm in sorted(self.delays.items())},
            "delay_grid": list(self.grid),
            "best_delay": self.best_delay if self.grid else None,
            "advice": [one.to_json() for one in self.advice],
            "advice_at_tuned_steps": [one.to_json() for one in self.tuned_advice],
            "delay_ratio": [one.to_json() for one in self.predictions],
            "pilot_then_run_train_losses": list(self.switched),
        }
