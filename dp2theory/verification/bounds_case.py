"""Data of the reference code that test some theorems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bounds.model import Model
from bounds.theorem import Theorem
from dp2theory.verification.bounds_margin import Found
from dp2theory.verification.verify_report import RUNS


@dataclass(frozen=True)
class Case:
    """Runs or draws that are a model of some theorems.

    Attributes
    ----------
    ids : tuple of str
    model : Model or None
        What the statements are evaluated on.
    runs : int
        How many runs or draws.
    on : str
        ``"runs"`` or ``"draws"``.
    by_chance : bool
        They are the scenarios of the model, a sample; else its values are exact.
    check : callable, optional
        Without a model: what becomes of a theorem's evaluation against the code's own numbers.
    words : str
        What these data are, without a model.
    """

    ids: tuple[str, ...]
    model: Model | None
    runs: int
    on: str = RUNS
    by_chance: bool = True
    check: Callable[[Theorem], Found] | None = None
    words: str = ""

    @property
    def note(self) -> str:
        """What these data are."""
        return self.words if self.model is None else self.model.note


#: From a setting that was run to the cases that it gives.
Family = Callable[[Any], Iterator[Case]]
