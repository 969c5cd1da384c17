"""Two ends of δ(ε) for one product of pairs: closed forms where there are, else a lattice."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from accountants.laws import ball_cuts, ball_single
from accountants.laws.ball_cuts import Sketch
from accountants.laws.ball_lattice import (
    Cell,
    Composer,
    LatticeLaw,
    beyond,
    merged,
    spread,
    tilted_total,
)
from accountants.laws.ball_masses import Masses, OutOfReach
from accountants.laws.ball_pairs import LocationPair, Pair, Product, TablePair, ball

_ROOM = 70.0  # nats of tilted weight below which cells are left out


@dataclass(frozen=True)
class Target:
    """What is asked of a product: ε as an exact ball, and how small a δ matters."""

    epsilon: Any
    log_delta: float

    @property
    def log_tail(self) -> float:
        """Chances below exp of this do not matter, under P or under Q."""
        return self.log_delta - max(float(self.epsilon), 0.0) - 60.0


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
        return min(self.width / 6, self.narrowest)

    def step(self, spacing: float) -> Any:
        """The largest lattice step up to ``spacing`` of which an atom of the loss is a multiple."""
        atoms = [
            _atom(pair)
            for pair, _ in self._parts
            if isinstance(pair, TablePair) or (pair.noise == "laplace" and pair.plain)
        ]
        if not atoms:
            return flint.arb(spacing)
        return (atoms[0] / max(1, math.ceil(float(atoms[0]) / spacing - 1e-9))).mid()

    def lower(self, spacing: float, deadline: float) -> Any:
        """Lower end of δ(ε): certain with any spacing."""
        step, tilt, epsilon = self.step(spacing), flint.arb(self.tilt), self._target.epsilon
        slack = step * flint.arb(2) ** -80
        laws: list[tuple[LatticeLaw, int]] = []
        for i, (pair, count) in enumerate(self._parts):
            cells = self._lower_cells(i, pair, float(step))
            laws.append((merged(cells, step, tilt, slack), count))
        moved = (epsilon + sum(n for _, n in laws) * slack).upper()
        law = Composer(deadline).product(laws)
        return beyond(law, moved, step, tilt)

    def upper(self, spacing: float, deadline: float) -> Any:
        """Upper end of δ(ε) of this product, whose losses must be monotone in the outputs."""
        step, tilt, epsilon = self.step(spacing), flint.arb(self.tilt), self._target.epsilon
        laws: list[tuple[LatticeLaw, int]] = []
        kept, moved = flint.arb(1), epsilon
        for i, (pair, count) in enumerate(self._parts):
            table = isinstance(pair, TablePair)
            slack = step * flint.arb(2) ** (-80 if table else -30)
            cells, left_out = self._upper_cells(i, pair, float(step))
            law, lost = spread(cells, step, tilt, slack)
            laws.append((law, count))
            kept = kept * ((1 - lost) * (1 - left_out)) ** count
            moved = moved - count * slack
        moved = moved.lower()
        law = Composer(deadline).product(laws)
        held = flint.arb(0)
        for mass in law.masses:
            held = held + mass
        cut_off = (tilted_total(laws) - held).nonnegative_part()
        value = beyond(law, moved, step, tilt) + (-tilt * moved).exp() * cut_off
        return value + (1 - kept)

    def _lower_cells(self, i: int, pair: Pair, step: float) -> list[Cell]:
        if isinstance(pair, TablePair):
            return _table_cells(pair)
        masses, x = Masses(pair, self._target.log_tail), self._grids[i]
        first, second = masses.log_densities(x)
        weight = first + self.tilt * (first - second)
        keep = np.flatnonzero(weight > weight.max() - _ROOM)
        x = x[max(keep[0] - 1, 0) : keep[-1] + 2]
        points = [masses.at(float(point)) for point in ball_cuts.cuts(masses, x, step / 2)]
        ends: list[Any] = [None, *points, None]
        return [Cell(*masses.between(a, b)) for a, b in itertools.pairwise(ends)]

    def _upper_cells(self, i: int, pair: Pair, step: float) -> tuple[list[Cell], Any]:
        if isinstance(pair, TablePair):
            return _table_cells(pair), flint.arb(0)
        if not pair.monotone:
            raise OutOfReach("no upper end where the loss is not monotone in the output")
        masses, x = Masses(pair, self._target.log_tail, conditioned=True), self._grids[i]
        if pair.first < pair.second:
            x = x[::-1]
        first, second = masses.log_densities(x)
        losses = first - second
        below = np.logaddexp.accumulate(first + math.log(abs(x[1] - x[0]))) + self.tilt * losses
        weight = first + self.tilt * losses
        start = (
            int(np.searchsorted(below > weight.max() - _ROOM, True))
            if pair.noise == "normal"
            else 0
        )
        x = np.sort(x[max(start - 1, 0) :])
        found = ball_cuts.cuts(masses, x, step / 2)
        if pair.noise == "normal":  # up to the last point that matters; what is beyond is lost
            found = np.unique(
                np.concatenate([found, x[-1:] if pair.first > pair.second else x[:1]])
            )
        points = [masses.at(float(point)) for point in found]
        losses_at = [masses.density_ratio(float(point)).log() for point in found]
        if pair.first < pair.second:
            points.reverse()
            losses_at.reverse()
        least, most = ball_single.extremes(pair)
        ends: list[Any] = [None, *points, None]
        bounds = [least, *losses_at, most]
        cells = []
        for j in range(len(ends) - 1):
            a, b = ends[j], ends[j + 1]
            mass = masses.between(a, b) if pair.first > pair.second else masses.between(b, a)
            cells.append(Cell(*mass, bounds[j], bounds[j + 1]))
        return cells, masses.lost


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


def seconds_left(deadline: float) -> float:
    """Until a time of ``time.perf_counter``."""
    return deadline - time.perf_counter()
