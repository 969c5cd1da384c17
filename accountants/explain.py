"""Which theorem stands behind each end of an answer, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.relations import REPLACE, rule
from accountants.walk import Leaf, Release

_TIGHT = (
    "the smaller of that and the recursion over adaptive steps with a budget on Hellinger "
    "distances (docs/proofs/adaptive.md)"
)


@dataclass(frozen=True)
class Explanation:
    """What an accountant's two ends rest on.

    Attributes
    ----------
    upper, lower : str
        One sentence for each sampling scheme of the event, joined by "; ".
    exact : bool
        Whether one pair gives both ends for every release of the event.
    source : str
        Where the statements are proved.
    """

    upper: str
    lower: str
    exact: bool
    source: str


def explain_leaves(
    leaves: Iterable[tuple[Leaf, int]], relation: NeighboringRelation, tightness: str
) -> Explanation:
    """The explanation for the leaves of an event.

    Parameters
    ----------
    leaves : iterable of (Release or NonPrivate, int)
        From ``accountants.walk.leaves``.
    relation : NeighboringRelation
    tightness : {"fast", "tight"}
    """
    schemes: dict[str, None] = {}
    for leaf, _ in leaves:
        schemes[leaf.sampling.scheme if isinstance(leaf, Release) else "non-private"] = None
    upper, lower, sources = [], [], {}
    exact = True
    tightened = tightness == "tight" and all(
        scheme == "non-private" or rule(scheme, relation).additive for scheme in schemes
    )
    for scheme in schemes:
        if scheme == "non-private":
            upper.append("non-private: ε is infinite")
            lower.append("non-private: ε is infinite")
            continue
        found = rule(scheme, relation)
        text = found.upper
        if tightened and relation is REPLACE and not found.exact:
            text = f"{text}; {_TIGHT}"
        upper.append(f"{scheme}: {text}")
        lower.append(f"{scheme}: {found.lower}")
        exact = exact and found.exact
        sources.update(dict.fromkeys(found.source.split(", ")))
    nothing = "nothing is released"
    return Explanation(
        upper="; ".join(upper) or nothing,
        lower="; ".join(lower) or nothing,
        exact=exact,
        source=", ".join(sources),
    )
