"""The program `dp2theory`: finds the command, loads its module, and runs it.

Only the named command's module is imported. `--help` shows the table below and imports none, so it
answers at once; the heavy libraries are imported inside the commands.
"""

import io
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

from dp2theory import __version__
from dp2theory.cli._command_line import ARGUMENTS, PROGRAM
from dp2theory.cli._exit import ExitCode, fail, guard
from dp2theory.cli._naming import names_options


class Command(NamedTuple):
    """Where a command lives (`module:function`) and its line in the help.

    Attributes
    ----------
    location : str
        ``module:function``.
    summary : str
        In the help of all commands.
    """

    location: str
    summary: str


#: Every command, in the order of the help.
COMMANDS: dict[str, Command] = {
    "plan": Command(
        "dp2theory.cli.plan:plan",
        "The delay for a privacy budget, or the advice not to precondition, with the reasons.",
    ),
    "account": Command("dp2theory.cli.account:account", "The ε (or δ) of a run, between two ends."),
    "calibrate": Command(
        "dp2theory.cli.calibrate:calibrate", "The noise multiplier that meets a privacy budget."
    ),
    "train": Command(
        "dp2theory.cli.train:train", "Runs of a reference optimizer, with the ledger they wrote."
    ),
    "sweep": Command(
        "dp2theory.cli.sweep:sweep",
        "Runs over methods, delays, budgets, seeds and problems, in a store that resumes.",
    ),
    "figure": Command(
        "dp2theory.cli.figure:figure",
        "A figure or table of the papers, DP² on a chosen problem or ReSQue, with a verdict.",
    ),
    "audit": Command(
        "dp2theory.cli.audit:audit",
        "How much an optimizer gives away, by attacks on its releases, against its accounted ε.",
    ),
    "audit-accountant": Command(
        "dp2theory.cli.audit_accountant:audit_accountant",
        "What any privacy accountant gets wrong, with the smallest examples.",
    ),
    "resque": Command(
        "dp2theory.cli.resque:resque",
        "ReSQue on a function: a private run with its ledger, or a parallel run with its rounds.",
    ),
    "theorems": Command(
        "dp2theory.cli.theorems:theorems",
        "The theorems behind the bounds: statements, assumptions and proofs, checked anew.",
    ),
    "verify": Command(
        "dp2theory.cli.verify:verify",
        "Every theorem proved again and tested on runs, with the smallest slack that was found.",
    ),
}


def _load(location: str) -> Callable[..., Any]:
    module, _, function = location.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), function)
    return loaded


def _stub() -> None:
    """Stands for a command that was not asked for; only its summary is ever used."""
    raise AssertionError("a stub command was run")


def _named_command(arguments: Sequence[str]) -> str | None:
    # The options before a command take no values, so the first bare word is the command.
    return next((word for word in arguments if not word.startswith("-")), None)


def _show_version(value: bool) -> None:
    if value:
        import typer

        print(f"{PROGRAM} {__version__}")
        raise typer.Exit


def _run(arguments: Sequence[str]) -> int:
    import typer
    from typer.main import get_command

    named = _named_command(arguments)
    known = ", ".join(COMMANDS)
    if not arguments:
        fail(f"no command given; one of {known} ({PROGRAM} --help explains them)")
    if named is not None and named not in COMMANDS:
        fail(f"unknown command {named!r}: must be one of {known}")

    app = typer.Typer(
        name=PROGRAM,
        help="Private adaptive optimisation: exact accounting, calibration, and the delay to use.",
        epilog="Exit codes: 0 fine, 1 internal error, 2 invalid input, 3 a check found a violation,"
        " 4 no parameters meet the budget, 5 unsupported, 130 interrupted.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    @app.callback()
    def top(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=_show_version, is_eager=True, help="Show the version."
            ),
        ] = False,
    ) -> None:
        pass

    for name, command in COMMANDS.items():
        # Guarded here too: typer would swallow an interrupt before the outer guard could report it.
        function = guard()(names_options(_load(command.location))) if name == named else _stub
        app.command(name, short_help=command.summary)(function)
    # get_command rather than app(): the latter replaces sys.excepthook for the whole process.
    code = get_command(app).main(args=list(arguments), prog_name=PROGRAM, standalone_mode=False)
    return code if isinstance(code, int) else ExitCode.OK


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv
        Arguments after the program's name; the process's own when None.

    Returns
    -------
    int
        The exit code (`dp2theory.cli._exit.ExitCode`).
    """
    arguments = sys.argv[1:] if argv is None else argv
    ARGUMENTS.set(tuple(arguments))
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Greek letters shows ? for ε, rather than an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    code: int = ExitCode.OK
    try:
        with guard():
            if sys.stdout is None:  # closed by the caller: print would say nothing, and no error
                fail("stdout is closed: the result would be lost", ExitCode.INTERNAL)
            code = _run(arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else ExitCode.INTERNAL
    return int(code)
