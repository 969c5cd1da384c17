"""Profiles of one release on fixed-size batches: references, and random data sets below them."""

import itertools
import math
from fractions import Fraction
from functools import partial

import dp_accounting
import numpy as np
import pytest

from accountants import ExactAccountant, fixed_size
from accountants.copies import CopyLaw

# Derived reference, 40 digits: q, sigma, ε, δ.
SUBSET = [
    (256 / 50_000, 2.0, 0.1, 6.3489261999439763908e-6),
    (0.1, 0.5, 1.0, 0.084038627130167773593),
    (0.01, 1.0, 0.0, 0.0068268949213708589717),
    (1e-9, 0.3, 0.01, 7.7549858579941726837e-10),
    (0.5, 100.0, 0.01, 0.00084942230110138635876),
]
# Derived reference, 20 digits: n, m, sigma, ε, then Balle et al. and h1.
DRAWS = [
    (1000, 10, 1.0, 0.5, 0.00074380369979752690201, 0.00074374920127098810437),
    (1000, 10, 4.0, 0.05, 1.8066781172278955286e-6, 7.1267010676157678465e-7),
    (10, 5, 2.0, 0.3, 0.11770775708495469645, 0.11734835885413979354),
    (3, 3, 1.4, 0.0, 0.45735201607507000635, 0.45735201607507000635),
    (2, 4, 1.4, 0.0, 0.75301626117971073337, 0.75301626117971073337),
]


@pytest.mark.parametrize(("q", "sigma", "epsilon", "delta"), SUBSET)
def test_without_replacement(q, sigma, epsilon, delta):
    found = float(fixed_size.log_without_replacement(epsilon, q, sigma))
    assert math.log(delta) - 1e-14 <= found <= math.log(delta) + 2e-11


@pytest.mark.parametrize(("n", "m", "sigma", "epsilon", "balle", "h1"), DRAWS)
def test_with_replacement(n, m, sigma, epsilon, balle, h1):
    copies = CopyLaw.of(m, 1 / n, largest=m)
    found = math.exp(float(fixed_size.log_balle(epsilon, copies, sigma)))
    assert balle * (1 - 1e-13) <= found <= balle * (1 + 1e-10)
    found = math.exp(float(fixed_size.log_h1(epsilon, copies, sigma)))
    assert h1 * (1 - 1e-13) <= found <= h1 * (1 + 1e-10)


def test_a_weighted_draw():
    """Largest weight .003, ten draws (derived reference)."""
    copies = CopyLaw.of(10, 0.003, largest=10)
    found = math.exp(float(fixed_size.log_balle(0.5, copies, 1.0)))
    assert found == pytest.approx(0.00522992886414413597, rel=1e-10)


def planar_delta(first, second, sigma, log_a):
    """H_a of two planar Gaussian mixtures [(weight, mean vector), …] by a fine Riemann sum."""
    reach = 7 * sigma + max(np.abs(mean).max() for _, mean in first + second)
    grid = np.linspace(-reach, reach, 481)
    x, y = np.meshgrid(grid, grid)

    def density(parts):
        return sum(
            weight * np.exp(-((x - mean[0]) ** 2 + (y - mean[1]) ** 2) / (2 * sigma**2))
            for weight, mean in parts
        )

    cell = (grid[1] - grid[0]) ** 2 / (2 * math.pi * sigma**2)
    return float(np.maximum(density(first) - math.exp(log_a) * density(second), 0).sum() * cell)


def disc(rng):
    """A random vector of the unit disc, half the time on its edge."""
    radius = 1.0 if rng.random() < 0.5 else math.sqrt(rng.random())
    angle = rng.uniform(0, 2 * math.pi)
    return radius * np.array([math.cos(angle), math.sin(angle)])


def batches(rng, copies, record, other, others):
    """Means of a batch with k copies, against the record's absence; others drawn alike."""
    ours = [(copies.probabilities[0], np.zeros(2))]
    theirs = [(copies.probabilities[0], np.zeros(2))]
    for k, p in enumerate(copies.probabilities[1:], start=1):
        placed = sum(others[:k])
        ours.append((p, k * record - placed))
        theirs.append((p, k * other - placed))
    return ours, theirs


CASES = {
    "without": CopyLaw((0.7, 0.3), 0.0),
    "draws": CopyLaw.of(3, 0.25, largest=3),
    "few draws": CopyLaw.of(2, 0.5, largest=2),
}


