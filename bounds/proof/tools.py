"""What the rules share: an outcome, and the optional packages."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


class MissingTool(ValueError):
    """A package that a proof rule needs is not installed."""


@dataclass(frozen=True)
class Outcome:
    """Whether a rule accepts a step; why not, or how.

    Attributes
    ----------
    ok : bool
        Whether it is accepted.
    message : str
        Why not, or how.
    """

    ok: bool
    message: str = ""


def load(name: str) -> Any:
    """Import ``z3`` or ``flint``.

    Raises
    ------
    MissingTool
        With the name of the extra that has it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = {"z3": "z3-solver", "flint": "python-flint"}[name]
        raise MissingTool(
            f"{package} is not installed and proofs need it (extra `prove`): "
            "pip install z3-solver python-flint"
        ) from error
