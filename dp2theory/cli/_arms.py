"""The methods of `dp2theory train` with their settings, as given or as a grid search finds them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dp2theory.cli._progress import progress
from dp2theory.cli._resolve_training import PHASES, Resolved

if TYPE_CHECKING:
    from dp2theory.cli._training import Request
    from dp2theory.optimizers.sgd import DpSgd
    from dp2theory.optimizers.tuning import TunedOptimizer
    from dp2theory.planning.comparison import Arm, PilotSettings
    from dp2theory.planning.pilot import PilotState


def make_arms(
    request: "Request", resolved: Resolved, seeds: Sequence[int], tuned: dict[str, Any]
) -> "tuple[Arm, Arm | None]":
    """The method and what it is compared with.

    Parameters
    ----------
    request : Request
    resolved : Resolved
    seeds : sequence of int
        Seeds of the runs; tuning keeps away from them.
    tuned : dict
        Filled with the grid searches that were made.
    """
    from dp2theory.planning.comparison import Arm

    if request.tune:
        method, compare, pilot = _tuned(request, resolved, seeds, tuned)
    else:
        method = _optimizer(resolved, resolved.method)
        compare = None
        if resolved.compare is not None:
            compare = _optimizer(resolved, resolved.compare)
        pilot = resolved.plan
        if request.pilot:
            pilot = _pilot_settings(method, compare, resolved.noise_multipliers[resolved.method])
    return (
        Arm(resolved.method, method, pilot, delay_by_pilot=not _phases(resolved, resolved.method)),
        None if resolved.compare is None else Arm(resolved.compare, compare),
    )


def _phases(resolved: Resolved, method: str) -> dict[str, Any]:
    """The phase lengths that the user gave a method, by options or by --set."""
    given = resolved.settings[method].given()
    return {name: given[name] for name in PHASES if name in given}


def _optimizer(resolved: Resolved, method: str) -> Any:
    from dp2theory.planning.methods import make_optimizer

    return make_optimizer(
        method,
        resolved.settings[method],
        noise_multiplier=resolved.noise_multipliers[method],
        steps=resolved.budget.steps,
        public=resolved.public,
        expected_batch_size=float(resolved.budget.batch_size),
    )


def _pilot_settings(method: Any, compare: Any, noise_multiplier: float) -> "PilotSettings":
    """How each run makes its pilot: at the step sizes of the DP-SGD at hand."""
    from dp2theory.optimizers.sgd import DpSgd
    from dp2theory.planning.comparison import PilotSettings
    from dp2theory.planning.methods import EFFECTIVE_STEP
    from dp2theory.planning.pilot import PILOT_RATE

    base = next((one for one in (method, compare) if isinstance(one, DpSgd)), None)
    if base is not None:
        clip_norm, rate = base.clip_norm, base.learning_rate
    elif hasattr(method, "adaptive_learning_rate"):
        clip_norm, rate = method.clip_norm, method.learning_rate / PILOT_RATE
    else:
        clip_norm, rate = method.clip_norm, EFFECTIVE_STEP / method.clip_norm
    return PilotSettings(clip_norm, rate, noise_multiplier)


def _tuned(
    request: "Request", resolved: Resolved, seeds: Sequence[int], tuned: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Optimizers and pilot by grid search: DP-SGD's first, the others around it."""
    from dp2theory.optimizers.grids import GRIDS
    from dp2theory.optimizers.sgd import DpSgd
    from dp2theory.optimizers.tuning import check_seeds_apart, tuning_seeds
    from dp2theory.planning.comparison import PilotSettings

    keys = tuning_seeds(request.tune_seeds)
    check_seeds_apart(keys, seeds)
    for name in (resolved.method, resolved.compare):
        if name is not None and name not in GRIDS:
            raise ValueError(f"--tune: {name} has no grid; tunable are {', '.join(GRIDS)}")
        if name is not None:
            _check_fixed(resolved, name)
    sigma, plan = resolved.noise_multipliers["dp-sgd"], resolved.plan
    if plan is not None and resolved.compare is None:
        base = DpSgd(plan.learning_rate, plan.clip_norm, sigma)
    else:
        found = _search(request, resolved, "dp-sgd", keys, None, None)
        assert isinstance(found.optimizer, DpSgd)  # the grid holds nothing else
        base = found.optimizer
        tuned["dp-sgd"] = found.to_json()
    pilot: PilotState | PilotSettings | None = plan
    if request.pilot:
        pilot = PilotSettings(base.clip_norm, base.learning_rate, sigma)
    around = base if plan is None else DpSgd(plan.learning_rate, plan.clip_norm, sigma)

    def optimizer(name: str, start: Any, centre: "DpSgd", key: str) -> Any:
        if name == "dp-sgd" and start is None:
            return base
        found = _search(request, resolved, name, keys, centre, start)
        tuned[key] = found.to_json()
        return found.optimizer

    method_key = resolved.method if pilot is None else f"{resolved.method} from the pilot"
    method = optimizer(resolved.method, pilot, around, method_key)
    compare = None
    if resolved.compare is not None:
        compare = optimizer(resolved.compare, None, base, resolved.compare)
    return method, compare, pilot


def _check_fixed(resolved: Resolved, method: str) -> None:
    """Refuse settings that a method's grid would pass over.

    What runs would have other settings than asked for, and perhaps other releases than those that
    the noise was calibrated for.
    """
    from dp2theory.optimizers.grids import GridContext, grid_of
    from dp2theory.optimizers.phases import Phases
    from dp2theory.optimizers.registry import MODIFIERS
    from dp2theory.optimizers.sgd import DpSgd

    option = "--set" if method == resolved.method else "--compare-set"
    given = resolved.settings[method].given()
    fixed = {name: value for name, value in given.items() if name not in PHASES}
    for name in fixed.keys() & set(MODIFIERS):
        raise ValueError(f"{option} {name}={fixed[name]}: no grid has it; leave out it or --tune")
    base, steps = DpSgd(1.0, 1.0, 1.0), resolved.budget.steps
    grid = grid_of(method)(GridContext(1.0, steps, base, Phases(1, 1), resolved.public, 1.0, fixed))
    for name, value in fixed.items():
        if any(getattr(one, name) != value for one in grid):
            raise ValueError(f"{option} {name}={value}: the grid has its own; leave it out")


def _search(
    request: "Request",
    resolved: Resolved,
    method: str,
    keys: Sequence[int],
    base: "DpSgd | None",
    start: Any,
) -> "TunedOptimizer":
    from dp2theory.optimizers.grids import grid_size
    from dp2theory.planning.tuned import tune_method

    total = grid_size(method, resolved.public) * len(keys)
    with progress(f"tuning {method}", total, quiet=request.quiet) as advance:
        return tune_method(
            method,
            resolved.problem,
            resolved.budget,
            noise_multiplier=resolved.noise_multipliers[method],
            seeds=keys,
            base=base,
            pilot=start,
            phases=_phases(resolved, method),
            public=resolved.public,
            settings=resolved.settings[method].given(),
            progress=_by_difference(advance),
        )


def _by_difference(advance: Callable[..., None]) -> Callable[[int, int], None]:
    """From a count of what is done in all to steps of a bar."""
    shown = 0

    def until(done: int, _total: int) -> None:
        nonlocal shown
        advance(done - shown)
        shown = done

    return until
