"""Each tool of `make test` is shown to catch what it is there for, and to pass the innocent."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.repo.project import PACKAGES, ROOT, run

CONFIG = ROOT / "pyproject.toml"


def ruff_check(path):
    return run("module:ruff", "check", "--no-cache", "--config", CONFIG, path)


INNOCENT = '"""A module."""\n\n\ndef double(number: float) -> float:\n    return 2 * number\n'


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ("import os\n", "F401"),
        ("def f():\n    return undefined_name\n", "F821"),
        ("def f(values=[]):\n    return values\n", "B006"),
        ("print('left over')\n", "T201"),
        ("import numpy as np\n\nnp.random.rand(3)\n", "NPY002"),
        ("import dp_accounting\n\nx = dp_accounting.rdp.RdpAccountant()\n", "TID251"),
        ("from dp_accounting import pld\n\nx = pld.PLDAccountant()\n", "TID251"),
        ("x = 1  " + "# far" * 30 + "\n", "E501"),
    ],
)
def test_ruff_catches(tmp_path, planted, rule):
    module = tmp_path / "planted.py"
    module.write_text(planted)
    result = ruff_check(module)
    assert result.returncode == 1
    assert rule in result.stdout


def test_ruff_passes_the_innocent(tmp_path):
    module = tmp_path / "innocent.py"
    module.write_text(INNOCENT)
    assert ruff_check(module).returncode == 0


def test_ruff_format_catches(tmp_path):
    def check(text):
        module = tmp_path / "module.py"
        module.write_text(text)
        return run("module:ruff", "format", "--no-cache", "--config", CONFIG, "--check", module)

    assert check(INNOCENT).returncode == 0
    assert check(INNOCENT.replace("2 * number", "2*number")).returncode == 1


# One run for all: most of its time goes into reading the packages.
TYPED = '''"""Planted."""
from accountants.sampling import Poisson
from dp2theory.cli._exit import ExitCode, fail

def untyped(x): return x
def wrong() -> int: return "one"
def innocent() -> float: return Poisson(0.5).sampling_probability
def of_the_package() -> None: Poisson(sampling_probability="often")
def after() -> None: fail("stop", code="four")
'''


def test_type_checker_catches(tmp_path):
    module = tmp_path / "planted.py"
    module.write_text(TYPED)
    result = run("module:mypy", "--config-file", CONFIG, "--cache-dir", tmp_path / "c", module)
    assert result.returncode == 1, result.stdout + result.stderr
    caught = {
        int(line.split(":")[1]) for line in result.stdout.splitlines() if "planted.py" in line
    }
    assert caught == {5, 6, 8, 9}, result.stdout


PLANTED_IMPORTS = {
    "upward": ("accountants/planted.py", "import dp2theory.problems", "A row imports rows below"),
    "sideways": ("bounds/planted.py", "import accountants.bracket", "A row imports rows below"),
    "against the rows": (
        "dp2theory/problems/planted.py",
        "def f():\n    from dp2theory.optimizers import protocol",
        "A row imports rows below",
    ),
    "pictures": ("accountants/planted.py", "import matplotlib.pyplot", "The libraries know no"),
    "command line": ("bounds/planted.py", "import typer", "The libraries know no"),
    "tables": ("accountants/exact/planted.py", "from rich import table", "The libraries know no"),
    "theorems": ("bounds/planted.py", "import dp_accounting", "The theorems need no"),
    "borrowed rdp": (
        "accountants/exact/planted.py",
        "def f():\n    from dp_accounting import rdp",
        "No number comes from",
    ),
    "borrowed pld": (
        "dp2theory/planning/planted.py",
        "from dp_accounting.pld import privacy_loss_distribution",
        "No number comes from",
    ),
    "flint": ("accountants/planted.py", "import flint", "Ball arithmetic stays"),
    "hypothesis": ("accountants/planted.py", "import hypothesis", "Ball arithmetic stays"),
    "z3 in a theorem": (
        "bounds/dp2/planted.py",
        "def f():\n    import z3",
        "z3 and ball arithmetic stay in the rules",
    ),
    "balls in evaluation": (
        "bounds/planted.py",
        "from flint import arb",
        "z3 and ball arithmetic stay in the rules",
    ),
    "computing report": (
        "dp2theory/report/planted.py",
        "from dp2theory.optimizers import protocol",
        "The report draws",
    ),
}


def lint_imports(tree: Path):
    # The console script beside this interpreter: import-linter has no `python -m` form.
    return run(Path(sys.executable).with_name("lint-imports"), "--no-cache", cwd=tree)


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the packages in which modules can be planted."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copy(CONFIG, copy)
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return copy


def test_import_linter_passes_the_tree(tree):
    result = lint_imports(tree)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("kind", PLANTED_IMPORTS)
def test_import_linter_catches(tree, kind):
    place, code, contract = PLANTED_IMPORTS[kind]
    module = tree / place
    module.write_text(f'"""Planted."""\n\n{code}\n')
    try:
        result = lint_imports(tree)
    finally:
        module.unlink()
    assert result.returncode == 1, result.stdout + result.stderr
    broken = [line for line in result.stdout.splitlines() if " BROKEN" in line]
    assert any(line.startswith(contract) for line in broken), result.stdout


def test_warnings_fail_a_test(tmp_path):
    module = tmp_path / "test_planted.py"
    module.write_text(
        "import warnings\n\ndef test_quiet(): pass\n\n"
        "def test_warns(): warnings.warn('old', DeprecationWarning)\n"
    )
    result = run(
        "module:pytest", "-c", CONFIG, "--rootdir", tmp_path, "-p", "no:cacheprovider", module
    )
    assert result.returncode == 1
    assert "1 failed, 1 passed" in result.stdout
