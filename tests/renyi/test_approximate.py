"""The two definitions of approximate Rényi privacy: composition and conversion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountants.renyi.approximate import ApproximateRenyi, Definition, carried

ORDERS = (1.5, 2.0, 4.0, 16.0)
CURVE = ApproximateRenyi(ORDERS, (0.15, 0.2, 0.4, 1.6), 1e-7)


def test_conversions_of_reference() -> None:
    """Curve alone (1, 1e-6), mass 1e-5: derived references."""
    conditional = carried(1e-6, 1e-5, 1.0, Definition.CONDITIONAL)
    assert conditional == pytest.approx(0.00001099999, rel=1e-14)
    smoothed = carried(1e-6, 1e-5, 1.0, Definition.SMOOTHED)
    assert smoothed == pytest.approx(3.81828182845904e-5, rel=1e-14)


def test_composition_adds_and_keeps_the_good_part() -> None:
    both = CURVE.compose(ApproximateRenyi(ORDERS, (1.0, 2.0, 3.0, math.inf), 0.25))
    np.testing.assert_allclose(both.divergences, (1.15, 2.2, 3.4, math.inf))
    assert both.delta == pytest.approx(1 - (1 - 1e-7) * 0.75, rel=1e-14)
    soft = CURVE.smoothed().compose(CURVE.smoothed())
    assert soft.delta == pytest.approx(2e-7, rel=1e-14)


@given(st.integers(0, 50), st.floats(0, 0.5))
def test_repeating_is_composing(count: int, delta: float) -> None:
    for definition in Definition:
        one = ApproximateRenyi(ORDERS, CURVE.divergences, delta, definition)
        total = ApproximateRenyi(ORDERS, (0.0,) * 4, 0.0, definition)
        for _ in range(count):
            total = total.compose(one)
        again = one.repeat(count)
        np.testing.assert_allclose(again.divergences, total.divergences, rtol=1e-13)
        assert again.delta == pytest.approx(total.delta, rel=1e-12)


@given(st.floats(0.0, 20.0), st.floats(1e-12, 1e-2))
def test_smoothing_is_the_weaker_statement(epsilon: float, delta: float) -> None:
    one = ApproximateRenyi(ORDERS, CURVE.divergences, delta)
    assert one.smoothed().get_delta(epsilon) >= one.get_delta(epsilon)


@pytest.mark.parametrize("definition", list(Definition))
@pytest.mark.parametrize("target", [1e-3, 1e-5, 3e-6])
def test_epsilon_meets_delta(definition: Definition, target: float) -> None:
    one = ApproximateRenyi(ORDERS, CURVE.divergences, 1e-7, definition)
    epsilon = one.get_epsilon(target)
    assert 0 < epsilon < math.inf
    assert one.get_delta(epsilon) <= target
    assert one.get_delta(epsilon * 0.999) > target


def test_no_epsilon_where_the_mass_is_too_large() -> None:
    assert CURVE.get_epsilon(1e-7) == math.inf
    assert CURVE.get_epsilon(0.0) == math.inf
    assert CURVE.smoothed().get_epsilon(1.9e-7) == math.inf
    assert CURVE.get_epsilon(1.0) == 0.0
    assert CURVE.get_delta(math.inf) == 1e-7
    assert CURVE.smoothed().get_delta(math.inf) == 1.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (((), ()), "orders"),
        (((1.0, 2.0), (0.1, 0.2)), "orders"),
        (((3.0, 2.0), (0.1, 0.2)), "orders"),
        (((2.0, math.nan), (0.1, 0.2)), "orders"),
        (((2.0, math.inf), (0.1, 0.2)), "orders"),
        (((2.0, 3.0), (0.1,)), "divergences"),
        (((2.0, 3.0), (0.1, -0.2)), "divergences"),
        (((2.0, 3.0), (0.1, math.nan)), "divergences"),
        (((2.0,), (0.1,), -1e-9), "delta"),
        (((2.0,), (0.1,), 1.5), "delta"),
        (((2.0,), (0.1,), 0.1, "B"), "definition"),
        ((2.0, (0.1,)), "orders"),
    ],
)
def test_bad_input_is_named(arguments: tuple[object, ...], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ApproximateRenyi(*arguments)  # type: ignore[arg-type]


def test_what_does_not_compose_is_refused() -> None:
    with pytest.raises(ValueError, match="definition"):
        CURVE.compose(CURVE.smoothed())
    with pytest.raises(ValueError, match="orders"):
        CURVE.compose(ApproximateRenyi((2.0,), (0.1,)))
    with pytest.raises(ValueError, match="count"):
        CURVE.repeat(-1)
    with pytest.raises(ValueError, match="target_epsilon"):
        CURVE.get_delta(-1.0)
    with pytest.raises(ValueError, match="target_delta"):
        CURVE.get_epsilon(math.nan)
