"""The study: do the claims about DP² hold, on seeds that nobody picked?

`python -m dp2theory.experiments.study` tunes every method by its fixed grid, runs it on other
seeds, holds the figures against bars that were written down before, and writes FOLDER/study.md and
FOLDER/study.json (FOLDER is `docs` by default). It exits 3 when a claim does not hold.

Seeds are read off the sha256 of the version; `--seeds-from TEXT` takes another text. `--only
CHECK` runs one claim. With `--store FILE` every run is kept as soon as it is made, so that a study
that was killed goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.experiments.executors import one_thread, open_executor

if TYPE_CHECKING:
    from dp2theory.experiments.study_checks import Check
    from dp2theory.experiments.study_losses import Measured
    from dp2theory.experiments.study_runs import Bench
    from dp2theory.experiments.study_scenes import Scene

#: Exit codes; MISSED says that a claim does not hold.
FINE, MISSED, USAGE = 0, 3, 2


@dataclass(frozen=True)
class Study:
    """Everything that was measured and judged.

    Attributes
    ----------
    measured : tuple of Measured
        By problem.
    checks : tuple of Check
        By problem, in the order of `study_scenes.CHECKS`; means over problems last.
    """

    measured: tuple[Measured, ...]
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every claim that was checked holds, and at least one was."""
        return bool(self.checks) and all(check.passed for check in self.checks)


def run_study(scenes: Sequence[Scene], names: Sequence[str], bench: Bench) -> Study:
    """Measure the scenes and judge the named claims.

    Parameters
    ----------
    scenes : sequence of Scene
    names : sequence of str
        Claims; a scene without any of them is not run.
    bench : Bench

    Returns
    -------
    Study
    """
    from dp2theory.experiments.study_runs import measure

    measured, checks = [], []
    for scene in scenes:
        wanted = [name for name in names if name in scene.checks]
        if not wanted:
            continue
        found = measure(scene, wanted, bench)
        measured.append(found)
        checks += judge(scene, found, wanted)
    return Study(tuple(measured), (*checks, *overall(checks)))


def judge(scene: Scene, measured: Measured, names: Sequence[str]) -> list[Check]:
    """The verdicts on one problem."""
    from dp2theory.experiments import study_checks as claims

    one_problem: dict[str, Callable[[Measured], Check]] = {
        "dp-sgd": claims.against_dp_sgd,
        "dp-rmsprop": claims.against_dp_rmsprop,
        "sweet-spot": claims.sweet_spot,
        "real-data": claims.real_data,
        "snapshot": claims.snapshot,
        "noise-first": claims.noise_first,
        "extra-noise": claims.extra_noise,
        "regret": claims.regret,
        "delay-ratio": lambda found: claims.delay_ratio(found.problem, found.predictions),
        "privacy": lambda found: claims.privacy(found, scene.setting.target_epsilon),
    }
    return [one_problem[name](measured) for name in names]


def overall(checks: Sequence[Check]) -> list[Check]:
    """Verdicts on means over problems."""
    from dp2theory.experiments.study_checks import mean_regret

    regrets = [check for check in checks if check.name == "regret"]
    return [mean_regret(regrets)] if regrets else []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study as the command line says and return the exit code."""
    one_thread()  # before NumPy is loaded
    options = _options(arguments)
    from dp2theory.experiments.store import Store
    from dp2theory.experiments.study_page import write_study
    from dp2theory.experiments.study_runs import Bench
    from dp2theory.experiments.study_scenes import check_names, scenes

    started, cpu = time.time(), time.process_time()
    try:
        names = check_names(options.only)
        with ExitStack() as stack:
            store = None if options.store is None else stack.enter_context(Store(options.store))
            kept = 0 if store is None else len(store)
            executor = stack.enter_context(open_executor(options.executor))
            bench = Bench(options.seeds_from, executor, store, StageProgress())
            study = run_study(scenes(options.seeds_from), names, bench)
    except ValueError as error:
        print(f"study: {error}", file=sys.stderr)
        return USAGE
    effort = {
        "wall_seconds": round(time.time() - started),
        "cpu_seconds": round(time.process_time() - cpu + _children()),
        "runs_found_in_the_store": kept,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    write_study(options.out, study, bench, effort, names)
    for check in study.checks:
        print(f"{check.verdict:20} {check.name:12} {check.problem:16} {check.measured:.4f}")
    return FINE if study.passed else MISSED


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        prog="python -m dp2theory.experiments.study",
        description="The claims about DP², measured on seeds that nobody picked. Exits with 3 when "
        "one is missed. With --store a study that was stopped goes on.",
    )
    parser.add_argument("--seeds-from", metavar="TEXT", help="text that seeds are derived from")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CHECK",
        help="one claim; repeatable (an unknown one lists all)",
    )
    parser.add_argument("--store", type=Path, metavar="FILE", help="keeps every run; resumes")
    parser.add_argument("--executor", help="serial, process[:N] (default) or dask:ADDRESS")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("docs"),
        metavar="FOLDER",
        help="of study.md and study.json",
    )
    return parser.parse_args(arguments)


def _children() -> float:
    """CPU seconds of worker processes that have ended."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class StageProgress:
    """A line on stderr for every stage, with what is done of it."""

    def __init__(self) -> None:
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage or done == total:
            print(f"{time.strftime('%H:%M:%S')} {stage}: {done}/{total}", file=sys.stderr)
        self._stage = stage


if __name__ == "__main__":
    sys.exit(main())
