"""Public callables whose arguments are not looked at here, each with the reason."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("exempt.toml")


@cache
def exempt() -> dict[str, str]:
    """The reason by dotted name of the callable; one that stands there twice is an error."""
    found: dict[str, str] = {}
    for entry in tomllib.loads(FILE.read_text())["exempt"]:
        for module, names in entry["modules"].items():
            for name in names.split():
                key = f"{module}.{name}"
                if key in found:
                    raise ValueError(f"{key} is exempt twice")
                found[key] = entry["reason"]
    return found
