"""`pytest --accountant`: a test for each law and relation, and nothing without the option."""

import json
import os
import re
import shlex
import subprocess
import sys
import warnings

import dp_accounting as dp
import pytest

from accountants.laws import catalogue, pytest_items
from accountants.laws.check import DEFAULT_EXAMPLES
from accountants.laws.pytest_plugin import REFINEMENTS
from tests.laws.made_report import EVENT, FOUND, RELATION, made_report
from tests.repo.project import ROOT

pytest_plugins = ["pytester"]

MINE = """
class Mine:
    def compose(self, event, count=1):
        return self

    def get_epsilon(self, target_delta):
        return 1.0


class ForReplacing(Mine):
    from dp_accounting import NeighboringRelation
    neighboring_relation = NeighboringRelation.REPLACE_ONE


class ForAny(Mine):
    def __init__(self, neighboring_relation):
        self.neighboring_relation = neighboring_relation
"""


class Stand:
    """Answers as the search would, and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, candidate, *, laws, relation, **size):
        (law,) = laws
        self.asked.append((candidate.name, law, relation, size))
        warnings.warn("an overflow in somebody's accountant", RuntimeWarning, stacklevel=1)
        return made_report((law,), name=candidate.name)


@pytest.fixture
def stand(monkeypatch):
    stand = Stand()
    monkeypatch.setattr(pytest_items, "check_accountant", stand)
    return stand


@pytest.fixture
def inner(pytester, monkeypatch):
    """`inner("-k L1")` -> result of pytest in a folder that holds mine.py and no tests."""
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    pytester.makepyfile(mine=MINE)

    def run(words="", *more, accountant="mine:Mine"):
        given = ["--accountant", accountant] if accountant else []
        return pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", *given, *shlex.split(words), *more
        )

    return run


def names(result):
    return [line.strip()[1:-1].split(" ")[1] for line in result.outlines if "<LawItem" in line]


LAWS = list(catalogue.laws())


@pytest.mark.usefixtures("stand")
def test_every_law_is_a_test_in_a_folder_without_tests(inner):
    result = inner()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=len(LAWS) - 5, failed=2, skipped=2)
    result.stdout.fnmatch_lines(
        [
            "accountant: mine:Mine",
            f"collected {len(LAWS)} items",
            "mine:Mine .F?Fss*",
            "*, 1 suspect*",
        ]
    )


def test_exit_code_0_without_a_violation(inner, stand):
    result = inner("--accountant-laws L1,L3,L7")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=2)
    assert [law for _, law, _, _ in stand.asked] == ["L1", "L3", "L7"]
    assert {(name, relation) for name, _, relation, _ in stand.asked} == {("mine:Mine", RELATION)}


@pytest.mark.usefixtures("stand")
@pytest.mark.parametrize("on_ci", [False, True])
def test_a_failure_is_the_report_and_how_to_repeat_it(inner, monkeypatch, on_ci):
    for name in ("CI", "BUILD_NUMBER"):  # pytest's own signs
        monkeypatch.delenv(name, raising=False)
    if on_ci:
        monkeypatch.setenv("CI", "true")
    result = inner("--accountant-laws L2,L1 --accountant-seed 3 --accountant-max-examples 9")
    text = result.stdout.str()
    assert "Traceback" not in text
    assert "pytest_items.py" not in text
    assert f"L2: {catalogue.laws()['L2'].statement}" in text
    for shown in FOUND["L2"][1]:
        assert shown.message in text
        assert shown.case.describe() in text
    code = text.split("import dp_accounting as dp\n", 1)[1].split("\n\n", 1)[0]
    lines = [line.strip() for line in code.splitlines()]
    values = {"dp": dp}
    exec("\n".join(lines), values)
    assert values["event"] == EVENT
    assert values["relation"] is RELATION
    assert values["epsilon"] == 1.0
    assert not {"count", "delta"} & set(values)
    assert 'delta = float("nan")' in text
    assert "count = 3" in text
    (again,) = [line for line in result.outlines if line.startswith("again: ")]
    assert (
        again.split()[1:]
        == (
            "pytest --accountant mine:Mine --accountant-laws L2 --accountant-relation"
            " add-or-remove-one --accountant-seed 3 --accountant-max-examples 9"
        ).split()
    )
    assert "mine:Mine L2-" in text  # the headline


def test_seed_and_size_are_handed_on(inner, stand):
    inner("--accountant-laws L1 --accountant-seed 3 --accountant-max-examples 9")
    inner("--accountant-laws L1")
    assert [size for *_, size in stand.asked] == [
        {"seed": 3, "max_examples": 9, "cpu_budget": 3.0},
        {"seed": 0, "max_examples": DEFAULT_EXAMPLES, "cpu_budget": 3.0},
    ]


def test_each_law_has_its_part_of_the_budget(inner, stand):
    inner("--accountant-laws L1,L4 --accountant-cpu-budget 100")
    assert [size["cpu_budget"] for *_, size in stand.asked] == [10.0, 40.0]


@pytest.mark.usefixtures("stand")
def test_what_is_no_verdict_is_a_skip_with_its_reason(inner):
    result = inner("-rs --accountant-laws L5,L6")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "SKIPPED * mine.py:1: L5 title of L5, add-or-remove-one: refused (NotImpl*",
            "SKIPPED * mine.py:1: L6 title of L6, *: not applicable (takes no orders)",
        ]
    )


@pytest.mark.usefixtures("stand")
@pytest.mark.parametrize("options", ["", "-W error", "-p no:warnings", "-p no:terminal"])
def test_suspects_and_looseness_are_told_and_fail_nothing(inner, options):
    result = inner(f"--accountant-laws L3,L7 {options}")
    assert result.ret == pytest.ExitCode.OK
    if "no:terminal" not in options:
        result.stdout.fnmatch_lines(
            [
                "*= suspect: *",
                "mine:Mine::L3-*add-or-remove-one]",
                "  L3 upper end: a understatement & what it means",
                "*= loose: *",
                "mine:Mine::L7-*",
                "*1 passed, 1 suspect*",
            ]
        )
        assert "warning" not in result.stdout.str()


@pytest.mark.usefixtures("stand")
def test_verbose_names_the_verdict(inner):
    result = inner("-v --accountant-laws L1,L3")
    result.stdout.fnmatch_lines(["mine:Mine::L1-* PASSED*", "mine:Mine::L3-* SUSPECT*"])


@pytest.mark.usefixtures("stand")
def test_an_ini_file_that_makes_warnings_errors(inner, pytester):
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers --strict-config")
    result = inner("--accountant-laws L1,L3")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1)


@pytest.mark.usefixtures("stand")
def test_an_accountant_that_warns_is_tested_like_any_other(inner, pytester):
    text = MINE.replace("class Mine:", "import warnings\nwarnings.warn('new')\n\nclass Mine:")
    maker = "    def __init__(self):\n        warnings.warn('made')\n\n    def compose"
    pytester.makepyfile(warns=text.replace("    def compose", maker, 1))
    result = inner("-W error -rs --accountant-laws L1,L5", accountant="warns:Mine")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * warns.py:*: L5 *"])
    assert "warning" not in result.stdout.str()


@pytest.mark.usefixtures("stand")
@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("-k L4", {"L4"}),
        ("-k 'L1- or L4-'", {"L1", "L4"}),
        ("-k 'mine and not L4'", set(LAWS) - {"L4"}),
        ("-m accountant_law --accountant-laws L2", {"L2"}),
        ("-m 'not accountant_law'", set()),
        ("--accountant-laws all -k replace-one", set()),
    ],
)
def test_choosing_among_the_laws(inner, words, chosen):
    result = inner(f"--collect-only {words}")
    assert {name.split("-")[0] for name in names(result)} == chosen
    assert (result.ret == pytest.ExitCode.NO_TESTS_COLLECTED) == (not chosen)


def test_deselecting_a_law_by_its_id(inner):
    listed = inner("--collect-only -q --accountant-laws L1,L2").outlines
    ids = [line for line in listed if line.startswith("mine:Mine::")]
    assert len(ids) == 2
    result = inner("--collect-only --accountant-laws L1,L2", "--deselect", ids[0])
    assert [name.split("-")[0] for name in names(result)] == ["L2"]


@pytest.mark.parametrize(
    ("accountant", "words", "relations"),
    [
        ("mine:Mine", "", ["add-or-remove-one"]),  # it does not say
        ("mine:Mine", "--accountant-relation replace-one", ["replace-one"]),
        ("mine:ForReplacing", "", ["replace-one"]),
        ("mine:ForAny", "", ["add-or-remove-one", "replace-one", "replace-special"]),
        ("mine:ForAny", "--accountant-relation replace-special", ["replace-special"]),
        ("ours-exact", "--accountant-relation replace-one", ["replace-one"]),
    ],
)
def test_relations(inner, accountant, words, relations):
    result = inner(f"--collect-only --accountant-laws L1 {words}", accountant=accountant)
    assert [name.split("[")[1][:-1] for name in names(result)] == relations


@pytest.mark.usefixtures("stand")
def test_several_accountants_beside_tests_in_files(inner, pytester):
    pytester.makepyfile(test_own="def test_own():\n    pass\n")
    result = inner("--accountant mine:ForReplacing --accountant mine:Mine --accountant-laws L1 -v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["test_own.py*", "mine:Mine::*", "mine:ForReplacing::*"])


@pytest.mark.usefixtures("stand")
def test_junit_file(inner, pytester):
    inner("--accountant-laws L2,L3,L5 --junitxml out.xml")
    text = (pytester.path / "out.xml").read_text()
    assert 'failures="1"' in text
    assert 'skipped="1"' in text
    assert "accountant_law_suspect" in text


@pytest.mark.usefixtures("stand")
def test_reports_survive_the_way_between_processes(inner, pytester):
    """What pytest-xdist does with them; test_pytest_workers.py runs it."""
    pytester.makeconftest(
        """
        import json

        def pytest_runtest_logreport(report):
            from _pytest.reports import TestReport
            again = TestReport._from_json(json.loads(json.dumps(report._to_json())))
            assert again.user_properties or report.when != "call"
        """
    )
    result = inner("--accountant-laws L3")
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("accountant", "words", "told"),
    [
        ("nowhere:Mine", "", ("nowhere",)),
        ("mine:Yours", "", ("mine", "Yours")),
        ("mine:MINE.x", "", ("mine",)),
        ("opacuss", "", ("opacuss", "MODULE:CLASS", "ours-exact")),
        ("broken:Mine", "", ("broken", "ZeroDivisionError")),
        ("leaving:Mine", "", ("leaving", "SystemExit")),
        ("needy:Mine", "", ("no_such_package",)),
        ("mine:Mine", "--accountant-laws L1,L99", ("L99", "L1, L2")),
        ("mine:Mine", "--accountant-laws ,", ("laws=''",)),
        ("mine:Mine", "--accountant-relation sideways", ("sideways", "replace-one")),
        ("mine:ForReplacing", "--accountant-relation replace-special", ("replace-one only",)),
        ("mine:Mine", "--accountant-seed x", ("--accountant-seed='x'", "whole number >= 0")),
        ("mine:Mine", "--accountant-seed -1", ("--accountant-seed='-1'",)),
        ("mine:Mine", "--accountant-max-examples 2.5", ("--accountant-max-examples", ">= 0")),
        ("mine:Mine", "--accountant-cpu-budget nan", ("--accountant-cpu-budget", ">= 0")),
        (None, "--accountant-laws L1", ("--accountant-laws needs --accountant",)),
        (None, "--accountant-seed 0", ("--accountant-seed needs --accountant",)),
    ],
)
def test_bad_values_are_usage_errors_in_one_line(inner, pytester, accountant, words, told):
    pytester.makepyfile(
        broken="1 / 0", leaving="raise SystemExit(3)", needy="import no_such_package"
    )
    result = inner(words, accountant=accountant)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.errlines if line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("ERROR: ")
    for word in told:
        assert word in lines[0]


def test_missing_ball_arithmetic_is_told(inner, monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    result = inner()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "dp2theory[certify]" in result.stderr.str()


WATCH = """
import json, sys

