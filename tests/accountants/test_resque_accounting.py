"""What calls of a private oracle cost, by four accountants, against other means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import (
    AdvancedCompositionAccountant,
    ExactAccountant,
    NeighboringRelation,
    RenyiAccountant,
    TruncatedCdpAccountant,
    calibrate_noise_multiplier,
)
from accountants.copies import CopyLaw
from accountants.events import dp_sgd_event
from accountants.renyi import conversion, symmetric
from accountants.sampling import OracleDraws, WithReplacement
from accountants.tcdp.advanced import Steps, dwork_rothblum_vadhan
from tests.accountants import resque_truth as truth
from tests.resque.small import oracle_calls as run

REPLACE = NeighboringRelation.REPLACE_ONE
CALLS, DELTA = 216, 1e-6


def ends(event: Any) -> tuple[float, float, float, float]:
    """Upper ends by the four accountants, the sharpest first."""
    return (
        ExactAccountant(REPLACE).compose(event).get_epsilon(DELTA),
        RenyiAccountant(REPLACE).compose(event).get_epsilon(DELTA),
        TruncatedCdpAccountant(REPLACE, "gaussian-closed").compose(event).get_epsilon(DELTA),
        AdvancedCompositionAccountant(REPLACE).compose(event).get_epsilon(DELTA),
    )


# n, draws, kappa, noise / sensitivity | derived references with the coupled profile alone: loss
# distribution, Rényi; closed truncated CDP; advanced composition | step, end of the grid below
ROWS = (
    (100_000, 678, 3, 2.0, 0.2805, 2.2087, 2.6205, 33.96, 2e-3, 0.8),
    (100_000, 678, 3, 4.0, 0.1017, 0.5475, 0.9129, 2.442, 5e-4, 0.3),
    (100_000, 678, 3, 8.0, 0.0455, 0.1263, 0.3432, 0.618, 2e-4, 0.1),
    (10_000, 261, 4, 4.0, 0.4371, 1.2887, 1.8415, 23.42, 1e-3, 0.8),
    (10_000, 261, 4, 8.0, 0.1939, 0.3498, 0.7843, 3.846, 5e-4, 0.3),
)


def _rows(*slow: int) -> list[Any]:
    return [
        pytest.param(row, marks=[pytest.mark.slow] if i in slow else [], id=f"{row[0]}-{row[3]:g}")
        for i, row in enumerate(ROWS)
    ]


@pytest.mark.parametrize("row", _rows(1, 2, 4))
def test_four_accountants(row: tuple[float, ...]) -> None:
    """Their order; never above the references; the closed curve is where it was derived."""
    n, draws, _, noise, loss, renyi, closed, advanced, *_ = row
    event = run(int(n), int(draws), 2 * noise, CALLS)
    found = ends(event)
    assert found[0] < found[1] < found[2] < found[3]
    assert found[0] < loss
    assert found[1] < renyi
    assert found[2] == pytest.approx(closed, abs=6e-5)
    assert found[3] < advanced
    numeric = TruncatedCdpAccountant(REPLACE).compose(event).get_epsilon(DELTA)
    assert found[1] < numeric <= found[2]
    bracket = ExactAccountant(REPLACE).compose(event).epsilon_bracket(DELTA)
    assert 0.87 * bracket.upper < bracket.lower < bracket.upper == found[0]


@pytest.mark.parametrize("row", _rows(1, 2, 3, 4))
def test_the_upper_end_against_a_loss_distribution(row: tuple[float, ...]) -> None:
    """dp_accounting, pessimistic, from profiles by root finding: above ours, by its grid."""
    n, draws, _, noise, *_, step, end = row
    p = truth.copies(int(n), int(draws))
    profile = np.array([truth.smallest(e, p, 2 * noise) for e in np.arange(0, end, step)])
    other = truth.composed_epsilon(profile, step, CALLS, DELTA)
    ours = ExactAccountant(REPLACE).compose(run(int(n), int(draws), 2 * noise, CALLS))
    assert 0.98 * other < ours.get_epsilon(DELTA) < other


@pytest.mark.parametrize("row", _rows(1, 2, 4))
def test_the_coupled_profile_alone_gives_the_derived_rényi_values(row: tuple[float, ...]) -> None:
    """Best real order, best truncation; with 2/sigma = 1/(noise / sensitivity)."""
    n, draws, _, noise, _, renyi, *_ = row
    best = math.inf
    for kappa in (2, 3, 4, 5):
        law = CopyLaw.of(int(draws), 1 / n, largest=kappa)
        lost = -math.expm1(CALLS * math.log1p(-law.tail))
        if lost >= DELTA:
            continue
        rest = math.log((DELTA - lost) / (1 - lost))
        orders = np.geomspace(1.5, 80.0, 600)
        curve = CALLS * symmetric.coupled(law.probabilities, 1 / noise, orders)
        best = min(best, float(conversion.epsilons(orders, curve, rest).min()))
    assert best == pytest.approx(renyi, rel=2e-3)


def test_no_member_of_the_class_is_above_the_three_profiles() -> None:
    """Every set of outputs of every mechanism: chances that are Lipschitz in the draws.

    Also above what a Gaussian sum attains, so that members that are no sums were tried."""
    rng = np.random.default_rng(7)
    for n, draws, sigma in ((2, 2, 1.0), (3, 3, 1.4), (5, 4, 2.0), (6, 6, 3.0), (4, 1, 0.8)):
        p = truth.copies(n, draws)
        for epsilon, zeta in ((0.0, 0.0), (0.1, 0.01), (0.5, 0.0), (0.5, 0.2), (1.5, 0.05)):
            most = truth.largest_of_class(p, sigma, math.exp(epsilon), rng, zeta)
            fails = zeta * float(p[1:].sum())
            bound = (1 - zeta) * truth.smallest(epsilon, p, sigma) + fails
            assert 0.7 * bound < most <= bound * (1 + 1e-12)
            assert bound <= (1 - zeta) * truth.coupled(epsilon, p, sigma) + fails + 1e-15


def test_no_vectors_of_the_plane_are_above_the_upper_end() -> None:
    """Gaussian sums: random vectors, and the record at two places 60 degrees apart, others at 0."""
    rng = np.random.default_rng(3)
    turned = np.array([0.5, math.sqrt(0.75)])
    cases = [(np.array([1.0, 0.0]), turned, np.zeros((2, 2)))]
    for _ in range(5):
        vectors = rng.normal(size=(4, 2))
        vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
        cases.append((vectors[0], vectors[1], vectors[2:]))
    for draws, sigma in ((2, 1.0), (3, 1.4)):
        accountant = ExactAccountant(REPLACE).compose(run(3, draws, sigma, 1))
        for epsilon in (0.0, 0.2, 0.8):
            upper = accountant.get_delta(epsilon)
            found = [truth.planar_sum_delta(*case, draws, sigma, epsilon) for case in cases]
            assert 0.1 * upper < max(found) <= upper


def test_one_call_is_the_largest_of_the_class() -> None:
    """The exact accountant's δ of one call, with failures: (1 - eta zeta) h + eta zeta."""
    n, draws, sigma, zeta = 20, 6, 3.0, 1e-3
    p = truth.copies(n, draws)
    fails = zeta * float(p[1:].sum())
    for epsilon in (0.1, 0.5, 1.0):
        for chance, failed in ((0.0, 0.0), (zeta, fails)):
            accountant = ExactAccountant(REPLACE).compose(run(n, draws, sigma, 1, chance))
            value = (1 - failed) * truth.smallest(epsilon, p, sigma) + failed
            assert accountant.get_delta(epsilon) == pytest.approx(value, rel=1e-3)
            assert accountant.get_delta(epsilon) >= value * (1 - 1e-9)


