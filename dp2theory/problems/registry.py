"""Problems by name, as on the command line."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dp2theory.problems.errors import MissingExtraError as MissingExtraError
from dp2theory.problems.protocol import Problem

#: Instances of the `het` family: n, d, amin, avg, seed.
HET_INSTANCES: dict[str, tuple[int, int, float, float, int]] = {
    "het": (20_000, 300, 1 / 30, 12, 4),
    "hetA": (20_000, 300, 1 / 30, 12, 9),
    "hetB": (20_000, 200, 1 / 10, 10, 10),
    "hetC": (8_000, 400, 1 / 30, 12, 12),
    "hetD": (40_000, 400, 1 / 50, 12, 13),
    "hetM": (40_000, 100, 1 / 20, 8, 6),
}
_HET_KEYS: dict[str, Callable[[str], Any]] = {
    "n": int,
    "d": int,
    "amin": lambda text: float(Fraction(text)),
    "avg": lambda text: float(Fraction(text)),
    "seed": int,
}


def problem_names() -> list[str]:
    """Return the names `get_problem` knows; `het:n=...,d=...` is understood besides."""
    return [*_FACTORIES, *HET_INSTANCES]


def get_problem(
    name: str, *, path: str | None = None, seed: int | None = None, **options: Any
) -> Problem:
    """Return a problem by name.

    Parameters
    ----------
    name : str
        One of `problem_names()`, or a spelled-out member of the het family such as
        ``"het:n=20000,d=300,amin=0.0333,avg=12,seed=4"`` (fractions such as 1/30 are read).
    path : str, optional
        Where the user's copy of the data is; needed by ``movielens-100k`` (``u.data``), ``imdb``
        and ``stackoverflow``, and refused by the others.
    seed : int, optional
        Seed of the synthetic data, or of the train/test split; each problem has a default.
    **options
        Further arguments of the problem's own function, such as ``dimension`` of ``text``.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        For an unknown name (the known are listed), a bad option, or a missing path.
    MissingExtraError
        When the packages of the ``data`` extra are needed and not installed.
    """
    factory, preset = _find(name)
    if path is not None:
        options["path"] = path
    if seed is not None:
        options["seed"] = seed
    return _call(name, factory, preset | options)


def takes_option(name: str, option: str) -> bool:
    """Whether the problem of that name has the option (``path``, ``dimension``, …).

    Raises
    ------
    ValueError
        For an unknown name.
    """
    return option in _options(_find(name)[0])


def _find(name: str) -> tuple[Callable[..., Problem], dict[str, Any]]:
    """The factory behind a name, and the options that the name stands for."""
    if not isinstance(name, str):
        raise ValueError(f"name={name!r} must be one of {', '.join(problem_names())}")
    if name in _FACTORIES:
        return _load(*_FACTORIES[name]), {}
    if name in HET_INSTANCES:
        return _load("synthetic", "het"), dict(zip(_HET_KEYS, HET_INSTANCES[name], strict=True))
    if name.startswith("het:"):
        return _load("synthetic", "het"), _parse_het(name)
    raise ValueError(f"problem={name!r} is unknown; known are {', '.join(problem_names())}")


def _options(factory: Callable[..., Problem]) -> list[str]:
    return [key for key in inspect.signature(factory).parameters if key != "name"]


def _call(name: str, factory: Callable[..., Problem], options: dict[str, Any]) -> Problem:
    allowed = _options(factory)
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise ValueError(
            f"{unknown[0]}={options[unknown[0]]!r} is not an option of problem {name!r}; "
            f"its options are {', '.join(allowed)}"
        )
    if "path" in allowed and "path" not in options:
        raise ValueError(f"path=None: problem {name!r} needs the path of its data file")
    if "name" in inspect.signature(factory).parameters:
        options = options | {"name": name}
    return factory(**options)


def _parse_het(spelled: str) -> dict[str, Any]:
    example = "het:n=20000,d=300,amin=0.0333,avg=12,seed=4"
    values: dict[str, Any] = {}
    for part in spelled.removeprefix("het:").split(","):
        key, equals, text = part.partition("=")
        key = key.strip()
        if not equals or key not in _HET_KEYS or key in values:
            raise ValueError(
                f"problem={spelled!r} holds {part!r}, must give each of {', '.join(_HET_KEYS)} "
                f"once, as in {example}"
            )
        try:
            values[key] = _HET_KEYS[key](text.strip())
        except (ValueError, ZeroDivisionError):
            raise ValueError(
                f"problem={spelled!r} holds {key}={text!r}, must be a number, as in {example}"
            ) from None
    missing = [key for key in _HET_KEYS if key not in values]
    if missing:
        raise ValueError(f"problem={spelled!r} lacks {missing[0]}, must be written as {example}")
    return values


def _load(module: str, function: str) -> Callable[..., Problem]:
    """Return a factory; its module loads when the problem is asked for, pandas being slow."""
    factory: Callable[..., Problem] = getattr(
        importlib.import_module(f"dp2theory.problems.{module}"), function
    )
    return factory


#: Name to (module, function).
_FACTORIES: dict[str, tuple[str, str]] = {
    "text": ("text", "text"),
    "movielens-small": ("movielens", "movielens_small"),
    "movielens-100k": ("movielens", "movielens_100k"),
    "imdb": ("imdb", "imdb"),
    "stackoverflow": ("stackoverflow", "stackoverflow"),
    "digits": ("tabular", "digits"),
    "breast-cancer": ("tabular", "breast_cancer"),
    "syn": ("synthetic", "syn"),
    "tags": ("synthetic", "tags"),
    "least-absolute-deviations": ("convex", "least_absolute_deviations"),
    "huber": ("convex", "huber"),
    "quadratic": ("convex", "quadratic"),
}
