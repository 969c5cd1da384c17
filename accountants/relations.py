"""The one table: sampling scheme x neighbouring relation -> what is proved.

Units are clip norms on the summed gradient.  Adding or removing a record moves a Poisson sum
by at most 1 and replacing one by at most 2; in a batch of fixed size a record takes the place
of another, so that every relation may move the sum by up to 2 for each copy.  An *exact* rule
has one pair for each direction that dominates every order of the hockey-stick divergence and is
attained; otherwise the two ends come from different pairs (docs/proofs/poisson.md,
docs/proofs/fixed-size.md, docs/proofs/lower-ends.md).
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


#: What ``direction`` may be.
DIRECTIONS = ("both", "remove", "add")

#: One record more or less.
ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
#: One record in the place of another.
REPLACE = NeighboringRelation.REPLACE_ONE
#: An empty record in the place of one.
SPECIAL = NeighboringRelation.REPLACE_SPECIAL

#: Why calls of ReSQue oracles are refused for groups.
ONE_RECORD = "oracle calls are accounted for single records: use group_size=1"


@dataclasses.dataclass(frozen=True)
class Rule:
    """What is known for one combination.

    Attributes
    ----------
    shift : float
        How far one copy of the record moves the sum, in clip norms.
    exact : bool
        Whether the upper end is attained, so that both ends meet up to rounding.
    upper, lower : str
        The statement behind each end.
    source : str
        Where it is proved.
    additive : bool
        Whether the output is noise on a sum of clipped vectors, which the recursion over
        adaptive steps (``tightness="tight"``) is proved for.
    """

    shift: float
    exact: bool
    upper: str
    lower: str
    source: str
    additive: bool = True


_POISSON = "docs/proofs/poisson.md"
_FIXED = "docs/proofs/fixed-size.md"
_LOWER = "docs/proofs/lower-ends.md"
_GROUP = "docs/proofs/group.md"
_RESQUE = "docs/proofs/resque.md"

_ADD_REMOVE = Rule(
    1.0,
    True,
    "((1-q)N(0)+qN(1), N(0)) and its reverse dominate",
    "the same pair: the record has gradient 1, others anything",
    _POISSON,
)
_GROUP_PRESENT = Rule(
    1.0,
    True,
    "(sum p_j N(j), N(0)) and its reverse dominate, p_j the binomial law of how many of the "
    "group's records are in the batch",
    "the same pair: the group's records all have gradient 1, others anything",
    _GROUP,
)
_SYMMETRISED = "the profile of every configuration is below {}; its symmetric closure dominates"
_ORDERS = "the larger of the two orders of the attained pair: gradients 1 and -1, others -1"
_COPIES = (
    Rule(
        2.0,
        True,
        "(sum p_k N(2k), N(0)) and its reverse dominate, p_k the law of the number of copies",
        "the same pair: gradient 1, others -1",
        _FIXED,
    ),
    Rule(
        2.0,
        False,
        _SYMMETRISED.format("min(h1, h2, Balle et al.)"),
        _ORDERS + ", or another constant",
        f"{_FIXED}, {_LOWER}",
    ),
    Rule(
        2.0,
        False,
        "sum p_k [(1-b) d_2k + b d_k] from the real record, sum p_k d_k to it, both orders "
        "closed by reversal",
        "the larger of the attained pairs: gradient 1, others -1 or 1",
        f"{_FIXED}, {_LOWER}",
    ),
)
_TRUNCATED_LOWER = "the Poisson pair at the lowered probability: other gradients are 0"


def _truncated(moves: float) -> Rule:
    return Rule(
        moves,
        False,
        "the Poisson pair, and the chance of a cut batch added to δ",
        _TRUNCATED_LOWER,
        f"{_POISSON}, {_FIXED}",
    )


def _epoch(moves: float) -> Rule:
    return Rule(
        moves,
        False,
        "parallel composition: one full Gaussian release for each record and epoch",
        "the average of the releases of an epoch, a Gaussian release",
        _FIXED,
    )


_TABLE = {
    ("poisson", ADD_OR_REMOVE): _ADD_REMOVE,
    ("poisson", SPECIAL): _ADD_REMOVE,
    ("poisson", REPLACE): Rule(
        2.0,
        True,
        "((1-q)N(0)+qN(1), (1-q)N(0)+qN(-1)) dominates",
        "the same pair: gradients 1 and -1",
        _POISSON,
    ),
    ("poisson-group", ADD_OR_REMOVE): _GROUP_PRESENT,
    ("poisson-group", SPECIAL): _GROUP_PRESENT,
    ("poisson-group", REPLACE): Rule(
        2.0,
        True,
        "(sum p_j N(j), sum p_j N(-j)) dominates, p_j the binomial law of how many of the "
        "group's records are in the batch",
        "the same pair: gradients 1 and -1 for the whole group",
        _GROUP,
    ),
    ("without-replacement", ADD_OR_REMOVE): Rule(
        2.0,
        True,
        "((1-q)N(0)+qN(2), N(0)) and its reverse dominate, q = m/n with n the larger size",
        "the same pair: gradient 1, others -1",
        _FIXED,
    ),
    ("without-replacement", REPLACE): Rule(
        2.0,
        False,
        _SYMMETRISED.format("q d_2(log(1+(e^ε-1)/q))"),
        _ORDERS,
        f"{_FIXED}, {_LOWER}",
    ),
    ("without-replacement", SPECIAL): Rule(
        2.0,
        False,
        "q H(N(2)||(1-b)N(0)+bN(1)) from the real record, q d_1 to it, closed by reversal",
        "the larger of the attained pairs: gradient 1, others -1 or 1",
        f"{_FIXED}, {_LOWER}",
    ),
    ("with-replacement", ADD_OR_REMOVE): _COPIES[0],
    ("with-replacement", REPLACE): _COPIES[1],
    ("with-replacement", SPECIAL): _COPIES[2],
    ("weighted-with-replacement", ADD_OR_REMOVE): _COPIES[0],
    ("weighted-with-replacement", REPLACE): _COPIES[1],
    ("weighted-with-replacement", SPECIAL): _COPIES[2],
    ("resque-oracle", REPLACE): Rule(
        2.0,
        False,
        _SYMMETRISED.format(
            "min(h1, h2, Balle et al.), which need no sum but only the bound for draws"
        )
        + "; many copies and failures of a call are cut from both laws and added to δ",
        "one mechanism of the class, the Gaussian sum of the draws, which never fails: "
        + _ORDERS
        + ", or another constant",
        f"{_RESQUE}, {_LOWER}",
        additive=False,
    ),
    ("shuffled-epochs", REPLACE): _epoch(2.0),
    ("shuffled-epochs", SPECIAL): _epoch(1.0),
    ("truncated-poisson", ADD_OR_REMOVE): _truncated(1.0),
    ("truncated-poisson", SPECIAL): _truncated(1.0),
    ("truncated-poisson", REPLACE): _truncated(2.0),
}


def rule(sampling: str, relation: NeighboringRelation) -> Rule:
    """The rule of one combination.

    Parameters
    ----------
    sampling : str
        ``scheme`` of a sampling description; an unsampled release is Poisson sampling with
        probability 1.
    relation : NeighboringRelation

    Returns
    -------
    Rule

    Raises
    ------
    ValueError
        If no theorem covers the combination; the message names the nearest supported ones.
    """
    try:
        return _TABLE[sampling, relation]
    except (KeyError, TypeError):  # the latter: of what cannot be a key at all
        near = [r.name for s, r in _TABLE if s == sampling]
        nearest = (
            f"{sampling} is covered under {' and '.join(near)}"
            if near
            else "covered: " + ", ".join(sorted({s for s, _ in _TABLE}))
        )
        under = relation.name if isinstance(relation, NeighboringRelation) else repr(relation)
        raise ValueError(f"no theorem for sampling={sampling!r} under {under}; {nearest}") from None


def directions_of(relation: NeighboringRelation) -> tuple[Direction, ...]:
    """The orders of the two data sets that a relation distinguishes for a whole run."""
    if relation is REPLACE:
        return (Direction.SYMMETRIC,)
    return (Direction.REMOVE, Direction.ADD)


def resolve_directions(direction: str, relation: NeighboringRelation) -> tuple[Direction, ...]:
    """The directions that a ``direction=`` argument selects under ``relation``.

    Raises
    ------
    ValueError
        If ``direction`` is unknown, or names one order of a symmetric relation.
    """
    if direction not in DIRECTIONS:
        raise ValueError(f"direction={direction!r}: must be one of {', '.join(DIRECTIONS)}")
    directions = directions_of(relation)
    if direction == "both":
        return directions
    if directions == (Direction.SYMMETRIC,):
        raise ValueError(
            f"direction={direction!r}: must be 'both' under {relation.name}, which is the same "
            "in both directions"
        )
    return (Direction(direction),)
