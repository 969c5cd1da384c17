"""phi in numbers: its minimisers to the digits given, relaxed and as the sawtooth it is."""

from math import exp, log

import numpy as np
import pytest

from bounds.dp2.phi import EXPONENTS, Tradeoff


@pytest.mark.parametrize(
    ("constants", "u", "value"),
    [
        ((1, 50, 0.98, 0.002, 0.01), 0.0523906933921, 5.23782641059),
        ((1, 9, 0.64, 0.01, 0.2), 0.14590617714, 3.12479853491),
        ((1, 1, 0.5, 0.001, 0.3), 0.140582514321, 1.25013118812),
        ((1, 100, 0.9, 0.01, 0.06), 0.109296978026, 20.1340507792),
        ((1, 1, 1, 1, 0.1), 1, 3.72658209711),
        ((2, 1, 4, 1, 1e-7), 1, 10.0311052476),
    ],
)
def test_minimisers(constants, u, value):
    phi = Tradeoff(*constants)
    found = phi.minimiser()
    assert found.relative_delay == pytest.approx(u, rel=1e-11)
    assert found.value == pytest.approx(value, rel=1e-11)
    assert found.interior == (u < 1)
    grid = np.linspace(0.001, 1, 2000)
    assert (phi.log_phi(grid) >= log(found.value) * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    ("constants", "exponent", "delay", "value"),
    [
        ((1, 9, 0.64, 0.01, 0.2), "floor", 143, 2.937015287230743),
        ((1, 9, 0.64, 0.01, 0.2), "ceiling", 143, 2.937015287230743),
        ((1, 9, 0.64, 0.01, 0.2), "relaxed", 146, None),
        ((1, 50, 0.98, 0.002, 0.01), "relaxed", 52, None),
        ((1, 50, 0.98, 0.002, 0.01), "floor", 53, 5.106411909605408),
        ((1, 50, 0.98, 0.002, 0.01), "ceiling", 50, 5.0941391422000075),
        ((1, 1, 1, 1, 0.1), "relaxed", 1000, None),
        ((1, 1, 1, 1, 0.1), "floor", 501, None),
        ((1, 1, 1, 1, 0.1), "ceiling", 1000, 2.0),
    ],
)
def test_integer_minimisers_at_1000_steps(constants, exponent, delay, value):
    found, logarithm = Tradeoff(*constants).best_delay(1000, exponent)
    assert found == delay
    if value is not None:
        assert exp(logarithm) == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize(
    ("constants", "minima", "first"),
    [
        ((1, 9, 0.64, 0.01, 0.2), 9, {143, 167, 201, 251, 334}),
        ((1, 50, 0.98, 0.002, 0.01), 24, {53}),
    ],
)
def test_exact_exponent_is_a_sawtooth(constants, minima, first):
    values = Tradeoff(*constants).log_over_delays(1000, "floor")
    inner = 1 + np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])) + 1
    assert len(inner) == minima
    assert first <= set(inner.tolist())


def test_relaxed_integer_optimum_is_next_to_the_real_one():
    for constants in [(1, 9, 0.64, 0.01, 0.2), (1, 50, 0.98, 0.002, 0.01), (2, 1, 4, 1, 1e-7)]:
        phi = Tradeoff(*constants)
        for steps in (1, 2, 17, 1000):
            best, _ = phi.best_delay(steps)
            real = phi.minimiser().relative_delay * steps
            assert best in {max(1, int(real)), min(steps, int(real) + 1)}


def test_relaxed_form_is_above_both_exact_exponents():
    phi = Tradeoff(1, 9, 0.64, 0.01, 0.2)
    relaxed, floor, ceiling = (phi.log_over_delays(997, name) for name in EXPONENTS)
    assert (ceiling <= floor).all()
    assert (floor <= relaxed).all()


def test_base_below_one_is_uninformative():
    """A base below 1 makes phi fall towards u = 0; one above 1 makes it rise."""
    small = Tradeoff(1, 1, 0.01, 0.0, 1e-7)
    assert not small.informative
    assert small.log_phi(1e-3) < small.log_phi(1.0) - 100
    with pytest.raises(ValueError, match="phi has no minimiser"):
        small.minimiser()
    assert Tradeoff(1, 1, 1, 0, 1e-7).informative


def test_far_from_double_range():
    phi = Tradeoff(1, 9, 0.64, 0.01, 0.2)
    assert float(phi.log_phi(1e-6)) > 1e6
    with np.errstate(over="ignore"):
        assert np.exp(phi.log_phi(1e-6)) == np.inf
    assert np.isfinite(phi.log_over_delays(100_000)).all()


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ((-1, 1, 1, 1, 0.1), "staleness_intercept=-1"),
        ((0, 0, 1, 1, 0.1), "staleness_intercept and staleness_slope"),
        ((1, 1, 0, 0, 0.1), "second_moment_floor and second_moment_noise"),
        ((1, 1, 1, 1, 0.0), r"damping=0\.0"),
        ((1, 1, float("nan"), 1, 0.1), "second_moment_floor=nan"),
    ],
)
def test_bad_constants_are_named(constants, words):
    with pytest.raises(ValueError, match=words):
        Tradeoff(*constants)


def test_bad_calls_are_named():
    phi = Tradeoff(1, 1, 1, 1, 0.1)
    with pytest.raises(ValueError, match="steps=0"):
        phi.best_delay(0)
    with pytest.raises(ValueError, match="exponent='ceil'"):
        phi.best_delay(5, "ceil")
