"""The optimizer that an audit attacks: a method by name with settings that show its faults, or
one that a user wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np

from dp2theory.optimizers.registry import METHODS, is_private, method_class, needs_public_data
from dp2theory.optimizers.steps import Optimizer
from dp2theory.planning.methods import Settings, make_optimizer
from dp2theory.problems.linear import LinearProblem
from dp2theory.problems.public import PublicData
from dp2theory.problems.rows import DenseRows
from dp2theory.verification.neighbours import DIMENSION, FixedSlope
from dp2theory.verification.replay import MakeOptimizer

#: Settings of an audit where the user gives none: both kinds of phases in few steps, and clip
#: norms that differ, so that one used in the place of the other shows.
SETTINGS: dict[str, Any] = {"clip_norm": 1.0, "preconditioned_clip_norm": 4.0, "delay": 1}


def private_methods() -> list[str]:
    """Return the names of the methods that can be audited."""
    return [name for name in METHODS if is_private(name)]


def audited_method(
    method: str,
    given: Mapping[str, Any],
    *,
    noise_multiplier: float,
    steps: int,
    expected_batch_size: float,
) -> Optimizer:
    """Return a private method with `SETTINGS` where nothing else is given.

    Parameters
    ----------
    method : str
    given : mapping of str to object
        Settings by name; one that the method does not have is refused.
    noise_multiplier : float
    steps : int
    expected_batch_size : float
        Public divisor of the audit's batches.

    Returns
    -------
    Optimizer

    Raises
    ------
    ValueError
        For an unknown method, one that adds no noise, or settings it does not have.
    """
    kind = method_class(method)
    if not is_private(method):
        raise ValueError(
            f"method={method!r}: adds no noise, so there is nothing to audit; private are "
            f"{', '.join(private_methods())}"
        )
    settings = {name: value for name, value in SETTINGS.items() if name in _names(kind)}
    if {"sgd_steps", "adaptive_steps"} & given.keys():
        settings.pop("delay", None)
    return make_optimizer(
        method,
        Settings.from_mapping({**settings, **given}),
        noise_multiplier=noise_multiplier,
        steps=steps,
        public=_public() if needs_public_data(method) else None,
        expected_batch_size=expected_batch_size,
    )


def loaded_optimizer(location: str) -> Optimizer | MakeOptimizer:
    """Import what a user named as MODULE:ATTRIBUTE.

    Parameters
    ----------
    location : str
        An optimizer, or something that makes one from a problem.

    Raises
    ------
    ValueError
        When nothing of that name can be imported, or it is neither.
    """
    module, colon, path = location.partition(":")
    if not (module and colon and path):
        raise ValueError(f"optimizer={location!r} must be MODULE:ATTRIBUTE")
    try:
        found: Any = import_module(module)
    except ImportError as error:
        raise ValueError(f"optimizer={location!r}: {error}") from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise ValueError(f"optimizer={location!r}: {module} has no attribute {path}")
        found = getattr(found, name)
    if not callable(found) and not hasattr(found, "query"):
        raise ValueError(
            f"optimizer={location!r}: must be an optimizer (with initial_state, query and apply), "
            "or a function that makes one from a problem"
        )
    chosen: Optimizer | MakeOptimizer = found
    return chosen


def _names(kind: type[Any]) -> set[str]:
    return {each.name for each in fields(kind)}


def _public() -> PublicData:
    """Public records whose gradients point along every coordinate alike."""
    problem = LinearProblem(
        "worst-case-public",
        {"train": DenseRows(np.eye(DIMENSION))},
        {"train": np.ones(DIMENSION)},
        FixedSlope(),
    )
    return PublicData(problem, "made up for an audit")
