"""Confidence ends against the binomial law itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dp2theory.verification.clopper_pearson import (
    Evidence,
    epsilon_lower,
    largest_provable,
    lower_chance,
    upper_chance,
)


@pytest.mark.parametrize("trials", [1, 7, 1000, 100_000])
@pytest.mark.parametrize("error", [0.3, 1e-3, 1e-6])
def test_ends_solve_the_binomial_equation(trials: int, error: float) -> None:
    for count in {0, 1, trials // 3, trials - 1, trials}:
        low = float(lower_chance(count, trials, error))
        high = float(upper_chance(count, trials, error))
        assert 0 <= low <= count / trials <= high <= 1
        if count:
            assert stats.binom.sf(count - 1, trials, low) <= error
            assert stats.binom.sf(count - 1, trials, low) == pytest.approx(error, rel=1e-3)
        else:
            assert low == 0
        if count < trials:
            assert stats.binom.cdf(count, trials, high) <= error
            assert stats.binom.cdf(count, trials, high) == pytest.approx(error, rel=1e-3)
        else:
            assert high == 1


def test_the_ends_cover_as_they_say() -> None:
    chance, trials, error = 0.03, 200, 0.05
    counts = np.arange(trials + 1)
    mass = stats.binom.pmf(counts, trials, chance)
    assert mass[lower_chance(counts, trials, error) > chance].sum() <= error
    assert mass[upper_chance(counts, trials, error) < chance].sum() <= error


def test_randomised_response_is_never_overstated_and_nearly_reached() -> None:
    """The test that answers a coin of known epsilon: exact coverage over both counts."""
    epsilon, trials, error = 1.0, 400, 0.05
    hit = math.e / (1 + math.e)
    counts = np.arange(trials + 1)
    hits, alarms = stats.binom.pmf(counts, trials, hit), stats.binom.pmf(counts, trials, 1 - hit)
    power = lower_chance(counts, trials, error / 2)
    level = upper_chance(counts, trials, error / 2)
    shown = epsilon_lower(power[:, None], level[None, :], 0.0)
    wrong = float(hits @ (shown > epsilon) @ alarms)
    assert wrong <= error
    assert float(hits @ shown @ alarms) > 0.6 * epsilon


def test_delta_is_taken_off_the_hits() -> None:
    evidence = Evidence(trials=10_000, hits=5000, false_alarms=100, error=1e-3)
    power, level = evidence.power, evidence.level
    assert evidence.epsilon_lower(0.1) == pytest.approx(math.log((power - 0.1) / level))
    assert evidence.epsilon_lower(0.1) < evidence.epsilon_lower(0.01) < math.log(50)
    assert evidence.epsilon_lower(0.9) == 0.0


def test_half_of_the_error_goes_to_each_count() -> None:
    evidence = Evidence(trials=500, hits=300, false_alarms=20, error=0.01)
    assert evidence.power == float(lower_chance(300, 500, 0.005))
    assert evidence.level == float(upper_chance(20, 500, 0.005))


def test_so_many_trials_show_no_more() -> None:
    best = Evidence(trials=1000, hits=1000, false_alarms=0, error=1e-3)
    assert best.epsilon_lower(1e-6) <= largest_provable(1000, 1e-3) == pytest.approx(4.88, abs=0.01)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"trials": 0}, "trials"),
        ({"hits": 11}, "hits"),
        ({"false_alarms": -1}, "false_alarms"),
        ({"error": 0.0}, "error"),
        ({"error": math.nan}, "error"),
    ],
)
def test_bad_evidence_is_refused(change: dict[str, float], word: str) -> None:
    good = {"trials": 10, "hits": 5, "false_alarms": 1, "error": 0.1}
    with pytest.raises(ValueError, match=f"{word}="):
        Evidence(**(good | change))  # type: ignore[arg-type]
