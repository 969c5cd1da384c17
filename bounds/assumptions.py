"""A named assumption: a sentence, and who answers for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from bounds.latex import to_latex

#: Who sees to an assumption: the code of the optimizers.
CODE = "code"
#: Who sees to an assumption: whoever runs them, by choice of problem and constants.
CALLER = "caller"


@dataclass(frozen=True)
class Assumption:
    """A hypothesis of a theorem.

    Attributes
    ----------
    id : str
        Short name, unique in a theorem: ``"clipped"``.
    formula : sympy.Basic
        The sentence that proof steps may use; general in its indices and variables.
    text : str
        The same in words.
    held_by : str
        ``"code"``: a domain that evaluation checks, or something the update rule makes true by
        construction; ``"caller"``: a promise on the loss or the data that no code can check.
    """

    id: str
    formula: sympy.Basic
    text: str
    held_by: str = CALLER

    def __post_init__(self) -> None:
        if self.held_by not in (CODE, CALLER):
            raise ValueError(
                f"held_by = {self.held_by!r} is not allowed: {CODE!r} or {CALLER!r} "
                f"(assumption {self.id!r})"
            )

    def to_json(self) -> dict[str, Any]:
        """Id, words, formula as text and LaTeX, and who answers for it."""
        return {
            "id": self.id,
            "text": self.text,
            "formula": str(self.formula),
            "latex": to_latex(self.formula),
            "held_by": self.held_by,
        }