def test_without_failures_it_costs_what_a_noisy_sum_does() -> None:
    """The profiles are those of draws with replacement; the sum is the member below."""
    event = dp_sgd_event(sampling=WithReplacement(10_000, 50), noise_multiplier=6.0, steps=300)
    other = run(10_000, 50, 6.0, 300)
    for make in (ExactAccountant, RenyiAccountant):
        one, two = make(REPLACE).compose(event), make(REPLACE).compose(other)
        assert one.get_epsilon(1e-5) == two.get_epsilon(1e-5)
    bracket = ExactAccountant(REPLACE).compose(other).epsilon_bracket(1e-5)
    assert bracket == ExactAccountant(REPLACE).compose(event).epsilon_bracket(1e-5)


@pytest.mark.parametrize(
    "make",
    [
        ExactAccountant,
        TruncatedCdpAccountant,
        pytest.param(RenyiAccountant, marks=pytest.mark.slow),
        pytest.param(AdvancedCompositionAccountant, marks=pytest.mark.slow),
    ],
)
def test_failures_are_carried_by_every_accountant(make: Any) -> None:
    """At large ε nothing but the failures is left; ε is infinite once they exceed δ."""
    n, draws, sigma, calls, zeta = 10_000, 50, 8.0, 200, 1e-7
    fails = -math.expm1(calls * math.log1p(-zeta * -math.expm1(draws * math.log1p(-1 / n))))
    failing = make(REPLACE).compose(run(n, draws, sigma, calls, zeta))
    sound = make(REPLACE).compose(run(n, draws, sigma, calls))
    assert failing.get_epsilon(fails * 0.999) == math.inf
    assert sound.get_epsilon(fails * 0.999) < math.inf
    assert failing.get_epsilon(1.5 * fails) < math.inf
    assert failing.get_epsilon(1e-4) > sound.get_epsilon(1e-4)
    assert failing.get_epsilon(1e-4) < 1.2 * sound.get_epsilon(1e-4)
    assert fails <= failing.get_delta(200.0) <= 1.001 * fails
    if make is not AdvancedCompositionAccountant:
        delta = failing.get_delta(1.0)
        assert delta == pytest.approx(fails + (1 - fails) * sound.get_delta(1.0), rel=1e-3)


