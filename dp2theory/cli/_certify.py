"""`dp2theory train --certify`: runs in a box, and what the theorems say of them."""

from typing import TYPE_CHECKING, Any

from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._inputs import option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dp2theory.cli._resolve_training import Resolved
    from dp2theory.cli._training import Request
    from dp2theory.planning.comparison import Arm
    from dp2theory.verification.certify import Certificate

#: Options that make runs which no theorem here speaks of, or runs of two methods.
APART = ("plan", "pilot", "compare", "tune", "public_share")
NOTE = (
    "With --certify iterates are kept in the box that holds the minimiser, by clipping each "
    "coordinate. That is post-processing and costs no privacy."
)


def check_certify(request: "Request") -> None:
    """Refuse what does not go with `--certify`."""
    if not request.certify:
        return
    for name in APART:
        if getattr(request, name):
            raise ValueError(f"{option(name)}: does not go with --certify")
    if request.seeds < 2:
        raise ValueError(
            f"--seeds {request.seeds}: --certify estimates expectations over runs, and wants at "
            "least 2"
        )


def certified_runs(
    arm: "Arm",
    resolved: "Resolved",
    seeds: "Sequence[int]",
    *,
    record_every: int,
    on_step: "Callable[[int], None] | None",
    on_run: "Callable[[], None]",
) -> "Certificate":
    """Make the runs of an arm in the box of its problem; what the theorems say of them."""
    from dp2theory.planning.trial import InterruptedTrial
    from dp2theory.verification.certify import certify
    from dp2theory.verification.certify_trace import (
        InBox,
        box_of,
        check_method,
        check_size,
        record_run,
    )

    inner = arm.optimizer
    arm.optimizer = InBox(inner, *box_of(resolved.problem))  # the box belongs to what runs
    check_method(inner, resolved.problem)
    check_size(resolved.budget.steps, resolved.problem.dimension, len(seeds))
    traces = []
    for seed in seeds:
        try:
            made, trace = record_run(
                inner,
                resolved.problem,
                sampling=resolved.budget.sampling,
                steps=resolved.budget.steps,
                seed=seed,
                record_every=record_every,
                on_step=on_step,
            )
        except InterruptedTrial as stop:
            arm.runs.append(stop.partial)  # what it released is owed
            raise
        trace.check()  # before anything of the run is written
        arm.runs.append(made)
        traces.append(trace)
        on_run()
    return certify(resolved.problem, resolved.budget.sampling, traces)


def certify_text(result: dict[str, Any]) -> str:
    """The certificate for a person."""
    from dp2theory.report.html_numbers import KINDS
    from dp2theory.report.tables import text_table

    found = result["certificate"]
    rows = [
        (
            each["theorem"],
            each["gap_of"],
            _with_interval(each["bound"], each["bound_interval"], each["kind"]),
            KINDS[each["kind"]][0],
            _with_interval(each["gap"], each["gap_interval"]),
            "yes" if each["holds"] else "NO",
        )
        for each in found["bounds"]
    ]
    box = found["box"]
    lines = [
        f"bounds on the gap above the least train loss {found['optimal_value']:.6g}: "
        f"{found['statement']}",
        text_table(("theorem", "gap of", "bound", "kind", "measured", "holds"), rows),
        f"in the box [{box['low']:g}, {box['high']:g}]^{box['dimension']}, where no gap exceeds "
        f"{found['trivial']:.6g}"
        + (": the bounds are vacuous, they say no more" if found["vacuous"] else ""),
        *(f"{name} says nothing here: {why}" for name, why in found["not_applicable"].items()),
    ]
    return "\n".join(lines)


def _with_interval(
    value: float, interval: "dict[str, float] | None", kind: str = "estimate"
) -> str:
    from dp2theory.digits import short

    if interval is None:
        return short(value, kind)
    return f"{value:.6g} [{interval['lower']:.6g}, {interval['upper']:.6g}]"


def exit_if_violated(result: dict[str, Any]) -> None:
    """Exit code 3 where a bound lies below what it bounds."""
    found = result.get("certificate")
    if found is None or not found["violated"]:
        return
    worst = next(each for each in found["bounds"] if not each["holds"])
    fail(
        f"violated: {worst['theorem']}: the bound on the gap of the {worst['gap_of']} is "
        f"{worst['bound']:.6g}, and measured is {worst['gap']:.6g}",
        ExitCode.VIOLATION,
    )
