"""How fast the command line answers `--help`: CPU time of a whole process, import included.

The bar is on `dp2theory --help`; each command's own `--help` is shown beside it, and `python -c
pass`, which is what Python itself takes. The median of several processes, one thread.

Run as ``python -m benchmarks.command_line``; exits 3 when the bar is missed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from dp2theory.cli.app import COMMANDS

BAR = 0.5
ROUNDS = 5
MISSED = 3


def seconds(*words: str) -> float:
    """Median CPU seconds of Python processes, user and system."""
    found = []
    for _ in range(ROUNDS):
        before = os.times()
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        found.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    return statistics.median(found)


def main() -> int:
    """Print the table; 3 when the bar is missed, else 0."""
    print("| what | CPU | bar | |")
    print("|---|---|---|---|")
    print(f"| python -c pass | {seconds('-c', 'pass'):.2f} s | | |")
    mine = seconds("-m", "dp2theory", "--help")
    verdict = "MISSED" if mine > BAR else ""
    print(f"| dp2theory --help | {mine:.2f} s | <= {BAR:g} s | {verdict} |", flush=True)
    for name in COMMANDS:
        took = seconds("-m", "dp2theory", name, "--help")
        print(f"| dp2theory {name} --help | {took:.2f} s | | |", flush=True)
    return MISSED if mine > BAR else 0


if __name__ == "__main__":
    sys.exit(main())
