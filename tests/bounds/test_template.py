"""Copying the template makes a theorem: in the catalogue, proved, computed, drawn, on a page."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATE = Path(__file__).with_name("template.py")

LOOK = """
from sympy import Le
from bounds import catalogue, listing
from bounds.dp2.symbols import C, g
from bounds.operators import E
from bounds.symbols import j, t
from tests.bounds.theorem_pages import page_of, record
from bounds.curve import curve_points
from bounds.describe import describe
from dp2theory.cli.app import main

assert "dp2.example" in [row["id"] for row in listing.paper_map()]
theorem = catalogue.theorem("dp2.example")
report = theorem.replay()
assert report.ok, report.describe()
assert report.assumed == report.unused_steps == report.unused_assumptions == ()
assert theorem.evaluate(gradient_bound=3.0) == 9.0
assert curve_points(theorem)["series"]["bound"][-1] == 4.0
described = describe(theorem)
page = page_of(described, record(described, report))
assert "# dp2.example: Second moment" in page and "bounds/dp2/example.py" in page

halved = theorem.with_claim(Le(E(g(t, j) ** 2), C**2 / 2))
assert not halved.replay().ok and halved.counterexample() is not None
bare = theorem.without_assumption("clipped")
assert not bare.replay().ok and bare.counterexample() is not None
assert not theorem.without_step("square").replay().ok
assert theorem.counterexample() is None
assert main(["theorems", "dp2.example", "--quiet"]) == 0
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the packages, with the template as one more file of bounds/dp2."""
    copy = tmp_path_factory.mktemp("tree")
    for package in ("bounds", "dp2theory", "accountants", "tests/bounds"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, copy / package, ignore=ignored)
    (copy / "tests" / "__init__.py").touch()
    shutil.copy(TEMPLATE, copy / "bounds" / "dp2" / "example.py")
    return copy


def run(tree, *words):
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.run(
        [sys.executable, *words], cwd=tree, env=environment, capture_output=True, text=True
    )


def test_one_file_makes_a_theorem(tree):
    looked = run(tree, "-c", LOOK)
    assert looked.returncode == 0, looked.stderr
    assert looked.stdout == "dp2.example: proved; nothing assumed in 2 steps\n"


def test_the_template_is_the_one_that_contributing_shows():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"```python\n{TEMPLATE.read_text(encoding='utf-8')}```\n" in text
