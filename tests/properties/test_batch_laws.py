"""Laws of accounting with batches of fixed size, weights and shuffled epochs."""

from __future__ import annotations

import copy
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accountants import ExactAccountant, NeighboringRelation
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson
from tests.properties.batches import RELATIONS, Batches, batches, covered, whole
from tests.properties.strategies import DELTAS, log_uniform
from tests.properties.test_accountant_laws import few_and_many

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
UNDER = st.sampled_from(RELATIONS)
ROOM = 1e-6  # what an answer may state as its own error


def upper_at_most(small: float, large: float) -> None:
    assert small <= large * (1 + ROOM) + 1e-12, f"{small!r} against {large!r}"


@few_and_many(few=6, run=batches(), relation=UNDER, delta=DELTAS, epsilon=log_uniform(1e-4, 50.0))
def test_brackets_are_ordered(
    run: Batches, relation: NeighboringRelation, delta: float, epsilon: float
) -> None:
    """Ends in their ranges and in order; the answers are the upper ends; exact where it says so."""
    assume(covered(run, relation))
    accountant = run.under(relation)
    found = accountant.epsilon_bracket(delta)
    assert 0.0 <= found.lower <= found.upper < math.inf
    assert accountant.get_epsilon(delta) == found.upper
    value = accountant.delta_bracket(epsilon)
    assert 0.0 <= value.lower <= value.upper <= 1.0
    assert accountant.get_delta(epsilon) == value.upper
    exact = accountant.explain(run.event).exact
    assert exact == (relation is ADD_REMOVE)
    if exact:
        assert found.upper - found.lower <= 1e-9 * found.upper


@few_and_many(
    few=6,
    run=batches(),
    relation=UNDER,
    delta=DELTAS,
    factor=log_uniform(1.01, 3.0),
    what=st.sampled_from(["delta", "sigma", "n", "m", "steps"]),
)
def test_monotone(
    run: Batches, relation: NeighboringRelation, delta: float, factor: float, what: str
) -> None:
    """The upper end falls in delta, sigma and n and grows in m and T; the lower one too."""
    assume(covered(run, relation))
    less, more, less_delta = run, run, delta
    if what == "delta":
        less_delta = min(1.0, delta * factor)
    elif what == "sigma":
        less = run.but(sigma=run.sigma * factor)
    elif what == "steps":
        more = run.but(steps=run.steps * (2 if run.scheme == "shuffled" else math.ceil(factor)))
        assume(run.steps > 1 or run.scheme == "shuffled")
    else:
        assume(run.scheme != "shuffled")
        if what == "n":
            less = run.but(n=math.ceil(run.n * factor))
        else:
            bigger = min(math.ceil(run.m * factor), run.n - 1)
            more = run.but(m=bigger)
        assume(less.m / less.n * less.steps > 10 or run.steps == 1)
    small = less.under(relation).epsilon_bracket(less_delta)
    large = more.under(relation).epsilon_bracket(delta)
    upper_at_most(small.upper, large.upper)
    upper_at_most(small.lower, large.upper)
    if relation is ADD_REMOVE:
        upper_at_most(small.lower, large.lower)


@few_and_many(few=6, run=batches(), relation=UNDER, delta=DELTAS, share=st.floats(0.05, 0.95))
def test_composition_adds_counts(
    run: Batches, relation: NeighboringRelation, delta: float, share: float
) -> None:
    """a + b uses are a and then b, in either order; the length is the number of releases."""
    assume(covered(run, relation))
    uses = whole(run)
    first = int(uses * share)
    split = ExactAccountant(relation).compose(run.step, first).compose(run.step, uses - first)
    back = ExactAccountant(relation).compose(run.step, uses - first).compose(run.step, first)
    together = run.under(relation)
    answer = together.epsilon_bracket(delta)
    assert split.epsilon_bracket(delta) == answer == back.epsilon_bracket(delta)
    assert len(split) == len(together) == run.steps


@few_and_many(few=6, a=batches(), b=batches(), relation=UNDER, delta=DELTAS)
def test_mixed_runs_are_free_of_order(
    a: Batches, b: Batches, relation: NeighboringRelation, delta: float
) -> None:
    """Different schemes in one accountant: any order, at least the dearer, at most their sum."""
    assume(covered(a, relation) and covered(b, relation))
    assume(a.steps > 1 and b.steps > 1)
    answer = a.under(relation).compose(b.event).epsilon_bracket(delta)
    assert b.under(relation).compose(a.event).epsilon_bracket(delta) == answer
    for part in (a, b):
        assert part.under(relation).epsilon_bracket(delta).lower <= answer.upper * (1 + ROOM)
    halves = [part.under(relation).epsilon_bracket(delta / 2).upper for part in (a, b)]
    assert answer.lower <= sum(halves) * (1 + ROOM)


@few_and_many(few=6, run=batches(), relation=UNDER, delta=DELTAS)
def test_copies_are_independent(run: Batches, relation: NeighboringRelation, delta: float) -> None:
    """Composing into a copy leaves the original as it was, and the other way round."""
    assume(covered(run, relation))
    original = run.under(relation)
    before, steps = original.epsilon_bracket(delta), len(original)
    twin = copy.copy(original)
    twin.compose(run.step, 3)
    assert len(original) == steps
    assert original.epsilon_bracket(delta) == before
    other = copy.deepcopy(original)
    original.compose(run.step)
    assert other.epsilon_bracket(delta) == before
    assert len(other) == steps


