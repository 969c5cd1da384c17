"""Kill -9 at every step: the old file or the whole new one, and the next run gets there."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path

import dp_accounting
import pytest

from accountants import ExactAccountant, write_state
from accountants.ledger import write_ledger
from tests.fuzz.command_lines import HET
from tests.fuzz.kills import Job
from tests.fuzz.outcomes import check_whole, content_of, hidden_of
from tests.repo.project import ROOT

CLI = "dp2theory.cli.app:main"
SIZES = f"--problem {HET} --batch-size 200 --steps 8"
SPEC = f'problems = ["{HET}"]\nmethods = ["dp-sgd"]\nepsilons = [3]\nseeds = 3\nbatch_size = 200\n'
JOBS = {
    "state": Job(f"{__name__}:keep_state", (), sizes=(0, 1, 300)),
    "account": Job(
        CLI,
        tuple(
            "account --dataset-size 9 --batch-size 9 --steps 3 --noise-multiplier 2 --quiet"
            " --curve a.csv --plot a.png --report a.html".split()
        ),
        sizes=(0, 1, 1000, 20_000),
    ),
    "plan": Job(
        CLI,
        tuple(f"plan {SIZES} --epsilon 30 --quiet --out a.npz --report a.html".split()),
        sizes=(0, 1, 1000, 20_000),
    ),
    "train": Job(
        CLI,
        tuple(
            f"train {SIZES} --method dp-sgd --epsilon 3 --seeds 2 --quiet --out a.json"
            " --report a.html".split()
        ),
        sizes=(0, 1, 1000, 20_000),
    ),
    "sweep": Job(
        CLI,
        tuple(
            "sweep --spec a.toml --executor serial --quiet --store a.sqlite --out a.json"
            " --report a.html".split()
        ),
        sizes=(0, 1, 512, 1024, 4096, 5000, 8192, 9000, 12_288, 13_000, 16_384, 17_000, 20_480),
    ),
    "store": Job(
        CLI,
        tuple("sweep --spec a.toml --executor serial --quiet --store a.sqlite".split()),
        every=4,
        sizes=(512, 9000),
    ),
    "figure": Job(
        CLI,
        tuple(
            f"figure fig3 {SIZES} --epsilon 3 --delays 2,4 --seeds 1 --tune-seeds 1 --quiet"
            " --executor serial --store a.sqlite --out . --format png,svg".split()
        ),
        every=4,
        sizes=(0, 1, 1000, 4096, 9000, 20_000, 50_000),
    ),
    "verify": Job(
        CLI,
        tuple("verify dp2.noise.average --quiet --out a.json --report a.html".split()),
        sizes=(0, 1, 500, 1000, 20_000),
    ),
    "audit": Job(
        CLI,
        tuple(
            "audit --method dp-sgd --trials 100 --steps 1 --executor serial --quiet --out a.json"
            " --report a.html".split()
        ),
        sizes=(0, 1, 1000, 20_000),
    ),
    "resque": Job(
        CLI,
        tuple(
            "resque private --records 500 --dimension 2 --accuracy 0.5 --draws 8 --plan-only"
            " --quiet --out a.json --ledger b.json".split()
        ),
        sizes=(0, 1, 200, 1000),
    ),
    "theorems": Job(
        CLI, tuple("theorems dp2.A --quiet --plot a.svg".split()), sizes=(0, 1, 1000)
    ),
    "gallery": Job(
        "dp2theory.gallery:main",
        tuple("--only drift --quiet --executor serial --docs . --store a.sqlite".split()),
        sizes=(0, 1, 1000, 4096, 20_000),
    ),
}  # fmt: skip
LIGHT = ("state", "store")
#: Files that hold the time that was taken, or the day.
TIMED = {
    "verify": frozenset({"a.json", "a.html"}),
    "gallery": frozenset({"figures.md"}),
}
START = {"a.toml": SPEC + "steps = 5\n"} | {
    f"a.{ending}": "the old one" for ending in ("json", "html", "csv", "png", "npz", "svg")
}


def keep_state(_words):
    """An accountant's state and a ledger, as a run of one's own keeps them."""
    event = dp_accounting.GaussianDpEvent(2.0)
    write_state("a.json", ExactAccountant().compose(event, 3))
    write_ledger("b.json", event)


def rows(path):
    """All results of a store; none where its tables had not been made."""
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT * FROM sqlite_master").fetchall():
            return []
        return connection.execute(
            "SELECT key, code, task, result, digest FROM results ORDER BY key"
        ).fetchall()


def status_of(content):
    """The status of a JSON document of the command line; None for other files."""
    with suppress(ValueError):
        return json.loads(content).get("status")
    return None


def check_killed(folder: Path, name: str, *, timed: frozenset[str] = frozenset()) -> None:
    """Hold what a killed run left, and what the next one made of it, to the promises.

    Parameters
    ----------
    folder : Path
        As `tests.fuzz.kills` leaves it.
    name : str
        Of the kill.
    timed : frozenset of str
        Files that hold times: whole, but not the same bytes.
    """
    start, whole = content_of(folder / "start"), content_of(folder / "whole")
    killed, again = content_of(folder / f"killed-{name}"), content_of(folder / f"again-{name}")
    for place, files in (("killed", killed), ("again", again)):
        assert set(start) <= set(files), (name, place)
        for one, content in files.items():
            path = folder / f"{place}-{name}" / one
            if one in whole and content == start.get(one) and place == "killed":
                continue  # the old one
            if one in hidden_of(files):  # beside what it was to become
                stem = Path(one).name.rpartition("-")[0].removeprefix(".")
                assert stem in {Path(each).stem[:20] for each in whole}, (name, one)
            elif one.endswith(".sqlite"):
                held = rows(path)
                assert set(held) <= set(rows(folder / "whole" / one)), (name, one)
                assert place == "killed" or held == rows(folder / "whole" / one), (name, one)
            elif one.endswith("-journal"):
                assert place == "killed", (name, one)
            elif place == "killed" and status_of(content) == "interrupted":
                pass  # `train` writes after every run: whole, with the runs so far
            elif one in timed:
                check_whole(path)
            else:
                assert content == whole[one], (name, place, one)
    # The next run leaves none of its own.
    assert hidden_of(again) <= set(killed), name


@pytest.mark.parametrize(
    "name",
    [name if name in LIGHT else pytest.param(name, marks=pytest.mark.slow) for name in JOBS],
)
def test_killed_at_every_step(tmp_path, name):
    (tmp_path / "start").mkdir()
    for one, text in START.items():
        (tmp_path / "start" / one).write_text(text)
    outcomes = played(tmp_path, JOBS[name])
    assert len(outcomes) > 5
    for one in outcomes:
        assert one["signal"] in (signal.SIGKILL, signal.SIGXFSZ), one
        assert one["again"] == 0, one
        check_killed(tmp_path, one["name"], timed=TIMED.get(name, frozenset()))


def played(folder, job):
    """Kill a job at every step; see `tests.fuzz.kills`."""
    (folder / "job.json").write_text(json.dumps(asdict(job)))
    words = [sys.executable, "-m", "tests.fuzz.kills", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads((folder / "outcomes.json").read_text())
