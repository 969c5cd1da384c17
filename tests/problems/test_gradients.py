"""Clipped gradient sums of every problem class, against numerical gradients record by record."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from dp2theory.problems.linear import LinearProblem, Logistic
from dp2theory.problems.protocol import Problem
from dp2theory.problems.rows import SparseRows
from tests.problems.small import PROBLEMS, check_clipped_sum, repeated_entries, softmax


@pytest.mark.parametrize("name", PROBLEMS)
def test_sum_of_clipped_gradients(name: str) -> None:
    check_clipped_sum(PROBLEMS[name](), np.random.default_rng(7))


@pytest.mark.parametrize("name", PROBLEMS)
def test_problem_protocol_and_edges(name: str) -> None:
    problem = PROBLEMS[name]()
    assert isinstance(problem, Problem)
    start = problem.initial_parameters(np.random.default_rng(0))
    assert start.shape == (problem.dimension,)
    assert start.dtype == np.float64
    empty = problem.clipped_gradient_sum(
        start, np.array([], dtype=np.int64), clip_norm=1.0, preconditioner=np.ones(start.size)
    )
    assert empty.dtype == np.float64
    np.testing.assert_array_equal(empty, np.zeros(problem.dimension))
    assert problem.metrics(start)["train_loss"] == problem.loss(start)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_record_moves_the_sum_by_more_than_the_clip_norm(name: str) -> None:
    problem, rng = PROBLEMS[name](), np.random.default_rng(1)
    parameters = 3 * rng.standard_normal(problem.dimension)
    divisor = np.exp(3 * rng.standard_normal(problem.dimension))
    for record in range(problem.dataset_size):
        for preconditioner in (None, divisor):
            one = problem.clipped_gradient_sum(
                parameters, np.array([record]), clip_norm=0.05, preconditioner=preconditioner
            )
            assert np.linalg.norm(one) <= 0.05 * (1 + 1e-12)


def test_the_check_catches_clipping_before_the_preconditioner() -> None:
    class Wrong(LinearProblem):
        def clipped_gradient_sum(self, parameters, batch, *, clip_norm, preconditioner=None):  # type: ignore[no-untyped-def]
            total = super().clipped_gradient_sum(parameters, batch, clip_norm=clip_norm)
            return total if preconditioner is None else total / preconditioner

    good = repeated_entries()
    wrong = Wrong(good.name, good.rows, good.targets, good.point_loss)
    check_clipped_sum(good, np.random.default_rng(7))
    with pytest.raises(AssertionError):
        check_clipped_sum(wrong, np.random.default_rng(7))


def test_the_check_catches_clipping_of_the_sum() -> None:
    class Wrong(type(softmax())):  # type: ignore[misc]
        def clipped_gradient_sum(self, parameters, batch, *, clip_norm, preconditioner=None):  # type: ignore[no-untyped-def]
            total = super().clipped_gradient_sum(
                parameters, batch, clip_norm=np.inf, preconditioner=preconditioner
            )
            return total * min(1.0, clip_norm / np.linalg.norm(total))

    good = softmax()
    with pytest.raises(AssertionError):
        check_clipped_sum(Wrong(good.name, good.rows, good.targets, True), np.random.default_rng(7))


def _wide_problem() -> LinearProblem:
    n, d = 500, 50_000
    rng = np.random.default_rng(0)
    columns = rng.integers(d, size=(n, 10))
    pointers = np.arange(0, 10 * n + 1, 10)
    matrix = sparse.csr_array((np.ones(10 * n), columns.ravel(), pointers), shape=(n, d))
    return LinearProblem("wide", {"train": SparseRows(matrix)}, {"train": np.zeros(n)}, Logistic())


def test_sparse_data_stay_sparse() -> None:
    problem = _wide_problem()
    parameters, batch = np.zeros(problem.dimension), np.arange(500)
    tracemalloc.start()
    try:
        for preconditioner in (None, np.full(problem.dimension, 2.0)):
            problem.clipped_gradient_sum(
                parameters, batch, clip_norm=1.0, preconditioner=preconditioner
            )
        problem.loss(parameters)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A dense batch would take 200 MB; a few vectors of length d take 0.4 MB each.
    assert peak < 4e6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parameters": np.zeros(3)}, r"parameters has shape \(3,\), must be \(2,\)"),
        ({"batch": np.array([[0]])}, "batch has shape"),
        ({"batch": np.array([0.5])}, "batch has dtype float64"),
        ({"batch": np.array([-1])}, r"index -1, must lie in \[0, 2\]"),
        ({"batch": np.array([0, 3])}, r"index 3, must lie in \[0, 2\]"),
        ({"clip_norm": 0.0}, r"clip_norm=0\.0 must be a number > 0"),
        ({"clip_norm": float("nan")}, "clip_norm=nan must be a number > 0"),
        ({"preconditioner": np.ones(3)}, r"preconditioner has shape \(3,\)"),
        ({"preconditioner": np.array([1.0, 0.0])}, r"preconditioner has minimum 0\.0"),
        ({"preconditioner": np.array([1.0, np.nan])}, "preconditioner has minimum nan"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    good: dict[str, object] = {
        "parameters": np.zeros(2),
        "batch": np.array([0]),
        "clip_norm": 1.0,
        "preconditioner": None,
    }
    with pytest.raises(ValueError, match=message):
        repeated_entries().clipped_gradient_sum(**(good | arguments))  # type: ignore[arg-type]


def test_bad_split_and_bad_data() -> None:
    problem = repeated_entries()
    with pytest.raises(ValueError, match=r"split='test' must be one of \['train'\]"):
        problem.loss(np.zeros(2), split="test")
    with pytest.raises(ValueError, match="no entry in row 1"):
        SparseRows(sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0]])))
    with pytest.raises(ValueError, match="NaN or infinity"):
        SparseRows(sparse.csr_array(np.array([[1.0, np.nan]])))
    with pytest.raises(ValueError, match="one per row"):
        LinearProblem("bad", problem.rows, {"train": np.zeros(2)}, Logistic())


def test_extreme_logits_neither_overflow_nor_lose_the_loss() -> None:
    problem = repeated_entries()
    huge = np.full(2, 1e5)
    assert problem.loss(huge) == pytest.approx(6e5 / 3)  # only record 0 is wrong, by 6e5
    assert problem.loss(-huge) == pytest.approx(2e5 / 3)
