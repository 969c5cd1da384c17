"""The work of `dp2theory plan --method snapshot`: plan the releases, print them and the command."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.cli._inputs import positive, positive_integer, step_size
from dp2theory.cli._output import Input, describe_inputs, emit, envelope
from dp2theory.cli._plan_group import group_inputs, group_part, print_group
from dp2theory.cli._progress import waiting
from dp2theory.cli._setting import Setting

if TYPE_CHECKING:
    from dp2theory.planning.snapshot import SnapshotPlan

COMMAND = "plan"
PLACEHOLDER = "NAME"


def plan_snapshots(
    setting: Setting,
    *,
    epsilon: float,
    refreshes: int | None,
    statistic_clip_norm: float | None,
    clip_norm: float | None,
    learning_rate: float | None,
    group_size: int,
    report: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Print the plan for a budget; nothing is read of any data."""
    positive("epsilon", epsilon)
    if refreshes is not None:
        positive_integer("refreshes", refreshes)
        if refreshes > setting.run.steps:
            raise ValueError(
                f"--refreshes {refreshes}: must be at most the number of steps, {setting.run.steps}"
            )
    if statistic_clip_norm is not None:
        step_size("statistic_clip_norm", statistic_clip_norm)
    from dp2theory.planning.snapshot import plan_snapshot

    with waiting("calibrating the noise", quiet=quiet):
        made = plan_snapshot(
            setting.budget(epsilon),
            dimension=setting.dimension,
            refreshes=refreshes,
            statistic_clip_norm=statistic_clip_norm,
        )
    inputs: dict[str, Any] = setting.inputs() | {
        "method": Input("snapshot"),
        "epsilon": Input(epsilon),
        "refreshes": Input(made.settings["refreshes"], refreshes is None, "snapshots"),
        **group_inputs(group_size, setting),
    }
    for name, value in (("clip_norm", clip_norm), ("learning_rate", learning_rate)):
        if value is not None:
            inputs[name] = Input(value)
    if statistic_clip_norm is not None:
        inputs["statistic_clip_norm"] = Input(statistic_clip_norm, unit="norm of squared gradients")
    result = made.to_json() | {"train_command": train_command(setting, epsilon, made, inputs)}
    result |= group_part(group_size, made.event, setting, quiet=quiet)
    if report is not None:
        from dp2theory.cli._report import about
        from dp2theory.report.html_snapshot import write_snapshot_report

        document = envelope(COMMAND, inputs, result)
        write_snapshot_report(report, document, about(document, [("the whole run", made.event)]))
    emit(
        COMMAND, inputs, result, json=json,
        human=lambda: _print(made, result, inputs, report=report, quiet=quiet),
    )  # fmt: skip


def train_command(
    setting: Setting, epsilon: float, made: "SnapshotPlan", inputs: dict[str, Any]
) -> str:
    """The command that runs the plan; its problem is a placeholder where only sizes are known."""
    run = setting.run
    words = ["dp2theory", "train", "--problem"]
    words.append(PLACEHOLDER if setting.problem is None else setting.problem.name)
    if "data" in setting.given:
        words += ["--data", str(setting.given["data"].value)]
    if setting.problem is not None and not setting.given["dimension"].default:
        words += ["--dimension", str(setting.dimension)]
    words += ["--method", "snapshot", "--batch-size", str(run.batch_size)]
    words += ["--steps", str(run.steps)]
    words += ["--epsilon", repr(epsilon), "--delta", repr(float(setting.delta.value))]
    words += ["--sampling", run.sampling, "--relation", run.relation]
    for name in ("clip_norm", "learning_rate"):
        if name in inputs:
            words += [f"--{name.replace('_', '-')}", repr(inputs[name].value)]
    for name, value in made.settings.items():
        words += ["--set", f"{name}={value!r}"]
    return shlex.join(words)


def _print(
    made: "SnapshotPlan",
    result: dict[str, Any],
    inputs: dict[str, Any],
    *,
    report: Path | None,
    quiet: bool,
) -> None:
    settings = made.settings
    sigma0, refreshes = settings["snapshot_noise_multiplier"], settings["refreshes"]
    if quiet:
        print(f"{sigma0!r} {refreshes} {made.noise_multiplier!r}")
        return
    print(f"snapshots: {refreshes}, noise multiplier of each (sigma0) = {sigma0!r}")
    if refreshes > 1:
        print(f"  one every {settings['period']} steps, the first before the first step")
    if made.histogram_share:
        histogram = settings["histogram_noise_multiplier"]
        print(f"clip norm C0: released by a histogram, noise multiplier = {histogram!r}")
    else:
        print(f"clip norm C0: {settings['statistic_clip_norm']!r}, public")
    grown = made.noise_multiplier / made.noise_multiplier_without - 1
    print(
        f"noise multiplier = {made.noise_multiplier!r} (without snapshots "
        f"{made.noise_multiplier_without!r}: {grown:.2%} more)"
    )
    print(
        f"epsilon in [{made.epsilon.lower!r}, {made.epsilon.upper!r}] for all releases; of the "
        f"budget, snapshots take {made.snapshot_share:.3%} and the histogram "
        f"{made.histogram_share:.3%}"
    )
    print_group(result)
    print("releases:")
    for release in made.releases:
        on = "all records" if release.records == "all" else "a batch"
        print(f"  {release.count} x {release.what} on {on}, noise {release.noise_multiplier!r}")
    print(f"events: {result['events']}")
    print(f"for\n{describe_inputs(inputs)}")
    for note in made.notes:
        print(f"note: {note}")
    print(f"run it with: {result['train_command']}")
    if report is not None:
        print(f"report: {report}")
