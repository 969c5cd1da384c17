"""The one table: neighbouring relation x sampling scheme -> what is proved.

Units are clip norms on the summed gradient.  Adding or removing a record moves a Poisson sum
by at most 1 and replacing one moves it by at most 2; the record is in the sum with the
sampling probability q.  The pairs below dominate for every order of the hockey-stick
divergence and are attained by explicit data sets, so that both ends of a bracket come from
one computation (derived in docs/proofs/poisson.md).
"""

from __future__ import annotations

import dataclasses
import enum

from dp_accounting.privacy_accountant import NeighboringRelation

__all__ = ["DIRECTIONS", "Direction", "NeighboringRelation", "Rule", "resolve_directions", "rule"]


class Direction(enum.Enum):
    """Which of the two neighbouring data sets the output is drawn from."""

    REMOVE = "remove"  # from the larger one (or the one with the real record)
    ADD = "add"
    SYMMETRIC = "symmetric"  # both orders are mirror images


DIRECTIONS = ("both", "remove", "add")


@dataclasses.dataclass(frozen=True)
class Rule:
    """What is known for one combination.

    Attributes
    ----------
    directions : tuple of Direction
        The directions to take the maximum over; each is fixed for a whole run.
    shift : float
        Gap between the means of an unsampled Gaussian release, in clip norms.
    source : str
        Where the statement is proved.
    """

    directions: tuple[Direction, ...]
    shift: float
    source: str


_ADD_REMOVE = Rule(
    (Direction.REMOVE, Direction.ADD),
    1.0,
    "((1-q)N(0)+qN(1), N(0)) and its reverse dominate and are attained",
)
_TABLE = {
    ("poisson", NeighboringRelation.ADD_OR_REMOVE_ONE): _ADD_REMOVE,
    ("poisson", NeighboringRelation.REPLACE_SPECIAL): _ADD_REMOVE,
    ("poisson", NeighboringRelation.REPLACE_ONE): Rule(
        (Direction.SYMMETRIC,),
        2.0,
        "((1-q)N(0)+qN(1), (1-q)N(0)+qN(-1)) dominates and is attained",
    ),
}


def rule(sampling: str, relation: NeighboringRelation) -> Rule:
    """The rule of one combination.

    Parameters
    ----------
    sampling : str
        Sampling scheme; an unsampled release is Poisson sampling with probability 1.
    relation : NeighboringRelation

    Returns
    -------
    Rule

    Raises
    ------
    ValueError
        If no theorem covers the combination; the message names the supported ones.
    """
    try:
        return _TABLE[sampling, relation]
    except KeyError:
        supported = ", ".join(f"{s} under {r.name}" for s, r in _TABLE)
        raise ValueError(
            f"sampling={sampling!r} under {relation!r} has no theorem here; supported: {supported}"
        ) from None


def resolve_directions(direction: str, relation: NeighboringRelation) -> tuple[Direction, ...]:
    """The directions that a ``direction=`` argument selects under ``relation``.

    Raises
    ------
    ValueError
        If ``direction`` is unknown, or names one order of a symmetric relation.
    """
    if direction not in DIRECTIONS:
        raise ValueError(f"direction={direction!r}: must be one of {', '.join(DIRECTIONS)}")
    directions = rule("poisson", relation).directions
    if direction == "both":
        return directions
    if directions == (Direction.SYMMETRIC,):
        raise ValueError(
            f"direction={direction!r}: must be 'both' under {relation.name}, whose two "
            "directions are mirror images"
        )
    return (Direction(direction),)
