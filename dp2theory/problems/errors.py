"""Errors of the data problems."""

from __future__ import annotations


class MissingExtraError(ValueError):
    """A problem needs packages that are not installed."""

    def __init__(self, problem: str, package: str, extra: str = "data") -> None:
        super().__init__(
            f"problem={problem!r} needs the package {package!r}, which is not installed: "
            f"pip install 'dp2theory[{extra}]'"
        )
