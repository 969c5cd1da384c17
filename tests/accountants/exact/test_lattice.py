"""Ends from the lattice: on the right sides of the contour's answers, and of each other."""

import dataclasses
import math

import pytest

from accountants import ExactAccountant, NeighboringRelation
from accountants.errors import AccuracyError
from accountants.events import dp_sgd_event
from accountants.exact import inversion, lattice
from accountants.exact.domination import lower_runs, upper_run
from accountants.relations import Direction
from accountants.sampling import WithoutReplacement, WithReplacement
from accountants.walk import Release

REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
SUBSET, DRAWS = WithoutReplacement(50_000, 256), WithReplacement(50_000, 256)


def ends(sampling, sigma, steps, delta, relation=REPLACE, direction=Direction.SYMMETRIC):
    counts = {Release(sampling, sigma): steps}
    above = upper_run(counts, relation, direction, delta * 1e-9)
    below = lower_runs(counts, relation, direction, delta * 1e-9)[0]
    return above.composition, below.composition


@pytest.mark.parametrize(
    ("sampling", "sigma", "steps", "delta"),
    [
        (SUBSET, 1.0, 300, 1e-6),
        (SUBSET, 2.0, 1000, 1e-9),
        (DRAWS, 2.0, 1500, 1e-6),
        (WithReplacement(4, 5), 2.0, 40, 1e-6),
    ],
)
def test_beside_the_contour(sampling, sigma, steps, delta):
    above, below = ends(sampling, sigma, steps, delta)
    upper = inversion.epsilon_bracket(above, math.log(delta), inversion.BRIEF)
    lower = inversion.epsilon_bracket(below, math.log(delta), inversion.BRIEF)
    found = lattice.epsilon_end(above, math.log(delta), upper=True)
    assert upper.lower <= found + 2e-4 * abs(found)  # both are chords, on different knots
    assert found == pytest.approx(upper.upper, rel=1e-3)
    low = lattice.epsilon_end(below, math.log(delta), upper=False)
    assert lower.lower * 0.8 < low <= lower.upper
    at = lattice.log_delta_end(above, upper.upper, upper=True)
    assert at == pytest.approx(math.log(delta), abs=0.02)
    assert lattice.log_delta_end(below, lower.lower, upper=False) <= math.log(delta) + 1e-9


@pytest.mark.parametrize("delta", [1e-6, 1e-14])
@pytest.mark.parametrize("steps", [2, 10])
@pytest.mark.parametrize(
    ("sampling", "sigma"), [(SUBSET, 1.0), (DRAWS, 1.0), (WithoutReplacement(10**6, 10), 0.5)]
)
def test_ends_are_in_order(sampling, sigma, steps, delta):
    """Heavy tails and few steps: once a lower end lay above the upper one here."""
    for relation, direction in ((REPLACE, Direction.SYMMETRIC), (SPECIAL, Direction.REMOVE)):
        above, below = ends(sampling, sigma, steps, delta, relation, direction)
        upper = lattice.epsilon_end(above, math.log(delta), upper=True)
        lower = lattice.epsilon_end(below, math.log(delta), upper=False)
        assert 0 < lower < upper


def test_wrapped_mass_must_be_taken_off(monkeypatch):
    """A window with an end cut off and no bound for it puts the lower end above the truth."""
    _, below = ends(SUBSET, 1.0, 300, 1e-6)
    truth = inversion.epsilon_bracket(below, math.log(1e-6), inversion.BRIEF)
    original = lattice._window

    def careless(*arguments):
        window = original(*arguments)
        low = truth.lower - 3.0
        high = truth.lower + 2.0
        return lattice._Window(window.tilt * 1.2, low, high, window.tilt * 1.2 + 1)

    whole = lattice._compose

    def blind(*arguments):
        return dataclasses.replace(whole(*arguments), above=0.0, below=0.0)

    monkeypatch.setattr(lattice, "_window", careless)
    with pytest.raises(AccuracyError, match="bounds are too wide"):
        lattice.epsilon_end(below, math.log(1e-6), upper=False)
    monkeypatch.setattr(lattice, "_compose", blind)
    law_end = lattice.epsilon_end(below, math.log(1e-6), upper=False)
    assert law_end > truth.upper


def test_epsilon_grows_with_steps():
    """Few steps are not dearer than many, whichever engine answers."""
    found = []
    for steps in (1, 2, 8, 256):
        event = dp_sgd_event(
            sampling=WithReplacement(10_000, 100), noise_multiplier=2.0, steps=steps
        )
        found.append(ExactAccountant(REPLACE).compose(event).get_epsilon(1e-6))
    assert found == sorted(found)


def test_too_many_steps_are_refused():
    above, _ = ends(SUBSET, 2.0, lattice.MOST_STEPS + 1, 1e-6)
    with pytest.raises(AccuracyError, match="too many"):
        lattice.epsilon_end(above, -14.0, upper=True)


def test_chords_are_no_lower_end():
    above, _ = ends(SUBSET, 2.0, 10, 1e-6)
    with pytest.raises(AccuracyError, match="no lower end"):
        lattice.epsilon_end(above, -14.0, upper=False)
