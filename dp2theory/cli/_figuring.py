"""The work of `dp2theory figure`: resolve, compute, draw, write, print."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from dp2theory.cli._bars import Bars
from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._figure_request import (
    MOST_SEEDS,
    ProblemRequest,
    Request,
    folder_for,
    formats_of,
    with_defaults,
)
from dp2theory.cli._figure_text import print_figure
from dp2theory.cli._inputs import open_probability, option, positive, positive_integer
from dp2theory.cli._output import Input, emit, envelope
from dp2theory.cli._outputs import check_outputs, check_writable
from dp2theory.cli._unit import unit_inputs

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest
    from dp2theory.experiments.settings import Setting
    from dp2theory.experiments.store import Store
    from dp2theory.experiments.sweep import Memory

INTERRUPTED_FILE = "dp2theory-figure-interrupted.sqlite"

T = TypeVar("T", int, float)


def figure_request(request: Request) -> None:
    """Do what the options ask for, write it and print it; see `dp2theory.cli.figure`."""
    from dp2theory.experiments.figures.registry import check_figure
    from dp2theory.experiments.resque.registry import FIGURES

    if request.name in FIGURES:
        from dp2theory.cli._figuring_resque import resque_figure

        with folder_for(request.out):
            resque_figure(request)
        return
    check_figure(request.name, more={name: one.shows for name, one in FIGURES.items()})
    with folder_for(request.out):
        _on_problem(with_defaults(request))


def _on_problem(request: ProblemRequest) -> None:
    from dp2theory.report.figures import paths_of, write_figure

    formats = formats_of(request.format)
    paths = paths_of(request.out, request.name, request.problem, formats)
    for path in paths.values():
        check_writable(f"--out {path}", path)
    check_outputs({"store": request.store}, {"data": request.data, "out": paths["json"]})
    setting, result = made(request)
    inputs = inputs_of(request, setting)
    result |= {"files": {ending: path.name for ending, path in paths.items()}}
    document = envelope("figure", inputs, result)
    write_figure(document, paths)
    emit(
        "figure", inputs, result, json=request.json,
        human=lambda: print_figure(document["result"], inputs, paths, quiet=request.quiet),
    )  # fmt: skip


def made(request: ProblemRequest) -> "tuple[Setting, dict[str, Any]]":
    """The setting that the options mean, and the figure's result.

    Runs go to the executor and are kept in the store, or until the end in memory; when the user
    stops them, what was made is kept.
    """
    from dp2theory.experiments.executors import check_executor, open_executor
    from dp2theory.experiments.store import Store
    from dp2theory.experiments.sweep import Memory

    check_executor(request.executor)
    epsilons = _numbers("epsilon", request.epsilon, float, lambda x: positive("epsilon", x))
    setting = resolve(request, epsilons)
    with ExitStack() as stack:
        kept: Store | Memory = (
            Memory() if request.store is None else stack.enter_context(Store(request.store))
        )
        with Bars(request.quiet) as bars, _kept_when_stopped(kept):
            asked = replace(
                asked_for(request, setting, epsilons),
                executor=stack.enter_context(open_executor(request.executor)),
                store=kept,
                progress=bars,
            )
            return setting, result_of(request.name, asked)


def asked_for(
    request: ProblemRequest, setting: "Setting", epsilons: tuple[float, ...] | None
) -> "FigureRequest":
    """What is to be computed, checked; where it runs is not in it yet."""
    from dp2theory.experiments.figures.registry import check_varied
    from dp2theory.experiments.figures.request import FigureRequest
    from dp2theory.optimizers.tuning import tuning_seeds

    delays = _numbers("delays", request.delays, int, lambda x: positive_integer("delays", x))
    for name in ("seeds", "tune_seeds"):
        if not 1 <= getattr(request, name) <= MOST_SEEDS:
            raise ValueError(
                f"{option(name)} {getattr(request, name)}: must be from 1 to {MOST_SEEDS}"
            )
    if request.seed < 0:
        raise ValueError(f"--seed {request.seed}: must be an integer of at least 0")
    asked = FigureRequest(
        setting,
        seeds=tuple(range(request.seed, request.seed + request.seeds)),
        tune_seeds=tuning_seeds(request.tune_seeds),
        delays=delays,
        epsilons=epsilons,
    )
    check_varied(request.name, asked)
    return asked


def result_of(name: str, asked: "FigureRequest") -> dict[str, Any]:
    """The figure's result as plain values."""
    from accountants import AccuracyError
    from dp2theory.experiments.figures.registry import compute

    try:
        return compute(name, asked).to_json()
    except AccuracyError:
        raise
    except ArithmeticError as error:  # runs diverged, all of them or where nothing is tuned
        raise ValueError(f"--problem {asked.setting.problem}: {error}") from None


