"""Profiles delta(epsilon) with a closed form, in ball arithmetic, and ends of epsilon from them.

==================  ==============================================================================
mechanism           profile at any real epsilon
==================  ==============================================================================
Gaussian            Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)
one Poisson step    the pairs of ``pairs``: the loss is monotone, so that one cut is enough
Laplace, T times    knots at (T - 2 i) D, D = shift / scale: see ``laplace``
discrete losses     sum of p_j base(e - l_j): randomized response, T times, beside any of these
==================  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from math import comb
from typing import Any

import flint

from .laws import to_arb
from .pairs import Step

Profile = Callable[[Any], Any]  # a ball of epsilon to a ball of delta, at the working precision
DIGITS = 20  # of a printed end
FIRST_BITS, MOST_BITS = 256, 16384


def _tail(x: Any) -> Any:
    return (x / flint.arb(2).sqrt()).erfc() / 2


def gaussian(square: Fraction) -> Profile:
    """N(mu, 1) against N(0, 1), with mu^2 = ``square``."""

    def profile(epsilon: Any) -> Any:
        mu = to_arb(square).sqrt()
        return _tail(epsilon / mu - mu / 2) - epsilon.exp() * _tail(epsilon / mu + mu / 2)

    return profile


def poisson(one: Step, direction: str) -> Profile:
    """One step of a Poisson-sampled Gaussian."""

    def profile(epsilon: Any) -> Any:
        q, s = to_arb(one.q), 1 / to_arb(one.sigma)
        rest, e, half = 1 - q, epsilon.exp(), s * s / 2
        if direction == "remove":  # loss above epsilon where u is above the cut
            cut = (((e - rest) / q).log() + half) / s
            return (rest - e) * _tail(cut) + q * _tail(cut - s)
        if direction == "add":  # where u is below it; nowhere beyond -log(1 - q)
            if not 1 / e > rest:
                return flint.arb(0)
            cut = (((1 / e - rest) / q).log() + half) / s
            return (1 - e * rest) * _tail(-cut) - e * q * _tail(s - cut)
        a, b = q * (-half).exp(), (e - 1) * rest
        cut = ((b + (b * b + 4 * e * a * a).sqrt()) / (2 * a)).log() / s
        return -b * _tail(cut) + q * _tail(cut - s) - e * q * _tail(cut + s)

    return profile


def copies(draws: int, among: int, sigma: Fraction, direction: str) -> Profile:
    """One step on ``draws`` draws with replacement: K copies move the sum by 2 K, K binomial."""

    def profile(epsilon: Any) -> Any:
        e, shift = epsilon.exp(), 2 / to_arb(sigma)
        parts = [(w, k * shift) for k, w in enumerate(_binomial(draws, among))]

        def ratio(u: Any) -> Any:
            return sum((w * (a * (u - a / 2)).exp() for w, a in parts), flint.arb(0))

        removing = direction == "remove"
        level = e if removing else 1 / e
        if not level > parts[0][0]:  # the ratio never gets that small
            return 1 - e if removing else flint.arb(0)
        cut = _crossing(lambda u: ratio(u) - level)
        sign = 1 if removing else -1  # the side of the cut where the loss is above epsilon
        mixed = sum((w * _tail(sign * (cut - a)) for w, a in parts), flint.arb(0))
        plain = _tail(sign * cut)
        return mixed - e * plain if removing else plain - e * mixed

    return profile


def copies_symmetrised(draws: int, among: int, sigma: Fraction) -> Profile:
    """An upper bound for replacing one record, at epsilon >= 0 (Balle et al., 2018): sum_k p_k
    delta_2k(log(1 + (e^epsilon - 1) / eta)), eta the chance of any copy."""

    def profile(epsilon: Any) -> Any:
        weights = _binomial(draws, among)
        inner = ((epsilon.exp() - 1) / (1 - weights[0])).log1p()
        terms = [w * gaussian((2 * k / sigma) ** 2)(inner) for k, w in enumerate(weights) if k > 0]
        return sum(terms, flint.arb(0))

    return profile


def _binomial(draws: int, among: int) -> list[Any]:
    share = Fraction(1, among)
    return [
        to_arb(comb(draws, k) * share**k * (1 - share) ** (draws - k)) for k in range(draws + 1)
    ]


def _crossing(rising: Callable[[Any], Any]) -> Any:
    """A ball that holds the zero of an increasing function: its ends are seen to differ in sign."""
    low, high = Fraction(-(2**12)), Fraction(2**12)
    for _ in range(flint.ctx.prec):
        # two points, not the middle: the zero itself may be a round number, where no sign is seen
        left, right = (5 * low + 3 * high) / 8, (3 * low + 5 * high) / 8
        below, above = rising(to_arb(left)), rising(to_arb(right))
        if below < 0:
            low = left
        if above > 0:
            high = right
        if not (below < 0 or above > 0):
            break
    return to_arb(low).union(to_arb(high))


def laplace(distance: Fraction, count: int) -> Profile:
    """``count`` Laplace releases, shift over scale = ``distance`` = D.

    The loss of one has P-mass 1/2 at D, exp(-D)/2 at -D and density exp((l - D)/2)/4 between.
    Weighted by exp(-l/2) that is exp(-D/2)/4 times a measure with the Laplace transform
    exp(D z) (2 + 1/z) + exp(-D z) (2 - 1/z).  Its T-th power is a sum over the knots (T - 2 i) D
    of polynomials in 1/z; 1/z^n stands for (l - knot)_+^(n-1) / (n-1)!, and 1 for a point mass.
    """
    powers = [_two_plus(count - i, i) for i in range(count + 1)]  # coefficients of 1/z^n

    def profile(epsilon: Any) -> Any:
        d = to_arb(distance)
        end = d * count
        if epsilon < -end:
            return 1 - epsilon.exp()
        total = flint.arb(0)
        for i, coefficients in enumerate(powers):
            knot = d * (count - 2 * i)
            start = knot.max(epsilon).min(end)
            at_knot = ((knot / 2).exp() - (epsilon - knot / 2).exp()).max(flint.arb(0))
            terms = [at_knot, *_excess_integrals(knot, start, end, epsilon, count)]
            part = sum((c * t for c, t in zip(coefficients, terms, strict=True)), flint.arb(0))
            total += comb(count, i) * part
        return total * ((-d / 2).exp() / 4) ** count

    return profile


def _two_plus(minus: int, plus: int) -> list[int]:
    """Coefficients of (2 + y)^plus (2 - y)^minus in powers of y."""
    poly = flint.fmpz_poly([2, 1]) ** plus * flint.fmpz_poly([2, -1]) ** minus
    return [int(poly[n]) for n in range(plus + minus + 1)]


def _excess_integrals(knot: Any, start: Any, end: Any, epsilon: Any, most: int) -> list[Any]:
    """Integrals over (start, end) of (l - knot)^n / n! (e^(l/2) - e^(epsilon - l/2)), n < most."""
    out: list[Any] = []
    up, down, high, low = flint.arb(0), flint.arb(0), flint.arb(1), flint.arb(1)
    rising, falling = ((end / 2).exp(), (start / 2).exp()), ((-end / 2).exp(), (-start / 2).exp())
    scale = epsilon.exp()
    for n in range(most):
        if n:
            high, low = high * (end - knot) / n, low * (start - knot) / n
        up = 2 * (high * rising[0] - low * rising[1] - up)
        down = 2 * (low * falling[1] - high * falling[0] + down)
        out.append(up - scale * down)
    return out


def beside_laplace(distance: Fraction, base: Profile) -> Profile:
    """One Laplace release beside ``base``, whose profile is analytic: the loss is integrated."""

    def profile(epsilon: Any) -> Any:
        d = to_arb(distance)
        points = base(epsilon - d) / 2 + (-d).exp() / 2 * base(epsilon + d)

        def density(loss: Any, analytic: bool) -> Any:
            return ((loss - d) / 2).exp() / 4 * base(epsilon - loss)

        return points + flint.acb.integral(density, -d, d).real

    return profile


def nothing(epsilon: Any) -> Any:
    """Two equal distributions."""
    return (1 - epsilon.exp()).max(flint.arb(0))


def responses(p: Fraction, buckets: int, count: int, base: Profile = nothing) -> Profile:
    """``count`` randomized responses beside ``base``; the losses are L, 0 and -L."""
    low = p / buckets
    high = 1 - p + low
    between = 1 - low - high

    def profile(epsilon: Any) -> Any:
        level = (to_arb(high) / to_arb(low)).log()
        weights = flint.arb_poly([to_arb(x) for x in (low, between, high)]) ** count
        total = flint.arb(0)
        for j in range(2 * count + 1):
            total += weights[j] * base(epsilon - level * (j - count))
        return total

    return profile


# ------------------------------------------------------------------------------------ the solve


class Undecided(ArithmeticError):
    """The working precision does not tell two numbers apart."""


def _exceeds(profile: Profile, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether delta(epsilon) > delta, with as much precision as that takes."""
    bits = FIRST_BITS
    while bits <= MOST_BITS:
        flint.ctx.prec = bits
        value, target = profile(to_arb(epsilon)), to_arb(delta)
        if value > target:
            return True
        if value < target:
            return False
        bits *= 2
    raise Undecided(f"delta({float(epsilon)!r}) against {float(delta)!r}")


