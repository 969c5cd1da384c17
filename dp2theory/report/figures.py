"""The picture of each figure, and the files it is kept in."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.files import write_json, write_through
from dp2theory.report.figure_budgets import ablations_figure, budgets_figure, table_figure
from dp2theory.report.figure_curves import curves_figure, delayed_figure
from dp2theory.report.figure_delays import delays_figure, ratio_figure
from dp2theory.report.figure_moments import moments_figure
from dp2theory.report.plots import styled
from dp2theory.report.resque_drift import drift_figure
from dp2theory.report.resque_parallel import parallel_figure
from dp2theory.report.resque_private import private_figure
from dp2theory.report.resque_rates import rates_figure
from dp2theory.report.resque_slopes import slopes_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What draws the ``result`` of ``dp2theory figure``, by the figure's name.
DRAWN: dict[str, Callable[[Mapping[str, Any]], Figure]] = {
    "fig1": moments_figure,
    "fig2": delayed_figure,
    "fig3": ratio_figure,
    "fig4": curves_figure,
    "fig5": budgets_figure,
    "fig6": delays_figure,
    "fig7": ablations_figure,
    "table1": table_figure,
    "resque-fig1": rates_figure,
    "resque-table1": parallel_figure,
    "resque-table2": private_figure,
    "ball-slope": slopes_figure,
    "drift": drift_figure,
}
#: Kinds of files that a figure is written as.
FORMATS = ("png", "svg")


def draw(result: Mapping[str, Any]) -> Figure:
    """The picture of a result.

    Parameters
    ----------
    result : mapping
        The ``result`` of ``dp2theory figure --json``.
    """
    name = result["figure"]
    if name not in DRAWN:
        raise ValueError(f"figure={name!r}: must be one of {', '.join(DRAWN)}")
    return DRAWN[name](result)


def stem_of(figure: str, problem: str | None) -> str:
    """The name of a figure's files without their endings: "fig6-hetA", "drift" (no problem)."""
    if problem is None:
        return figure
    words = re.sub(r"[^A-Za-z0-9._]+", "-", problem).strip("-.")
    return f"{figure}-{words}"


def paths_of(
    folder: Path, figure: str, problem: str | None, formats: Sequence[str]
) -> dict[str, Path]:
    """The files of a figure by their endings, the data's ``json`` first."""
    stem = stem_of(figure, problem)
    return {ending: folder / f"{stem}.{ending}" for ending in ("json", *formats)}


def write_figure(document: Mapping[str, Any], paths: Mapping[str, Path]) -> None:
    """Write data and pictures beside each other, each file whole or not at all.

    Pictures are drawn before anything is written: where drawing fails, no file is left.

    Parameters
    ----------
    document : mapping
        The envelope of ``dp2theory figure --json``.
    paths : mapping of ending to Path
        As `paths_of` gives them.
    """
    drawings = {
        ending: _drawing(document["result"], ending) for ending in paths if ending != "json"
    }
    for ending, content in drawings.items():
        write_through(paths[ending], _filler(content))
    write_json(paths["json"], document)


def _filler(content: bytes) -> Callable[[Path], None]:
    def fill(temporary: Path) -> None:
        temporary.write_bytes(content)

    return fill


def _drawing(result: Mapping[str, Any], ending: str) -> bytes:
    stream = io.BytesIO()
    figure = draw(result)
    # No date: the same data give the same file.
    metadata = {"Date": None} if ending == "svg" else {"Software": None}
    with styled():
        figure.savefig(stream, format=ending, metadata=metadata)
    return stream.getvalue()
