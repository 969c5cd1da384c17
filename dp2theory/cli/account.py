"""`dp2theory account`: the ε of a run at a δ, or its δ at an ε, as a bracket."""

from typing import Annotated, Any

import typer

from dp2theory.cli._inputs import not_negative, positive, resolve_delta, resolve_run
from dp2theory.cli._output import Input, describe_inputs, emit
from dp2theory.cli._progress import waiting


def account(
    dataset_size: Annotated[int, typer.Option(help="Number of records n.")],
    batch_size: Annotated[int, typer.Option(help="Expected batch size b.")],
    noise_multiplier: Annotated[
        float, typer.Option(help="Noise standard deviation on the summed gradient / clip norm.")
    ],
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the data: floor(n/b) steps each.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Number of steps, instead of epochs.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Ask for ε at this δ. [default: n^-1.1]")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Ask for δ at this ε instead.")] = None,
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
    """The ε (or δ) of a run of DP-SGD or DP², as a bracket around the exact value.

    Every step of DP² releases one noised sum of clipped gradients, as every step of DP-SGD does, so
    one account covers both.
    """
    run = resolve_run(
        dataset_size=dataset_size,
        batch_size=batch_size,
        epochs=epochs,
        steps=steps,
        sampling=sampling,
        relation=relation,
    )
    positive("noise_multiplier", noise_multiplier)
    if delta is not None and epsilon is not None:
        raise ValueError("at most one of --delta and --epsilon is wanted: both were given")
    inputs = run.inputs() | {"noise_multiplier": Input(noise_multiplier)}
    result: dict[str, Any]
    if epsilon is None:
        inputs["delta"] = resolve_delta(delta, dataset_size)
    else:
        inputs["epsilon"] = Input(not_negative("epsilon", epsilon))

    from accountants import ExactAccountant

    accountant = ExactAccountant(neighboring_relation=run.neighboring_relation())
    accountant.compose(run.event(noise_multiplier))
    with waiting("accounting", quiet=quiet):
        if epsilon is None:
            asked, bracket = "epsilon", accountant.epsilon_bracket(inputs["delta"].value)
            result = {"epsilon": bracket, "steps": run.steps}
        else:
            asked, bracket = "delta", accountant.delta_bracket(epsilon)
            # δ below the smallest double still has a logarithm.
            result = {
                "delta": bracket,
                "log_delta": accountant.log_delta_bracket(epsilon),
                "steps": run.steps,
            }

    def human() -> None:
        if quiet:
            print(repr(bracket.upper))
            return
        print(f"{asked} <= {bracket.upper!r}")
        print(f"{asked} >= {bracket.lower!r}")
        if asked == "delta":
            log_delta = result["log_delta"]
            print(f"log(delta) in [{log_delta.lower!r}, {log_delta.upper!r}]")
        print(f"inputs:\n{describe_inputs(inputs)}")

    emit("account", inputs, result, json=json, human=human)
