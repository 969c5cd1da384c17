"""`dp2theory train`: runs of an optimizer, with their ledger, beside another at equal privacy."""

from pathlib import Path
from typing import Annotated

import typer

from dp2theory.cli import _options
from dp2theory.cli._training import Request, train_request


def train(
    problem: Annotated[
        str | None, typer.Option(help="A problem by name; the plan's own with --plan.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="dp-sgd, dp-rmsprop, dp2-rmsprop, snapshot and others (an unknown name lists all),"
            " or without noise sgd, rmsprop, adam and others."
            " [default with --plan: what the plan advises]"
        ),
    ] = None,
    compare: Annotated[
        str | None, typer.Option(help="Another method, run from step 0 on the same seeds.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Go on from the pilot kept by `plan --out` (.npz).")
    ] = None,
    pilot: Annotated[
        bool,
        typer.Option("--pilot", help="Let each run of the method make its own pilot first."),
    ] = False,
    discarded_pilot: Annotated[
        Path | None,
        typer.Option(help="A pilot (.npz) that was made on these records and is thrown away."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Path of u.data (movielens-100k), or of the data of imdb, stackoverflow."
        ),
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(help="Number of parameters, for problems that let one choose.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Expected batch size b.")] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the data: floor(n/b) steps each.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Number of steps, instead of epochs.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The budget's ε, for one run.")] = None,
    noise_multiplier: Annotated[
        float | None, typer.Option(help="Noise multiplier, instead of ε.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The budget's δ. [default: n^-1.1]")] = None,
    sampling: Annotated[
        str,
        typer.Option(help="poisson, without-replacement or with-replacement."),
    ] = "poisson",
    relation: Annotated[
        str | None,
        typer.Option(
            help="add-or-remove-one, replace-one or replace-special."
            " [default: add-or-remove-one for poisson]"
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Of the method; of the SGD phases for DP². [default: the method's; 1 / clip norm"
            " for dp-sgd, a third of that for SGD phases]"
        ),
    ] = None,
    clip_norm: Annotated[
        float | None,
        typer.Option(
            help="Of the method; of the SGD phases for DP². [default: the method's, mostly 1]"
        ),
    ] = None,
    adaptive_learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Of DP²'s adaptive phases. [default: 9 x learning rate x clip norm /"
            " preconditioned clip norm; 0.006 with all defaults]"
        ),
    ] = None,
    preconditioned_clip_norm: Annotated[
        float | None, typer.Option(help="Of DP²'s adaptive phases. [default: 500]")
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option(help="DP²'s phase length s. [default: the pilot's advice, else T // 40]"),
    ] = None,
    sgd_steps: Annotated[
        int | None, typer.Option(help="Length of SGD phases, with --adaptive-steps.")
    ] = None,
    adaptive_steps: Annotated[
        int | None, typer.Option(help="Length of adaptive phases, with --sgd-steps.")
    ] = None,
    ema: Annotated[
        float | None,
        typer.Option(help="Weight of the old second moment. [default: the method's, mostly 0.9]"),
    ] = None,
    damping: Annotated[
        float | None,
        typer.Option(help="Added to the root of it. [default: the method's, mostly 1e-7]"),
    ] = None,
    compare_learning_rate: Annotated[
        float | None, typer.Option(help="Learning rate of the method compared with.")
    ] = None,
    compare_clip_norm: Annotated[
        float | None,
        typer.Option(help="Clip norm of the method compared with. [default: its own, mostly 1]"),
    ] = None,
    set_values: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A less common setting of the method; repeatable."
        ),
    ] = None,
    compare_set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A setting of the method compared with; repeatable."
        ),
    ] = None,
    public_share: Annotated[
        float | None,
        typer.Option(
            help="Share of the records that is public, between 0 and 1, for methods that use such."
            " [default: 0]"
        ),
    ] = None,
    group_size: _options.RunGroupSize = 1,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Choose step sizes and clip norms of both by their grids."),
    ] = False,
    tune_seeds: Annotated[
        int, typer.Option(help="Seeds to tune on; other seeds than those of the runs.")
    ] = 4,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Run in the box of a convex problem, and print what the theorems say of the runs"
            " beside their loss: an estimate over --seeds runs, not for release.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="First seed.")] = 0,
    seeds: Annotated[int, typer.Option(help="Number of seeds: seed, seed + 1, …")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Write the results here (.json) after every run.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Write the event tree of one run of the method here (.json), for"
            " `account --event`."
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page (.html) with pictures.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the answer.")] = False,
) -> None:
    """Runs of a reference optimizer, with the ledger they wrote, accounted.

    The ε printed is that of one run of the method, released alone.
    """
    given = dict(locals())  # first of all, so that it holds the options and nothing else
    train_request(Request(**given))
