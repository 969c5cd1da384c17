"""The proved profiles against methods that share nothing with them."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from tests.reference import ball_profiles as balls
from tests.reference import closed_forms
from tests.reference.fixed_size import Run, single_delta, single_profile
from tests.reference.laws import Copies, with_replacement
from tests.reference.pairs import step


def at(profile, epsilon, bits=160):
    flint.ctx.prec = bits
    return float(profile(flint.arb(epsilon)))


@pytest.mark.parametrize("mu", ["1/10000", "1", "50"])
@pytest.mark.parametrize("delta", ["1e-5", "1e-40", "1e-300"])
def test_gaussian_ends_hold_the_closed_form_in_mpmath(mu, delta):
    lower, upper = balls.ends(balls.gaussian(Fraction(mu) ** 2), Fraction(delta))
    value = closed_forms.single_epsilon(step(1, 1 / Fraction(mu), 1), "remove", Fraction(delta))
    assert mpmath.mpf(str(lower)) * (1 - mpmath.mpf(10) ** -14) <= value
    assert value <= mpmath.mpf(str(upper)) * (1 + mpmath.mpf(10) ** -14)
    assert upper - lower <= upper * Decimal("1e-18")


@pytest.mark.parametrize("direction", ["remove", "add", "replace"])
@pytest.mark.parametrize(("q", "sigma"), [("1e-9", "1"), ("0.01", "0.5"), ("0.9", "3"), ("1", "2")])
def test_one_poisson_step_is_the_closed_form_in_mpmath(direction, q, sigma):
    one = step(q, sigma, 1)
    profile = balls.poisson(one, direction)
    for epsilon in (0.0, 1e-3, 0.3, 2.0, 10.0):
        with mpmath.workdps(60):
            expected = closed_forms.single_delta(one, direction, mpmath.mpf(epsilon))
        value = at(profile, epsilon, 300)
        assert value == pytest.approx(float(expected), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("n", "m", "sigma"), [(3, 3, "1.4"), (2, 4, "2"), (100, 10, "1")])
def test_draws_with_replacement_are_the_mixture_in_mpmath(direction, n, m, sigma):
    law = with_replacement(Copies(m, n, m), Fraction(sigma))
    law = law if direction == "remove" else law.reversed()
    profile = balls.copies(m, n, Fraction(sigma), direction)
    for epsilon in (0.0, 0.1, 1.5):
        with mpmath.workdps(40):
            expected = single_delta(law, mpmath.mpf(epsilon))
        assert at(profile, epsilon, 300) == pytest.approx(float(expected), rel=1e-11, abs=1e-30)


def test_the_symmetrised_profile_is_the_one_in_mpmath():
    run = Run("with", 3, 3, Fraction("1.4"), 1)
    for epsilon in (0.0, 0.1, 1.5):
        with mpmath.workdps(40):
            expected = single_profile(run, "balle", mpmath.mpf(epsilon))
        found = at(balls.copies_symmetrised(3, 3, Fraction("1.4")), epsilon, 300)
        assert found == pytest.approx(float(expected), rel=1e-12)


def test_one_laplace_release_is_its_formula():
    for distance, epsilon in itertools.product((0.1, 1.0, 30.0), (0.0, 0.05, 0.9, 29.0)):
        expected = -math.expm1((epsilon - distance) / 2) if epsilon < distance else 0.0
        profile = balls.laplace(Fraction(distance), 1)
        assert at(profile, epsilon) == pytest.approx(expected, rel=1e-12, abs=1e-30)


@pytest.mark.parametrize(("distance", "count"), [(1.0, 2), (1.0, 3), (0.25, 6)])
def test_many_laplace_releases_are_a_convolution_of_rounded_losses(distance, count):
    """Losses rounded down and up to multiples of a spacing: below and above."""
    cells = 4000
    edges = np.linspace(-distance, distance, cells + 1)
    spacing = edges[1] - edges[0]
    below = (
        np.exp((edges - distance) / 2) / 2
    )  # mass of the density below an edge, up to a constant
    mass = np.diff(below)
    down = np.append(mass, 0.5)
    down[0] += math.exp(-distance) / 2
    up = np.append(math.exp(-distance) / 2, mass)
    up[-1] += 0.5
    assert down.sum() == pytest.approx(1.0)
    profile = balls.laplace(Fraction(distance), count)
    for epsilon in (0.0, 0.4, distance * count * 0.9):
        ends = []
        for law in (down, up):
            total = law
            for _ in range(count - 1):
                total = np.convolve(total, law)
            losses = -distance * count + spacing * np.arange(len(total))
            ends.append(float(total @ np.maximum(-np.expm1(epsilon - losses), 0)))
        assert ends[0] <= at(profile, epsilon) <= ends[1]
        assert ends[1] - ends[0] < 3e-3


@pytest.mark.parametrize(
    ("p", "buckets", "count"), [("1/2", 2, 5), ("1/10", 3, 4), ("9/10", 10, 3)]
)
def test_randomized_response_is_the_sum_over_all_outcomes(p, buckets, count):
    p = Fraction(p)
    high, low = 1 - p + p / buckets, p / buckets
    first = [high, *[low] * (buckets - 1)]
    second = [low, high, *[low] * (buckets - 2)]
    for scale in (Fraction(1), Fraction(3, 2), Fraction(40)):
        total = Fraction(0)
        for outcome in itertools.product(range(buckets), repeat=count):
            a, b = (math.prod(side[i] for i in outcome) for side in (first, second))
            total += max(Fraction(0), a - scale * b)
        flint.ctx.prec = 200
        value = balls.responses(p, buckets, count)(
            flint.arb(scale.numerator).log() - flint.arb(scale.denominator).log()
        )
        assert float(value) == pytest.approx(float(total), rel=1e-12, abs=1e-30)


def test_a_response_beside_a_gaussian_is_an_average():
    profile = balls.responses(Fraction(1, 2), 2, 1, balls.gaussian(Fraction(1)))
    level, base = math.log(3), balls.gaussian(Fraction(1))
    expected = 0.75 * at(base, 1 - level) + 0.25 * at(base, 1 + level)
    assert at(profile, 1.0) == pytest.approx(expected, rel=1e-12)


def test_a_laplace_release_beside_a_gaussian_is_an_average():
    profile = balls.beside_laplace(Fraction(1), balls.gaussian(Fraction(1)))
    x, w = np.polynomial.legendre.leggauss(40)
    base = [at(balls.gaussian(Fraction(1)), 0.7 - loss) for loss in (1.0, -1.0, *x)]
    expected = base[0] / 2 + math.exp(-1) / 2 * base[1]
    expected += float(w @ (np.exp((x - 1) / 2) / 4 * base[2:]))
    assert at(profile, 0.7) == pytest.approx(expected, rel=1e-12)


def test_splitting_a_laplace_query_over_coordinates_costs_no_more():
    for distance, parts in itertools.product((0.1, 1.0, 4.0, 20.0), (2, 3, 5)):
        one = balls.laplace(Fraction(distance), 1)
        split = balls.laplace(Fraction(distance) / parts, parts)
        for share in (0.0, 0.3, 0.7, 0.95):
            assert at(split, share * distance) <= at(one, share * distance)


class TestEnds:
    def test_zero_where_delta_at_zero_is_smaller(self):
        assert balls.ends(balls.gaussian(Fraction(1)), Fraction(1, 2)) == (0, 0)

    def test_ends_are_neighbouring_decimals_around_the_root(self):
        lower, upper = balls.ends(balls.laplace(Fraction(1), 1), Fraction(1, 10))
        with mpmath.workdps(40):
            root = 1 + 2 * mpmath.log(mpmath.mpf(9) / 10)
            assert mpmath.mpf(str(lower)) < root < mpmath.mpf(str(upper))
        assert upper - lower == Decimal("1e-20")

    def test_what_cannot_be_decided_is_said(self, monkeypatch):
        monkeypatch.setattr(balls, "MOST_BITS", 300)
        flat = Fraction(1, 3)
        with pytest.raises(balls.Undecided):
            balls.ends(lambda epsilon: balls.to_arb(flat), flat)
