"""Laws of exact accounting as properties; CI looks at a few examples, `make slow` at many."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accountants import (
    AccuracyError,
    Bracket,
    ExactAccountant,
    NeighboringRelation,
    calibrate_noise_multiplier,
)
from tests.accountants.checks import gaussian, run, sampled
from tests.properties.strategies import DELTAS, SIDES, Run, Sides, log_uniform, runs

FEW, MANY = 25, 400


def few_and_many(few: int = FEW, **inputs: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """Parametrise a law into a short run for CI and a long one marked ``slow``."""

    def decorate(law: Callable[..., None]) -> Callable[..., None]:
        def test(examples: int) -> None:
            settings(max_examples=examples, deadline=None)(given(**inputs)(law))()

        test.__name__, test.__doc__ = law.__name__, law.__doc__
        marks = [few, pytest.param(MANY, marks=pytest.mark.slow)]
        return pytest.mark.parametrize("examples", marks)(test)

    return decorate


def at_most(smaller: Bracket, larger: Bracket) -> None:
    """The brackets do not contradict ``smaller <= larger``, and the upper ends agree with it."""
    assert smaller.lower <= larger.upper, f"{smaller!r} against {larger!r}"
    assert smaller.upper <= larger.upper + (smaller.upper - smaller.lower), (
        f"{smaller!r} {larger!r}"
    )


# L1: range ------------------------------------------------------------------------------------


@few_and_many(run_=runs(), sides=SIDES, delta=DELTAS, epsilon=log_uniform(1e-6, 1e4))
def test_range(run_: Run, sides: Sides, delta: float, epsilon: float) -> None:
    """Answers lie in their ranges, are ordered, and epsilon is 0 from delta(0) on."""
    accountant = run_.under(sides)
    found = accountant.epsilon_bracket(delta)
    assert 0.0 <= found.lower <= found.upper < math.inf
    assert accountant.get_epsilon(delta) == found.upper
    logs = accountant.log_delta_bracket(epsilon)
    value = accountant.delta_bracket(epsilon)
    assert logs.lower <= logs.upper <= 0.0
    assert 0.0 <= value.lower <= value.upper <= 1.0
    assert accountant.get_delta(epsilon) == value.upper
    if logs.lower > -690:
        assert math.isclose(math.log(value.upper), logs.upper, rel_tol=1e-12, abs_tol=1e-12)
    zero = accountant.delta_bracket(0.0)
    assert zero.lower > 0.0
    assert accountant.get_epsilon(min(1.0, zero.upper * 1.0001)) == 0.0
    assert accountant.epsilon_bracket(zero.lower * 0.999).lower > 0.0


# L2: domain limits ------------------------------------------------------------------------------


@few_and_many(run_=runs(), sides=SIDES, delta=DELTAS)
def test_ends_of_the_domain(run_: Run, sides: Sides, delta: float) -> None:
    """q = 0, T = 0 and endless noise cost nothing; no noise has no bound; q = 1 is no sampling."""
    free = sides.accountant()
    free.compose(sampled(0.0, run_.sigma), run_.steps)
    free.compose(run(run_.q, run_.sigma, 0))
    free.compose(sampled(run_.q, math.inf), run_.steps)
    assert free.get_epsilon(delta) == 0.0
    assert free.get_delta(0.0) == 0.0
    bare = sides.accountant().compose(sampled(run_.q, 0.0))
    assert bare.get_epsilon(delta) == math.inf
    assert bare.get_delta(1.0) == 1.0
    full = sides.accountant().compose(sampled(1.0, run_.sigma), run_.steps)
    plain = sides.accountant().compose(gaussian(run_.sigma), run_.steps)
    assert full.epsilon_bracket(delta) == plain.epsilon_bracket(delta)


# L5: monotone ----------------------------------------------------------------------------------


@few_and_many(
    run_=runs(),
    sides=SIDES,
    delta=DELTAS,
    factor=log_uniform(1.0001, 3.0),
    what=st.sampled_from(["delta", "sigma", "q", "steps"]),
)
def test_monotone(run_: Run, sides: Sides, delta: float, factor: float, what: str) -> None:
    """epsilon falls in delta and sigma and grows in q and T; so does delta."""
    less, more, less_delta = run_, run_, delta
    if what == "delta":
        less_delta = min(1.0, delta * factor)
    elif what == "sigma":
        less = Run(run_.q, run_.sigma * factor, run_.steps)
    elif what == "q":
        more = Run(min(1.0, run_.q * factor), run_.sigma, run_.steps)
    else:
        assume(run_.steps > 1)
        more = Run(run_.q, run_.sigma, math.ceil(run_.steps * factor))
    small, large = less.under(sides), more.under(sides)
    at_most(small.epsilon_bracket(less_delta), large.epsilon_bracket(delta))
    point = large.get_epsilon(delta)
    try:
        tiny = small.log_delta_bracket(point)
    except AccuracyError:
        # refusing is allowed far below the range of delta that is asked for in practice
        assert small.get_epsilon(1e-40) < point
        return
    at_most(tiny, large.log_delta_bracket(point))


@few_and_many(run_=runs(), delta=DELTAS)
def test_replacing_costs_at_least_as_much(run_: Run, delta: float) -> None:
    """A replacement is not cheaper than adding or removing; replace-special equals the latter."""
    both = Sides(NeighboringRelation.ADD_OR_REMOVE_ONE, "both")
    special = Sides(NeighboringRelation.REPLACE_SPECIAL, "both")
    replace = Sides(NeighboringRelation.REPLACE_ONE, "both")
    unit = run_.under(both).epsilon_bracket(delta)
    assert run_.under(special).epsilon_bracket(delta) == unit
    at_most(unit, run_.under(replace).epsilon_bracket(delta))


# L8: round trip --------------------------------------------------------------------------------


@few_and_many(run_=runs(), sides=SIDES, delta=DELTAS)
def test_round_trip(run_: Run, sides: Sides, delta: float) -> None:
    """delta at the two ends of epsilon(delta) encloses delta."""
    accountant = run_.under(sides)
    found = accountant.epsilon_bracket(delta)
    assume(found.lower > 0)
    assert accountant.delta_bracket(found.upper).lower <= delta
    assert accountant.delta_bracket(found.lower).upper >= delta
    upper = accountant.get_delta(found.upper)
    assert upper <= delta * (1 + 4e-6), f"{upper!r} against {delta!r}"


@few_and_many(run_=runs(most_steps=1e5), sides=SIDES, delta=DELTAS, target=log_uniform(0.02, 50.0))
def test_calibration(run_: Run, sides: Sides, delta: float, target: float) -> None:
    """The calibrated run meets its budget, barely; a bit less noise does not."""
    drawn = -math.expm1(run_.steps * math.log1p(-run_.q)) if run_.q < 1 else 1.0
    assume(drawn > 2 * delta)

    def cost(sigma: float) -> Bracket:
        return Run(run_.q, sigma, run_.steps).under(sides).epsilon_bracket(delta)

    assume(cost(0.3).lower > target)  # keep away from noise so small that it takes seconds
    found = calibrate_noise_multiplier(
        lambda sigma: run(run_.q, sigma, run_.steps),
        target_epsilon=target,
        target_delta=delta,
        neighboring_relation=sides.relation,
        direction=sides.direction,
    )
    assert target * (1 - 1e-9) < found.epsilon.upper <= target
    assert cost(found.noise_multiplier) == found.epsilon
    assert cost(found.noise_multiplier * (1 - 1e-6)).upper > target


# L10: units -------------------------------------------------------------------------------------


@few_and_many(sigma=log_uniform(0.05, 500.0), steps=st.integers(1, 10**6), delta=DELTAS)
def test_units(sigma: float, steps: int, delta: float) -> None:
    """Twice the sensitivity is half the noise; T releases are one with sqrt(T) less noise."""
    add = ExactAccountant().compose(gaussian(sigma), steps).get_epsilon(delta)
    replace = ExactAccountant(NeighboringRelation.REPLACE_ONE)
    double = replace.compose(gaussian(2 * sigma), steps).get_epsilon(delta)
    one = ExactAccountant().compose(gaussian(sigma / math.sqrt(steps))).get_epsilon(delta)
    assert math.isclose(add, double, rel_tol=1e-11, abs_tol=1e-13)
    assert math.isclose(add, one, rel_tol=1e-11, abs_tol=1e-13)


# L13: tiny and huge ----------------------------------------------------------------------------


@few_and_many(
    q=st.sampled_from([1e-3, 0.01, 0.3, 1.0]),
    sigma=st.sampled_from([0.01, 0.5, 1.0, 20.0, 1e4]),
    steps=st.sampled_from([1, 1000, 10**5, 10**8]),
    delta=st.sampled_from([1e-300, 1e-100, 1e-30, 1e-10, 1e-5]),
    sides=SIDES,
)
def test_extremes(q: float, sigma: float, steps: int, delta: float, sides: Sides) -> None:
    """A finite answer or an explicit refusal, and no plateau: 1 % more delta is seen."""
    assume((sigma >= 0.5 and q * steps >= 10) or steps == 1 or q == 1.0)  # the rest is slow
    answers = []
    for target in (delta, 1.01 * delta):
        try:
            bracket = Run(q, sigma, steps).under(sides).epsilon_bracket(target)
        except AccuracyError as error:
            assert "cannot be computed" in str(error)  # noqa: PT017
            return
        assert 0.0 <= bracket.lower <= bracket.upper < math.inf
        answers.append(bracket)
    if answers[0].lower > 0 and sides.direction != "add":
        assert answers[1].upper < answers[0].upper


@few_and_many(delta=log_uniform(1e-280, 1e-8), target=log_uniform(0.05, 1e3))
def test_sigma_has_no_plateau(delta: float, target: float) -> None:
    """1 % more delta strictly lowers the calibrated noise multiplier."""

    def sigma(target_delta: float) -> float:
        found = calibrate_noise_multiplier(
            lambda s: run(1.0, s, 7), target_epsilon=target, target_delta=target_delta
        )
        return found.noise_multiplier

    assert sigma(1.01 * delta) < sigma(delta)


# L15: composition ------------------------------------------------------------------------------


@few_and_many(run_=runs(), sides=SIDES, delta=DELTAS, share=st.floats(0.01, 0.99))
def test_composition_adds_counts(run_: Run, sides: Sides, delta: float, share: float) -> None:
    """compose(e, a + b) is compose(e, a) then compose(e, b); the length is the number of steps."""
    first = int(run_.steps * share)
    event = sampled(run_.q, run_.sigma)
    split = sides.accountant().compose(event, first).compose(event, run_.steps - first)
    whole = run_.under(sides)
    assert split.epsilon_bracket(delta) == whole.epsilon_bracket(delta)
    assert len(split) == len(whole) == run_.steps


@few_and_many(a=runs(most_steps=1e4), b=runs(most_steps=1e4), sides=SIDES, delta=DELTAS)
def test_composition_of_two_runs(a: Run, b: Run, sides: Sides, delta: float) -> None:
    """Free of order; at least the dearer one; at most both with delta shared between them."""
    assume(a.steps + b.steps >= 100 or (a.q == 1 and b.q == 1))
    one = a.under(sides).compose(run(b.q, b.sigma, b.steps))
    other = b.under(sides).compose(run(a.q, a.sigma, a.steps))
    together = one.epsilon_bracket(delta)
    assert other.epsilon_bracket(delta) == together
    for part in (a, b):
        at_most(part.under(sides).epsilon_bracket(delta), together)
    basic = [part.under(sides).epsilon_bracket(delta / 2).upper for part in (a, b)]
    assert together.lower <= sum(basic)


# The profile itself ----------------------------------------------------------------------------


@few_and_many(run_=runs())
def test_total_variation_has_no_direction(run_: Run) -> None:
    """delta(0) is the same for removing and adding: two different computations."""
    remove, add = (
        run_.under(Sides(NeighboringRelation.ADD_OR_REMOVE_ONE, d)).delta_bracket(0.0)
        for d in ("remove", "add")
    )
    assert remove.lower <= add.upper
    assert add.lower <= remove.upper
    assert math.isclose(remove.upper, add.upper, rel_tol=1e-8)


@few_and_many(run_=runs(), sides=SIDES, delta=DELTAS, spread=st.floats(0.01, 0.5))
def test_profile_is_convex(run_: Run, sides: Sides, delta: float, spread: float) -> None:
    """delta is convex and falling in exp(epsilon)."""
    accountant = run_.under(sides)
    middle = accountant.get_epsilon(delta)
    assume(middle > 0)
    low, high = middle * (1 - spread), middle * (1 + spread)
    at_low, at_middle, at_high = (accountant.delta_bracket(e) for e in (low, middle, high))
    # share of exp(low) in exp(middle) = share exp(low) + (1 - share) exp(high)
    share = math.expm1(middle - high) / math.expm1(low - high)
    assert at_middle.lower <= share * at_low.upper + (1 - share) * at_high.upper
    at_most(at_high, at_low)
