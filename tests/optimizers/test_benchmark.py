"""The step benchmark judges: a small run, and exit code 3 when the bar is missed."""

from __future__ import annotations

import pytest

from benchmarks import optimizer_step
from dp2theory.problems.convex import quadratic


def test_rows_and_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest, problem = optimizer_step.measure, quadratic(640, 20)
    monkeypatch.setattr(optimizer_step, "get_problem", lambda name: problem)
    monkeypatch.setattr(optimizer_step, "measure", lambda p: honest(p, rounds=3))
    monkeypatch.setattr(optimizer_step, "BAR", 1e9)
    assert optimizer_step.main() == 0
    assert "MISSED" not in capsys.readouterr().out
    # On 20 coordinates a step costs far more than 20 normals.
    monkeypatch.setattr(optimizer_step, "BAR", 1.0)
    assert optimizer_step.main() == 3
    out = capsys.readouterr().out
    assert out.count("MISSED") == 1
    assert "DP2 step" in out


def test_the_unit_is_the_time_of_the_normals() -> None:
    rows = optimizer_step.measure(quadratic(640, 20), rounds=3)
    unit = rows[0].seconds
    assert rows[0].ratio == 1.0
    assert [row.ratio for row in rows] == [row.seconds / unit for row in rows]
    assert [row.bar for row in rows] == [None, None, optimizer_step.BAR]
