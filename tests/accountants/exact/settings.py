"""Settings that the tests of the engine share."""

from accountants.exact.composition import Composition
from accountants.pairs import SampledGaussianPair
from accountants.relations import Direction

REMOVE, ADD, SYMMETRIC = Direction.REMOVE, Direction.ADD, Direction.SYMMETRIC


def composition(
    q: float, sigma: float, steps: int, direction: Direction = REMOVE, gap_squared: float = 0.0
) -> Composition:
    """One sampled release, repeated, perhaps with plain Gaussian releases."""
    return Composition(((SampledGaussianPair(q, sigma, direction), steps),), gap_squared)
