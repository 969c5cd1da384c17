"""One release's losses moved to lattice points: down by merging outputs, up by spreading them.

Down: outputs are merged until every event has a likelihood ratio of at least exp(loss of a point).
Up: what lies between two points is spread to both, with its P- and its Q-mass kept.
Both cost a loss of second order in the spacing only.  Proof: docs/proofs/enclosure.md.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint

from accountants.laws.ball_lattice import LatticeLaw, law_of


@dataclass(frozen=True)
class Cell:
    """Outputs taken together: masses as balls, and between which losses they lie.

    ``low`` and ``high`` are balls (None: no bound); only upper ends need them.

    Attributes
    ----------
    first, second : ball
        Masses under P and under Q.
    low, high : ball or None
        Bounds on the losses of its outputs.
    """

    first: Any
    second: Any
    low: Any = None
    high: Any = None


@dataclass(frozen=True)
class Lattice:
    """Where losses are put: ``offset`` and multiples ``points`` (increasing) of ``step`` from it.

    Attributes
    ----------
    tilt : ball
    slack : ball
        By how much every loss may be off, on the safe side.
    offset : ball
        Both are left out of the law that comes out: whoever composes it moves ε by them.
    """

    points: Sequence[int]
    step: Any
    tilt: Any
    slack: Any
    offset: Any

    def loss(self, k: int) -> Any:
        """Of the lattice point k."""
        return self.offset + k * self.step


def merged(cells: Sequence[Cell], lattice: Lattice) -> LatticeLaw:
    """Events with ratios of at least exp(loss of their point - slack).

    A cell is put at the highest point of which that is certain; without one it is left out.
    """
    points = lattice.points
    found: dict[int, Any] = {}
    for cell in cells:
        if not (cell.first > 0 and cell.second >= 0):
            continue
        i = len(points) - 1
        if cell.second > 0:
            at = (cell.first / cell.second).log() + lattice.slack - lattice.offset
            i = bisect.bisect_right(points, float(at / lattice.step)) - 1
            i = min(i + 1, len(points) - 1)
        while i >= 0 and not (
            cell.first >= (lattice.loss(points[i]) - lattice.slack).exp() * cell.second
        ):
            i -= 1
        if i >= 0:
            k = points[i]
            found[k] = found[k] + cell.first if k in found else cell.first
    return law_of(found, lattice.step, lattice.tilt)


def spread(cells: Sequence[Cell], lattice: Lattice) -> tuple[LatticeLaw, Any]:
    """A law that dominates, up to the slack in each loss, and the mass at an infinite loss."""
    found: dict[int, Any] = {}
    lost = flint.arb(0)
    step, slack, points = lattice.step, lattice.slack, lattice.points

    def put(k: int, mass: Any) -> None:
        found[k] = found[k] + mass if k in found else mass

    for cell in cells:
        i = len(points)
        if cell.high is not None:
            i = bisect.bisect_left(points, float((cell.high - lattice.offset - slack) / step))
            while i < len(points) and not cell.high <= lattice.loss(points[i]) + slack:
                i += 1
        if i == len(points):
            lost = lost + cell.first
            continue
        top = points[i]
        j = i
        while cell.low is not None and j >= 0 and not cell.low >= lattice.loss(points[j]) - slack:
            j -= 1
        if cell.low is None or j < 0 or j == i:
            put(top, cell.first)
            continue
        bottom = points[j]
        width = (top - bottom) * step + 2 * slack
        ratio = (lattice.loss(bottom) - slack).exp()
        far = (cell.first - ratio * cell.second) / -(-width).expm1()
        put(top, far)
        put(bottom, cell.first - far)
    return law_of(found, step, lattice.tilt), lost
