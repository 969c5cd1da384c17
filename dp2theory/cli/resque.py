"""`dp2theory resque`: ReSQue's private and parallel algorithms on a function by name."""

from pathlib import Path
from typing import Annotated

import typer

from dp2theory.cli import _options


def resque(
    mode: Annotated[
        str,
        typer.Argument(
            help="private (a budget, a plan, a run with its ledger) or parallel (an accuracy, in"
            " few rounds of queries)."
        ),
    ],
    function: Annotated[
        str | None,
        typer.Option(
            help="absolute, hinge, svm-breast-cancer or l1-diabetes (the last two need"
            " scikit-learn); with parallel also max, max-flat, l1, l1-flat, positive-max."
            " [default: absolute with private, max with parallel]",
            show_default=False,
        ),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(help="Number of records n, for random data.", show_default=False),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(help="Number of parameters, for functions that let one choose."),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            help="Excess f(x) - f* that is asked for, in units of f. [default: 0.1 of the"
            " Lipschitz constant times the radius, both printed]",
            show_default=False,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="The budget's ε, with private. [default: 1]", show_default=False),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="The budget's δ, with private. [default: n^-1.1]", show_default=False),
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(
            help="With private: Gaussian smoothing in place of what the accuracy asks for, a scaled"
            " instance with the same accounting.",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            help="With private: gradients of an oracle call, at records drawn with replacement.",
            show_default=False,
        ),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            help="With private: cap on oracle calls of a part, which the budget pays for whether"
            " they are made or not.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="With parallel: resque-1, resque-2, sgd or randomized-smoothing."
            " [default: resque-2]",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="Another method beside it, repeatable: with private noisy-sgd,"
            " phased-localization or phased-localization-raw, each with a budget of its own; with"
            " parallel another --method.",
            show_default=False,
        ),
    ] = None,
    set_values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another constant, repeatable; an unknown NAME lists all, --json has their"
            " sources.",
        ),
    ] = None,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="With private: plan and account, run nothing.")
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            help="The same seed repeats the run and its noise: where the data are secret, the seed"
            " of a private run must be."
        ),
    ] = 0,
    executor: Annotated[
        str,
        typer.Option(help="Where rounds run: serial, process[:N], dask:ADDRESS."),
    ] = "serial",
    out: Annotated[
        Path | None, typer.Option(help="Write the result here (.json).", show_default=False)
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="With private: write the event tree that is accounted here (.json), for"
            " `account --event`; of the dearest part.",
            show_default=False,
        ),
    ] = None,
    json: _options.AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Only ε (private), or the excess (parallel).")
    ] = False,
) -> None:
    """ReSQue (Carmon et al., FOCS 2023): private or parallel convex optimization on a function.

    private: the plan of a run within a budget, the run, and its ledger by four accountants; what n
    the rate asks for is printed beside. parallel: a point of the accuracy asked for, with the
    rounds, steps and gradients that it took. Functions are named ones; for your own arrays see
    docs/how-to/private-run-on-your-data.md.
    """
    given = dict(locals())  # first of all, so that it holds the options and nothing else
    from dp2theory.experiments.executors import one_thread

    one_thread()
    from dp2theory.cli._resquing import Request, resque_request

    resque_request(Request(**given))
