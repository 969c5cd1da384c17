"""Problems by name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dp2theory.problems.registry import get_problem, problem_names, takes_option


def test_every_listed_name_is_known() -> None:
    assert {"text", "movielens-small", "movielens-100k", "digits", "breast-cancer"} <= set(
        problem_names()
    )
    assert {"het", "hetA", "hetB", "hetC", "hetD", "hetM", "syn", "tags"} <= set(problem_names())
    assert {"least-absolute-deviations", "huber", "quadratic"} <= set(problem_names())


@pytest.mark.parametrize("name", ["huber", "quadratic", "least-absolute-deviations", "syn", "tags"])
def test_names_agree(name: str) -> None:
    assert get_problem(name).name == name


def test_spelled_het_and_seed_override() -> None:
    spelled = "het:n=60,d=12,amin=1/20,avg=4,seed=1"
    first, weights = get_problem(spelled), np.linspace(-1, 1, 13)
    assert first.name == spelled
    assert first.loss(weights) == get_problem("het:seed=1,avg=4,n=60,d=12,amin=0.05").loss(weights)
    assert get_problem(spelled, seed=2).loss(weights) != first.loss(weights)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nope", {}, "problem='nope' is unknown; known are text, .*hetM"),
        (3, {}, "name=3 must be one of text"),
        ("het:", {}, "must give each of n, d, amin, avg, seed once"),
        ("het:n=5,d=4", {}, "lacks amin"),
        ("het:n=5,n=6", {}, "holds 'n=6'"),
        ("het:n=x,d=4,amin=1,avg=1,seed=0", {}, "holds n='x', must be a number"),
        ("het:n=5,d=4,amin=1/0,avg=1,seed=0", {}, "holds amin='1/0'"),
        ("huber", {"path": "u.data"}, "path='u.data' is not an option of problem 'huber'"),
        ("hetM", {"dimension": 5}, "dimension=5 is not an option of problem 'hetM'"),
        ("huber", {"n": 3}, "n=3 must be even"),
        ("huber", {"threshold": -1.0}, r"threshold=-1\.0 must be a finite number > 0"),
        ("quadratic", {"strong_convexity": 3.0}, r"strong_convexity=3\.0 must be <= smoothness"),
        ("movielens-100k", {}, "path=None: problem 'movielens-100k' needs the path"),
        ("movielens-100k", {"path": "/nonexistent"}, "path='/nonexistent' must be an existing"),
    ],
)
def test_bad_requests(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_problem(name, **options)  # type: ignore[arg-type]


def test_options_by_name() -> None:
    assert takes_option("movielens-100k", "path")
    assert takes_option("text", "dimension")
    assert takes_option("hetM", "avg")
    assert not takes_option("hetM", "path")
    assert not takes_option("hetM", "name")
    with pytest.raises(ValueError, match="unknown; known are"):
        takes_option("nope", "path")


def test_importing_the_registry_is_cheap() -> None:
    heavy = "('scipy.sparse', 'pandas', 'sklearn', 'dp_accounting', 'matplotlib')"
    code = (
        f"import sys, dp2theory.problems.registry; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
