"""Gaussian DP: exact values, and estimates that cannot pass for guarantees."""

from __future__ import annotations

import inspect
import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import ExactAccountant
from accountants.gaussian_dp import GaussianDp, GaussianDpEstimate, central_limit_estimate

REPLACE = NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize("mu", [1e-6, 0.02, 1.0, 12.0, 40.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 9.0, 80.0])
def test_delta_by_mpmath(mu: float, epsilon: float) -> None:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        true = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        found = GaussianDp(mu).delta(epsilon)
        assert found >= true
        if true > 1e-300:
            assert found <= true * (1 + 1e-9)


@pytest.mark.parametrize("mu", [1e-6, 0.02, 1.0, 40.0, 1e4])
@pytest.mark.parametrize("delta", [1e-200, 1e-6, 0.3])
def test_epsilon_is_on_the_private_side(mu: float, delta: float) -> None:
    guarantee = GaussianDp(mu)
    epsilon = guarantee.epsilon(delta)
    assert guarantee.delta(epsilon) <= delta
    if epsilon > 0:
        assert guarantee.delta(epsilon * (1 - 1e-6)) > delta


@pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda r: r.name)
def test_unsampled_releases_are_exactly_gaussian(relation: NeighboringRelation) -> None:
    guarantee = GaussianDp.from_gaussian(4.0, relation, 9).compose(
        GaussianDp.from_gaussian(2.0, relation)
    )
    shift = 2 if relation is REPLACE else 1
    assert guarantee.mu == pytest.approx(shift * math.sqrt(9 / 16 + 1 / 4), rel=1e-14)
    exact = ExactAccountant(relation).compose(dp_accounting.GaussianDpEvent(4.0), 9)
    exact.compose(dp_accounting.GaussianDpEvent(2.0))
    bracket = exact.epsilon_bracket(1e-6)
    assert bracket.lower <= guarantee.epsilon(1e-6) * (1 + 1e-12)
    assert guarantee.epsilon(1e-6) <= bracket.upper * (1 + 1e-9)


def test_trade_off_by_mpmath() -> None:
    alpha = [0.0, 1e-12, 0.01, 0.5, 0.99, 1.0]
    values = GaussianDp(0.8).trade_off(alpha)
    for a, value in zip(alpha[1:-1], values[1:-1].tolist(), strict=True):
        with mpmath.workdps(40):
            quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(a))
            true = float(mpmath.ncdf(quantile - 0.8))
        assert true * (1 - 1e-11) <= value <= true
    assert (values[0], values[-1]) == (1.0, 0.0)
    assert GaussianDp(math.inf).trade_off([0.0, 0.5]).tolist() == [0.0, 0.0]


def test_ends_of_the_domain() -> None:
    assert GaussianDp(0.0).delta(0.0) == GaussianDp(0.0).epsilon(0.0) == 0.0
    assert GaussianDp(math.inf).delta(math.inf) == 1.0
    assert GaussianDp(math.inf).epsilon(0.5) == GaussianDp(1.0).epsilon(0.0) == math.inf
    assert GaussianDp(1.0).delta(math.inf) == GaussianDp(1.0).epsilon(1.0) == 0.0
    assert 0 < GaussianDp(0.1).delta(600.0) < 1e-300
    assert GaussianDp.from_gaussian(0.0).mu == math.inf
    assert GaussianDp.from_gaussian(math.inf).mu == GaussianDp.from_gaussian(1.0, count=0).mu == 0
    assert GaussianDp(1.0).compose() == GaussianDp(1.0)


@pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda r: r.name)
def test_central_limit_approaches_the_truth(relation: NeighboringRelation) -> None:
    """At q sqrt(T) fixed the estimate comes nearer as T grows.  It is on the wrong side for adding
    or removing and on the right side for replacing here: that is why it is an estimate."""
    misses = []
    for steps in (400, 40_000):
        q = 0.6 / math.sqrt(steps)
        step = dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(1.0))
        exact = ExactAccountant(relation).compose(step, steps)
        estimate = central_limit_estimate(
            sampling_probability=q,
            noise_multiplier=1.0,
            steps=steps,
            neighboring_relation=relation,
        )
        lower = exact.epsilon_bracket(1e-5).lower
        guess = estimate.epsilon_estimate(1e-5)
        assert (guess < lower) == (relation is not REPLACE)
        misses.append(abs(lower / guess - 1))
    assert 0 < misses[1] < 0.4 * misses[0] < 0.2


def test_an_estimate_has_no_name_of_a_guarantee() -> None:
    """Not the methods of accountants, curves or GDP; not even by inheritance."""
    guarantees = {"delta", "epsilon", "trade_off", "mu", "get_delta", "get_epsilon", "compose"}
    guarantees |= {"delta_bracket", "epsilon_bracket", "curve"}
    names = {name for name, _ in inspect.getmembers(GaussianDpEstimate) if name[0] != "_"}
    assert not names & guarantees
    assert all("estimate" in name for name in names)
    assert GaussianDpEstimate.__mro__ == (GaussianDpEstimate, object)
    assert all("estimate" in name for name in GaussianDpEstimate.__dataclass_fields__)
    assert "estimate" in central_limit_estimate.__name__


def test_estimates_at_the_ends() -> None:
    def estimate(q: float, sigma: float, steps: int) -> float:
        return central_limit_estimate(
            sampling_probability=q, noise_multiplier=sigma, steps=steps
        ).mu_estimate

    assert estimate(0.0, 1.0, 5) == estimate(0.1, 1.0, 0) == 0.0
    assert estimate(0.1, math.inf, 5) == 0.0
    assert estimate(0.1, 1e-200, 5) == estimate(0.1, 0.03, 5) == math.inf
    assert estimate(0.01, 2.0, 10_000) == pytest.approx(math.sqrt(math.expm1(0.25)), rel=1e-14)
    with pytest.raises(ValueError, match=r"noise_multiplier=0\.0: must be a number > 0"):
        estimate(0.1, 0.0, 5)
    values = GaussianDpEstimate(1.0)
    assert values.delta_estimate(1.0) == GaussianDp(1.0).delta(1.0)
    assert np.allclose(values.trade_off_estimate([0.1]), GaussianDp(1.0).trade_off([0.1]))


@pytest.mark.parametrize("kind", [GaussianDp, GaussianDpEstimate])
@pytest.mark.parametrize("value", [-1.0, math.nan])
def test_bad_values_are_named(kind: type, value: float) -> None:
    with pytest.raises(ValueError, match=f"mu(_estimate)?={value!r}: must be a number >= 0"):
        kind(value)
    with pytest.raises(ValueError, match=r"alpha=1\.5: must be numbers in \[0, 1\]"):
        GaussianDp(1.0).trade_off(1.5)
