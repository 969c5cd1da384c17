"""The figures of both papers: ``python -m dp2theory.gallery`` (``make figures``).

Every picture is what ``dp2theory figure NAME [--problem PROBLEM]`` draws with its defaults. They go
to ``docs/figures``, data beside pictures, and ``docs/figures.md`` shows them with their verdicts.
Runs are kept in a store and shared between figures; a gallery that was stopped goes on from there.
With ``--only`` the others stay as they are: their sections are written again from their data.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.cli._figure_text import OUTCOMES

if TYPE_CHECKING:
    from dp2theory.cli._figure_request import Request

#: Figure and problem, in reading order; the figures on ReSQue are on none.
GALLERY: tuple[tuple[str, str | None], ...] = (
    ("fig1", "hetA"),
    ("fig2", "hetA"),
    ("fig3", "hetA"),
    ("fig3", "text"),
    ("fig4", "hetA"),
    ("fig4", "text"),
    ("fig5", "het"),
    ("fig6", "hetA"),
    ("fig7", "hetA"),
    ("table1", "hetA"),
    ("resque-fig1", None),
    ("resque-table1", None),
    ("resque-table2", None),
    ("ball-slope", None),
    ("drift", None),
)
#: Where runs are kept.
STORE = Path(".figures.db")
#: How the page begins.
HEAD = """# Figures

