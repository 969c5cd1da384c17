"""Paired comparison: intervals that cover as often as they say."""

import numpy as np
import pytest

from dp2theory.planning.paired import compare_pairs


def test_interval_against_a_worked_example():
    # differences -1, -2, -3: mean -2, standard error 1/sqrt(3), t(2, .975) = 4.302652730
    found = compare_pairs([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    assert found.difference == -2.0
    assert found.difference_interval.upper == pytest.approx(-2 + 4.302652729911275 / np.sqrt(3))
    assert found.difference_interval.lower == pytest.approx(-2 - 4.302652729911275 / np.sqrt(3))
    assert found.ratio == 0.5


def test_ratio_interval_of_exact_proportion_is_a_point():
    ours = np.array([1.0, 1.1, 0.9, 1.05])
    found = compare_pairs(ours * 0.9, ours)
    assert found.ratio_interval.lower == pytest.approx(0.9, abs=1e-7)
    assert found.ratio_interval.upper == pytest.approx(0.9, abs=1e-7)


@pytest.mark.parametrize("kind", ["difference_interval", "ratio_interval"])
def test_coverage(kind):
    rng = np.random.default_rng(0)
    true = {"difference_interval": -0.1, "ratio_interval": 0.9}[kind]
    hits = 0
    for _ in range(2000):
        shared = rng.normal(0, 0.2, 6)  # seeds move both methods together
        theirs = 1.0 + shared + rng.normal(0, 0.05, 6)
        ours = 0.9 + shared + rng.normal(0, 0.05, 6)
        hits += true in getattr(compare_pairs(ours, theirs), kind)
    assert hits / 2000 == pytest.approx(0.95, abs=0.016)  # three standard errors


def test_pairing_is_used():
    rng = np.random.default_rng(1)
    shared = rng.normal(0, 1.0, 8)
    ours, theirs = 5 + shared + rng.normal(0, 0.01, 8), 6 + shared
    paired = compare_pairs(ours, theirs).difference_interval
    shuffled = compare_pairs(ours, np.roll(theirs, 3)).difference_interval
    assert paired.width < shuffled.width / 20


def test_one_pair_has_no_interval():
    found = compare_pairs([1.0], [2.0])
    assert found.difference_interval is None
    assert found.to_json()["ratio"] == {"value": 0.5, "interval": None}


@pytest.mark.parametrize(
    ("ours", "theirs", "confidence", "words"),
    [
        ([1.0], [1.0, 2.0], 0.95, "one loss per seed"),
        ([], [], 0.95, "one loss per seed"),
        ([1.0, np.nan], [1.0, 2.0], 0.95, "finite"),
        ([1.0, 2.0], [1.0, 2.0], 1.0, "confidence=1.0"),
    ],
)
def test_bad_values_are_refused(ours, theirs, confidence, words):
    with pytest.raises(ValueError, match=words):
        compare_pairs(ours, theirs, confidence=confidence)
