"""Settings where the user gives none: documented starting points, not tuned values.

Clip norm 1 and effective step 1 (learning rate times clip norm) for DP-SGD. The delayed methods
walk their SGD phases at a third of DP-SGD's learning rate, and their adaptive phases at clip norm
500, which clips little, and three times DP-SGD's effective step: the middle of the fixed grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: DP-SGD's clip norm and effective step (learning rate times clip norm).
CLIP_NORM = 1.0
#: DP-SGD's effective step: learning rate times clip norm.
EFFECTIVE_STEP = 1.0
#: Effective step of the adaptive phases over DP-SGD's.
ADAPTIVE_FACTOR = 3.0
#: Learning rate of the SGD phases (and of a pilot) over DP-SGD's.
SGD_PHASE_RATE = 1 / 3
#: Clip norm of preconditioned gradients.
PRECONDITIONED_CLIP_NORM = 500.0
#: Learning rate of methods that divide by a root of averaged squares at every step.
MOVING_AVERAGE_RATE = 0.01
#: Learning rate of methods that divide by a root of summed squares at every step.
RUNNING_SUM_RATE = 0.3


def default_delay(steps: int) -> int:
    """T // 40, at least 1: about 20 preconditioner updates in a run of `steps` steps."""
    return max(1, steps // 40)


def fill(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return `given`, and `defaults` where it is silent."""
    return {**defaults, **given}


def sgd_rate(given: Mapping[str, Any]) -> float:
    """DP-SGD's learning rate at the given clip norm, or at the default one."""
    clip = given.get("clip_norm", CLIP_NORM)
    return EFFECTIVE_STEP / clip if clip > 0 else EFFECTIVE_STEP


def every_step(given: Mapping[str, Any], fields: Iterable[str], rate: float) -> dict[str, Any]:
    """Settings of a method that renews its preconditioner at every step.

    Parameters
    ----------
    given : mapping
        What the user gave.
    fields : iterable of str
        Names of the method's settings; `clip_norm` is filled only if it is one.
    rate : float
        Default learning rate.
    """
    defaults: dict[str, Any] = {"learning_rate": rate}
    if "clip_norm" in fields:
        defaults["clip_norm"] = CLIP_NORM
    return fill(given, defaults)


def delayed(given: Mapping[str, Any], fields: Iterable[str], steps: int) -> dict[str, Any]:
    """Settings of a method with alternating phases.

    Parameters
    ----------
    given : mapping
        What the user gave.
    fields : iterable of str
        Names of the method's settings; clip norms are filled only if they are among them.
    steps : int
        Steps T of the whole run, for the default delay T // 40.
    """
    clip = given.get("clip_norm", CLIP_NORM)
    outer = given.get("preconditioned_clip_norm", PRECONDITIONED_CLIP_NORM)
    rate = given.get("learning_rate", SGD_PHASE_RATE * sgd_rate(given))
    # DP-SGD's effective step is read back from the SGD phases' learning rate.
    adaptive = ADAPTIVE_FACTOR * rate / SGD_PHASE_RATE * clip
    defaults: dict[str, Any] = {
        "learning_rate": rate,
        "adaptive_learning_rate": adaptive / outer if outer > 0 else adaptive,
    }
    if not {"delay", "sgd_steps", "adaptive_steps"} & given.keys():
        defaults["delay"] = default_delay(steps)
    if "clip_norm" in fields:
        defaults["clip_norm"] = CLIP_NORM
    if "preconditioned_clip_norm" in fields:
        defaults["preconditioned_clip_norm"] = PRECONDITIONED_CLIP_NORM
    return fill(given, defaults)
