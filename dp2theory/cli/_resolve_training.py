"""From the options of `dp2theory train` to what runs: budget, noise, methods, pilots."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.cli._certify import check_certify
from dp2theory.cli._inputs import noise, option, positive, positive_integer, step_size
from dp2theory.cli._output import Input
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._progress import waiting
from dp2theory.cli._setting import Setting, resolve_setting
from dp2theory.cli._settings import parse_settings
from dp2theory.cli._training_noise import resolve_noise
from dp2theory.cli._unit import beside_inputs, check_group_size
from dp2theory.digits import short

if TYPE_CHECKING:
    from dp2theory.cli._training import Request
    from dp2theory.planning.budget import Budget
    from dp2theory.planning.methods import Settings
    from dp2theory.planning.pilot import PilotState
    from dp2theory.problems.protocol import Problem
    from dp2theory.problems.public import PublicData

#: Options of the method's own, and of them the ones that a grid chooses.
SETTINGS = (
    "learning_rate", "clip_norm", "adaptive_learning_rate", "preconditioned_clip_norm",
    "delay", "sgd_steps", "adaptive_steps", "ema", "damping",
)  # fmt: skip
#: Options with a domain of their own, which is checked before anything is derived from them.
_DOMAINS: dict[str, Callable[[str, Any], Any]] = {
    "epsilon": positive, "noise_multiplier": noise, "damping": positive,
    "learning_rate": step_size, "adaptive_learning_rate": step_size,
    "compare_learning_rate": step_size, "clip_norm": step_size,
    "preconditioned_clip_norm": step_size, "compare_clip_norm": step_size,
    "delay": positive_integer, "sgd_steps": positive_integer, "adaptive_steps": positive_integer,
}  # fmt: skip
#: What the samplers of the optimizers draw.
SAMPLINGS_OF_RUNS = ("poisson", "without-replacement", "with-replacement")
PHASES = ("delay", "sgd_steps", "adaptive_steps")
TUNED = (*(name for name in SETTINGS if name not in PHASES), "compare_learning_rate",
         "compare_clip_norm")  # fmt: skip


@dataclass
class Resolved:
    """What will run.

    Attributes
    ----------
    problem, budget
        As in `dp2theory.planning`.
    noise_multipliers : dict
        Of each method. Methods that release more than one noisy sum a step need more noise for
        the same ε.
    method, compare : str and str or None
    settings : dict
        Of each method, hyper-parameters as given, or as the plan or the budget sets them.
    plan : PilotState or None
        The saved pilot to go on from.
    discarded : PilotState or None
        A pilot whose releases are owed besides.
    inputs : dict
        For the output envelope.
    public : PublicData or None
        Side information.
    """

    problem: "Problem"
    budget: "Budget"
    noise_multipliers: dict[str, float]
    method: str
    compare: str | None
    settings: dict[str, "Settings"]
    plan: "PilotState | None"
    discarded: "PilotState | None"
    inputs: dict[str, Any] = field(default_factory=dict)
    public: "PublicData | None" = None


def resolve(request: "Request") -> Resolved:
    """Check the options against each other and load what they name.

    Raises
    ------
    ValueError
        Naming the option, its value and what is allowed.
    """
    from dp2theory.planning.methods import Settings

    _check_counts(request)
    _check_files(request)
    _check_tuning(request)
    check_certify(request)
    plan = _read_pilot(request.plan)
    discarded = _read_pilot(request.discarded_pilot)
    method, advised = _method(request, plan)
    _check_noise_options(request, plan, method)
    _check_side_information(request, method)
    setting = _setting(request, plan)
    assert setting.problem is not None
    if plan is not None:
        from dp2theory.planning.state import check_continues

        check_continues(plan, setting.problem)
        _check_same_run(setting, plan)
    if discarded is not None:
        _check_same_records(setting.problem, discarded)
    methods = {method: _settings(request, plan, method)}
    if request.compare is not None:
        methods[request.compare] = _compare_settings(request, plan)
    if request.tune:  # the other grids are built around DP-SGD's
        methods.setdefault("dp-sgd", Settings())
    spent = None if discarded is None else discarded.ledger
    budget, multipliers, methods = resolve_noise(request, setting, plan, spent, methods)
    if plan is not None and discarded is not None:
        _check_other_pilot(plan, discarded)
        _warn_over_budget(request, budget, multipliers[method], discarded)
    return Resolved(
        problem=setting.problem,
        budget=budget,
        noise_multipliers=multipliers,
        method=method,
        compare=request.compare,
        settings=methods,
        plan=plan,
        discarded=discarded,
        inputs=_inputs(request, setting, budget, method, advised),
        public=setting.public,
    )


def _check_counts(request: "Request") -> None:
    positive_integer("seeds", request.seeds)
    positive_integer("tune_seeds", request.tune_seeds)
    check_group_size(request.group_size)
    if request.seed < 0:
        raise ValueError(f"--seed {request.seed}: must be an integer of at least 0")
    for name, check in _DOMAINS.items():
        value = getattr(request, name)
        if value is not None:
            check(name, value)


def _check_side_information(request: "Request", method: str) -> None:
    from dp2theory.optimizers.registry import needs_public_data

    for name in (method, request.compare):
        if name is not None and request.public_share is None and needs_public_data(name):
            raise ValueError(
                f"--public-share: wanted, {name} uses side information; 0.01 makes a hundredth of "
                "the train records public"
            )


def _check_files(request: "Request") -> None:
    check_outputs(
        {name: getattr(request, name) for name in ("out", "ledger", "report")},
        read={name: getattr(request, name) for name in ("plan", "discarded_pilot", "data")},
    )
    if request.plan is not None and request.pilot:
        raise ValueError("--pilot: with --plan the pilot is there already; give one of the two")


def _check_tuning(request: "Request") -> None:
    if not request.tune:
        return
    for name in TUNED:
        value = getattr(request, name)
        if value is not None:
            raise ValueError(f"{option(name)} {value}: is chosen by --tune; leave it out")


def _read_pilot(path: Path | None) -> "PilotState | None":
    if path is None:
        return None
    from dp2theory.planning.state import load_pilot

    return load_pilot(path)


def _method(request: "Request", plan: "PilotState | None") -> tuple[str, bool]:
    """The method, and whether it is the plan's advice rather than the user's choice."""
    from dp2theory.planning.gate import judge
    from dp2theory.planning.methods import is_private

    if request.compare is not None:
        is_private(request.compare)
        if request.compare == request.method:
            raise ValueError(f"--compare {request.compare}: is the method itself")
    else:
        for name in ("compare_learning_rate", "compare_clip_norm", "compare_set"):
            if getattr(request, name) is not None:
                raise ValueError(f"{option(name)}: needs --compare")
    if request.method is not None:
        private = is_private(request.method)
        if not private and (request.pilot or plan is not None):
            raise ValueError(f"--method {request.method}: has no noise, a pilot is no part of it")
        if not private and request.discarded_pilot is not None:
            raise ValueError(
                f"--discarded-pilot {request.discarded_pilot}: --method {request.method} has no "
                "noise, so that there is nothing to account"
            )
        return request.method, False
    if plan is None:
        raise ValueError("--method is wanted (without --plan nothing advises one)")
    verdict = judge(plan.statistics(), plan.budget.steps)
    return ("dp-sgd" if verdict.advice in (None, "dp-sgd") else "dp2-rmsprop"), True


def _check_noise_options(request: "Request", plan: "PilotState | None", method: str) -> None:
    from dp2theory.planning.methods import is_private

    if request.epsilon is not None and request.noise_multiplier is not None:
        raise ValueError("exactly one of --epsilon and --noise-multiplier is wanted: both given")
    wanted = is_private(method) or (request.compare is not None and is_private(request.compare))
    if plan is None and wanted and request.epsilon is None and request.noise_multiplier is None:
        raise ValueError("exactly one of --epsilon and --noise-multiplier is wanted: none given")
    if plan is None:
        return
    for name, theirs in (
        ("epsilon", plan.budget.target_epsilon),
        ("noise_multiplier", plan.noise_multiplier),
    ):
        ours = getattr(request, name)
        if ours is not None and not math.isclose(ours, theirs, rel_tol=1e-12):
            raise ValueError(f"{option(name)} {ours}: the plan was made with {theirs}")


def _setting(request: "Request", plan: "PilotState | None") -> Setting:
    problem, batch_size, steps = request.problem, request.batch_size, request.steps
    delta, relation = request.delta, request.relation
    if plan is not None:
        problem = problem or plan.problem
        batch_size = plan.budget.batch_size if batch_size is None else batch_size
        if steps is None and request.epochs is None:
            steps = plan.budget.steps
        delta = plan.budget.target_delta if delta is None else delta
        relation = relation or plan.budget.relation
    if problem is None:
        raise ValueError("--problem is wanted")
    if batch_size is None:
        raise ValueError("--batch-size is wanted")
    return resolve_setting(
        problem=problem,
        data=request.data,
        dataset_size=None,
        dimension=_dimension(request, plan),
        batch_size=batch_size,
        epochs=request.epochs,
        steps=steps,
        delta=delta,
        sampling=request.sampling,
        relation=relation,
        quiet=request.quiet,
        public_share=request.public_share,
        supported=SAMPLINGS_OF_RUNS,
    )


def _dimension(request: "Request", plan: "PilotState | None") -> int | None:
    # Only `text` lets one choose; its plan may have been made with another vocabulary.
    if request.dimension is None and plan is not None and plan.problem == "text":
        return int(plan.parameters.size)
    return request.dimension


def _check_same_run(setting: Setting, plan: "PilotState") -> None:
    for name, ours, theirs in (
        ("batch_size", setting.run.batch_size, plan.budget.batch_size),
        ("steps", setting.run.steps, plan.budget.steps),
        ("delta", setting.delta.value, plan.budget.target_delta),
        ("relation", setting.run.relation, plan.budget.relation),
        ("sampling", setting.run.sampling, plan.budget.sampling_scheme),
    ):
        if ours != theirs:
            raise ValueError(f"{option(name)} {ours}: the plan was made with {theirs}")


def _check_same_records(problem: "Problem", discarded: "PilotState") -> None:
    ours = (problem.name, problem.dataset_size)
    theirs = (discarded.problem, discarded.budget.dataset_size)
    if ours != theirs:
        raise ValueError(
            f"--discarded-pilot: was made on {theirs[0]} with {theirs[1]} records, the run is on "
            f"{ours[0]} with {ours[1]}: costs add up only for the same records"
        )


def _check_other_pilot(plan: "PilotState", discarded: "PilotState") -> None:
    # By content: the file may have been copied. One seed makes the same releases once more,
    # and what is released twice is owed once.
    import numpy as np

    if plan.seed == discarded.seed and np.array_equal(plan.parameters, discarded.parameters):
        raise ValueError(
            "--discarded-pilot: is the pilot of --plan, which the run goes on from; leave it out"
        )


def _warn_over_budget(
    request: "Request", budget: "Budget", noise_multiplier: float, discarded: "PilotState"
) -> None:
    """Say so before training when plan and discarded pilot together cost more than the target."""
    from dp2theory.planning.budget import compose_events

    with waiting("accounting", quiet=request.quiet):
        whole = budget.account(compose_events(discarded.ledger, budget.event(noise_multiplier)))
    if exceeds(whole.upper, budget):
        print(
            f"dp2theory: warning: with the discarded pilot the run costs epsilon up to "
            f"{short(whole.upper, 'upper')} and exceeds the plan's budget of "
            f"{budget.target_epsilon!r}",
            file=sys.stderr,
            flush=True,
        )


def exceeds(epsilon: float, budget: "Budget") -> bool:
    """Whether ε is above the budget's target, by more than the rounding of a calibration."""
    return epsilon > budget.target_epsilon * (1 + 1e-9)


