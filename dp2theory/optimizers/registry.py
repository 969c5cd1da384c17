"""Every optimizer by its name on the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dp2theory.optimizers.dp2 import DelayedRmsProp, Dp2RmsProp
from dp2theory.optimizers.rmsprop import DpRmsProp, RmsProp
from dp2theory.optimizers.sgd import DpSgd, Sgd

#: Name to class, private ones first. A class is private if it takes a `noise_multiplier`.
METHODS: dict[str, type[Any]] = {
    "dp-sgd": DpSgd,
    "dp-rmsprop": DpRmsProp,
    "dp2-rmsprop": Dp2RmsProp,
    "sgd": Sgd,
    "rmsprop": RmsProp,
    "delayed-rmsprop": DelayedRmsProp,
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
