"""`audit-accountant`: what it prints, for whom, and with which exit code."""

import json
import os
import subprocess
import sys

import jsonschema
import pytest

from accountants.laws import adapters, catalogue, check
from dp2theory.cli import _audit_text
from tests.cli.conftest import validate
from tests.laws.made_report import FOUND, LAWS, made_report

COMMAND = "audit-accountant"
MINE = """
class Mine:
    def compose(self, event, count=1):
        return self

    def get_epsilon(self, target_delta):
        return 1.0


class ForReplacing(Mine):
    from dp_accounting import NeighboringRelation
    neighboring_relation = NeighboringRelation.REPLACE_ONE
"""


@pytest.fixture
def stand(monkeypatch):
    """A report made by hand instead of a search; keeps what was asked for."""
    asked = []

    def stand(candidate, *, laws, relation, seed, max_examples, cpu_budget, progress):
        asked.append((candidate, laws, relation))
        for law in laws:
            progress(f"{law} under a relation")
        return made_report(laws, name=candidate.name, seed=seed, max_examples=max_examples)

    monkeypatch.setattr(check, "check_accountant", stand)
    return asked


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The working folder holds mine.py."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    yield tmp_path
    sys.modules.pop("mine", None)


@pytest.mark.usefixtures("stand", "mine")
def test_text_has_the_worst_first_and_the_laws_last(cli):
    outcome = cli(f"{COMMAND} mine:Mine")
    assert outcome.code == 3
    assert outcome.err == (
        "dp2theory: mine:Mine: 3 confirmed violations of the laws; worst under-statement: "
        "epsilon = 0.25 where the truth is 2: 1000 x Poisson(q=0.01) Gaussian(sigma=1), "
        "ADD_OR_REMOVE_ONE, delta=1e-06\n"
    )
    lines = outcome.out.splitlines()
    assert lines[0].startswith("mine:Mine: 3 confirmed violations of the laws; worst")
    headings = [
        "Below the truth (confirmed; the worst first)",
        "Other confirmed violations",
        "Suspect: not confirmed, no effect on the exit code",
        "Loose: correct, and larger than it could be",
        "Law by law",
        "inputs:",
    ]
    places = [lines.index(heading) for heading in headings]
    assert places == sorted(places)
    for place, heading in zip(places[:4], headings, strict=False):
        assert lines[place + 1].split() == ["law", "answered", "truth", "off", "by", "case"]
        assert lines[place + 3].startswith("L"), heading
    for law in LAWS:
        verdict, findings, note = FOUND.get(law, ("holds", (), ""))
        (line,) = [line for line in lines[places[4] :] if line.startswith(f"{law} title")]
        assert f"{verdict}" + (f" ({note})" if note else "") in line
        for found in findings:
            assert f"    event: {found.case.to_json()['code']}" in lines
    assert "    confirmed: a <proof>" in lines
    assert "  seed: 0  [default]" in lines


@pytest.mark.usefixtures("mine")
def test_exit_code_0_where_nothing_is_confirmed(cli, stand):
    outcome = cli(f"{COMMAND} mine:Mine --laws l3,L1,L7 --seed 5 --max-examples 3")
    assert (outcome.code, outcome.err) == (0, "")
    assert "mine:Mine: no violation of the laws was found\n" in outcome.out
    assert "seed 5, 3 random examples for each law" in outcome.out
    ((candidate, laws, relation),) = stand
    assert (candidate.name, laws, relation) == ("mine:Mine", ("L1", "L3", "L7"), None)


REFUSING = """
class Refusing:
    def compose(self, event, count=1):
        raise NotImplementedError("no event at all")

    def get_epsilon(self, target_delta):
        return 1.0
"""


@pytest.mark.parametrize(
    ("name", "reason"),
    [("mine:Refusing", "no event at all"), ("mine:Mine", "")],
)
def test_exit_code_3_where_nothing_is_checked(cli, mine, name, reason):
    (mine / "mine.py").write_text(MINE + REFUSING)
    laws = "L6" if name == "mine:Mine" else "L1"
    words = f"{COMMAND} {name} --laws {laws} --relation replace-one --max-examples 1"
    outcome = cli(words)
    assert outcome.code == 3
    assert outcome.out.startswith(f"{name}: nothing was checked: no question was answered (")
    assert outcome.err.startswith(f"dp2theory: {name}: nothing was checked: no question was ans")
    assert outcome.err.count("\n") == 1
    assert reason in outcome.err
    document = cli(words, "--json").document
    assert document["status"] == "unchecked"
    assert document["result"]["answered"] is False
    assert cli(words, "--quiet").out == "0\n"


