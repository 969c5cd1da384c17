"""The exponent of the decay in whole numbers, and the float trap."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

from bounds.dp2.exponent import EXPONENT, HERMITE, adaptive, exponents_at, last_phase, phase, plain
from bounds.dp2.symbols import s
from bounds.symbols import T, t


@pytest.mark.parametrize("theorem", [HERMITE, EXPONENT], ids=lambda each: each.id)
def test_proof(theorem):
    report = theorem.replay()
    assert report.ok, report.describe()
    assert not report.to_json()["assumed"]
    assert not report.to_json()["unused_steps"]


def test_two_floors_are_one_for_every_step():
    for delay in range(1, 25):
        for step in range(1, 401):
            both = step // (2 * delay) + (step + delay) // (2 * delay)
            assert both == step // delay


def test_float_floors_go_wrong_and_exact_ones_do_not():
    wrong = 0
    for n in range(1, 2001):
        u = 1 / n
        assert exponents_at(u) == (n - 1, n, Fraction(2 * n + 1, 2))
        wrong += math.floor(1 / u) != n or math.ceil(1 / u) - 1 != n - 1
        both = math.floor(1 / (2 * u)) + math.floor((1 + u) / (2 * u))
        wrong += both != n
    assert wrong > 0  # the trap is real: plain floats miss some n


def test_evaluations_are_exact_at_one_over_n():
    u = 1 / np.arange(1, 2001)
    n = np.arange(1, 2001)
    assert (EXPONENT.evaluate("relative_bound", relative_delay=u) == n - 1).all()
    assert (EXPONENT.evaluate("relative_recalled", relative_delay=u) == n).all()
    assert np.allclose(EXPONENT.evaluate("relative_relaxed", relative_delay=u), n + 0.5)


def test_last_phase_is_the_count_of_a_run():
    for steps in range(1, 60):
        for delay in range(1, 60):
            counted = max((step - 1) // delay for step in range(1, steps + 1))
            assert last_phase(steps, delay) == counted == math.ceil(Fraction(steps, delay)) - 1
            assert counted == exponents_at((delay, steps))[0] if delay <= steps else counted == 0


def test_evaluations_count_phases():
    steps, delays = np.arange(1, 60)[:, None], np.arange(1, 60)
    assert (EXPONENT.evaluate(steps=steps, delay=delays) == (steps - 1) // delays).all()
    assert (EXPONENT.evaluate("recalled", steps=steps, delay=delays) == steps // delays).all()


def test_overshoot_of_the_relaxation():
    floors, exact = set(), set()
    for steps in range(1, 200):
        for delay in range(1, steps + 1):
            last, recalled, relaxed = exponents_at(Fraction(delay, steps))
            floors.add(relaxed - recalled)
            exact.add(relaxed - last)
    assert min(floors) == Fraction(1, 2)
    assert max(floors) < Fraction(3, 2)
    assert min(exact) > Fraction(1, 2)
    assert max(exact) == Fraction(3, 2)  # when s divides T


def test_phases_alternate_from_dp_sgd():
    for delay in (1, 2, 3):
        for step in range(1, 13):
            here = {t: step, s: delay}
            number = (step - 1) // delay
            assert phase(t).subs(here) == number
            assert bool(plain(t).subs(here)) == (number % 2 == 0)
            assert bool(adaptive(t).subs(here)) == (number % 2 == 1)


def test_one_step_early_is_wrong():
    first = phase(T)
    early = EXPONENT.with_claim(EXPONENT.statement.xreplace({first: sympy.floor(T / s)}))
    report = early.replay()
    assert not report.ok
    found = early.counterexample()
    assert found is not None
    assert found.at["T"] % found.at["s"] == 0  # only there do the two differ


@pytest.mark.parametrize(
    ("steps", "delay", "name"),
    [(0, 1, "steps"), (10, 0, "delay"), (10, -2, "delay"), (2.5, 1, "steps"), (True, 1, "steps")],
)
def test_bad_counts(steps, delay, name):
    with pytest.raises(ValueError, match=f"{name} = .* is not allowed: an integer >= 1"):
        last_phase(steps, delay)


@pytest.mark.parametrize("u", [0, -0.5, 1.5, math.inf, math.nan, "a"])
def test_bad_fractions(u):
    with pytest.raises(ValueError, match="is not allowed"):
        exponents_at(u)
