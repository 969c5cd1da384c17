"""`dp2theory figure`: a figure or table of the DP² or the ReSQue paper, with a verdict."""

from pathlib import Path
from typing import Annotated

import typer


def figure(
    name: Annotated[
        str,
        typer.Argument(
            help="fig1 (preconditioner drift), fig2 (delayed RMSProp), fig3 (h(s)), fig4 (learning"
            " curves), fig5 (privacy against utility), fig6 (effect of s), fig7 (ablations),"
            " table1 (side information), each on a problem; and on ReSQue, on no problem:"
            " resque-table1 (parallel methods), resque-table2 (private methods), resque-fig1"
            " (their rates), ball-slope (ball acceleration), drift (coupled runs). These take"
            " --seed, --seeds, --executor, --out, --format, --json and --quiet, resque-table1 and"
            " resque-fig1 also --dimension, and refuse the others."
        ),
    ],
    problem: Annotated[
        str | None,
        typer.Option(help="A problem by name, or het:n=…,d=…,amin=…,avg=…,seed=…. [default: hetA]"),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Path of the problem's file, where it needs one.")
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(
            help="Number of parameters, for problems that let one choose; of resque-table1 and"
            " resque-fig1 the d of the rates. [default: the problem's own, 10000 for rates]"
        ),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Expected batch size b. [default: the problem's own]")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="Passes over the data: floor(n/b) steps each. [default: its own]"),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Number of steps, instead of epochs.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="The budget's ε; several for fig5, as in 0.5,1,2.8. [default: the problem's own]"
        ),
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The budget's δ. [default: n^-1.1]")] = None,
    delays: Annotated[
        str | None,
        typer.Option(
            help="Delays s in steps, as in 5,10,20; one where the figure holds s."
            " [default: T over 320, 160, 80, 40, 20, 10, 4, or some of these]"
        ),
    ] = None,
    public_share: Annotated[
        float | None,
        typer.Option(help="Share of the records that is public. [default: 0.01 for table1]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="First seed.")] = 0,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Number of seeds: seed, seed + 1, … [default: 8; figures on ReSQue their own]"
        ),
    ] = None,
    tune_seeds: Annotated[
        int | None,
        typer.Option(help="Seeds to tune on; other seeds than those of the runs. [default: 6]"),
    ] = None,
    executor: Annotated[
        str,
        typer.Option(help="serial, process[:N] (N workers, all cores by default), dask:ADDRESS."),
    ] = "process",
    store: Annotated[
        Path | None,
        typer.Option(help="Keep every run in this SQLite file; what it has is not run again."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the data (.json) and the picture beside it.")
    ] = Path(),
    format: Annotated[str, typer.Option(help="png, svg or png,svg.")] = "png",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the verdict.")] = False,
) -> None:
    """A figure or table of the DP² paper on a chosen problem, or one on ReSQue, with a verdict.

    Data and picture are written beside each other. The verdict says whether the claim holds here;
    it is computed from the data, and may be that it does not.
    """
    given = dict(locals())  # first of all, so that it holds the options and nothing else
    # Before anything loads NumPy: sums over several threads would depend on the machine's cores.
    from dp2theory.experiments.executors import one_thread

    one_thread()
    from dp2theory.cli._figure_request import Request
    from dp2theory.cli._figuring import figure_request

    figure_request(Request(**given))
