"""The runs behind the study: tuned methods on one problem, as tasks that a store remembers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dp2theory.experiments.seeds import derived_seeds
from dp2theory.experiments.study_delay_ratio import Prediction, predictions
from dp2theory.experiments.study_losses import Advice, Arm, Measured
from dp2theory.experiments.tuned import Tuned, delay_grid, evaluate, tune_delays, tune_setting
from dp2theory.optimizers.defaults import CLIP_NORM, EFFECTIVE_STEP
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.grid_context import GridContext, dp2_settings
from dp2theory.optimizers.phases import Phases
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.planning.comparison import PilotSettings, pilot_of_seed
from dp2theory.planning.gate import judge
from dp2theory.planning.pilot import run_pilot
from dp2theory.planning.trial import run_seed

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dp2theory.experiments.study_scenes import Scene
    from dp2theory.experiments.tasks import ResultStore

#: Seeds on which a method is tuned.
TUNING_SEEDS = 6
#: Configurations of a grid that are run on all of them.
FINALISTS = 3
#: Pilots whose advice is counted.
PILOTS = 8
#: Runs of the online form, and runs that h(s) is measured on.
SWITCHED = 8
#: Runs that h(s) is measured on.
TRACED = 3

#: Place in DP²'s grid of eta1 = 0.3 and eta2 = 3 times DP-SGD's effective step.
_MIDDLE = 6

#: Checks that look at DP²-RMSProp over the grid of delays.
_NEED_DELAYS = frozenset(
    ("dp-sgd", "dp-rmsprop", "sweet-spot", "real-data", "noise-first", "extra-noise", "regret")
)
#: Checks that need one more method, tuned at DP²'s best delay where it has phases.
_NEED_METHOD = {
    "dp-rmsprop": "dp-rmsprop",
    "snapshot": "snapshot",
    "noise-first": "dp2-rmsprop-noise-first",
    "extra-noise": "dp2-rmsprop-extra-noise",
}


@dataclass(frozen=True)
class Bench:
    """How runs are made.

    Attributes
    ----------
    text : str or None
        What seeds are derived from; the version if None.
    executor, store
        As `dp2theory.experiments.tasks.run_tasks` takes them.
    progress : callable or None
        Called with (what is being run, runs done, runs in all).
    tuning_seeds, finalists : int
        Seeds that tune, and configurations that see all of them.
    """

    text: str | None = None
    executor: Executor | None = None
    store: ResultStore | None = None
    progress: Callable[[str, int, int], None] | None = None
    tuning_seeds: int = TUNING_SEEDS
    finalists: int = FINALISTS

    def seeds(self, purpose: str, count: int) -> tuple[int, ...]:
        """Seeds of a purpose."""
        return derived_seeds(purpose, count, text=self.text)

    def watch(self, stage: str) -> Callable[[int, int], None] | None:
        """The progress of one stage."""
        report = self.progress
        return None if report is None else lambda done, total: report(stage, done, total)


def measure(scene: Scene, names: Collection[str], bench: Bench) -> Measured:
    """Run what the named checks need of a problem.

    Parameters
    ----------
    scene : Scene
    names : collection of str
        Checks; those that the scene does not have are passed over.
    bench : Bench

    Returns
    -------
    Measured
    """
    wanted = {name for name in scene.checks if name in names}
    base = tune(scene, bench, "dp-sgd", None)
    arms = {"dp-sgd": evaluated(scene, bench, base)}
    if not wanted & (_NEED_DELAYS | _NEED_METHOD.keys()):
        found = _predictions(scene, bench, base) if "delay-ratio" in wanted else ()
        return Measured(scene.name, arms, predictions=found)
    delays: dict[int, Arm] = {}
    grid: tuple[int, ...] = ()
    advice: tuple[Advice, ...] = ()
    tuned: dict[int, Tuned] = {}
    best: int | None = None
    if wanted & _NEED_DELAYS:
        grid = delay_grid(scene.setting.run_steps, scene.divisors)
        advice = pilots(scene, bench) if "regret" in wanted else ()
        extra = [one.delay for one in advice[:1] if one.delay is not None]
        tuned = _tune_delays(scene, bench, base, sorted({*grid, *extra}))
        delays = {delay: evaluated(scene, bench, one) for delay, one in tuned.items()}
        best = min(grid, key=lambda delay: tuned[delay].mean_loss)
    for check, method in _NEED_METHOD.items():
        if check in wanted:
            arms[method] = evaluated(scene, bench, tune(scene, bench, method, base, best))
    followed = advice[0].delay if advice else None
    return Measured(
        scene.name,
        arms,
        delays,
        grid,
        advice,
        tuned_advice=pilots(scene, bench, steps=_steps(base)) if advice else (),
        predictions=_predictions(scene, bench, base) if "delay-ratio" in wanted else (),
        switched=() if followed is None else _switched(scene, bench, base, tuned[followed]),
    )


def _steps(base: Tuned) -> tuple[float, float]:
    """Clip norm and learning rate of the tuned DP-SGD."""
    return float(base.settings["clip_norm"]), float(base.settings["learning_rate"])


def _switched(scene: Scene, bench: Bench, base: Tuned, tuned: Tuned) -> tuple[float, ...]:
    """The online form: the pilot is the first quarter of the run, DP² goes on from its iterate.

    Step sizes are those tuned from step 0; nothing is tuned anew.
    """
    setting = scene.setting
    problem, budget = setting.load(), setting.budget()
    steps = PilotSettings(*_steps(base), base.noise_multiplier)
    optimizer = Dp2RmsProp(**tuned.settings, noise_multiplier=tuned.noise_multiplier)
    losses = []
    for seed in bench.seeds("evaluation", scene.evaluations)[:SWITCHED]:
        pilot = pilot_of_seed(steps, problem, budget, seed)
        one = run_seed(
            optimizer, problem, sampling=budget.sampling, steps=budget.steps, seed=seed, pilot=pilot
        )
        losses.append(one.final_loss)
    return tuple(losses)


def _predictions(scene: Scene, bench: Bench, base: Tuned) -> tuple[Prediction, ...]:
    """h(s) of DP²-RMSProp around the tuned DP-SGD, at the middle of its grid."""
    setting = scene.setting
    context = GridContext(
        base.noise_multiplier,
        setting.run_steps,
        DpSgd(**base.settings, noise_multiplier=base.noise_multiplier),
    )
    optimizers = {
        delay: Dp2RmsProp(**dp2_settings(replace(context, phases=Phases(delay, delay)))[_MIDDLE])
        for delay in delay_grid(setting.run_steps, scene.divisors)
    }
    return predictions(setting, optimizers, bench.seeds("evaluation", TRACED))


def pilots(
    scene: Scene,
    bench: Bench,
    *,
    steps: tuple[float, float] = (CLIP_NORM, EFFECTIVE_STEP / CLIP_NORM),
    count: int = PILOTS,
) -> tuple[Advice, ...]:
    """What `dp2theory plan` says on several seeds of the pilot, by default at its default steps.

    Parameters
    ----------
    scene : Scene
    bench : Bench
    steps : tuple of float
        Clip norm and learning rate.
    count : int
        Number of pilots.
    """
    setting = scene.setting
    budget, problem = setting.budget(), setting.load()
    noise = budget.calibrate().noise_multiplier
    given = []
    for seed in bench.seeds("pilot", count):
        state = run_pilot(
            problem,
            budget,
            noise_multiplier=noise,
            clip_norm=steps[0],
            learning_rate=steps[1],
            seed=seed,
        )
        verdict = judge(state.statistics(), budget.steps)
        given.append(
            Advice(
                seed,
                verdict.advice or "none",
                verdict.recommended_delay,
                verdict.snr_at_default_delay or 0.0,
            )
        )
    return tuple(given)


def tune(
    scene: Scene, bench: Bench, method: str, base: Tuned | None, delay: int | None = None
) -> Tuned:
    """Tune a method around `base` on the tuning seeds, at a delay where it has one."""
    return tune_setting(
        scene.setting,
        method,
        tune_seeds=bench.seeds("tuning", bench.tuning_seeds),
        delay=delay,
        base=base,
        finalists=bench.finalists,
        executor=bench.executor,
        store=bench.store,
        progress=bench.watch(f"{scene.name}: tuning {method}"),
    )


def _tune_delays(scene: Scene, bench: Bench, base: Tuned, delays: list[int]) -> dict[int, Tuned]:
    tuned = tune_delays(
        scene.setting,
        "dp2-rmsprop",
        delays,
        tune_seeds=bench.seeds("tuning", bench.tuning_seeds),
        base=base,
        finalists=bench.finalists,
        executor=bench.executor,
        store=bench.store,
        progress=bench.watch(f"{scene.name}: tuning dp2-rmsprop at {len(delays)} delays"),
    )
    return dict(zip(delays, tuned, strict=True))


def evaluated(scene: Scene, bench: Bench, tuned: Tuned) -> Arm:
    """Run a tuned method on the evaluation seeds."""
    results = evaluate(
        scene.setting,
        tuned,
        seeds=bench.seeds("evaluation", scene.evaluations),
        executor=bench.executor,
        store=bench.store,
        progress=bench.watch(f"{scene.name}: {tuned.method}"),
    )
    assert tuned.epsilon is not None  # only private methods are compared
    return Arm(
        tuned.method,
        tuned.settings,
        tuned.noise_multiplier,
        tuned.epsilon,
        tuned.mean_loss,
        tuple(result.final_loss for result in results),
    )
