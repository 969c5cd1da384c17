"""Every sampling scheme under every relation: what must hold between them, and in words."""

import math

import dp_accounting
import numpy as np
import pytest
from scipy import special, stats

from accountants import AccuracyError, ExactAccountant, NeighboringRelation
from accountants.events import dp_sgd_event
from accountants.relations import rule
from accountants.sampling import (
    Poisson,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
    weighted_sampling,
)
from accountants.truncated import cut_probability, kept_probability

ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
RELATIONS = [ADD_OR_REMOVE, REPLACE, SPECIAL]
SCHEMES = [
    Poisson(0.01),
    WithoutReplacement(5000, 50),
    WithReplacement(5000, 50),
    WeightedWithReplacement(1 / 5000, 50),
    TruncatedPoisson(5000, 0.01, 100),
    ShuffledEpochs(5000, 50),
]


def bracket(sampling, relation, sigma=1.5, steps=400, delta=1e-6, **kinds):
    event = dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=steps)
    return ExactAccountant(relation, **kinds).compose(event).epsilon_bracket(delta)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sampling", SCHEMES, ids=lambda s: s.scheme)
def test_ends_meet_where_the_table_says_so(sampling, relation):
    if (sampling.scheme, relation) == ("shuffled-epochs", ADD_OR_REMOVE):
        with pytest.raises(ValueError, match="covered under REPLACE_ONE"):
            rule(sampling.scheme, relation)
        return
    found = rule(sampling.scheme, relation)
    ends = bracket(sampling, relation)
    assert 0 < ends.lower <= ends.upper < math.inf
    close = ends.width <= 1e-9 * ends.upper
    assert close or not found.exact
    event = dp_sgd_event(sampling=sampling, noise_multiplier=1.5, steps=400)
    words = ExactAccountant(relation).explain(event)
    assert words.exact is found.exact
    assert found.upper in words.upper
    assert found.lower in words.lower
    assert words.source.startswith("docs/proofs/")


def test_equal_weights_are_uniform_draws():
    weights = weighted_sampling(np.ones(5000), batch_size=50, weights_depend_on_data=False)
    for relation in RELATIONS:
        assert bracket(weights, relation).upper == pytest.approx(
            bracket(WithReplacement(5000, 50), relation).upper, rel=1e-9
        )


def test_a_heavier_record_costs_more():
    heavy = weighted_sampling(
        np.r_[2.0, np.ones(4998)], batch_size=50, weights_depend_on_data=False
    )
    for relation in RELATIONS:
        assert (
            bracket(heavy, relation).lower
            > bracket(WithReplacement(5000, 50), relation).upper * 1.05
        )


def test_one_draw_is_one_record_without_replacement():
    for relation in RELATIONS:
        one = bracket(WithReplacement(200, 1), relation)
        other = bracket(WithoutReplacement(200, 1), relation)
        assert one.lower == pytest.approx(other.lower, rel=1e-6)
        assert one.upper == pytest.approx(other.upper, rel=1e-3)


def test_a_batch_of_everything_is_a_gaussian_release():
    for relation, gap in ((REPLACE, 2.0), (SPECIAL, 1.0)):
        event = dp_accounting.GaussianDpEvent(1.5 / gap)
        plain = ExactAccountant().compose(event, 10).epsilon_bracket(1e-6)
        assert bracket(WithoutReplacement(50, 50), relation, steps=10) == plain


def test_shuffled_epochs():
    """One full release for each epoch above; the average of an epoch's releases below."""
    for relation, gap in ((REPLACE, 2.0), (SPECIAL, 1.0)):
        ends = bracket(ShuffledEpochs(1000, 250), relation, sigma=3.0, steps=12)
        upper = ExactAccountant().compose(dp_accounting.GaussianDpEvent(3.0 / gap), 3)
        lower = ExactAccountant().compose(dp_accounting.GaussianDpEvent(6.0 / gap), 3)
        assert ends.upper == upper.get_epsilon(1e-6)
        assert ends.lower == lower.epsilon_bracket(1e-6).lower
    accountant = ExactAccountant(REPLACE).compose(
        dp_sgd_event(sampling=ShuffledEpochs(1000, 250), noise_multiplier=3.0, steps=12)
    )
    assert len(accountant) == 12


def test_partial_epochs_are_refused():
    with pytest.raises(ValueError, match="steps=11: must be a multiple"):
        dp_sgd_event(sampling=ShuffledEpochs(1000, 250), noise_multiplier=3.0, steps=11)


