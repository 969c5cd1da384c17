"""What somebody wants audited, as words: an accountant, laws, a relation, a seed, a size.

The pytest plugin and the command line read their options here, so that both take the same words and
refuse the same ones, with one line each.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from accountants import validation
from accountants.laws import adapters, catalogue
from accountants.laws.candidate import RELATIONS, Candidate
from accountants.relations import NeighboringRelation

#: The relations as options write them.
RELATION_WORDS: dict[str, NeighboringRelation] = {
    relation.name.lower().replace("_", "-"): relation for relation in RELATIONS
}


@dataclass(frozen=True)
class Wanted:
    """One accountant and what to hold it to.

    Attributes
    ----------
    candidate : Candidate
    laws : tuple of str
        Their ids, in the order of the catalogue.
    relations : tuple of NeighboringRelation
    """

    candidate: Candidate
    laws: tuple[str, ...]
    relations: tuple[NeighboringRelation, ...]


def read_wanted(accountant: str, *, laws: str | None, relation: str | None) -> Wanted:
    """What the words mean.

    Parameters
    ----------
    accountant : str
        The name of an adapter, or ``MODULE:CLASS``.
    laws : str or None
        Ids separated by commas; ``"all"`` or None for all of them.
    relation : str or None
        One of `RELATION_WORDS`; None for every relation that the accountant states answers for.

    Raises
    ------
    ValueError
        For words without a meaning, a package that is not installed, and a module that cannot be
        imported; always one line.
    """
    wanted, chosen = law_ids(laws), _relation(relation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the accountant are its users' to see
        candidate = load(accountant)
        if chosen is None:
            return Wanted(candidate, wanted, candidate.relations)
        return Wanted(_under(candidate, chosen, accountant), wanted, (chosen,))


def law_ids(text: str | None) -> tuple[str, ...]:
    """The ids in ``"L1,L4"``, each once and in the order of the catalogue; None is all of them."""
    words = "all" if text is None else text.strip()
    asked = "all" if words.lower() == "all" else [word.strip().upper() for word in words.split(",")]
    return tuple(law.id for law in catalogue.chosen(asked))


def whole_number(name: str, text: str | None) -> int | None:
    """The whole number >= 0 that an option gives as text; None for None."""
    if text is None:
        return None
    with suppress(ValueError):
        return validation.whole(int(text), name)
    raise ValueError(f"{name}={text!r}: must be a whole number >= 0")


def seconds(name: str, text: str | None) -> float | None:
    """The seconds >= 0 (inf among them) that an option gives as text; None for None."""
    if text is None:
        return None
    with suppress(ValueError):
        found = validation.real(name, float(text))
        if found >= 0:
            return found
    raise ValueError(f"{name}={text!r}: must be a number of seconds >= 0, or inf")


def load(accountant: str) -> Candidate:
    """The accountant that goes by this name or place; any failure is a one-line ``ValueError``."""
    try:
        candidate = adapters.load(accountant)
    except (Exception, SystemExit) as error:  # a module of somebody may raise anything
        text = " ".join(str(error).split())
        if isinstance(error, ValueError) and repr(accountant) in text:
            raise ValueError(text) from error
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"accountant={accountant!r}: cannot be loaded: {kind}{text}") from error
    # Two classes may share a name; the place is how the user asks for it again.
    return replace(candidate, name=accountant) if ":" in accountant else candidate


@contextmanager
def importable_from(*folders: str | os.PathLike[str]) -> Iterator[None]:
    """Modules in these folders can be imported inside the body, as with ``python -m``."""
    added = [os.fspath(folder) for folder in folders if os.fspath(folder) not in sys.path]
    added = list(dict.fromkeys(added))
    sys.path[:0] = added
    try:
        yield
    finally:
        for text in added:
            with suppress(ValueError):
                sys.path.remove(text)


def relation_word(relation: NeighboringRelation) -> str:
    """``replace-one`` for ``REPLACE_ONE``, as options write it."""
    return next(word for word, known in RELATION_WORDS.items() if known is relation)


def _relation(text: str | None) -> NeighboringRelation | None:
    if text is None:
        return None
    if text not in RELATION_WORDS:
        raise ValueError(f"relation={text!r}: must be one of {', '.join(RELATION_WORDS)}")
    return RELATION_WORDS[text]


def _under(candidate: Candidate, relation: NeighboringRelation, accountant: str) -> Candidate:
    if relation in candidate.relations:
        return candidate
    stated = ", ".join(map(relation_word, candidate.relations))
    # One that says nothing of its relation answers for the one that its author has in mind.
    if ":" in accountant and not hasattr(candidate.make(relation), "neighboring_relation"):
        return replace(candidate, relations=(relation,))
    raise ValueError(
        f"relation={relation_word(relation)!r}: {accountant} states answers for {stated} only"
    )
