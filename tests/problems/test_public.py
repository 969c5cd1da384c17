"""Splitting off public records: who is where, and what is computed of the public ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dp2theory.problems.convex import QuadraticProblem
from dp2theory.problems.protocol import Constants, Problem
from dp2theory.problems.public import Divisible, PublicData, split_public
from tests.problems.small import PROBLEMS


def whole_sum(problem: Problem, parameters: np.ndarray) -> np.ndarray:
    everybody = np.arange(problem.dataset_size)
    return problem.clipped_gradient_sum(parameters, everybody, clip_norm=math.inf)


def check_split(problem: Problem, split: Any = split_public) -> None:
    """Every record is in exactly one of the two parts, and no test record is public."""
    private, public = split(problem, 0.3, seed=5)
    n = problem.dataset_size
    assert public.dataset_size == round(0.3 * n)
    assert private.dataset_size + public.dataset_size == n
    assert private.dimension == public.dimension == problem.dimension
    parameters = np.random.default_rng(1).standard_normal(problem.dimension)
    parts = whole_sum(private, parameters) + whole_sum(public.problem, parameters)
    whole = whole_sum(problem, parameters)
    np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-9 * np.max(np.abs(whole)))
    for name in ("rows", "splits", "targets"):
        if hasattr(public.problem, name):
            assert set(getattr(public.problem, name)) == {"train"}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_can_be_split(name: str) -> None:
    problem = PROBLEMS[name]()
    assert isinstance(problem, Divisible)
    check_split(problem)
    private, public = split_public(problem, 0.4)
    assert private.name == problem.name
    start = private.initial_parameters(np.random.default_rng(0))
    assert private.metrics(start).keys() == problem.metrics(start).keys()
    assert public.describe() == {
        "source": f"{public.dataset_size} of the {problem.dataset_size} train records of "
        f"{problem.name}, chosen with seed 0",
        "records": public.dataset_size,
        "dimension": problem.dimension,
    }


def _keeps_public_records(problem: Any, share: float, *, seed: int) -> Any:
    return problem, split_public(problem, share, seed=seed)[1]


def _swaps(problem: Any, share: float, *, seed: int) -> Any:
    private, public = split_public(problem, share, seed=seed)
    return public.problem, PublicData(private, public.source)


def _with_test_records(problem: Any, share: float, *, seed: int) -> Any:
    private, public = split_public(problem, share, seed=seed)
    count = public.dataset_size
    order = np.random.default_rng(seed).permutation(problem.dataset_size)
    return private, PublicData(problem.subset(order[:count]), public.source)


@pytest.mark.parametrize("broken", [_keeps_public_records, _swaps, _with_test_records])
def test_the_check_catches_wrong_splits(broken: Any) -> None:
    with pytest.raises(AssertionError):
        check_split(PROBLEMS["het"](), broken)


def test_splits_depend_on_the_seed_alone() -> None:
    problem = PROBLEMS["het"]()
    point = np.ones(problem.dimension)
    sums = [whole_sum(split_public(problem, 0.3, seed=s)[0], point) for s in (1, 1, 2)]
    np.testing.assert_array_equal(sums[0], sums[1])
    assert np.any(sums[0] != sums[2])


def test_private_and_public_share_no_memory() -> None:
    problem = PROBLEMS["quadratic"]()
    private, public = split_public(problem, 0.3)
    assert isinstance(private, QuadraticProblem)
    assert isinstance(public.problem, QuadraticProblem)
    assert not np.shares_memory(private.centres, public.problem.centres)
    assert not np.shares_memory(problem.centres, public.problem.centres)


def test_constants_of_a_part_are_its_own() -> None:
    problem = PROBLEMS["quadratic"]()
    part = split_public(problem, 0.3)[0]
    assert isinstance(part, QuadraticProblem)
    best = part.loss(part.centres.mean(axis=0))
    assert part.constants.optimal_value == pytest.approx(best, rel=1e-12)
    huber = split_public(PROBLEMS["huber"](), 0.3)[0]
    # The minimiser was that of the pairs; a record's gradient is no larger than it was.
    assert huber.constants == Constants(lipschitz=PROBLEMS["huber"]().constants.lipschitz)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, math.nan, 1e-9, 1 - 1e-9])
def test_bad_shares_are_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        split_public(PROBLEMS["het"](), share)


def test_problems_without_subsets_are_refused() -> None:
    class Whole:
        name = "whole"

    with pytest.raises(ValueError, match="cannot be split"):
        split_public(Whole(), 0.5)  # type: ignore[arg-type]


def test_batches_walk_through_the_public_records() -> None:
    public = split_public(PROBLEMS["quadratic"](), 0.5)[1]  # 10 records
    inner = public.problem
    point = np.ones(public.dimension)

    def mean(records: list[int]) -> np.ndarray:
        batch = np.asarray(records)
        return inner.clipped_gradient_sum(point, batch, clip_norm=math.inf) / batch.size

    np.testing.assert_allclose(public.gradient(point, 4, 0), mean([0, 1, 2, 3]))
    np.testing.assert_allclose(public.gradient(point, 4, 2), mean([8, 9, 0, 1]))
    np.testing.assert_allclose(public.gradient(point, 99, 3), mean(list(range(10))))


@pytest.mark.parametrize("name", ["het", "tags", "quadratic", "ratings"])
def test_statistics_are_those_of_single_public_gradients(name: str) -> None:
    public = split_public(PROBLEMS[name](), 0.4)[1]
    matrix = np.stack(
        [
            public.problem.clipped_gradient_sum(public.start, np.array([i]), clip_norm=math.inf)
            for i in range(public.dataset_size)
        ]
    )
    np.testing.assert_allclose(public.squared_sum, np.sum(matrix**2, axis=0), rtol=1e-9)
    norms = np.linalg.norm(matrix**2, axis=1)
    assert public.squared_norm == pytest.approx(np.sqrt(np.mean(norms**2)))
    rank = np.linalg.matrix_rank(matrix)
    assert public.largest_rank == rank
    directions = public.directions(rank)
    np.testing.assert_allclose(directions @ directions.T, np.eye(rank), atol=1e-9)
    np.testing.assert_allclose(matrix @ directions.T @ directions, matrix, atol=1e-9)
    two = public.directions(2)
    kept = np.sum((matrix @ two.T) ** 2)
    assert kept == pytest.approx(np.sum(np.linalg.svd(matrix)[1][:2] ** 2))
    with pytest.raises(ValueError, match=f"rank={rank + 1}"):
        public.directions(rank + 1)
