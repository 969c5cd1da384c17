"""The wheel, installed in a fresh environment outside the tree, is the whole project."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dp2theory import __version__
from tests.repo.project import PACKAGES, project_files, run
from tests.repo.project import ROOT as SOURCE


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built with the build backend of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    # -I: the build sees this environment's packages, not the current folder's.
    built = run(
        sys.executable, "-I", "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, SOURCE
    )
    assert built.returncode == 0, built.stdout + built.stderr
    wheels = list(folder.glob("*.whl"))
    assert [path.name for path in wheels] == [f"dp2theory-{__version__}-py3-none-any.whl"]
    return wheels[0]


def test_wheel_holds_the_packages_whole_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    packed = {name for name in names if ".dist-info/" not in name}
    wanted = {
        path.relative_to(SOURCE).as_posix()
        for path in project_files()
        if path.relative_to(SOURCE).parts[0] in PACKAGES
    }
    assert packed == wanted
    assert {f"{package}/py.typed" for package in PACKAGES} <= packed
    assert any(name.endswith("licenses/LICENSE") for name in names)


LOOK = (
    f"PACKAGES = {PACKAGES!r}\n"
    + """
import importlib, json, sys
from importlib.metadata import version
from importlib.resources import files

places = {name: importlib.import_module(name).__file__ for name in PACKAGES}
schemas = sorted(entry.name for entry in files("dp2theory").joinpath("schemas").iterdir())
from accountants import ExactAccountant
from dp2theory.problems.registry import problem_names
print(json.dumps({"places": places, "schemas": schemas, "version": version("dp2theory"),
                  "problems": problem_names(), "accountant": ExactAccountant.__name__}))
"""
)


def test_fresh_install_works_without_extras(wheel, tmp_path):
    environment = tmp_path / "environment"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    # the pip of this environment installs: unpacking another one takes seconds
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / "python"
    # --no-compile: bytecode of all dependencies would take longer than what is tested here
    install = ["--python", python, "install", "--quiet", "--no-compile", wheel]
    installed = run(sys.executable, "-m", "pip", *install, cwd=elsewhere)
    assert installed.returncode == 0, installed.stdout + installed.stderr

    looked = run(python, "-I", "-c", LOOK, cwd=elsewhere)
    assert looked.returncode == 0, looked.stderr
    seen = json.loads(looked.stdout)
    assert seen["version"] == __version__
    assert all(Path(place).is_relative_to(environment) for place in seen["places"].values())
    assert {"account.json", "calibrate.json"} <= set(seen["schemas"])
    assert {"text", "hetM"} <= set(seen["problems"])

    helped = run(scripts / "dp2theory", "--help", cwd=elsewhere)
    assert helped.returncode == 0
    assert "calibrate" in helped.stdout
    accounted = run(
        scripts / "dp2theory",
        *"account --json --dataset-size 99 --batch-size 9 --steps 5 --noise-multiplier 1".split(),
        cwd=elsewhere,
    )
    assert accounted.returncode == 0, accounted.stderr
    assert json.loads(accounted.stdout)["result"]["epsilon"]["upper"] > 0
    # a missing extra is the user's to mend: exit 2, and the line names it
    missing = run(
        scripts / "dp2theory",
        *"plan --problem text --batch-size 256 --epochs 1 --epsilon 2.8".split(),
        cwd=elsewhere,
    )
    assert missing.returncode == 2, missing.stderr
    assert missing.stdout == ""
    assert missing.stderr.count("\n") == 1
    assert "dp2theory[data]" in missing.stderr
