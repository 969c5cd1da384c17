"""The work of `dp2theory sweep`: read, run, keep, print."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.cli._bars import Bars
from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._output import Input, emit, envelope
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._sweep_text import print_sweep

if TYPE_CHECKING:
    from dp2theory.experiments.spec import Spec
    from dp2theory.experiments.store import Store
    from dp2theory.experiments.sweep import Memory, Sweep

INTERRUPTED_FILE = "dp2theory-sweep-interrupted.sqlite"


def sweep_request(
    *,
    spec: Path,
    executor: str,
    store: Path | None,
    out: Path | None,
    report: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Do what the options ask for, and print it; see `dp2theory.cli.sweep`."""
    from dp2theory.experiments.executors import check_executor, open_executor
    from dp2theory.experiments.spec import read_spec
    from dp2theory.experiments.store import Store
    from dp2theory.experiments.sweep import Memory, Sweep

    check_outputs({"out": out, "report": report, "store": store}, {"spec": spec})
    check_executor(executor)
    described = read_spec(spec)
    with ExitStack() as stack:
        kept: Store | Memory = Memory() if store is None else stack.enter_context(Store(store))
        with Bars(quiet) as bars:
            made = Sweep(described, store=kept, progress=bars)
            with (
                _kept_when_stopped(made, kept, spec, out, report),
                open_executor(executor) as workers,
            ):
                made.executor = workers
                made.run()
        result = made.result()
        if isinstance(kept, Store) and not quiet:
            _tell_of_store(kept)
    inputs = _inputs(spec, described)
    _write(out, report, made, inputs, result, "ok")
    emit(
        "sweep", inputs, result, json=json,
        human=lambda: print_sweep(result, quiet=quiet, written=(store, out, report)),
    )  # fmt: skip


def _inputs(path: Path, spec: "Spec") -> dict[str, Any]:
    # Neither executor nor store: results do not depend on them, to the last byte.
    return {
        "spec": Input(str(path)),
        "problems": Input(", ".join(dict.fromkeys(one.problem for one in spec.settings))),
        "methods": Input(", ".join(spec.methods)),
        "seeds": Input(len(spec.seeds)),
        "tune": Input(spec.tune),
    }


def _write(
    out: Path | None,
    report: Path | None,
    sweep: "Sweep",
    inputs: dict[str, Any],
    result: dict[str, Any],
    status: str,
) -> None:
    document = envelope("sweep", inputs, result, status=status)
    if out is not None:
        from dp2theory.files import write_json

        write_json(out, document)
    if report is not None:
        from dp2theory.cli._report import about, by_event
        from dp2theory.report.html_sweep import write_sweep_report

        ledgers = by_event(
            [(f"{cell.method} on {cell.setting.problem}", cell.event) for cell in sweep.cells]
        )
        write_sweep_report(report, document, about(document, ledgers))


def _tell_of_store(store: "Store") -> None:
    other = store.of_other_code()
    if other:
        print(
            f"{store.path}: {other} results of another version of the code are kept and not used",
            file=sys.stderr,
        )


@contextmanager
def _kept_when_stopped(
    sweep: "Sweep", kept: "Store | Memory", spec: Path, out: Path | None, report: Path | None
) -> Iterator[None]:
    """Keep what there is when the user stops the body or a worker is lost, and say where."""
    from dp2theory.experiments.tasks import WorkerError

    try:
        yield
    except (KeyboardInterrupt, WorkerError) as stop:
        if out is not None or report is not None:
            inputs = _inputs(spec, sweep.spec)
            _write(out, report, sweep, inputs, sweep.result(), "interrupted")
        searched = ", and those of grid searches," if sweep.spec.tune else ""
        interrupted = isinstance(stop, KeyboardInterrupt)
        fail(
            f"{'interrupted' if interrupted else stop}: {sweep.done()} of {sweep.wanted()} runs"
            f"{searched} {_keep(kept)}",
            ExitCode.INTERRUPTED if interrupted else ExitCode.INTERNAL,
        )


def _keep(kept: "Store | Memory") -> str:
    """Keep the runs, and say where they are."""
    from dp2theory.experiments.store import Store

    path = kept.path if isinstance(kept, Store) else Path(INTERRUPTED_FILE)
    if not isinstance(kept, Store):
        try:
            with Store(path) as store:
                for key, (task, result) in kept.kept.items():
                    store.put(key, task, result)
        except (OSError, ValueError) as error:
            return f"are lost, since no store was given and none could be made ({error})"
    return f"are kept in {path}, with --store {path} the same command goes on from there"
