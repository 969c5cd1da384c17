"""docs/bad-inputs.md says what twenty bad inputs print, to the letter."""

from pathlib import Path

import pytest

from dp2theory.cli.app import COMMANDS
from tests.repo.bad_inputs import BAD_INPUTS, FILES, PAGE, Outcome, folder, outcome, page, same


@pytest.fixture(scope="module")
def outcomes():
    with folder():
        return tuple(outcome(case) for case in BAD_INPUTS)


def test_the_page_is_what_the_commands_print(outcomes):
    said = PAGE.read_text(encoding="utf-8").splitlines()
    made = page(outcomes).splitlines()
    assert len(made) == len(said)
    assert [pair for pair in zip(made, said, strict=True) if not same(*pair)] == []


def test_each_is_one_line_on_stderr_and_nothing_else(outcomes):
    for case, found in zip(BAD_INPUTS, outcomes, strict=True):
        assert found.out == "", case
        assert found.err.startswith("dp2theory: "), case
        assert found.err.endswith("\n"), case
        assert found.err.count("\n") == 1, case
        assert found.code in (2, 4, 5), case


def test_they_are_twenty_over_all_commands_and_files():
    assert len({case.command for case in BAD_INPUTS}) == len(BAD_INPUTS) == 20
    commands = {case.command.split()[0] for case in BAD_INPUTS}
    assert commands == set(COMMANDS) - {"verify"}  # which takes next to no input
    assert [name for name in FILES if not any(name in case.command for case in BAD_INPUTS)] == []


def test_refused_commands_leave_nothing_behind():
    with folder():
        for case in BAD_INPUTS[-8:]:  # those that would write to the working directory
            outcome(case)
        assert {path.name: path.read_bytes() for path in Path().iterdir()} == FILES


def test_the_comparison_bites(outcomes):
    changed = (*outcomes[:-1], Outcome(2, "", "dp2theory: something else\n"))
    assert not same(page(changed), page(outcomes))
    assert same("epsilon <= 2.7241678313996", "epsilon <= 2.7241678313997")
    assert not same("epsilon <= 2.7241678", "epsilon <= 2.7241679")
    assert not same("at least 1", "at least 2")
