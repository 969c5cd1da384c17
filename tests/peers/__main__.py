"""Run the laws against the installed accountants of other packages; write docs/peers."""

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

from accountants.laws import adapters
from accountants.laws.check import DEFAULT_BUDGET, DEFAULT_EXAMPLES, check_accountant
from dp2theory.files import write_text
from tests.peers.lock import TARGET, differences, installed, locked
from tests.peers.page import page
from tests.repo.project import ROOT

FOLDER = ROOT / "docs" / "peers"
PACKAGES = 6  # those of the lock whose accountants are audited


def main(words: list[str] | None = None) -> int:
    """Audit, then write; 2 where this is not the locked environment or a name is unknown."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("names", nargs="*", help="accountants; with names no page is written")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-examples", type=int, default=DEFAULT_EXAMPLES)
    parser.add_argument("--json", type=Path, help="a file for the report, in place of docs/peers")
    parser.add_argument(
        "--cpu-budget", type=float, default=DEFAULT_BUDGET, help="for each, seconds"
    )
    options = parser.parse_args(words)
    if differences():
        print(f"not the locked environment ({TARGET} makes it):", *differences(), sep="\n  ")
        return 2
    names = options.names or [name for name in adapters.installed() if _is_peer(name)]
    try:
        candidates = [adapters.load(name) for name in names]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    report: dict[str, Any] = {
        "command": f"python -m tests.peers --seed {options.seed}",
        "seed": options.seed,
        "max_examples": options.max_examples,
        "cpu_budget": options.cpu_budget,
        "python": platform.python_version(),
        "versions": {name: installed(name) for name in list(locked())[:PACKAGES]},
        "audits": [],
    }
    for candidate in candidates:
        found = check_accountant(
            candidate,
            seed=options.seed,
            max_examples=options.max_examples,
            cpu_budget=options.cpu_budget,
        )
        report["audits"].append({**found.to_json(), "package": candidate.package})
        print(found.describe(), end="\n\n", flush=True)
    _write(report, options.json, whole=not options.names)
    return 0


def _is_peer(name: str) -> bool:
    return adapters.load(name).package != "dp2theory"


def _write(report: dict[str, Any], file: Path | None, *, whole: bool) -> None:
    text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if file is not None:
        write_text(file, text)
    elif whole:
        FOLDER.mkdir(exist_ok=True)
        write_text(FOLDER / "report.json", text)
        write_text(FOLDER / "README.md", page(report))


if __name__ == "__main__":
    raise SystemExit(main())
