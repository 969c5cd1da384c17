"""Figures by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest
    from dp2theory.experiments.figures.result import FigureResult

#: Name to what it shows.
FIGURES: dict[str, str] = {
    "fig1": "preconditioner drift: second moments along a run, without noise and with it",
    "fig2": "delayed RMSProp against RMSProp, without noise",
    "fig3": "h(s), measured and predicted",
    "fig4": "learning curves at equal privacy",
    "fig5": "train loss against ε",
    "fig6": "effect of the delay s",
    "fig7": "ablations",
    "table1": "side information",
}
#: Figures that vary the delay, or choose among several; the others hold one.
VARY_DELAYS = ("fig2", "fig3", "fig6", "fig7")
#: Figures that vary the budget.
VARY_EPSILON = ("fig5",)


def check_figure(name: str, *, more: Mapping[str, str] | None = None) -> str:
    """Return `name` if there is such a figure, or raise ValueError with the known ones.

    Parameters
    ----------
    name : str
    more : mapping of str to str, optional
        Figures made elsewhere, to be named beside those of this package.
    """
    if name not in FIGURES:
        named = {**FIGURES, **(more or {})}
        known = "; ".join(f"{one} ({words})" for one, words in named.items())
        raise ValueError(f"figure={name!r}: must be one of {known}")
    return name


def check_varied(name: str, request: FigureRequest) -> None:
    """Raise ValueError for several delays or budgets where the figure holds one."""
    for values, varied, what in (
        (request.delays, VARY_DELAYS, "delays"),
        (request.epsilons, VARY_EPSILON, "epsilon"),
    ):
        if values is not None and len(values) > 1 and name not in varied:
            raise ValueError(f"{what}={values!r}: {name} holds one; {', '.join(varied)} vary it")


def compute(name: str, request: FigureRequest) -> FigureResult:
    """Compute a figure.

    Parameters
    ----------
    name : str
        A key of `FIGURES`.
    request : FigureRequest

    Raises
    ------
    ValueError
        For an unknown name, or several delays or budgets where the figure holds one.
    """
    check_varied(check_figure(name), request)
    module = importlib.import_module(f"dp2theory.experiments.figures.{name}")
    result: FigureResult = module.compute(request)
    return result
