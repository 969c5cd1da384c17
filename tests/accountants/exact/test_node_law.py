"""Laws given by nodes: closures of a pair, and chords of profiles."""

import math
from functools import partial

import numpy as np
import pytest

from accountants import fixed_size
from accountants.copies import CopyLaw
from accountants.errors import AccuracyError
from accountants.exact import inversion, node_law
from accountants.exact.composition import Composition
from accountants.exact.node_law import ClosedPair, ProfilePair

Q = 256 / 50_000
# Derived reference, two contours of 50 digits: symmetric closure without replacement.
CLOSED = [
    (1.0, 2000, 8.0, 6.22994769613638366175722e-4),
    (2.0, 20_000, 6.0, 1.99203802882098889008189e-6),
]


def subset(sigma: float):
    return partial(fixed_size.log_without_replacement, q=Q, sigma=sigma)


def chords(sigma: float, log_floor: float = -60.0) -> ProfilePair:
    profile = subset(sigma)
    return ProfilePair.of(profile, profile, log_floor=log_floor, chance=Q, typical_gap=2 / sigma)


@pytest.mark.parametrize(("sigma", "steps", "epsilon", "delta"), CLOSED)
def test_closure_without_replacement(sigma, steps, epsilon, delta):
    found = inversion.delta_value(Composition(((ClosedPair(Q, 2 / sigma), steps),)), epsilon)
    assert found.lower <= math.log(delta) <= found.upper
    assert found.width < 1e-9


@pytest.mark.parametrize(("sigma", "steps", "epsilon", "delta"), CLOSED)
def test_chords_lie_a_little_above(sigma, steps, epsilon, delta):
    found = inversion.delta_value(Composition(((chords(sigma), steps),)), epsilon)
    assert math.log(delta) < found.lower
    assert found.upper < math.log(delta) + 2e-3


def test_with_replacement_of_a_truncated_profile():
    """A numerical value of the pair alone, no privacy bound: what is cut off is left out.

    Derived reference, two contours of 50 digits, of the unconditioned law of up to three copies;
    conditioning moves it by less than 1e-9.
    """
    copies = CopyLaw.of(256, 1 / 50_000, largest=3)
    profile = partial(fixed_size.log_balle, copies=copies, sigma=4.0)
    pair = ProfilePair.of(profile, profile, log_floor=-60, chance=Q, typical_gap=0.5)
    found = inversion.delta_value(Composition(((pair, 20_000),)), 3.0)
    assert found.lower == pytest.approx(math.log(5.54415204755650731983644e-10), abs=5e-3)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["closed", "chords"])
def test_the_law_has_the_profile(sigma, kind):
    """Its own hockey-stick divergences are the profile, for negative ε by reversal too."""
    moments = (ClosedPair(Q, 2 / sigma) if kind == "closed" else chords(sigma)).moment_table(30.0)
    loss, mass = moments.loss, np.exp(moments.log_mass)
    assert math.fsum(mass) == pytest.approx(1.0, abs=1e-10)
    for epsilon in (0.0, 1e-3, 0.05, 0.7, 2.0):
        above = loss > epsilon
        own = float(mass[above] @ -np.expm1(epsilon - loss[above]))
        true = math.exp(float(subset(sigma)(epsilon)))
        if kind == "chords":
            assert true * (1 - 1e-9) <= own + math.exp(-60.0) <= true * 1.01 + 1e-25
        below = loss > -epsilon
        mirrored = float(mass[below] @ -np.expm1(-epsilon - loss[below]))
        assert mirrored == pytest.approx(-math.expm1(-epsilon) + math.exp(-epsilon) * own, rel=1e-9)


def test_a_broken_profile_falls_below():
    """The check above has teeth: a profile of half the sampling probability is seen."""
    half = partial(fixed_size.log_without_replacement, q=Q / 2, sigma=1.0)
    pair = ProfilePair.of(half, half, log_floor=-60, chance=Q, typical_gap=2.0)
    _, steps, epsilon, delta = CLOSED[0]
    found = inversion.delta_value(Composition(((pair, steps),)), epsilon)
    assert found.upper < math.log(delta) - 1


def test_mass_at_infinity_is_kept():
    pair = chords(1.0, log_floor=-5.0 + float(subset(1.0)(0.0)))
    for epsilon in (0.5, 1.0, 4.0, 20.0):
        assert pair.log_delta(epsilon)[0] >= float(subset(1.0)(epsilon)) - 1e-9
    assert pair.lost > 0


def test_impossible_profiles_are_refused():
    def too_steep(epsilon):
        return -0.1 - 50.0 * np.asarray(epsilon, dtype=np.float64)

    with pytest.raises(AccuracyError):
        ProfilePair.of(too_steep, too_steep, log_floor=-10.0, chance=1.0, typical_gap=1.0)


def test_knots_lie_at_fixed_places():
    """So that answers vary smoothly with the noise: common knots for neighbouring multipliers."""
    first = node_law._knots(subset(1.0), -40.0)
    second = node_law._knots(subset(1.0001), -40.0)
    shared = np.intersect1d(first, second)
    assert shared.size > 0.98 * first.size
