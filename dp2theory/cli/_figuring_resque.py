"""The work of `dp2theory figure` for the figures on ReSQue, which are on no problem."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dp2theory.cli._bars import Bars
from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._figure_request import MOST_SEEDS, Request, formats_of
from dp2theory.cli._figure_text import print_resque
from dp2theory.cli._inputs import option
from dp2theory.cli._output import Input, emit, envelope
from dp2theory.cli._outputs import check_writable
from dp2theory.experiments.resque.registry import FIGURES

if TYPE_CHECKING:
    from dp2theory.experiments.resque.request import ResqueRequest

#: Options about a problem and its runs, which these figures do not have.
REFUSED = (
    "problem", "data", "batch_size", "epochs", "steps", "epsilon", "delta", "delays",
    "public_share", "tune_seeds", "store",
)  # fmt: skip
NOT_RANDOM = "Nothing here is random: --seed and --seeds change nothing."


def resque_figure(request: Request) -> None:
    """Do what the options ask for, write it and print it; see `dp2theory.cli.figure`."""
    from dp2theory.experiments.executors import check_executor, open_executor
    from dp2theory.report.figures import paths_of, write_figure

    asked = asked_for(request)
    check_executor(request.executor)
    formats = formats_of(request.format)
    paths = paths_of(request.out, request.name, None, formats)
    for path in paths.values():
        check_writable(f"--out {path}", path)
    with _told_when_stopped(), Bars(request.quiet) as bars, open_executor(
        request.executor
    ) as executor:  # fmt: skip
        result = result_of(request.name, replace(asked, executor=executor, progress=bars))
    inputs = inputs_of(request, asked)
    result |= {"files": {ending: path.name for ending, path in paths.items()}}
    document = envelope("figure", inputs, result)
    write_figure(document, paths)
    emit(
        "figure", inputs, result, json=request.json,
        human=lambda: print_resque(document["result"], inputs, paths, quiet=request.quiet),
    )  # fmt: skip


def asked_for(request: Request) -> "ResqueRequest":
    """What is to be computed, checked; where it runs is not in it yet."""
    from dp2theory.experiments.resque.request import DIMENSION, ResqueRequest

    entry = FIGURES[request.name]
    for name in REFUSED:
        value = getattr(request, name)
        if value is not None:
            raise ValueError(
                f"{option(name)} {value}: {request.name} takes none, it is on no problem"
            )
    if request.dimension is not None and not entry.takes_dimension:
        takes = ", ".join(name for name, one in FIGURES.items() if one.takes_dimension)
        raise ValueError(f"--dimension {request.dimension}: {request.name} takes none; {takes} do")
    seeds = max(1, entry.seeds) if request.seeds is None else request.seeds
    if not 1 <= seeds <= MOST_SEEDS:
        raise ValueError(f"--seeds {seeds}: must be from 1 to {MOST_SEEDS}")
    if request.seed < 0:
        raise ValueError(f"--seed {request.seed}: must be an integer of at least 0")
    return ResqueRequest(
        seeds=tuple(range(request.seed, request.seed + seeds)),
        dimension=DIMENSION if request.dimension is None else request.dimension,
    )


def result_of(name: str, asked: "ResqueRequest") -> dict[str, Any]:
    """The figure's result as plain values."""
    from dp2theory.experiments.resque.registry import compute

    result = compute(name, asked).to_json()
    if not FIGURES[name].seeds:
        result["notes"].append(NOT_RANDOM)
    return result


def inputs_of(request: Request, asked: "ResqueRequest") -> dict[str, Any]:
    """The resolved inputs for the output envelope."""
    entry = FIGURES[request.name]
    found: dict[str, Any] = {"figure": Input(request.name)}
    if entry.takes_dimension:
        found["dimension"] = Input(asked.dimension, default=request.dimension is None)
    if entry.seeds:
        found["seed"] = Input(request.seed)
        found["seeds"] = Input(len(asked.seeds), default=request.seeds is None)
    return found


@contextmanager
def _told_when_stopped() -> Iterator[None]:
    """One line when the user stops the body or a worker is lost; nothing was written then."""
    from dp2theory.experiments.tasks import WorkerError

    try:
        yield
    except KeyboardInterrupt:
        fail("interrupted: no figure was written", ExitCode.INTERRUPTED)
    except WorkerError as lost:
        fail(f"{lost}: no figure was written", ExitCode.INTERNAL)
