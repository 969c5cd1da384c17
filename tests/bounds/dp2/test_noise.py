"""Averaged noise, clamping, order: the proofs, their numbers, and variants that are false."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sympy import Eq, Implies, Le

from bounds.counterexample import satisfying
from bounds.dp2.noise import AVERAGE
from bounds.dp2.noise_clamped import CLAMPED, UPDATE, ZERO, clamped
from bounds.dp2.noise_order import ORDER
from bounds.dp2.symbols import C1, N, S, X, beta, s, tau, v
from bounds.operators import E, Independent
from bounds.proof.replay import replay
from bounds.symbols import b, j, k, sigma, t
from bounds.theorem import Theorem

ALL = {each.id: each for each in (AVERAGE, CLAMPED, ZERO, UPDATE, ORDER)}
#: What became of steps, so that the variants of a theorem check what they share once.
OUTCOMES: dict[Any, Any] = {}
SIGMA = 1.931468948429  # 1000 Poisson steps, q = 0.0256, epsilon 2 at delta 1e-5


@pytest.mark.parametrize("theorem", ALL.values(), ids=ALL.keys())
def test_proof_replays(theorem: Theorem) -> None:
    report = replay(theorem, theorems=ALL, outcomes=OUTCOMES)
    assert report.ok, report.describe()
    assert report.unused_assumptions == report.unused_steps == report.assumed == ()
    assert satisfying(theorem) is not None
    assert theorem.counterexample() is None


def test_variance_of_the_averaged_noise() -> None:
    std = AVERAGE.evaluate("std", noise_multiplier=SIGMA, clip_norm=1, batch_size=256, delay=1)
    assert std == pytest.approx(0.007544800579799, rel=1e-12)
    value = AVERAGE.evaluate(noise_multiplier=SIGMA, clip_norm=1, batch_size=256, delay=100)
    assert value == pytest.approx(5.692401578894e-7, rel=1e-12)


def test_half_the_variance_is_refuted() -> None:
    half = Eq(E((S(s + 1, j) / s) ** 2), (sigma * C1 / b) ** 2 / (2 * s))
    assert not AVERAGE.with_claim(half).replay().ok
    assert AVERAGE.with_claim(half).counterexample() is not None


@pytest.mark.parametrize("id", ["fresh", "mean", "variance", "start", "add", "noise_std"])
def test_every_assumption_of_the_average_counts(id: str) -> None:
    assert not AVERAGE.without_assumption(id).replay().ok


@pytest.mark.parametrize("id", ["fresh", "variance", "start", "add", "noise_std"])
def test_without_it_the_variance_is_another(id: str) -> None:
    assert AVERAGE.without_assumption(id).counterexample() is not None


def test_one_draw_for_all_steps_is_no_average() -> None:
    """The same noise in every step has the variance, but is not fresh."""
    repeated = AVERAGE.without_assumption("fresh").counterexample()
    assert repeated is not None
    assert repeated.model is not None
    assert not repeated.model.holds(Independent(N(t, j), S(t, j)))


@pytest.mark.parametrize("backend", ["numpy", "mpmath", "ball"])
def test_what_the_clamp_leaves(backend: str) -> None:
    value = CLAMPED.evaluate(
        backend=backend, mean_gradient=[0.02], averaged_noise_std=0.05, dimension=1
    )
    assert float(value) == pytest.approx(0.001532881219368, rel=1e-12)
    left = ZERO.evaluate(backend=backend, averaged_noise_std=1)
    assert float(left) == pytest.approx(0.4839414490383, abs=5e-14)


def test_clamped_mean_against_quadrature() -> None:
    nodes, weights = np.polynomial.legendre.leggauss(80)
    for mean, std in ((0.02, 0.05), (0.3, 0.05), (-0.07, 0.05), (0.0, 2.0), (1.0, 0.3)):
        total = 0.0
        for low, high in (((std - mean) / std, 12.0), (-12.0, (-std - mean) / std)):
            z = low + (high - low) * (1 + nodes) / 2
            excess = (mean + std * z) ** 2 - std**2
            density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
            total += float((weights * excess * density).sum() * (high - low) / 2)
        value = CLAMPED.evaluate(mean_gradient=[mean], averaged_noise_std=std, dimension=1)
        assert value == pytest.approx(total, rel=1e-10)


def test_the_correction_removes_52_percent_where_there_is_no_gradient() -> None:
    assert 1 - float(ZERO.evaluate(averaged_noise_std=1)) == pytest.approx(0.52, abs=0.005)
    assert clamped(0, tau).simplify() == ZERO.statement.rhs.simplify()


def test_half_of_what_the_clamp_leaves_is_refuted() -> None:
    half = ZERO.with_claim(Eq(ZERO.statement.lhs, ZERO.statement.rhs / 2))
    assert not replay(half, theorems=ALL, outcomes=OUTCOMES).ok
    assert half.counterexample() is not None


def test_order_by_coordinate_and_in_the_mean() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        metric = np.exp(rng.normal(size=4))
        clip = float(np.exp(rng.normal()))
        common: dict[str, Any] = {"noise_multiplier": 1.0, "batch_size": 32, "dimension": 4}
        threshold = ORDER.evaluate(clip_norm=1.0, preconditioned_clip_norm=clip)
        if metric.mean() <= threshold:
            after = ORDER.evaluate(
                "order2",
                preconditioned_clip_norm=clip,
                preconditioner_mean_bound=metric,
                **common,
            )
            before = ORDER.evaluate(
                "order1", clip_norm=1.0, preconditioner_mean_bound=metric, **common
            )
            assert after <= before
        # signal over noise of a coordinate: order 2 is better exactly below the threshold
        better = 1 / (metric * clip) > 1.0
        assert (better == (metric < threshold)).all()


def test_order_1_multiplies_the_noise_of_an_unseen_coordinate() -> None:
    assert ORDER.evaluate("amplification", damping=1e-7) == pytest.approx(1e7)


def test_a_larger_threshold_is_refuted() -> None:
    """With mean D up to 2 C1/C2 order 2 may be the worse one."""
    implication = next(each for each in ORDER.statement.args if isinstance(each, Implies))
    guard, then = implication.args
    wider = implication.func(guard.func(guard.lhs, 2 * guard.rhs), then)
    assert ORDER.with_statement(wider).counterexample() is not None
    assert not ORDER.with_claim(wider).replay().ok


@pytest.mark.parametrize(
    "claim",
    [Le((1 - beta) * X(k, j) ** 2, v(k + 1, j)), Le(v(k, j), v(k + 1, j))],
    ids=["as without the clamp", "never falls"],
)
def test_what_a_clamped_update_does_not_do(claim: Any) -> None:
    false = UPDATE.with_claim(claim)
    assert not false.replay().ok
    assert false.counterexample() is not None


def test_clamping_the_moving_average_instead_loses_more_than_beta() -> None:
    ema, noise = 0.9, 1.0
    before, square = 1.05, 0.0
    after = ema * before + (1 - ema) * square
    assert max(after - noise, 0) < ema * max(before - noise, 0)