def test_a_failing_member_attains_the_failures() -> None:
    """Publish the draws with probability zeta: δ is at least 1 - (1 - eta zeta)^K at every ε.

    The lower end stays that of the Gaussian sum, which belongs to the class for every zeta."""
    event = run(100, 5, 8.0, 200, 1e-3)
    eta = -math.expm1(5 * math.log1p(-1 / 100))
    attained = -math.expm1(200 * math.log1p(-eta * 1e-3))
    accountant = ExactAccountant(REPLACE).compose(event)
    assert attained <= accountant.get_delta(0.5)
    assert attained <= accountant.get_delta(50.0) <= attained * (1 + 1e-6)
    assert accountant.epsilon_bracket(attained / 2).upper == math.inf
    assert accountant.epsilon_bracket(attained / 2).lower < math.inf
    assert math.exp(accountant.unsampled_log_delta(1e3)) == pytest.approx(attained, rel=1e-9)


def test_one_cut_of_both_laws() -> None:
    """Truncation and failures: 1 - (1 - tail)(1 - eta zeta); nothing moves without failures."""
    law = CopyLaw.of(50, 0.01, largest=2)
    assert law.failing(0.0) is law
    cut = law.failing(0.25)
    assert cut.probabilities == law.probabilities
    assert cut.tail == pytest.approx(1 - (1 - law.tail) * (1 - 0.25 * law.present), rel=1e-9)
    assert law.failing(1.0).tail < 1
    assert CopyLaw((0.5, 0.5), 1.0).failing(0.1).tail == 1.0


def test_data_sets_that_a_single_mixture_does_not_cover() -> None:
    """Others at 0, the record at u or v, 60 degrees apart: above (sum p_k N(2k), N(0)) composed."""
    n, gap, calls = 100, 1.5, 1000
    accountant = ExactAccountant(REPLACE).compose(run(n, 1, 2 / gap, calls))
    for epsilon, factor in ((0.1, 1.2), (1.0, 1.4)):
        attained = truth.planar_delta(1 / n, gap, calls, epsilon)
        pair = ExactAccountant(direction="remove").compose(
            dp_sgd_event(sampling=WithReplacement(n, 1), noise_multiplier=2 / gap, steps=calls)
        )
        assert attained > factor * pair.get_delta(epsilon)
        assert attained < accountant.get_delta(epsilon) < 1.5 * attained


