"""Exit codes of the command line, and the one place that maps exceptions to them.

An error is one line on stderr and nothing on stdout. Set the environment variable
`DP2THEORY_DEBUG` to see the traceback before that line.
"""

import enum
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from dp2theory.cli._command_line import given

DEBUG_VARIABLE = "DP2THEORY_DEBUG"


class ExitCode(enum.IntEnum):
    """What the process tells its caller."""

    OK = 0
    INTERNAL = 1  # a defect of the program, or an answer whose stated error cannot be kept
    USAGE = 2  # usage, an invalid value, or a missing extra
    VIOLATION = 3  # a check found a violation, or could check nothing
    INFEASIBLE = 4  # no parameters meet the budget
    UNSUPPORTED = 5  # the event or relation has no theorem behind it (yet)
    INTERRUPTED = 130  # stopped by the user; partial results are kept


class CommandError(Exception):
    """An error that already knows its exit code.

    Parameters
    ----------
    message
        What is wrong, in one line.
    code
        The exit code of the process.
    """

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


def fail(message: str, code: ExitCode = ExitCode.USAGE) -> NoReturn:
    """Stop the command with `message` on stderr and the exit code `code`."""
    raise CommandError(message, code)


def _is_instance_of(error: BaseException, module: str, name: str) -> bool:
    """Whether `error` is a `module.name`, without importing a module nobody has loaded.

    Only a loaded module can have raised its own exception, so an error path stays cheap.
    """
    loaded = sys.modules.get(module)
    kind = getattr(loaded, name, None) if loaded is not None else None
    return isinstance(kind, type) and isinstance(error, kind)


def reason(error: BaseException) -> str:
    """The reason in a refusal of an event, without the event that stands around it."""
    text = " ".join(str(error).split())
    return text.partition("Error: [")[2].partition("] caused by")[0] or text


def _with_value(message: str) -> str:
    """A refusal of typer's, with the value that was refused and what is allowed."""
    told = re.match(r"Invalid value for '(-[^' ]+)': (.*)", message)
    value = None if told is None else given(told[1])
    if told is None or value is None:
        return message
    kind = re.search(r"valid (integer|number|float)\b", told[2])
    if kind is None:
        return message
    allowed = "an integer" if kind[1] == "integer" else "a number"
    return f"{told[1]} {value if len(value) <= 60 else value[:60] + '…'}: must be {allowed}"


def classify(error: BaseException) -> tuple[ExitCode, str]:
    """The exit code and the message (one line) for an exception that ended a command."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    if isinstance(error, CommandError):
        return error.code, text
    if isinstance(error, KeyboardInterrupt) or _is_instance_of(error, "typer", "Abort"):
        return ExitCode.INTERRUPTED, text or "interrupted"
    if _is_instance_of(error, "dp_accounting.privacy_accountant", "UnsupportedEventError"):
        return ExitCode.UNSUPPORTED, f"not supported: {reason(error)}"
    if _is_instance_of(error, "accountants", "InfeasibleBudgetError"):
        nearest = " ".join(str(getattr(error, "nearest", "")).split())
        if nearest and nearest not in text:
            text = f"{text}; nearest feasible: {nearest}"
        return ExitCode.INFEASIBLE, text
    if _is_instance_of(error, "accountants", "AccuracyError"):
        return ExitCode.INTERNAL, f"the stated error cannot be kept: {text}"
    # Usage errors of typer (from its own copy of click or from click itself, by its version).
    format_message = getattr(error, "format_message", None)
    if callable(format_message):
        return ExitCode.USAGE, _with_value(" ".join(str(format_message()).split()))
    if isinstance(error, ValueError):
        return ExitCode.USAGE, text or name
    if isinstance(error, OSError) and error.filename is not None:
        return ExitCode.USAGE, f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:  # such as a full disk behind stdout
        return ExitCode.INTERNAL, f"input or output failed: {error.strerror}"
    if isinstance(error, MemoryError):
        return ExitCode.INTERNAL, f"out of memory: {text or 'take smaller sizes'}"
    return ExitCode.INTERNAL, (
        f"internal error: {name}: {text} (set {DEBUG_VARIABLE}=1 for the traceback)"
    )


@contextmanager
def guard() -> Iterator[None]:
    """Context manager and decorator: an exception inside becomes one line and an exit code.

    Raises
    ------
    SystemExit
        With the exit code, after the line went to stderr. `SystemExit` itself passes through, so
        guards may be nested.
    """
    try:
        yield
    except SystemExit:
        raise
    except BrokenPipeError:
        # The reader has all that it wanted (`| head -1`); what is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(int(ExitCode.OK)) from None
    except BaseException as error:
        code, message = classify(error)
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc(file=sys.stderr)
        _tell(f"dp2theory: {message}")
        raise SystemExit(int(code)) from error


def _tell(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        # A full disk takes no line. The exit code tells all the same: what is still buffered goes
        # nowhere, or the interpreter would end with a code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
