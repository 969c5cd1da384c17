"""h(s): definition, folded normal, bounds, saturation, linear growth, and runs where it falls."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sympy import Implies, Le, Lt, Rational, pi, sqrt

from bounds.counterexample import satisfying
from bounds.dp2.delay import DEFINITION, SATURATION
from bounds.dp2.delay_average import AVERAGE
from bounds.dp2.delay_bounds import BOUNDS
from bounds.dp2.delay_folded import FOLDED, SLOPES, Z
from bounds.dp2.delay_linear import LINEAR
from bounds.dp2.symbols import h, m, tau
from bounds.operators import E, Max, Variable
from bounds.proof.replay import replay
from bounds.symbols import j
from bounds.theorem import Theorem
from tests.bounds.dp2.delay_runs import Setting, h_of, parameters, problem

ALL = {each.id: each for each in (DEFINITION, SATURATION, FOLDED, SLOPES, BOUNDS, AVERAGE, LINEAR)}
PILOT = 0.3 * 0.9 ** np.arange(50)
#: What became of steps, so that the variants of a theorem check what they share once.
OUTCOMES: dict[Any, Any] = {}
NOISE = 0.007544800579799  # sigma C/b of the worked example


@pytest.mark.parametrize("theorem", ALL.values(), ids=ALL.keys())
def test_proof_replays(theorem: Theorem) -> None:
    report = replay(theorem, theorems=ALL, outcomes=OUTCOMES)
    assert report.ok, report.describe()
    assert report.unused_assumptions == report.unused_steps == report.assumed == ()
    assert satisfying(theorem) is not None
    assert theorem.counterexample(tries=30) is None


@pytest.mark.parametrize(
    ("theorem", "id"),
    [(theorem, each.id) for theorem in ALL.values() for each in theorem.assumptions],
    ids=lambda each: each if isinstance(each, str) else each.id,
)
def test_every_assumption_counts(theorem: Theorem, id: str) -> None:
    assert not replay(theorem.without_assumption(id), theorems=ALL, outcomes=OUTCOMES).ok


def fold(mean: Any, std: float, backend: str = "numpy") -> float:
    means = np.atleast_1d(mean)
    return float(
        FOLDED.evaluate(
            backend=backend, mean_gradient=means, averaged_noise_std=std, dimension=len(means)
        )
    )


@pytest.mark.parametrize("backend", ["numpy", "mpmath", "ball"])
def test_values_of_the_folded_normal(backend: str) -> None:
    assert fold(0.3, 0.05, backend) == pytest.approx(0.3000000000156, abs=5e-14)
    assert fold(0.02, 0.05, backend) == pytest.approx(0.04304388369475, abs=5e-15)
    assert fold(0.0, 1.0, backend) == pytest.approx(0.7978845608029, abs=5e-14)


@pytest.mark.parametrize(("delay", "norm"), [(100, 2.98454893842839), (71, 2.984577108736)])
def test_norm_of_the_average_of_the_worked_example(delay: int, norm: float) -> None:
    assert fold(PILOT, NOISE / math.sqrt(delay)) == pytest.approx(norm, rel=2e-13)


def test_folded_normal_against_simulation() -> None:
    rng = np.random.default_rng(0)
    draws = np.abs(0.02 + 0.05 * rng.normal(size=200_000))
    assert fold(0.02, 0.05) == pytest.approx(draws.mean(), abs=5 * draws.std() / 447)


def test_bounds_on_a_grid() -> None:
    for mean in (0.0, 0.001, 0.03, 0.05, 0.09, 0.3, 5.0):
        value, root = fold(mean, 0.05), math.hypot(mean, 0.05)
        given: dict[str, Any] = {
            "mean_gradient": [mean],
            "averaged_noise_std": 0.05,
            "dimension": 1,
        }
        slack = 1 + 1e-14
        assert BOUNDS.evaluate("lower", **given) <= value * slack
        assert BOUNDS.evaluate("elementary", **given) <= value * slack
        assert value <= BOUNDS.evaluate("triangle", **given) * slack
        assert value <= root * slack
        assert BOUNDS.evaluate("bound", **given) == pytest.approx(root)


def test_each_bound_is_attained() -> None:
    assert fold(0.0, 2.0) == pytest.approx(2 * math.sqrt(2 / math.pi))
    assert fold(3.0, 1e-3) == pytest.approx(3.0)


FOLDED_MEAN = E(abs(m(j) + tau * Z))


@pytest.mark.parametrize(
    "claim",
    [
        Le(sqrt(m(j) ** 2 + 2 * tau**2 / pi), FOLDED_MEAN),
        Le(sqrt(m(j) ** 2 + tau**2), FOLDED_MEAN),
        Le(FOLDED_MEAN, m(j)),
        Lt(FOLDED_MEAN, sqrt(m(j) ** 2 + tau**2) * 9 / 10),
        Le(tau, FOLDED_MEAN),
    ],
    ids=["root of m^2 + 2/pi tau^2", "root mean square", "no noise", "0.9 of the root", "tau"],
)
def test_false_bounds_are_refuted(claim: Any) -> None:
    false = BOUNDS.with_claim(claim)
    assert not replay(false, theorems=ALL, outcomes=OUTCOMES).ok
    assert false.counterexample() is not None


@pytest.mark.parametrize("part", range(5))
def test_no_part_of_the_bounds_can_be_improved(part: int) -> None:
    smaller, larger = BOUNDS.statement.args[part].args
    tighter = Le(smaller * Rational(21, 20), larger)
    assert BOUNDS.with_statement(tighter).counterexample() is not None


def test_root_of_a_moving_average_against_simulation() -> None:
    rng = np.random.default_rng(5)
    means, std, ema, updates = np.array([0.3, 0.05, 0.0]), 0.05, 0.9, 6
    second = np.zeros((20_000, 3))
    for _ in range(updates):
        second = ema * second + (1 - ema) * (means + std * rng.normal(size=second.shape)) ** 2
    given: dict[str, Any] = {
        "mean_gradient": means, "averaged_noise_std": std, "ema": ema, "update_count": updates,
        "dimension": 3,
    }  # fmt: skip
    measured = np.sqrt(second).sum(axis=1).mean()
    assert AVERAGE.evaluate("lower", **given) < measured < AVERAGE.evaluate("bound", **given)


@pytest.mark.parametrize("part", range(2))
def test_no_part_of_the_sandwich_can_be_improved(part: int) -> None:
    smaller, larger = AVERAGE.statement.args[part].args
    tighter = Le(smaller * Rational(21, 20), larger)
    assert AVERAGE.with_statement(tighter).counterexample() is not None


def test_where_jensen_takes_over_from_the_series() -> None:
    """sqrt(2/pi) sqrt(1 + x^2) <= |x| from x^2 = 2/(pi - 2) on; the series is good to x^2 = 5."""
    crossing = 2 / (math.pi - 2)
    assert crossing == pytest.approx(1.751938, abs=5e-7)
    assert math.sqrt(2 / math.pi * (1 + crossing)) == pytest.approx(math.sqrt(crossing))
    for square in np.linspace(0, 5, 51):
        assert (1 + square / 2 - square**2 / 24) ** 2 >= (1 + square) * (1 - 1e-15)


def test_definition_is_the_least_factor() -> None:
    variables = {part: part.atoms(Variable) for part in DEFINITION.statement.args}
    usable = next(p for p, found in variables.items() if not found and isinstance(p, Implies))
    least = next(part for part, found in variables.items() if found)
    for wrong in (usable.xreplace({h: h / 2}), least.xreplace({h: 2 * h})):
        false = DEFINITION.with_claim(wrong)
        assert not false.replay().ok
        assert false.counterexample() is not None


def test_saturation() -> None:
    assert SATURATION.evaluate(gradient_bound=1, damping=0.1, dimension=10) == pytest.approx(
        3.16, abs=0.005
    )
    half = Le(h, SATURATION.statement.rhs / 2)
    assert not SATURATION.with_claim(half).replay().ok
    assert SATURATION.with_claim(half).counterexample() is not None


#: Two settings of one table: eta = .02, rho = .2, eps = .1, sigma = 1, b = 32, tau_g <= C = 1.
TABLE = {
    "smoothness of a Huber loss": (2.0198, (2.05, 4.01, 11.4, 50.7, 99.8)),
    "smoothness of a logistic loss": (0.0506, (1.57, 1.62, 1.81, 2.79, 4.02)),
}


@pytest.mark.parametrize(("smoothness", "row"), TABLE.values(), ids=TABLE.keys())
def test_linear_bound_of_the_table(smoothness: float, row: tuple[float, ...]) -> None:
    """All five delays of a row for one smoothness constant, with the norms of the parts added."""
    setting = Setting(sigma=1, learning_rate=0.02)
    given: dict[str, Any] = {**parameters(problem("logistic"), setting), "smoothness": smoothness}
    for delay, value in zip((1, 5, 20, 100, 200), row, strict=True):
        loose = LINEAR.evaluate("triangle", backend="numpy", delay=delay, **given)
        assert loose == pytest.approx(value, rel=3e-3)
        bound = LINEAR.evaluate(backend="numpy", delay=delay, **given)
        assert LINEAR.evaluate("sharp", backend="numpy", delay=delay, **given) <= bound <= loose


def test_the_three_ways_to_compute_agree() -> None:
    given = parameters(problem("huber"), Setting(sigma=4))
    for name in ("bound", "sharp"):
        values = [
            float(LINEAR.evaluate(name, backend=backend, delay=7, **given))
            for backend in ("numpy", "mpmath", "ball")
        ]
        assert values == pytest.approx([values[0]] * 3, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "sigma", "delays"),
    [("logistic", 4.0, (20, 50, 200)), ("huber", 0.0, (1, 20, 100)), ("huber", 1.0, (1, 20, 200))],
)
def test_bound_holds_where_h_falls(name: str, sigma: float, delays: tuple[int, ...]) -> None:
    """h(s) falls with s in these runs; c1 + c2 s and the saturation are above it all the same."""
    data, setting = problem(name), Setting(sigma)
    given = parameters(data, setting)
    measured = [h_of(data, setting, delay) for delay in delays]
    assert all(later < 0.95 * earlier for earlier, later in pairwise(measured))
    for delay, value in zip(delays, measured, strict=True):
        assert value <= LINEAR.evaluate("sharp", backend="numpy", delay=delay, **given)
        assert value <= SATURATION.evaluate(
            gradient_bound=1, damping=setting.damping, dimension=given["dimension"]
        )


def test_h_grows_where_the_average_is_mostly_noise() -> None:
    data, setting = problem("absolute"), Setting(4.0)
    measured = [h_of(data, setting, delay) for delay in (1, 5, 20, 100)]
    assert measured == sorted(measured)
    assert measured[-1] > 1.5 * measured[0]


def test_without_the_maximum_with_1_the_bound_is_false() -> None:
    """Gradients that do not change have h near 1, however small drift and sampling are."""
    largest = next(each.rhs for each in LINEAR.statement.args if isinstance(each.rhs, Max))
    excess = next(part for part in largest.args if part != 1)
    false = LINEAR.with_claim(Le(h, excess))
    assert not replay(false, theorems=ALL, outcomes=OUTCOMES).ok
    assert false.counterexample(tries=30) is not None
