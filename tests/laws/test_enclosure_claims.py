"""Claims that enclosures refute, and claims that they leave alone."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import dp_accounting as dp
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import ExactAccountant
from accountants.laws import ball_pairs, enclosure
from accountants.sampling import TruncatedPoisson

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
RELATIONS = (ADD, REPLACE, SPECIAL)


def gaussian(sigma: float) -> Any:
    return dp.GaussianDpEvent(sigma)


def poisson(q: float, sigma: float, steps: int = 1) -> Any:
    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(q, gaussian(sigma)), steps)


CLAIMS = [
    (gaussian(1.0), 1e-5),
    (dp.PoissonSampledDpEvent(0.01, gaussian(1.0)), 1e-6),
    (poisson(0.01, 1.0, 10), 1e-5),
    (dp.SampledWithReplacementDpEvent(100, 10, gaussian(2.0)), 1e-5),
    (dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(100, 10, gaussian(2.0)), 10), 1e-5),
    (dp.ComposedDpEvent([poisson(0.1, 2.0, 5), gaussian(3.0)]), 1e-30),
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("event", "delta"), CLAIMS, ids=lambda x: str(x)[:40])
def test_claims_below_the_lower_end_are_refuted_and_upper_ends_never(
    event: Any, delta: float, relation: Any
) -> None:
    bracket = ExactAccountant(relation).compose(event).epsilon_bracket(delta)
    proof = enclosure.too_small(event, relation, bracket.lower * 0.995, delta, seconds=20)
    assert proof is not None
    assert "data sets" in proof
    assert enclosure.too_small(event, relation, bracket.upper, delta, seconds=0.5) is None
    if bracket.upper < bracket.lower * (1 + 1e-9):
        assert enclosure.too_large(event, relation, bracket.upper * 1.005, delta, seconds=20)
    assert enclosure.too_large(event, relation, bracket.lower, delta, seconds=0.5) is None


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("event", "delta"),
    [
        (poisson(0.01, 1.0, 1000), 1e-5),
        (poisson(0.001, 0.7, 10_000), 1e-6),
        (
            dp.SelfComposedDpEvent(dp.SampledWithReplacementDpEvent(1000, 10, gaussian(1.0)), 1000),
            1e-6,
        ),
        (poisson(0.001, 1.0, 100_000), 1e-300),
    ],
    ids=lambda x: str(x)[:60],
)
def test_long_runs(event: Any, delta: float, relation: Any) -> None:
    bracket = ExactAccountant(relation).compose(event).epsilon_bracket(delta)
    draws = isinstance(event.event, dp.SampledWithReplacementDpEvent)  # six products share the time
    share = 0.95 if draws else 0.99
    assert enclosure.too_small(event, relation, bracket.lower * share, delta, seconds=30)
    assert enclosure.too_small(event, relation, bracket.upper, delta, seconds=5) is None


def test_claims_at_the_ends_of_the_doubles() -> None:
    assert enclosure.too_small(gaussian(1.0), ADD, 1e4, 0.0)
    assert enclosure.too_small(dp.LaplaceDpEvent(1.0), ADD, 0.999999, 0.0)
    assert enclosure.too_small(dp.LaplaceDpEvent(1.0), ADD, 1.0, 0.0) is None
    assert enclosure.too_small(dp.LaplaceDpEvent(1.0), REPLACE, 1.5, 0.0)
    assert enclosure.too_small(gaussian(1.0), ADD, -3.0, 0.1) is not None  # read as ε = 0
    for nothing in ((math.nan, 1e-5), (1.0, math.nan), (math.inf, 0.0), (0.0, 1.0)):
        assert enclosure.too_small(gaussian(1.0), ADD, *nothing) is None
    bracket = ExactAccountant().compose(gaussian(1.0)).epsilon_bracket(1e-300)
    assert enclosure.too_small(gaussian(1.0), ADD, bracket.lower * (1 - 1e-9), 1e-300)
    assert enclosure.too_small(gaussian(1.0), ADD, bracket.upper, 1e-300) is None
    steps = poisson(0.01, 1.0, 10)
    bracket = ExactAccountant().compose(steps).epsilon_bracket(1e-300)
    assert enclosure.too_small(steps, ADD, bracket.lower * 0.995, 1e-300, seconds=20)


def test_releases_without_noise() -> None:
    bare = dp.PoissonSampledDpEvent(0.125, gaussian(0.0))
    assert enclosure.too_small(bare, ADD, 1e9, 0.12)
    assert enclosure.too_small(bare, ADD, 1e9, 0.125) is None
    assert enclosure.too_small(dp.NonPrivateDpEvent(), ADD, 5.0, 0.999)
    assert enclosure.too_small(dp.SelfComposedDpEvent(bare, 2), ADD, 1e9, 0.23)
    assert enclosure.delta_enclosure(dp.NonPrivateDpEvent(), ADD, 1.0).lower == 1.0
    nothing = enclosure.delta_enclosure(dp.NoOpDpEvent(), ADD, 0.0)
    assert (nothing.lower, nothing.upper) == (0.0, 0.0)


def test_more_steps_than_are_needed_are_left_out() -> None:
    started = time.process_time()
    proof = enclosure.too_small(poisson(0.01, 1.0, 10**8), ADD, 3.0, 1e-5)
    assert proof is not None
    assert "left out" in proof
    assert time.process_time() - started < 20


def test_what_has_no_pair_is_not_confirmed() -> None:
    tree = dp.SingleEpochTreeAggregationDpEvent(1.0, 8)
    assert enclosure.too_small(tree, ADD, 0.0, 1e-9) is None
    response = dp.RandomizedResponseDpEvent(0.5, 4)
    assert enclosure.too_small(response, ADD, 0.0, 1e-9) is None
    with pytest.raises(enclosure.NoEnclosure, match="not settled"):
        enclosure.delta_enclosure(response, ADD, 0.1)
    with pytest.raises(ValueError, match="epsilon"):
        enclosure.delta_enclosure(gaussian(1.0), ADD, -1.0)


def test_truncated_batches_use_a_lower_probability() -> None:
    sampling = dp.TruncatedSubsampledGaussianDpEvent(100, 0.2, 10, 1.0)
    bracket = ExactAccountant().compose(sampling).epsilon_bracket(1e-3)
    assert enclosure.too_small(sampling, ADD, bracket.lower * 0.999, 1e-3)
    assert enclosure.too_small(sampling, ADD, bracket.upper, 1e-3) is None
    share = ball_pairs.kept_share(TruncatedPoisson(5, 0.5, 2))
    exact = (
        sum(Fraction(math.comb(5, j), 32) * min(Fraction(1), Fraction(2, j + 1)) for j in range(6))
        / 2
    )
    assert 0 <= exact - share < Fraction(1, 10**30)
