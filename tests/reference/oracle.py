"""One entry for reference values: picks a method and says how many digits it vouches for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath

from . import closed_forms, contour, convolution
from .laws import MixtureLaw, sampled
from .pairs import Step

CONTOUR_BUDGET = 4e7  # products of the inner sums; a few seconds
CONVOLUTION_STEPS = 200_000  # beyond this its rounding reaches 1e-10


@dataclass(frozen=True)
class Value:
    """A reference value: decimal text, digits on which two computations agree, method."""

    text: str
    digits: float
    method: str

    @property
    def relative_error(self) -> float:
        """What a comparison has to allow for the reference itself."""
        return math.pow(10.0, -self.digits)


def _closed(parts: Sequence[Step]) -> bool:
    return len(parts) == 1 and (parts[0].count == 1 or parts[0].q == 1)


def laws(parts: Sequence[Step], direction: str) -> list[tuple[MixtureLaw, int]]:
    """The steps as what the methods for many steps take."""
    return [(sampled(one, direction), one.count) for one in parts]


def _text(x: object, digits: float) -> str:
    return str(mpmath.nstr(x, max(3, min(25, int(digits))), min_fixed=0, max_fixed=0))


def _ball_text(ball: object, digits: float) -> str:
    return str(ball.str(max(3, min(25, int(digits))), radius=False))  # type: ignore[attr-defined]


def log10_text(log_value: float, digits: float) -> str:
    """Decimal text of exp(log_value), also below the range of floats."""
    with mpmath.workdps(30):
        return _text(mpmath.exp(mpmath.mpf(log_value)), digits)


def delta(parts: Sequence[Step], direction: str, epsilon: Fraction) -> Value:
    """Reference delta(epsilon)."""
    if _closed(parts):
        with mpmath.workdps(closed_forms.DIGITS):
            one, eps = parts[0], closed_forms.number(epsilon)
            if one.q == 1:
                mu = closed_forms.unsampled_mu(one, direction)
                value = closed_forms.gaussian_delta(mu, eps)
            else:
                value = closed_forms.single_delta(one, direction, eps)
            return Value(_text(value, 25), 25.0, "closed form, mpmath")
    try:
        ball, digits = contour.delta_reference(laws(parts, direction), epsilon, CONTOUR_BUDGET)
        if digits >= 13:
            return Value(_ball_text(ball, digits), digits, "contour, python-flint")
    except (contour.ReferenceTooSlow, ArithmeticError):
        pass
    _refuse_long(parts)
    log_value, digits = convolution.delta_reference(laws(parts, direction), float(epsilon))
    digits = min(digits, 12.0) - 1
    return Value(log10_text(log_value, digits + 2), digits, "positive convolution")


def _refuse_long(parts: Sequence[Step]) -> None:
    if sum(one.count for one in parts if one.q < 1) > CONVOLUTION_STEPS or any(
        one.q == 1 for one in parts
    ):
        raise contour.ReferenceTooSlow("neither method serves this setting")


def nested(one: Step, direction: str, epsilon: Fraction) -> Value:
    """delta of two or three steps by nested quadrature, at two orders."""
    low, high = (14, 20) if one.count == 2 else (9, 11)
    first, second = (closed_forms.nested_delta(one, direction, epsilon, k) for k in (low, high))
    gap = abs(first / second - 1)
    digits = 25.0 if gap == 0 else min(25.0, float(-mpmath.log10(gap)))
    return Value(_text(second, digits), digits, "nested quadrature of the closed form, mpmath")


def sigma(one: Step, direction: str, epsilon: Fraction, target: Fraction) -> Value:
    """The noise multiplier with delta(epsilon) = target; ``one.sigma`` is the first guess."""
    if _closed([one]):
        with mpmath.workdps(closed_forms.DIGITS):
            return _closed_sigma(one, direction, epsilon, target)
    return _contour_sigma(one, direction, epsilon, target)


def _closed_sigma(one: Step, direction: str, epsilon: Fraction, target: Fraction) -> Value:
    if one.q != 1:
        raise ValueError("a single sampled step: not needed by any table")
    eps, goal = closed_forms.number(epsilon), closed_forms.number(target)
    base = closed_forms.unsampled_mu(Step(one.q, Fraction(1), one.count), direction)
    low, high = mpmath.mpf(10) ** -9, mpmath.mpf(10) ** 9
    for _ in range(400):
        middle = mpmath.sqrt(low * high)
        more = closed_forms.gaussian_delta(base / middle, eps) > goal
        low, high = (middle, high) if more else (low, middle)
    return Value(_text(high, 25), 25.0, "closed form, mpmath")


def _contour_sigma(one: Step, direction: str, epsilon: Fraction, target: Fraction) -> Value:
    """Bracketed secant in log sigma on log delta; the last two contours must agree."""
    goal = mpmath.mpf(target.numerator) / target.denominator

    def excess(x: Any) -> tuple[Any, float]:
        text = mpmath.nstr(mpmath.exp(x), 28)
        at = Step(one.q, Fraction(text), one.count)
        ball, digits = contour.delta_reference(laws([at], direction), epsilon, CONTOUR_BUDGET)
        return mpmath.log(mpmath.mpf(ball.mid().str(28, radius=False)) / goal), digits

    with mpmath.workdps(30):
        a, b = _bracket_sigma(one, direction, epsilon, target)
        fa, _ = excess(a)
        fb, digits = excess(b)
        for _ in range(30):
            x = b - fb * (b - a) / (fb - fa)
            a, fa = b, fb
            b = x
            fb, digits = excess(b)
            if abs(b - a) < mpmath.mpf(10) ** -18:
                slope = abs((fb - fa) / (b - a)) if b != a else mpmath.mpf(1)
                agreed = min(22.0, digits + float(mpmath.log10(slope)))
                return Value(_text(mpmath.exp(b), agreed), agreed, "contour, python-flint")
    raise ArithmeticError("the secant iteration for sigma did not settle")


def _bracket_sigma(
    one: Step, direction: str, epsilon: Fraction, target: Fraction
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Two nearby starting points, from a coarse bisection on the crude saddle estimate."""
    low, high = math.log(1e-2), math.log(1e4)
    for _ in range(40):
        middle = (low + high) / 2
        at = Step(one.q, Fraction(repr(math.exp(middle))), one.count)
        _, crude = contour.saddle(laws([at], direction), float(epsilon))
        more = crude > math.log(target.numerator) - math.log(target.denominator)
        low, high = (middle, high) if more else (low, middle)
    return mpmath.mpf(low), mpmath.mpf(low) + mpmath.mpf("0.01")


def epsilon(
    parts: Sequence[Step],
    direction: str,
    target: Fraction,
    choices: tuple[contour.Choice, contour.Choice] = (contour.FIRST, contour.SECOND),
    enough: float = 13.0,
) -> Value:
    """Reference epsilon(target); 0 where delta(0) is smaller."""
    if _closed(parts):
        value = closed_forms.single_epsilon(parts[0], direction, target)
        return Value(_text(value, 25), 25.0, "closed form, mpmath")
    try:
        ball, digits = contour.epsilon_reference(
            laws(parts, direction), target, CONTOUR_BUDGET, choices
        )
        if digits >= enough:
            if ball < 0:
                return Value("0", 25.0, "contour, python-flint")
            return Value(_ball_text(ball, digits), digits, "contour, python-flint")
    except (contour.ReferenceTooSlow, ArithmeticError):
        pass
    _refuse_long(parts)
    value, digits = convolution.epsilon_reference(laws(parts, direction), float(target))
    if value == 0:
        return Value("0", 25.0, "positive convolution")
    digits = min(digits, 12.0) - 1
    return Value(_text(mpmath.mpf(value), digits + 2), digits, "positive convolution")
