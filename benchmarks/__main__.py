"""`python -m benchmarks [NAME …]`: every benchmark of this folder, each in a process of its own.

A benchmark is a module with `main() -> int`, run as `python -m benchmarks.NAME`; it exits 3 when a
bar is missed and 4 when a peer is not installed, so that a bar could not be run. This exits 0 when
all bars that were run are met (and says which were not run), 3 when one is missed, 1 when a
benchmark failed to run. One thread, so that ratios do not depend on the number of cores.
"""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FINE, FAILED, USAGE, MISSED, NOT_RUN = 0, 1, 2, 3, 4


def names() -> list[str]:
    """The benchmarks: the modules of this folder without a leading underscore."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def main(wanted: list[str]) -> int:
    """Run the wanted benchmarks (all when none is named) and return the exit code."""
    known = names()
    if unknown := [name for name in wanted if name not in known]:
        print(f"no benchmark {', '.join(unknown)}: there are {', '.join(known)}", file=sys.stderr)
        return USAGE
    outcomes: dict[str, int] = {}
    for name in wanted or known:
        print(f"== {name}", flush=True)
        outcomes[name] = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}"],
            cwd=FOLDER.parent,
            env={**os.environ, **ONE_THREAD},
        ).returncode
    print("==")
    words = {
        FINE: "fine",
        MISSED: "a bar is MISSED",
        NOT_RUN: "a bar was NOT RUN, its peer is not installed; the others are fine",
    }
    for name, code in outcomes.items():
        print(f"{name}: {words.get(code, f'FAILED (exit {code})')}")
    if not outcomes or any(code not in words for code in outcomes.values()):
        return FAILED
    return MISSED if MISSED in outcomes.values() else FINE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
