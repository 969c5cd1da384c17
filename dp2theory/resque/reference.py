"""Smallest values to compare with: one linear program for losses on data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from dp2theory.problems.validation import whole_number
from dp2theory.resque.functions import Array, IndexArray, StochasticFunction, check_function
from dp2theory.resque.losses import AbsoluteLoss, HingeLoss

#: Halvings of the angle in the polyhedral cone: 1/cos(pi/2^13) - 1 = 7.4e-8 for each pair.
HALVINGS = 12


@dataclass(frozen=True)
class Optimum:
    """The smallest value of a function within R of its start, from both sides.

    Attributes
    ----------
    lower : float
        Value of a linear program over a polyhedron around the ball, up to the tolerance of its
        solver (1e-7 of HiGHS).
    upper : float
        f at `point`.
    point : ndarray, shape (d,)
        Within R of the start.
    """

    lower: float
    upper: float
    point: Array = field(repr=False)

    def to_json(self) -> dict[str, float]:
        """Return both ends."""
        return {"lower": self.lower, "upper": self.upper}


def reference_optimum(function: StochasticFunction, *, halvings: int = HALVINGS) -> Optimum:
    """Return the smallest value of an absolute or hinge loss within R of its start.

    Parameters
    ----------
    function : AbsoluteLoss or HingeLoss
    halvings : int
        >= 2. The polyhedron contains the ball and exceeds it by 1/cos(pi/2^(halvings + 1)) at
        most in each of log2(d) levels.

    Returns
    -------
    Optimum
        ``upper - lower`` is at most L R times what the polyhedron exceeds the ball by, and the
        solver's tolerance.

    Raises
    ------
    ValueError
        For another function.
    RuntimeError
        When the solver of linear programs gives up.

    Notes
    -----
    The loss is piecewise linear; the ball ``||w|| <= R`` is the polyhedral approximation of
    Ben-Tal and Nemirovski (On polyhedral approximations of the second-order cone, 2001):
    coordinates are joined in pairs, and the norm of a pair is found by folding the plane onto
    itself until the angle is small.
    """
    check_function(function)
    if not isinstance(function, (AbsoluteLoss, HingeLoss)):
        raise ValueError(f"function={function!r} must be an AbsoluteLoss or a HingeLoss")
    whole_number("halvings", halvings, minimum=2, maximum=26)  # beyond, angles are rounding
    n, d = function.features.shape
    rows, limits = _loss_rows(function)
    program = _Program(d, n)
    program.add(rows, limits)
    program.ball(function.radius, halvings)
    point = function.start + program.solve()
    away = point - function.start
    length = float(np.linalg.norm(away))
    point = function.start + away * min(1.0, function.radius / length if length else 1.0)
    upper = function.value(point)
    # Where the linear program is solved to the last digits, rounding must not cross the ends.
    return Optimum(min(program.value, upper), upper, point)


def _loss_rows(function: AbsoluteLoss | HingeLoss) -> tuple[Any, Array]:
    """Rows on (w, s) that say s_i >= f_i(start + w), and their limits."""
    table, at = csr_array(function.features), function.features @ function.start
    losses = -eye_array(function.sample_size)
    if isinstance(function, HingeLoss):
        labels = function.targets
        return hstack([table.multiply(-labels[:, None]), losses]), labels * at - 1
    above = function.targets - at
    both = vstack([hstack([table, losses]), hstack([-table, losses])])
    return both, np.concatenate([above, -above])


class _Program:
    """min mean(s) over w (free), s >= 0 and variables that are added."""

    def __init__(self, dimension: int, losses: int) -> None:
        self.dimension, self.losses = dimension, losses
        self.size = dimension + losses
        self.rows: list[Any] = []
        self.limits: list[Array] = []
        self.value = math.nan

    def add(self, rows: Any, limits: Array) -> None:
        """Add rows <= limits."""
        self.rows.append(rows)
        self.limits.append(limits)

    def _terms(self, *terms: tuple[float, IndexArray]) -> None:
        """Add sum of factor * variable <= 0 for arrays of indices of variables."""
        count = len(terms[0][1])
        line = np.arange(count)
        values = np.concatenate([np.full(count, factor) for factor, _ in terms])
        where = np.concatenate([index for _, index in terms])
        places = (np.tile(line, len(terms)), where)
        self.add(coo_array((values, places), shape=(count, self.size)), np.zeros(count))

    def _new(self, count: int) -> IndexArray:
        made = np.arange(self.size, self.size + count)
        self.size += count
        return made

    def ball(self, radius: float, halvings: int) -> None:
        """Keep the norm of w at `radius` at most."""
        level = np.arange(self.dimension)
        while len(level) > 1:
            pairs = len(level) // 2
            joined = self._norms(level[:pairs], level[pairs : 2 * pairs], halvings)
            level = np.concatenate([joined, level[2 * pairs :]])
        unit = coo_array((np.ones(1), (np.zeros(1, int), level)), shape=(1, self.size))
        self.add(unit, np.array([radius]))
        if self.dimension == 1:
            self.add(-unit, np.array([radius]))

    def _norms(self, first: IndexArray, second: IndexArray, halvings: int) -> IndexArray:
        """Variables t >= ||(first, second)||, nearly, for each pair."""
        pairs = len(first)
        across, up = self._new(pairs), self._new(pairs)
        for made, of in ((across, first), (up, second)):
            self._terms((1.0, of), (-1.0, made))
            self._terms((-1.0, of), (-1.0, made))
        for each in range(1, halvings + 1):
            angle = math.pi / 2 ** (each + 1)
            cos, sin = math.cos(angle), math.sin(angle)
            turned, folded = self._new(pairs), self._new(pairs)
            # turned is made equal to cos across + sin up by its two inequalities.
            self._terms((cos, across), (sin, up), (-1.0, turned))
            self._terms((-cos, across), (-sin, up), (1.0, turned))
            self._terms((-sin, across), (cos, up), (-1.0, folded))
            self._terms((sin, across), (-cos, up), (-1.0, folded))
            across, up = turned, folded
        self._terms((1.0, up), (-math.tan(math.pi / 2 ** (halvings + 1)), across))
        return across

    def solve(self) -> Array:
        """Return w; the value is kept."""
        cost = np.zeros(self.size)
        cost[self.dimension : self.dimension + self.losses] = 1 / self.losses
        wide = [csr_array(each) for each in self.rows]
        for each in wide:
            each.resize((each.shape[0], self.size))
        bounds = [(None, None)] * self.dimension + [(0, None)] * (self.size - self.dimension)
        found = linprog(
            cost, A_ub=vstack(wide), b_ub=np.concatenate(self.limits), bounds=bounds, method="highs"
        )
        if found.status != 0:
            raise RuntimeError(f"the linear program was not solved: {found.message}")
        self.value = float(found.fun)
        result: Array = found.x[: self.dimension]
        return result
