"""Small members of every problem class, and a per-record oracle for their gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy import sparse

from dp2theory.problems.convex import huber, least_absolute_deviations, quadratic
from dp2theory.problems.factorization import MatrixFactorization, Ratings
from dp2theory.problems.linear import LinearProblem, Logistic
from dp2theory.problems.multi_output import MultiOutputProblem
from dp2theory.problems.protocol import Array, Problem
from dp2theory.problems.rows import DenseRows, SparseRows
from dp2theory.problems.synthetic import het, syn, tags


def softmax() -> MultiOutputProblem:
    rng = np.random.default_rng(3)
    targets = np.eye(4)[rng.integers(4, size=30)]
    rows = DenseRows(rng.standard_normal((30, 5)))
    return MultiOutputProblem(
        "softmax", {"train": rows, "test": rows}, {"train": targets, "test": targets}, True
    )


def ratings() -> MatrixFactorization:
    rng = np.random.default_rng(4)
    part = Ratings(
        rng.integers(6, size=40), rng.integers(9, size=40), rng.integers(1, 6, size=40) * 1.0
    )
    return MatrixFactorization("ratings", {"train": part, "test": part}, 6, 9, factors=3)


def repeated_entries() -> LinearProblem:
    """A sparse matrix given with duplicate entries, which add up."""
    entries = ([1.0, 2.0, 3.0, 1.0, 1.0], ([0, 0, 0, 1, 2], [0, 0, 1, 1, 0]))
    rows = SparseRows(sparse.csr_array(sparse.coo_array(entries, shape=(3, 2))))
    return LinearProblem("repeats", {"train": rows}, {"train": np.array([0, 1.0, 1])}, Logistic())


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "het": lambda: het(60, 12, 0.05, 4, 1),
    "syn": lambda: syn(50, 30, 6, 2),
    "tags": lambda: tags(40, 15, 3, 4, 3),
    "softmax": softmax,
    "ratings": ratings,
    "least-absolute-deviations": lambda: least_absolute_deviations(20, 4, 1),
    "huber": lambda: huber(20, 4, 0.3, 1),
    "quadratic": lambda: quadratic(20, 4, 2.0, 0.5, 1),
    "repeats": repeated_entries,
}


def only_record(problem: Problem, record: int) -> Problem:
    """The same model on a single train record, so that `loss` is that record's loss."""
    if isinstance(problem, MatrixFactorization):
        train = problem.splits["train"]
        one = Ratings(*(part[[record]] for part in (train.users, train.items, train.values)))
        return dataclasses.replace(problem, splits={"train": one})
    if isinstance(problem, LinearProblem | MultiOutputProblem):
        features = problem.rows["train"].shape[1]
        row = DenseRows(problem.rows["train"].dot(np.eye(features))[[record]])
        target = problem.targets["train"][[record]]
        return dataclasses.replace(problem, rows={"train": row}, targets={"train": target})
    return dataclasses.replace(problem, centres=problem.centres[[record]])  # type: ignore[type-var]


def numerical_gradient(problem: Problem, parameters: Array, record: int) -> Array:
    """Central differences of one record's loss; they know nothing of the code's formulas."""
    single, h = only_record(problem, record), 1e-6
    steps = h * np.eye(parameters.size)
    return np.array(
        [(single.loss(parameters + s) - single.loss(parameters - s)) for s in steps]
    ) / (2 * h)


def check_clipped_sum(problem: Problem, rng: np.random.Generator) -> None:
    """Assert that `clipped_gradient_sum` is the sum of clipped numerical gradients."""
    parameters = 0.3 * rng.standard_normal(problem.dimension)
    batch = rng.integers(problem.dataset_size, size=8)
    batch = np.append(batch, batch[:2])  # repeats count as often as they occur
    preconditioner = np.exp(rng.standard_normal(problem.dimension))
    gradients = {int(i): numerical_gradient(problem, parameters, int(i)) for i in set(batch)}
    for divisor in (None, preconditioner):
        scaled = [gradients[int(i)] / (1.0 if divisor is None else divisor) for i in batch]
        norms = np.array([np.linalg.norm(g) for g in scaled])
        # A clip norm in the middle of the norms clips some records and leaves others.
        for clip in (float(np.median(norms)), 1e-3, np.inf):
            factors = np.minimum(1.0, clip / np.maximum(norms, 1e-12))
            expected = factors @ np.array(scaled)
            got = problem.clipped_gradient_sum(
                parameters, batch, clip_norm=clip, preconditioner=divisor
            )
            scale = 1e-7 + 2e-6 * float(np.abs(expected).max())
            np.testing.assert_allclose(got, expected, rtol=0, atol=scale)
