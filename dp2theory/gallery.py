"""The paper's figures on our problems: ``python -m dp2theory.gallery`` (``make figures``).

Every picture is what ``dp2theory figure NAME --problem PROBLEM`` draws with its defaults. They go
to ``docs/figures``, data beside pictures, and ``docs/figures.md`` shows them with their verdicts.
Runs are kept in a store and shared between figures; a gallery that was stopped goes on from there.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

#: Figure and problem, in reading order.
GALLERY: tuple[tuple[str, str], ...] = (
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
)
STORE = Path(".figures.db")
OUTCOMES = {True: "holds", False: "does not hold", None: "is not decided by these seeds"}
HEAD = """# Figures of the DP² paper on our problems

`make figures` draws all of these and writes this page; a single one comes from the command under
it, on any problem. Data lie beside the pictures as JSON. Whether the paper's claim holds on a
problem is computed from the runs shown, with intervals over seeds, and not chosen: some claims do
not hold here.
"""


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
    def command(self) -> str:
        """The command that draws it."""
        result = self.document["result"]
        return f"dp2theory figure {result['figure']} --problem {result['problem']['name']}"

    def section(self) -> str:
        """Its part of the page."""
        result = self.document["result"]
        verdict, files, problem = result["verdict"], result["files"], result["problem"]
        name = f"{result['figure']}, {problem['name']}: {result['title']}"
        tuning = len(result["seeds"]["tuning"])
        return "\n".join(
            [
                f"## {name}",
                "",
                f"> {verdict['claim']}",
                "",
                f"**Here it {OUTCOMES[verdict['holds']]}.** {verdict['text']}",
                "",
                f"![{name}](figures/{files['png']})",
                "",
                f"`{self.command}`, data in [{files['json']}](figures/{files['json']}); "
                f"n = {problem['dataset_size']:,}, T = {problem['steps']:,} steps, "
                f"δ = {problem['delta']:.3g} ({problem['relation']}), privacy of "
                f"{problem['unit_of_privacy']}; {len(result['seeds']['evaluation'])} seeds, "
                f"{f'tuned on {tuning} others' if tuning else 'untuned'}.",
                "",
            ]
        )


def page(pictures: Sequence[Picture], minutes: float | None) -> str:
    """The page that shows them."""
    sections = [HEAD, *(one.section() for one in pictures)]
    if minutes is not None:
        sections.append(f"All of them took {minutes:.1f} CPU minutes.\n")
    return "\n".join(sections)


def draw_one(figure: str, problem: str, folder: Path, asked_changes: dict[str, Any]) -> Picture:
    """Compute, draw and write one figure, as the command does with its defaults.

    Parameters
    ----------
    figure, problem : str
    folder : Path
        Where data and picture go.
    asked_changes : dict
        Fields of `FigureRequest`: executor, store, progress.
    """
    from dp2theory.cli import _figuring
    from dp2theory.cli._output import envelope
    from dp2theory.report.figures import paths_of, write_figure

    request = _figuring.default_request(figure, problem)
    setting = _figuring.resolve(request, None)
    asked = replace(_figuring.asked_for(request, setting, None), **asked_changes)
    paths = paths_of(folder, figure, problem, ("png",))
    result = _figuring.result_of(figure, asked) | {
        "files": {ending: path.name for ending, path in paths.items()}
    }
    document = envelope("figure", _figuring.inputs_of(request, setting), result)
    write_figure(document, paths)
    return Picture(document)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the gallery; see the module."""
    parser = argparse.ArgumentParser(prog="dp2theory.gallery", description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the page")
    parser.add_argument("--store", type=Path, default=STORE, help="keeps runs, to go on from")
    parser.add_argument("--executor", default="process:2", help="serial, process[:N] or dask:…")
    parser.add_argument("--only", help="one figure by name; the page is not written then")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    options = parser.parse_args(arguments)

    from dp2theory.experiments.executors import one_thread

    one_thread()
    from dp2theory.cli._bars import Bars
    from dp2theory.experiments.executors import open_executor
    from dp2theory.experiments.store import Store
    from dp2theory.files import write_text

    chosen = [one for one in GALLERY if options.only in (None, one[0])]
    if not chosen:
        parser.error(f"--only {options.only}: must be one of {', '.join(dict(GALLERY))}")
    folder = options.docs / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    with (
        Bars(options.quiet) as bars,
        Store(options.store) as store,
        open_executor(options.executor) as workers,
    ):
        found = len(store)
        for figure, problem in chosen:
            where = {"executor": workers, "store": store, "progress": bars}
            picture = draw_one(figure, problem, folder, where)
            pictures.append(picture)
            verdict = picture.document["result"]["verdict"]
            sys.stdout.write(
                f"{figure} {problem}: {OUTCOMES[verdict['holds']]}: {verdict['text']}\n"
            )
            sys.stdout.flush()
    if options.only is None:
        # What the store had already was paid for before.
        minutes = _cpu_minutes() if not found else None
        write_text(options.docs / "figures.md", page(pictures, minutes))
    sys.stdout.write(f"{_cpu_minutes():.1f} CPU minutes\n")
    return 0


def _cpu_minutes() -> float:
    """CPU time of this process and of its workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) / 60


if __name__ == "__main__":
    raise SystemExit(main())
