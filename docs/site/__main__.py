"""Stage the documentation and build it with Sphinx; a warning is an error.

    python -m docs.site [FOLDER]

FOLDER is build/docs unless given; what Sphinx reads lies in `source` below it, pages in `html`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from docs.site.places import ROOT
from docs.site.stage import stage, without_outputs


def build(folder: Path, *, keep_going: bool = True) -> int:
    """Build the site.

    Parameters
    ----------
    folder : Path
        Where; an earlier build in it is brought up to date.
    keep_going : bool
        Show all warnings rather than the first.

    Returns
    -------
    int
        Sphinx's exit code: 0 if there was no warning.
    """
    from sphinx.cmd.build import build_main

    source = folder / "source"
    pages = stage(source)
    print(f"{pages} pages in {source}")
    if bare := without_outputs():
        print(f"without outputs, which `make notebooks` makes: {', '.join(bare)}")
    words = ["-q", "-W", "-b", "html", "-d", str(folder / "doctrees")]
    words += ["--keep-going"] if keep_going else []
    return int(build_main([*words, str(source), str(folder / "html")]))


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "docs")
    folder = parser.parse_args().folder.resolve()
    os.environ.setdefault("MPLBACKEND", "Agg")
    code = build(folder)
    if not code:
        print(f"open {folder / 'html' / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