@few_and_many(few=6, run=batches(("without", "with", "weighted")), delta=DELTAS)
def test_relations_are_ordered(run: Batches, delta: float) -> None:
    """Null for another record is one of the replacements; batches of fixed size cost more."""
    replaced = run.under(REPLACE).epsilon_bracket(delta)
    special = run.under(SPECIAL).epsilon_bracket(delta)
    assert special.lower <= replaced.upper * (1 + ROOM)
    # the two orders of adding and removing are data sets of a replacement
    adding = run.under(ADD_REMOVE).epsilon_bracket(delta)
    assert adding.upper <= replaced.upper * (1 + ROOM)
    assert replaced.lower >= adding.lower * (1 - 1e-3)
    if run.scheme == "without" and run.steps > 1:
        event = dp_sgd_event(
            sampling=Poisson(run.m / run.n), noise_multiplier=run.sigma, steps=run.steps
        )
        poisson = ExactAccountant(ADD_REMOVE).compose(event).epsilon_bracket(delta)
        assert poisson.upper <= adding.upper * (1 + ROOM)


@few_and_many(few=6, run=batches(("weighted",)), relation=UNDER, delta=DELTAS)
def test_equal_weights_are_uniform_draws(
    run: Batches, relation: NeighboringRelation, delta: float
) -> None:
    uniform = run.but(scheme="with").under(relation).epsilon_bracket(delta)
    weighted = run.under(relation).epsilon_bracket(delta)
    assert math.isclose(uniform.upper, weighted.upper, rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(uniform.lower, weighted.lower, rel_tol=1e-9, abs_tol=1e-12)


@few_and_many(few=6, run=batches(("without",)), relation=UNDER, delta=DELTAS)
def test_one_draw_has_no_replacement(
    run: Batches, relation: NeighboringRelation, delta: float
) -> None:
    """Batches of one record: both schemes are the same mechanism."""
    one = run.but(m=1, n=max(2, round(run.n / run.m)))
    subset = one.under(relation).epsilon_bracket(delta)
    drawn = one.but(scheme="with").under(relation).epsilon_bracket(delta)
    assert subset.lower <= drawn.upper * (1 + ROOM)
    assert drawn.lower <= subset.upper * (1 + ROOM)
    if relation is ADD_REMOVE:
        assert math.isclose(subset.upper, drawn.upper, rel_tol=1e-8)


@settings(max_examples=15, deadline=None)
@given(n=st.integers(2, 10**6), m=st.integers(1, 10**4), relation=UNDER)
def test_no_noise_and_no_use(n: int, m: int, relation: NeighboringRelation) -> None:
    """Without noise nothing is bounded; endless noise and no steps cost nothing."""
    m = min(m, n - 1)
    for scheme in ("without", "with", "weighted"):
        bare = Batches(scheme, n, m, 0.0, 1).under(relation)
        assert bare.get_epsilon(1e-6) == math.inf
        assert bare.get_delta(3.0) == 1.0
        free = Batches(scheme, n, m, 1.0, 0).under(relation)
        assert free.get_epsilon(1e-6) == 0.0
        endless = ExactAccountant(relation).compose(Batches(scheme, n, m, math.inf, 7).event)
        assert endless.get_epsilon(0.0) == 0.0


#: Profiles with copies or with a far tail: seconds for each of the answers of the round trip.
SLOW_ENDS = [
    ("with", SPECIAL),
    ("weighted", SPECIAL),
    ("with", ADD_REMOVE),
    ("weighted", ADD_REMOVE),
]
EVERY_END = [
    (scheme, relation) for scheme in ("without", "with", "weighted") for relation in RELATIONS
]
QUICK_ENDS = [ends for ends in EVERY_END if ends not in SLOW_ENDS]


def check_round_trip(accountant: ExactAccountant, *deltas: float) -> None:
    """delta at the ends of epsilon(delta) encloses delta."""
    for delta in deltas:
        found = accountant.epsilon_bracket(delta)
        assert accountant.get_delta(found.upper) <= delta * (1 + 4e-6)
        assert accountant.delta_bracket(found.upper).lower <= delta
        assert accountant.delta_bracket(found.lower).upper >= delta


@pytest.mark.parametrize(
    ("scheme", "relation"),
    [*QUICK_ENDS, *(pytest.param(*ends, marks=pytest.mark.slow) for ends in SLOW_ENDS)],
)
def test_round_trip(scheme: str, relation: NeighboringRelation) -> None:
    check_round_trip(Batches(scheme, 5000, 100, 2.0, 3000).under(relation), 1e-3, 1e-6, 1e-12)


@pytest.mark.parametrize("scheme", ["with", "weighted"])
def test_round_trip_of_adding_and_removing(scheme: str) -> None:
    """The same where it is quick: the smallest delta with more noise."""
    check_round_trip(Batches(scheme, 5000, 100, 2.0, 3000).under(ADD_REMOVE), 1e-3, 1e-6)
    check_round_trip(Batches(scheme, 5000, 100, 4.0, 3000).under(ADD_REMOVE), 1e-12)
