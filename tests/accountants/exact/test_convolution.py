"""The second engine: closed forms, the first engine, and the traps that were met."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants.errors import AccuracyError
from accountants.exact import convolution, estimates, inversion, law
from accountants.exact.composition import Composition
from accountants.pairs import SampledGaussianPair
from accountants.profiles import sampled_delta
from tests.accountants.exact.settings import ADD, REMOVE, SYMMETRIC, composition
from tests.accountants.exact.test_contour import TABLE

DIRECTIONS = [REMOVE, ADD, SYMMETRIC]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("q", "sigma"), [(0.01, 1.0), (0.3, 0.5), (1e-5, 2.0), (0.7, 10.0)])
def test_one_step_is_the_closed_form(q, sigma, direction):
    run = composition(q, sigma, 1, direction)
    for epsilon in (0.0, 0.3 * q, q / sigma):
        exact, error = sampled_delta(epsilon, q, sigma, direction)
        if exact == -math.inf:
            continue
        found = convolution.log_delta_bracket(run, epsilon, exact)
        assert found.lower - error <= exact <= found.upper + error
        assert found.width < 1e-10


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_law_has_mass_one_under_both_data_sets(direction):
    run = composition(0.02, 0.8, 37, direction)
    total = convolution.loss_law(run, math.log(1e-12))
    x, weight, logs = total.law.between(total.law.breaks)
    mass = weight * np.exp(logs)
    assert mass.sum() == pytest.approx(1, abs=1e-11)
    loss = total.edge + total.sign * x
    # exp(-loss) integrates to 1 where nothing of the neighbour's law is cut off
    assert (mass * np.exp(-loss)).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", ["D1", "D3", "D6"])
def test_published_values(name):
    q, sigma, steps, direction, epsilon, delta = TABLE[name]
    run = composition(q, sigma, steps, direction)
    found = convolution.log_delta_bracket(run, epsilon, math.log(delta))
    assert found.lower <= math.log(delta) <= found.upper
    assert found.width < 1e-6


def both_engines(run, log_delta):
    table, guess = estimates.table_for_delta(run, log_delta)
    best = inversion._Best(inversion.EXACT)
    inversion._contour_epsilon(
        run, table, guess, log_delta, inversion._QUICK, inversion._QUICK_WORK, best
    )
    return best, convolution.epsilon_bracket(run, log_delta, guess)[0]


MET = [  # settings at which an earlier version of one engine was wrong
    (0.0029781239723584555, 26.32549707739079, 134, ADD, 2.4253249349421764e-19),
    (0.6534243989453978, 0.3074025963931903, 445907, SYMMETRIC, 3.777249330535108e-13),
]


@pytest.mark.parametrize(("q", "sigma", "steps", "direction", "delta"), MET)
def test_engines_agree_where_one_was_wrong(q, sigma, steps, direction, delta):
    best, second = both_engines(composition(q, sigma, steps, direction), math.log(delta))
    assert best.error < 1e-7
    assert max(best.bracket.lower, second.lower) <= min(best.bracket.upper, second.upper)


def test_too_few_gauss_points_are_caught(monkeypatch):
    q, sigma, steps, direction, delta = MET[0]
    points, weights = np.polynomial.legendre.leggauss(12)
    monkeypatch.setattr(law, "_POINTS", points)
    monkeypatch.setattr(law, "_WEIGHTS", weights)
    monkeypatch.setattr(law, "_VARIATION", 9.0)
    best, second = both_engines(composition(q, sigma, steps, direction), math.log(delta))
    assert max(best.bracket.lower, second.lower) > min(best.bracket.upper, second.upper)


def test_a_missing_bend_moves_delta(monkeypatch):
    """Panels are hundreds wide here, and 1 - exp(ε - loss) bends within a few units of ε."""
    q, sigma, steps, direction, delta = MET[1]
    total = convolution.loss_law(composition(q, sigma, steps, direction), math.log(delta))
    epsilon = 1771002.74
    value, _ = total.log_delta(epsilon)
    bends = np.array([0.0, 0.3, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 25.0, 40.0, 100.0, 300.0])
    monkeypatch.setattr(convolution, "_BEND", bends)
    assert abs(total.log_delta(epsilon)[0] - value) < 1e-12
    monkeypatch.setattr(convolution, "_BEND", np.array([0.0]))
    assert abs(total.log_delta(epsilon)[0] - value) > 1e-10


@settings(max_examples=12)
@given(
    q=st.floats(-3, -0.05).map(lambda x: 10**x),
    sigma=st.floats(-0.3, 1).map(lambda x: 10**x),
    steps=st.integers(20, 300),
    direction=st.sampled_from(DIRECTIONS),
    exponent=st.floats(-12, -2),
)
def test_two_engines_enclose_one_value(q, sigma, steps, direction, exponent):
    log_delta = exponent * math.log(10)
    if log_delta > math.log(-math.expm1(steps * math.log1p(-q))) - 0.1:
        return
    best, second = both_engines(composition(q, sigma, steps, direction), log_delta)
    if best.bracket is not None:
        assert max(best.bracket.lower, second.lower) <= min(best.bracket.upper, second.upper)


def test_mixed_runs_agree():
    pairs = (
        (SampledGaussianPair(0.02, 1.1, REMOVE), 120),
        (SampledGaussianPair(0.05, 2.0, REMOVE), 60),
    )
    run = Composition(pairs, 0.4)
    best, second = both_engines(run, math.log(1e-7))
    assert best.error < 1e-9
    assert max(best.bracket.lower, second.lower) <= min(best.bracket.upper, second.upper)


def test_many_steps_and_tiny_noise_are_refused():
    with pytest.raises(AccuracyError, match="too many"):
        convolution.loss_law(composition(0.01, 1.0, 10**8), -10.0)
    with pytest.raises(AccuracyError, match=r"0\.001"):
        convolution.loss_law(composition(0.01, 1e-3, 3), -10.0)
