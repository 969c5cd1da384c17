"""Where the project is, and which files belong to it."""

import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dp2theory", "accountants", "bounds")


@cache
def project_files() -> tuple[Path, ...]:
    """The files that are, or are about to be, under version control."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file()))


def settings() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def run(*command: str | Path, cwd: Path = ROOT, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment (`module:…` for `python -m`) and keep what it printed."""
    words = [str(word) for word in command]
    if words[0].startswith("module:"):
        words[:1] = [sys.executable, "-m", words[0].removeprefix("module:")]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=600, **options)
