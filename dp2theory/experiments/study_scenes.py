"""What the study runs on: problems with their budgets, and which claims are checked on which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dp2theory.experiments.seeds import derived_seeds
from dp2theory.experiments.settings import SETTINGS, Setting
from dp2theory.problems.registry import HET_INSTANCES

#: The claims by name.
CHECKS = (
    "dp-sgd",
    "dp-rmsprop",
    "sweet-spot",
    "real-data",
    "snapshot",
    "noise-first",
    "extra-noise",
    "regret",
    "delay-ratio",
    "privacy",
)
#: Delays as divisors of the number of steps, and fewer where no end of the curve is wanted, or
#: where runs take long.
ALL_DELAYS = (320, 160, 80, 40, 20, 10, 4)
#: The same without its ends.
SOME_DELAYS = (160, 80, 40, 20, 10)
#: The short ones, for text.
SHORT_DELAYS = (320, 160, 80, 40)
#: For ratings, whose runs take long.
TWO_DELAYS = (80, 40)
#: Shapes (those of a named instance) of the problems that are drawn afresh from the seeds.
FRESH_SHAPES = ("het", "hetB", "hetM")

_HET = ("dp-sgd", "dp-rmsprop", "noise-first", "extra-noise", "regret", "privacy")


@dataclass(frozen=True)
class Scene:
    """One problem of the study.

    Attributes
    ----------
    name : str
        As the report calls it.
    setting : Setting
    checks : tuple of str
        Claims that are checked on it.
    divisors : tuple of int
        The grid of delays, as divisors of the number of steps.
    evaluations : int
        Number of evaluation seeds.
    """

    name: str
    setting: Setting
    checks: tuple[str, ...]
    divisors: tuple[int, ...] = SOME_DELAYS
    evaluations: int = 16


def fresh_settings(text: str | None = None) -> tuple[tuple[str, Setting], ...]:
    """Return members of the `het` family that nobody has seen, with names to call them by.

    Parameters
    ----------
    text : str, optional
        What the seeds of the data are derived from; the version if None.
    """
    fresh = []
    seeds = derived_seeds("instances", len(FRESH_SHAPES), text=text)
    for shape, seed in zip(FRESH_SHAPES, seeds, strict=True):
        n, d, amin, avg, _ = HET_INSTANCES[shape]
        problem = f"het:n={n},d={d},amin={amin!r},avg={avg},seed={seed}"
        fresh.append((f"fresh {shape}", replace(SETTINGS[shape], problem=problem)))
    return tuple(fresh)


def scenes(text: str | None = None) -> tuple[Scene, ...]:
    """Return the problems of the study.

    Parameters
    ----------
    text : str, optional
        What the seeds of fresh problems are derived from; the version if None.
    """
    return (
        Scene("het", SETTINGS["het"], (*_HET, "sweet-spot", "snapshot"), ALL_DELAYS),
        Scene("hetA", SETTINGS["hetA"], (*_HET, "sweet-spot"), ALL_DELAYS),
        Scene("hetB", SETTINGS["hetB"], (*_HET, "snapshot")),
        Scene("hetD", SETTINGS["hetD"], _HET),
        Scene("hetM", SETTINGS["hetM"], (*_HET, "snapshot")),
        Scene("hetC", SETTINGS["hetC"], ("regret", "delay-ratio", "privacy")),
        *(Scene(name, setting, ("regret", "privacy")) for name, setting in fresh_settings(text)),
        Scene(
            "text",
            SETTINGS["text"],
            ("real-data", "snapshot", "regret", "delay-ratio", "privacy"),
            SHORT_DELAYS,
        ),
        Scene(
            "movielens-small",
            SETTINGS["movielens-small"],
            ("real-data", "privacy"),
            TWO_DELAYS,
            evaluations=8,
        ),
        Scene("syn", SETTINGS["syn"], ("snapshot", "privacy")),
    )


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the claims named, or all if none is; unknown names are a ValueError."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(f"check={names!r} must be a sequence of {', '.join(CHECKS)}")
    for name in names:
        if name not in CHECKS:
            raise ValueError(f"check={name!r} must be one of {', '.join(CHECKS)}")
    return tuple(name for name in CHECKS if name in names) if names else CHECKS
