"""`python -m benchmarks` exits 3 on a missed bar, and passes over no benchmark that fails."""

import shutil
import sys

import pytest

from tests.repo.project import ROOT, run

OUTCOMES = {"fine": "0", "missed": "3", "broken": "1 / 0"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(ROOT / "benchmarks" / name, tmp_path / "benchmarks")
    for name, code in OUTCOMES.items():
        text = f"import os, sys\nassert os.environ['OMP_NUM_THREADS'] == '1'\nsys.exit({code})\n"
        (tmp_path / "benchmarks" / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (["fine"], 0),
        (["missed"], 3),
        (["fine", "missed"], 3),
        (["missed", "fine"], 3),
        (["broken"], 1),
        (["missed", "broken"], 1),
        ([], 1),
        (["fyne"], 2),
    ],
)
def test_exit_code(folder, wanted, code):
    result = run("module:benchmarks", *wanted, cwd=folder)
    assert result.returncode == code, result.stdout + result.stderr
    if code == 3:
        assert "missed: a bar is MISSED" in result.stdout


def test_the_projects_benchmarks_are_found():
    code = "from benchmarks.__main__ import names; print(*names())"
    found = run(sys.executable, "-c", code).stdout.split()
    assert "optimizer_step" in found
    assert "dp2_loop" in found
    assert not any(name.startswith("_") for name in found)


def test_a_bar_without_its_peer_is_said_not_to_have_run(folder):
    (folder / "benchmarks" / "alone.py").write_text("raise SystemExit(4)")
    result = run("module:benchmarks", "alone", cwd=folder)
    assert result.returncode == 0
    assert "alone: a bar was NOT RUN, its peer is not installed" in result.stdout
