"""`theorems`: the list, one theorem with its proof, and what happens when a proof fails."""

import subprocess
import sys

import pytest

from bounds import catalogue, listing
from bounds.proof import replay, tools
from tests.bounds.made import MADE, made_report

COMMAND = "theorems"


@pytest.fixture
def made(monkeypatch):
    """A catalogue of one theorem; `made(...)` changes the outcome of its replay."""
    outcome = {}
    monkeypatch.setattr(catalogue, "theorems", lambda: {MADE.id: MADE})
    (row,) = listing.rows_of("tests.bounds.made")
    monkeypatch.setattr(listing, "paper_map", lambda: [row | {"file": "bounds/dp2/made.py"}])

    def stand(theorem, **_options):
        assert theorem is MADE
        tools.load("z3")
        tools.load("flint")
        return made_report(**outcome)

    monkeypatch.setattr(replay, "replay", stand)
    monkeypatch.setattr(type(MADE), "evaluate", lambda _self, _name, **values: sum(values.values()))
    return outcome.update


@pytest.mark.usefixtures("made")
def test_list_shows_every_theorem_and_replays_nothing(cli, monkeypatch):
    monkeypatch.setattr(replay, "replay", lambda _theorem: pytest.fail("replayed"))
    outcome = cli(COMMAND)
    assert (outcome.code, outcome.err) == (0, "")
    line = outcome.out.splitlines()[2]
    assert line.split()[:3] == ["dp2.made", "upper", "recalled"]
    assert line.endswith(MADE.title)
    assert cli(f"{COMMAND} --quiet").out == "dp2.made\n"
    result = cli(f"{COMMAND} --json").document["result"]
    assert result["count"] == 1
    assert "proof" not in result["theorems"][0]


@pytest.mark.usefixtures("made")
def test_replaying_all(cli):
    outcome = cli(f"{COMMAND} --replay")
    assert (outcome.code, outcome.err) == (0, "")
    assert "rests on 2 assumed" in outcome.out
    (row,) = cli(f"{COMMAND} --replay --json").document["result"]["theorems"]
    assert row["proof"] == {
        "ok": True,
        "steps": 4,
        "assumed": ["known", "dp2.other: tail"],
        "failed": [],
        "seconds": 0.5,
    }
    assert cli(f"{COMMAND} --replay --quiet").out == "dp2.made rests on 2 assumed\n"


def test_a_failing_proof_is_exit_3_and_the_result_is_there(cli, made):
    made(ok=False, failed=("square",))
    outcome = cli(f"{COMMAND} --replay --json")
    assert outcome.code == 3
    assert outcome.err == "dp2theory: 1 of 1 proofs fail: dp2.made\n"
    assert outcome.document["status"] == "violated"
    assert outcome.document["result"]["theorems"][0]["proof"]["failed"] == ["square"]
    outcome = cli(f"{COMMAND} dp2.made")
    assert outcome.code == 3
    assert outcome.err == "dp2theory: dp2.made: its proof fails\n"
    assert "FAILS" in outcome.out
    assert "square: C = 2, g = 3" in outcome.out
    assert cli(f"{COMMAND} dp2.made --quiet").out == "dp2.made: the proof FAILS at square\n"


@pytest.mark.usefixtures("made")
def test_one_theorem_in_full(cli):
    outcome = cli(f"{COMMAND} dp2.made")
    assert (outcome.code, outcome.err) == (0, "")
    for words in (
        "upper; recalled: li2023dp2, Lemma 9; bounds/dp2/made.py",
        "Statement, for all j, t",
        "E(g(t, j)**2) <= C**2",
        "[code] clipped: gradients are clipped",
        "[you] noise: the noise is small",
        "expectation (Linearity) ok 0.125 monotone",
        "follows from what is assumed, not proved, in 4 steps and the proofs of dp2.other: known,",
        "unused assumptions: noise",
        "bound(gradient_bound)",
        "attained by g = C only",
        "Boucheron",
    ):
        assert words in " ".join(outcome.out.split())
    result = cli(f"{COMMAND} dp2.made --json").document["result"]
    assert result["statement"] == str(MADE.statement)
    assert result["proof"]["ok"] is True
    assert cli(f"{COMMAND} dp2.made --quiet").out.startswith(
        "dp2.made: follows from what is assumed, not proved, in 4 steps "
    )


def test_a_failure_of_the_proof_as_a_whole_is_told(cli, made):
    made(ok=False, problems=("the last conclusion is not the statement",))
    outcome = cli(f"{COMMAND} dp2.made")
    assert outcome.code == 3
    assert "the last conclusion is not the statement" in outcome.out


@pytest.mark.usefixtures("made")
def test_latex_is_the_statement_alone(cli):
    outcome = cli(f"{COMMAND} dp2.made --latex")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == MADE.latex() + "\n"


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_plot(cli, tmp_path, ending):
    path = tmp_path / f"bound.{ending}"
    assert cli(f"{COMMAND} dp2.made --quiet --plot {path}").code == 0
    assert path.stat().st_size > 2000


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("dp2.mode", ["dp2.mode", "dp2.made"]),
        ("--latex", ["--latex", "ID"]),
        ("--plot x.svg", ["--plot", "ID"]),
        ("dp2.made --replay", ["--replay", "list"]),
        ("dp2.made --latex --json", ["--json", "--latex"]),
        ("dp2.made --latex --quiet", ["--quiet", "--latex"]),
        ("dp2.made --plot x.pdf", ["x.pdf", ".svg"]),
        ("dp2.made --plot no/such/x.svg", ["no/such/x.svg", "folder"]),
    ],
)
def test_bad_input_is_one_line_and_exit_2(cli, words, told):
    cli(f"{COMMAND} {words}").refused(2, *told)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(("module", "package"), [("z3", "z3-solver"), ("flint", "python-flint")])
@pytest.mark.parametrize("words", ["--replay", "dp2.made", "dp2.made --json"])
def test_a_missing_decision_procedure_names_the_extra(cli, monkeypatch, module, package, words):
    monkeypatch.setitem(sys.modules, module, None)
    cli(f"{COMMAND} {words}").refused(2, package, "extra `prove`")
    assert cli(COMMAND).code == 0
    assert cli(f"{COMMAND} dp2.made --latex").code == 0


@pytest.mark.parametrize("words", [["--help"], ["--quiet"]])
def test_the_list_builds_no_theorem(words):
    code = (
        "import sys, typer.main; known = set(sys.modules); from dp2theory.cli.app import main; "
        f"main(['theorems', *{words!r}]); print(*set(sys.modules) - known, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout
    loaded = {name.partition(".")[0] for name in run.stderr.split()}
    assert not {"sympy", "numpy", "z3", "flint", "matplotlib"} & loaded, "run make theorems"