@pytest.mark.usefixtures("stand", "mine")
def test_json_keeps_to_its_schema(cli):
    outcome = cli(f"{COMMAND} mine:Mine --json --relation replace-one --seed 7")
    assert outcome.code == 3
    document = outcome.document
    assert document["status"] == "violated"
    assert document["result"] == json.loads(json.dumps(made_report(LAWS, seed=7).to_json()))
    assert document["result"]["ok"] is False
    inputs = {name: entry["value"] for name, entry in document["inputs"].items()}
    assert inputs == {
        "accountant": "mine:Mine",
        "laws": ",".join(LAWS),
        "relation": "replace-one",
        "seed": 7,
        "max_examples": 25,
        "cpu_budget": 30.0,
    }
    assert [name for name, entry in document["inputs"].items() if entry["default"]] == [
        "laws",
        "max_examples",
        "cpu_budget",
    ]
    fine = cli(f"{COMMAND} mine:ForReplacing --json --laws L1")
    assert (fine.code, fine.document["status"]) == (0, "ok")
    assert fine.document["inputs"]["relation"] == {
        "value": "replace-one",
        "unit": "name",
        "default": True,
    }


BROKEN = [
    lambda d: d.update(status="perhaps"),
    lambda d: d["result"].pop("suspects"),
    lambda d: d["result"].update(results=[]),
    lambda d: d["result"]["results"][0].update(verdict="fine"),
    lambda d: d["result"]["results"][0].update(relation="replace-one"),
    lambda d: d["result"]["understatements"][0].pop("confirmed_by"),
    lambda d: d["result"]["understatements"][0].update(oracle={"lower": 1.0}),
    lambda d: d["result"]["understatements"][0]["case"].update(relation="SIDEWAYS"),
    lambda d: d["result"]["understatements"][0]["case"].update(code=""),
]


@pytest.mark.parametrize("change", BROKEN)
@pytest.mark.usefixtures("stand", "mine")
def test_the_schema_bites(cli, change):
    document = cli(f"{COMMAND} mine:Mine --json").document
    change(document)
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


@pytest.mark.usefixtures("stand", "mine")
def test_quiet_prints_the_number_of_confirmed_violations(cli):
    outcome = cli(f"{COMMAND} mine:Mine --quiet")
    assert (outcome.code, outcome.out) == (3, "3\n")
    outcome = cli(f"{COMMAND} mine:Mine --quiet --laws L1,L3")
    assert (outcome.code, outcome.out) == (0, "0\n")


@pytest.mark.usefixtures("stand")
def test_report_is_one_page(cli, mine):
    outcome = cli(f"{COMMAND} mine:Mine --report audit.html")
    assert outcome.code == 3
    assert "written: audit.html" in outcome.out
    page = (mine / "audit.html").read_text(encoding="utf-8")
    assert "<img src=" in page
    assert "Audit of mine:Mine" in page
    assert "://" not in page
    assert sorted(path.name for path in mine.iterdir() if path.is_file()) == [
        "audit.html",
        "mine.py",
    ]


@pytest.mark.usefixtures("mine")
def test_progress_is_on_stderr(cli, stand, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    outcome = cli(f"{COMMAND} mine:Mine --laws L1,L8")
    assert "auditing mine:Mine" in outcome.err
    assert "auditing" not in outcome.out
    outcome = cli(f"{COMMAND} mine:Mine --laws L1,L8 --quiet")
    assert outcome.err == ""
    assert len(stand) == 2


def test_the_path_is_left_as_it_was(cli, mine):
    before = list(sys.path)
    cli(f"{COMMAND} nowhere:Mine").refused(2, "nowhere")
    assert sys.path == before
    assert str(mine) not in sys.path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", ("MODULE:CLASS", "--list")),
        ("no-such-name", ("no-such-name", "MODULE:CLASS", "ours-exact")),
        ("mine:Yours", ("mine", "Yours")),
        ("broken:Mine", ("broken:Mine", "ZeroDivisionError: division by zero")),
        ("leaving:Mine", ("leaving:Mine", "SystemExit")),
        ("mine:Mine --laws L1,L99", ("L99", "L1, L2")),
        ("mine:Mine --relation sideways", ("sideways", "replace-one, replace-special")),
        ("mine:ForReplacing --relation replace-special", ("states answers for replace-one only",)),
        ("mine:Mine --seed -1", ("--seed -1", "whole number >= 0")),
        ("mine:Mine --max-examples -1", ("--max-examples -1",)),
        ("mine:Mine --cpu-budget nan", ("--cpu-budget nan",)),
        ("mine:Mine --cpu-budget -1", ("--cpu-budget -1",)),
        ("mine:Mine --max-examples many", ("--max-examples", "integer")),
        ("mine:Mine --report nowhere/audit.html", ("--report nowhere/audit.html",)),
        ("--list mine:Mine", ("mine:Mine", "--list")),
        ("--list --laws L1", ("--laws", "--list")),
    ],
)
def test_refusals_in_one_line(cli, mine, words, told):
    (mine / "broken.py").write_text("1 / 0")
    (mine / "leaving.py").write_text("raise SystemExit(0)")
    cli(COMMAND, words).refused(2, *told)