@pytest.mark.slow
def test_calibrated_noise_meets_the_budget() -> None:
    def event(sigma: float) -> Any:
        return run(100_000, 678, sigma, CALLS, 1e-12)

    found = calibrate_noise_multiplier(
        event, target_epsilon=1.0, target_delta=DELTA, neighboring_relation=REPLACE
    )
    assert 0.999 < found.epsilon.upper <= 1.0
    assert found.noise_multiplier == pytest.approx(1.978, abs=5e-3)  # noise / sensitivity .99
    with pytest.raises(ValueError, match=r"epsilon=1\.0 at delta"):
        calibrate_noise_multiplier(
            lambda sigma: run(100_000, 678, sigma, CALLS, 1e-3),
            target_epsilon=1.0,
            target_delta=DELTA,
            neighboring_relation=REPLACE,
        )


def test_mixed_with_other_releases() -> None:
    calls, other = (
        run(1000, 10, 6.0, 200, 1e-9),
        dp_sgd_event(sampling=WithReplacement(1000, 10), noise_multiplier=4.0, steps=200),
    )
    for make in (ExactAccountant, RenyiAccountant):
        one = make(REPLACE).compose(calls).compose(other)
        two = make(REPLACE).compose(other).compose(calls)
        assert one.get_epsilon(1e-5) == pytest.approx(two.get_epsilon(1e-5), rel=1e-12)
        assert one.get_epsilon(1e-5) > make(REPLACE).compose(calls).get_epsilon(1e-5)


@settings(max_examples=3, deadline=None)
@given(
    n=st.integers(100, 10_000),
    share=st.floats(0.001, 0.1),
    sigma=st.floats(3.0, 20.0),
    calls=st.integers(50, 300),
    zeta=st.floats(0.0, 1e-7),
    make=st.sampled_from([ExactAccountant, RenyiAccountant, TruncatedCdpAccountant]),
)
def test_more_costs_more(
    n: int, share: float, sigma: float, calls: int, zeta: float, make: Any
) -> None:
    """In draws, calls and failures; less with noise.  Within what truncation may cost."""
    draws = max(1, round(share * n))

    def cost(draws: int, sigma: float, calls: int, zeta: float) -> float:
        return float(make(REPLACE).compose(run(n, draws, sigma, calls, zeta)).get_epsilon(1e-5))

    base = cost(draws, sigma, calls, zeta)
    dearer = (
        cost(draws + max(1, draws // 5), sigma, calls, zeta),
        cost(draws, sigma / 1.2, calls, zeta),
        cost(draws, sigma, calls + 1 + calls // 5, zeta),
        cost(draws, sigma, calls, zeta + 2e-8),
    )
    assert min(dearer) >= base * (1 - 1e-4)


def test_descriptions_compare_by_value() -> None:
    assert OracleDraws(10, 2, 0.5) == OracleDraws(10, 2, 0.5)
    assert OracleDraws(10, 2, 0.5) != OracleDraws(10, 2)


def test_classical_composition_is_what_it_says() -> None:
    """One leaf: the homogeneous theorem at the share that was chosen."""
    event = run(10_000, 261, 16.0, CALLS)
    accountant = AdvancedCompositionAccountant(REPLACE)
    epsilon, share = accountant.compose(event).epsilon_and_share(DELTA)
    own = (1 - share) * DELTA / CALLS
    one = ExactAccountant(REPLACE).compose(run(10_000, 261, 16.0, 1)).get_epsilon(own)
    again, total = dwork_rothblum_vadhan(Steps(one, own, CALLS), share * DELTA)
    assert epsilon == pytest.approx(again, rel=1e-6)
    assert total <= DELTA * (1 + 1e-12)
