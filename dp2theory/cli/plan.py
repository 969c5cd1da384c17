"""`dp2theory plan`: noise multiplier, delay and advice for a privacy budget."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dp2theory.cli import _options
from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._inputs import one_of, option, positive, step_size
from dp2theory.cli._output import Input, describe_inputs, emit, envelope
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._plan_group import group_inputs, group_part, print_group
from dp2theory.cli._progress import on_step, progress, waiting
from dp2theory.cli._setting import Setting, resolve_setting
from dp2theory.cli._snapshot import plan_snapshots
from dp2theory.cli._unit import check_group_size

if TYPE_CHECKING:
    from dp2theory.planning.pilot import PilotState
    from dp2theory.planning.plan import Plan

#: What can be planned: the delay of DP², or the releases of the snapshot.
METHODS = ("dp2", "snapshot")
#: Samplings of the snapshot; the pilot of DP² draws Poisson batches.
SAMPLINGS = ("poisson", "without-replacement", "with-replacement")
#: Points of the pilot's loss curve.
RECORDS = 50
#: Where a pilot goes that was stopped and has no --out.
INTERRUPTED_FILE = "dp2theory-plan-interrupted.npz"
#: The words of each advice.
ADVICE = {
    "dp2": "use DP² (dp2)",
    "marginal": "DP², but it is close (marginal)",
    "dp-sgd": "use DP-SGD (dp-sgd)",
    None: "none, no pilot was made",
}


def plan(
    batch_size: Annotated[int, typer.Option(help="Expected batch size b.")],
    epsilon: Annotated[float, typer.Option(help="The budget's ε, for the whole run.")],
    problem: Annotated[
        str | None,
        typer.Option(help="A problem by name, e.g. text, hetM, movielens-small, digits."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Path of u.data (movielens-100k), or of the data of imdb, stackoverflow."
        ),
    ] = None,
    dataset_size: Annotated[
        int | None, typer.Option(help="Number of records n, when there is no problem.")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(help="Number of parameters d, when there is no problem.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(help="dp2 (the delay), or snapshot (noise and number of its releases)."),
    ] = "dp2",
    refreshes: Annotated[
        int | None, typer.Option(help="Number of snapshots. [default: 1]", show_default=False)
    ] = None,
    statistic_clip_norm: Annotated[
        float | None,
        typer.Option(
            help="A public clip norm C0 of squared gradients. [default: released by a histogram]",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the data: floor(n/b) steps each.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Number of steps, instead of epochs.")] = None,
    delta: Annotated[float | None, typer.Option(help="The budget's δ. [default: n^-1.1]")] = None,
    sampling: Annotated[
        str,
        typer.Option(
            help="poisson; with --method snapshot also without-replacement or with-replacement."
        ),
    ] = "poisson",
    relation: Annotated[
        str | None,
        typer.Option(
            help="add-or-remove-one, replace-one or replace-special."
            " [default: add-or-remove-one for poisson]"
        ),
    ] = None,
    clip_norm: Annotated[float | None, typer.Option(help="DP-SGD's clip norm C. [default: 1]")] = (
        None
    ),
    learning_rate: Annotated[
        float | None, typer.Option(help="DP-SGD's learning rate. [default: 1 / clip norm]")
    ] = None,
    damping: Annotated[
        float | None,
        typer.Option(help="DP²'s damping; only certified values read it. [default: 1e-7]"),
    ] = None,
    group_size: _options.RunGroupSize = 1,
    seed: Annotated[int, typer.Option(help="Seed of the pilot.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Keep the pilot here (.npz), for `train --plan`.")
    ] = None,
    report: _options.Report = None,
    no_pilot: Annotated[
        bool, typer.Option("--no-pilot", help="Touch no data: noise and default delay only.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the answer.")] = False,
) -> None:
    """The delay for a privacy budget, or the advice not to precondition, with the reasons.

    With --method snapshot the releases of the geometry snapshot instead; no data is touched.

    A pilot makes the first quarter of the run with DP-SGD and measures, on what it releases,
    whether an average of gradients stands clear of its noise.
    """
    positive("epsilon", epsilon)
    check_group_size(group_size)
    if seed < 0:
        raise ValueError(f"--seed {seed}: must be an integer of at least 0")
    for name, value in (
        ("clip_norm", clip_norm), ("learning_rate", learning_rate), ("damping", damping),
    ):  # fmt: skip
        if value is not None:
            step_size(name, value)
    # Found out now and not after the pilot has spent its privacy.
    check_outputs({"out": out, "report": report}, read={"data": data})
    if out is not None and (problem is None or no_pilot):
        raise ValueError(f"--out {out}: there is no pilot to keep without --problem, or with "
                         "--no-pilot")  # fmt: skip
    _check_method(method, refreshes, statistic_clip_norm, out=out, damping=damping)
    from dp2theory.planning.certified import DAMPING

    setting = resolve_setting(
        problem=problem,
        data=data,
        dataset_size=dataset_size,
        dimension=dimension,
        batch_size=batch_size,
        epochs=epochs,
        steps=steps,
        delta=delta,
        sampling=sampling,
        relation=relation,
        quiet=quiet,
        supported=("poisson",) if method == "dp2" else SAMPLINGS,
    )
    if method == "snapshot":
        plan_snapshots(
            setting,
            epsilon=epsilon,
            refreshes=refreshes,
            statistic_clip_norm=statistic_clip_norm,
            clip_norm=clip_norm,
            learning_rate=learning_rate,
            group_size=group_size,
            report=report,
            json=json,
            quiet=quiet,
        )
        return
    with _pilot_kept(out) as keep:
        made = _make(
            setting, epsilon, clip_norm, learning_rate, damping, seed, no_pilot, keep, quiet
        )
        inputs = setting.inputs() | {
            "epsilon": Input(epsilon),
            "clip_norm": Input(made.clip_norm, default=clip_norm is None),
            "learning_rate": Input(made.learning_rate, default=learning_rate is None),
            "effective_step": Input(
                made.clip_norm * made.learning_rate, True, "learning rate x clip norm"
            ),
            "damping": Input(DAMPING if damping is None else damping, default=damping is None),
            "seed": Input(seed),
            **group_inputs(group_size, setting),
        }
        event = setting.budget(epsilon).event(made.noise_multiplier)
        result = made.to_json() | group_part(group_size, event, setting, quiet=quiet)
        if report is not None:
            from dp2theory.cli._report import about
            from dp2theory.report.html import write_plan_report

            document = envelope("plan", inputs, result)
            write_plan_report(report, document, about(document, [("the whole run", event)]))
        emit(
            "plan", inputs, result, json=json,
            human=lambda: _print(result, inputs, out=out, report=report, quiet=quiet),
        )  # fmt: skip


def _check_method(
    method: str,
    refreshes: int | None,
    statistic_clip_norm: float | None,
    **without_snapshot: Any,
) -> None:
    """Refuse options that the method's plan would not read."""
    one_of("method", method, METHODS)
    if method == "dp2":
        for name, value in (
            ("refreshes", refreshes), ("statistic_clip_norm", statistic_clip_norm),
        ):  # fmt: skip
            if value is not None:
                raise ValueError(f"{option(name)} {value}: needs --method snapshot")
        return
    for name, value in without_snapshot.items():
        if value is not None:
            raise ValueError(f"{option(name)} {value}: there is none with --method snapshot")


