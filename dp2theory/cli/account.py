"""`dp2theory account`: the ε of a run at a δ, or its δ at an ε, as a bracket."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dp2theory.cli import _options
from dp2theory.cli._answers import ACCOUNTANTS, TIGHTNESS, Question, answers, chosen, describe
from dp2theory.cli._inputs import not_negative, one_of, open_probability, positive, resolve_delta
from dp2theory.cli._ledger import Described
from dp2theory.cli._ledger import describe as describe_run
from dp2theory.cli._output import Input, describe_inputs, emit, envelope
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._progress import progress, waiting
from dp2theory.cli._unit import check_group_size, unit_inputs

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from dp2theory.cli._remaining import Remaining


def account(
    noise_multiplier: _options.NoiseMultiplier = None,
    dataset_size: _options.DatasetSize = None,
    batch_size: _options.BatchSize = None,
    epochs: _options.Epochs = None,
    steps: _options.Steps = None,
    sampling: _options.GivenSampling = None,
    relation: _options.Relation = None,
    event: _options.EventFile = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Ask for ε at this δ. [default: n^-1.1]", show_default=False),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Ask for δ at this ε instead.", show_default=False)
    ] = None,
    remaining: Annotated[
        float | None,
        typer.Option(
            help="Ask how many more steps keep ε at most this. The step is the one that the"
            " options describe, or the last of --event.",
            show_default=False,
        ),
    ] = None,
    accountant: Annotated[
        str, typer.Option(help="exact, renyi, tcdp (truncated CDP), or all.")
    ] = "exact",
    tightness: _options.Tightness = "tight",
    group_size: _options.GroupSize = 1,
    peers: Annotated[
        bool, typer.Option("--peers", help="What dp_accounting, Opacus and prv_accountant say.")
    ] = False,
    curve: Annotated[
        Path | None,
        typer.Option(help="Write the (ε, δ) curve to this CSV file.", show_default=False),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw ε against steps to this .png or .svg file.", show_default=False),
    ] = None,
    report: _options.Report = None,
    json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """The ε (or δ) of a run of DP-SGD or DP², as a bracket around the exact value.

    The run is what the options describe, what a ledger (--event) says has run, or both, one after
    the other. Every step of DP² releases one noised sum of clipped gradients, as every step of
    DP-SGD does, so one account covers both.
    """
    from dp2theory.cli._curves import check_picture

    one_of("accountant", accountant, ACCOUNTANTS)
    one_of("tightness", tightness, TIGHTNESS)
    _check_questions(delta, epsilon, remaining)
    if plot is not None and epsilon is not None:
        raise ValueError(f"--plot {plot}: draws ε at a δ; leave --epsilon out")
    for name, wanted in (("--peers", peers), ("--accountant", accountant != "exact"),
                         ("--curve", curve), ("--plot", plot)):  # fmt: skip
        if remaining is not None and wanted:
            raise ValueError(f"{name}: has no meaning with --remaining; leave it out")
    _check_group(group_size, accountant=accountant != "exact", peers=peers, plot=plot is not None)
    check_picture(plot)
    check_outputs({"curve": curve, "plot": plot, "report": report}, {"event": event})
    described = describe_run(
        event=event,
        dataset_size=dataset_size,
        batch_size=batch_size,
        noise_multiplier=noise_multiplier,
        epochs=epochs,
        steps=steps,
        sampling=sampling,
        relation=relation,
        one_step=remaining is not None,
    )
    inputs = dict(described.inputs)
    if epsilon is None:
        inputs["delta"] = _delta(delta, dataset_size)
        delta = inputs["delta"].value
        question = Question(described.neighboring_relation(), delta=delta, group_size=group_size)
    else:
        inputs["epsilon"] = Input(epsilon)
        question = Question(
            described.neighboring_relation(), epsilon=epsilon, group_size=group_size
        )
    inputs["accountant"] = Input(accountant, default=accountant == "exact")
    inputs["tightness"] = Input(tightness, default=tightness == "tight")
    inputs |= unit_inputs(group_size)
    if remaining is not None:
        _answer_remaining(described, question, remaining, tightness, inputs, report, json, quiet)
        return
    tree = described.event()
    with waiting("accounting", quiet=quiet):
        found = answers(tree, question, accountant=accountant, tightness=tightness)
    result: dict[str, Any] = _result(found, question, described)
    saved = _alternatives(described, question, quiet=quiet)
    if saved:
        result["alternatives"] = saved
    if peers:
        from dp2theory.cli._peers import peer_answers

        with waiting("asking peers", quiet=quiet):
            result["peers"] = peer_answers(tree, question)
    if curve is not None:
        from dp2theory.cli._curves import write_curve

        with waiting("writing the curve", quiet=quiet):
            write_curve(curve, tree, question)
        result["curve"] = str(curve)
    if plot is not None or (report is not None and delta is not None and group_size == 1):
        result["against_steps"] = _series(tree, question, accountant, quiet=quiet)
    if plot is not None:
        _draw(plot, result["against_steps"], question, found[0])
        result["plot"] = str(plot)
    if report is not None:
        _write_report(report, inputs, result, [("all that was accounted", tree)])

    def human() -> None:
        if quiet:
            print(repr(found[0][question.asked].upper))
            return
        print(describe(found, question))
        for other in saved:
            print(
                f"{other['sampling']} sampling with the same noise, batches and steps: "
                f"{question.asked} <= {other[question.asked].upper!r}"
            )
        for note in described.notes:
            print(f"note: {note}")
        if peers:
            from dp2theory.cli._peers import describe_peers

            print(describe_peers(result["peers"], question.asked))
        for path in (curve, plot, report):
            if path is not None:
                print(f"written: {path}")
        print(f"inputs:\n{describe_inputs(inputs)}")

    emit("account", inputs, result, json=json, human=human)


def _check_group(group_size: int, **others: bool) -> None:
    """Refuse what is about single records only."""
    if check_group_size(group_size) == 1:
        return
    for name, wanted in others.items():
        if wanted:
            raise ValueError(
                f"--{name}: is about single records; leave it out with --group-size {group_size}"
            )


def _check_questions(delta: float | None, epsilon: float | None, remaining: float | None) -> None:
    if delta is not None:
        open_probability("delta", delta)
    if epsilon is not None:
        not_negative("epsilon", epsilon)
    if remaining is not None:
        positive("remaining", remaining)
    if delta is not None and epsilon is not None:
        raise ValueError("at most one of --delta and --epsilon is wanted: both were given")
    if remaining is not None and epsilon is not None:
        raise ValueError("at most one of --remaining and --epsilon is wanted: both were given")


def _delta(delta: float | None, dataset_size: int | None) -> Input:
    if delta is None and dataset_size is None:
        raise ValueError(
            "--delta is wanted: its default n^-1.1 needs --dataset-size, and neither was given"
        )
    return resolve_delta(delta, dataset_size or 2)


def _result(
    found: list[dict[str, Any]], question: Question, described: Described
) -> dict[str, Any]:
    first = found[0]
    result = {question.asked: first[question.asked]}
    if question.asked == "delta":
        result["log_delta"] = first["log_delta"]
    result["steps"] = first["releases"]
    result["explanation"] = first.get("explanation")
    result["answers"] = [
        {key: value for key, value in answer.items() if key != "explanation"} for answer in found
    ]
    result["notes"] = list(described.notes)
    return result


def _alternatives(described: Described, question: Question, *, quiet: bool) -> list[dict[str, Any]]:
    """What batches of the same size would cost that are sampled and not shuffled."""
    run, noise = described.run, described.noise_multiplier
    if run is None or run.sampling != "shuffled-epochs" or described.spent is not None:
        return []
    assert noise is not None
    found = []
    with waiting("accounting alternatives", quiet=quiet):
        for sampling in ("poisson", "without-replacement"):
            tree = replace(run, sampling=sampling).event(noise)
            (answer,) = answers(tree, question, accountant="exact", tightness="fast")
            found.append(
                {
                    "sampling": sampling,
                    "relation": run.relation,
                    question.asked: answer[question.asked],
                }
            )
    return found


def _series(tree: Any, question: Question, accountant: str, *, quiet: bool) -> dict[str, Any]:
    """ε against steps, as plain values."""
    from dp2theory.cli._curves import STEP_POINTS, against_steps
    from dp2theory.cli._output import jsonable

    with progress("curve", STEP_POINTS, quiet=quiet) as advance:
        series: dict[str, Any] = jsonable(
            against_steps(tree, question, chosen(accountant), advance)
        )
    return series


def _draw(path: Path, series: dict[str, Any], question: Question, first: Any) -> None:
    from dp2theory.report.curves import account_figure, save_picture

    tight = first.get("tightness") == "tight" and not first["explanation"]["exact"]
    ends = {"lower": first["epsilon"].lower, "upper": first["epsilon"].upper}
    assert question.delta is not None
    figure = account_figure(series, delta=question.delta, tight=ends if tight else None)
    save_picture(figure, path)


def _write_report(
    path: Path,
    inputs: dict[str, Input],
    result: dict[str, Any],
    ledgers: "list[tuple[str, DpEvent]]",
) -> None:
    from dp2theory.cli._report import about
    from dp2theory.report.html_account import write_account_report

    document = envelope("account", inputs, result)
    write_account_report(path, document, about(document, ledgers))


def _answer_remaining(
    described: Described,
    question: Question,
    target: float,
    tightness: str,
    inputs: dict[str, Input],
    report: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    from dp2theory.cli._remaining import remaining

    inputs["remaining"] = Input(target)
    with waiting("counting the steps that remain", quiet=quiet):
        found: Remaining = remaining(described, question, target, tightness)

    def human() -> None:
        if quiet:
            print(found.steps)
            return
        print(found.text())
        for note in described.notes:
            print(f"note: {note}")
        if report is not None:
            print(f"written: {report}")
        print(f"inputs:\n{describe_inputs(inputs)}")

    result = found.result() | {"notes": list(described.notes)}
    if report is not None:
        _write_report(report, inputs, result, found.ledgers)
    emit("account", inputs, result, json=json, human=human)