`make figures` draws all of these and writes this page; a single one comes from the command under
it. Data lie beside the pictures as JSON. Whether a claim holds is computed from the data shown and
not chosen: some claims do not hold here.
"""
#: Whether figures are on a problem -> heading, introduction, and the words of their CPU time.
PARTS: dict[bool, tuple[str, str, str]] = {
    True: (
        "## The DP² paper on our problems",
        "Whether the paper's claim holds on a problem is computed from runs, with intervals over "
        "seeds.\n",
        "The figures of the DP² paper took",
    ),
    False: (
        "## ReSQue",
        "Rates are evaluations of the theorems of `bounds`; runs are those of `dp2theory.resque`. "
        "What is recalled and not read in the paper is marked so.\n",
        "The figures on ReSQue took",
    ),
}


@dataclass(frozen=True)
class Picture:
    """One drawn figure.

    Attributes
    ----------
    document : dict
        What ``dp2theory figure --json`` prints.
    """

    document: dict[str, Any]

    @property
    def problem(self) -> dict[str, Any] | None:
        """The problem it is on; None for a figure on ReSQue."""
        problem: dict[str, Any] | None = self.document["result"].get("problem")
        return problem

    @property
    def command(self) -> str:
        """The command that draws it."""
        command = f"dp2theory figure {self.document['result']['figure']}"
        return command if self.problem is None else f"{command} --problem {self.problem['name']}"

    def section(self) -> str:
        """Its part of the page."""
        result, problem = self.document["result"], self.problem
        verdict, files = result["verdict"], result["files"]
        where = "" if problem is None else f", {problem['name']}"
        name = f"{result['figure']}{where}: {result['title']}"
        return "\n".join(
            [
                f"### {name}",
                "",
                f"> {verdict['claim']}",
                "",
                *_outcome(verdict),
                "",
                f"![{name}](figures/{files['png']})",
                "",
                *([] if problem is not None else [result["caption"], ""]),
                f"`{self.command}`, data in [{files['json']}](figures/{files['json']})"
                f"{_made_with(result)}.",
                "",
            ]
        )


def _outcome(verdict: dict[str, Any]) -> list[str]:
    """Whether the claim holds, with the figures behind it; gate by gate where there are gates."""
    told = f"**Here it {OUTCOMES[verdict['holds']]}.**"
    if "gates" not in verdict:
        return [f"{told} {verdict['text']}"]
    gates = sorted(verdict["gates"], key=lambda gate: bool(gate["holds"]))  # failed ones first
    lines = [f"- {'' if g['holds'] else '**NOT** '}{g['name']}: {g['text']}" for g in gates]
    return [told, "", *lines]


def _made_with(result: dict[str, Any]) -> str:
    """Sizes, privacy and seeds."""
    seeds, problem = len(result["seeds"]["evaluation"]), result.get("problem")
    if problem is None:
        return f"; {seeds} seed{'s' if seeds > 1 else ''}" if seeds else "; nothing is random"
    tuning = len(result["seeds"]["tuning"])
    return (
        f"; n = {problem['dataset_size']:,}, T = {problem['steps']:,} steps, "
        f"δ = {problem['delta']:.3g} ({problem['relation']}), privacy of "
        f"{problem['unit_of_privacy']}; {seeds} seeds, "
        f"{f'tuned on {tuning} others' if tuning else 'untuned'}"
    )


def page(pictures: Sequence[Picture], minutes: Mapping[bool, str]) -> str:
    """The page that shows them.

    Parameters
    ----------
    pictures : sequence of Picture
    minutes : mapping
        Whether figures are on a problem -> the CPU minutes that they took, where known.
    """
    sections = [HEAD]
    for on_problem, (title, words, took) in PARTS.items():
        shown = [one.section() for one in pictures if (one.problem is not None) == on_problem]
        if not shown:
            continue
        sections += [title + "\n", words, *shown]
        if on_problem in minutes:
            sections.append(f"{took} {minutes[on_problem]} CPU minutes.\n")
    return "\n".join(sections)


def minutes_on(text: str) -> dict[bool, str]:
    """The CPU minutes that a page tells of."""
    found = {part: re.search(rf"{took} ([0-9.]+) CPU", text) for part, (*_, took) in PARTS.items()}
    return {part: match[1] for part, match in found.items() if match}


def draw_one(
    figure: str, problem: str | None, folder: Path, asked_changes: dict[str, Any]
) -> Picture:
    """Compute, draw and write one figure, as the command does with its defaults.

    Parameters
    ----------
    figure : str
    problem : str or None
        None for the figures on ReSQue.
    folder : Path
        Where data and picture go.
    asked_changes : dict
        Fields of the request: executor, store, progress.
    """
    from dp2theory.cli._figure_request import default_request
    from dp2theory.cli._output import envelope
    from dp2theory.report.figures import paths_of, write_figure

    request = default_request(figure, problem)
    inputs, result = (_of_resque if problem is None else _of_dp2)(request, asked_changes)
    paths = paths_of(folder, figure, problem, ("png",))
    result |= {"files": {ending: path.name for ending, path in paths.items()}}
    document = envelope("figure", inputs, result)
    write_figure(document, paths)
    return Picture(document)


def _of_dp2(request: Request, changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    from dp2theory.cli import _figuring
    from dp2theory.cli._figure_request import with_defaults

    whole = with_defaults(request)
    setting = _figuring.resolve(whole, None)
    asked = replace(_figuring.asked_for(whole, setting, None), **changes)
    return _figuring.inputs_of(whole, setting), _figuring.result_of(request.name, asked)


def _of_resque(request: Request, changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    from dp2theory.cli import _figuring_resque

    asked = _figuring_resque.asked_for(request)
    changed = replace(asked, executor=changes["executor"], progress=changes["progress"])
    inputs = _figuring_resque.inputs_of(request, asked)
    return inputs, _figuring_resque.result_of(request.name, changed)


def kept(figure: str, problem: str | None, folder: Path) -> Picture | None:
    """A figure as it was drawn before; None if it was not."""
    from dp2theory.report.figures import paths_of

    path = paths_of(folder, figure, problem, ())["json"]
    if not path.exists():
        return None
    try:
        picture = Picture(json.loads(path.read_text(encoding="utf-8")))
        picture.section()  # it has all that the page says of it
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{path}: holds no figure ({type(error).__name__}: {error}); delete it, or draw it"
        ) from None
    return picture


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the gallery; see the module."""
    parser = argparse.ArgumentParser(prog="dp2theory.gallery", description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the page")
    parser.add_argument("--store", type=Path, default=STORE, help="keeps runs, to go on from")
    parser.add_argument("--executor", default="process:2", help="serial, process[:N] or dask:…")
    parser.add_argument("--only", help="figures by name, as in drift,ball-slope; others are kept")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    options = parser.parse_args(arguments)

    from dp2theory.experiments.executors import one_thread

    one_thread()
    from dp2theory.cli._bars import Bars
    from dp2theory.experiments.executors import open_executor
    from dp2theory.experiments.store import Store
    from dp2theory.files import write_text

    named = None if options.only is None else options.only.split(",")
    known = [figure for figure, _ in GALLERY]
    for name in named or ():
        if name not in known:
            parser.error(f"--only {name}: must be one of {', '.join(dict.fromkeys(known))}")
    chosen = [one for one in GALLERY if named is None or one[0] in named]
    folder, target = options.docs / "figures", options.docs / "figures.md"
    folder.mkdir(parents=True, exist_ok=True)
    minutes = minutes_on(target.read_text(encoding="utf-8")) if target.exists() else {}
    # Read before anything is drawn: a file that cannot be used would be found hours later.
    drawn = {one: kept(*one, folder) for one in GALLERY if one not in chosen}
    for part in PARTS:
        ours = [one for one in chosen if (one[1] is not None) == part]
        before = _cpu_minutes()
        with (
            Bars(options.quiet) as bars,
            Store(options.store) as store,
            open_executor(options.executor) as workers,
        ):
            found = len(store)
            for figure, problem in ours:
                where = {"executor": workers, "store": store, "progress": bars}
                drawn[figure, problem] = picture = draw_one(figure, problem, folder, where)
                verdict = picture.document["result"]["verdict"]
                sys.stdout.write(
                    f"{' '.join(filter(None, (figure, problem)))}: {OUTCOMES[verdict['holds']]}: "
                    f"{verdict['text']}\n"
                )
                sys.stdout.flush()
        if ours and ours == [one for one in GALLERY if (one[1] is not None) == part]:
            # What the store had already was paid for before; figures on ReSQue use no store.
            minutes[part] = f"{_cpu_minutes() - before:.1f}"
            if part and found:
                del minutes[part]
    pictures = [drawn[one] for one in GALLERY]
    write_text(target, page([one for one in pictures if one is not None], minutes))
    sys.stdout.write(f"{_cpu_minutes():.1f} CPU minutes\n")
    return 0


def _cpu_minutes() -> float:
    """CPU time of this process and of its workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) / 60


if __name__ == "__main__":
    from dp2theory.cli._exit import guard

    with guard():  # a file that cannot be used is one line, as on the command line
        raise SystemExit(main())
