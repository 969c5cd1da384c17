"""Random options and values of every command: an answer or one line, never a traceback or a hang.

A command starts from a small run that is fine, and one to three of its options are changed, added
or left out.
"""

from __future__ import annotations

import shlex

import pytest

from dp2theory.cli.app import COMMANDS, main
from tests.fuzz.command_lines import SMALL, command_lines, fresh, signature
from tests.fuzz.mutations import fuzz
from tests.fuzz.outcomes import check_files, check_streams, content_of

MANY = [pytest.param(3, id="light"), pytest.param(300, id="heavy", marks=pytest.mark.slow)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer_or_one_line(folder, capfd, command, many):
    def check(words):
        fresh(folder)
        before = content_of(folder)
        capfd.readouterr()
        code = main(words)
        out, err = capfd.readouterr()
        check_streams(code, out, err, words)
        check_files(code, before, folder, words)

    fuzz(command_lines(command), check, many)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_small_runs_are_fine(folder, capfd, command):
    assert len(signature(command)) > 3
    for words in SMALL[command]:
        fresh(folder)
        before = content_of(folder)
        code = main([command, *shlex.split(words)])
        out, err = capfd.readouterr()
        assert (code, out != "") == (0, True), (words, err)
        check_files(0, before, folder)
        assert command == "figure" or content_of(folder) == before, words  # nothing was asked for
