"""The lemmas behind one step, against configurations drawn at random."""

from __future__ import annotations

import math

import numpy as np
import pytest

from accountants.copies import CopyLaw
from accountants.errors import AccuracyError
from accountants.fixed_size import log_with_replacement
from accountants.tight import budget
from accountants.tight.frontier import ATTAINED, Grams, first_cover, hellinger, inscribed
from tests.tight import checks
from tests.tight.configurations import (
    Copies,
    planar,
    random_planar,
    squared_hellinger,
    sticks,
)

SETTINGS = [(0.00512, 1.0), (0.3, 1.5), (0.1, 2.0), (0.7, 1.0), (0.1, 0.6), (0.02, 5.0)]


@pytest.mark.parametrize(("q", "sigma"), SETTINGS)
def test_no_configuration_beats_one_step(q: float, sigma: float) -> None:
    checks.check_one_step(q, sigma)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("power", [1, 2, 5, 20])
def test_chi_square_lemma(sigma: float, power: int) -> None:
    pairs = random_planar(np.random.default_rng(2), 5000, dimension=2)
    u, v = pairs[:, 0], pairs[:, 1]
    a, b, c = np.sum(u * u, 1), np.sum(v * v, 1), np.sum(u * v, 1)
    assert np.all(a**power + b**power - 2 * c**power <= 4.0**power * (1 + 1e-12))
    scale = sigma**-2
    moment = np.exp(a * scale) + np.exp(b * scale) - 2 * np.exp(c * scale)
    assert np.all(moment <= math.expm1(4 * scale) * (1 + 1e-12))


def test_every_configuration_is_dominated_by_an_inscribed_triangle() -> None:
    """Hellinger distances and profiles of the frontier are at least those of random ones."""
    angles = np.linspace(0, math.pi / 2, 40)
    first, second = (x.ravel() for x in np.meshgrid(angles, angles))
    kept = first + second >= math.pi / 2
    largest = float(hellinger(inscribed(first[kept], second[kept]), 0.1, 0.6).max())
    found = [squared_hellinger(p, 0.1, 0.6) for p in random_planar(np.random.default_rng(3), 200)]
    assert max(found) <= 1.001 * largest
    assert largest <= budget.without_replacement(0.1, 0.6)


def test_rectangles_dominate_their_triangles() -> None:
    cover = first_cover(6)
    grams = cover.dominating()
    bound = hellinger(grams, 0.2, 0.8)
    rng = np.random.default_rng(4)
    for _ in range(20):
        angles = cover.low + rng.random(cover.low.shape) * (cover.high - cover.low)
        inside = angles.sum(axis=1) >= math.pi / 2
        value = hellinger(inscribed(angles[:, 0], angles[:, 1]), 0.2, 0.8)
        assert np.all(value[inside] <= bound[inside])
    halves = cover.halved()
    area = np.prod(halves.high - halves.low, axis=1).sum()
    assert area <= np.prod(cover.high - cover.low, axis=1).sum() * (1 + 1e-12)


def test_cover_leaves_nothing_out() -> None:
    rng = np.random.default_rng(5)
    points = rng.random((4000, 2)) * math.pi / 2
    points = np.sort(points[points.sum(axis=1) >= math.pi / 2], axis=1)
    cover = first_cover(5)
    for _ in range(4):
        inside = (points[:, None] >= cover.low) & (points[:, None] <= cover.high)
        assert np.all(inside.all(axis=2).any(axis=1))
        cover = cover.halved()


@pytest.mark.parametrize(("q", "sigma"), SETTINGS)
def test_hellinger_quadrature(q: float, sigma: float) -> None:
    for pair in random_planar(np.random.default_rng(6), 20):
        u, v = pair
        grams = Grams(np.array([u @ u]), np.array([v @ v]), np.array([u @ v]))
        expected = squared_hellinger(pair, q, sigma)
        assert float(hellinger(grams, q, sigma)[0]) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    ("q", "sigma", "largest"),
    [(0.00512, 1.0, 1.0021), (0.00512, 2.0, 1.0021), (0.00512, 5.0, 1.0066), (0.00512, 0.6, 1.17)],
)
def test_budget_is_close_to_what_the_attained_pair_uses(
    q: float, sigma: float, largest: float
) -> None:
    attained = float(hellinger(ATTAINED, q, sigma)[0])
    assert 1 <= budget.without_replacement(q, sigma) / attained <= largest


