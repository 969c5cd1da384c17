"""What is refused, and how: values outside their domain, events without a theorem."""

from __future__ import annotations

import math
import re
from typing import Any

import dp_accounting
import pytest
from dp_accounting.privacy_accountant import UnsupportedEventError

from accountants import (
    ExactAccountant,
    InfeasibleBudgetError,
    NeighboringRelation,
    calibrate_noise_multiplier,
)
from accountants.events import dp2_event, dp_sgd_event
from accountants.renyi.accountant import RenyiAccountant
from accountants.sampling import (
    Poisson,
    ShuffledEpochs,
    WithoutReplacement,
    WithReplacement,
    weighted_sampling,
)
from accountants.tcdp.accountant import TruncatedCdpAccountant
from tests.accountants.checks import RELATIONS, gaussian, run, sampled

NAN = math.nan


def refuses(name: str, value: Any) -> Any:
    """A ValueError that names the argument, its value and what is allowed."""
    text = re.escape(f"{name}={value!r}") + ": must be .+"
    return pytest.raises(ValueError, match=text)


@pytest.mark.parametrize("delta", [NAN, -1e-5, -0.5, 1.0000001, 2.0, math.inf, "1e-5", None, True])
def test_delta(delta: Any) -> None:
    for accountant in (ExactAccountant(), ExactAccountant().compose(run(0.01, 1.0, 10))):
        for method in (accountant.get_epsilon, accountant.epsilon_bracket):
            with refuses("target_delta", delta):
                method(delta)


@pytest.mark.parametrize("epsilon", [NAN, -1e-9, -math.inf, "1", None])
def test_epsilon(epsilon: Any) -> None:
    for accountant in (ExactAccountant(), ExactAccountant().compose(run(0.01, 1.0, 10))):
        for method in (
            accountant.get_delta,
            accountant.delta_bracket,
            accountant.log_delta_bracket,
        ):
            with refuses("target_epsilon", epsilon):
                method(epsilon)


@pytest.mark.parametrize("sigma", [NAN, -1.0, -math.inf, "1"])
def test_noise_multiplier(sigma: Any) -> None:
    for event in (gaussian(sigma), sampled(0.1, sigma), run(0.1, sigma, 3)):
        accountant = ExactAccountant()
        with refuses("noise_multiplier", sigma):
            accountant.compose(event)
        assert len(accountant) == 0
    for build in (dp_sgd_event, dp2_event):
        with refuses("noise_multiplier", sigma):
            build(sampling=Poisson(0.1), noise_multiplier=sigma, steps=3)


@pytest.mark.parametrize("q", [NAN, -0.1, 1.5, math.inf, "0.1"])
def test_sampling_probability(q: Any) -> None:
    accountant = ExactAccountant()
    with refuses("sampling_probability", q):
        accountant.compose(sampled(q, 1.0))
    with refuses("sampling_probability", q):
        Poisson(q)


@pytest.mark.parametrize("count", [-1, 1.5, NAN, "3", True])
def test_count(count: Any) -> None:
    accountant = ExactAccountant()
    with refuses("count", count):
        accountant.compose(gaussian(1.0), count)
    with refuses("SelfComposedDpEvent.count", count):
        accountant.compose(dp_accounting.SelfComposedDpEvent(gaussian(1.0), count))
    with refuses("steps", count):
        dp_sgd_event(sampling=Poisson(0.1), noise_multiplier=1.0, steps=count)
    assert len(accountant) == 0
    assert accountant.get_epsilon(1e-5) == 0.0


HUGE = 10**400  # no double


