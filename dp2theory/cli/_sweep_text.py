"""What `dp2theory sweep` prints for a person: a table for each setting."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def print_sweep(result: Mapping[str, Any], *, quiet: bool, written: Sequence[Path | None]) -> None:
    """Print the tables; with `quiet` nothing else."""
    from dp2theory.report import sweep_tables
    from dp2theory.report.tables import number, text_table

    for group in result["groups"]:
        print(sweep_tables.title(group))
        print(text_table(sweep_tables.HEADER, sweep_tables.rows(group), left=(0, 1)))
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
