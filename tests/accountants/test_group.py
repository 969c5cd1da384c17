"""Groups of records: the exact pair, the chain, and what they are compared with."""

from __future__ import annotations

import itertools
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from accountants import (
    ExactAccountant,
    GroupAccountant,
    NeighboringRelation,
    calibrate_noise_multiplier,
    calibrate_steps,
)
from accountants.errors import InfeasibleBudgetError
from accountants.events import dp_sgd_event
from accountants.group_chain import log_chain_factor
from accountants.sampling import (
    Poisson,
    Sampling,
    ShuffledEpochs,
    TruncatedPoisson,
    WithoutReplacement,
    WithReplacement,
)

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
DELTA = 1e-5


def run(sampling: Sampling, sigma: float, steps: int) -> dp_accounting.DpEvent:
    return dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=steps)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE, SPECIAL])
@pytest.mark.parametrize("sampling", [Poisson(0.02), WithoutReplacement(500, 10)])
def test_a_group_of_one_is_a_record(sampling: Sampling, relation: NeighboringRelation) -> None:
    event = run(sampling, 2.0, 100)
    one = ExactAccountant(relation).compose(event)
    group = GroupAccountant(relation, group_size=1).compose(event)
    assert group.epsilon_bracket(DELTA) == one.epsilon_bracket(DELTA)
    assert group.log_delta_bracket(0.5) == one.log_delta_bracket(0.5)
    assert group.ends_meet == one.ends_meet


@pytest.mark.parametrize("k", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_against_the_mixture_of_dp_accounting(k: int) -> None:
    q, sigma, steps = 0.02, 3.0, 20
    weights = [math.comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
    shifts = [float(j) for j in range(k + 1)]
    pld = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        sigma, shifts, weights, value_discretization_interval=1e-3
    )
    theirs = pld.self_compose(steps).get_epsilon_for_delta(DELTA)
    ours = GroupAccountant(group_size=k).compose(run(Poisson(q), sigma, steps))
    bracket = ours.epsilon_bracket(DELTA)
    assert theirs * (1 - 1e-2) - 1e-2 <= bracket.lower <= bracket.upper <= theirs
    assert bracket.upper == pytest.approx(bracket.lower, rel=1e-9)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE, SPECIAL])
def test_unsampled_groups_shift_k_times_as_far(relation: NeighboringRelation) -> None:
    k = 6
    group = GroupAccountant(relation, group_size=k)
    group.compose(dp_accounting.GaussianDpEvent(3.0), 5)
    nearer = ExactAccountant(relation).compose(dp_accounting.GaussianDpEvent(3.0 / k), 5)
    assert group.get_epsilon(DELTA) == pytest.approx(nearer.get_epsilon(DELTA), rel=1e-10)


def one_step(
    own: np.ndarray, others: np.ndarray, q: float, sigma: float, a: float
) -> tuple[float, float]:
    """H_a of one step in the plane, in both orders, for two lists of the group's vectors."""
    axis = np.linspace(-9, 9, 361)
    x, y = np.meshgrid(axis, axis)
    area = (axis[1] - axis[0]) ** 2

    def density(vectors: np.ndarray) -> np.ndarray:
        total = np.zeros_like(x)
        for chosen in itertools.product((0, 1), repeat=len(vectors)):
            weight = math.prod(q if c else 1 - q for c in chosen)
            mean = np.array(chosen, dtype=float) @ vectors
            squares = (x - mean[0]) ** 2 + (y - mean[1]) ** 2
            total += weight * np.exp(-squares / (2 * sigma**2)) / (2 * np.pi * sigma**2)
        return total

    p, r = density(own), density(others)
    return (
        float(np.maximum(p - a * r, 0).sum() * area),
        float(np.maximum(r - a * p, 0).sum() * area),
    )


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_no_group_of_three_loses_more_in_one_step(relation: NeighboringRelation) -> None:
    rng = np.random.default_rng(0)
    q, sigma = 0.3, 1.1
    group = GroupAccountant(relation, group_size=3).compose(run(Poisson(q), sigma, 1))
    for trial in range(6):
        own = rng.standard_normal((3, 2))
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        if trial % 2:
            own = own[:1] + 0.2 * (own - own[:1])  # nearly the worst group
            own /= np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1.0)
        others = -own if relation is REPLACE else np.zeros((3, 2))
        for epsilon in (0.0, 0.4, 1.5):
            worst = max(one_step(own, others, q, sigma, math.exp(epsilon)))
            assert worst <= group.get_delta(epsilon) * (1 + 1e-3)
    same = np.tile([1.0, 0.0], (3, 1))
    others = -same if relation is REPLACE else 0 * same
    for epsilon in (0.0, 0.4, 1.5):
        attained = max(one_step(same, others, q, sigma, math.exp(epsilon)))
        assert attained == pytest.approx(group.delta_bracket(epsilon).lower, rel=1e-3)


