"""Commands and writers that break one promise each, for the tests of the fuzz."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Steps = Annotated[int, typer.Option(help="Number of steps.")]
Out = Annotated[Path | None, typer.Option(help="A file.")]
Flag = Annotated[bool, typer.Option("--flag")]


def fine(steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False) -> None:
    """Break nothing."""
    if steps < 1:
        raise ValueError(f"--steps {steps}: must be at least 1")
    print(steps)


def talks(steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False) -> None:
    """Print on stdout before it fails."""
    print("epsilon:")
    fine(steps)


def two_lines(steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False) -> None:
    """Say more than one line on stderr."""
    if steps < 1:
        print("warning: something is wrong", file=sys.stderr)
    fine(steps)


def crashes(steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False) -> None:
    """Raise what it should have caught."""
    print({1: "one"}[min(steps, 1)])


def ends_otherwise(steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False) -> None:
    """End with a code that is not documented."""
    sys.exit(7 if steps < 1 else 0)


def begins_a_file(steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False) -> None:
    """Leave a file that it began when it fails."""
    Path("begun.json").write_text('{"steps": ')
    fine(steps)
    Path("begun.json").unlink()


def empties_a_file(steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False) -> None:
    """Empty the old file before it fails."""
    Path("old.json").write_text("")
    fine(steps)
    Path("old.json").write_text("{}\n")


def half_a_file(steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False) -> None:
    """Succeed with half a file."""
    fine(steps)
    Path("half.json").write_text('{"steps": ')


def leaves_a_temporary(
    steps: Steps = 1, more: Steps = 1, out: Out = None, flag: Flag = False
) -> None:
    """Leave its temporary file."""
    fine(steps)
    Path(".out-x7.json").write_text("{}")


def writes_in_place(_words: list[str]) -> None:
    """Fill the file under its own name."""
    with Path("a.json").open("w") as stream:
        stream.write('{"steps": ')
        stream.flush()
        Path("b.json").write_text("{}")
        stream.write("3}")


def stumbles_over_temporaries(_words: list[str]) -> int:
    """Refuse to run where another run left its temporary file."""
    temporary = Path(".a-x7.json")
    if temporary.exists():
        return 2
    temporary.write_text("{}")
    temporary.replace("a.json")
    return 0


def whole(_words: list[str]) -> None:
    """Break nothing."""
    temporary = Path(".a-x7.json")
    temporary.write_text('{"steps": 3}')
    temporary.replace("a.json")
