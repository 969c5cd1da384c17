"""The sandbox: limits, crashes, exceptions, and what stays from one question to the next."""

from __future__ import annotations

import math
import os
import re
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import dp_accounting
import pytest

from accountants.laws.candidate import Candidate
from accountants.laws.program import LENGTH, Program, bracket_at, compose, delta_at, epsilon_at
from accountants.laws.sandbox import Sandbox
from tests.laws import small

LOUD = dp_accounting.GaussianDpEvent(1.0)
QUIET = dp_accounting.GaussianDpEvent(0.1)


def program(event: Any, *questions: Any) -> Program:
    """Compose, then ask."""
    return Program(small.ADD_REMOVE, (compose(event), *(questions or (epsilon_at(1e-5),))))


def sandbox(maker: Any, **limits: Any) -> Sandbox:
    return Sandbox(Candidate.from_callable(maker), **limits)


def test_answers_are_those_of_the_accountant() -> None:
    with sandbox(small.GaussiansOnly) as box:
        replies = box.ask(program(LOUD))
    accountant = small.GaussiansOnly()
    accountant.compose(LOUD)
    assert replies[0].answered
    assert replies[1].value == accountant.get_epsilon(1e-5)


def test_a_hang_ends_and_the_next_question_is_answered() -> None:
    with sandbox(small.Endless, cpu_seconds=1) as box:
        # On a machine that has no time for it, the clock ends it first.
        assert re.search("1 s of CPU|no answer within 6 s", box.ask(program(QUIET))[1].exhausted)
        assert box.ask(program(LOUD))[1].value == pytest.approx(4.377, abs=1e-3)
        used = box.cpu_time
        assert box.ask(program(QUIET))[1].exhausted  # remembered: not asked again
        assert box.cpu_time - used < 0.5


def test_greed_for_memory_ends() -> None:
    with sandbox(small.Greedy, memory_bytes=2**28) as box:
        assert box.ask(program(QUIET))[1].exhausted == "memory"
        assert box.ask(program(LOUD))[1].value is not None


def test_a_crash_is_an_answer() -> None:
    with sandbox(small.Suicidal) as box:
        assert "SIGSEGV" in box.ask(program(LOUD))[0].exhausted


def test_an_exception_is_a_refusal_and_warnings_are_not() -> None:
    class Warns(small.GaussiansOnly):
        def get_epsilon(self, target_delta: float) -> float:
            warnings.warn("to be ignored", stacklevel=1)
            print("to be dropped")  # its output is not ours
            return super().get_epsilon(target_delta)

    with sandbox(Warns) as box:
        assert box.ask(program(LOUD))[1].value is not None
        sampled = dp_accounting.PoissonSampledDpEvent(0.5, LOUD)
        replies = box.ask(program(sampled))
        assert replies[0].refusal.startswith("NotImplementedError")
        assert replies[1].refusal == replies[0].refusal
        assert box.ask(program(LOUD, delta_at(1.0)))[1].refusal.startswith("AttributeError")


def test_other_kinds_of_answers() -> None:
    class Odd(small.GaussiansOnly):
        steps = 7

        def get_epsilon(self, target_delta: float) -> Any:
            return "a lot" if target_delta < 0.1 else math.nan

        def epsilon_bracket(self, target_delta: float) -> tuple[float, float]:
            return 1.0, 2.0

    with sandbox(Odd) as box:
        _, text, nan, ends, length = box.ask(
            program(LOUD, epsilon_at(1e-5), epsilon_at(0.5), bracket_at(1e-5), LENGTH)
        )
    assert text.text == "'a lot'"
    assert text.value is None
    assert nan.value is not None
    assert math.isnan(nan.value)
    assert (ends.value, ends.upper) == (1.0, 2.0)
    assert length.value == 7


def test_what_a_class_remembers_stays() -> None:
    class Remembers(small.GaussiansOnly):
        seen = 0

        def get_epsilon(self, target_delta: float) -> float:
            type(self).seen += 1
            return float(self.seen)

    with sandbox(Remembers) as box:
        assert [box.ask(program(LOUD))[1].value for _ in range(3)] == [1.0, 2.0, 3.0]
    assert Remembers.seen == 0  # in this process nothing happened


def test_what_is_no_number_is_no_length() -> None:
    class Keeps(small.GaussiansOnly):
        def __init__(self) -> None:
            super().__init__()
            self.steps: list[Any] = []

    with sandbox(Keeps) as box:
        assert box.ask(program(LOUD, LENGTH))[1].refusal.startswith("TypeError")


def test_an_accountant_that_forks_answers_once() -> None:
    class Forks(small.GaussiansOnly):
        def get_epsilon(self, target_delta: float) -> float:
            os.fork()  # and returns in both processes
            return super().get_epsilon(target_delta)

    with sandbox(Forks) as box:
        for sigma in (1.0, 2.0, 4.0):
            event = dp_accounting.GaussianDpEvent(sigma)
            right = small.GaussiansOnly()
            right.compose(event)
            assert box.ask(program(event))[1].value == right.get_epsilon(1e-5)


def test_what_the_accountant_started_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    class Lingers(small.GaussiansOnly):
        def get_epsilon(self, target_delta: float) -> float:
            if os.fork() == 0:
                note.write_text(str(os.getpid()))
                signal.pause()
            return 1.0

    with sandbox(Lingers) as box:
        assert box.ask(program(LOUD))[1].value == 1.0
        while not (note.exists() and note.read_text()):
            os.sched_yield()
    stranger = int(note.read_text())
    give_up = time.monotonic() + 30
    while _runs(stranger):
        assert time.monotonic() < give_up, "still there"
        os.sched_yield()


def _runs(pid: int) -> bool:
    """Whether a process exists and is more than a zombie that nobody has waited for."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rsplit(")", 1)[1].split()[0] != "Z"
