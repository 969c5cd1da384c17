"""What `audit` does: checks its options, attacks, and prints what is shown."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.cli._exit import DEBUG_VARIABLE, ExitCode, fail
from dp2theory.cli._inputs import (
    RELATIONS,
    default_relation,
    noise,
    one_of,
    open_probability,
    option,
    positive_integer,
    step_size,
)
from dp2theory.cli._output import Input, describe_inputs, emit, envelope
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._progress import progress
from dp2theory.cli._settings import parse_settings
from dp2theory.digits import short

if TYPE_CHECKING:
    from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
    from dp2theory.verification.audit import AuditResult

SAMPLINGS = ("poisson", "without-replacement", "with-replacement")
SAMPLING_PROBABILITY = 0.5
MOST = {"dataset_size": 100, "steps": 1000, "trials": 400_000}


@dataclass(frozen=True)
class Request:
    """The options of `audit`, as given."""

    method: str | None
    optimizer: str | None
    noise_multiplier: float | None
    sampling: str
    sampling_probability: float | None
    dataset_size: int
    batch_size: int | None
    relation: str | None
    steps: int
    delta: float | None
    settings: Mapping[str, Any]
    set_values: Sequence[str] | None
    claimed_epsilon: float | None
    trials: int | None
    seed: int
    executor: str
    out: Path | None
    report: Path | None
    json: bool
    quiet: bool


@dataclass(frozen=True)
class _Resolved:
    description: "Poisson | WithoutReplacement | WithReplacement"
    expected_batch_size: float
    relation: str
    delta: float
    trials: int
    inputs: dict[str, Any]


def audit_request(request: Request) -> None:
    """Run an audit and print it.

    Raises
    ------
    ValueError
        Naming the option, its value and what is allowed.
    dp2theory.cli._exit.CommandError
        With exit code 3 when more is shown than is accounted.
    """
    if (request.method is None) == (request.optimizer is None):
        both = "neither was given" if request.method is None else "both were given"
        raise ValueError(f"exactly one of --method and --optimizer is wanted: {both}")
    resolved = _resolve(request)
    settings = _settings(request)
    check_outputs({"out": request.out, "report": request.report})
    from accountants.laws.wanted import importable_from
    from dp2theory.experiments.executors import check_executor
    from dp2theory.optimizers.results import DivergedRun

    check_executor(request.executor)
    with importable_from(Path.cwd()) if request.optimizer else nullcontext():
        try:
            found, inputs = _run(request, resolved, settings)
        except (ValueError, AttributeError, TypeError, ArithmeticError, LookupError) as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            if request.optimizer is None:
                if isinstance(error, DivergedRun):
                    raise ValueError(f"--method {request.method}: {error}") from error
                raise
            words = str(error).removeprefix(f"optimizer={request.optimizer!r}").lstrip(": ")
            if type(error) is not ValueError:
                words = f"{type(error).__name__}: {words}"
            raise ValueError(f"--optimizer {request.optimizer}: {words}") from error
    result = found.to_json() | {"unit_of_privacy": "a record"}
    status = "violated" if found.violated else "ok"
    document = envelope("audit", inputs, result, status=status)
    if request.out is not None:
        from dp2theory.files import write_json

        write_json(request.out, document)
    if request.report is not None:
        from dp2theory.cli._report import about
        from dp2theory.report.html_audit import write_optimizer_audit_report

        ledgers = [("every release of one run", found.event)]
        write_optimizer_audit_report(request.report, document, about(document, ledgers))

    def human() -> None:
        from dp2theory.cli._auditing_text import audit_text

        if request.quiet:
            print(found.epsilon.lower)
            return
        print(audit_text(result))
        for path in (request.out, request.report):
            if path is not None:
                print(f"\nwritten: {path}")
        print(f"\ninputs:\n{describe_inputs(inputs)}")

    emit("audit", inputs, result, json=request.json, human=human, status=status)
    if found.violated:
        worst = found.worst
        fail(
            f"{found.optimizer}: ε is at least {short(worst.lower, 'lower', 4)} at "
            f"δ = {worst.delta:.3g}, and {'claimed' if found.claimed else 'accounted'} is "
            f"{short(worst.accounted.upper, 'upper', 4)}",
            ExitCode.VIOLATION,
        )


def _run(
    request: Request, resolved: _Resolved, settings: dict[str, Any]
) -> tuple["AuditResult", dict[str, Any]]:
    from dp2theory.experiments.executors import open_executor
    from dp2theory.verification.audit import audit_optimizer, runs_of_audit
    from dp2theory.verification.audited import audited_method, loaded_optimizer
    from dp2theory.verification.neighbours import smallest_shift

    inputs = resolved.inputs
    if request.method is not None:
        sigma = request.noise_multiplier
        if sigma is None:
            sigma = smallest_shift(resolved.description, resolved.relation)
        optimizer: Any = audited_method(
            request.method,
            settings,
            noise_multiplier=noise("noise_multiplier", sigma),
            steps=request.steps,
            expected_batch_size=resolved.expected_batch_size,
        )
        chosen = Input(sigma, default=request.noise_multiplier is None)
        used = {
            name: Input(getattr(optimizer, name), default=name not in settings)
            for name in ("delay", "clip_norm", "preconditioned_clip_norm")
            if hasattr(optimizer, name)
        }
        more = {name: Input(value) for name, value in settings.items() if name not in used}
        inputs = {
            "method": Input(request.method),
            "noise_multiplier": chosen,
            **used,
            **more,
            **inputs,
        }
    else:
        assert request.optimizer is not None
        optimizer = loaded_optimizer(request.optimizer)
        inputs = {"optimizer": Input(request.optimizer), **inputs}
    sizes = (resolved.description, request.dataset_size, resolved.relation, resolved.trials)
    label = f"auditing {request.method or request.optimizer}"
    with (
        progress(label, runs_of_audit(*sizes), quiet=request.quiet) as advance,
        open_executor(request.executor) as workers,
    ):
        found = audit_optimizer(
            optimizer,
            sampling=resolved.description,
            dataset_size=request.dataset_size,
            steps=request.steps,
            relation=resolved.relation,
            delta=resolved.delta,
            trials=resolved.trials,
            seed=request.seed,
            claimed_epsilon=request.claimed_epsilon,
            executor=workers,
            on_runs=advance,
        )
    return found, inputs


def _settings(request: Request) -> dict[str, Any]:
    given = {name: value for name, value in request.settings.items() if value is not None}
    for name in given.keys() & {"clip_norm", "preconditioned_clip_norm"}:
        step_size(name, given[name])
    more = parse_settings("--set", request.set_values)
    for name in more.keys() & given.keys():
        raise ValueError(f"--set {name}: is given by {option(name)} as well")
    if request.optimizer is not None:
        for name, value in {**given, **more, "noise_multiplier": request.noise_multiplier}.items():
            if value is not None:
                raise ValueError(
                    f"{option(name)} {value}: has no meaning with --optimizer, which has settings "
                    "of its own; leave it out"
                )
    return given | more


def _resolve(request: Request) -> _Resolved:
    from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
    from dp2theory.verification.audit import DELTA, TRIALS

    one_of("sampling", request.sampling, SAMPLINGS)
    if request.relation is not None:
        one_of("relation", request.relation, RELATIONS)
    relation = request.relation or default_relation(request.sampling)
    trials = TRIALS if request.trials is None else request.trials
    given = {"dataset_size": request.dataset_size, "steps": request.steps, "trials": trials}
    for name, value in given.items():
        if positive_integer(name, value) > MOST[name]:
            raise ValueError(f"{option(name)} {value}: must be at most {MOST[name]:,}")
    if request.seed < 0:
        raise ValueError(f"--seed {request.seed}: must be an integer of at least 0")
    if request.claimed_epsilon is not None and not 0 <= request.claimed_epsilon < float("inf"):
        raise ValueError(f"--claimed-epsilon {request.claimed_epsilon}: must be a number >= 0")
    delta = DELTA if request.delta is None else open_probability("delta", request.delta)
    size = request.dataset_size
    sizes: dict[str, Any] = {"dataset_size": Input(size)}
    description: Poisson | WithoutReplacement | WithReplacement
    if request.sampling == "poisson":
        if request.batch_size is not None:
            raise ValueError(
                f"--batch-size {request.batch_size}: has no meaning with --sampling poisson; "
                "--sampling-probability says how large batches are"
            )
        q = request.sampling_probability
        probability = SAMPLING_PROBABILITY if q is None else q
        if not 0 < probability <= 1:
            raise ValueError(f"--sampling-probability {probability}: must be in (0, 1]")
        description, expected = Poisson(probability), probability * size
        sizes["sampling_probability"] = Input(probability, default=q is None)
    else:
        if request.sampling_probability is not None:
            raise ValueError(
                f"--sampling-probability {request.sampling_probability}: has no meaning with "
                f"--sampling {request.sampling}; --batch-size says how large batches are"
            )
        given_batch = request.batch_size
        batch = max(1, size // 2) if given_batch is None else given_batch
        positive_integer("batch_size", batch)
        kind = WithReplacement if request.sampling == "with-replacement" else WithoutReplacement
        description, expected = kind(size, batch), float(batch)
        sizes["batch_size"] = Input(
            batch, default=given_batch is None, unit="records in every batch"
        )
    inputs = {
        "sampling": Input(request.sampling),
        **sizes,
        "relation": Input(relation, default=request.relation is None),
        "steps": Input(request.steps),
        "delta": Input(delta, default=request.delta is None),
        "trials": Input(trials, default=request.trials is None, unit="runs on each data set"),
        "seed": Input(request.seed),
    }
    if request.claimed_epsilon is not None:
        inputs["claimed_epsilon"] = Input(request.claimed_epsilon, unit="nats")
    return _Resolved(description, expected, relation, delta, trials, inputs)
