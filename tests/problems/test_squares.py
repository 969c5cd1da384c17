"""Sums of squared gradients: every record's share, its clipping, and the histogram of norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp2theory.problems.convex import QuadraticProblem
from dp2theory.problems.factorization import MatrixFactorization
from dp2theory.problems.linear import LinearProblem
from dp2theory.problems.multi_output import MultiOutputProblem
from dp2theory.problems.protocol import Array, Constants, Problem
from dp2theory.problems.registry import get_problem
from dp2theory.problems.squares import (
    BIN_EDGES,
    BINS,
    SquaredGradients,
    clipped_squared_gradient_sum,
    norm_histogram,
    norm_quantile,
    squared_gradient_norms,
)
from tests.problems.small import PROBLEMS


def one_by_one(problem: Problem, parameters: Array, clip_norm: float) -> tuple[Array, Array]:
    """The sum and the norms from single gradients, squared and clipped by hand."""
    total, norms = np.zeros(problem.dimension), []
    for record in range(problem.dataset_size):
        gradient = problem.clipped_gradient_sum(parameters, np.array([record]), clip_norm=np.inf)
        squares = gradient**2
        norm = float(np.sqrt(np.sum(squares**2)))
        total += squares * min(1.0, clip_norm / norm) if norm > 0 else squares
        norms.append(norm)
    return total, np.asarray(norms)


def check_squares(problem: Problem) -> None:
    rng = np.random.default_rng(7)
    parameters = rng.standard_normal(problem.dimension)
    everybody = np.arange(problem.dataset_size)
    norms = one_by_one(problem, parameters, np.inf)[1]
    np.testing.assert_allclose(
        squared_gradient_norms(problem, parameters, everybody), norms, rtol=1e-9, atol=1e-300
    )
    for clip_norm in (np.inf, float(np.median(norms)), 0.01 * float(np.max(norms))):
        expected = one_by_one(problem, parameters, clip_norm)[0]
        got = clipped_squared_gradient_sum(problem, parameters, everybody, clip_norm=clip_norm)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12 * np.max(expected))


@pytest.mark.parametrize("name", PROBLEMS)
def test_sums_and_norms_of_squared_gradients(name: str) -> None:
    problem = PROBLEMS[name]()
    assert isinstance(problem, SquaredGradients)
    check_squares(problem)


@pytest.mark.parametrize("name", ["digits", "breast-cancer"])
def test_problems_of_the_registry_need_no_fallback(name: str) -> None:
    pytest.importorskip("sklearn")
    assert isinstance(get_problem(name), SquaredGradients)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_record_adds_at_most_the_clip_norm_and_the_worst_case_is_attained(name: str) -> None:
    problem = PROBLEMS[name]()
    parameters = np.random.default_rng(1).standard_normal(problem.dimension)
    everybody = np.arange(problem.dataset_size)
    norms = squared_gradient_norms(problem, parameters, everybody)
    clip_norm = 0.5 * float(np.max(norms))
    added = [
        np.linalg.norm(
            clipped_squared_gradient_sum(problem, parameters, everybody[i : i + 1],
                                         clip_norm=clip_norm)
        )
        for i in everybody
    ]  # fmt: skip
    assert max(added) <= clip_norm * (1 + 1e-12)
    assert max(added) >= clip_norm * (1 - 1e-12)
    whole = clipped_squared_gradient_sum(problem, parameters, everybody, clip_norm=clip_norm)
    less = clipped_squared_gradient_sum(problem, parameters, everybody[1:], clip_norm=clip_norm)
    np.testing.assert_allclose(np.linalg.norm(whole - less), added[0], rtol=1e-6, atol=1e-12)


def axis_records(positions: list[int], dimension: int = 4, size: float = 10.0) -> QuadraticProblem:
    """At 0, record i has gradient `size` along one axis, hence g_i^2 far beyond any clip norm."""
    centres = np.zeros((len(positions), dimension))
    centres[np.arange(len(positions)), positions] = -size
    return QuadraticProblem("axes", centres, np.ones(dimension), Constants())


def test_replacing_a_record_moves_the_sum_by_at_most_root_two_clip_norms() -> None:
    # Squares are not negative, so that two vectors of norm C0 are at most sqrt(2) C0 apart.
    one, other, zero = axis_records([0, 1, 1]), axis_records([0, 1, 2]), np.zeros(4)
    everybody, c0 = np.arange(3), 0.3
    sums = [clipped_squared_gradient_sum(p, zero, everybody, clip_norm=c0) for p in (one, other)]
    assert np.linalg.norm(sums[0] - sums[1]) == pytest.approx(np.sqrt(2) * c0, rel=1e-12)
    counts = norm_histogram(one, zero, everybody)
    assert counts.sum() == 3
    assert np.linalg.norm(counts - norm_histogram(one, zero, everybody[:2])) == 1.0


@pytest.mark.parametrize("name", ["het", "softmax", "ratings", "quadratic"])
def test_empty_batches_and_repeats(name: str) -> None:
    problem = PROBLEMS[name]()
    start = problem.initial_parameters(np.random.default_rng(0))
    none = np.array([], dtype=np.int64)
    np.testing.assert_array_equal(
        clipped_squared_gradient_sum(problem, start, none, clip_norm=1.0),
        np.zeros(problem.dimension),
    )
    assert squared_gradient_norms(problem, start, none).shape == (0,)
    twice = clipped_squared_gradient_sum(problem, start, np.array([2, 2]), clip_norm=0.01)
    once = clipped_squared_gradient_sum(problem, start, np.array([2]), clip_norm=0.01)
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-12)


def test_chunks_do_not_change_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS["het"]()
    parameters = np.random.default_rng(2).standard_normal(problem.dimension)
    everybody = np.arange(problem.dataset_size)
    whole = clipped_squared_gradient_sum(problem, parameters, everybody, clip_norm=0.1)
    monkeypatch.setattr("dp2theory.problems.squares.CHUNK", 7)
    parts = clipped_squared_gradient_sum(problem, parameters, everybody, clip_norm=0.1)
    np.testing.assert_allclose(parts, whole, rtol=1e-12)
    assert norm_histogram(problem, parameters, everybody).sum() == problem.dataset_size


class Foreign:
    """A problem of somebody else: the protocol, and nothing more."""

    def __init__(self, inner: Problem) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        if "squared" in name:
            raise AttributeError(name)
        return getattr(self._inner, name)


def test_a_foreign_problem_is_asked_record_by_record() -> None:
    inner = PROBLEMS["het"]()
    foreign: Any = Foreign(inner)
    assert not isinstance(foreign, SquaredGradients)
    parameters = np.random.default_rng(3).standard_normal(inner.dimension)
    batch = np.array([3, 3, 8, 1])
    np.testing.assert_allclose(
        clipped_squared_gradient_sum(foreign, parameters, batch, clip_norm=0.05),
        clipped_squared_gradient_sum(inner, parameters, batch, clip_norm=0.05),
        rtol=1e-9,
    )
    np.testing.assert_array_equal(
        norm_histogram(foreign, parameters, batch), norm_histogram(inner, parameters, batch)
    )


def test_bins_hold_what_their_edges_say() -> None:
    assert BIN_EDGES.size + 1 == BINS
    assert [BIN_EDGES[0], BIN_EDGES[-1]] == [2.0**-30, 2.0**20]

    def bin_of(size: float) -> int:
        counts = norm_histogram(axis_records([0], size=size), np.zeros(4), np.arange(1))
        assert counts.sum() == 1
        return int(np.argmax(counts))

    assert [bin_of(0.0), bin_of(1e9)] == [0, BINS - 1]
    norm = 3.0
    where = bin_of(float(np.sqrt(norm)))
    assert BIN_EDGES[where - 1] < norm <= BIN_EDGES[where]


@given(st.lists(st.integers(0, BINS - 2), min_size=1, max_size=60), st.floats(0.05, 0.95))
def test_without_noise_the_quantile_is_the_edge_of_the_quantile(
    bins: list[int], share: float
) -> None:
    counts = np.bincount(bins, minlength=BINS).astype(float)
    edge = norm_quantile(counts, share)
    norms = BIN_EDGES[np.asarray(bins)]  # the largest of each bin
    assert np.mean(norms > edge) <= 1 - share + 1e-12
    below = BIN_EDGES[edge > BIN_EDGES]
    if below.size:
        assert np.mean(norms > below[-1]) > 1 - share - 1e-12


def test_noise_in_empty_bins_does_not_push_the_quantile_up() -> None:
    rng = np.random.default_rng(5)
    counts = np.zeros(BINS)
    counts[40:44] = 5_000.0
    clean = norm_quantile(counts, 0.9)
    noisy = [norm_quantile(counts + rng.normal(0, 50, BINS), 0.9, noise_std=50) for _ in range(200)]
    assert max(noisy) <= clean
    assert min(noisy) >= clean / 2
    # Where noise drowns the counts, a clip norm that is too small is the safe side.
    drowned = [
        norm_quantile(counts / 100 + rng.normal(0, 500, BINS), 0.9, noise_std=500)
        for _ in range(200)
    ]
    assert np.mean(np.asarray(drowned) > 2**10) < 0.05


@pytest.mark.parametrize("clip_norm", [0.0, -1.0, np.nan])
def test_bad_clip_norms_are_refused(clip_norm: float) -> None:
    problem = PROBLEMS["het"]()
    with pytest.raises(ValueError, match="clip_norm"):
        clipped_squared_gradient_sum(
            problem, np.zeros(problem.dimension), np.arange(3), clip_norm=clip_norm
        )
    with pytest.raises(ValueError, match="parameters"):
        squared_gradient_norms(problem, np.zeros(2), np.arange(3))
    with pytest.raises(ValueError, match="batch holds index"):
        norm_histogram(problem, np.zeros(problem.dimension), np.array([10**6]))


def _unclipped(problem: Any) -> Any:
    class Wrong(type(problem)):  # type: ignore[misc]
        def clipped_squared_gradient_sum(self, parameters, batch, *, clip_norm):  # type: ignore[no-untyped-def]
            return super().clipped_squared_gradient_sum(parameters, batch, clip_norm=np.inf)

    return _as(Wrong, problem)


def _clips_the_gradient(problem: Any) -> Any:
    class Wrong(type(problem)):  # type: ignore[misc]
        def clipped_squared_gradient_sum(self, parameters, batch, *, clip_norm):  # type: ignore[no-untyped-def]
            rows = [
                self.clipped_gradient_sum(parameters, batch[i : i + 1], clip_norm=clip_norm) ** 2
                for i in range(batch.size)
            ]
            return np.sum(rows, axis=0)

    return _as(Wrong, problem)


def _square_of_the_sum(problem: Any) -> Any:
    class Wrong(type(problem)):  # type: ignore[misc]
        def clipped_squared_gradient_sum(self, parameters, batch, *, clip_norm):  # type: ignore[no-untyped-def]
            total = self.clipped_gradient_sum(parameters, batch, clip_norm=np.inf) ** 2
            return total * min(1.0, clip_norm * batch.size / np.linalg.norm(total))

    return _as(Wrong, problem)


def _as(kind: type, problem: Any) -> Any:
    made = object.__new__(kind)
    made.__dict__.update(problem.__dict__)
    return made


@pytest.mark.parametrize("name", ["het", "tags", "ratings", "quadratic"])
@pytest.mark.parametrize("broken", [_unclipped, _clips_the_gradient, _square_of_the_sum])
def test_the_check_catches_wrong_sums(name: str, broken: Any) -> None:
    with pytest.raises(AssertionError):
        check_squares(broken(PROBLEMS[name]()))


def test_every_class_of_problem_is_in_the_small_set() -> None:
    kinds = {type(make()) for make in PROBLEMS.values()}
    assert kinds >= {LinearProblem, MultiOutputProblem, MatrixFactorization, QuadraticProblem}