@pytest.mark.parametrize(
    "make", [ExactAccountant, RenyiAccountant, TruncatedCdpAccountant], ids=lambda m: m.__name__
)
def test_counts_beyond_what_doubles_hold(make: Any) -> None:
    step, many = gaussian(1.0), dp_accounting.SelfComposedDpEvent
    for event, count in (
        (step, HUGE),
        (step, 10**15 + 1),
        (many(step, HUGE), 1),
        (many(step, 10**15 + 1), 1),
        (many(step, 10**9), 10**9),
        (many(many(step, 10**8), 10**8), 1),
        (dp_accounting.ComposedDpEvent([step, many(step, 10**8)]), 10**8),
    ):
        accountant = make()
        with pytest.raises(ValueError, match=r"count=.+: must be .*1e\+1[58]"):
            accountant.compose(event, count)
        assert accountant.steps == 0
    assert make().compose(many(gaussian(1e9), 10**9), 10**6).steps == 10**15


def test_integers_that_are_no_doubles() -> None:
    for count in (HUGE, 10**5000):
        with pytest.raises(ValueError, match=r"noise_multiplier=\(about 10\^\d+\): must be"):
            ExactAccountant().compose(gaussian(count))
        with pytest.raises(ValueError, match=r"steps=\(about 10\^\d+\): must be"):
            dp_sgd_event(sampling=Poisson(0.1), noise_multiplier=1.0, steps=count)


def test_a_bad_part_leaves_no_trace_of_the_good_ones() -> None:
    accountant = ExactAccountant()
    with refuses("noise_multiplier", -1.0):
        accountant.compose(dp_accounting.ComposedDpEvent([gaussian(1.0), gaussian(-1.0)]))
    assert len(accountant) == 0
    assert accountant.get_epsilon(1e-5) == 0.0


@pytest.mark.parametrize("direction", ["up", "", "REMOVE", "replace", None, 1])
def test_direction(direction: Any) -> None:
    with refuses("direction", direction):
        ExactAccountant(direction=direction)


@pytest.mark.parametrize("relation", ["add", None, 1, 2])
def test_relation(relation: Any) -> None:
    with refuses("neighboring_relation", relation):
        ExactAccountant(relation)


FIXED = dp_accounting.SampledWithoutReplacementDpEvent
UNSUPPORTED = {
    "without replacement": FIXED(1000, 10, dp_accounting.LaplaceDpEvent(1.0)),
    "with replacement": dp_accounting.SampledWithReplacementDpEvent(1, 10, gaussian(1.0)),
    "tree aggregation": dp_accounting.SingleEpochTreeAggregationDpEvent(1.0, 8),
    "Laplace": dp_accounting.LaplaceDpEvent(1.0),
    "randomized response": dp_accounting.RandomizedResponseDpEvent(0.5, 2),
    "sampled Laplace": dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.LaplaceDpEvent(1.0)),
    "nested sampling": dp_accounting.PoissonSampledDpEvent(0.1, sampled(0.1, 1.0)),
    "sampled composition": dp_accounting.PoissonSampledDpEvent(
        0.1, dp_accounting.SelfComposedDpEvent(gaussian(1.0), 2)
    ),
    "zCDP": dp_accounting.ZCDpEvent(0.1),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported(name: str, relation: NeighboringRelation) -> None:
    """Refused alone, inside a composition and under counts, with a reason; no trace stays."""
    event = UNSUPPORTED[name]
    accountant = ExactAccountant(relation).compose(gaussian(5.0))
    before = accountant.get_epsilon(1e-5)
    for tree in (
        event,
        dp_accounting.ComposedDpEvent([gaussian(1.0), event]),
        dp_accounting.SelfComposedDpEvent(event, 5),
    ):
        assert not accountant.supports(tree)
        with pytest.raises(UnsupportedEventError, match="caused by subevent") as caught:
            accountant.compose(tree)
        assert type(event).__name__ in str(caught.value)
    assert len(accountant) == 1
    assert accountant.get_epsilon(1e-5) == before


def test_unsupported_even_when_composed_zero_times() -> None:
    with pytest.raises(UnsupportedEventError):
        ExactAccountant().compose(UNSUPPORTED["without replacement"], 0)