def profiles(copies, sigma, relation):
    one = copies.largest == 1
    q = copies.present
    if relation == "replace":
        if one:
            profile = partial(fixed_size.log_without_replacement, q=q, sigma=sigma)
        else:
            profile = partial(fixed_size.log_with_replacement, copies=copies, sigma=sigma)
        return profile, profile
    if one:
        return (
            partial(fixed_size.log_real_to_special, q=q, sigma=sigma),
            partial(fixed_size.log_special_to_real, q=q, sigma=sigma),
        )
    return (
        partial(fixed_size.log_real_to_special_copies, copies=copies, sigma=sigma),
        partial(fixed_size.log_special_to_real_copies, copies=copies, sigma=sigma),
    )


def worst_ratio(copies, relation, seed, scale=1.0, count=25):
    """Largest δ of random configurations over the profile (times ``scale``)."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(count):
        sigma = rng.uniform(0.7, 2.5)
        record = disc(rng)
        other = disc(rng) if relation == "replace" else np.zeros(2)
        others = [disc(rng) for _ in range(copies.largest)]
        if rng.random() < 0.3:
            others = [-record] * copies.largest
            other = -record if relation == "replace" else other
        ours, theirs = batches(rng, copies, record, other, others)
        forward, reverse = profiles(copies, sigma, relation)
        for log_a in (0.0, 0.1, 0.6, 1.5):
            for first, second, profile in ((ours, theirs, forward), (theirs, ours, reverse)):
                bound = math.exp(float(profile(log_a))) * scale
                worst = max(worst, planar_delta(first, second, sigma, log_a) / bound)
    return worst


@pytest.mark.parametrize("relation", ["replace", "special"])
@pytest.mark.parametrize("case", CASES)
def test_random_data_sets_stay_below(case, relation):
    """Quadrature is good to a few 1e-4 here."""
    assert worst_ratio(CASES[case], relation, seed=7) < 1.001


@pytest.mark.parametrize("case", CASES)
def test_the_attack_sees_a_profile_that_is_too_small(case):
    assert worst_ratio(CASES[case], "replace", seed=7, scale=0.97) > 1.005


@pytest.mark.parametrize("relation", ["replace", "special"])
def test_profiles_fall_and_are_convex(relation):
    for copies in CASES.values():
        for profile in profiles(copies, 1.3, relation):
            a = np.exp(np.linspace(0, 3, 400))
            h = np.exp(profile(np.log(a)))
            assert (np.diff(h) < 0).all()
            # the smallest of several profiles may bend at one crossing
            bends = np.diff(np.diff(h) / np.diff(a))
            assert (bends < -1e-9).sum() <= 2
            assert (h >= np.maximum(1 - a, 0)).all()


def test_one_copy_is_without_replacement():
    one = CopyLaw((0.8, 0.2), 0.0)
    epsilon = np.array([0.0, 0.01, 0.5, 3.0])
    for found, expected in (
        (fixed_size.log_with_replacement, fixed_size.log_without_replacement),
        (fixed_size.log_real_to_special_copies, fixed_size.log_real_to_special),
        (fixed_size.log_special_to_real_copies, fixed_size.log_special_to_real),
    ):
        np.testing.assert_allclose(found(epsilon, one, 1.2), expected(epsilon, 0.2, 1.2), rtol=1e-9)


def test_more_copies_cost_more():
    """Growing in the number of draws, in the weight and in the sampling probability."""
    epsilon = np.linspace(0, 2, 9)
    draws = [
        fixed_size.log_with_replacement(epsilon, CopyLaw.of(m, w, largest=m), 1.5)
        for m, w in ((4, 0.02), (5, 0.02), (5, 0.03), (8, 0.05))
    ]
    subsets = [fixed_size.log_without_replacement(epsilon, q, 1.5) for q in (0.02, 0.1, 0.4)]
    for rows in (draws, subsets):
        for lesser, greater in itertools.pairwise(rows):
            assert (lesser < greater).all()


@pytest.mark.parametrize(
    ("n", "m", "sigma"), [(2, 6, 0.05), (2, 6, 0.1), (10, 6, 0.05), (3, 8, 0.02)]
)
def test_with_next_to_no_noise_delta_is_the_chance_of_a_copy(n, m, sigma):
    """The two sides overlap by less than 1e-17 then: at ε = 0, P(K >= 1) must be inside."""
    event = dp_accounting.SampledWithReplacementDpEvent(n, m, dp_accounting.GaussianDpEvent(sigma))
    found = ExactAccountant().compose(event).delta_bracket(0.0)
    truth = 1 - Fraction(n - 1, n) ** m
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    assert found.width < 1e-8
