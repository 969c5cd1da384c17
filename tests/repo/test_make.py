"""The Makefile's environment survives interruptions, and .ci/run reports what make reports.

A stand-in interpreter takes the place of Python, pip and every tool, so nothing is installed.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.repo.project import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")

# Logs its arguments; makes an environment whose python is itself; fails where FAIL matches.
STAND_IN = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in *"$FAIL"*) [ -n "$FAIL" ] && exit 7;; esac
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin"; for tool in python ruff mypy lint-imports; do
    cp "$0" "$3/bin/$tool"; done;;
esac
"""


class Workshop:
    """A folder with the Makefile, a pyproject.toml and the stand-in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.python = folder / "stand-in"
        shutil.copy(ROOT / "Makefile", folder)
        (folder / "pyproject.toml").write_text("# stand-in\n")
        self.python.write_text(STAND_IN.format(log=self.log))
        self.python.chmod(0o755)

    def make(self, *words: str, fail: str = "") -> tuple[int, list[str]]:
        """Run make; returns its exit code and what the stand-ins were asked to do."""
        self.log.write_text("")
        done = subprocess.run(
            ["make", f"PYTHON={self.python}", *words],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "FAIL": fail},
            capture_output=True,
            text=True,
        )
        asked = self.log.read_text().splitlines()
        return done.returncode, [line for line in asked if not line.startswith("-c ")]


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


def kinds(asked):
    return [
        "venv" if "venv" in line else "pip" for line in asked if "-m pip" in line or "venv" in line
    ]


def test_environment_is_made_once(workshop):
    code, asked = workshop.make("demo")
    assert code == 0
    assert kinds(asked) == ["venv", "pip"]
    assert asked[-1] == "-m dp2theory.demo"
    code, asked = workshop.make("demo")
    assert (code, asked) == (0, ["-m dp2theory.demo"])


def test_environment_follows_pyproject(workshop):
    workshop.make("demo")
    stamp = (workshop.folder / ".venv" / ".ready").stat().st_mtime
    os.utime(workshop.folder / "pyproject.toml", (stamp + 5, stamp + 5))
    _, asked = workshop.make("demo")
    assert kinds(asked) == ["pip"]


@pytest.mark.parametrize("step", ["-m venv", "-m pip"])
def test_interrupted_creation_is_begun_again(workshop, step):
    code, _ = workshop.make("demo", fail=step)
    assert code == 2
    leftover = workshop.folder / ".venv" / "half-made"
    leftover.parent.mkdir(exist_ok=True)
    leftover.touch()
    code, asked = workshop.make("demo")
    assert code == 0
    assert kinds(asked) == ["venv", "pip"]
    assert not leftover.exists()


def test_interrupted_update_is_taken_up_again(workshop):
    workshop.make("demo")
    stamp = (workshop.folder / ".venv" / ".ready").stat().st_mtime
    os.utime(workshop.folder / "pyproject.toml", (stamp + 5, stamp + 5))
    assert workshop.make("demo", fail="-m pip")[0] == 2
    code, asked = workshop.make("demo")
    assert (code, kinds(asked)) == (0, ["pip"])


def test_an_environment_of_the_user_is_kept(workshop):
    subprocess.run([workshop.python, "-m", "venv", ".venv"], cwd=workshop.folder, check=True)
    mine = workshop.folder / ".venv" / "mine"
    mine.touch()
    code, asked = workshop.make("demo")
    assert (code, kinds(asked)) == (0, ["pip"])
    assert mine.exists()


def test_test_runs_every_tool_and_stops_at_the_first_failure(workshop):
    code, asked = workshop.make("test")
    assert code == 0
    wanted = ["check .", "format --check .", "", ""]
    assert asked[-5:] == [*wanted, "-m pytest -n 2 --dist worksteal -m not slow"]
    _, asked = workshop.make("test", "WORKERS=0")
    assert asked[-1] == "-m pytest -n 0 --dist worksteal -m not slow"
    code, asked = workshop.make("test", fail="format --check")
    assert code == 2
    assert asked[-1] == "format --check ."


def test_the_environment_has_the_tools_of_proof(workshop):
    code, asked = workshop.make("theorems")
    assert code == 0
    (pip,) = (line for line in asked if "-m pip" in line)
    assert pip.endswith("--editable .[dev,data,certify,prove,scale]")
    assert asked[-1] == "-m tests.bounds.theorem_pages"
    assert workshop.make("mutants") == (0, ["-m tests.bounds.mutants_page"])
    code, asked = workshop.make("theorems", fail="theorem_pages")
    assert (code, asked) == (2, ["-m tests.bounds.theorem_pages"])


def test_notebooks_are_executed_one_by_one(workshop):
    (workshop.folder / "notebooks").mkdir()
    for name in ("one", "two"):
        (workshop.folder / "notebooks" / f"{name}.py").touch()
    code, asked = workshop.make("notebooks")
    assert code == 0
    (pip,) = (line for line in asked if "-m pip" in line)
    assert pip.endswith("--editable .[dev,data,certify,prove,scale,notebooks]")
    runs = [line for line in asked if line.startswith("-m jupytext")]
    assert [line.split()[-1] for line in runs] == ["notebooks/one.py", "notebooks/two.py"]
    assert all("--execute" in line for line in runs)
    code, asked = workshop.make("notebooks", fail="one.ipynb")
    assert code == 2
    assert asked[-1].endswith("notebooks/one.py")


def test_integrations_have_an_environment_of_their_own(workshop):
    code, asked = workshop.make("integrations")
    assert code == 0
    assert asked[0] == "-m venv .venv-integrations"
    torch, rest = (line for line in asked if "-m pip" in line)
    assert torch.endswith(" torch==2.13.0")
    assert rest.endswith("--editable .[dev,integrations]")
    assert asked[-1] == "-m tests.integrations"
    assert not (workshop.folder / ".venv").exists()
    code, asked = workshop.make("integrations", fail="tests.integrations")
    assert (code, asked) == (2, ["-m tests.integrations"])


def test_integrations_take_another_torch(workshop):
    _, asked = workshop.make("integrations", "TORCH=torch==2.12 --index-url file:///wheels")
    (torch, _) = (line for line in asked if "-m pip" in line)
    assert torch.endswith(" torch==2.12 --index-url file:///wheels")


def test_peers_have_an_environment_at_locked_versions(workshop):
    lock = workshop.folder / "tests" / "peers" / "requirements.txt"
    lock.parent.mkdir(parents=True)
    lock.touch()
    code, asked = workshop.make("peers")
    assert code == 0
    assert asked[0] == "-m venv .venv-peers"
    torch, locked, rest = (line for line in asked if "-m pip" in line)
    assert torch.endswith(" torch==2.13.0")
    assert locked.endswith(" --requirement tests/peers/requirements.txt")
    assert rest.endswith("--editable .[dev,certify]")
    assert asked[-2:] == ["-m pytest -m peers and not slow tests/peers", "-m tests.peers"]
    assert workshop.make("peers")[1] == asked[-2:]
    stamp = (workshop.folder / ".venv-peers" / ".ready").stat().st_mtime
    os.utime(lock, (stamp + 5, stamp + 5))
    assert len(kinds(workshop.make("peers")[1])) == 3


def test_old_interpreter_is_refused_with_advice(workshop):
    code, asked = workshop.make("demo", fail="-c")
    assert (code, asked) == (2, [])


@pytest.mark.parametrize("code", [0, 2])
def test_ci_calls_make_test_and_passes_its_exit_code(tmp_path, code):
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "in $PWD: make $*"\nexit {code}\n')
    make.chmod(0o755)
    done = subprocess.run(
        ["bash", ROOT / ".ci" / "run"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == code
    assert done.stdout == f"in {ROOT}: make test\n"
