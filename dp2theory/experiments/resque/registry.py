"""ReSQue figures by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dp2theory.experiments.resque.request import ResqueRequest
    from dp2theory.experiments.resque.result import ResqueResult


@dataclass(frozen=True)
class Entry:
    """What the command line must know of a figure before it is computed.

    Attributes
    ----------
    shows : str
    module : str
        Which computes it, in this package.
    seeds : int
        How many by default; 0 where nothing is random.
    takes_dimension : bool
        Whether rates are evaluated at a dimension of one's choice.
    """

    shows: str
    module: str
    seeds: int = 0
    takes_dimension: bool = False


#: Every figure on ReSQue by its name on the command line.
FIGURES: dict[str, Entry] = {
    "resque-table1": Entry(
        "parallel methods: rates beside measured depths and queries", "table1", 2, True
    ),
    "resque-table2": Entry("private methods: rates beside four accountants", "table2", 2),
    "resque-fig1": Entry("rates of both tables, drawn", "fig1", 0, True),
    "ball-slope": Entry("steps of ball acceleration against R/r", "ball_slope"),
    "drift": Entry("drift of coupled runs on neighbouring data", "drift", 1),
}


def compute(name: str, request: ResqueRequest) -> ResqueResult:
    """Compute a figure.

    Parameters
    ----------
    name : str
        A key of `FIGURES`.
    request : ResqueRequest

    Raises
    ------
    ValueError
        For an unknown name.
    """
    if name not in FIGURES:
        raise ValueError(f"figure={name!r}: must be one of {', '.join(FIGURES)}")
    module = importlib.import_module(f"dp2theory.experiments.resque.{FIGURES[name].module}")
    result: ResqueResult = module.compute(request)
    return result
