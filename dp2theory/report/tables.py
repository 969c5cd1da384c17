"""Tables, as text for a terminal and as HTML for a page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from dp2theory.digits import short


class Markup(str):
    """HTML that stands in a table as it is: whoever made it escaped what it holds."""

    __slots__ = ()


def escaped(text: str) -> str:
    """`text` for a page: escaped, unless it is `Markup`."""
    return text if isinstance(text, Markup) else html.escape(text)


def number(value: Any, digits: int = 4) -> str:
    """A short form for people; exact values are in the JSON output."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return f"{value:.{digits}g}"


def interval(bracket: Mapping[str, Any] | None, digits: int = 4) -> str:
    """``[lower, upper]``; a dash where there is none."""
    if bracket is None:
        return "–"
    return f"[{number(bracket['lower'], digits)}, {number(bracket['upper'], digits)}]"


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> str:
    """Columns in line: those in ``left`` to the left, the others to the right."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        aligned = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(aligned).rstrip()

    return "\n".join(
        [line(cells[0]), line(["-" * width for width in widths]), *map(line, cells[1:])]
    )


def html_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str | None = None
) -> str:
    """A table element; every cell is escaped, but for `Markup`."""
    parts = ["<div class='scroll' tabindex='0'><table>"]
    if caption is not None:
        parts.append(f"<caption>{html.escape(caption)}</caption>")
    head = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in header)
    parts.append(f"<thead><tr>{head}</tr></thead><tbody>")
    for row in rows:
        first = f"<th scope='row'>{escaped(row[0])}</th>"
        rest = "".join(f"<td>{escaped(entry)}</td>" for entry in row[1:])
        parts.append(f"<tr>{first}{rest}</tr>")
    parts.append("</tbody></table></div>")
    return "".join(parts)


def snr_rows(plan: Mapping[str, Any]) -> list[list[str]]:
    """Rows of the signal-to-noise table of a plan."""
    return [
        [
            number(block["length"]),
            number(block["blocks"]),
            number(block["signal"], 3),
            number(block["noise"], 3),
            number(block["value"], 3),
            number(block["drift"], 3),
        ]
        for block in plan["snr"]["blocks"]
    ]


#: Of the table of block means.
SNR_HEADER = (
    "block length m [steps]",
    "blocks",
    "signal S(m)",
    "noise N(m)",
    "S / N",
    "drift",
)


def run_rows(arms: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[list[str]]:
    """Rows method, seeds, mean final train loss, other mean figures."""
    rows = []
    for arm in arms:
        others = {
            name: value
            for name, value in (arm["mean_metrics"] or {}).items()
            if name != "train_loss"
        }
        rows.append(
            [
                str(arm.get("label") or names.get(arm["method"], arm["method"])),
                number(sum(1 for run in arm["runs"] if run["completed"])),
                number(arm["mean_train_loss"]),
                ", ".join(
                    f"{name.replace('_', ' ')} {number(value)}" for name, value in others.items()
                )
                or "–",
            ]
        )
    return rows


#: Of the table of runs.
RUN_HEADER = ("method", "seeds", "mean final train loss", "other means")


def setting_rows(arms: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[list[str]]:
    """Rows method, noise multiplier, epsilon of one run, releases, the other settings."""
    return [
        [
            str(arm.get("label") or names.get(arm["method"], arm["method"])),
            short(arm["settings"].get("noise_multiplier"), "chosen"),
            f"≤ {short(arm['epsilon']['upper'], 'upper')}",
            number(arm["releases"]),
            _settings(
                {
                    name: value
                    for name, value in (arm["settings"] | _delay(arm)).items()
                    if name not in ("method", "noise_multiplier")
                }
            ),
        ]
        for arm in arms
    ]


def _delay(arm: Mapping[str, Any]) -> dict[str, int]:
    """The delay that all runs of an arm had; each may have one of its own, by its pilot."""
    delays = {run.get("delay") for run in arm["runs"]}
    return {"delay": delays.pop()} if len(delays) == 1 and None not in delays else {}


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} "
        + (f"({_settings(value)})" if isinstance(value, Mapping) else number(value, 6))
        for name, value in values.items()
    )


#: Of the table of settings.
SETTING_HEADER = ("method", "σ [clip norms]", "ε of one run", "releases", "settings")


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar in a cell that is no escape yet becomes one."""
    cells = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_markdown_cell, line)) + " |" for line in cells)


def _markdown_cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


#: How constants of a certified bound are known, in words.
CERTIFIED_KINDS = {"a-priori": "a priori", "estimate": "estimate from the pilot"}
#: What bounds its gradient term, in words.
CERTIFIED_BRANCHES = {
    "staleness": "staleness",
    "gradient-bound": "C²/damping",
    "clip": "C C₂",
}


def certified_header(plan: Mapping[str, Any]) -> list[str]:
    """Header of the table of certified values: a column per answer."""
    answers = plan["certified"]["answers"]
    return [
        "worst-case bound on E F(w) - F*",
        *(CERTIFIED_KINDS[each["kind"]] for each in answers),
        "theorem",
    ]


def certified_rows(plan: Mapping[str, Any]) -> list[list[str]]:
    """Rows of the table of certified values, with the theorem behind each."""
    answers = plan["certified"]["answers"]
    if not answers:
        return []
    theorems = answers[0]["theorems"]

    def row(label: str, show: Callable[[Mapping[str, Any]], str], theorem: str) -> list[str]:
        return [label, *(show(each) for each in answers), theorem]

    def upper(name: str) -> Callable[[Mapping[str, Any]], str]:
        return lambda each: short(each[name], "upper", 4)

    def flat(answer: Mapping[str, Any]) -> str:
        ends = answer["flat_range"]
        return f"{number(ends['shortest'])} to {number(ends['longest'])}"

    def phi(answer: Mapping[str, Any]) -> str:
        return str(answer["phi"]["message"] or f"s = {number(answer['phi']['delay'])}")

    delay = answers[0]["schedule"]["delay"]
    return [
        row("delay s* [steps]", lambda each: number(each["delay"]), theorems["shape"]),
        row("bound at s* [R C]", upper("value"), theorems["value"]),
        row("delays within 5 % of it [steps]", flat, theorems["value"]),
        row("least gradient term", lambda each: CERTIFIED_BRANCHES[each["active_branch"]],
            ", ".join(dict.fromkeys(each["theorems"]["active_branch"] for each in answers))),
        row("bound at the advised delay [R C]", upper("at_recommended_delay"),
            theorems["value"]),
        row("bound of DP-SGD [R C]", upper("dp_sgd"), theorems["dp_sgd"]),
        row("DP-SGD given the same knowledge [R C]",
            upper("dp_sgd_with_same_knowledge"), theorems["same_knowledge"]),
        row("trivial bound, sqrt(d) [R C]", upper("trivial"), "–"),
        row("above the trivial bound (vacuous)",
            lambda each: "yes" if each["vacuous"] else "no", "–"),
        row("minimiser of the paper's φ", phi, theorems["phi"]),
        row(f"log10 of the paper's factor at s = {delay}",
            lambda each: number(each["schedule"]["log10_factor"], 3), theorems["schedule"]),
    ]  # fmt: skip
