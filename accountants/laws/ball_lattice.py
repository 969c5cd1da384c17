"""Products of pairs on a lattice of losses: two rigorous ends of δ, from balls.

Lower end: outputs are merged until every event has a likelihood ratio of at least exp(k h).
Upper end: what lies between two lattice points is spread to both with P- and Q-mass kept.
Powers of the polynomial of masses compose; a tilt exp(c loss) keeps what matters large.
Proof: docs/proofs/enclosure.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from accountants.laws.ball_masses import OutOfReach

Array = NDArray[np.float64]

LONGEST = 1_500_000  # coefficients of one polynomial
_WINDOW = 48.0  # nats of tilted mass that windows keep


@dataclass(frozen=True)
class Cell:
    """Outputs taken together: masses as balls, and between which losses they lie.

    ``low`` and ``high`` are balls (None: no bound); only upper ends need them.
    """

    first: Any
    second: Any
    low: Any = None
    high: Any = None


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


def merged(cells: Sequence[Cell], step: Any, tilt: Any, slack: Any) -> LatticeLaw:
    """Events with ratios of at least exp(k step - slack), from the top down.

    At each point k the cells above it pay for as many of those below it as they can; the rest
    of those goes on to the next point, where it is above.
    """
    above: dict[int, list[Any]] = {}
    below: dict[int, list[Any]] = {}
    for cell in cells:
        if not (cell.first > 0 and cell.second > 0):
            continue  # dropping is sound for a lower end
        loss = (cell.first / cell.second).log()
        k = math.floor(float(loss / step) + 0.5)
        part = above
        if not cell.first >= (k * step - slack).exp() * cell.second:
            if cell.first >= ((k - 1) * step - slack).exp() * cell.second:
                part = below
            else:
                continue
        held = part.setdefault(k, [flint.arb(0), flint.arb(0)])
        held[0], held[1] = held[0] + cell.first, held[1] + cell.second
    found: dict[int, Any] = {}
    points = sorted({*above, *below})
    if not points:
        return LatticeLaw(0, [])
    zero = flint.arb(0)
    carried = [zero, zero]
    for k in range(points[-1], points[0] - 2, -1):
        if k not in above and k not in below and carried[0].is_zero():
            continue
        ratio = (k * step - slack).exp()
        first, second = above.get(k, (zero, zero))
        first, second = first + carried[0], second + carried[1]
        carried = [zero, zero]
        poor, rich = below.get(k), first - ratio * second
        if poor is not None:
            owed = ratio * poor[1] - poor[0]
            if owed <= rich:
                first = first + poor[0]
            else:
                share = zero
                if rich > 0 and owed > 0:
                    share = min_ball((rich / owed).lower())
                first = first + share * poor[0]
                carried = [(1 - share) * poor[0], (1 - share) * poor[1]]
        if first > 0:
            found[k] = first
    return _law(found, step, tilt)


def min_ball(value: Any) -> Any:
    """``value`` cut to [0, 1]."""
    if value > 1:
        return flint.arb(1)
    return value if value > 0 else flint.arb(0)


def spread(cells: Sequence[Cell], step: Any, tilt: Any, slack: Any) -> tuple[LatticeLaw, Any]:
    """A law that dominates, up to ``slack`` in each loss, and the mass at an infinite loss."""
    found: dict[int, Any] = {}
    lost = flint.arb(0)

    def put(k: int, mass: Any) -> None:
        found[k] = found[k] + mass if k in found else mass

    for cell in cells:
        if cell.high is None:
            lost = lost + cell.first
            continue
        top = math.ceil(float(cell.high / step) - 1e-7)
        while not cell.high <= top * step + slack:
            top += 1
        if cell.low is None:
            put(top, cell.first)
            continue
        bottom = math.floor(float(cell.low / step) + 1e-7)
        while not cell.low >= bottom * step - slack:
            bottom -= 1
        if bottom >= top:
            put(top, cell.first)
            continue
        width = (top - bottom) * step + 2 * slack
        far = (cell.first - (bottom * step - slack).exp() * cell.second) / -(-width).expm1()
        put(top, far)
        put(bottom, cell.first - far)
    return _law(found, step, tilt), lost


def _law(found: dict[int, Any], step: Any, tilt: Any) -> LatticeLaw:
    if not found:
        return LatticeLaw(0, [])
    start, end = min(found), max(found)
    if end - start > LONGEST:
        raise OutOfReach(f"one release spans more than {LONGEST} lattice points")
    zero = flint.arb(0)
    masses = [
        found[k] * (tilt * k * step).exp() if k in found else zero for k in range(start, end + 1)
    ]
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
        if time.perf_counter() > self._deadline:
            raise OutOfReach("time ran out")
        left = flint.arb_poly(a.masses)
        product = left * left if a is b else left * flint.arb_poly(b.masses)
        masses = product.coeffs()
        masses += [flint.arb(0)] * (length - len(masses))
        return LatticeLaw(a.start + b.start, masses)


class _Tails:
    """Where powers of a lattice law have all but exp(-48) of their mass, in doubles: a choice."""

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


def beyond(law: LatticeLaw, epsilon: Any, step: Any, tilt: Any) -> Any:
    """E (1 - exp(epsilon - loss))+ of a tilted lattice law, without what was cut off.

    ``epsilon`` and ``step`` are exact, so that it is certain which points lie beyond.
    """
    first = math.floor(float(epsilon / step)) - 2
    while not first * step >= epsilon:
        first += 1
    masses = law.masses[max(0, first - law.start) :]
    if not masses:
        return flint.arb(0)
    start = max(first, law.start)
    poly = flint.arb_poly(masses)
    value = poly((-tilt * step).exp()) * (-tilt * start * step).exp()
    shifted = poly((-(tilt + 1) * step).exp()) * (epsilon - (tilt + 1) * start * step).exp()
    return value - shifted


def tilted_total(laws: Sequence[tuple[LatticeLaw, int]]) -> Any:
    """The tilted mass of the product, were nothing cut off."""
    total = flint.arb(1)
    for law, count in laws:
        mass = flint.arb(0)
        for value in law.masses:
            mass = mass + value
        total = total * mass**count
    return total