def ends(profile: Profile, delta: Fraction) -> tuple[Decimal, Decimal]:
    """Two decimals of ``DIGITS`` digits, each proved: delta(lower) > delta > delta(upper).

    Both are 0 where delta(0) is below ``delta``.
    """
    if not _exceeds(profile, Fraction(0), delta):
        return Decimal(0), Decimal(0)
    low, high = Fraction(0), Fraction(1, 1024)
    while _exceeds(profile, high, delta):
        low, high = high, 2 * high
    while high - low > high * Fraction(1, 10 ** (DIGITS + 3)):
        low, high = _narrower(profile, delta, low, high)
    lower, upper = rounded(low, ROUND_FLOOR), rounded(high, ROUND_CEILING)
    assert lower == 0 or _exceeds(profile, Fraction(lower), delta)
    assert not _exceeds(profile, Fraction(upper), delta)
    return lower, upper


def _narrower(
    profile: Profile, delta: Fraction, low: Fraction, high: Fraction
) -> tuple[Fraction, Fraction]:
    """Bisection; of two ends far apart, at their geometric mean."""
    middle = (low + high) / 2
    if low == 0:
        middle = high / 2**20
    elif high > 4 * low:
        middle = Fraction(float(low) ** 0.5 * float(high) ** 0.5)
    scale = 2 ** max(0, 100 - middle.numerator.bit_length() + middle.denominator.bit_length())
    middle = Fraction(round(middle * scale), scale)  # short enough for ball arithmetic
    return (middle, high) if _exceeds(profile, middle, delta) else (low, middle)


def rounded(value: Fraction, rounding: str, digits: int = DIGITS) -> Decimal:
    """``value`` as a decimal of so many digits."""
    with localcontext() as context:
        context.prec, context.rounding = digits, rounding
        return Decimal(value.numerator) / Decimal(value.denominator)
