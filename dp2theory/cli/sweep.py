"""`dp2theory sweep`: many runs from a file, on many workers, kept in a store that resumes."""

from pathlib import Path
from typing import Annotated

import typer

from dp2theory.cli import _options


def sweep(
    spec: Annotated[Path, typer.Option(help="What to run, a TOML file.", show_default=False)],
    executor: Annotated[
        str,
        typer.Option(help="serial, process[:N] (N workers, all cores by default), dask:ADDRESS."),
    ] = "process",
    store: Annotated[
        Path | None,
        typer.Option(help="Keep every run in this SQLite file; what it has is not run again."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the results here (.json).")] = None,
    report: _options.Report = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the tables.")] = False,
) -> None:
    """Runs over problems, budgets, methods, settings and seeds, as a file describes them.

    Results do not depend on the executor. Stopped or killed, the same command with the same
    store goes on where it was. The ε of each row is that of one run, released alone.
    """
    # Before anything loads NumPy: sums over several threads would depend on the machine's cores.
    from dp2theory.experiments.executors import one_thread

    one_thread()
    from dp2theory.cli._sweeping import sweep_request

    sweep_request(
        spec=spec, executor=executor, store=store, out=out, report=report, json=json, quiet=quiet
    )
