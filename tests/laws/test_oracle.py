"""The oracle: Laplace and randomized response against quadrature and enumeration, and its edges."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from fractions import Fraction
from typing import Any

import dp_accounting as dp
import mpmath
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import ExactAccountant
from accountants.laws import enclosure, laplace, oracle, randomized_response

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
RELATIONS = (ADD, REPLACE, SPECIAL)


def times(event: Any, count: int) -> Any:
    return dp.SelfComposedDpEvent(event, count)


# ------------------------------------------------------------------------- randomized response


def enumerated(p: Fraction, k: int, count: int, epsilon: float) -> Any:
    """δ(ε) by going through all outcomes of ``count`` answers, in exact fractions."""
    kept, other = 1 - p + p / k, p / k
    first = [kept, other] + [other] * (k - 2)
    second = [other, kept] + [other] * (k - 2)
    factor = mpmath.exp(mpmath.mpf(epsilon))
    total = mpmath.mpf(0)
    for outcome in itertools.product(range(k), repeat=count):
        x = math.prod((first[i] for i in outcome), start=Fraction(1))
        y = math.prod((second[i] for i in outcome), start=Fraction(1))
        excess = mpmath.mpf(x.numerator) / x.denominator
        excess -= factor * y.numerator / y.denominator
        total += max(excess, mpmath.mpf(0))
    return total


@pytest.mark.parametrize(("p", "k"), [(0.5, 2), (0.5, 4), (0.9, 3), (0.01, 3), (0.999, 5)])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_randomized_response_by_enumeration(p: float, k: int, count: int, share: float) -> None:
    if k**count > 300:
        count = 3
    event = times(dp.RandomizedResponseDpEvent(p, k), count)
    largest = count * math.log1p(k * (1 - p) / p)
    epsilon = share * largest
    with mpmath.mp.workdps(40):
        true = enumerated(Fraction(p), k, count, epsilon)
        found = oracle.delta_bracket(event, REPLACE, epsilon)
        assert found.lower <= true <= found.upper
        assert found.upper - found.lower <= 1e-11 * float(true) + 1e-15
        ball = enclosure.delta_enclosure(event, REPLACE, epsilon)
        assert ball.lower <= true <= ball.upper
        assert ball.upper <= ball.lower * (1 + 1e-10) + 1e-12
    delta = float(true)
    if 0 < delta < 1 and epsilon > 0:
        bracket = oracle.epsilon_bracket(event, REPLACE, delta)
        assert bracket.lower <= epsilon * (1 + 1e-11)
        assert bracket.upper >= epsilon * (1 - 1e-11)
        assert bracket.width < 1e-9 * max(1.0, epsilon)


@pytest.mark.parametrize(("p", "k", "count"), [(0.9, 4, 300), (0.99, 2, 1001), (0.97, 30, 20_000)])
def test_long_randomized_response_agrees_with_balls(p: float, k: int, count: int) -> None:
    event = times(dp.RandomizedResponseDpEvent(p, k), count)
    for delta in (1e-2, 1e-9, 1e-200):
        found = oracle.epsilon_bracket(event, REPLACE, delta)
        assert found.width < 1e-8 * found.upper
        assert enclosure.too_small(event, REPLACE, found.lower * (1 - 1e-7), delta)
        assert enclosure.too_small(event, REPLACE, found.upper, delta) is None
        assert enclosure.too_large(event, REPLACE, found.upper * (1 + 1e-7), delta)
        assert enclosure.too_large(event, REPLACE, found.lower, delta) is None


def test_repeated_answers_cost_more_than_one() -> None:
    one = dp.RandomizedResponseDpEvent(0.5, 4)
    single = oracle.epsilon_bracket(one, REPLACE, 1e-5)
    five = oracle.epsilon_bracket(times(one, 5), REPLACE, 1e-5)
    assert five.lower > 4.9 * single.upper
    listed = oracle.epsilon_bracket(dp.ComposedDpEvent([one] * 5), REPLACE, 1e-5)
    assert listed == five


def test_randomized_response_at_its_ends() -> None:
    for harmless in (dp.RandomizedResponseDpEvent(1.0, 4), dp.RandomizedResponseDpEvent(0.3, 1)):
        assert oracle.epsilon_bracket(harmless, REPLACE, 0.0).upper == 0.0
    open_ = oracle.epsilon_bracket(dp.RandomizedResponseDpEvent(0.0, 4), REPLACE, 0.5)
    assert open_.lower == math.inf
    pure = oracle.epsilon_bracket(dp.RandomizedResponseDpEvent(0.5, 4), REPLACE, 0.0)
    assert math.log(5) in pure
    assert pure.width < 1e-12
    for relation in (ADD, SPECIAL):
        with pytest.raises(oracle.NoOracle, match="not settled"):
            oracle.epsilon_bracket(dp.RandomizedResponseDpEvent(0.5, 4), relation, 1e-5)
    response = randomized_response.Response(1e-9, 3, 1)
    assert response.loss == pytest.approx(math.log(3e9), rel=1e-9)


# ------------------------------------------------------------------------- Laplace


def laplace_twice(ratio: float, epsilon: float) -> Any:
    """δ of two releases: one loss is averaged over, the other one in closed form."""
    s, e = mpmath.mpf(ratio), mpmath.mpf(epsilon)

    def one(level: Any) -> Any:
        if level >= s:
            return mpmath.mpf(0)
        if level <= -s:
            return 1 - mpmath.exp(level)
        return 1 - mpmath.exp((level - s) / 2)

    # The loss is s with chance 1/2, -s with exp(-s)/2, and between with density exp((l-s)/2)/4.
    total = one(e - s) / 2 + mpmath.exp(-s) / 2 * one(e + s)
    kinks = sorted({-s, s, *(x for x in (e - s, e + s) if -s < x < s)})
    return total + mpmath.quad(lambda x: mpmath.exp((x - s) / 2) / 4 * one(e - x), kinks)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.9, 1.0, 1.2])
def test_one_laplace_release(relation: Any, scale: float, share: float) -> None:
    ratio = (2 if relation is REPLACE else 1) / scale
    epsilon = share * ratio
    with mpmath.mp.workdps(40):
        exact = (2 if relation is REPLACE else 1) / mpmath.mpf(scale)
        true = max(mpmath.mpf(0), 1 - mpmath.exp((mpmath.mpf(epsilon) - exact) / 2))
        found = oracle.delta_bracket(dp.LaplaceDpEvent(scale), relation, epsilon)
        assert found.lower <= true <= found.upper
        ball = enclosure.delta_enclosure(dp.LaplaceDpEvent(scale), relation, epsilon)
        assert ball.lower <= true <= ball.upper
        assert ball.upper <= ball.lower * (1 + 1e-9) + 1e-15
    if 0 < true < 1:
        bracket = oracle.epsilon_bracket(dp.LaplaceDpEvent(scale), relation, float(true))
        # δ is rounded to a float, which moves ε by 2 ulp(δ)/(1 - δ)
        room = 1e-12 * epsilon + 1e-15 / float(1 - true)
        assert bracket.lower <= epsilon + room
        assert bracket.upper >= epsilon - room


@pytest.mark.parametrize(("scale", "epsilon"), [(1.0, 0.0), (1.0, 0.7), (1.0, 1.9), (5.0, 0.1)])
def test_two_laplace_releases_by_quadrature(scale: float, epsilon: float) -> None:
    event = times(dp.LaplaceDpEvent(scale), 2)
    with mpmath.mp.workdps(25):
        true = float(laplace_twice(1 / scale, epsilon))
    found = oracle.delta_bracket(event, ADD, epsilon)
    assert found.lower <= true * (1 + 1e-12)
    assert found.upper >= true * (1 - 1e-12)
    assert found.width < 0.02 * true
    fine = enclosure.delta_enclosure(event, ADD, epsilon, spacing=1 / scale / 200)
    assert fine.lower <= true * (1 + 1e-12)
    assert fine.upper >= true * (1 - 1e-12)
    assert fine.upper - fine.lower < 2e-3 * true
    bracket = oracle.epsilon_bracket(event, ADD, true)
    assert bracket.lower <= epsilon + 1e-12
    assert bracket.upper >= epsilon - 1e-12
    assert bracket.width < 0.05 / scale


def test_laplace_at_its_ends() -> None:
    event = times(dp.LaplaceDpEvent(4.0), 1000)
    assert 250.0 in oracle.epsilon_bracket(event, ADD, 0.0)
    assert oracle.epsilon_bracket(event, ADD, 1.0).upper == 0.0
    assert oracle.epsilon_bracket(dp.LaplaceDpEvent(0.0), ADD, 0.1).lower == math.inf
    assert oracle.epsilon_bracket(dp.LaplaceDpEvent(math.inf), ADD, 0.0).upper == 0.0
    assert oracle.epsilon_bracket(dp.LaplaceDpEvent(1.0), ADD, 0.9).upper == 0.0
    assert laplace.one_epsilon(1.0, 0.0).upper >= 1.0
    long = oracle.epsilon_bracket(times(dp.LaplaceDpEvent(100.0), 10**4), ADD, 1e-6)
    # about the Gaussian with the same variance of the loss, sqrt(T) / b = 1
    gaussian = ExactAccountant().compose(dp.GaussianDpEvent(1.0)).epsilon_bracket(1e-6)
    assert long.width < 0.05
    assert long.upper == pytest.approx(gaussian.upper, rel=0.05)


@pytest.mark.parametrize("q", [0.1, 0.9])
def test_sampled_laplace(q: float) -> None:
    """One release in closed form: losses log(1 - q + q e^(l)), l that of the plain release."""
    event = dp.PoissonSampledDpEvent(q, dp.LaplaceDpEvent(1.0))
    epsilon = 0.05
    with mpmath.mp.workdps(25):
        grid = [mpmath.mpf(x) for x in (-40, 0, 1, 40)]
        level = mpmath.exp(mpmath.mpf(epsilon))

        def density(x: Any) -> Any:
            return mpmath.exp(-abs(x)) / 2

        def remove(x: Any) -> Any:
            mixed = (1 - q) * density(x) + q * density(x - 1)
            return max(mixed - level * density(x), mpmath.mpf(0))

        def add(x: Any) -> Any:
            mixed = (1 - q) * density(x) + q * density(x - 1)
            return max(density(x) - level * mixed, mpmath.mpf(0))

        def cut(sign: int) -> Any:
            inner = 1 + (mpmath.exp(sign * mpmath.mpf(epsilon)) - 1) / mpmath.mpf(q)
            return (mpmath.log(inner) + 1) / 2 if inner > 0 else mpmath.mpf(0)

        true = max(
            mpmath.quad(f, sorted({*grid, min(max(cut(s), 0), 1)}))
            for f, s in ((remove, 1), (add, -1))
        )
    found = oracle.delta_bracket(event, ADD, epsilon)
    assert found.lower <= float(true) * (1 + 1e-10)
    assert found.upper >= float(true) * (1 - 1e-10)
    assert found.width < 0.01 * float(true)


# ------------------------------------------------------------------------- everything


def test_gaussians_are_those_of_the_exact_accountant() -> None:
    event = times(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000)
    for relation in RELATIONS:
        exact = ExactAccountant(relation).compose(event)
        assert oracle.epsilon_bracket(event, relation, 1e-5) == exact.epsilon_bracket(1e-5)
        assert oracle.delta_bracket(event, relation, 1.0) == exact.delta_bracket(1.0)


MIXED = dp.ComposedDpEvent(
    [
        dp.LaplaceDpEvent(2.0),
        times(dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(1.0)), 4),
        dp.RandomizedResponseDpEvent(0.5, 3),
    ]
)


@pytest.mark.parametrize("delta", [1e-2, 1e-8])
def test_mixed_kinds(delta: float) -> None:
    found = oracle.epsilon_bracket(MIXED, REPLACE, delta)
    assert found.width < 0.05 * found.upper
    alone = [oracle.epsilon_bracket(part, REPLACE, delta) for part in MIXED.events]
    assert found.lower > max(bracket.upper for bracket in alone)
    third = [oracle.epsilon_bracket(part, REPLACE, delta / 3) for part in MIXED.events]
    assert found.upper <= sum(bracket.upper for bracket in third) * (1 + 1e-12)
    assert enclosure.too_small(MIXED, REPLACE, found.lower * 0.99, delta)
    assert enclosure.too_small(MIXED, REPLACE, found.upper, delta, seconds=0.5) is None
    inner = oracle.delta_bracket(MIXED, REPLACE, found.lower)
    assert inner.upper >= delta


def test_mixed_gaussian_and_gaussian_agree_with_a_single_one() -> None:
    """N(0, 1) noise and Laplace noise so small-scale that it adds 1e-7 to the loss."""
    both = dp.ComposedDpEvent([dp.GaussianDpEvent(1.0), dp.LaplaceDpEvent(1e7)])
    plain = oracle.epsilon_bracket(dp.GaussianDpEvent(1.0), ADD, 1e-5)
    found = oracle.epsilon_bracket(both, ADD, 1e-5)
    assert found.upper >= plain.lower
    assert found.lower <= plain.upper + 1.01e-7


def test_fixed_sizes_mixed_with_laplace_have_two_honest_ends() -> None:
    sample = dp.SampledWithoutReplacementDpEvent(10, 2, dp.GaussianDpEvent(2.0))
    event = dp.ComposedDpEvent([times(sample, 3), dp.LaplaceDpEvent(3.0)])
    found = oracle.epsilon_bracket(event, REPLACE, 1e-4)
    part = ExactAccountant(REPLACE).compose(times(sample, 3)).epsilon_bracket(1e-4)
    assert part.lower < found.lower < found.upper < part.upper * 2 + 1


def test_nothing_and_everything() -> None:
    nothing = times(dp.GaussianDpEvent(1.0), 0)
    for event in (dp.NoOpDpEvent(), nothing, dp.PoissonSampledDpEvent(0.0, dp.GaussianDpEvent(0))):
        for relation in RELATIONS:
            assert oracle.epsilon_bracket(event, relation, 0.0).upper == 0.0
            assert oracle.delta_bracket(event, relation, 0.0).upper == 0.0
    bare = oracle.epsilon_bracket(dp.GaussianDpEvent(0.0), ADD, 0.3)
    assert (bare.lower, bare.upper) == (math.inf, math.inf)
    sampled = dp.PoissonSampledDpEvent(0.25, dp.GaussianDpEvent(0.0))
    assert oracle.epsilon_bracket(sampled, ADD, 0.2).lower == math.inf
    enough = oracle.epsilon_bracket(sampled, ADD, 0.3)
    assert (enough.lower, enough.upper) == (0.0, math.inf)
    whole = dp.PoissonSampledDpEvent(1.0, dp.GaussianDpEvent(2.0))
    assert oracle.epsilon_bracket(whole, ADD, 1e-5) == oracle.epsilon_bracket(
        dp.GaussianDpEvent(2.0), ADD, 1e-5
    )


def test_what_is_refused() -> None:
    with pytest.raises(oracle.NoOracle):
        oracle.epsilon_bracket(dp.SingleEpochTreeAggregationDpEvent(1.0, 4), ADD, 0.1)
    with pytest.raises(ValueError, match="target_delta"):
        oracle.epsilon_bracket(dp.GaussianDpEvent(1.0), ADD, 1.5)
    with pytest.raises(ValueError, match="target_epsilon"):
        oracle.delta_bracket(dp.GaussianDpEvent(1.0), ADD, -0.5)
    with pytest.raises(ValueError, match="noise_multiplier"):
        oracle.epsilon_bracket(dp.LaplaceDpEvent(-1.0), ADD, 0.1)
    with pytest.raises(ValueError, match="noise_parameter"):
        oracle.epsilon_bracket(dp.RandomizedResponseDpEvent(1.5, 2), REPLACE, 0.1)
    with pytest.raises(ValueError, match="num_buckets"):
        oracle.epsilon_bracket(dp.RandomizedResponseDpEvent(0.5, 0), REPLACE, 0.1)


def test_the_oracle_is_fast() -> None:
    events = [
        dp.GaussianDpEvent(1.0),
        times(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000),
        times(dp.RandomizedResponseDpEvent(0.9, 4), 1000),
        dp.LaplaceDpEvent(1.0),
        times(dp.LaplaceDpEvent(10.0), 100),
    ]
    spent = []
    for event in events:
        for delta in (1e-3, 1e-7):
            start = time.process_time()
            oracle.epsilon_bracket(event, REPLACE, delta)
            spent.append(time.process_time() - start)
    assert statistics.median(spent) < 0.2
