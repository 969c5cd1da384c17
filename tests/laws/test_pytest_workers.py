"""`pytest -n 2 --accountant`: laws that run in the processes of pytest-xdist are told like any."""

import re

import pytest

from accountants.laws import catalogue
from tests.laws.test_pytest_plugin import MINE
from tests.repo.project import ROOT

pytest.importorskip("xdist", reason="needs pytest-xdist")
pytest_plugins = ["pytester"]

# In every process: answers as the search would.
STAND_IN = f"""
import sys

sys.path.insert(0, {str(ROOT)!r})
from accountants.laws import pytest_items
from tests.laws.made_report import made_report


def answer(candidate, *, laws, relation, **size):
    return made_report(tuple(laws), name=candidate.name)


pytest_items.check_accountant = answer
"""

# What a process says of a test beside its verdict is lost on the way.
FORGETFUL = """
import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item):
    report = yield
    report.user_properties = []
    return report
"""


@pytest.fixture
def outer(pytester):
    """`outer("-n 2")` -> result of a pytest of its own on mine:Mine, with made-up answers."""
    pytester.makepyfile(mine=MINE)

    def run(words, accountant="mine:Mine", conftest=STAND_IN):
        pytester.makeconftest(conftest)
        given = ["-p", "no:cacheprovider", "--accountant", accountant, *words.split()]
        return pytester.runpytest_subprocess(*given)

    return run


def told(result, heading):
    """The lines of one section of the summary."""
    lines = result.outlines
    (start,) = (n for n, line in enumerate(lines) if line.strip("= ").startswith(heading))
    rest = lines[start + 1 :]
    return rest[: next(n for n, line in enumerate(rest) if line.startswith("="))]


def test_two_processes_tell_what_one_tells(outer, monkeypatch):
    monkeypatch.setenv("CI", "true")  # where a report would be printed whole a second time
    result = outer("-n 2 -v")
    laws = list(catalogue.laws())
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["skipped"], outcomes["suspect"]) == (2, 2, 1)
    assert outcomes["passed"] == len(laws) - 5
    ran = re.findall(r"^\[gw[01]\] .* mine:Mine::(\S+)", result.stdout.str(), flags=re.MULTILINE)
    assert sorted(name.split("-")[0] for name in ran) == sorted(laws)  # each once
    assert "accountant: mine:Mine" in result.outlines
    id, finding = told(result, "suspect: ")[:2]
    assert id.startswith("mine:Mine::L3-")
    assert finding == "  L3 upper end: a understatement & what it means"
    assert told(result, "loose: ")[0].startswith("mine:Mine::L7-")
    text = result.stdout.str()
    assert "Traceback" not in text
    assert f"L2: {catalogue.laws()['L2'].statement}" in text
    again = [line for line in result.outlines if line.startswith("again: pytest --accountant")]
    assert len(again) == 2  # one for each failure


def test_a_forgetful_process_is_seen(outer):
    result = outer("-n 2 --accountant-laws L3,L7", conftest=STAND_IN + FORGETFUL)
    assert result.parseoutcomes() == {"passed": 2}
    with pytest.raises(ValueError, match="not enough values"):
        told(result, "suspect: ")


def test_bad_values_are_told_once(outer):
    result = outer("-n 2", accountant="nowhere:Mine")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in result.errlines if line)
    assert line.startswith("ERROR: ")
    assert "nowhere" in line
