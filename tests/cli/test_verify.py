"""`verify` on the command line: table, JSON, files, and exit code 3."""

import json
from dataclasses import replace

import pytest
import sympy

from bounds import catalogue
from bounds.catalogue import theorem
from bounds.proof import tools
from dp2theory.cli import verify as command
from dp2theory.verification import verify as verification

COMMAND = "verify"
KEPT = "dp2.hermite"


def test_table_and_json(cli, tmp_path):
    out = tmp_path / "verified.json"
    outcome = cli(f"{COMMAND} {KEPT} dp2.phi.stationary --out {out}")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].split()[:3] == ["theorem", "kind", "proof"]
    assert lines[2].startswith(KEPT)
    assert "on a function of the delay, not on runs" in outcome.out
    assert "2 theorems, 0 violated" in outcome.out
    assert f"written: {out}" in outcome.out
    document = json.loads(out.read_text())
    assert document["command"] == COMMAND
    result = cli(f"{COMMAND} {KEPT} --json --quick").document["result"]
    assert [each["id"] for each in result["theorems"]] == [KEPT]
    assert result["theorems"][0]["verdict"] == "holds"
    assert cli(f"{COMMAND} {KEPT} --quiet").out == "0 of 1 violated\n"


@pytest.fixture
def wrong(monkeypatch):
    """The opposite; neither the proof nor any point fits."""
    right = theorem(KEPT)
    changed = replace(right, statement=sympy.Not(right.statement))
    monkeypatch.setattr(catalogue, "theorems", lambda: {KEPT: changed})
    monkeypatch.setattr("bounds.theorems", lambda: {KEPT: changed})


@pytest.mark.usefixtures("wrong")
def test_a_violation_is_named(cli):
    outcome = cli(f"{COMMAND} {KEPT}")
    assert outcome.code == 3
    assert outcome.err.startswith(f"dp2theory: violated: {KEPT}: ")
    assert outcome.err.count("\n") == 1
    assert "VIOLATED" in outcome.out
    assert cli(f"{COMMAND} {KEPT} --json").document["status"] == "violated"
    assert cli(f"{COMMAND} {KEPT} --quiet").out == f"1 of 1 violated: {KEPT}\n"


def test_processes_are_started_where_they_pay():
    assert command._worthwhile("process:1000", "quick", 7) == "serial"
    assert command._worthwhile("process:4", "quick", 180) == "process:4"
    assert command._worthwhile("process:1000", "quick", 180) == "process:18"
    assert command._worthwhile("process:4", "full", 7) == "process:4"
    assert command._worthwhile("serial", "quick", 180) == "serial"


def test_an_interrupt_keeps_what_is_known(cli, tmp_path, monkeypatch):
    carried = verification._carry_out

    def stopped(unit, known, done):
        if unit.name == "dp2.phi.stationary":
            raise KeyboardInterrupt
        return carried(unit, known, done)

    monkeypatch.setattr(verification, "_carry_out", stopped)
    out, page = tmp_path / "verified.json", tmp_path / "verified.html"
    options = f"{KEPT} dp2.phi.stationary --out {out} --report {page}"
    outcome = cli(f"{COMMAND} {options}")
    assert outcome.code == 130
    assert outcome.err == "dp2theory: interrupted: 1 of 2 theorems have a verdict\n"
    assert "1 theorem, 0 violated" in outcome.out
    assert "interrupted, without a verdict: dp2.phi.stationary" in outcome.out
    assert json.loads(out.read_text())["status"] == "interrupted"
    assert "Interrupted" in page.read_text()
    assert cli(f"{COMMAND} {options} --json").document["status"] == "interrupted"


def test_refused(cli, tmp_path, monkeypatch):
    cli(f"{COMMAND} dp2.nothing").refused(2, "dp2.nothing")
    cli(f"{COMMAND} {KEPT} --quick --full").refused(2, "--quick", "--full")
    cli(f"{COMMAND} {KEPT} --seed -1").refused(2, "--seed -1")
    cli(f"{COMMAND} {KEPT} --executor threads").refused(2, "executor")
    cli(f"{COMMAND} {KEPT} --out {tmp_path / 'a.txt'}").refused(2, "--out", ".json")
    cli(f"{COMMAND} {KEPT} --out {tmp_path / 'none' / 'a.json'}").refused(2, "--out")

    def missing(name):
        raise tools.MissingTool(f"{name} is not installed")

    monkeypatch.setattr(tools, "load", missing)
    cli(f"{COMMAND} {KEPT}").refused(2, "z3")
