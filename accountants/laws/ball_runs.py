"""Two ends of δ(ε) for one product of pairs: closed forms where there are, else a lattice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from accountants.laws import ball_cuts, ball_single
from accountants.laws.ball_cuts import Sketch
from accountants.laws.ball_ladder import Fit, rungs, score
from accountants.laws.ball_lattice import Composer, Curve, LatticeLaw, tilted_total
from accountants.laws.ball_masses import Masses, OutOfReach
from accountants.laws.ball_pairs import LocationPair, Pair, Product, TablePair, ball
from accountants.laws.ball_rounding import Cell, Lattice, merged, spread

#: Bits of the balls in which polynomials on the lattice are multiplied.
LATTICE_BITS = 96
_ROOM = 36.0  # nats of tilted weight below which cells are left out


@dataclass(frozen=True)
class Target:
    """What is asked of a product.

    Attributes
    ----------
    epsilon : ball or None
        ε, exact; None where that of δ is wanted.
    log_delta : float
        log of the δ that matters.
    largest_epsilon : float
        Bounds the ε of interest where none is given.
    """

    epsilon: Any
    log_delta: float
    largest_epsilon: float = 0.0

    @property
    def log_tail(self) -> float:
        """Chances below exp of this do not matter, under P or under Q."""
        epsilon = self.largest_epsilon if self.epsilon is None else float(self.epsilon)
        return self.log_delta - max(epsilon, 0.0) - 60.0


def gathered(product: Product) -> list[tuple[Pair, int]]:
    """The parts, all plain Gaussian releases as one."""
    gap_squared = Fraction(0)
    parts: list[tuple[Pair, int]] = []
    for pair, count in product.parts:
        if isinstance(pair, LocationPair) and pair.plain and pair.noise == "normal":
            gap_squared += count * pair.gap_squared
        else:
            parts.append((pair, count))
    if gap_squared:
        one = Fraction(1)
        parts.append((LocationPair("normal", 1, one, one, Fraction(0), 1 / gap_squared), 1))
    return parts


def closed_form(parts: Sequence[tuple[Pair, int]], target: Target) -> tuple[Any, Any] | None:
    """(lower, upper) balls where no composition is needed, else None."""
    if not parts:
        return flint.arb(0), flint.arb(0)
    if len(parts) > 1 or parts[0][1] > 1:
        return None
    pair = parts[0][0]
    if isinstance(pair, TablePair):
        value = ball_single.table(pair, target.epsilon)
        return value, value
    if pair.plain and pair.noise == "normal":
        value = ball_single.gaussian(pair.gap_squared, target.epsilon)
        return value, value
    reach = ball_single.reach_for(target.log_delta)
    lower = ball_single.location_lower(pair, Masses(pair, target.log_tail), target.epsilon, reach)
    if not pair.monotone:
        return lower, flint.arb(1)
    kept = Masses(pair, target.log_tail, conditioned=True)
    return lower, ball_single.location_upper(pair, kept, target.epsilon, reach)


_Cuts = tuple[Fit, Sequence[int], list[float]]


class Run:
    """A product that has to be composed on a lattice.

    Attributes
    ----------
    tilt : float
    log_bound : float
        Logarithm of the Chernoff bound on δ in doubles, a guess of its size.
    width : float
        Standard deviation of the total loss under the tilted law, a scale for spacings.
    """

    def __init__(self, parts: Sequence[tuple[Pair, int]], target: Target) -> None:
        self._parts, self._target = parts, target
        self._reach = ball_single.reach_for(target.log_delta - math.log(sum(n for _, n in parts)))
        sketches: list[tuple[Sketch, int]] = []
        self._grids: list[Any] = []
        for pair, count in parts:
            if isinstance(pair, TablePair):
                self._grids.append(None)
                sketches.append((ball_cuts.table_sketch(pair), count))
                continue
            masses = Masses(pair, target.log_tail)
            normal = pair.noise == "normal"
            x = ball_cuts.grid(masses, self._reach, normal)
            self._grids.append(x)
            sketches.append((ball_cuts.sketch(masses, x, normal), count))
        self._sketches = [s for s, _ in sketches]
        if target.epsilon is None:
            self.tilt = ball_cuts.tilt_for_delta(sketches, target.log_delta)
            self.log_bound = target.log_delta
        else:
            self.tilt, self.log_bound = ball_cuts.best_tilt(sketches, float(target.epsilon))
        moments = [(s.moments(self.tilt)[1], n) for s, n in sketches]
        self.width = math.sqrt(sum(n * s * s for s, n in moments))
        self.narrowest = min(s for s, _ in moments)

    @property
    def exact(self) -> bool:
        """Whether all losses are multiples of one, so that the first lattice has no error."""
        return len(self._parts) == 1 and isinstance(self._parts[0][0], TablePair)

    @property
    def first_spacing(self) -> float:
        """A coarse spacing to start from."""
        first = self._parts[0][0]
        if self.exact and isinstance(first, TablePair):
            return 2.0 * _largest_loss(first)
        finest = max(self.narrowest, self.width / 500)
        scales = [x for x in (self.width / 6, finest, 1 / self.tilt) if x > 0]
        atoms = self._atoms()
        if atoms:  # near the largest loss the tilt is steep, but the lattice has that loss itself
            return max(min(scales), float(atoms[0]) / 64)
        return min(scales)

    def step(self, spacing: float) -> Any:
        """The largest lattice step up to ``spacing`` of which an atom of the loss is a multiple."""
        atoms = self._atoms()
        if not atoms:
            return flint.arb(spacing)
        return (atoms[0] / max(1, math.ceil(float(atoms[0]) / spacing - 1e-9))).mid()

    def _atoms(self) -> list[Any]:
        return [
            _atom(pair)
            for pair, _ in self._parts
            if isinstance(pair, TablePair) or (pair.noise == "laplace" and pair.plain)
        ]

    def lower(self, spacing: float, deadline: float) -> Curve:
        """Lower ends of δ at every ε: certain with any spacing, closest at the target."""
        with flint.ctx.workprec(LATTICE_BITS):
            step, tilt = self.step(spacing), flint.arb(self.tilt)
            laws: list[tuple[LatticeLaw, int]] = []
            moved = flint.arb(0)
            for i, (pair, count) in enumerate(self._parts):
                cells, lattice = self._lower_cells(i, pair, step, tilt)
                laws.append((merged(cells, lattice), count))
                moved = moved + count * (lattice.slack - lattice.offset)
            law = Composer(deadline).product(laws)
            return Curve(law, step, tilt, moved.upper(), flint.arb(0), flint.arb(0))

    def upper(self, spacing: float, deadline: float) -> Curve:
        """Upper ends of δ of this product, whose losses must be monotone in the outputs."""
        with flint.ctx.workprec(LATTICE_BITS):
            step, tilt = self.step(spacing), flint.arb(self.tilt)
            laws: list[tuple[LatticeLaw, int]] = []
            missing, moved = flint.arb(0), flint.arb(0)
            for i, (pair, count) in enumerate(self._parts):
                slack = step * flint.arb(2) ** (-64 if isinstance(pair, TablePair) else -30)
                cells, points, left_out = self._upper_cells(i, pair, float(step))
                law, lost = spread(cells, Lattice(points, step, tilt, slack, flint.arb(0)))
                laws.append((law, count))
                missing = missing + count * (lost + left_out)
                moved = moved - count * slack
            law = Composer(deadline).product(laws)
            held = flint.arb(0)
            for mass in law.masses:
                held = held + mass
            cut_off = (tilted_total(laws) - held).nonnegative_part()
            return Curve(law, step, tilt, moved.lower(), cut_off, missing)

    def _lower_cells(self, i: int, pair: Pair, step: Any, tilt: Any) -> tuple[list[Cell], Lattice]:
        zero = flint.arb(0)
        if isinstance(pair, TablePair):
            cells = _table_cells(pair)
            slack = step * flint.arb(2) ** -64
            return cells, Lattice(_table_points(cells, float(step)), step, tilt, slack, zero)
        masses, x = Masses(pair, self._target.log_tail), self._grids[i]
        first, second = masses.log_densities(x)
        weight = first + self.tilt * (first - second)
        keep = np.flatnonzero(weight > weight.max() - _ROOM)
        x = x[max(keep[0] - 1, 0) : keep[-1] + 2]
        slack = max(float(step) * 2.0**-23, 2e-12)
        fit, points, found = self._fitted(masses, pair, x, float(step), slack)
        cuts = [masses.at(point) for point in found]
        cells = [Cell(*masses.between(a, b)) for a, b in itertools.pairwise([None, *cuts, None])]
        return cells, Lattice(points, step, tilt, flint.arb(slack), flint.arb(fit.offset))

    def _fitted(
        self, masses: Masses, pair: LocationPair, x: Any, step: float, slack: float
    ) -> _Cuts:
        """The offset of the lattice, and the cuts, that keep most of the tilted mass."""
        least, _ = ball_single.extremes(pair) if pair.monotone else (None, None)

        def tried(offset: float, upwards: bool) -> tuple[float, float, _Cuts]:
            stops = self._points(masses, x, step, offset)
            wanted = [offset + step * k for k in stops]
            cuts = rungs(masses, x, wanted, slack, upwards=upwards)
            fit = Fit(offset, slack, self.tilt)
            every = range(stops[0] - 1, stops[-1] + 2)
            return *score(masses, cuts, every, step, fit), (fit, every, cuts)

        if not masses.normal:  # atoms: at lattice points, or with the smallest of them at one
            return tried(0.0 if least is None or pair.plain else float(least), False)[2]
        best = max((tried(j * step / 8, False) for j in range(8)), key=lambda item: item[0])
        part = 0.98
        for _ in range(6):  # so that the last cell has the loss of a point, too
            following = tried(best[2][0].offset + part * best[1], False)
            if following[0] > best[0]:
                best = following
            else:
                part *= 0.5
        if least is not None:  # much lies near the smallest loss
            other = tried(0.0, True)
            if other[0] > best[0] and 2 * len(other[2][2]) > len(best[2][2]):
                best = other
        return best[2]

    def _points(self, masses: Masses, x: Any, step: float, offset: float = 0.0) -> list[int]:
        sketch = ball_cuts.sketch(masses, x, masses.normal)
        return ball_cuts.stops(sketch.losses - offset, sketch.logs, self.tilt, step)

    def _upper_cells(self, i: int, pair: Pair, step: float) -> tuple[list[Cell], list[int], Any]:
        if isinstance(pair, TablePair):
            cells = _table_cells(pair)
            return cells, _table_points(cells, step), flint.arb(0)
        if not pair.monotone:
            raise OutOfReach("no upper end where the loss is not monotone in the output")
        masses, x = Masses(pair, self._target.log_tail, conditioned=True), self._grids[i]
        rising = pair.first > pair.second
        if not rising:
            x = x[::-1]
        if masses.normal:  # what lies far below is put at the first loss that may matter
            first, second = masses.log_densities(x)
            weight = first + self.tilt * (first - second)
            heap = np.logaddexp.accumulate(first + math.log(abs(x[1] - x[0])))
            heap += self.tilt * (first - second)
            x = x[max(int(np.searchsorted(heap > weight.max() - _ROOM, True)) - 1, 0) :]
        end = x[-1:]
        x = np.sort(x)
        points = self._points(masses, x, step)
        found = ball_cuts.cuts(masses, x, step * np.array(points, dtype=float))
        if masses.normal:  # up to the last point that matters; what lies beyond is lost
            found = np.unique(np.concatenate([found, end]))
        if not rising:
            found = found[::-1]
        places = [masses.at(float(point)) for point in found]
        least, most = ball_single.extremes(pair)
        losses = [least, *(masses.density_ratio(float(point)).log() for point in found), most]
        cells = []
        for j, (a, b) in enumerate(itertools.pairwise([None, *places, None])):
            mass = masses.between(a, b) if rising else masses.between(b, a)
            cells.append(Cell(*mass, losses[j], losses[j + 1]))
        return cells, points, masses.lost


def largest_loss(pair: Pair) -> Any:
    """The supremum of the loss as a ball, reached or approached with positive chance, or None."""
    if isinstance(pair, TablePair):
        rows = [(p, q) for p, q in zip(pair.first, pair.second, strict=True) if p]
        if any(q == 0 for _, q in rows):
            return None
        return max(((ball(p) / ball(q)).log() for p, q in rows), key=float)
    if not pair.monotone:  # the special record against others of -1: one end is unbounded
        return None
    return ball_single.extremes(pair)[1]


def _table_points(cells: Sequence[Cell], step: float) -> list[int]:
    """The lattice points around every loss of a table."""
    found = set()
    for cell in cells:
        if cell.low is not None:
            at = round(float(cell.low) / step)
            found |= {at - 1, at, at + 1}
    return sorted(found)


def _table_cells(pair: TablePair) -> list[Cell]:
    cells = []
    for p, q in zip(pair.first, pair.second, strict=True):
        if p == 0:
            continue
        loss = (ball(p) / ball(q)).log() if q else None
        if p == q:
            loss = flint.arb(0)
        cells.append(Cell(ball(p), ball(q), loss, loss))
    return cells


def _largest_loss(pair: TablePair) -> float:
    return max(
        abs(math.log(p / q)) for p, q in zip(pair.first, pair.second, strict=True) if p and q
    )


def _atom(pair: Pair) -> Any:
    """The size of the loss that has a positive chance, as a ball."""
    if isinstance(pair, TablePair):
        rows = zip(pair.first, pair.second, strict=True)
        return max((abs((ball(p) / ball(q)).log()) for p, q in rows if p and q), key=float)
    return ball(abs(pair.first - pair.second)) / ball(pair.variance).sqrt()