@contextmanager
def _pilot_kept(out: Path | None) -> "Iterator[Callable[[PilotState], None]]":
    """Keep the pilot, also one that is interrupted or whose plan is: what it released is owed.

    Yields the function that takes the finished pilot.
    """
    finished: list[PilotState] = []

    def keep(state: "PilotState") -> None:
        finished.append(state)
        if out is not None:
            save_pilot(out, state)

    from dp2theory.planning.pilot import InterruptedPilot
    from dp2theory.planning.state import save_pilot

    path = out or Path(INTERRUPTED_FILE)
    try:
        yield keep
    except InterruptedPilot as stop:
        state = stop.partial
        _save_at_last(path, state)
        fail(
            f"interrupted after {state.steps} of {state.budget.pilot_steps} pilot steps; what "
            f"they released is owed and is kept in {path} (train --discarded-pilot {path})",
            ExitCode.INTERRUPTED,
        )
    except KeyboardInterrupt:
        if not finished:
            raise
        _save_at_last(path, finished[0])  # again: the interrupt may have hit the first time
        fail(
            f"interrupted after the pilot; its {finished[0].steps} steps are kept in {path} "
            f"(go on with: dp2theory train --plan {path})",
            ExitCode.INTERRUPTED,
        )


def _save_at_last(path: Path, state: "PilotState") -> None:
    from dp2theory.planning.state import save_pilot

    try:
        save_pilot(path, state)
    except OSError as error:
        fail(
            f"interrupted after {state.steps} pilot steps, whose releases are owed; they could not "
            f"be kept in {path} ({error.strerror})",
            ExitCode.INTERRUPTED,
        )