def test_closed_form_and_cover() -> None:
    """The closed form is proved by itself: the cover must not rise above it where it is tight."""
    for q, sigma in ((0.00512, 3.0), (0.001, 4.0), (0.01, 8.0)):
        attained = float(hellinger(ATTAINED, q, sigma)[0])
        assert attained <= budget.closed_form(q, sigma)
        assert budget.without_replacement(q, sigma) <= budget.closed_form(q, sigma)


def test_attained_pair_does_not_use_the_most() -> None:
    """Other configurations exceed it: the budget has to be a supremum."""
    isosceles = inscribed(np.array([1.2]), np.array([1.2]))
    angles = np.linspace(0, math.pi / 2, 60)
    first, second = (x.ravel() for x in np.meshgrid(angles, angles))
    kept = first + second >= math.pi / 2
    attained = float(hellinger(ATTAINED, 0.1, 0.7)[0])
    largest = float(hellinger(inscribed(first[kept], second[kept]), 0.1, 0.7).max())
    assert largest > 1.15 * attained
    assert isosceles.a == pytest.approx(isosceles.b)


@pytest.mark.parametrize(
    ("n", "m", "sigma"), [(10, 3, 1.0), (20, 3, 2.0), (5, 4, 1.5), (50, 4, 3.0), (100, 3, 0.8)]
)
def test_with_replacement(n: int, m: int, sigma: float) -> None:
    copies = CopyLaw.of(m, 1 / n, largest=m)
    epsilon = np.array([0.0, 0.05, 0.3, 1.0, 2.0])
    caps = np.exp(log_with_replacement(epsilon, copies, sigma))
    largest = budget.with_replacement(copies, sigma)
    rng = np.random.default_rng(7)
    for _ in range(200):
        p, q = Copies(rng, n, m, sigma).densities(120)
        for first, second in ((p, q), (q, p)):
            # The grid misplaces kinks by up to a cell.
            assert np.all(sticks(first, second, epsilon) <= caps * (1 + 2e-3) + 1e-9)
        assert 2 * np.sum((np.sqrt(p) - np.sqrt(q)) ** 2) <= largest * (1 + 1e-6)


def test_attained_configuration_with_replacement_is_the_mixture() -> None:
    p, q = Copies(np.random.default_rng(8), 10, 3, 1.0, attained=True).densities(400)
    copies = CopyLaw.of(3, 0.1, largest=3)
    epsilon = np.array([0.3, 1.0, 2.0])
    caps = np.exp(log_with_replacement(epsilon, copies, 1.0))
    found = sticks(p, q, epsilon)
    assert np.all(found <= caps * (1 + 1e-3))
    assert np.all(caps <= 1.015 * found)


def test_planar_keeps_inner_products() -> None:
    rng = np.random.default_rng(9)
    u, v = rng.normal(size=(2, 50, 4))
    pairs = planar(u, v)
    assert np.sum(pairs[:, 0] * pairs[:, 1], 1) == pytest.approx(np.sum(u * v, 1))
    assert np.sum(pairs[:, 0] ** 2, 1) == pytest.approx(np.sum(u * u, 1))


def test_small_noise() -> None:
    """2 int (sqrt P - sqrt Q)^2 <= 4q, which is reached as the noise vanishes."""
    assert budget.without_replacement(0.1, 0.1) == 0.4
    reached = squared_hellinger(random_planar(np.random.default_rng(0), 1)[0], 0.1, 0.1, 1201)
    assert 0.3 < reached < 0.4
    assert budget.without_replacement(0.1, 0.3) <= 0.4


def test_refusal() -> None:
    with pytest.raises(AccuracyError, match="budget needs"):
        budget.without_replacement(1.0, 1.0)
