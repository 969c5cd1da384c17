"""Messages of the libraries, with the option where they name an argument.

A library refuses `ema=-1.0`; whoever typed `--ema -1` is told of that. One place does it for all
commands, so that no check has to be made twice to be well told.
"""

import re
import reprlib
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from dp2theory.cli._exit import CommandError, ExitCode, classify
from dp2theory.cli._inputs import option

#: Arguments of the libraries that options of another name give.
_OTHER_NAMES = {"method": ("compare",), "path": ("data",)}


def names_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command, whose refusals of invalid input name the option that gave it."""

    @wraps(function)
    def run(**given: Any) -> Any:
        try:
            return function(**given)
        except Exception as error:
            code, message = classify(error)
            if code != ExitCode.USAGE:
                raise
            raise CommandError(with_option(message, given), code) from error

    return run


def with_option(message: str, given: Mapping[str, Any]) -> str:
    """The message, where it begins with `name=value` or a file's name: with the option before.

    Parameters
    ----------
    message : str
    given : mapping
        The values of the command's parameters. An option is named only where its value is the one
        that the message begins with, so that no other option is blamed.
    """
    argument = re.match(r"([a-z]\w*)=", message)
    if argument is None:
        for name, value in given.items():
            if isinstance(value, Path) and message.startswith(f"{value}: "):
                return f"{option(name)} {message}"
        return message
    said = message[argument.end() :]
    for name in (argument[1], *_OTHER_NAMES.get(argument[1], ())):
        for value in _written(given.get(name), said):
            rest = said.removeprefix(value)
            if rest != said and not re.match(r"[\w.]", rest):
                colon = ":" if rest.startswith(" must ") else ""
                return f"{option(name)} {value}{colon}{rest}"
    return message


def _written(value: Any, said: str) -> tuple[str, ...]:
    """The ways in which a message may write a value; none for an option that was not given."""
    if value is None:
        return ()
    from accountants.validation import shown

    plain = str(value) if isinstance(value, Path) else value
    ways = [shown(plain)]  # first: an integer of very many digits has no other text
    if not (isinstance(plain, int) and plain.bit_length() > 128):
        ways += [repr(plain), reprlib.repr(plain), str(plain)]
    quoted = re.match(r"'([^']*)'", said)
    if isinstance(plain, str) and quoted is not None:  # one of several names, as in L1,L4
        words = [word.strip().casefold() for word in plain.split(",")]
        ways += [quoted[0]] * (quoted[1].casefold() in words)
    return tuple(ways)
