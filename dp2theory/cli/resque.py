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
            help="A function by name (an unknown one lists all). [default: absolute with private,"
            " max with parallel]",
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
            help="Excess that is asked for. [default: 0.1 of the Lipschitz constant times the"
            " radius]",
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
            help="With private: draws with replacement of an oracle call.", show_default=False
        ),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            help="With private: cap on oracle calls, which the budget pays for.",
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
            " phased-localization or phased-localization-raw at the same budget.",
            show_default=False,
        ),
    ] = None,
    set_values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another constant of ReSQue (docs/resque.md lists them), repeatable.",
        ),
    ] = None,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="With private: plan and account, run nothing.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed repeats the run.")] = 0,
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

    private: the plan of a run within a budget, every constant by name, the run, and its ledger by
    four accountants; what n the rate asks for is printed beside. parallel: a point of the accuracy
    asked for, with the rounds, steps and queries that it took.
    """
    given = dict(locals())  # first of all, so that it holds the options and nothing else
    from dp2theory.experiments.executors import one_thread

    one_thread()
    from dp2theory.cli._resquing import Request, resque_request

    resque_request(Request(**given))
