"""`dp2theory calibrate`: the noise multiplier, steps or batch size that meets a privacy budget."""

from typing import Annotated, Any

import typer

from dp2theory.cli import _options
from dp2theory.cli._answers import TIGHTNESS
from dp2theory.cli._inputs import (
    RELATIONS,
    SAMPLINGS,
    one_of,
    option,
    positive,
    positive_integer,
    resolve_delta,
)
from dp2theory.cli._output import Input, describe_inputs, emit
from dp2theory.cli._progress import waiting
from dp2theory.cli._solve import NAMES, TARGETS, Solution, Wanted, solve
from dp2theory.cli._unit import check_group_size, unit_inputs


def calibrate(
    target: Annotated[
        str,
        typer.Option(
            "--for",
            help="What to solve for: noise-multiplier, steps or batch-size.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="The budget: ε at most this.", show_default=False)],
    dataset_size: Annotated[int, typer.Option(help="Number of records n.", show_default=False)],
    batch_size: _options.BatchSize = None,
    delta: Annotated[
        float | None, typer.Option(help="The budget's δ. [default: n^-1.1]", show_default=False)
    ] = None,
    epochs: _options.Epochs = None,
    steps: _options.Steps = None,
    noise_multiplier: _options.NoiseMultiplier = None,
    sampling: _options.Sampling = "poisson",
    relation: _options.Relation = None,
    tightness: _options.Tightness = "tight",
    group_size: _options.GroupSize = 1,
    json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """The value whose run spends a privacy budget and never exceeds it.

    For the noise multiplier: the smallest; accounting the printed value again gives an ε within
    the budget and at least budget * (1 - 1e-9), where both ends of ε meet; 1e-6 where they do
    not, and 1e-3 with tight ends. For steps and batch size: the largest whole number within the
    budget; the next one is computed too, and exceeds it.
    """
    one_of("for", target, TARGETS)
    one_of("tightness", tightness, TIGHTNESS)
    one_of("sampling", sampling, SAMPLINGS)
    if relation is not None:
        one_of("relation", relation, RELATIONS)
    given = {
        "noise_multiplier": noise_multiplier,
        "batch_size": batch_size,
        "steps": steps,
        "epochs": epochs,
    }
    solved = target.replace("-", "_")
    for name in (solved, "epochs") if solved == "steps" else (solved,):
        if given[name] is not None:
            raise ValueError(f"{option(name)}: is what is solved for; leave it out")
    for name in ("noise_multiplier", "batch_size"):
        if name != solved and given[name] is None:
            raise ValueError(f"{option(name)} is wanted with --for {target}: it is missing")
    positive("epsilon", epsilon)
    check_group_size(group_size)
    positive_integer("dataset_size", dataset_size)
    wanted = Wanted(
        target=target,
        epsilon=epsilon,
        delta=resolve_delta(delta, dataset_size),
        dataset_size=dataset_size,
        batch_size=batch_size,
        epochs=epochs,
        steps=steps,
        noise_multiplier=noise_multiplier,
        sampling=sampling,
        relation=relation,
        tightness=tightness,
        group_size=group_size,
    )
    wanted.check()
    with waiting(f"calibrating the {NAMES[target]}", quiet=quiet):
        found: Solution = solve(wanted)
    inputs: dict[str, Any] = {"for": Input(target), "epsilon": Input(epsilon)}
    inputs |= {"delta": wanted.delta} | found.inputs
    inputs["tightness"] = Input(tightness, default=tightness == "tight")
    inputs |= unit_inputs(group_size)

    def human() -> None:
        # repr: the shortest text that reads back as the same double, so nothing is lost.
        if quiet:
            print(repr(found.value))
            return
        print(found.text(NAMES[target], epsilon))
        print(f"inputs:\n{describe_inputs(inputs)}")

    emit("calibrate", inputs, found.result(solved), json=json, human=human)
