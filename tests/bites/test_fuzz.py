"""The fuzz, the kills and the full disks see what is broken."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from accountants.laws.report import LawReport
from dp2theory import files
from dp2theory.cli import app
from dp2theory.experiments.store import Store
from dp2theory.experiments.task_data import TaskResult
from tests.bites import fuzz_wrong
from tests.fuzz import (
    command_lines,
    test_command_line,
    test_experiments,
    test_kills,
    test_ledgers,
    test_outputs,
    test_writers,
)
from tests.fuzz.kills import Job
from tests.fuzz.mutations import HangError, clock

COMMANDS = (
    "talks", "two_lines", "crashes", "ends_otherwise", "begins_a_file", "empties_a_file",
    "half_a_file", "leaves_a_temporary",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fuzzed(monkeypatch, folder, capfd, name):
    """The test of all commands, on one of ours."""
    command = app.Command(f"{fuzz_wrong.__name__}:{name}", "broken")
    monkeypatch.setitem(app.COMMANDS, name, command)
    monkeypatch.setitem(command_lines.SMALL, name, ("--steps 2",))
    monkeypatch.setattr(command_lines, "_PLANS", [b""])
    test_command_line.test_an_answer_or_one_line(folder, capfd, name, 12)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_broken_command(monkeypatch, folder, capfd, name):
    with pytest.raises(AssertionError):
        fuzzed(monkeypatch, folder, capfd, name)


def test_a_command_that_is_fine(monkeypatch, folder, capfd):
    fuzzed(monkeypatch, folder, capfd, "fine")


def test_a_hang():
    with pytest.raises(HangError), clock(0.1):
        all(number >= 0 for number in itertools.count())


def test_a_reader_that_lets_a_key_error_through(monkeypatch, tmp_path):
    def read(path):
        try:
            return [one["noise_multiplier"] for one in json.loads(path.read_bytes())]
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    monkeypatch.setattr(test_ledgers, "read_ledger", read)
    with pytest.raises((KeyError, TypeError)):
        test_ledgers.test_ledgers(tmp_path, "runs", 1)


def test_a_reader_that_names_no_file(monkeypatch, tmp_path):
    def read(path):
        try:
            return json.loads(path.read_bytes())
        except RecursionError:
            raise ValueError("nested too deeply") from None

    monkeypatch.setattr(test_ledgers, "read_ledger", read)
    with pytest.raises(AssertionError, match="names no file"):
        test_ledgers.test_ledgers(tmp_path, "runs", 1)


def test_a_store_that_trusts_its_rows(monkeypatch, tmp_path):
    def get(store, key):
        (row,) = store._connection.execute("SELECT result FROM results WHERE key = ?", (key,))
        return TaskResult.from_json(json.loads(row[0]))

    monkeypatch.setattr(Store, "get", get)
    with pytest.raises((AssertionError, AttributeError, TypeError)):
        test_experiments.test_values_of_stores(tmp_path, 1)


def in_place(path, write):
    write(Path(path))


def test_a_writer_in_place_on_a_full_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "_write_and_rename", in_place)
    with pytest.raises(AssertionError):
        test_writers.test_writers(tmp_path, "document")


def test_a_report_in_place_on_a_full_disk(monkeypatch, folder, capfd):
    monkeypatch.setattr(files, "_write_and_rename", in_place)
    with pytest.raises(AssertionError):
        test_outputs.test_a_disk_that_is_full(folder, capfd, "account", "--report")


@pytest.mark.parametrize("name", ["writes_in_place", "stumbles_over_temporaries", "whole"])
def test_killed_writers(monkeypatch, tmp_path, name):
    job = Job(f"{fuzz_wrong.__name__}:{name}", (), sizes=(0, 1, 2, 3, 4, 5))
    monkeypatch.setitem(test_kills.JOBS, name, job)
    monkeypatch.setattr(test_kills, "START", {"a.json": "the old one"})
    if name == "whole":
        job = Job(job.function, (), sizes=(0, 1, 2, 3, 4, 5, 6, 7))
        monkeypatch.setitem(test_kills.JOBS, name, job)
        test_kills.test_killed_at_every_step(tmp_path, name)
    else:
        with pytest.raises(AssertionError):
            test_kills.test_killed_at_every_step(tmp_path, name)


def test_an_audit_of_nothing_that_passes(monkeypatch):
    nothing = LawReport("mine", None, 0, 1, (), 0.0)
    assert (nothing.exit_code, nothing.status) == (3, "unchecked")
    monkeypatch.setattr(LawReport, "answered", True)
    assert (nothing.exit_code, nothing.status) == (0, "ok")
