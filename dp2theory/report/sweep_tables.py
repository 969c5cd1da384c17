"""Words and rows of a sweep, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dp2theory.digits import short, within
from dp2theory.report.tables import interval, number

#: One method's runs at one setting, as the command's JSON has them.
Group = Mapping[str, Any]

#: Of the table of a sweep.
HEADER = (
    "method", "settings", "noise", "epsilon of one run", "seeds", "mean loss",
    "to the first", "95 % interval", "diverged",
)  # fmt: skip


def title(group: Group) -> str:
    """What the cells of a group have in common, in one line."""
    options = "".join(f", {name} {value}" for name, value in group["problem_options"].items())
    public = f", public share {group['public_share']:g}" if group["public_share"] else ""
    return (
        f"{group['problem']}{options}: {group['dataset_size']:,} records, dimension "
        f"{group['dimension']:,}{public}; {group['steps']:,} steps of batch {group['batch_size']}, "
        f"{group['sampling']}; ε <= {group['target_epsilon']:g} at δ = {group['delta']:.4g}, "
        f"{group['relation']}; unit of privacy: {group['unit']}"
    )


def rows(group: Group) -> list[list[str]]:
    """Rows for `HEADER`."""
    shown = settings_shown(group["cells"])
    made = []
    for place, (cell, settings) in enumerate(zip(group["cells"], shown, strict=True)):
        ratio = cell["paired"] and cell["paired"]["ratio"]
        made.append(
            [
                cell["method"],
                settings or "–",
                short(cell["noise_multiplier"], "chosen", 4),
                within(cell["epsilon"]),
                str(len(cell["runs"])),
                number(cell["mean_train_loss"], 5),
                "1" if place == group["baseline"] else number(ratio and ratio["value"], 4),
                interval(ratio and ratio["interval"], 4),
                str(cell["diverged"]),
            ]
        )
    return made


def settings_shown(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each cell the settings to show: the delay, and where cells of one method differ."""
    made = []
    for cell in cells:
        fellows = [one["settings"] for one in cells if one["method"] == cell["method"]]
        made.append(
            ", ".join(
                f"{name} {number(value)}"
                for name, value in cell["settings"].items()
                if name == "delay" or any(one.get(name) != fellows[0].get(name) for one in fellows)
            )
        )
    return made