def pytest_unconfigure(config):
    names = {name.partition(".")[0] for name in sys.modules}
    with open("loaded.json", "w") as file:
        json.dump(sorted(names & set(%r)), file)
"""
WATCHED = ("hypothesis", "numpy", "scipy", "dp_accounting", "flint", "typer", "matplotlib", "z3",
           "rich", "dp2theory")  # fmt: skip


def loaded(folder, *words):
    """What an outside pytest has imported at its end, and its exit code."""
    (folder / "conftest.py").write_text(WATCH % (WATCHED,))
    (folder / "mine.py").write_text(MINE)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    # not `python -m pytest`, which would put the folder on the path itself
    pytest_itself = ["-c", "import sys; sys.path.pop(0); import pytest; sys.exit(pytest.main())"]
    run = subprocess.run(
        [sys.executable, *pytest_itself, "-p", "no:cacheprovider", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    return json.loads((folder / "loaded.json").read_text()), run


def test_without_the_option_nothing_is_imported(tmp_path):
    # without Hypothesis' own plugin, which imports it at the end of every run
    names, run = loaded(tmp_path, "-p", "no:hypothesispytest")
    assert (names, run.returncode) == ([], 5)
    assert "accountant" not in run.stdout


def test_with_the_option_no_command_line_and_no_pictures_are(tmp_path):
    words = "--accountant mine:Mine --accountant-laws L10 --accountant-max-examples 0"
    names, run = loaded(tmp_path, *words.split())
    assert run.returncode == 1, run.stdout + run.stderr
    assert "1 failed" in run.stdout
    assert "confirmed by: " in run.stdout
    assert set(names) >= {"hypothesis", "numpy", "dp_accounting"}
    assert not set(names) & {"typer", "matplotlib", "z3", "rich", "dp2theory"}


def test_the_guide_names_every_option_and_no_other():
    guide = (ROOT / "docs" / "how-to" / "property-test-your-accountant.md").read_text()
    named = set(re.findall(r"--accountant[a-z-]*", guide))
    assert named == {"--accountant", *REFINEMENTS.values()}
