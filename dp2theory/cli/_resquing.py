"""What `resque` does: checks its options, plans, runs, and prints."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._inputs import (
    one_of,
    open_probability,
    option,
    positive,
    positive_integer,
    resolve_delta,
)
from dp2theory.cli._output import Input, emit, envelope
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._progress import progress, waiting
from dp2theory.cli._settings import parse_settings

if TYPE_CHECKING:
    from dp2theory.resque.functions import StochasticFunction
    from dp2theory.resque.private import PrivateRun
    from dp2theory.resque.private_plan import PrivatePlan

MODES = ("private", "parallel")
FUNCTION = {"private": "absolute", "parallel": "max"}
#: Accuracy over L R, where none is given.
RELATIVE_ACCURACY = 0.1
EPSILON = 1.0
#: The most numbers in random data.
MOST_NUMBERS = 10**8
METHOD = "resque-2"
#: Options of one mode.
OWN = {
    "private": ("epsilon", "delta", "smoothing", "draws", "max_calls", "ledger"),
    "parallel": ("method",),
}

C = TypeVar("C")


@dataclass(frozen=True)
class Request:
    """The options of `dp2theory resque` as they were given."""

    mode: str
    function: str | None
    records: int | None
    dimension: int | None
    accuracy: float | None
    epsilon: float | None
    delta: float | None
    smoothing: float | None
    draws: int | None
    max_calls: int | None
    method: str | None
    compare: Sequence[str] | None
    set_values: Sequence[str] | None
    plan_only: bool
    seed: int
    executor: str
    out: Path | None
    ledger: Path | None
    json: bool
    quiet: bool


def resque_request(request: Request) -> None:
    """Do what the options ask for, print it and write it; see `dp2theory.cli.resque`.

    Raises
    ------
    ValueError
        Naming the option, its value and what is allowed.
    """
    from dp2theory.cli._resque_text import print_resque_run
    from dp2theory.experiments.executors import check_executor

    _check(request)
    check_executor(request.executor)
    check_outputs({"out": request.out, "ledger": request.ledger})
    function = _function(request)
    accuracy = _accuracy(request, function)
    inputs: dict[str, Any] = {
        "mode": Input(request.mode),
        "function": Input(function.name, default=request.function is None),
        "dimension": Input(function.dimension, default=request.dimension is None),
        "accuracy": accuracy,
    }
    work = _private if request.mode == "private" else _parallel
    result, more = work(request, function, accuracy.value)
    inputs |= more | _repeated(request)
    document = envelope("resque", inputs, result)
    if request.out is not None:
        from dp2theory.files import write_json

        write_json(request.out, document)
    emit(
        "resque", inputs, result, json=request.json,
        human=lambda: print_resque_run(document["result"], inputs, quiet=request.quiet),
    )  # fmt: skip


def _repeated(request: Request) -> dict[str, Any]:
    """What else was given: enough to repeat the run."""
    units = {"smoothing": "1", "draws": "draws of an oracle call", "max_calls": "oracle calls"}
    given = {
        name: Input(getattr(request, name), unit=unit)
        for name, unit in units.items()
        if getattr(request, name) is not None
    }
    words = {"compare": request.compare, "set": request.set_values}
    given |= {name: Input(" ".join(each)) for name, each in words.items() if each}
    return given | {"seed": Input(request.seed), "executor": Input(request.executor)}


def _check(request: Request) -> None:
    if request.mode not in MODES:
        raise ValueError(f"mode {request.mode!r}: must be one of {', '.join(MODES)}")
    other = "parallel" if request.mode == "private" else "private"
    for name in OWN[other]:
        value = getattr(request, name)
        if value is not None:
            raise ValueError(f"{option(name)} {value}: has no meaning with {request.mode}")
    if request.plan_only and request.mode == "parallel":
        raise ValueError("--plan-only: has no meaning with parallel")
    if request.plan_only and request.compare:
        raise ValueError("--plan-only: runs nothing, leave --compare out")
    for name in ("accuracy", "epsilon", "smoothing"):
        value = getattr(request, name)
        if value is not None:
            positive(name, value)
    for name in ("records", "dimension", "draws", "max_calls"):
        value = getattr(request, name)
        if value is not None:
            positive_integer(name, value)
    if request.delta is not None:
        open_probability("delta", request.delta)
    if request.seed < 0:
        raise ValueError(f"--seed {request.seed}: must be an integer of at least 0")


def _function(request: Request) -> "StochasticFunction":
    from dp2theory.resque.named_functions import FUNCTIONS, function_named

    name = FUNCTION[request.mode] if request.function is None else request.function
    one_of("function", name, tuple(FUNCTIONS))
    options = {
        key: value
        for key, value in (("records", request.records), ("dimension", request.dimension))
        if value is not None
    }
    _check_size(options)
    if request.mode == "private" and request.records == 1:
        raise ValueError("--records 1: private needs at least 2 records")
    function = function_named(name, **options)
    if request.mode == "private" and function.sample_size < 2:
        raise ValueError(
            f"--function {name}: is no mean over records, and private needs one: absolute, hinge, "
            "svm-breast-cancer or l1-diabetes"
        )
    return function


def _check_size(options: dict[str, int]) -> None:
    """Refuse data that would fill the memory: what is larger is a slip."""
    if options and math.prod(options.values()) > MOST_NUMBERS:
        name = max(options, key=lambda each: options[each])
        raise ValueError(
            f"{option(name)} {options[name]}: records times dimension must be at most "
            f"{MOST_NUMBERS:,}"
        )


def _accuracy(request: Request, function: "StochasticFunction") -> Input:
    largest = function.lipschitz * function.radius
    if request.accuracy is None:
        return Input(RELATIVE_ACCURACY * largest, default=True)
    if request.accuracy > largest:
        raise ValueError(
            f"--accuracy {request.accuracy}: must be at most the Lipschitz constant times the "
            f"radius, {largest:.6g}"
        )
    return Input(request.accuracy)


def _constants(request: Request, kind: type[C]) -> C:
    """The constants of the algorithm with those that were given."""
    from dataclasses import fields

    values = parse_settings("--set", request.set_values)
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise ValueError(f"--set {name}: must be one of {', '.join(known)}")
        if name == "band":
            raise ValueError("--set band: is a pair of numbers, which only Python can give")
    return kind(**values)


def _described(function: "StochasticFunction") -> dict[str, Any]:
    return {
        "name": function.name,
        "dimension": function.dimension,
        "dataset_size": function.sample_size,
        "lipschitz": function.lipschitz,
        "radius": function.radius,
        "start_value": function.value(function.start),
    }


def _private(
    request: Request, function: "StochasticFunction", accuracy: float
) -> tuple[dict[str, Any], dict[str, Input]]:
    from dp2theory.resque.baselines import BASELINES
    from dp2theory.resque.constants import PrivateConstants
    from dp2theory.resque.private_ledger import Ledger, PartLedger
    from dp2theory.resque.private_plan import plan_private

    for name in request.compare or ():
        one_of("compare", name, BASELINES)
    epsilon = Input(EPSILON, default=True) if request.epsilon is None else Input(request.epsilon)
    delta = resolve_delta(request.delta, function.sample_size)
    constants = _constants(request, PrivateConstants)
    with waiting("planning", quiet=request.quiet):
        plan = plan_private(
            function,
            accuracy=accuracy,
            target_epsilon=epsilon.value,
            target_delta=delta.value,
            constants=constants,
            smoothing=request.smoothing,
            draws=request.draws,
            max_calls=request.max_calls,
        )
    planned = Ledger(tuple(PartLedger(part, 0) for part in plan.parts))
    run = None if request.plan_only else _run(request, function, plan)
    ledger = planned if run is None else run.ledger
    with waiting("accounting", quiet=request.quiet):
        claimed, rows = ledger.epsilon(delta.value), ledger.table(delta.value)
    result: dict[str, Any] = {
        "mode": "private",
        "function": _described(function),
        "unit_of_privacy": "a record",
        "relation": "replace-one",
        "plan": plan,
        "epsilon": claimed,
        "accountants": rows,
        "run": None if run is None else run.to_json() | {"value": function.value(run.parameters)},
        "compared": _compared(request, function, epsilon.value, delta.value),
    }
    if request.ledger is not None:
        from accountants.ledger import write_ledger

        dearest = max(ledger.parts, key=lambda part: Ledger((part,)).epsilon(delta.value).upper)
        write_ledger(request.ledger, dearest.guaranteed)
    sizes = {"records": Input(function.sample_size, request.records is None, "records")}
    return result, sizes | {"epsilon": epsilon, "delta": delta}


def _run(request: Request, function: Any, plan: "PrivatePlan") -> "PrivateRun":
    from dp2theory.experiments.executors import open_executor
    from dp2theory.resque.counters import Counter
    from dp2theory.resque.private import run_private

    class Watched(Counter):
        """Moves the bar after each oracle call, which counts its steps once."""

        def steps(self, number: int) -> None:
            super().steps(number)
            advance()

    most = sum(part.max_calls for part in plan.parts)
    with (
        open_executor(request.executor) as executor,
        progress("oracle calls (at most)", most, quiet=request.quiet) as advance,
    ):
        return run_private(function, plan, rng=request.seed, counter=Watched(), executor=executor)


def _compared(
    request: Request, function: "StochasticFunction", epsilon: float, delta: float
) -> list[dict[str, Any]]:
    """The baselines that were asked for, at the same budget."""
    import numpy as np

    from dp2theory.resque.baselines import run_private_baseline

    rows = []
    for name in dict.fromkeys(request.compare or ()):
        with waiting(name, quiet=request.quiet):
            run = run_private_baseline(
                name,
                function,
                target_epsilon=epsilon,
                target_delta=delta,
                rng=np.random.default_rng(request.seed),
            )
        rows.append(
            {
                "method": name,
                "value": function.value(run.parameters),
                "counts": run.counts,
                "epsilon": run.epsilon,
            }
        )
    return rows


def _parallel(
    request: Request, function: "StochasticFunction", accuracy: float
) -> tuple[dict[str, Any], dict[str, Input]]:
    from dp2theory.experiments.executors import open_executor
    from dp2theory.resque.ball_solvers import SOLVERS, ParallelConstants
    from dp2theory.resque.parallel import METHODS, solve_parallel
    from dp2theory.resque.reference import reference_optimum

    method = METHOD if request.method is None else one_of("method", request.method, METHODS)
    methods = [method, *(one_of("compare", name, METHODS) for name in request.compare or ())]
    constants = _constants(request, ParallelConstants)
    optimum = function.optimal_value
    if optimum is None:
        optimum = reference_optimum(function).lower
    runs = []
    with open_executor(request.executor) as executor:
        for name in dict.fromkeys(methods):
            with waiting(name, quiet=request.quiet):
                run = solve_parallel(
                    function,
                    accuracy=accuracy,
                    method=name,
                    rng=request.seed,
                    executor=executor,
                    constants=constants if name in SOLVERS else None,
                    optimal_value=optimum,
                )
            runs.append(run)
    if runs[0].stopped == "max_rounds":
        fail(
            f"--accuracy {accuracy}: {method} did not reach it in {runs[0].counts.query_depth} "
            "rounds",
            ExitCode.INFEASIBLE,
        )
    result = {
        "mode": "parallel",
        "function": _described(function),
        "optimal_value": optimum,
        "constants": constants.to_json(),
        "runs": runs,
    }
    return result, {"method": Input(method, default=request.method is None)}
