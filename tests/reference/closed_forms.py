"""Closed forms in mpmath: one step, unsampled steps; T = 2 and 3 by nested quadrature."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
from mpmath import mp, mpf

from .pairs import Step, log_densities

DIGITS = 60


def number(x: Fraction) -> Any:
    """The rational ``x`` at the working precision of mpmath."""
    return mpf(x.numerator) / x.denominator


def _tail(x: Any) -> Any:
    """Phi(-x) without cancellation."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    """Profile of N(mu, 1) against N(0, 1)."""
    return _tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * _tail(epsilon / mu + mu / 2)


def unsampled_mu(one: Step, direction: str) -> Any:
    """Mean gap of ``count`` unsampled steps, in units of the noise; replacing moves it twice."""
    shift = 2 if direction == "replace" else 1
    return shift * mpmath.sqrt(one.count) / number(one.sigma)


def single_delta(one: Step, direction: str, epsilon: Any) -> Any:
    """delta(epsilon) of ONE step of ``one``; ``epsilon`` may be negative."""
    if one.q == 1:
        return gaussian_delta(unsampled_mu(Step(one.q, one.sigma, 1), direction), epsilon)
    q, s = number(one.q), 1 / number(one.sigma)
    half, e = s * s / 2, mpmath.exp(epsilon)
    if direction == "remove":  # the loss exceeds epsilon where u > cut
        if e <= 1 - q:
            return 1 - e
        cut = (mpmath.log((e - (1 - q)) / q) + half) / s
        return (1 - q - e) * _tail(cut) + q * _tail(cut - s)
    if direction == "add":  # ... where u < cut
        if 1 / e <= 1 - q:
            return mpf(0)
        cut = (mpmath.log((1 / e - (1 - q)) / q) + half) / s
        return (1 - e * (1 - q)) * _tail(-cut) - e * q * _tail(s - cut)
    a = q * mpmath.exp(-half)  # a X^2 - (e - 1)(1 - q) X - e a = 0 with X = e^(s u)
    b = (e - 1) * (1 - q)
    root = mpmath.sqrt(b * b + 4 * e * a * a)
    x = (b + root) / (2 * a) if b >= 0 else 2 * e * a / (root - b)
    cut = mpmath.log(x) / s
    return -b * _tail(cut) + q * _tail(cut - s) - e * q * _tail(cut + s)


def single_epsilon(one: Step, direction: str, delta: Fraction) -> Any:
    """epsilon of one step, or of ``count`` unsampled steps; 0 when delta(0) is smaller."""
    with mp.workdps(DIGITS):
        target = number(delta)
        if one.q == 1:
            mu = unsampled_mu(one, direction)

            def profile(eps: Any) -> Any:
                return gaussian_delta(mu, eps)
        elif one.count == 1:

            def profile(eps: Any) -> Any:
                return single_delta(one, direction, eps)
        else:
            raise ValueError(f"count={one.count}, q={one.q}: no closed form")
        if profile(mpf(0)) <= target:
            return mpf(0)
        low, high = mpf(0), mpf(1) / 1024
        while profile(high) > target:
            low, high = high, 2 * high
        for _ in range(180):
            middle = (low + high) / 2
            low, high = (middle, high) if profile(middle) > target else (low, middle)
        return +high


def _breakpoints(loss_at: Any, target: Any, low: Any, high: Any) -> list[Any]:
    """Panel ends on [low, high], refined geometrically where the loss passes ``target``."""
    points = {low + k for k in range(int(high - low) + 1)} | {high}
    if loss_at(low) < target < loss_at(high):
        left, right = low, high
        for _ in range(40):
            middle = (left + right) / 2
            left, right = (middle, right) if loss_at(middle) < target else (left, middle)
        points.add(left)
        points |= {left + sign * mpf(2) ** -k for k in range(18) for sign in (-1, 1)}
    return sorted(x for x in points if low <= x <= high)


def nested_delta(one: Step, direction: str, epsilon: Fraction, order: int = 14) -> Any:
    """delta(epsilon) of 2 or 3 steps: integrate the closed form of one step over the others.

    Gauss-Legendre panels, refined where the remaining budget reaches the end of the loss of one
    step, because the profile is not analytic there.  The error is judged by another ``order``.
    """
    if one.count not in (2, 3):
        raise ValueError(f"count={one.count}: 2 or 3 only")
    with mp.workdps(30):
        s = 1 / number(one.sigma)
        f = log_densities(one, direction, number, mpmath.exp, mpmath.log)
        sign = -1 if direction == "add" else 1
        low, high = mpf(-12) - (2 * s if direction == "replace" else 0), mpf(12) + s
        nodes = _gauss_legendre(order)

        def signed_loss(u: Any) -> Any:
            log_p, log_q = f(u)
            return sign * (log_p - log_q)

        end = 0 if direction == "replace" else sign * mpmath.log1p(-number(one.q))

        def outer(eps: Any, inner: Any, left: int, floor: Any) -> Any:
            """E_P of ``inner`` (the profile of ``left`` steps) at eps minus one loss."""
            ends = _breakpoints(signed_loss, sign * (eps - left * end), low, high)
            terms = []
            for a, b in itertools.pairwise(ends):
                for x, w in nodes:
                    u = (a + b) / 2 + (b - a) / 2 * x
                    log_p, log_q = f(u)
                    weight = w * (b - a) / 2 * mpmath.npdf(u) * mpmath.exp(log_p)
                    if weight > floor:
                        terms.append(weight * inner(eps - log_p + log_q))
            return mpmath.fsum(terms)

        def two(eps: Any) -> Any:
            return outer(eps, lambda e: single_delta(one, direction, e), 1, mpf(10) ** -34)

        eps = number(epsilon)
        return two(eps) if one.count == 2 else outer(eps, two, 2, mpf(10) ** -20)


def _gauss_legendre(order: int) -> list[tuple[Any, Any]]:
    """Nodes and weights on [-1, 1] by Newton's iteration on the Legendre polynomial."""
    nodes = []
    for k in range(order):
        x = mpmath.cos(mpmath.pi * (k + mpf(3) / 4) / (order + mpf(1) / 2))
        for _ in range(8):
            p, previous = x, mpf(1)
            for j in range(2, order + 1):
                p, previous = ((2 * j - 1) * x * p - (j - 1) * previous) / j, p
            slope = order * (x * p - previous) / (x * x - 1)
            x -= p / slope
        nodes.append((x, 2 / ((1 - x * x) * slope * slope)))
    return nodes