@pytest.mark.parametrize(
    ("relation", "sampling"),
    [
        (ADD_REMOVE, WithoutReplacement(300, 6)),
        (REPLACE, WithoutReplacement(300, 6)),
        (ADD_REMOVE, WithReplacement(300, 6)),
        (ADD_REMOVE, TruncatedPoisson(300, 0.02, 30)),
        (REPLACE, ShuffledEpochs(300, 100)),
    ],
)
def test_the_chain_covers_what_equal_records_attain(
    relation: NeighboringRelation, sampling: Sampling
) -> None:
    event = run(sampling, 4.0, 30)
    last = 0.0
    for k in (1, 3):
        group = GroupAccountant(relation, group_size=k).compose(event)
        bracket = group.epsilon_bracket(DELTA)
        assert last <= bracket.lower <= bracket.upper < math.inf
        assert group.get_epsilon(DELTA) == bracket.upper
        # What is given as ε at δ keeps δ at that ε.
        assert group.log_delta_upper(bracket.upper) <= math.log(DELTA) + 1e-2
        assert group.explain(event).source.startswith("docs/proofs/") or k == 1
        last = bracket.lower


def test_the_group_pair_is_below_the_chain() -> None:
    event = run(Poisson(0.02), 3.0, 100)
    group = GroupAccountant(group_size=4).compose(event)
    single = ExactAccountant().compose(event)
    for epsilon in (0.5, 1.0, 2.0):
        chain = single.log_delta_upper(epsilon / 4) + log_chain_factor(epsilon / 4, 4)
        assert group.log_delta_upper(epsilon) <= chain


def test_the_chain_factor_is_the_geometric_sum() -> None:
    for epsilon in (0.0, 1e-12, 1e-5, 0.3, 4.0, 50.0):
        for k in (1, 2, 9):
            exact = math.log(math.fsum(math.exp(j * epsilon) for j in range(k)))
            assert exact <= log_chain_factor(epsilon, k) <= exact + 1e-7


