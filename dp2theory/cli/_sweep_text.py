"""What `dp2theory sweep` prints for a person: a table for each setting."""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import Any

_HEADER = (
    "method", "settings", "noise", "epsilon of one run", "seeds", "mean loss",
    "to the first", "95 % interval", "diverged",
)  # fmt: skip


def print_sweep(result: Mapping[str, Any], *, quiet: bool, written: Sequence[Path | None]) -> None:
    """Print the tables; with `quiet` nothing else."""
    from dp2theory.report.tables import number, text_table

    for group in result["groups"]:
        print(_title(group))
        print(text_table(_HEADER, _rows(group), left=(0, 1)))
        if not quiet:
            for cell in group["cells"]:
                values = ", ".join(f"{name} {number(v, 6)}" for name, v in cell["settings"].items())
                print(f"  {cell['method']} with {values}")
        print()
    if quiet:
        return
    tuned = result["tuning_seeds"]
    print(
        f"{result['runs']} runs, {len(result['seeds'])} seeds"
        + (f", tuned on {len(tuned)} other seeds" if tuned else "")
    )
    for note in result["notes"]:
        print(f"note: {note}")
    for path in written:
        if path is not None:
            print(f"written: {path}")


def _title(group: Mapping[str, Any]) -> str:
    options = "".join(f", {name} {value}" for name, value in group["problem_options"].items())
    public = f", public share {group['public_share']:g}" if group["public_share"] else ""
    return (
        f"{group['problem']}{options}: {group['dataset_size']:,} records, dimension "
        f"{group['dimension']:,}{public}; {group['steps']:,} steps of batch {group['batch_size']}, "
        f"{group['sampling']}; ε <= {group['target_epsilon']:g} at δ = {group['delta']:.4g}, "
        f"{group['relation']}; unit of privacy: {group['unit']}"
    )


def _rows(group: Mapping[str, Any]) -> list[list[str]]:
    from dp2theory.report.tables import interval, number

    varied = _varied(group["cells"])
    rows = []
    for place, cell in enumerate(group["cells"]):
        ratio = cell["paired"] and cell["paired"]["ratio"]
        rows.append(
            [
                cell["method"],
                ", ".join(
                    f"{name} {number(value)}"
                    for name, value in cell["settings"].items()
                    if name in varied[cell["method"]]
                )
                or "–",
                f"{cell['noise_multiplier']:.4g}",
                _outward(cell["epsilon"]),
                str(len(cell["runs"])),
                number(cell["mean_train_loss"], 5),
                "1" if place == group["baseline"] else number(ratio and ratio["value"], 4),
                interval(ratio and ratio["interval"], 4),
                str(cell["diverged"]),
            ]
        )
    return rows


def _outward(bracket: Mapping[str, Any]) -> str:
    """Six digits of an ε, its lower end rounded down and its upper end up."""
    ends = []
    for end, rounding in ((bracket["lower"], ROUND_FLOOR), (bracket["upper"], ROUND_CEILING)):
        if not math.isfinite(float(end)):
            ends.append("inf")
            continue
        short = Context(prec=6, rounding=rounding).create_decimal(float(end))
        ends.append(f"{short.normalize():g}")
    return f"[{ends[0]}, {ends[1]}]"


def _varied(cells: Sequence[Mapping[str, Any]]) -> dict[str, set[str]]:
    """The settings to show: the delay, and those in which cells of one method differ."""
    shown: dict[str, set[str]] = {}
    for cell in cells:
        fellows = [one["settings"] for one in cells if one["method"] == cell["method"]]
        shown[cell["method"]] = {
            name
            for name in cell["settings"]
            if name == "delay" or any(one.get(name) != fellows[0].get(name) for one in fellows)
        }
    return shown
