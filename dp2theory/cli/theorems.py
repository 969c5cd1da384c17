"""`dp2theory theorems`: the theorems behind the bounds, and their proofs, checked on demand."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dp2theory.cli import _options
from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._output import Input, emit
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._progress import progress, waiting

if TYPE_CHECKING:
    from bounds.theorem import Theorem

#: Its name in messages and in the envelope.
COMMAND = "theorems"


def theorems(
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="A theorem, as in dp2.master: its statement, its assumptions and its proof,"
            " checked anew. [default: the list of all]",
            show_default=False,
        ),
    ] = None,
    latex: Annotated[
        bool, typer.Option("--latex", help="The statement as LaTeX, and nothing else.")
    ] = False,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="With the list: check every proof; exit 3 if one fails."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="With ID: the picture of its bound (.png or .svg).", show_default=False),
    ] = None,
    json: _options.AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Ids only; with ID or --replay the verdicts only.")
    ] = False,
) -> None:
    """The theorems that the bounds rest on: what they say, assume and prove.

    A proof is a list of steps, each settled by a decision procedure (SymPy identities, z3, ball
    arithmetic, or one of five rules of expectation), or marked as assumed. It is checked from
    scratch each time that it is shown. The exit code is 3 when a proof fails.
    """
    if id is None:
        _refuse({"--latex": latex, "--plot": plot}, "needs the ID of a theorem")
        _list(replay=replay, json=json, quiet=quiet)
        return
    _refuse({"--replay": replay}, "is for the list; a proof is replayed anyway when it is shown")
    from bounds import catalogue

    found = catalogue.theorem(id)
    if latex:
        others = {"--json": json, "--quiet": quiet, "--plot": plot}
        _refuse(others, "has no meaning with --latex, which prints the statement and nothing else")
        print(found.latex())
        return
    _show(found, plot=plot, json=json, quiet=quiet)


def _refuse(given: dict[str, Any], why: str) -> None:
    for name, value in given.items():
        if value:
            raise ValueError(f"{name}: {why}")


def _show(found: "Theorem", *, plot: Path | None, json: bool, quiet: bool) -> None:
    check_outputs({"plot": plot})
    if plot is not None:
        if plot.suffix.lower() not in (".png", ".svg"):
            raise ValueError(f"--plot {plot}: must end in .png or .svg")
        if found.curve is None:
            raise ValueError(f"--plot {plot}: {found.id} has no picture, it bounds no quantity")
    with waiting(f"replaying {found.id}", quiet=quiet):
        from bounds.describe import describe

        result = describe(found, found.replay())
    if plot is not None:
        from bounds.curve import curve_points
        from dp2theory.report.curves import save_picture
        from dp2theory.report.theorem_plots import theorem_figure

        save_picture(theorem_figure(curve_points(found)), plot)
    ok = result["proof"]["ok"]

    def human() -> None:
        from dp2theory.cli import _theorem_text

        print(_theorem_text.verdict(result) if quiet else _theorem_text.theorem_text(result))
        if plot is not None and not quiet:
            print(f"\nwritten: {plot}")

    status = "ok" if ok else "violated"
    emit(COMMAND, {"id": Input(found.id)}, result, json=json, human=human, status=status)
    if not ok:
        fail(f"{found.id}: its proof fails", ExitCode.VIOLATION)


def _list(*, replay: bool, json: bool, quiet: bool) -> None:
    from bounds import listing

    rows: list[dict[str, Any]] = [dict(row) for row in listing.paper_map()]
    if replay:
        outcomes = _replay_all(quiet=quiet)
        for row in rows:
            row["proof"] = outcomes[row["id"]]
    failed = [row["id"] for row in rows if replay and not row["proof"]["ok"]]
    result = {"count": len(rows), "theorems": rows}

    def human() -> None:
        from dp2theory.cli import _theorem_text

        print(_theorem_text.list_text(result, quiet=quiet))

    inputs = {"replay": Input(replay, default=not replay, unit="name")}
    status = "violated" if failed else "ok"
    emit(COMMAND, inputs, result, json=json, human=human, status=status)
    if failed:
        fail(f"{len(failed)} of {len(rows)} proofs fail: {', '.join(failed)}", ExitCode.VIOLATION)


def _replay_all(*, quiet: bool) -> dict[str, dict[str, Any]]:
    from bounds import theorems
    from bounds.describe import outcome
    from bounds.proof.replay import replay_all
    from bounds.proof.tools import load

    for tool in ("z3", "flint"):  # before a minute is spent
        load(tool)
    found = theorems()
    with progress("replaying", len(found), quiet=quiet) as advance:
        reports = replay_all(found, on_theorem=lambda report: advance(note=report.theorem))
    return {id: outcome(report) for id, report in reports.items()}
