"""Exact oracles of functions with a closed proximal map: the proximal point and the ball.

The minimiser of f on a ball around y is the proximal point of y at the one multiplier where it
moves by the radius. The move falls as the multiplier grows, so a search for a root finds it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq

from dp2theory.problems.validation import positive_real, real_in
from dp2theory.resque.functions import Array, Proximal, check_vector

if TYPE_CHECKING:
    from dp2theory.resque.counters import Counter

#: Smallest multiplier that is tried, over L/r: a step there is taken for the unrestricted
#: minimiser (hand-chosen; f is minimal up to 1e-12 L R^2/(2 r) there).
SMALLEST = 1e-12
#: Room above L/r, so that rounding does not hide the root there.
_ABOVE = 1 + 1e-12


class ProximalFunction(Proximal, Protocol):
    """A Lipschitz function with a closed proximal map."""

    @property
    def dimension(self) -> int:
        """d."""
        ...

    @property
    def lipschitz(self) -> float:
        """L."""
        ...


class BallMinimum(NamedTuple):
    """A minimiser on a ball.

    Attributes
    ----------
    point : ndarray, shape (d,)
        z.
    multiplier : float
        l with z = argmin f + l/2 ||. - center||^2; 0 where z minimises f without the ball.
    evaluations : int
        Proximal points that the search for l needed.
    """

    point: Array
    multiplier: float
    evaluations: int


def solve_ball(
    function: ProximalFunction, center: Array, radius: float, multiplier: float = 0.0
) -> BallMinimum:
    """Minimise ``f + multiplier/2 ||. - center||^2`` on a ball, exactly up to rounding.

    Parameters
    ----------
    function : ProximalFunction
    center : ndarray, shape (d,)
    radius : float
        r.
    multiplier : float
        >= 0; 0 is f alone.

    Returns
    -------
    BallMinimum
        Its multiplier includes the given one: it is at most max(L/r, given).

    Raises
    ------
    ValueError
        An argument outside its domain, or a radius below what doubles can tell from 0 here.
    """
    _check_proximal(function)
    radius = positive_real("radius", radius)
    multiplier = real_in("multiplier", multiplier, 0.0, math.inf, open_high=True)
    center = check_vector("center", center, function.dimension)
    highest = function.lipschitz / radius * _ABOVE
    known: dict[float, float] = {}  # log(move/r) by log(multiplier): a line where the slope is one

    def excess(logarithm: float) -> float:
        if logarithm not in known:
            point = function.prox(center, math.exp(logarithm))
            move = float(np.linalg.norm(point - center))
            known[logarithm] = math.log(max(move / radius, SMALLEST))
        return known[logarithm]

    lowest = multiplier or SMALLEST * highest
    if lowest >= highest or excess(math.log(lowest)) <= 0:
        point = function.prox(center, lowest)
        if multiplier == 0 and np.array_equal(point, center):
            # Nothing moves at a minimiser, and where rounding hides every move that is allowed.
            far = function.prox(center, SMALLEST * function.lipschitz)
            if float(np.linalg.norm(far - center)) > radius:
                raise ValueError(
                    f"radius={radius!r} must be above the rounding of center: no move within it "
                    "can be told from none"
                )
        return BallMinimum(point, multiplier, len(known) + 1)
    root = math.log(highest)
    if excess(root) < 0:  # else L/r itself, hidden by rounding
        root = brentq(excess, math.log(lowest), root, xtol=1e-15, rtol=8.9e-16, maxiter=500)
    found = math.exp(root)
    return BallMinimum(function.prox(center, found), found, len(known) + 1)


def _check_proximal(function: Any) -> None:
    if not isinstance(function, Proximal):
        raise ValueError(
            f"function={function!r} must have a closed proximal map, `prox`: there is no exact "
            "oracle for it"
        )


class _Exact:
    def __init__(
        self, function: ProximalFunction, radius: float, counter: Counter | None = None
    ) -> None:
        _check_proximal(function)
        self.function = function
        self.radius = positive_real("radius", radius)
        self.counter = counter

    def _counted(self, found: BallMinimum) -> BallMinimum:
        """One call and one round; as many steps as evaluations, one after the other."""
        if self.counter is not None:
            self.counter.exact_call()
            self.counter.steps(found.evaluations - 1)
        return found


class ProximalOracle(_Exact):
    """The exact proximal point, which may lie outside of the ball.

    Parameters
    ----------
    function : ProximalFunction
    radius : float
        r; `accelerate` looks for multipliers at which the point moves by at most r.
    counter : Counter, optional
        Counts one oracle call, one round and one query per `solve`.
    """

    restricted = False

    def solve(self, center: Array, multiplier: float) -> Array:
        """Return argmin f + multiplier/2 ||x - center||^2, shape (d,)."""
        center = check_vector("center", center, self.function.dimension)
        point = self.function.prox(center, positive_real("multiplier", multiplier))
        return self._counted(BallMinimum(point, multiplier, 1)).point


class RegularisedBallOracle(_Exact):
    """The exact minimiser of ``f + multiplier/2 ||. - center||^2`` on the ball.

    Parameters
    ----------
    function : ProximalFunction
    radius : float
    counter : Counter, optional
        Counts one oracle call and one round per `solve`; its steps are the proximal points tried.
    """

    restricted = True

    def solve(self, center: Array, multiplier: float) -> Array:
        """Return argmin over B(center, r) of f + multiplier/2 ||x - center||^2, shape (d,)."""
        positive_real("multiplier", multiplier)
        return self._counted(solve_ball(self.function, center, self.radius, multiplier)).point


class ExactBallOracle(_Exact):
    """The exact minimiser of f on the ball, with its multiplier.

    The multiplier is the length of a subgradient at the answer over the radius: of a function made
    of data it is one more access to the data. Only an oracle that has it (`minimise`) can be used
    without bisection.

    Parameters
    ----------
    function : ProximalFunction
    radius : float
    counter : Counter, optional
        Counts as for `RegularisedBallOracle`.
    """

    restricted = True

    def minimise(self, center: Array) -> BallMinimum:
        """Return the minimiser on B(center, r) and its multiplier."""
        return self._counted(solve_ball(self.function, center, self.radius))
