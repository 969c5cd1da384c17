"""Shortened numbers stay on their side of the truth."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp2theory.digits import short, within

FLOATS = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)


@given(FLOATS, st.integers(1, 12))
def test_ends_are_shortened_outward_and_by_less_than_a_digit(value, digits):
    up, down = (float(short(value, kind, digits)) for kind in ("upper", "lower"))
    assert down <= value <= up
    assert float(short(value, "chosen", digits)) == up
    nearest = float(short(value, "", digits))
    assert nearest in (up, down)
    if math.isfinite(up) and math.isfinite(down):
        size = Fraction(10) ** (1 - digits) * abs(Fraction(value))
        assert Fraction(up) - Fraction(down) <= size * Fraction(1001, 1000)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), ("inf", "inf"), (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"),
     (9999, "9999"), (10000, "10,000"), (-12345678, "-12,345,678"), (True, "True"), (0.0, "0")],
)  # fmt: skip
def test_what_is_no_finite_float_is_shown_whole(value, shown):
    assert {short(value, kind, 2) for kind in ("upper", "lower", "measured")} == {shown}


def test_brackets():
    assert within({"lower": 0.393586, "upper": 0.393586}, 4) == "[0.3935, 0.3936]"
    assert within({"lower": 2.5, "upper": "inf"}) == "[2.5, inf]"


def test_the_largest_double_rounds_up_to_infinity():
    assert short(1.7976931348623157e308, "upper", 3) == "inf"
    assert float(short(1.7976931348623157e308, "lower", 3)) < math.inf
