"""Wrong accounting of oracle calls, and what catches each of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from accountants import ExactAccountant, NeighboringRelation, RenyiAccountant
from accountants.copies import CopyLaw
from accountants.events import dp_sgd_event
from accountants.exact import domination
from accountants.sampling import WithReplacement
from accountants.tcdp.accountant import TruncatedCdpAccountant
from tests.accountants import resque_truth as truth
from tests.resque.small import oracle_calls as run

REPLACE = NeighboringRelation.REPLACE_ONE
MAKERS = (ExactAccountant, RenyiAccountant, TruncatedCdpAccountant)


def sum_of_draws(others: float, n: int, draws: int, sigma: float, epsilon: float) -> float:
    """δ of one Gaussian sum, a member of the class: the record 1 against -1, every batch listed."""
    x = np.linspace(-draws - 12 * sigma, draws + 12 * sigma, 40_001)
    density = []
    for own in (1.0, -1.0):
        batches = itertools.product([own, *[others] * (n - 1)], repeat=draws)
        means = [math.fsum(batch) for batch in batches]
        values, times = np.unique(np.round(means, 9), return_counts=True)
        parts = stats.norm.pdf(x[:, None], values, sigma) @ times
        density.append(parts / len(means))
    over = np.maximum(density[0] - math.exp(epsilon) * density[1], 0)
    return float(over.sum() * (x[1] - x[0]))


def failing_member(n: int, draws: int, zeta: float, calls: int) -> float:
    """δ at any ε of a member of the class that publishes its draws with probability zeta."""
    return -math.expm1(calls * math.log1p(-zeta * -math.expm1(draws * math.log1p(-1 / n))))


def exact_delta(event: Any, epsilon: float) -> float:
    return ExactAccountant(REPLACE).compose(event).get_delta(epsilon)


ONE_CALL = [(3, 3, 1.4, 0.0, 0.0), (3, 3, 1.4, 0.5, -1.0), (2, 4, 2.0, 0.3, -1.0)]


@pytest.mark.parametrize(("n", "draws", "sigma", "epsilon", "others"), ONE_CALL)
def test_the_right_one_is_above_what_is_attained(
    n: int, draws: int, sigma: float, epsilon: float, others: float
) -> None:
    attained = sum_of_draws(others, n, draws, sigma, epsilon)
    assert attained <= exact_delta(run(n, draws, sigma, 1), epsilon) * (1 + 1e-6) < 1.1 * attained


def test_a_swapped_profile_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """(sum p_k N(2k), N(0)) in place of the profiles: others at 0 reveal more."""
    attained = sum_of_draws(0.0, 3, 3, 1.4, 0.0)

    def mixture(epsilon: Any, copies: CopyLaw, sigma: float) -> Any:
        p = np.array(copies.probabilities)
        values = [truth.mixture(float(e), p, sigma) for e in np.ravel(epsilon)]
        return np.log(np.maximum(values, 1e-300)).reshape(np.shape(epsilon))

    monkeypatch.setattr(domination.fixed_size, "log_with_replacement", mixture)
    assert exact_delta(run(3, 3, 1.4, 1), 0.0) < 0.96 * attained


def test_a_single_mixture_in_one_order_is_caught() -> None:
    """The pair itself, not closed by reversal, composed: two data sets in the plane beat it."""
    n, gap, calls = 100, 1.5, 1000
    attained = truth.planar_delta(1 / n, gap, calls, 1.0)
    wrong = dp_sgd_event(sampling=WithReplacement(n, 1), noise_multiplier=2 / gap, steps=calls)
    pair = ExactAccountant(direction="remove").compose(wrong)
    assert pair.get_delta(1.0) < 0.72 * attained
    assert exact_delta(run(n, 1, 2 / gap, calls), 1.0) > attained


@pytest.mark.parametrize("make", MAKERS)
def test_dropped_failures_are_caught(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    event, attained = run(1000, 50, 8.0, 200, 1e-6), failing_member(1000, 50, 1e-6, 200)
    assert make(REPLACE).compose(event).get_delta(3.0) >= attained
    monkeypatch.setattr(CopyLaw, "failing", lambda law, _: law)
    assert make(REPLACE).compose(event).get_delta(3.0) < 0.05 * attained


@pytest.mark.parametrize("make", MAKERS)
def test_failures_of_one_call_for_all_are_caught(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """eta zeta once in place of once a call."""
    attained, right = failing_member(1000, 50, 1e-6, 200), CopyLaw.failing
    monkeypatch.setattr(CopyLaw, "failing", lambda law, zeta: right(law, zeta / 200))
    event = run(1000, 50, 8.0, 200, 1e-6)
    assert make(REPLACE).compose(event).get_delta(3.0) < 0.05 * attained


def test_a_dropped_copy_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One copy at most, and nothing carried for more."""
    attained = sum_of_draws(-1.0, 2, 4, 2.0, 0.3)

    def one(sampling: Any, _: float) -> CopyLaw:
        law = CopyLaw.of(sampling.batch_size, sampling.draw_probability, largest=1)
        return CopyLaw(law.probabilities, 0.0)

    monkeypatch.setattr(domination, "_copies", one)
    assert exact_delta(run(2, 4, 2.0, 1), 0.3) < 0.8 * attained


def test_truncation_without_its_chance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two copies at most, with the chance of more left out of δ: three are seen at large ε."""
    n, draws, sigma, epsilon = 3, 3, 0.5, 10.0
    attained = sum_of_draws(-1.0, n, draws, sigma, epsilon)
    assert exact_delta(run(n, draws, sigma, 1), epsilon) >= attained * (1 - 1e-6)
    fewer: Callable[..., CopyLaw] = lambda *_: CopyLaw(  # noqa: E731
        CopyLaw.of(draws, 1 / n, largest=2).probabilities, 0.0
    )
    monkeypatch.setattr(domination, "_copies", fewer)
    assert exact_delta(run(n, draws, sigma, 1), epsilon) < 0.96 * attained


@pytest.fixture(scope="module")
def many() -> float:
    """What 5000 calls attain at δ = 1e-6."""
    return ExactAccountant(REPLACE).compose(MANY).epsilon_bracket(1e-6).lower


MANY = run(100_000, 678, 16.0, 5000)


@pytest.mark.parametrize("make", MAKERS)
def test_noise_over_sensitivity_taken_for_the_multiplier_is_caught(make: Any, many: float) -> None:
    """sigma and s = sigma/2: whoever writes 2 sigma for sigma is below what is attained."""
    assert make(REPLACE).compose(MANY).get_epsilon(1e-6) > many
    assert make(REPLACE).compose(run(100_000, 678, 32.0, 5000)).get_epsilon(1e-6) < 0.7 * many


@pytest.mark.parametrize("make", MAKERS)
def test_uncounted_calls_are_caught(make: Any, many: float) -> None:
    """A ledger without the calls of the searches: below what all of them attain."""
    assert make(REPLACE).compose(run(100_000, 678, 16.0, 2000)).get_epsilon(1e-6) < 0.8 * many
