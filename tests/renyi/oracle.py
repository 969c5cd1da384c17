"""Rényi moments by ball arithmetic (python-flint): every value comes with a proved enclosure.

Nothing is shared with the package: whole-line moments are integrals of the densities themselves,
symmetrised ones are integrals of the profile over ε.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from flint import acb, arb, ctx

Integrand = Callable[[Any, bool], Any]
DIGITS = 40


def _integral(f: Integrand, low: float, high: float) -> Any:
    """Integral over [low, high] in pieces short enough to converge quickly."""
    pieces = max(1, int((high - low) / 8))
    cuts = [low + (high - low) * i / pieces for i in range(pieces + 1)]
    parts = [acb.integral(f, a, b).real for a, b in itertools.pairwise(cuts)]
    return sum(parts[1:], parts[0])


def line(law: Sequence[float], gap: float, order: str, a: float) -> float:
    """D_a of (sum p_k N(k gap), N(0)), of its reverse, or of the pair of mirror images.

    p_0 is taken as one minus the others.
    """
    with ctx_digits():
        c, alpha = arb(gap), arb(a)

        def excess(z: Any) -> Any:
            return sum(
                (arb(p) * (k * c * z - (k * c) ** 2 / 2).expm1() for k, p in enumerate(law) if k),
                acb(0),
            )

        def f(z: Any, analytic: bool) -> Any:
            w = excess(z)
            log_r = (1 + w).log(analytic=analytic)
            if order == "remove":
                g = (alpha * log_r).exp() - 1 - alpha * w
            elif order == "add":
                g = ((1 - alpha) * log_r).exp() - 1 + (alpha - 1) * w
            else:
                v = excess(-z)
                log_s = (1 + v).log(analytic=analytic)
                g = (alpha * log_r + (1 - alpha) * log_s).exp() - (1 + v) - alpha * (w - v)
            return g * (-z * z / 2).exp()

        # Powers of the inverse pull the mass away where the record is nearly always there.
        reach = (len(law) - 1) * gap
        pulled = reach * a * min(1.0, (1 - law[0]) / law[0])
        low = {"remove": 0.0, "add": pulled, "replace": gap}[order]
        top = {"remove": reach * a, "add": reach, "replace": reach * a + pulled}[order]
        total = _integral(f, -18.0 - low, top + 18.0) / (2 * arb.pi()).sqrt()
        return _checked(((1 + total).log()) / (alpha - 1))


def from_profiles(forward: Any, backward: Any, a: float, top: float) -> float:
    """log(1 + a(a-1) integral_0^top (e^{(a-1)e} forward(e) + e^{-ae} backward(e)) de)/(a-1)."""
    with ctx_digits(70):
        alpha = arb(a)

        def f(z: Any, analytic: bool) -> Any:
            up = ((alpha - 1) * z).exp() * forward(z, analytic)
            return up + (-alpha * z).exp() * backward(z, analytic)

        total = alpha * (alpha - 1) * _integral(f, 0.0, top)
        return _checked((1 + total).log() / (alpha - 1))


def gaussian_delta(d: Any, e: Any) -> Any:
    """Phi(d/2 - e/d) - exp(e) Phi(-d/2 - e/d)."""
    root = arb(2).sqrt()
    first = ((e / d - d / 2) / root).erfc() / 2
    return first - e.exp() * ((e / d + d / 2) / root).erfc() / 2


def shrunk_delta(eta: float, weight: float, gap: float) -> Integrand:
    """weight * delta_gap(log(1 + (exp(e) - 1)/eta)) as a function of e."""

    def f(z: Any, analytic: bool) -> Any:
        inner = (1 + z.expm1() / arb(eta)).log(analytic=analytic)
        return arb(weight) * gaussian_delta(arb(gap), inner)

    return f


class ctx_digits:
    """Digits of ball arithmetic within a block."""

    def __init__(self, digits: int = DIGITS) -> None:
        self._digits = digits

    def __enter__(self) -> None:
        self._before, ctx.dps = ctx.dps, self._digits

    def __exit__(self, *_: object) -> None:
        ctx.dps = self._before


def _checked(ball: Any) -> float:
    assert ball.rad() < 1e-14 * abs(ball.mid()), ball
    return float(ball.mid())
