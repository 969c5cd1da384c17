"""The het family: draw order, law and known optimum; syn and tags."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize

from dp2theory.problems.linear import LinearProblem
from dp2theory.problems.registry import HET_INSTANCES, get_problem
from dp2theory.problems.synthetic import TEST_SIZE, het, syn, tags


def _literal_het(
    n: int, d: int, amin: float, avg: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The family's definition, dense and column by column."""
    rng = np.random.default_rng(seed)
    total = n + 5000
    a = np.exp(rng.uniform(np.log(amin), 0, size=d))
    f = np.arange(1.0, d + 1) ** -0.8
    f *= avg / f.sum()
    for _ in range(30):
        f = np.minimum(f, 0.5)
        f *= avg / f.sum()
    x = np.ones((total, d + 1))
    for j in range(d):
        x[:, j] = a[j] * (rng.random(total) < f[j])
    u = rng.standard_normal(d)
    z = x[:, :d] @ (u / (a * np.sqrt(f * (1 - f))))
    z = 1.5 * (z - z.mean()) / z.std()
    return x, (rng.random(total) < 1 / (1 + np.exp(-2 * z))).astype(float)


def test_draw_order_is_the_published_one() -> None:
    x, y = _literal_het(300, 70, 0.1, 5, 8)
    problem = het(300, 70, 0.1, 5, 8)
    parts = {"train": slice(0, 300), "test": slice(300, None)}
    for split, part in parts.items():
        np.testing.assert_array_equal(problem.rows[split].dot(np.eye(71)), x[part])
        np.testing.assert_array_equal(problem.targets[split], y[part])
    assert problem.rows["test"].shape == (TEST_SIZE, 71)


def _optimum(problem: LinearProblem) -> float:
    everybody = np.arange(problem.dataset_size)
    squares = problem.rows["train"].matrix.power(2)  # type: ignore[attr-defined]
    scale = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        total = problem.clipped_gradient_sum(u / scale, everybody, clip_norm=np.inf)
        return problem.loss(u / scale), total / problem.dataset_size / scale

    return float(minimize(objective, np.zeros(problem.dimension), jac=True, method="L-BFGS-B").fun)


@pytest.mark.parametrize(("name", "optimum"), [("hetM", 0.373), ("hetB", 0.375)])
def test_non_private_optimum(name: str, optimum: float) -> None:
    """Optimal train losses measured with another implementation of the family."""
    problem = get_problem(name)
    assert isinstance(problem, LinearProblem)
    assert _optimum(problem) == pytest.approx(optimum, abs=6e-4)


@pytest.mark.parametrize("name", HET_INSTANCES)
def test_instances(name: str) -> None:
    n, d, _, avg, _ = HET_INSTANCES[name]
    problem = get_problem(name)
    assert (problem.name, problem.dataset_size, problem.dimension) == (name, n, d + 1)
    assert problem.convex
    present = problem.rows["train"].matrix.nnz / n - 1  # type: ignore[attr-defined]
    assert present == pytest.approx(avg, rel=0.01)


def test_seed_makes_the_instance() -> None:
    first, again, other = het(50, 10, 0.5, 2, 1), het(50, 10, 0.5, 2, 1), het(50, 10, 0.5, 2, 2)
    weights = np.linspace(-1, 1, 11)
    assert first.loss(weights) == again.loss(weights) != other.loss(weights)


def test_syn_features_are_binary_and_zipf() -> None:
    problem = syn(4_000, 200, 10, 0)
    matrix = problem.rows["train"].matrix  # type: ignore[attr-defined]
    assert set(matrix.data) == {1.0}
    frequency = np.asarray(matrix.mean(axis=0)).ravel()[:-1]
    assert frequency.sum() == pytest.approx(10, rel=0.02)
    slope = np.log(frequency[19] / frequency[159]) / np.log(160 / 20)
    assert slope == pytest.approx(1.1, abs=0.25)


def test_tags_get_rarer() -> None:
    problem = tags(4_000, 200, 8, 10, 0)
    shares = problem.targets["train"].mean(axis=0)
    assert shares[0] == pytest.approx(0.5, abs=0.03)
    assert 0.02 < shares[-1] < 0.25
    assert problem.dimension == 201 * 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n=0 must be an integer >= 1"),
        ({"d": 2.5}, r"d=2\.5 must be an integer"),
        ({"amin": 0.0}, r"amin=0\.0 must be a finite number > 0"),
        ({"amin": 1.5}, r"amin=1\.5 must be in \(0, 1\]"),
        ({"avg": 5.0}, r"avg=5\.0 must be in \(0, d/2\) = \(0, 5\)"),
        ({"avg": float("nan")}, "avg=nan must be a finite number > 0"),
        ({"seed": -1}, "seed=-1 must be an integer >= 0"),
    ],
)
def test_bad_arguments(change: dict[str, float], message: str) -> None:
    good = {"n": 50, "d": 10, "amin": 0.5, "avg": 2.0, "seed": 0}
    with pytest.raises(ValueError, match=message):
        het(**(good | change))  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [syn, tags])
def test_sizes_have_bounds(make: Callable[..., object]) -> None:
    for sizes, message in (
        ({"n": 10**18}, "n=10{18} must be an integer >= 1 and <= 10000000"),
        ({"d": 10**15}, "d=10{15} must be"),
        ({"n": 5_000_000}, "n=5000000 must be <= 2375952 at 20 features per record"),
        ({"d": 1_000_000}, "d=1000000 must be <= 800000 at n=20000"),
    ):
        with pytest.raises(ValueError, match=message):
            make(**sizes)
