"""Lower ends against runs in which the data sets are chosen anew at each step, in doubles.

Whoever sees the outputs so far may decide at each step which of the attained pairs of laws the
next release has, in which order, and at the end whether to accept.  Any such rule is an event of
an adaptive run: its probabilities p under one data set and q under the other give
δ(ε) >= p - exp(ε) q for every ε.  Proof, also of the rounding: docs/proofs/lower-ends.md,
section 7.  ``ball_adaptive`` computes the same p and q in balls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray
from scipy import special

from accountants.laws import ball_cuts
from accountants.laws.ball_events import Leaf
from accountants.laws.ball_masses import Masses, OutOfReach
from accountants.laws.ball_pairs import LocationPair, attained
from accountants.rounding import below
from accountants.sampling import WeightedWithReplacement, WithoutReplacement, WithReplacement
from accountants.walk import Release

Array = NDArray[np.float64]
Choices = NDArray[np.intp]

#: Steps of a run whose choices are planned, at the most.
MOST_STEPS = 100
HALF = 600  #: points of the lattice on either side of 0
_LOG_TAIL = -120.0  # copies of a record that are rarer are left out
_NEGLIGIBLE = 1e-4  # of δ: what may be lost beyond the lattice
_WIDEST = 300.0  # of the lattice, so that exp of it is far from the ends of floats
_MOST_COPIES = 60
_UNIT = 2.0**-53
_UNDERFLOW = 1e-280  # more than all products that are too small for a float


def alternatives(leaf: Leaf, relation: NeighboringRelation) -> list[LocationPair]:
    """The pairs of one release between which an adaptive run may choose, one order of each.

    Empty where there is no choice: every pair is the other order of itself, or none is known to
    gain by it.
    """
    if relation is not NeighboringRelation.REPLACE_ONE or not isinstance(leaf, Release):
        return []
    sampling = leaf.sampling
    if not isinstance(sampling, (WithoutReplacement, WithReplacement, WeightedWithReplacement)):
        return []
    found: list[LocationPair] = []
    for product in attained({leaf: 1}, relation):
        pair = product.parts[0][0]
        assert isinstance(pair, LocationPair)
        if pair.plain:
            return []
        if pair not in found and pair.reversed() not in found:
            found.append(pair)
    # One copy at most: at every ε the first pair is, in one of its orders, the worst in one step.
    return found[:1] if isinstance(sampling, WithoutReplacement) else found


@dataclass(frozen=True)
class Option:
    """One pair in one order, its outputs in cells.

    Attributes
    ----------
    pair : LocationPair
        In the order whose loss rises with the output.
    cuts : array
        Outputs, increasing, in units of the noise, that separate the cells.
    reverse : bool
        Whether the other order is played.
    lowest : int
        Label of the first cell (the last one, if reversed): its loss over the spacing, rounded.
    """

    pair: LocationPair
    cuts: Array
    reverse: bool
    lowest: int


@dataclass(frozen=True)
class Plan:
    """A rule for a whole run, with its probabilities.

    State k stands for k times the spacing that ε still exceeds the losses by.  Beyond ``half``
    the rule has decided: below it accepts, above it rejects.

    Attributes
    ----------
    spacing : float
    half : int
    options : tuple of Option
    choices : tuple of arrays
        ``choices[t - 1][k + half]`` is the option that is played in state k with t steps to go.
    accepted : array of shape (2, 2 * half + 1)
        Lower ends of p and upper ends of q of the rule that starts in state k.
    """

    spacing: float
    half: int
    options: tuple[Option, ...]
    choices: tuple[Choices, ...]
    accepted: Array

    def delta(self, epsilon: float) -> float:
        """A lower end of δ."""
        p, q = self.accepted
        return max(0.0, float((p - np.exp(epsilon) * q).max()) * (1 - 8 * _UNIT) - 8 * _UNIT)

    def epsilon(self, delta: float) -> float:
        """A lower end of ε; -inf where the rules say nothing."""
        p, q = self.accepted
        rest = (p - delta * (1 + 4 * _UNIT)) * (1 - 8 * _UNIT)
        if not (rest > 0).any():
            return -math.inf
        return below(float(np.log(rest[rest > 0] / q[rest > 0]).max()) - 8 * _UNIT, 4)

    def start(self, epsilon: float) -> int:
        """Index of the rule that does best at ``epsilon``."""
        p, q = self.accepted
        return int(np.argmax(p - math.exp(epsilon) * q))


def plan(
    pairs: Sequence[LocationPair],
    steps: int,
    delta: float,
    *,
    half: int = HALF,
    orders: Sequence[bool] = (False, True),
) -> Plan:
    """The rule that looks best from every state, by recursion from the last step.

    Parameters
    ----------
    pairs : sequence of LocationPair
        Their losses rise with the output.
    steps : int
        Releases, all of the same kind.
    delta : float
        In (0, 1): which size of δ matters; it sets the range of the lattice.
    half : int
        Fineness.
    orders : sequence of bool
        Which orders may be played (True: reversed).

    Raises
    ------
    OutOfReach
        If the losses are too large for the lattice.
    """
    kinds = [Masses(pair, _LOG_TAIL) for pair in pairs]
    if max(masses.centers.size for masses in kinds) > 2 * _MOST_COPIES:
        raise OutOfReach(f"more than {_MOST_COPIES} copies of one record matter")
    grids = [_grid(masses) for masses in kinds]
    spacing = _range(kinds, grids, steps, delta * _NEGLIGIBLE) / half
    options: list[Option] = []
    laws: list[tuple[Array, Array]] = []
    for pair, masses, x in zip(pairs, kinds, grids, strict=True):
        cuts, lowest = _cells(masses, x, spacing, half)
        low, high = _chances(masses, cuts)
        for reverse in orders:
            place = -(lowest + cuts.size) if reverse else lowest
            options.append(Option(pair, cuts, reverse, place))
            laws.append((low[1, ::-1], high[0, ::-1]) if reverse else (low[0], high[1]))
    weights = np.exp(spacing * np.arange(-half, half + 1.0))
    accepted = np.zeros((2, 2 * half + 1))
    accepted[:, :half] = 1.0
    choices: list[Choices] = []
    for _ in range(steps):
        tried = np.array(
            [
                [after(row, law, option.lowest) for row, law in zip(accepted, both, strict=True)]
                for option, both in zip(options, laws, strict=True)
            ]
        )
        best = np.argmax(tried[:, 0] - weights * tried[:, 1], axis=0)
        accepted = np.take_along_axis(tried, best[None, None, :], axis=0)[0]
        choices.append(best)
    rounding = steps * (max(law[0].size for law in laws) + 8) * 2 * _UNIT  # of positive terms
    accepted = accepted * np.array([[1 - rounding], [1 + rounding]]) + [[0.0], [_UNDERFLOW]]
    return Plan(spacing, half, tuple(options), tuple(choices), accepted)


def after(accepted: Array, law: Array, lowest: int) -> Array:
    """Chances of acceptance before a release, from those after it: the sum over its cells."""
    padded = np.concatenate(
        [np.ones(max(lowest + law.size - 1, 0)), accepted, np.zeros(max(-lowest, 0))]
    )
    # Labels start at or below 0 and end at or above it (``_cells``).
    return np.convolve(padded, law, "valid")


def _grid(masses: Masses) -> Array:
    x = ball_cuts.grid(masses, 12.0, True)
    return np.linspace(x[0], x[-1], min(x.size, 20_000))


def _range(kinds: Sequence[Masses], grids: Sequence[Array], steps: int, rare: float) -> float:
    """A loss that a run exceeds with chance ``rare`` at most, by a Chernoff bound in doubles."""
    sketches = [ball_cuts.sketch(masses, x, True) for masses, x in zip(kinds, grids, strict=True)]
    best = math.inf
    for tilt in np.exp2(np.arange(-6.0, 12.5, 0.5)):
        # Of the other order E exp(tilt L) is E exp(-(1 + tilt) L) of this one.
        cumulant = max(
            max(sketch.cumulant(float(tilt)), sketch.cumulant(-1.0 - float(tilt)))
            for sketch in sketches
        )
        best = min(best, (steps * max(cumulant, 0.0) - math.log(rare)) / float(tilt))
    if not 0 < best < _WIDEST:
        raise OutOfReach(f"losses of a run beyond {_WIDEST}")
    return best


def _cells(masses: Masses, x: Array, spacing: float, half: int) -> tuple[Array, int]:
    """Cuts between cells with successive labels, and the first label.

    Outputs with losses between two multiples are cut where the labels have the mean of the
    losses, so that the labels of many steps do not drift.
    """
    first, second = masses.log_densities(x)
    losses = np.maximum.accumulate(first - second)
    low = max(min(math.floor(losses[0] / spacing), 0), -2 * half)
    high = min(max(math.ceil(losses[-1] / spacing), 0), 2 * half)
    density = np.exp(first) + np.exp(second)
    heap = np.cumsum(density)
    scale = heap[-1]
    heap /= scale
    ends = np.arange(low, high + 1) * spacing
    edges = np.interp(ends, losses, x)
    mass = np.diff(np.interp(edges, x, heap))
    moment = np.diff(np.interp(edges, x, np.cumsum(density * losses) / scale))
    with np.errstate(all="ignore"):
        part = np.clip((moment / mass - ends[:-1]) / spacing, 0.0, 1.0)
    exact = np.interp(np.interp(edges[1:], x, heap) - part * mass, heap, x)
    middle = np.interp(ends[:-1] + spacing / 2, losses, x)  # where there is too little to tell
    cuts = np.where(mass > 1e-10, np.clip(exact, edges[:-1], edges[1:]), middle)
    return np.maximum.accumulate(cuts), low


def _chances(masses: Masses, cuts: Array) -> tuple[Array, Array]:
    """Lower and upper ends, each of shape (2, cells), of the chances under P and under Q."""
    middle, off = np.zeros((2, cuts.size + 1)), np.zeros((2, cuts.size + 1))
    for weight, *means in masses.components:
        for i, mean in enumerate(means):
            z = cuts - mean
            left, right = special.ndtr(z), special.ndtr(-z)
            # From the nearer tail, so that small chances keep their digits.
            inner = np.where(z[:-1] > 0, right[:-1] - right[1:], left[1:] - left[:-1])
            middle[i] += weight * np.concatenate([left[:1], inner, right[-1:]])
            # |z| + 1 bounds density over tail: an error of z moves a tail by that much of itself.
            units = 64 + 16 * z * z + 8 * (abs(z) + 1) * (abs(cuts) + 2 * abs(mean))
            near = _UNIT * units * np.minimum(left, right)
            off[i] += weight * (np.append(near, 0.0) + np.append(0.0, near))
    off += 64 * _UNIT * middle
    whole = len(masses.components) > masses.pair.draws
    missing = _UNDERFLOW if whole else 2 * math.exp(_LOG_TAIL)
    return np.maximum(middle - off, 0.0), middle + off + missing


def lower_epsilon(counts: Mapping[Leaf, int], relation: NeighboringRelation, delta: float) -> float:
    """A lower end of ε at ``delta`` for adaptive runs of one kind; -inf where there is none."""
    found = _planned(counts, relation, delta)
    return -math.inf if found is None else found.epsilon(delta)


def lower_delta(
    counts: Mapping[Leaf, int], relation: NeighboringRelation, epsilon: float, near: float
) -> float:
    """A lower end of δ at ``epsilon``, where δ is about ``near``; 0 where there is none."""
    found = _planned(counts, relation, near)
    return 0.0 if found is None else found.delta(epsilon)


def _planned(
    counts: Mapping[Leaf, int], relation: NeighboringRelation, delta: float
) -> Plan | None:
    if len(counts) != 1 or not 0 < delta < 1:
        return None
    leaf, steps = next(iter(counts.items()))
    if not 2 <= steps <= MOST_STEPS:
        return None
    pairs = alternatives(leaf, relation)
    if not pairs:
        return None
    try:
        return plan(pairs, steps, delta, half=HALF if len(pairs) == 1 else HALF // 2)
    except OutOfReach:
        return None