@pytest.mark.parametrize(
    ("n", "q", "cap"), [(50, 0.1, 4), (50, 0.1, 12), (20, 0.5, 10), (9, 1.0, 4)]
)
def test_chances_of_a_truncated_batch(n, q, cap):
    """Against sums over the number of other records in the sample."""
    others = np.arange(n + 1)
    law = stats.binom.pmf(others, n, q)
    cut = float(law[others >= cap].sum())
    kept = q * float(law @ np.minimum(1, cap / (others + 1)))
    sampling = TruncatedPoisson(n, q, cap)
    assert cut * (1 - 1e-12) <= cut_probability(sampling) <= cut * (1 + 1e-8)
    assert kept * (1 - 1e-8) <= kept_probability(sampling) <= kept * (1 + 1e-12)


def test_truncation_is_carried_in_delta():
    """Above plain Poisson sampling by no more than the chance of a cut batch, below it hardly."""
    sampling = TruncatedPoisson(5000, 0.01, 100)
    tail = 400 * float(special.betainc(100, 5001 - 100, 0.01))
    assert 1e-9 < tail < 1e-6
    cut = bracket(sampling, ADD_OR_REMOVE, delta=1e-6)
    plain = ExactAccountant().compose(
        dp_sgd_event(sampling=Poisson(0.01), noise_multiplier=1.5, steps=400)
    )
    assert cut.lower < plain.get_epsilon(1e-6) < cut.upper
    assert cut.upper == pytest.approx(plain.get_epsilon(1e-6 - tail), rel=1e-6)
    assert bracket(sampling, ADD_OR_REMOVE, delta=tail / 2).upper == math.inf


def test_sampling_a_cap_that_is_never_reached_is_poisson():
    free = bracket(TruncatedPoisson(100, 0.1, 101), REPLACE)
    assert free.upper == pytest.approx(bracket(Poisson(0.1), REPLACE).upper, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_replacing_costs_at_least_removing(delta):
    """The attained pair of removal is attained under replacement too."""
    for sampling in SCHEMES[1:4]:
        removed = bracket(sampling, ADD_OR_REMOVE, delta=delta)
        replaced = bracket(sampling, REPLACE, delta=delta)
        assert replaced.upper >= removed.lower
        assert replaced.lower == pytest.approx(removed.upper, rel=1e-4)


def test_mixed_runs_lie_between_their_parts():
    subset = dp_sgd_event(sampling=WithoutReplacement(5000, 50), noise_multiplier=1.5, steps=200)
    draws = dp_sgd_event(sampling=WithReplacement(5000, 50), noise_multiplier=1.5, steps=200)
    both = ExactAccountant(REPLACE).compose(subset).compose(draws).epsilon_bracket(1e-6)
    other_way = ExactAccountant(REPLACE).compose(draws).compose(subset).epsilon_bracket(1e-6)
    assert both == other_way
    least = bracket(WithoutReplacement(5000, 50), REPLACE)
    most = bracket(WithReplacement(5000, 50), REPLACE)
    assert least.lower < both.lower < most.lower
    assert least.upper < both.upper < most.upper


@pytest.mark.parametrize(
    ("sigma", "steps", "delta", "largest"),
    [
        (1.0, 1, 0.0, 34.464534189),
        (1.0, 2, 0.0, 68.929068379),
    ],
)
def test_a_record_that_is_nearly_always_drawn(sigma, steps, delta, largest):
    """The chance of no copy, 6.5e-16 here, is the largest loss when the record is added.

    One minus the chance of a copy had lost it.
    """
    ends = bracket(WithReplacement(3, 85), ADD_OR_REMOVE, sigma, steps, delta, direction="add")
    assert ends.lower == pytest.approx(largest, rel=1e-9)
    assert largest == pytest.approx(-85 * steps * math.log(2 / 3), rel=1e-9)


def test_tiny_deltas_have_a_finite_upper_end():
    """What the cut of the copies leaves out weighs less than any delta that is asked for."""
    tiny, small = (bracket(WithReplacement(5000, 50), REPLACE, delta=d) for d in (1e-300, 1e-150))
    assert small.lower <= small.upper < tiny.upper < math.inf


def test_copies_that_never_lack_are_refused():
    with pytest.raises(AccuracyError, match="more than 400 times"):
        bracket(WithReplacement(2, 1000), REPLACE)