def two_steps(k: int, q: float, sigma: float, a: float, relation: NeighboringRelation) -> float:
    """H_a of two steps of the pair, by quadrature over both outputs."""
    x = np.linspace(-14, 14, 1401)

    def density(sign: float) -> np.ndarray:
        weights = [math.comb(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]
        parts = [w * np.exp(-((x - sign * j) ** 2) / (2 * sigma**2)) for j, w in enumerate(weights)]
        return np.sum(parts, axis=0) / math.sqrt(2 * math.pi * sigma**2)

    p, r = density(1.0), density(-1.0 if relation is REPLACE else 0.0)
    first, second = np.outer(p, p), np.outer(r, r)
    both = (np.maximum(first - a * second, 0), np.maximum(second - a * first, 0))
    return max(float(one.sum()) for one in both) * float(x[1] - x[0]) ** 2


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_two_steps_against_quadrature(relation: NeighboringRelation) -> None:
    k, q, sigma = 4, 0.3, 1.5
    group = GroupAccountant(relation, group_size=k).compose(run(Poisson(q), sigma, 2))
    for epsilon in (0.0, 0.7, 2.5):
        bracket = group.delta_bracket(epsilon)
        assert bracket.upper == pytest.approx(bracket.lower, rel=1e-6)
        exact = two_steps(k, q, sigma, math.exp(epsilon), relation)
        assert exact == pytest.approx(bracket.upper, rel=2e-4)


def test_groups_with_too_many_records_in_a_batch_have_a_chain() -> None:
    # About 5,000 of them in the batch, hardly more or fewer: they move it by 0.1 of the noise.
    group = GroupAccountant(group_size=10**5).compose(run(Poisson(0.05), 5e4, 1))
    bracket = group.epsilon_bracket(DELTA)
    moved = ExactAccountant().compose(dp_accounting.GaussianDpEvent(10.0)).get_epsilon(DELTA)
    most = ExactAccountant().compose(dp_accounting.GaussianDpEvent(0.5)).get_epsilon(DELTA)
    assert 0.0 <= bracket.lower <= moved * (1 - 1e-3) < bracket.upper < 0.1 * most
    assert group.get_epsilon(DELTA) == bracket.upper


def test_mixed_releases_and_extremes() -> None:
    both = dp_accounting.ComposedDpEvent(
        [dp_accounting.GaussianDpEvent(20.0), run(Poisson(0.02), 3.0, 50)]
    )
    group = GroupAccountant(group_size=3).compose(both)
    alone = GroupAccountant(group_size=3).compose(run(Poisson(0.02), 3.0, 50))
    assert group.ends_meet
    assert group.get_epsilon(DELTA) > alone.get_epsilon(DELTA)
    assert GroupAccountant(group_size=3).get_epsilon(DELTA) == 0.0
    bare = GroupAccountant(group_size=3).compose(run(WithoutReplacement(100, 5), 0.0, 1))
    assert bare.get_epsilon(DELTA) == math.inf
    assert bare.get_delta(1.0) == 1.0


@pytest.mark.parametrize("k", [0, -1, 1.5, True, 10**7, math.nan])
def test_bad_sizes_of_groups_are_refused(k: object) -> None:
    with pytest.raises(ValueError, match="group_size"):
        GroupAccountant(group_size=k)  # type: ignore[arg-type]


def test_a_group_that_leaves_too_few_records_is_refused() -> None:
    event = run(WithoutReplacement(20, 15), 2.0, 1)
    GroupAccountant(group_size=4).compose(event)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="group of 6 records"):
        GroupAccountant(group_size=6).compose(event)
    assert GroupAccountant(REPLACE, group_size=6).compose(event).get_epsilon(DELTA) < math.inf


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_calibration_for_groups(relation: NeighboringRelation) -> None:
    def make(sigma: float) -> dp_accounting.DpEvent:
        return run(Poisson(0.02), sigma, 100)

    found = calibrate_noise_multiplier(
        make,
        target_epsilon=2.0,
        target_delta=DELTA,
        neighboring_relation=relation,
        group_size=8,
    )
    again = GroupAccountant(relation, group_size=8).compose(make(found.noise_multiplier))
    assert again.get_epsilon(DELTA) == found.epsilon.upper
    assert 2.0 * (1 - 1e-9) <= found.epsilon.upper <= 2.0


def test_steps_for_groups() -> None:
    found = calibrate_steps(
        lambda steps: run(Poisson(0.02), 6.0, steps),
        target_epsilon=1.0,
        target_delta=DELTA,
        group_size=5,
    )
    assert found.next_epsilon is not None
    assert found.epsilon.upper <= 1.0 < found.next_epsilon.upper
    with pytest.raises(InfeasibleBudgetError):
        calibrate_steps(
            lambda steps: run(Poisson(0.02), 0.5, steps),
            target_epsilon=0.1,
            target_delta=DELTA,
            group_size=5,
        )
