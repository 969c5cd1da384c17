"""The frame of the command line: help, laziness, exit codes, the envelope, progress."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pkgutil import resolve_name

import numpy as np
import pytest
from dp_accounting.privacy_accountant import UnsupportedEventError

from dp2theory import __version__
from dp2theory.cli import _exit, _output, _progress, app

HEAVY = ("numpy", "scipy", "dp_accounting", "matplotlib", "sympy", "rich", "sklearn", "hypothesis")


def run_process(*arguments, encoding="utf-8", **environment):
    return subprocess.run(
        [sys.executable, "-m", "dp2theory", *arguments],
        capture_output=True,
        encoding=encoding,
        env={**os.environ, **environment},
        timeout=60,
    )


@pytest.mark.parametrize("form", ["--quiet", "--json"])
def test_a_reader_that_goes_away_is_no_error(form):
    reader, writer = os.pipe()
    os.close(reader)
    words = "-m dp2theory account --dataset-size 9 --batch-size 9 --steps 1 --noise-multiplier 1"
    run = subprocess.run(
        [sys.executable, *words.split(), form],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writer)
    assert (run.returncode, run.stderr) == (0, b"")


def test_help_lists_every_command(cli):
    outcome = cli("--help")
    assert outcome.code == 0
    assert outcome.err == ""
    for name in app.COMMANDS:
        assert f"\n  {name} " in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["account", "--help"], ["audit-accountant", "--help"], ["--version"], ["oops"]],
)
def test_nothing_heavy_is_imported_before_it_is_needed(arguments):
    code = (
        "import sys, typer.main; known = set(sys.modules); from dp2theory.cli.app import main; "
        f"main({arguments!r}); print('LOADED', *set(sys.modules) - known, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stderr.split("LOADED", 1)[1].split()
    assert "dp2theory.cli.app" in loaded
    assert [name for name in HEAVY if name in loaded] == []
    modules = {name: app.COMMANDS[name].location.partition(":")[0] for name in app.COMMANDS}
    commands = [name for name, module in modules.items() if module in loaded]
    assert commands == [name for name in arguments if name in app.COMMANDS]


def test_help_is_instant():
    # CPU time of the fastest of five, so that a busy machine does not decide; measured 0.07 s.
    def cpu_seconds():
        before = os.times()
        assert run_process("--help").returncode == 0
        after = os.times()
        return (after.children_user + after.children_system) - (
            before.children_user + before.children_system
        )

    assert min(cpu_seconds() for _ in range(5)) < 0.4


def test_version_of_process_and_module():
    run = run_process("--version")
    assert (run.returncode, run.stdout, run.stderr) == (0, f"dp2theory {__version__}\n", "")


def test_no_command_and_unknown_commands_name_the_known(cli):
    cli("").refused(2, *app.COMMANDS)
    cli("acount").refused(2, "acount", *app.COMMANDS)
    cli("--frobnicate").refused(2, "--frobnicate")
    cli("--version=3").refused(2, "--version")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--dataset-size 5e4", "--dataset-size 5e4: must be an integer"),
        ("--dataset-size=5.5", "--dataset-size 5.5: must be an integer"),
        ("--dataset-size 500 --delta 1e-5%", "--delta 1e-5%: must be a number"),
        ("--steps 1 --steps x", "--steps x: must be an integer"),
        (f"--steps 1{'x' * 99}", f"--steps 1{'x' * 59}…: must be an integer"),
    ],
)
def test_a_value_that_is_no_number_is_shown(cli, words, line):
    cli("account --noise-multiplier 1", words).refused(2, line)


def test_exit_code_and_streams_of_a_real_process():
    run = run_process("account", "--json", "--delta", "2")
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [("--help", 0, "The ? (or ?) of a run"), ("account --help", 0, "DP²"), ("ε", 2, "'?'")],
)
def test_a_terminal_without_greek_letters_is_no_error(command, code, text):
    run = run_process(*command.split(), encoding="latin-1", PYTHONIOENCODING="latin-1")
    assert run.returncode == code
    assert text in run.stdout + run.stderr


def outcome_of(error, capsys):
    with pytest.raises(SystemExit) as stop, _exit.guard():
        raise error
    return stop.value.code, capsys.readouterr()


def infeasible():
    from accountants import InfeasibleBudgetError

    error = InfeasibleBudgetError("too small")
    error.nearest = "epsilon 0.3"
    return error


def inaccurate():
    from accountants import AccuracyError

    return AccuracyError("error 1e-3 at T=5")


@pytest.mark.parametrize(
    ("make", "code", "text"),
    [
        (lambda: ValueError("steps=0: must be\n at least 1"), 2, "steps=0: must be at least 1"),
        (lambda: _exit.CommandError("no", _exit.ExitCode.VIOLATION), 3, "no"),
        (lambda: UnsupportedEventError("no theorem"), 5, "not supported: no theorem"),
        (KeyboardInterrupt, 130, "interrupted"),
        (infeasible, 4, "too small; nearest feasible: epsilon 0.3"),
        (inaccurate, 1, "the stated error cannot be kept: error 1e-3 at T=5"),
        (lambda: FileNotFoundError(2, "No such file", "u.data"), 2, "u.data: No such file"),
        (lambda: ZeroDivisionError("boom"), 1, "internal error: ZeroDivisionError: boom"),
        (MemoryError, 1, "out of memory"),
        (lambda: MemoryError("cannot allocate 9 TiB"), 1, "out of memory: cannot allocate 9 TiB"),
        (lambda: AssertionError(), 1, "internal error: AssertionError"),
    ],
)
def test_each_exception_has_its_exit_code(make, code, text, capsys, monkeypatch):
    monkeypatch.delenv(_exit.DEBUG_VARIABLE, raising=False)
    got, streams = outcome_of(make(), capsys)
    assert got == code
    assert streams.out == ""
    assert streams.err.startswith(f"dp2theory: {text}")
    assert streams.err.count("\n") == 1


def test_debug_variable_shows_the_traceback(capsys, monkeypatch):
    monkeypatch.setenv(_exit.DEBUG_VARIABLE, "1")
    code, streams = outcome_of(ZeroDivisionError("boom"), capsys)
    assert code == 1
    assert "Traceback" in streams.err


def test_guard_is_a_decorator_and_nests(capsys):
    @_exit.guard()
    def inner():
        _exit.fail("inner", _exit.ExitCode.INFEASIBLE)

    with pytest.raises(SystemExit) as stop, _exit.guard():
        inner()
    assert stop.value.code == 4
    assert capsys.readouterr().err == "dp2theory: inner\n"


def test_interrupt_of_a_command_is_130(cli, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "_load", lambda _location: interrupted)
    cli("account").refused(130, "interrupted")


@dataclasses.dataclass(frozen=True)
class Pair:
    lower: float
    upper: float


def test_envelope_is_strict_json_with_units():
    document = _output.envelope(
        "account",
        {"steps": 3, "delta": _output.Input(1e-5, default=True), "sampling": "poisson"},
        {"epsilon": Pair(0.0, float("inf")), "x": np.float64("nan"), "y": np.array([1, 2])},
    )
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again["schema"] == "dp2theory/account/1"
    assert again["version"] == __version__
    assert again["status"] == "ok"
    assert again["result"] == {"epsilon": {"lower": 0.0, "upper": "inf"}, "x": "nan", "y": [1, 2]}
    assert again["inputs"]["steps"] == {"value": 3, "unit": "steps", "default": False}
    assert again["inputs"]["delta"] == {"value": 1e-5, "unit": "probability", "default": True}
    assert again["inputs"]["sampling"]["unit"] == "name"


def test_what_has_no_json_form_is_an_error():
    with pytest.raises(TypeError, match="no JSON form"):
        _output.jsonable(object())


def test_progress_is_silent_without_a_terminal(capsys):
    with _progress.progress("working", 3) as advance:
        for _ in range(3):
            advance(note="more")
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err == ""


def test_progress_draws_on_a_terminal_and_never_on_stdout(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with _progress.progress("working", 3) as advance:
        advance()
        advance(note="nearly")
        time.sleep(0.2)  # the bar draws ten times a second
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "working" in streams.err
    with _progress.progress("working", 3, quiet=True) as advance:
        advance()
    assert capsys.readouterr().err == ""


def test_spinner_comes_only_when_it_takes_long(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(_progress, "PATIENCE", 0.05)
    for quiet, pause, seen in ((False, 0.3, True), (True, 0.3, False), (False, 0.0, False)):
        with _progress.waiting("calibrating", quiet=quiet):
            time.sleep(pause)
        streams = capsys.readouterr()
        assert streams.out == ""
        assert ("calibrating" in streams.err) == seen
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with _progress.waiting("calibrating"):
        time.sleep(0.3)
    assert capsys.readouterr().err == ""
    with pytest.raises(KeyboardInterrupt), _progress.waiting("calibrating"):
        raise KeyboardInterrupt


SIZES = "--dataset-size 2000 --batch-size 100 --steps 30"
TRAIN = (
    "train --problem het:n=300,d=9,amin=1/9,avg=2,seed=1 --batch-size 20 --steps 30 --method dp-sgd"
)


@pytest.mark.parametrize(
    ("command", "work"),
    [
        (f"calibrate --for noise-multiplier --epsilon 2 {SIZES}",
         "accountants.calibrate_noise_multiplier"),
        (f"account --noise-multiplier 1 {SIZES}", "accountants.ExactAccountant.epsilon_bracket"),
        (f"plan --epsilon 2 {SIZES}", "dp2theory.planning.budget.Budget.calibrate"),
        (f"{TRAIN} --epsilon 2", "dp2theory.planning.budget.Budget.calibrate"),
        (f"{TRAIN} --noise-multiplier 2", "dp2theory.planning.budget.Budget.account"),
    ],
)  # fmt: skip
def test_the_long_work_is_done_under_a_spinner(cli, command, work, monkeypatch):
    spinning, quiets = [False], []

    @contextmanager
    def spinner(_description, *, quiet=False):
        quiets.append(quiet)
        spinning[0] = True
        yield
        spinning[0] = False

    for module in ("account", "calibrate", "plan", "_training", "_training_noise"):
        monkeypatch.setattr(f"dp2theory.cli.{module}.waiting", spinner)
    owner, _, name = work.rpartition(".")
    original, during = getattr(resolve_name(owner), name), []

    def watched(*args, **options):
        during.append(spinning[0])
        return original(*args, **options)

    monkeypatch.setattr(work, watched)
    assert cli(command).code == 0
    assert during[0]
    assert not any(quiets)
    quiets.clear()
    assert cli(command, "--quiet").code == 0
    assert all(quiets)
