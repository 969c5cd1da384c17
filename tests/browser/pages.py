"""The reports, each made by its command in a few seconds, with the JSON of the same run."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SPEC = """
problems = "het:n=200,d=12,amin=0.1,avg=4,seed=1"
methods = ["dp-sgd", "dp2-rmsprop"]
epsilons = 3.0
delays = [2, 5]
seeds = 3
batch_size = 20
steps = 60
record_every = 5
"""
COMMANDS = {
    "plan": "plan --problem hetM --batch-size 1024 --epochs 4 --epsilon 2.8",
    "account": "account --noise-multiplier 1 --dataset-size 60000 --batch-size 600 --epochs 3"
    " --sampling without-replacement --accountant all",
    "verify": "verify dp2.master dp2.W resque.E1 --quick",
    "audit": "audit --method dp2-rmsprop --trials 1000 --steps 2 --executor serial",
    "sweep": "sweep --spec spec.toml --executor serial",
    "snapshot": "plan --method snapshot --problem hetM --batch-size 1024 --epochs 4 --epsilon 2.8",
    "remaining": "account --noise-multiplier 1 --dataset-size 60000 --batch-size 600 --remaining 2",
    "violated": "audit --method dp-sgd --trials 2000 --steps 2 --claimed-epsilon 0.1"
    " --executor serial",
    "train": "train --problem huber --batch-size 50 --epochs 5 --epsilon 3 --method dp-sgd"
    " --certify --seeds 2",
}
#: 3: a check found something, and the page says so.
FINE = (0, 3)


@dataclass(frozen=True)
class Report:
    """A page and the JSON output that the same call printed."""

    name: str
    page: Path
    document: dict[str, Any]


def made_reports(folder: Path) -> Iterator[Report]:
    """Make the reports one by one.

    Raises
    ------
    RuntimeError
        If a command fails.
    """
    (folder / "spec.toml").write_text(SPEC)
    for name, words in COMMANDS.items():
        page = f"{name}.html"
        done = subprocess.run(
            [sys.executable, "-m", "dp2theory", *words.split(), "--json", "--report", page],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in FINE:
            raise RuntimeError(f"dp2theory {words}: {done.stderr.strip()}")
        yield Report(name, folder / page, json.loads(done.stdout))
