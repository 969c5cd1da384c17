"""What every figure returns: its data, its verdict, and what it was made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

#: Coverage of all intervals of the figures, over the randomness of seeds alone.
CONFIDENCE = 0.95
#: Said of every figure with losses.
NOT_COVERED = (
    "Losses and metrics are computed on the records without noise: they are for the "
    "experimenter's eyes and are not covered by ε."
)
#: Said of every figure with intervals.
INTERVALS = (
    f"Intervals are {CONFIDENCE:.0%} intervals over seeds (batches, noise); the data are the same "
    "in all runs, so that they say nothing about other data."
)


class Data(Protocol):
    """The data of one figure."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""


@dataclass(frozen=True)
class Verdict:
    """Whether the paper's claim holds here.

    Attributes
    ----------
    claim : str
        What the paper claims, in one sentence.
    holds : bool or None
        None where the runs do not decide.
    text : str
        One line with the figures behind it.
    """

    claim: str
    holds: bool | None
    text: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"claim": self.claim, "holds": self.holds, "text": self.text}


@dataclass(frozen=True)
class FigureResult:
    """One figure, computed.

    Attributes
    ----------
    figure : str
        ``fig1`` … ``fig7``, ``table1``.
    title : str
    problem : dict
        Name, sizes, and the unit of privacy.
    setting : dict
        The setting's own description: everything that it takes to run this again.
    seeds : dict
        ``evaluation`` and ``tuning``: the seeds that were used.
    verdict : Verdict
    data : Data
    notes : tuple of str
    versions : mapping of str to str
        Of the packages that computed it.
    """

    figure: str
    title: str
    problem: Mapping[str, Any]
    setting: Mapping[str, Any]
    seeds: Mapping[str, Any]
    verdict: Verdict
    data: Data
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    def to_json(self) -> dict[str, Any]:
        """The ``result`` object of ``dp2theory figure``."""
        return {
            "figure": self.figure,
            "title": self.title,
            "problem": dict(self.problem),
            "setting": dict(self.setting),
            "seeds": dict(self.seeds),
            "verdict": self.verdict.to_json(),
            "data": self.data.to_json(),
            "notes": list(self.notes),
            "versions": dict(self.versions),
        }


def versions() -> dict[str, str]:
    """Versions of this package and of what the figures depend on in their last digits."""
    import platform

    import numpy
    import scipy

    from dp2theory import __version__

    return {
        "dp2theory": __version__,
        "numpy": str(numpy.__version__),
        "scipy": str(scipy.__version__),
        "python": platform.python_version(),
    }