def _make(
    setting: Setting,
    epsilon: float,
    clip_norm: float | None,
    learning_rate: float | None,
    damping: float | None,
    seed: int,
    no_pilot: bool,
    keep: "Callable[[PilotState], None]",
    quiet: bool,
) -> "Plan":
    from dp2theory.planning.certified import DAMPING
    from dp2theory.planning.plan import make_plan

    budget = setting.budget(epsilon)
    with waiting("calibrating the noise", quiet=quiet):
        calibration = budget.calibrate()
    with progress("pilot", budget.pilot_steps, quiet=quiet) as advance:
        return make_plan(
            budget,
            None if no_pilot else setting.problem,
            dimension=setting.dimension,
            clip_norm=clip_norm,
            learning_rate=learning_rate,
            damping=DAMPING if damping is None else damping,
            seed=seed,
            record_every=max(1, budget.pilot_steps // RECORDS),
            on_step=on_step(advance),
            on_pilot=keep,
            calibration=calibration,
        )


def _print_certified(result: dict[str, Any]) -> None:
    from dp2theory.report import tables

    answers = result["certified"]["answers"]
    if not answers:
        missing = ", ".join(f"--{name}" for name in result["certified"]["missing"])
        print(f"certified: nothing, without {missing}")
        return
    for each in answers:
        print(f"certified, {tables.CERTIFIED_KINDS[each['kind']]}: {each['verdict']}")
    table = tables.text_table(tables.certified_header(result), tables.certified_rows(result))
    print("\n".join("  " + line for line in table.splitlines()))


def _print(
    result: dict[str, Any],
    inputs: dict[str, Any],
    *,
    out: Path | None,
    report: Path | None,
    quiet: bool,
) -> None:
    advice, delay = result["advice"], result["delay"]
    if quiet:
        words = [advice or "no-advice"]
        words += [] if delay["recommended"] is None else [str(delay["recommended"])]
        print(" ".join(words))
        return
    from dp2theory.report.tables import SNR_HEADER, snr_rows, text_table

    print(f"advice: {ADVICE[advice]}")
    print(f"  because {result['reason']}")
    print(f"noise multiplier = {result['noise_multiplier']!r}")
    epsilon, spent = result["epsilon"], result["pilot"]["epsilon_spent"]
    print(f"epsilon in [{epsilon['lower']!r}, {epsilon['upper']!r}] for {result['steps']} steps")
    print_group(result)
    recommended = "none" if delay["recommended"] is None else f"s = {delay['recommended']}"
    print(f"delay: {recommended} (default T // 40 = {delay['default']})")
    if result["pilot"]["steps"]:
        print(
            f"pilot: {result['pilot']['steps']} steps, which alone spent epsilon <= "
            f"{spent['upper']!r}"
        )
        print("signal to noise of averaged released gradients:")
        table = text_table(SNR_HEADER, snr_rows(result))
        print("\n".join("  " + line for line in table.splitlines()))
    _print_certified(result)
    print(f"for\n{describe_inputs(inputs)}")
    for note in result["notes"]:
        print(f"note: {note}")
    if out is not None:
        print(f"pilot kept in {out}; go on with: dp2theory train --plan {out}")
    if report is not None:
        print(f"report: {report}")
