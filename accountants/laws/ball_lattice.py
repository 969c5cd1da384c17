"""Products of laws on a lattice of losses, in balls: powers of the polynomial of their masses.

A tilt exp(c loss) keeps what matters for a δ large; windows cut off what does not, which lowers a
lower end and is added to an upper one.  Proof: docs/proofs/enclosure.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from accountants.laws.ball_masses import OutOfReach

Array = NDArray[np.float64]

LONGEST = 1_500_000  #: coefficients of one polynomial
_WINDOW = 27.0  # nats of tilted mass that windows keep


@dataclass(frozen=True)
class LatticeLaw:
    """Masses at losses step * (start + j), times exp(tilt * loss).

    Attributes
    ----------
    start : int
    masses : list of balls
    """

    start: int
    masses: list[Any]


def law_of(found: Mapping[int, Any], step: Any, tilt: Any) -> LatticeLaw:
    """The tilted law of masses at lattice points."""
    if not found:
        return LatticeLaw(0, [])
    start, end = min(found), max(found)
    if end - start > LONGEST:
        raise OutOfReach(f"one release spans more than {LONGEST} lattice points")
    masses = [flint.arb(0)] * (end - start + 1)
    for k, mass in found.items():
        masses[k - start] = mass * (tilt * k * step).exp()
    return LatticeLaw(start, masses)


class Composer:
    """Products of lattice laws, cut to windows that hold nearly all of the tilted mass."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._known: list[tuple[Array, Array, int]] = []

    def product(self, laws: Sequence[tuple[LatticeLaw, int]]) -> LatticeLaw:
        """The composition of each law as many times as stated."""
        whole: LatticeLaw | None = None
        for law, count in laws:
            if not law.masses:
                return LatticeLaw(0, [])
            power = self._power(law, count)
            whole = power if whole is None else self._times(whole, power)
            if not whole.masses:
                return whole
        return whole if whole is not None else LatticeLaw(0, [flint.arb(1)])

    def _power(self, law: LatticeLaw, count: int) -> LatticeLaw:
        bounds = _Tails(law)
        result: LatticeLaw | None = None
        done = 0
        for bit in bin(count)[2:]:
            if result is not None:
                result = bounds.cut(self._times(result, result), 2 * done)
                done *= 2
            if bit == "1":
                result = law if result is None else bounds.cut(self._times(result, law), done + 1)
                done += 1
        assert result is not None
        return result

    def _times(self, a: LatticeLaw, b: LatticeLaw) -> LatticeLaw:
        length = len(a.masses) + len(b.masses) - 1
        if length > LONGEST:
            raise OutOfReach(f"a product of {length} lattice points")
        if time.process_time() > self._deadline:
            raise OutOfReach("time ran out")
        left = flint.arb_poly(a.masses)
        product = left * left if a is b else left * flint.arb_poly(b.masses)
        masses = product.coeffs()
        masses += [flint.arb(0)] * (length - len(masses))
        return LatticeLaw(a.start + b.start, masses)


class _Tails:
    """Where powers of a lattice law have all but exp(-27) of their mass, in doubles: a choice."""

    def __init__(self, law: LatticeLaw) -> None:
        mids = [float(m.mid().log()) if m > 0 else -math.inf for m in law.masses]
        logs = np.array(mids)
        keep = np.flatnonzero(logs > logs.max() - 4 * _WINDOW)
        self._points = law.start + keep.astype(float)
        logs = logs[keep] - logs.max()
        self._logs = logs - math.log(np.exp(logs).sum())
        center = float(np.exp(self._logs) @ self._points)
        spread_ = math.sqrt(max(float(np.exp(self._logs) @ (self._points - center) ** 2), 1e-12))
        self._rates = np.geomspace(1e-4, 40.0, 56) / spread_
        self._moments = {
            sign: np.array([self._cumulant(sign * rate) for rate in self._rates])
            for sign in (1.0, -1.0)
        }

    def _cumulant(self, rate: float) -> float:
        terms = self._logs + rate * self._points
        top = terms.max()
        return float(top + math.log(np.exp(terms - top).sum()))

    def cut(self, law: LatticeLaw, count: int) -> LatticeLaw:
        high = float(np.min((count * self._moments[1.0] + _WINDOW) / self._rates))
        low = -float(np.min((count * self._moments[-1.0] + _WINDOW) / self._rates))
        first = max(0, math.floor(low) - law.start)
        last = min(len(law.masses), math.ceil(high) + 1 - law.start)
        return LatticeLaw(law.start + first, law.masses[first:last])


@dataclass(frozen=True)
class Curve:
    """Ends of δ(ε) on one side, from a composed law.

    Attributes
    ----------
    law : LatticeLaw
    step, tilt : ball
        Exact.
    moved : ball
        Exact; by how much ε is moved to account for offsets and slack.
    cut_off : ball
        Bound on the tilted mass outside the window (0 for lower ends).
    missing : ball
        Bound on the chance of an infinite loss (0 for lower ends).
    """

    law: LatticeLaw
    step: Any
    tilt: Any
    moved: Any
    cut_off: Any
    missing: Any

    def delta(self, epsilon: Any) -> Any:
        """The end at an exact ε: E (1 - exp(ε - loss))+ and what has to be added.

        All comparisons are of exact numbers, so that it is certain which points lie beyond ε.
        """
        with flint.ctx.workprec(4 * flint.ctx.prec):
            at = (epsilon + self.moved).mid()  # a sum of exact numbers
        law, step, tilt = self.law, self.step, self.tilt
        first = math.floor(float(at / step)) - 2
        while not first * step >= at:
            first += 1
        rest = self.missing + (-tilt * at).exp() * self.cut_off
        masses = law.masses[max(0, first - law.start) :]
        if not masses:
            return rest
        start = max(first, law.start)
        poly = flint.arb_poly(masses)
        value = poly((-tilt * step).exp()) * (-tilt * start * step).exp()
        shifted = poly((-(tilt + 1) * step).exp()) * (at - (tilt + 1) * start * step).exp()
        return value - shifted + rest

    def sketch(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Losses less ``moved`` and logarithms of the untilted masses, in doubles: to guess ε."""
        step, tilt = float(self.step), float(self.tilt)
        losses = step * (self.law.start + np.arange(float(len(self.law.masses))))
        logs = [float(m.mid().log()) if m > 0 else -math.inf for m in self.law.masses]
        return losses - float(self.moved), np.array(logs) - tilt * losses


def tilted_total(laws: Sequence[tuple[LatticeLaw, int]]) -> Any:
    """The tilted mass of the product, were nothing cut off."""
    total = flint.arb(1)
    for law, count in laws:
        mass = flint.arb(0)
        for value in law.masses:
            mass = mass + value
        total = total * mass**count
    return total
