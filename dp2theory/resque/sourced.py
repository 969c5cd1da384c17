"""Constants of a method that say where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar


@dataclass(frozen=True)
class Sourced:
    """A dataclass of constants; its `SOURCES` says of every field where it comes from."""

    #: Field by field: a theorem, a paper, a measurement, or that it was chosen by hand.
    SOURCES: ClassVar[Mapping[str, str]] = {}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict: every constant with its source."""
        return {
            each.name: {"value": getattr(self, each.name), "source": self.SOURCES[each.name]}
            for each in fields(self)
        }
