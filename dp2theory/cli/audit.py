"""`dp2theory audit`: an empirical lower bound on the ε of an optimizer."""

from pathlib import Path
from typing import Annotated

import typer

from dp2theory.cli import _options


def audit(
    method: Annotated[
        str | None,
        typer.Option(
            help="A private method, as of `train` (an unknown name lists all).", show_default=False
        ),
    ] = None,
    optimizer: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:ATTRIBUTE",
            help="An optimizer of your own in its place, or a function that makes one from a"
            " problem, in a module that can be imported from here.",
            show_default=False,
        ),
    ] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(
            help="Noise standard deviation on the summed gradient / clip norm. [default: as far as"
            " a record moves the sum: 1 for poisson and add-or-remove-one, 2 for fixed sizes]",
            show_default=False,
        ),
    ] = None,
    sampling: Annotated[
        str, typer.Option(help="poisson, without-replacement or with-replacement.")
    ] = "poisson",
    sampling_probability: Annotated[
        float | None,
        typer.Option(help="Of each record, with poisson. [default: 0.5]", show_default=False),
    ] = None,
    dataset_size: Annotated[
        int, typer.Option(help="Records of the larger data set: few, so that one counts.")
    ] = 4,
    batch_size: Annotated[
        int | None,
        typer.Option(help="With fixed sizes. [default: half of them]", show_default=False),
    ] = None,
    relation: _options.Relation = None,
    steps: Annotated[int, typer.Option(help="Steps of each run: few.")] = 4,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Where ε is compared. Runs show nothing of events rarer than one in so many."
            " [default: 0.05]",
            show_default=False,
        ),
    ] = None,
    delay: Annotated[
        int | None, typer.Option(help="Phase length s. [default: 1]", show_default=False)
    ] = None,
    clip_norm: Annotated[
        float | None, typer.Option(help="Of plain gradients. [default: 1]", show_default=False)
    ] = None,
    preconditioned_clip_norm: Annotated[
        float | None,
        typer.Option(help="Of preconditioned gradients. [default: 4]", show_default=False),
    ] = None,
    set_values: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another setting of the method; repeatable."
        ),
    ] = None,
    claimed_epsilon: Annotated[
        float | None,
        typer.Option(
            help="Judge this ε, claimed at --delta, in the place of the accounted one.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            help="Fresh runs on each of the two data sets. [default: 10000]", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed repeats the audit.")] = 0,
    executor: Annotated[
        str, typer.Option(help="serial, process[:N] (N workers, all cores by default).")
    ] = "process",
    out: Annotated[
        Path | None, typer.Option(help="Write the result here (.json).", show_default=False)
    ] = None,
    report: _options.Report = None,
    json: _options.AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Only the lower end of ε that was shown.")
    ] = False,
) -> None:
    """How much an optimizer gives away, by attacks on its releases, against its accounted ε.

    It runs many times on two data sets that differ in one record and give away the most; the
    attacker sees every release. What he shows is a lower end of ε, wrong once in a thousand
    audits. Above the accounted ε, the optimizer is not what its ledger says: exit code 3. Below
    it, nothing is proved.
    """
    from dp2theory.experiments.executors import one_thread

    one_thread()
    from dp2theory.cli._auditing import Request, audit_request

    audit_request(
        Request(
            method=method,
            optimizer=optimizer,
            noise_multiplier=noise_multiplier,
            sampling=sampling,
            sampling_probability=sampling_probability,
            dataset_size=dataset_size,
            batch_size=batch_size,
            relation=relation,
            steps=steps,
            delta=delta,
            settings={
                "delay": delay,
                "clip_norm": clip_norm,
                "preconditioned_clip_norm": preconditioned_clip_norm,
            },
            set_values=set_values,
            claimed_epsilon=claimed_epsilon,
            trials=trials,
            seed=seed,
            executor=executor,
            out=out,
            report=report,
            json=json,
            quiet=quiet,
        )
    )