def resolve(request: ProblemRequest, epsilons: tuple[float, ...] | None) -> "Setting":
    """The setting: the problem's own, with what was given in its place."""
    from dp2theory.experiments.settings import SETTINGS, setting_for
    from dp2theory.problems.registry import takes_option

    if request.epochs is not None and request.steps is not None:
        raise ValueError("exactly one of --epochs and --steps is wanted: both were given")
    for name in ("batch_size", "epochs", "steps", "dimension"):
        value = getattr(request, name)
        if value is not None:
            positive_integer(name, value)
    if request.delta is not None:
        open_probability("delta", request.delta)
    options: dict[str, Any] = {}
    for name, key, given in (
        ("data", "path", request.data), ("dimension", "dimension", request.dimension),
    ):  # fmt: skip
        if given is None:
            continue
        if not takes_option(request.problem, key):
            raise ValueError(f"{option(name)} {given}: problem {request.problem!r} takes none")
        options[key] = given
    if takes_option(request.problem, "path") and request.data is None:
        raise ValueError(f"--data is wanted: problem {request.problem!r} needs its data file")
    missing = [name for name in ("batch_size", "epochs") if getattr(request, name) is None]
    if request.steps is not None:
        missing = [name for name in missing if name != "epochs"]
    if request.problem not in SETTINGS and missing:
        raise ValueError(
            f"{option(missing[0])} is wanted: problem {request.problem!r} has no setting of its "
            f"own; {', '.join(SETTINGS)} have"
        )
    return setting_for(
        request.problem,
        batch_size=request.batch_size,
        epochs=request.epochs,
        steps=request.steps,
        target_epsilon=None if epsilons is None else epsilons[0],
        target_delta=request.delta,
        public_share=_public_share(request),
        problem_options=options or None,
    )


def _public_share(request: ProblemRequest) -> float | None:
    """The share that was given, or the one that the table takes."""
    if request.name == "table1" and request.public_share == 0:
        raise ValueError("--public-share 0: must be above 0, some methods of table1 need records")
    if request.public_share is not None or request.name != "table1":
        return request.public_share
    from dp2theory.experiments.figures.table1 import PUBLIC_SHARE

    return PUBLIC_SHARE


def _numbers(
    name: str, text: str | None, kind: type[T], check: Callable[[T], T]
) -> tuple[T, ...] | None:
    """Numbers separated by commas, each checked; None when none were given."""
    if text is None:
        return None
    try:
        values = tuple(kind(word) for word in text.split(","))
    except ValueError:
        raise ValueError(f"{option(name)} {text}: must hold numbers separated by commas") from None
    for value in values:
        check(value)
    if len(set(values)) < len(values):
        raise ValueError(f"{option(name)} {text}: holds a number twice")
    return values


def inputs_of(request: ProblemRequest, setting: "Setting") -> dict[str, Any]:
    """The resolved inputs for the output envelope."""
    problem = setting.load()
    found: dict[str, Any] = {
        "figure": Input(request.name),
        "problem": Input(request.problem),
        "dataset_size": Input(problem.dataset_size, default=True),
        "dimension": Input(problem.dimension, default=request.dimension is None),
        "batch_size": Input(setting.batch_size, default=request.batch_size is None),
        "steps": Input(setting.run_steps, default=request.steps is None),
        "sampling": Input(setting.sampling, default=True),
        "relation": Input(setting.resolved_relation, default=True),
        "epsilon": Input(setting.target_epsilon, default=request.epsilon is None),
        "delta": Input(setting.delta, default=request.delta is None),
        "seed": Input(request.seed),
        "seeds": Input(request.seeds),
        "tune_seeds": Input(request.tune_seeds, unit="runs"),
    }
    if setting.epochs is not None:
        found["epochs"] = Input(setting.epochs, default=request.epochs is None)
    if request.delays is not None:
        found["delays"] = Input(request.delays, unit="steps")
    if setting.public_share:
        given = request.public_share is not None
        found["public_share"] = Input(setting.public_share, not given, "of the records")
    return found | unit_inputs(problem=problem)


@contextmanager
def _kept_when_stopped(kept: "Store | Memory") -> Iterator[None]:
    """Keep the runs made so far when the user stops the body or a worker is lost."""
    from dp2theory.experiments.store import Store
    from dp2theory.experiments.tasks import WorkerError

    try:
        yield
    except (KeyboardInterrupt, WorkerError) as stop:
        count = len(kept) if isinstance(kept, Store) else len(kept.kept)
        if isinstance(kept, Store):
            path = kept.path
        elif count:
            with Store(INTERRUPTED_FILE) as store:
                for key, (task, result) in kept.kept.items():
                    store.put(key, task, result)
                path = store.path
        interrupted = isinstance(stop, KeyboardInterrupt)
        told = f"{'interrupted' if interrupted else stop}: no figure was written"
        if count:
            told += (
                f"; {count} runs are kept in {path}, with --store {path} the same command goes on "
                "from there"
            )
        fail(told, ExitCode.INTERRUPTED if interrupted else ExitCode.INTERNAL)
