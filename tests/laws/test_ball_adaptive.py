"""Lower ends of adaptive runs: against quadrature, proved upper ends, and wrong arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import dp_accounting as dp
import flint
import numpy as np
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray
from scipy import special

from accountants import ExactAccountant
from accountants.events import WeightedWithReplacementDpEvent
from accountants.laws import adaptive, ball_adaptive, enclosure, oracle
from accountants.laws.ball_events import read
from accountants.laws.ball_pairs import LocationPair
from accountants.laws.check import check_accountant
from tests.bites.laws_wrong_lattice import LatticeAccountant
from tests.bites.laws_wrong_slips import ReflectionForgotten

REPLACE = NeighboringRelation.REPLACE_ONE


def without(n: int, m: int, sigma: float, steps: int) -> Any:
    release = dp.SampledWithoutReplacementDpEvent(n, m, dp.GaussianDpEvent(sigma))
    return dp.SelfComposedDpEvent(release, steps)


def drawn(n: int, m: int, sigma: float, steps: int) -> Any:
    release = dp.SampledWithReplacementDpEvent(n, m, dp.GaussianDpEvent(sigma))
    return dp.SelfComposedDpEvent(release, steps)


EXAMPLE = without(10, 3, 1.5, 2)
EPSILON = 0.25


def planned(event: Any, delta: float, **settings: Any) -> adaptive.Plan:
    ((leaf, steps),) = read(event, REPLACE).items()
    return adaptive.plan(adaptive.alternatives(leaf, REPLACE), steps, delta, **settings)


def in_balls(plan: adaptive.Plan, epsilon: float) -> Any:
    return ball_adaptive.lower_end(plan, flint.arb(epsilon))


# ------------------------------------------------------------------------ an independent value


def one_step(a: NDArray[np.float64], q: float, sigma: float) -> NDArray[np.float64]:
    """sup over events of P - exp(a) Q for P = (1-q) N(0) + q N(2), Q = N(0)."""
    with np.errstate(all="ignore"):
        odds = (np.exp(a) - (1 - q)) / q
        cut = np.where(odds > 0, sigma**2 / 2 * np.log(np.maximum(odds, 1e-300)) + 1, -1e3)
    far, near = special.ndtr(-cut / sigma), special.ndtr((2 - cut) / sigma)
    return np.asarray((1 - q) * far + q * near - np.exp(a) * far)


def two_steps(epsilon: float, q: float, sigma: float, *, adapts: bool) -> float:
    """δ of two steps, the first order in step one, by the trapezoid rule over its output."""
    x = np.linspace(-12 * sigma, 2 + 12 * sigma, 400_001)
    density = np.exp(-((x / sigma) ** 2) / 2) / math.sqrt(2 * math.pi) / sigma
    ratio = 1 - q + q * np.exp((2 * x - 2) / sigma**2)
    a = epsilon - np.log(ratio)
    first = one_step(a, q, sigma)
    # The other order: H_a(Q, P) = 1 - a + a H_{1/a}(P, Q).
    second = 1 - np.exp(a) + np.exp(a) * one_step(-a, q, sigma)
    later = np.maximum(first, second) if adapts else first
    return float((density * ratio * later).sum() * (x[1] - x[0]))


def test_the_quadrature_gives_the_values_of_the_proof() -> None:
    assert two_steps(EPSILON, 0.3, 1.5, adapts=True) == pytest.approx(0.17314, abs=6e-6)
    assert two_steps(EPSILON, 0.3, 1.5, adapts=False) == pytest.approx(0.16549, abs=6e-6)


@pytest.mark.parametrize(("orders", "adapts"), [((False, True), True), ((False,), False)])
@pytest.mark.parametrize("epsilon", [0.0, EPSILON, 1.0])
def test_two_steps_come_close_from_below(
    orders: tuple[bool, ...], adapts: bool, epsilon: float
) -> None:
    truth = two_steps(epsilon, 0.3, 1.5, adapts=adapts)
    plan = planned(EXAMPLE, truth, half=1000, orders=orders)
    low = in_balls(plan, epsilon)
    assert float(low.upper()) <= truth * (1 + 1e-9)
    assert float(low.lower()) >= truth * (1 - 1e-4)
    # Doubles stay below the same rule in balls, and lose next to nothing.
    assert truth * (1 - 1e-4) <= plan.delta(epsilon) <= float(low.lower())


def test_one_order_is_what_fixed_data_sets_attain() -> None:
    for steps, delta in ((2, 0.17), (12, 1e-3)):
        event = without(10, 3, 1.5, steps)
        fixed = ExactAccountant(REPLACE).compose(event).epsilon_bracket(delta).lower
        one = planned(event, delta, half=1200, orders=(False,)).epsilon(delta)
        assert fixed * 0.999 < one < fixed * (1 + 1e-6)
        both = planned(event, delta, half=1200).epsilon(delta)
        assert both > fixed * 1.005


# ------------------------------------------------------------------------------ what bounds it

RUNS = [
    (EXAMPLE, 0.17),
    (without(10, 3, 1.5, 12), 1e-2),
    (without(10, 5, 2.0, 20), 0.1),
    (without(20, 3, 0.7, 15), 1e-3),
    (without(10, 1, 1.0, 15), 1e-5),
    (without(1000, 10, 1.0, 100), 1e-2),
    (drawn(3, 3, 1.4, 2), 0.17),
    (drawn(10, 5, 4.0, 20), 1e-2),
    (
        dp.SelfComposedDpEvent(WeightedWithReplacementDpEvent(0.1, 4, dp.GaussianDpEvent(2.0)), 6),
        0.05,
    ),
]


@pytest.mark.parametrize(("event", "delta"), RUNS, ids=lambda value: str(value)[:60])
def test_below_the_proved_upper_end_above_fixed_data_sets(event: Any, delta: float) -> None:
    ((leaf, steps),) = read(event, REPLACE).items()
    bracket = ExactAccountant(REPLACE).compose(event).epsilon_bracket(delta)
    found = adaptive.lower_epsilon({leaf: steps}, REPLACE, delta)
    assert bracket.lower < found < bracket.upper
    plan = planned(event, delta, half=150)
    epsilon = plan.epsilon(delta)
    assert epsilon < bracket.upper
    low = in_balls(plan, epsilon)
    assert delta <= float(low.lower())
    assert float(low.upper()) <= delta * (1 + 1e-6)


@pytest.mark.parametrize(
    ("event", "delta"),
    [(EXAMPLE, 0.17), pytest.param(without(10, 3, 1.5, 8), 0.05, marks=pytest.mark.slow)],
)
def test_below_the_tight_upper_end(event: Any, delta: float) -> None:
    tight = ExactAccountant(REPLACE, tightness="tight").compose(event).epsilon_bracket(delta)
    found = planned(event, delta, half=600).epsilon(delta)
    assert tight.lower < found < tight.upper


def test_coarse_lattices_say_less() -> None:
    for event, delta in ((EXAMPLE, 0.17), (without(10, 5, 2.0, 10), 1e-3)):
        found = [planned(event, delta, half=half).epsilon(delta) for half in (12, 40, 150, 600)]
        assert found == sorted(found)
        assert found[-1] - found[-2] < (found[-2] - found[-3]) < (found[-3] - found[0])


def test_large_losses_keep_their_digits() -> None:
    """exp(ε) q is about δ though q is 1e-65: an absolute error of q would show."""
    event, delta = without(10, 4, 0.435, 11), 1e-6
    plan = planned(event, delta, half=400)
    epsilon = plan.epsilon(delta)
    assert epsilon > 130
    low = in_balls(plan, epsilon)
    assert delta <= float(low.lower()) <= delta * (1 + 1e-6)
    fixed = ExactAccountant(REPLACE).compose(event).epsilon_bracket(delta)
    assert fixed.lower * 0.999 < epsilon < fixed.upper


@pytest.mark.parametrize(
    "event",
    [
        dp.GaussianDpEvent(1.0),
        dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(1.0)),
        dp.SampledWithoutReplacementDpEvent(3, 3, dp.GaussianDpEvent(1.0)),
        dp.LaplaceDpEvent(1.0),
        dp.RandomizedResponseDpEvent(0.5, 2),
    ],
    ids=repr,
)
def test_no_choice_where_every_pair_is_its_own_reversal(event: Any) -> None:
    ((leaf, _),) = read(event, REPLACE).items()
    assert adaptive.alternatives(leaf, REPLACE) == []
    assert adaptive.lower_epsilon({leaf: 5}, REPLACE, 0.1) == -math.inf
    assert adaptive.lower_delta({leaf: 5}, REPLACE, 0.1, 0.1) == 0.0


@pytest.mark.parametrize(
    "relation", [NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_SPECIAL]
)
def test_orders_are_chosen_under_replacement_only(relation: NeighboringRelation) -> None:
    """Adding and removing are not each other's choice: the relation has one order per run."""
    counts = read(EXAMPLE, relation)
    assert adaptive.lower_epsilon(counts, relation, 0.17) == -math.inf


