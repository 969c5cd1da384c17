"""Composition of (ε, δ) guarantees against the formulas of the papers and brute force."""

from __future__ import annotations

import itertools
import math

import mpmath
import pytest

from accountants.tcdp.advanced import (
    Steps,
    dwork_rothblum_vadhan,
    heterogeneous,
    optimal_delta,
    optimal_epsilon,
)


@pytest.mark.parametrize(("k", "epsilon"), [(1, 0.3), (7, 1.0), (100, 0.1), (2000, 0.02)])
def test_optimal_is_the_published_formula(k: int, epsilon: float) -> None:
    """Kairouz, Oh and Viswanath, theorem 3.3: δ_i at ε (k - 2i)."""
    with mpmath.workdps(50):
        e = mpmath.mpf(epsilon)
        for i in {0, min(1, k // 2), k // 4, k // 2}:
            terms = (
                mpmath.binomial(k, j) * (mpmath.exp((k - j) * e) - mpmath.exp((k - 2 * i + j) * e))
                for j in range(i)
            )
            true = mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** k
            failing = 1 - (1 - mpmath.mpf("1e-9")) ** k * (1 - true)
            found = optimal_delta([Steps(epsilon, 1e-9, k)], float((k - 2 * i) * e))
            assert float(failing) * (1 - 1e-14) <= found <= float(failing) * (1 + 1e-8) + 1e-300


def test_different_mechanisms_by_enumeration() -> None:
    epsilons = [0.2, 0.2, 0.7, 1.1]
    for target in (0.0, 0.5, 1.9):
        total = 0.0
        for signs in itertools.product((1, -1), repeat=4):
            p = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
            loss = sum(s * e for s, e in zip(signs, epsilons, strict=True))
            total += p * max(0.0, 1 - math.exp(target - loss))
        parts = [Steps(0.2, 0.0, 2), Steps(0.7), Steps(1.1)]
        assert optimal_delta(parts, target) == pytest.approx(total, rel=1e-11)
        assert optimal_delta(parts, target) >= total * (1 - 1e-15)


def test_optimal_epsilon_is_on_the_private_side() -> None:
    parts = [Steps(0.1, 1e-9, 50), Steps(0.4, 1e-8, 5)]
    for delta in (1e-6, 1e-3):
        epsilon = optimal_epsilon(parts, delta)
        assert optimal_delta(parts, epsilon) <= delta * (1 + 1e-12)
        assert optimal_delta(parts, epsilon - 1e-9) > delta
    assert optimal_epsilon(parts, 1e-8) == math.inf  # the failures alone are more
    assert optimal_epsilon(parts, 1.0) == 0.0
    assert optimal_epsilon([Steps(0.3)], 0.0) == pytest.approx(0.3, rel=1e-14)
    assert optimal_epsilon([Steps(0.3, 1.0)], 0.5) == math.inf
    assert optimal_epsilon([], 0.0) == optimal_delta([], 0.0) == 0.0


def test_optimal_beats_the_closed_forms() -> None:
    for parts in ([Steps(0.1, 0.0, 100)], [Steps(0.3, 1e-9, 20), Steps(0.05, 0.0, 200)]):
        slack = 1e-6
        closed, delta = heterogeneous(parts, slack)
        assert optimal_delta(parts, closed) <= delta
        assert optimal_epsilon(parts, delta) <= closed


def test_classical_formula() -> None:
    epsilon, delta = dwork_rothblum_vadhan(Steps(0.1, 1e-8, 50), 1e-5)
    true = 0.1 * math.sqrt(100 * math.log(1e5)) + 50 * 0.1 * math.expm1(0.1)
    assert true <= epsilon <= true * (1 + 1e-13)
    assert 1e-5 + 5e-7 <= delta <= (1e-5 + 5e-7) * (1 + 1e-13)
    assert epsilon > heterogeneous([Steps(0.1, 1e-8, 50)], 1e-5)[0]
    assert dwork_rothblum_vadhan(Steps(1e4, 0.0, 3), 0.1)[0] == math.inf
    assert dwork_rothblum_vadhan(Steps(1.0, 0.0, 0), 0.1) == (0.0, 0.1)


def test_basic_composition_is_the_limit() -> None:
    assert heterogeneous([Steps(5.0), Steps(7.0)], 1e-9)[0] == pytest.approx(12, rel=1e-13)
    assert heterogeneous([], 1e-9)[0] == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Steps(-1.0), r"epsilon=-1\.0"),
        (lambda: Steps(math.inf), "epsilon=inf"),
        (lambda: Steps(1.0, 2.0), r"delta=2\.0"),
        (lambda: Steps(1.0, 0.0, -1), "count=-1"),
        (lambda: heterogeneous([Steps(1.0)], 0.0), r"slack=0\.0"),
        (lambda: optimal_delta([Steps(1.0)], -1.0), r"target_epsilon=-1\.0"),
        (
            lambda: optimal_delta([Steps(0.1 * i, 0.0, 99) for i in (1, 2, 3)], 1.0),
            "3 groups with 1000000 states: must have at most 200000; use heterogeneous",
        ),
    ],
)
def test_bad_values_are_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
