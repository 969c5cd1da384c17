"""Optimizers by name, with documented settings where the user gives none.

The defaults are starting points, not tuned values: clip norm 1 and effective step 1 (learning
rate times clip norm) for DP-SGD. DP²-RMSProp walks its SGD phases at a third of DP-SGD's learning
rate, as the pilot does, and its adaptive phases at clip norm 500, which clips little, and three
times DP-SGD's effective step: the middle of the grid that `dp2theory.optimizers.tuning` searches.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dp2theory.optimizers.dp2 import DelayedRmsProp, Dp2RmsProp
from dp2theory.optimizers.rmsprop import DpRmsProp, RmsProp
from dp2theory.optimizers.sgd import DpSgd, Sgd
from dp2theory.optimizers.tuning import PRECONDITIONED_CLIP_NORM
from dp2theory.planning.gate import default_delay
from dp2theory.planning.pilot import PILOT_RATE

if TYPE_CHECKING:
    from dp2theory.optimizers.steps import Optimizer

#: DP-SGD's clip norm and effective step (learning rate times clip norm).
CLIP_NORM = 1.0
EFFECTIVE_STEP = 1.0
#: Effective step of DP²'s adaptive phases over DP-SGD's.
ADAPTIVE_FACTOR = 3.0
#: Learning rate of methods that divide by a root of second moments at every step.
RMSPROP_LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters as given by a user; None means the method's default.

    Attributes
    ----------
    learning_rate, clip_norm : float or None
        Of DP-SGD, or of the SGD phases of DP².
    adaptive_learning_rate, preconditioned_clip_norm : float or None
        Of the adaptive phases.
    delay, sgd_steps, adaptive_steps : int or None
        Phase lengths: `delay` for both, or each.
    ema, damping : float or None
    """

    learning_rate: float | None = None
    clip_norm: float | None = None
    adaptive_learning_rate: float | None = None
    preconditioned_clip_norm: float | None = None
    delay: int | None = None
    sgd_steps: int | None = None
    adaptive_steps: int | None = None
    ema: float | None = None
    damping: float | None = None

    def given(self) -> dict[str, Any]:
        """The settings that are not None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


_PRIVATE: dict[str, type[Any]] = {
    "dp-sgd": DpSgd,
    "dp-rmsprop": DpRmsProp,
    "dp2-rmsprop": Dp2RmsProp,
}
_OPEN: dict[str, type[Any]] = {
    "sgd": Sgd,
    "rmsprop": RmsProp,
    "delayed-rmsprop": DelayedRmsProp,
}
METHODS = (*_PRIVATE, *_OPEN)


def is_private(method: str) -> bool:
    """Whether a method adds noise; unknown names are a ValueError."""
    if method not in METHODS:
        raise ValueError(f"method={method!r}: must be one of {', '.join(METHODS)}")
    return method in _PRIVATE


def make_optimizer(
    method: str, settings: Settings, *, noise_multiplier: float, steps: int
) -> Optimizer:
    """The optimizer of that name with `settings`, and defaults where they are silent.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    settings : Settings
        Only what the method has: a setting it does not know is refused, not ignored.
    noise_multiplier : float
        sigma; the methods without noise do not use it.
    steps : int
        Steps T of the whole run, for the default delay T // 40.

    Returns
    -------
    Optimizer
    """
    private = is_private(method)
    kind = (_PRIVATE | _OPEN)[method]
    known = {field.name for field in fields(kind)}
    values = settings.given()
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{name}={value!r}: {method} has no such setting")
    if private:
        values["noise_multiplier"] = noise_multiplier
    for name, value in _defaults(method, values, steps).items():
        values.setdefault(name, value)
    optimizer: Optimizer = kind(**values)
    return optimizer


def _defaults(method: str, values: dict[str, Any], steps: int) -> dict[str, Any]:
    clip = values.get("clip_norm", CLIP_NORM)
    plain = EFFECTIVE_STEP / clip if clip > 0 else EFFECTIVE_STEP
    if method == "sgd":
        return {"learning_rate": plain}
    if method == "dp-sgd":
        return {"learning_rate": plain, "clip_norm": clip}
    if method == "rmsprop":
        return {"learning_rate": RMSPROP_LEARNING_RATE}
    if method == "dp-rmsprop":
        return {"learning_rate": RMSPROP_LEARNING_RATE, "clip_norm": clip}
    rate = values.get("learning_rate", PILOT_RATE * plain)
    outer_clip = values.get("preconditioned_clip_norm", PRECONDITIONED_CLIP_NORM)
    # DP-SGD's effective step is read back from the SGD phases' learning rate.
    adaptive_step = ADAPTIVE_FACTOR * rate / PILOT_RATE * clip
    defaults: dict[str, Any] = {
        "learning_rate": rate,
        "adaptive_learning_rate": adaptive_step / outer_clip if outer_clip > 0 else adaptive_step,
    }
    if not {"delay", "sgd_steps", "adaptive_steps"} & values.keys():
        defaults["delay"] = default_delay(steps)
    if method == "dp2-rmsprop":
        defaults |= {"clip_norm": clip, "preconditioned_clip_norm": outer_clip}
    return defaults
