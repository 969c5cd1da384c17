"""What every ReSQue figure returns: its data and a verdict made of gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dp2theory.experiments.figures.result import Data, versions


@dataclass(frozen=True)
class Gate:
    """One thing that must come out right.

    Attributes
    ----------
    name : str
        What is asked for, in a few words.
    holds : bool
    text : str
        The figures behind it.
    """

    name: str
    holds: bool
    text: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "holds": self.holds, "text": self.text}


@dataclass(frozen=True)
class ResqueVerdict:
    """Whether the claim holds in the data: when every gate does.

    Attributes
    ----------
    claim : str
        In one sentence.
    gates : tuple of Gate
        At least one.
    """

    claim: str
    gates: tuple[Gate, ...]

    def __post_init__(self) -> None:
        if not self.gates:
            raise ValueError("gates=(): a verdict without a gate says nothing")

    @property
    def holds(self) -> bool:
        """Whether all gates hold."""
        return all(gate.holds for gate in self.gates)

    @property
    def text(self) -> str:
        """One line: what failed first, then what holds."""
        parts = [f"NOT {gate.name}: {gate.text}" for gate in self.gates if not gate.holds]
        parts += [f"{gate.name}: {gate.text}" for gate in self.gates if gate.holds]
        line = "; ".join(parts) + "."
        return line[0].upper() + line[1:]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "claim": self.claim,
            "holds": self.holds,
            "text": self.text,
            "gates": [gate.to_json() for gate in self.gates],
        }


@dataclass(frozen=True)
class ResqueResult:
    """One figure, computed.

    Attributes
    ----------
    figure : str
        A key of `dp2theory.experiments.resque.registry.FIGURES`.
    title : str
    verdict : ResqueVerdict
    data : Data
    caption : str
        What stands under the picture: what is drawn, and what of it is recalled.
    seeds : tuple of int
        Those of the runs; empty where nothing is random.
    notes : tuple of str
    versions : mapping of str to str
        Of what the numbers came out of, by package.
    """

    figure: str
    title: str
    verdict: ResqueVerdict
    data: Data
    caption: str
    seeds: Sequence[int] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    def to_json(self) -> dict[str, Any]:
        """The ``result`` object of ``dp2theory figure``."""
        return {
            "figure": self.figure,
            "title": self.title,
            "seeds": {"evaluation": list(self.seeds), "tuning": []},
            "verdict": self.verdict.to_json(),
            "data": self.data.to_json(),
            "caption": self.caption,
            "notes": list(self.notes),
            "versions": dict(self.versions),
        }