@pytest.mark.parametrize("sampling", [ShuffledEpochs(1000, 100), WithoutReplacement(1000, 1000)])
def test_combinations_without_a_theorem_name_the_nearest(sampling: Any) -> None:
    event = dp_sgd_event(sampling=sampling, noise_multiplier=1.0, steps=20)
    with pytest.raises(UnsupportedEventError, match="REPLACE_ONE"):
        ExactAccountant().compose(event)
    with pytest.raises(UnsupportedEventError, match="REPLACE_ONE"):
        calibrate_noise_multiplier(
            lambda s: dp_sgd_event(sampling=sampling, noise_multiplier=s, steps=20),
            target_epsilon=1.0,
            target_delta=1e-5,
        )
    assert ExactAccountant(NeighboringRelation.REPLACE_ONE).compose(event).get_epsilon(1e-5) > 0


@pytest.mark.parametrize("tightness", ["", "exact", None, 1])
def test_tightness(tightness: Any) -> None:
    with refuses("tightness", tightness):
        ExactAccountant(tightness=tightness)


@pytest.mark.parametrize(
    ("weights", "depends"),
    [
        ([1.0, 2.0], True),
        ([1.0, 2.0], None),
        ([1.0], False),
        ([], False),
        ([[1.0, 2.0]], False),
        ([1.0, -1.0], False),
        ([1.0, NAN], False),
        ([1.0, math.inf], False),
        ([0.0, 1.0], False),
        ([1j, 2], False),
        ([10**400, 1], False),
        (["a", "b"], False),
    ],
)
def test_weights(weights: Any, depends: Any) -> None:
    with pytest.raises(ValueError, match=r"weights.*must be"):
        weighted_sampling(weights, batch_size=2, weights_depend_on_data=depends)


def test_huge_weights_are_shares_too() -> None:
    found = weighted_sampling([1e308] * 4, batch_size=4, weights_depend_on_data=False)
    assert 0.25 <= found.largest_probability < 0.25 + 1e-14


def test_largest_weight_is_rounded_up() -> None:
    found = weighted_sampling([0.1] * 10, batch_size=4, weights_depend_on_data=False)
    assert 0.1 < found.largest_probability < 0.1 + 1e-14
    assert found.batch_size == 4


@pytest.mark.parametrize("size", [(0, 1), (10, 11), (10, 0), (10, -1), (10.5, 2), (10, True)])
@pytest.mark.parametrize("kind", [WithoutReplacement, WithReplacement])
def test_fixed_sizes(kind: type, size: tuple[Any, Any]) -> None:
    if kind is WithReplacement and size == (10, 11):
        assert kind(*size).batch_size == 11  # drawing again and again may exceed the data
        return
    with pytest.raises(ValueError, match="must be"):
        kind(*size)


@pytest.mark.parametrize(
    ("epsilon", "delta", "name"),
    [
        (NAN, 1e-5, "target_epsilon"),
        (0.0, 1e-5, "target_epsilon"),
        (-1.0, 1e-5, "target_epsilon"),
        (math.inf, 1e-5, "target_epsilon"),
        (1.0, NAN, "target_delta"),
        (1.0, 0.0, "target_delta"),
        (1.0, 1.0, "target_delta"),
        (1.0, 2.0, "target_delta"),
    ],
)
def test_calibration_domains(epsilon: float, delta: float, name: str) -> None:
    value = epsilon if name == "target_epsilon" else delta
    with refuses(name, value):
        calibrate_noise_multiplier(
            lambda s: run(0.01, s, 10), target_epsilon=epsilon, target_delta=delta
        )


def test_budget_that_every_noise_multiplier_meets() -> None:
    """A record is drawn with probability below delta: nothing to calibrate, and it says so."""
    with pytest.raises(InfeasibleBudgetError) as caught:
        calibrate_noise_multiplier(
            lambda s: run(1e-4, s, 10), target_epsilon=1.0, target_delta=0.01
        )
    assert caught.value.nearest
