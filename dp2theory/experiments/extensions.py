"""What goes beyond the paper, on every problem: reported, whatever comes out.

`python -m dp2theory.experiments.extensions` runs the private geometry snapshot and the
preconditioner that knows its own noise beside DP-SGD, DP-RMSProp, DP²-RMSProp and AdaDPS with
public statistics, each tuned by its grid, at equal total privacy and on the same records (a
hundredth of which is public), and writes FOLDER/extensions.md and FOLDER/extensions.json. Nothing
is claimed beforehand, so there are no bars.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.digits import short
from dp2theory.experiments.executors import one_thread, open_executor

if TYPE_CHECKING:
    from dp2theory.experiments.study_losses import Measured
    from dp2theory.experiments.study_runs import Bench

#: On which methods beyond the paper are measured.
PROBLEMS = (
    "het", "hetA", "hetB", "hetC", "hetD", "hetM", "syn", "text", "movielens-small", "tags",
)  # fmt: skip
#: Methods beside DP-SGD; those with a delay at T // 40.
METHODS = (
    "dp-rmsprop",
    "dp2-rmsprop",
    "adadps-statistics",
    "snapshot",
    "dp-rmsprop-noise-aware",
    "dp2-rmsprop-noise-aware",
)
#: Share of the records that is public, for AdaDPS.
PUBLIC_SHARE = 0.01
#: Seeds on which each method is tuned.
TUNING_SEEDS = 2
#: Other seeds, which are shown.
EVALUATIONS = 8
#: Exit codes.
FINE, USAGE = 0, 2


def measure(problem: str, methods: Sequence[str], bench: Bench) -> tuple[Measured, dict[str, str]]:
    """Tune and run the methods on one problem.

    Parameters
    ----------
    problem : str
        A key of `dp2theory.experiments.settings.SETTINGS`.
    methods : sequence of str
    bench : Bench

    Returns
    -------
    Measured
    dict
        Methods that cannot run on the problem, with the reason.
    """
    from dp2theory.experiments.settings import SETTINGS
    from dp2theory.experiments.study_losses import Measured
    from dp2theory.experiments.study_runs import evaluated, tune
    from dp2theory.experiments.study_scenes import Scene

    if problem not in tuple(SETTINGS):
        raise ValueError(f"problem={problem!r} must be one of {', '.join(SETTINGS)}")
    setting = replace(SETTINGS[problem], public_share=PUBLIC_SHARE)
    scene = Scene(problem, setting, (), evaluations=EVALUATIONS)
    base = tune(scene, bench, "dp-sgd", None)
    arms, refused = {"dp-sgd": evaluated(scene, bench, base)}, {}
    for method in methods:
        try:
            arms[method] = evaluated(scene, bench, tune(scene, bench, method, base))
        except (ValueError, ArithmeticError) as error:
            refused[method] = " ".join(str(error).split())
    return Measured(problem, arms), refused


def page(found: Sequence[tuple[Measured, Mapping[str, str]]], statement: str) -> str:
    """The table in Markdown: ratios of train losses to DP-SGD's, with intervals."""
    lines = [
        "# Beyond the paper: snapshot and noise-aware preconditioner\n",
        "Written by `make extensions`. Train loss over DP-SGD's at equal total privacy, mean over "
        f"{EVALUATIONS} seeds with 95 % intervals of paired ratios; below 1 is better. All methods "
        f"run on the same records: a share of {PUBLIC_SHARE:g} is public, of which only AdaDPS "
        f"makes use. Each is tuned by its grid on {TUNING_SEEDS} other seeds; DP² at the default "
        f"delay T/40. {statement}\n",
        "| problem | ε | DP-SGD's loss | " + " | ".join(METHODS) + " |",
        "|" + " --- |" * (3 + len(METHODS)),
    ]
    for one, refused in found:
        base = one.arms["dp-sgd"]
        cells = [one.problem, short(base.epsilon.upper, "upper", 3), f"{base.mean:.4f}"]
        cells += [_cell(one, refused, method) for method in METHODS]
        lines.append("| " + " | ".join(cells) + " |")
    notes = [
        f"- {one.problem}: {method} did not run: {reason}"
        for one, refused in found
        for method, reason in refused.items()
    ]
    return "\n".join([*lines, "", *notes]).rstrip() + "\n"


def _cell(one: Measured, refused: Mapping[str, str], method: str) -> str:
    if method not in one.arms:
        return "did not run" if method in refused else ""
    arm = one.arms[method]
    if not all(map(math.isfinite, arm.losses)):
        return "a run diverged"
    pairs = arm.over(one.arms["dp-sgd"])
    interval = pairs.ratio_interval
    ends = "" if interval is None else f" [{interval.lower:.3f}, {interval.upper:.3f}]"
    return f"{pairs.ratio:.3f}{ends}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison as the command line says and return the exit code."""
    one_thread()  # before NumPy is loaded
    options = _options(arguments)
    from dp2theory.experiments.store import Store
    from dp2theory.experiments.study import StageProgress
    from dp2theory.experiments.study_runs import Bench
    from dp2theory.files import write_json, write_text
    from dp2theory.optimizers.tuning import NOT_ACCOUNTED

    found = []
    try:
        for name in options.only:
            if name not in PROBLEMS:
                raise ValueError(f"problem={name!r} must be one of {', '.join(PROBLEMS)}")
        with ExitStack() as stack:
            store = None if options.store is None else stack.enter_context(Store(options.store))
            executor = stack.enter_context(open_executor(options.executor))
            bench = Bench(options.seeds_from, executor, store, StageProgress(), TUNING_SEEDS)
            for problem in options.only or PROBLEMS:
                found.append(measure(problem, METHODS, bench))
    except ValueError as error:
        sys.stderr.write(f"extensions: {error}\n")
        return USAGE
    document = {
        "format": 1,
        "statement": NOT_ACCOUNTED,
        "public_share": PUBLIC_SHARE,
        "problems": [one.to_json() | {"refused": refused} for one, refused in found],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    write_json(options.out / "extensions.json", document)
    text = page(found, NOT_ACCOUNTED)
    write_text(options.out / "extensions.md", text)
    sys.stdout.write(text)
    return FINE


def _options(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(prog="python -m dp2theory.experiments.extensions")
    parser.add_argument("--seeds-from", metavar="TEXT", help="text that seeds are derived from")
    parser.add_argument("--only", action="append", default=[], metavar="PROBLEM")
    parser.add_argument("--store", type=Path, metavar="FILE", help="keeps every run; resumes")
    parser.add_argument("--executor", help="serial, process[:N] (default) or dask:ADDRESS")
    parser.add_argument("--out", type=Path, default=Path("docs"), metavar="FOLDER")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
