"""The words of the command that runs, for pages that say how to repeat them."""

import shlex
from contextvars import ContextVar

PROGRAM = "dp2theory"
#: The arguments after the program's name; `dp2theory.cli.app.main` sets them.
ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("ARGUMENTS", default=())


def command_line() -> str:
    """The command as one types it."""
    return shlex.join([PROGRAM, *ARGUMENTS.get()])


def given(option: str) -> str | None:
    """The word that was given for an option, last of all if it was given several times.

    Parameters
    ----------
    option : str
        With its dashes.
    """
    words = ARGUMENTS.get()
    found = None
    for word, following in zip(words, (*words[1:], None), strict=True):
        if word == option:
            found = following
        elif word.startswith(f"{option}="):
            found = word.partition("=")[2]
    return found
