"""The error of an integration whose framework is not installed."""

from __future__ import annotations

from dp2theory.problems.errors import MissingExtraError


class MissingFrameworkError(MissingExtraError, ModuleNotFoundError):
    """A module of `dp2theory.integrations` was imported without the framework it is for.

    Parameters
    ----------
    module : str
        What was imported.
    error : ModuleNotFoundError
        What importing the framework raised; its name becomes this error's name.
    extra : str
        The extra that installs the framework.
    """

    def __init__(self, module: str, error: ModuleNotFoundError, extra: str) -> None:
        package = (error.name or "").partition(".")[0]
        ValueError.__init__(
            self,
            f"{module} needs the package {package!r}, which is not installed: "
            f"pip install 'dp2theory[{extra}]'",
        )
        self.name = error.name
