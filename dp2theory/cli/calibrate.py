"""`dp2theory calibrate`: the noise multiplier that meets a privacy budget."""

from typing import Annotated

import typer

from dp2theory.cli._inputs import option, positive, resolve_delta, resolve_run
from dp2theory.cli._output import Input, describe_inputs, emit
from dp2theory.cli._progress import waiting

TARGETS = ("noise-multiplier", "steps", "batch-size")


def _check_target(target: str) -> None:
    if target not in TARGETS:
        raise ValueError(f"--for {target!r}: must be one of {', '.join(TARGETS)}")
    if target != "noise-multiplier":
        raise ValueError(
            f"--for {target}: not available yet: only the noise multiplier is solved for; "
            "try values of the other inputs with `dp2theory account`"
        )


def calibrate(
    target: Annotated[
        str, typer.Option("--for", help="What to solve for: noise-multiplier.", show_default=False)
    ],
    epsilon: Annotated[float, typer.Option(help="The budget: ε at most this.")],
    dataset_size: Annotated[int, typer.Option(help="Number of records n.")],
    batch_size: Annotated[int, typer.Option(help="Expected batch size b.")],
    delta: Annotated[float | None, typer.Option(help="The budget's δ. [default: n^-1.1]")] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the data: floor(n/b) steps each.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Number of steps, instead of epochs.")] = None,
    noise_multiplier: Annotated[float | None, typer.Option(hidden=True)] = None,
    sampling: Annotated[
        str,
        typer.Option(help="poisson, without-replacement, with-replacement or shuffled-epochs."),
    ] = "poisson",
    relation: Annotated[
        str | None,
        typer.Option(
            help="add-or-remove-one, replace-one or replace-special."
            " [default: add-or-remove-one for poisson]"
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the answer.")] = False,
) -> None:
    """The smallest noise multiplier whose ε is within the budget, from the private side.

    Accounting the printed value again gives an ε in (budget * (1 - 1e-9), budget].
    """
    _check_target(target)
    if noise_multiplier is not None:
        raise ValueError(f"{option('noise_multiplier')}: is what is solved for; leave it out")
    positive("epsilon", epsilon)
    run = resolve_run(
        dataset_size=dataset_size,
        batch_size=batch_size,
        epochs=epochs,
        steps=steps,
        sampling=sampling,
        relation=relation,
    )
    resolved_delta = resolve_delta(delta, dataset_size)

    from accountants import calibrate_noise_multiplier

    with waiting("calibrating the noise", quiet=quiet):
        calibration = calibrate_noise_multiplier(
            run.event,
            target_epsilon=epsilon,
            target_delta=resolved_delta.value,
            neighboring_relation=run.neighboring_relation(),
        )
    inputs = {"for": Input(target), "epsilon": Input(epsilon), "delta": resolved_delta}
    inputs |= run.inputs()
    result = {
        "noise_multiplier": calibration.noise_multiplier,
        "epsilon": calibration.epsilon,
        "steps": run.steps,
    }

    def human() -> None:
        # repr: the shortest text that reads back as the same double, so nothing is lost.
        if quiet:
            print(repr(calibration.noise_multiplier))
            return
        print(f"noise multiplier = {calibration.noise_multiplier!r}")
        print(f"epsilon <= {calibration.epsilon.upper!r}")
        print(f"epsilon >= {calibration.epsilon.lower!r}")
        print(f"inputs:\n{describe_inputs(inputs)}")

    emit("calibrate", inputs, result, json=json, human=human)