# ----------------------------------------------------------------------- what must be caught

Patch = Callable[[pytest.MonkeyPatch], None]


def _losses_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell's second chance from its first and its loss, rounded up."""
    right = ball_adaptive._law
    spacing = planned(EXAMPLE, 0.17, half=60).spacing

    def wrong(option: adaptive.Option, known: Any) -> Any:
        first, second = right(option, known)
        step = flint.arb(spacing)
        ups = [
            mass * (-step * math.ceil(float((mass / other).log()) / spacing)).exp()
            for mass, other in zip(first, second, strict=True)
        ]
        return first, ups

    monkeypatch.setattr(ball_adaptive, "_law", wrong)


def _record_moves_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    right = adaptive.alternatives

    def wrong(leaf: Any, relation: Any) -> list[LocationPair]:
        return [
            LocationPair(p.noise, p.draws, p.share, p.first, p.second, p.variance * Fraction(9, 10))
            for p in right(leaf, relation)
        ]

    monkeypatch.setattr(adaptive, "alternatives", wrong)


def _order_chosen_with_hindsight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which data set is which is decided after the output is seen."""
    right = ball_adaptive._law

    def wrong(option: adaptive.Option, known: Any) -> Any:
        both = list(zip(*right(option, known), strict=True))
        return [max(cell) for cell in both], [min(cell) for cell in both]

    monkeypatch.setattr(ball_adaptive, "_law", wrong)


@pytest.mark.parametrize(
    "mutant", [_losses_up, _record_moves_too_far, _order_chosen_with_hindsight]
)
def test_wrong_arithmetic_passes_the_truth(mutant: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = two_steps(EPSILON, 0.3, 1.5, adapts=True)
    right = in_balls(planned(EXAMPLE, 0.17, half=60), EPSILON)
    assert float(right.upper()) < truth
    mutant(monkeypatch)
    wrong = in_balls(planned(EXAMPLE, 0.17, half=60), EPSILON)
    assert float(wrong.lower()) > truth * (1 + 1e-4)


# ------------------------------------------------------------------------ who makes use of it


def test_the_oracle_knows_runs_that_adapt() -> None:
    fixed = ExactAccountant(REPLACE).compose(EXAMPLE)
    found = oracle.epsilon_bracket(EXAMPLE, REPLACE, 0.17)
    assert fixed.epsilon_bracket(0.17).lower * 1.1 < found.lower
    assert found.upper == fixed.epsilon_bracket(0.17).upper
    at = oracle.delta_bracket(EXAMPLE, REPLACE, EPSILON)
    truth = two_steps(EPSILON, 0.3, 1.5, adapts=True)
    assert truth * (1 - 1e-4) < at.lower < truth
    assert at.upper == fixed.delta_bracket(EPSILON).upper


def test_too_small_is_proved_between_fixed_and_adaptive_runs() -> None:
    fixed = ExactAccountant(REPLACE).compose(EXAMPLE).epsilon_bracket(0.17)
    low = oracle.epsilon_bracket(EXAMPLE, REPLACE, 0.17).lower
    middle = (fixed.lower + low) / 2
    proof = enclosure.too_small(EXAMPLE, REPLACE, middle, 0.17)
    assert proof is not None
    assert "adaptive" in proof
    assert enclosure.too_small(EXAMPLE, REPLACE, fixed.upper, 0.17, seconds=2.0) is None
    assert enclosure.too_small(EXAMPLE, REPLACE, low * 1.01, 0.17, seconds=2.0) is None


@pytest.mark.parametrize("law", [pytest.param("L4", marks=pytest.mark.slow), "L12"])
def test_one_order_for_a_whole_run_is_caught(law: str) -> None:
    report = check_accountant(ReflectionForgotten, laws=[law], relation=REPLACE, max_examples=3)
    assert [finding.law for finding in report.understatements] == [law]
    assert "adaptive" in str(report.understatements[0].confirmed_by)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["L4", "L12"])
def test_both_orders_hold(law: str) -> None:
    assert check_accountant(LatticeAccountant, laws=[law], relation=REPLACE, max_examples=3).ok
