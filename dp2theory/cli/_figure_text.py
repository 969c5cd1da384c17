"""What `dp2theory figure` prints for a person."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dp2theory.cli._output import describe_inputs
from dp2theory.digits import short

OUTCOMES = {True: "holds", False: "does not hold", None: "is not decided by these seeds"}
HEADER = ("", "train loss", "95% interval", "to the baseline", "ε of one run", "diverged")


def print_figure(
    result: Mapping[str, Any], inputs: Mapping[str, Any], paths: Mapping[str, Path], *, quiet: bool
) -> None:
    """Print the verdict, the methods' losses and where the files are; quietly, the verdict."""
    verdict = result["verdict"]
    if quiet:
        print(verdict["text"])
        return
    print(f"{result['figure']}, {result['title']}: {result['problem']['name']}")
    print(f"claim: {verdict['claim']}")
    print(f"here it {OUTCOMES[verdict['holds']]}: {verdict['text']}")
    arms = arms_of(result["data"])
    if arms:
        from dp2theory.report.tables import text_table

        print(text_table(HEADER, [_row(arm) for arm in arms]))
    print(f"privacy of {result['problem']['unit_of_privacy']}; for\n{describe_inputs(inputs)}")
    for note in result["notes"]:
        print(f"note: {note}")
    for path in paths.values():
        print(f"written: {path}")


def print_resque(
    result: Mapping[str, Any], inputs: Mapping[str, Any], paths: Mapping[str, Path], *, quiet: bool
) -> None:
    """The same for a figure on ReSQue: gate by gate, then its tables."""
    verdict = result["verdict"]
    if quiet:
        print(verdict["text"])
        return
    print(f"{result['figure']}, {result['title']}")
    print(f"claim: {verdict['claim']}")
    print(f"here it {OUTCOMES[verdict['holds']]}:")
    for gate in sorted(verdict["gates"], key=lambda gate: bool(gate["holds"])):  # failed ones first
        print(f"  [{'ok' if gate['holds'] else 'NO'}] {gate['name']}: {gate['text']}")
    from dp2theory.report.resque_tables import tables_of
    from dp2theory.report.tables import text_table

    for title, header, rows in tables_of(result):
        print(f"\n{title}")
        print(text_table(header, rows))
    print(f"\n{result['caption']}")
    print(f"for\n{describe_inputs(inputs)}")
    for note in result["notes"]:
        print(f"note: {note}")
    for path in paths.values():
        print(f"written: {path}")


def arms_of(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The methods of a figure in the order of its data, each with a ``label``."""
    if "arms" in data:
        return [arm | {"label": _knowing(arm)} for arm in data["arms"]]
    if "budgets" in data:
        return [
            arm | {"label": f"{_name(arm)}, budget ε = {one['target_epsilon']:g}"}
            for one in data["budgets"]
            for arm in one["arms"]
        ]
    if "dp_sgd" in data:
        dp_sgd = data["dp_sgd"]
        return [dp_sgd | {"label": _name(dp_sgd)}, *(one["arm"] for one in data["delays"])]
    return []


def _knowing(arm: Mapping[str, Any]) -> str:
    known = arm.get("side_information", "nothing")
    return _name(arm) if known.startswith("nothing") else f"{_name(arm)} ({known})"


def _name(arm: Mapping[str, Any]) -> str:
    """As the picture calls it: the method's name, unless the arm has a label of its own."""
    from dp2theory.report.plots import METHOD_NAMES

    label = str(arm["label"])
    return METHOD_NAMES.get(label, label)


def _row(arm: Mapping[str, Any]) -> tuple[str, ...]:
    mean, against, upper = arm["train_loss"], arm["against"], arm["epsilon"]["upper"]
    value, interval = mean["value"], mean["interval"]
    own = against is None or against["difference"]["mean"] == 0  # the baseline beside itself
    return (
        str(arm["label"]),
        value if isinstance(value, str) else f"{value:.4f}",
        "–" if interval is None else f"[{interval['lower']:.4f}, {interval['upper']:.4f}]",
        "baseline" if own else f"{100 * (against['ratio']['value'] - 1):+.1f} %",
        upper if isinstance(upper, str) else f"≤ {short(upper, 'upper', 4)}",
        str(arm["diverged"]),
    )
