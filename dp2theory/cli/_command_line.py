"""The words of the command that runs, for pages that say how to repeat them."""

import shlex
from contextvars import ContextVar

PROGRAM = "dp2theory"
#: The arguments after the program's name; `dp2theory.cli.app.main` sets them.
ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("ARGUMENTS", default=())


def command_line() -> str:
    """The command as one types it."""
    return shlex.join([PROGRAM, *ARGUMENTS.get()])
