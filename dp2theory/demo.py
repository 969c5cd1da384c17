"""The demonstration: plan on two problems, then see by runs whether the advice was right.

`python -m dp2theory.demo [FOLDER]` plans on real text and on the synthetic problem `hetM` at
ε = 2.8, trains DP² and DP-SGD at equal privacy on three seeds each, prints a table, and writes
FOLDER/report.html and FOLDER/demo.png (FOLDER is `demo` by default).

Step sizes are documented values, found beforehand on other seeds: DP-SGD's on text by random
search, the others by the grids of `dp2theory.optimizers.tuning`, as in
`dp2theory train --problem hetM --batch-size 1024 --epochs 16 --epsilon 2.8 --method dp2-rmsprop
--compare dp-sgd --tune --pilot`. Choosing them by private losses is not covered by the ε printed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dp2theory.planning.comparison import Arm
    from dp2theory.planning.plan import Plan

#: The budget of each run.
EPSILON = 2.8
#: Seeds of the runs.
SEEDS = (0, 1, 2)
#: Points of a loss curve.
RECORDS = 50
#: What an interrupted demonstration leaves.
PARTIAL_FILE = "partial.json"


@dataclass(frozen=True)
class Scene:
    """One problem with its run and step sizes.

    Attributes
    ----------
    problem : str
    batch_size, epochs : int
    clip_norm, learning_rate : float
        DP-SGD's, tuned.
    sgd_factor, adaptive_factor : float
        DP²'s learning rate in SGD phases over DP-SGD's, and its effective step in adaptive
        phases over DP-SGD's.
    """

    problem: str
    batch_size: int
    epochs: int
    clip_norm: float
    learning_rate: float
    sgd_factor: float
    adaptive_factor: float


#: The two problems, with step sizes found beforehand.
SCENES = (
    Scene("text", 256, 30, 2.03, 0.83, sgd_factor=1.0, adaptive_factor=1.0),
    Scene("hetM", 1024, 16, 1.0, 10.0, sgd_factor=0.3, adaptive_factor=10.0),
)
#: What stands below the table.
NOTES = (
    "Both methods have the noise multiplier, the number of steps and therefore the ε shown.",
    "Where the advice is DP², its runs go on from a pilot of their own, with the delay that this "
    "pilot recommends. Where the advice is DP-SGD, DP² was run against it, from step 0 with the "
    "default delay, to see what following the advice saved.",
    "Step sizes were tuned beforehand on other seeds, by losses on the same records: that choice "
    "is not covered by ε. Nor are the losses shown.",
)


class InterruptedScene(KeyboardInterrupt):
    """Training stopped by the user; `partial` is what `play` would return, as far as it went."""

    def __init__(self, partial: dict[str, Any]) -> None:
        super().__init__("interrupted while training")
        self.partial = partial


def play(scene: Scene, *, quiet: bool = False) -> dict[str, Any]:
    """Plan and train on one problem.

    Returns
    -------
    dict
        ``plan`` and ``runs``: the objects that ``dp2theory plan --json`` and ``train --json``
        print.

    Raises
    ------
    InterruptedScene
        When the user stops the training.
    """
    from dp2theory.cli._progress import on_step, progress
    from dp2theory.planning.budget import Budget
    from dp2theory.planning.comparison import comparison_result, run_arms
    from dp2theory.planning.plan import make_plan
    from dp2theory.problems.registry import get_problem

    with progress(f"loading {scene.problem}", 1, quiet=quiet) as advance:
        problem = get_problem(scene.problem)
        advance()
    n = problem.dataset_size
    steps = (n // scene.batch_size) * scene.epochs
    budget = Budget(n, scene.batch_size, steps, EPSILON, float(n) ** -1.1)
    with progress(f"{scene.problem}: pilot", budget.pilot_steps, quiet=quiet) as advance:
        plan = make_plan(
            budget,
            problem,
            clip_norm=scene.clip_norm,
            learning_rate=scene.learning_rate,
            seed=SEEDS[0],
            record_every=max(1, budget.pilot_steps // RECORDS),
            on_step=on_step(advance),
        )
    dp2, dp_sgd = make_arms(scene, plan)

    def made(status: str) -> dict[str, Any]:
        runs = comparison_result(dp2, dp_sgd, budget, noise_multiplier=plan.noise_multiplier)
        return documents(scene, plan, runs, status=status)

    total = len(SEEDS) * 2 * steps
    try:
        with progress(f"{scene.problem}: training", total, quiet=quiet) as advance:
            run_arms(
                (dp2, dp_sgd),
                problem,
                budget,
                SEEDS,
                record_every=max(1, steps // RECORDS),
                on_step=on_step(advance),
            )
        return made("ok")
    except KeyboardInterrupt as stop:
        raise InterruptedScene(made("interrupted")) from stop


def make_arms(scene: Scene, plan: Plan) -> tuple[Arm, Arm]:
    """DP², from its pilots where the plan advises it, and DP-SGD from step 0."""
    from dp2theory.optimizers.dp2 import Dp2RmsProp
    from dp2theory.optimizers.grid_context import PRECONDITIONED_CLIP_NORM
    from dp2theory.optimizers.sgd import DpSgd
    from dp2theory.planning.comparison import Arm, PilotSettings

    sigma = plan.noise_multiplier
    effective_step = scene.clip_norm * scene.learning_rate
    dp2 = Dp2RmsProp(
        learning_rate=scene.sgd_factor * scene.learning_rate,
        clip_norm=scene.clip_norm,
        adaptive_learning_rate=scene.adaptive_factor * effective_step / PRECONDITIONED_CLIP_NORM,
        preconditioned_clip_norm=PRECONDITIONED_CLIP_NORM,
        noise_multiplier=sigma,
        delay=plan.verdict.default_delay,
    )
    pilot = None
    if plan.verdict.advice != "dp-sgd":
        pilot = PilotSettings(scene.clip_norm, scene.learning_rate, sigma)
    return (
        Arm("dp2-rmsprop", dp2, pilot, delay_by_pilot=True),
        Arm("dp-sgd", DpSgd(scene.learning_rate, scene.clip_norm, sigma)),
    )


def documents(
    scene: Scene, plan: Plan, runs: dict[str, Any], *, status: str = "ok"
) -> dict[str, Any]:
    """The results in the form that the command line prints and the report draws.

    `status` is that of the runs.
    """
    from dp2theory.cli._output import Input, envelope
    from dp2theory.planning.certified import DAMPING

    budget = plan.budget
    inputs = {
        "problem": Input(scene.problem),
        "dimension": Input(plan.dimension),
        "dataset_size": Input(budget.dataset_size),
        "batch_size": Input(scene.batch_size),
        "sampling_probability": Input(scene.batch_size / budget.dataset_size, default=True),
        "epochs": Input(scene.epochs),
        "steps": Input(budget.steps, default=True),
        "sampling": Input("poisson"),
        "relation": Input(budget.relation, default=True),
        "epsilon": Input(EPSILON),
        "delta": Input(budget.target_delta, default=True),
        "clip_norm": Input(scene.clip_norm),
        "learning_rate": Input(scene.learning_rate),
        "seed": Input(SEEDS[0]),
    }
    planned = inputs | {"damping": Input(DAMPING, default=True)}
    trained = inputs | {
        "method": Input("dp2-rmsprop"),
        "compare": Input("dp-sgd"),
        "seeds": Input(len(SEEDS)),
    }
    runs = runs | {"tuning": None, "discarded_pilot": None, "notes": list(NOTES)}
    return {
        "plan": envelope("plan", planned, plan.to_json()),
        "runs": envelope("train", trained, runs, status=status),
    }


def table(scenes: Sequence[dict[str, Any]]) -> str:
    """What came out, as text: advice, then what the runs say."""
    from dp2theory.digits import short
    from dp2theory.report.tables import interval, number, text_table

    rows = []
    for scene in scenes:
        plan, runs = scene["plan"]["result"], scene["runs"]["result"]
        ratio = runs["paired"]["ratio"]
        rows.append(
            [
                scene["plan"]["inputs"]["problem"]["value"],
                plan["advice"],
                number(plan["delay"]["recommended"]),
                number(plan["snr"]["at_default_delay"], 3),
                short(plan["noise_multiplier"], "chosen"),
                short(runs["epsilon"]["upper"], "upper", 4),
                number(runs["compare"]["mean_train_loss"]),
                number(runs["method"]["mean_train_loss"]),
                f"{number(ratio['value'])} {interval(ratio['interval'], 3)}",
            ]
        )
    header = (
        "problem", "advice", "delay", "SNR", "sigma", "epsilon", "DP-SGD loss", "DP² loss",
        "DP² / DP-SGD [95 %]",
    )  # fmt: skip
    return text_table(header, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all scenes, print the table, write the page and the picture."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) > 1 or any(word.startswith("-") for word in given):
        print("usage: python -m dp2theory.demo [FOLDER]", file=sys.stderr)
        return 2
    folder = Path(given[0] if given else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    from dp2theory.cli._outputs import check_writable

    for name in ("report.html", "demo.png", PARTIAL_FILE):
        check_writable(str(folder / name), folder / name)
    scenes: list[dict[str, Any]] = []
    try:
        for scene in SCENES:
            scenes.append(play(scene))
        from dp2theory.report.html import write_scenes_report
        from dp2theory.report.plots import save_png, scenes_figure

        title = "DP² or DP-SGD: two plans, tested"
        write_scenes_report(folder / "report.html", scenes, title=title)
        save_png(scenes_figure(scenes), folder / "demo.png")
    except KeyboardInterrupt as stop:
        _keep(scenes, stop, folder / PARTIAL_FILE)
        raise
    print(table(scenes))
    for note in NOTES:
        print(f"note: {note}")
    print(f"written: {folder / 'report.html'}, {folder / 'demo.png'}")
    return 0


def _keep(scenes: list[dict[str, Any]], stop: KeyboardInterrupt, path: Path) -> None:
    """Write what there is when the user stops the demonstration, and say where."""
    from dp2theory.cli._exit import ExitCode, fail
    from dp2theory.files import write_json

    kept = [*scenes, stop.partial] if isinstance(stop, InterruptedScene) else scenes
    if not kept:
        return
    write_json(path, {"status": "interrupted", "scenes": kept})
    arms = [scene["runs"]["result"][name] for scene in kept for name in ("method", "compare")]
    whole = sum(run["completed"] for arm in arms for run in arm["runs"])
    fail(
        f"interrupted: {len(scenes)} of {len(SCENES)} problems finished; {whole} finished runs and "
        f"what else was released are kept in {path}",
        ExitCode.INTERRUPTED,
    )


if __name__ == "__main__":
    from dp2theory.cli._exit import guard

    with guard():  # a missing extra or an interrupt is one line, as on the command line
        sys.exit(main())