def _settings(request: "Request", plan: "PilotState | None", method: str) -> "Settings":
    from dp2theory.optimizers.registry import has_setting
    from dp2theory.planning.methods import Settings
    from dp2theory.planning.pilot import PILOT_RATE

    planned: dict[str, float] = {}
    if plan is not None and not request.tune:
        planned["clip_norm"] = plan.clip_norm
        # The learning rates of other methods are of another kind than DP-SGD's.
        if method == "dp-sgd":
            planned["learning_rate"] = plan.learning_rate
        elif has_setting(method, "adaptive_learning_rate"):  # its other phases are DP-SGD's
            planned["learning_rate"] = PILOT_RATE * plan.learning_rate
    given = {name: getattr(request, name) for name in SETTINGS}
    given = {name: value for name, value in given.items() if value is not None}
    more = parse_settings("--set", request.set_values)
    for name in given.keys() & more.keys():
        raise ValueError(f"--set {name}={more[name]}: contradicts {option(name)} {given[name]}")
    return Settings.from_mapping(planned | given | more)


def _compare_settings(request: "Request", plan: "PilotState | None") -> "Settings":
    from dp2theory.planning.methods import Settings

    rate, clip = request.compare_learning_rate, request.compare_clip_norm
    if plan is not None and request.compare == "dp-sgd" and not request.tune:
        rate = plan.learning_rate if rate is None else rate
        clip = plan.clip_norm if clip is None else clip
    given = {"learning_rate": rate, "clip_norm": clip}
    more = parse_settings("--compare-set", request.compare_set)
    return Settings.from_mapping({k: v for k, v in given.items() if v is not None} | more)


def _inputs(
    request: "Request", setting: Setting, budget: "Budget", method: str, advised: bool
) -> dict[str, Any]:
    inputs = setting.inputs()
    inputs |= beside_inputs(request.group_size)
    inputs["method"] = Input(method, default=advised)
    if request.compare is not None:
        inputs["compare"] = Input(request.compare)
    if math.isfinite(budget.target_epsilon):
        inputs["epsilon"] = Input(budget.target_epsilon, default=request.epsilon is None)
    if request.noise_multiplier is not None:
        inputs["noise_multiplier"] = Input(request.noise_multiplier)
    inputs |= {"seed": Input(request.seed), "seeds": Input(request.seeds)}
    for name in ("plan", "discarded_pilot"):
        if getattr(request, name) is not None:
            inputs[name] = Input(str(getattr(request, name)))
    if request.pilot:
        inputs["pilot"] = Input(True, unit="yes or no")
    if request.tune:
        inputs |= {"tune": Input(True, unit="yes or no"), "tune_seeds": Input(request.tune_seeds)}
    return inputs
