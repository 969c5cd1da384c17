"""`dp2theory verify`: prove the theorems again, and test what they say on runs."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dp2theory.cli import _options
from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._output import Input, emit, envelope
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._progress import progress

if TYPE_CHECKING:
    from dp2theory.verification.verify_report import VerifyReport

#: Its name in messages and in the envelope.
COMMAND = "verify"
#: Pieces of work of a quick call for which another process is started; hand-chosen.
UNITS_PER_WORKER = 10


def verify(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="Theorems, as in dp2.master. [default: all]",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Within a minute of CPU for all. [default]")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="More runs, longer searches: within 20 minutes of CPU.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of runs, models and searches.")] = 0,
    executor: Annotated[
        str, typer.Option(help="Where work goes: serial, process[:N], dask:ADDRESS.")
    ] = "serial",
    out: Annotated[
        Path | None, typer.Option(help="Write the result here (.json).", show_default=False)
    ] = None,
    report: _options.Report = None,
    json: _options.AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Only the number of violations, and which.")
    ] = False,
) -> None:
    """Prove the theorems again, and test what they say on runs of the reference code.

    Every proof is replayed. A theorem's own statement is then evaluated on traces of the reference
    optimizers and of ReSQue, with confidence intervals over the seeds, and on finite models of its
    assumptions; settings in which the bound is close to the truth are searched for. The exit code
    is 3 when a proof fails or a statement is false somewhere. What is interrupted prints the
    verdicts that it has.
    """
    from dp2theory.experiments.executors import check_executor, one_thread

    one_thread()
    os.environ.setdefault("SYMPY_CACHE_SIZE", "100000")  # a tenth of the time of all proofs
    if quick and full:
        raise ValueError("--quick, --full: give one of them")
    if seed < 0:
        raise ValueError(f"--seed {seed}: must be an integer of at least 0")
    level = "full" if full else "quick"
    check_executor(executor)
    check_outputs({"out": out, "report": report})
    if out is not None and out.suffix.lower() != ".json":
        raise ValueError(f"--out {out}: must end in .json")
    found = _run(ids or None, level, seed, executor, quiet)
    stopped = bool(found.unfinished)
    inputs = {
        "ids": Input(ids or "all", default=not ids, unit="name"),
        "level": Input(level, default=not (quick or full), unit="name"),
        "seed": Input(seed),
        "executor": Input(executor, unit="name"),
    }
    result = found.to_json()
    status = "interrupted" if stopped else "violated" if found.violated else "ok"
    document = envelope(COMMAND, inputs, result, status=status)
    if out is not None:
        from dp2theory.files import write_json

        write_json(out, document)
    if report is not None:
        from dp2theory.cli._report import about
        from dp2theory.report.html_verify import write_verify_report

        write_verify_report(report, document, about(document))

    def human() -> None:
        from dp2theory.cli._verify_text import quiet_text, verify_text

        print(quiet_text(result) if quiet else verify_text(result))
        for path in (out, report):
            if path is not None and not quiet:
                print(f"\nwritten: {path}")

    emit(COMMAND, inputs, result, json=json, human=human, status=status)
    if stopped:
        count = len(found.verdicts)
        fail(
            f"interrupted: {count} of {count + len(found.unfinished)} theorems have a verdict"
            + (f", violated: {', '.join(found.violated)}" if found.violated else ""),
            ExitCode.INTERRUPTED,
        )
    if found.violated:
        first = next(each for each in found.verdicts if each.id in found.violated)
        why = first.violation.removeprefix(f"{first.id}: ")
        others = f" (and {', '.join(found.violated[1:])})" if found.violated[1:] else ""
        fail(f"violated: {first.id}{others}: {why}", ExitCode.VIOLATION)


def _worthwhile(executor: str, level: str, units: int) -> str:
    """The executor, with no more processes than pay: each imports for seconds before it works."""
    from dp2theory.experiments.executors import check_executor

    kind, count = check_executor(executor)
    if kind != "process" or level == "full":
        return executor
    workers = min(int(count), units // UNITS_PER_WORKER)
    return f"process:{workers}" if workers > 1 else "serial"


def _run(
    ids: list[str] | None, level: str, seed: int, executor: str, quiet: bool
) -> "VerifyReport":
    from dp2theory.experiments.executors import open_executor
    from dp2theory.verification import verify as verification

    total = verification.units_of(ids, level)
    options: dict[str, Any] = {"level": level, "seed": seed}
    try:  # outside of the executor, which else waits for what it is doing
        with (
            progress("verifying", total, quiet=quiet) as advance,
            open_executor(_worthwhile(executor, level, total)) as workers,
        ):

            def told(name: str) -> None:
                advance(note=name)

            return verification.verify(ids, progress=told, executor=workers, **options)
    except verification.InterruptedVerification as stop:
        return stop.partial
