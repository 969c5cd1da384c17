"""Every optimizer by its name on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dp2theory.optimizers.adagrad import AdaGrad, DelayedAdaGrad, Dp2AdaGrad, DpAdaGrad
from dp2theory.optimizers.adam import Adam, DelayedAdam, Dp2Adam, DpAdam
from dp2theory.optimizers.dp2 import DelayedRmsProp, Dp2RmsProp
from dp2theory.optimizers.mirror_descent import PdaDpmd
from dp2theory.optimizers.modifiers import LearningRateDecay, Momentum
from dp2theory.optimizers.noise_aware import Dp2RmsPropNoiseAware, DpRmsPropNoiseAware
from dp2theory.optimizers.projected import DpAdaGradProjected
from dp2theory.optimizers.rmsprop import DpRmsProp, RmsProp
from dp2theory.optimizers.sgd import DpSgd, Sgd
from dp2theory.optimizers.side_information import AdaDps, AdaDpsStatistics
from dp2theory.optimizers.snapshot import Snapshot
from dp2theory.optimizers.steps import Optimizer
from dp2theory.optimizers.variants import (
    Dp2RmsPropDebiased,
    Dp2RmsPropExtraNoise,
    Dp2RmsPropNoiseFirst,
)
from dp2theory.optimizers.yogi import DelayedYogi, Dp2Yogi, DpYogi, Yogi
from dp2theory.problems.validation import whole_number

#: Name to class, private ones first. A class is private if it takes a `noise_multiplier`.
METHODS: dict[str, type[Any]] = {
    "dp-sgd": DpSgd,
    "dp-rmsprop": DpRmsProp,
    "dp2-rmsprop": Dp2RmsProp,
    "dp-adagrad": DpAdaGrad,
    "dp-adam": DpAdam,
    "dp-yogi": DpYogi,
    "dp-rmsprop-noise-aware": DpRmsPropNoiseAware,
    "dp2-adagrad": Dp2AdaGrad,
    "dp2-adam": Dp2Adam,
    "dp2-yogi": Dp2Yogi,
    "dp2-rmsprop-extra-noise": Dp2RmsPropExtraNoise,
    "dp2-rmsprop-noise-first": Dp2RmsPropNoiseFirst,
    "dp2-rmsprop-debiased": Dp2RmsPropDebiased,
    "dp2-rmsprop-noise-aware": Dp2RmsPropNoiseAware,
    "snapshot": Snapshot,
    "adadps": AdaDps,
    "adadps-statistics": AdaDpsStatistics,
    "pda-dpmd": PdaDpmd,
    "dp-adagrad-projected": DpAdaGradProjected,
    "sgd": Sgd,
    "rmsprop": RmsProp,
    "delayed-rmsprop": DelayedRmsProp,
    "adagrad": AdaGrad,
    "adam": Adam,
    "yogi": Yogi,
    "delayed-adagrad": DelayedAdaGrad,
    "delayed-adam": DelayedAdam,
    "delayed-yogi": DelayedYogi,
}


def method_class(method: str) -> type[Any]:
    """Return the class behind a name, or raise ValueError with the known names."""
    if method not in METHODS:
        raise ValueError(f"method={method!r}: must be one of {', '.join(METHODS)}")
    return METHODS[method]


def is_private(method: str) -> bool:
    """Whether a method adds noise; unknown names are a ValueError."""
    return has_setting(method, "noise_multiplier")


def needs_public_data(method: str) -> bool:
    """Whether a method uses side information; unknown names are a ValueError."""
    return has_setting(method, "public")


def has_setting(method: str, name: str) -> bool:
    """Whether a method's class has a field of that name."""
    return name in {each.name for each in fields(method_class(method))}


def check_words(method: str, values: Mapping[str, Any]) -> None:
    """Raise ValueError where a word is given for a number.

    The classes check their settings themselves, but defaults are reckoned from some of them before.
    """
    kinds = {each.name: str(each.type) for each in fields(method_class(method))}
    for name, value in values.items():
        kind = kinds.get(name, "str")
        wanted = ("str", "Literal") if isinstance(value, str) else ("bool",)
        if isinstance(value, str | bool) and not any(word in kind for word in wanted):
            raise ValueError(f"{name}={value!r}: must be a number")


#: Settings that every method takes besides its own: they wrap it.
MODIFIERS = ("momentum", "learning_rate_schedule")


def build(method: str, values: Mapping[str, Any], *, steps: int) -> Optimizer:
    """Return the optimizer of that name, wrapped in momentum and decay where they are given.

    Parameters
    ----------
    method : str
    values : mapping
        All settings that the class needs; besides them ``momentum`` (`Momentum`) and
        ``learning_rate_schedule`` (`LearningRateDecay`), None for none.
    steps : int
        Steps T of the run, over which the learning rate falls.
    """
    whole_number("steps", steps, minimum=0)
    own = {name: value for name, value in values.items() if name not in MODIFIERS}
    optimizer: Optimizer = method_class(method)(**own)
    if values.get("momentum") is not None:
        optimizer = Momentum(optimizer, values["momentum"])
    if values.get("learning_rate_schedule") is not None:
        optimizer = LearningRateDecay(optimizer, values["learning_rate_schedule"], steps)
    return optimizer