@pytest.mark.usefixtures("mine")
def test_missing_packages_are_told_in_one_line(cli, monkeypatch):
    absent = [name for name in adapters.names() if name not in adapters.installed()]
    for name in absent[:1]:
        cli(f"{COMMAND} {name}").refused(2, name, "package")
    monkeypatch.setitem(sys.modules, "flint", None)
    cli(f"{COMMAND} mine:Mine").refused(2, "python-flint", "dp2theory[certify]")


@pytest.mark.usefixtures("stand")
def test_what_a_module_prints_is_no_result(cli, mine):
    talkative = "import warnings\nprint('hello')\nwarnings.warn('old')\nfrom mine import Mine\n"
    (mine / "talkative.py").write_text(talkative)
    outcome = cli(f"{COMMAND} talkative:Mine --json --laws L1")
    assert outcome.document["status"] == "ok"
    assert outcome.err == "hello\n"


def test_list(cli):
    outcome = cli(f"{COMMAND} --list")
    assert (outcome.code, outcome.err) == (0, "")
    for name in adapters.names():
        assert f"\n{name} " in f"\n{outcome.out}"
    for law in catalogue.laws().values():
        assert f"{law.title}: {law.statement}" in outcome.out
    result = cli(f"{COMMAND} --list --json").document["result"]
    known = {entry["name"]: entry for entry in result["accountants"]}
    assert set(known) == set(adapters.names())
    assert known["ours-exact"]["installed"] is True
    assert known["opacus-rdp"]["package"] == "opacus"
    assert [law["id"] for law in result["laws"]] == list(catalogue.laws())
    absent = {"name": "x", "package": None, "version": None, "installed": False}
    assert "not installed" in _audit_text.list_text({"accountants": [absent], "laws": []})


HALVED = """
from accountants import ExactAccountant


class Halved(ExactAccountant):
    def get_epsilon(self, target_delta):
        return super().get_epsilon(target_delta) / 2
"""


def outside(folder, *words):
    """The program as a process of its own, started in `folder`."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    start = "import sys; sys.path.pop(0); from dp2theory.cli.app import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", start, COMMAND, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


def test_a_wrong_accountant_of_this_folder_ends_with_exit_code_3(tmp_path):
    (tmp_path / "mine.py").write_text(HALVED)
    words = "mine:Halved --laws L10 --relation add-or-remove-one --max-examples 0 --json"
    run = outside(tmp_path, *words.split(), "--report", "audit.html")
    assert run.returncode == 3, run.stderr
    assert run.stderr.count("\n") == 1
    document = json.loads(run.stdout)
    worst = document["result"]["understatements"][0]
    assert worst["confirmed_by"]
    assert worst["value"] == pytest.approx(worst["oracle"]["upper"] / 2, rel=1e-6)
    assert (tmp_path / "audit.html").stat().st_size > 10_000


def test_ours_holds(cli):
    outcome = cli(f"{COMMAND} ours-exact --laws L10 --relation replace-one --max-examples 0 --json")
    assert outcome.code == 0
    (result,) = outcome.document["result"]["results"]
    assert (result["law"], result["verdict"]) == ("L10", "holds")


@pytest.mark.parametrize("words", ["dp-accounting-rdp --laws L1", "--list"])
def test_without_ball_arithmetic_the_extra_is_named(words: str) -> None:
    code = (
        "import sys; sys.modules['flint'] = None\n"
        "from dp2theory.cli.app import main\n"
        f"sys.exit(main(['audit-accountant', *{words!r}.split()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "dp2theory[certify]" in done.stderr
