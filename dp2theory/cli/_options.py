"""Options that `account` and `calibrate` share, described once."""

from pathlib import Path
from typing import Annotated

import typer

DatasetSize = Annotated[int | None, typer.Option(help="Number of records n.", show_default=False)]
BatchSize = Annotated[
    int | None,
    typer.Option(help="Batch size b (expected, with poisson).", show_default=False),
]
NoiseMultiplier = Annotated[
    float | None,
    typer.Option(
        help="Noise standard deviation on the summed gradient / clip norm.", show_default=False
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(
        help="Passes over the data: floor(n/b) steps each, ceil(n/b) with shuffled-epochs.",
        show_default=False,
    ),
]
Steps = Annotated[
    int | None, typer.Option(help="Number of steps, instead of epochs.", show_default=False)
]
Sampling = Annotated[
    str, typer.Option(help="poisson, without-replacement, with-replacement or shuffled-epochs.")
]
GivenSampling = Annotated[
    str | None,
    typer.Option(
        help="poisson, without-replacement, with-replacement or shuffled-epochs."
        " [default: poisson]",
        show_default=False,
    ),
]
Relation = Annotated[
    str | None,
    typer.Option(
        help="add-or-remove-one, replace-one or replace-special."
        " [default: add-or-remove-one for poisson, replace-one otherwise]",
        show_default=False,
    ),
]
Tightness = Annotated[
    str,
    typer.Option(
        help="tight: the smallest proved upper end, seconds for fixed-size batches under"
        " replace-one. fast: milliseconds."
    ),
]
GroupSize = Annotated[
    int,
    typer.Option(
        help="Records that one person may have: ε and δ are then about all of them together."
    ),
]
RunGroupSize = Annotated[
    int,
    typer.Option(
        help="Records that one person may have: what the run, planned for one record, costs so many"
        " is printed besides."
    ),
]
EventFile = Annotated[
    Path | None,
    typer.Option(
        "--event",
        help="Ledger of what has run, JSON: an event tree of dp_accounting, an Opacus history,"
        " a list of runs, or the state of an accountant.",
        show_default=False,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write a page (.html) with pictures.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Only the answer.")]
