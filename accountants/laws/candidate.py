"""An accountant that is to be audited, and how fresh instances of it are made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

#: Which data sets are neighbours.
Relation: TypeAlias = NeighboringRelation
#: From a noise multiplier to the event of a whole run.
MakeEvent = Callable[[float], dp_accounting.DpEvent]
#: From such a function, a relation, ε and δ to a noise multiplier.
Calibrate = Callable[[MakeEvent, Relation, float, float], float]

#: Every relation, in the order in which laws are asked under them.
RELATIONS = (
    NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighboringRelation.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL,
)


@dataclass(frozen=True)
class Candidate:
    """An accountant under audit.

    What ``make`` returns needs ``compose(event, count=1)`` and ``get_epsilon(target_delta)``;
    ``get_delta``, ``epsilon_bracket`` and a length are used where it has them.  Any exception is
    taken as a refusal to answer.

    Attributes
    ----------
    name : str
    make : callable
        From a relation to a fresh accountant.
    relations : tuple of NeighboringRelation
        Those it states answers for.
    package : str or None
        Distribution whose version is reported.
    calibrate : callable or None
        ``(make_event, relation, target_epsilon, target_delta) -> noise multiplier``.
    make_with_orders : callable or None
        ``(relation, orders) -> accountant``, for Rényi accountants.
    renyi : callable or None
        ``(event, relation, orders) -> Rényi divergences``, for Rényi accountants.
    """

    name: str
    make: Callable[[Relation], Any]
    relations: tuple[Relation, ...] = RELATIONS
    package: str | None = None
    calibrate: Calibrate | None = None
    make_with_orders: Callable[[Relation, Sequence[float]], Any] | None = None
    renyi: Callable[[dp_accounting.DpEvent, Relation, Sequence[float]], Sequence[float]] | None = (
        None
    )

    @property
    def version(self) -> str | None:
        """Version of its package, or None."""
        if self.package is None:
            return None
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    @classmethod
    def from_callable(
        cls,
        make_accountant: Candidate | Callable[..., Any],
        *,
        name: str | None = None,
        relation: Relation | None = None,
    ) -> Candidate:
        """What a class or a factory makes, under the relations that it can be made for.

        Parameters
        ----------
        make_accountant : callable
            Takes the relation (as ``neighboring_relation``, ``relation`` or its only required
            argument) or nothing.
        name : str, optional
        relation : NeighboringRelation, optional
            Default: what a maker without arguments says in ``neighboring_relation``
            (ADD_OR_REMOVE_ONE where it says nothing), else every relation for which an
            accountant can be made.

        Raises
        ------
        ValueError
            If ``make_accountant`` cannot be called in any of these ways.
        """
        if isinstance(make_accountant, Candidate):
            return make_accountant
        if not callable(make_accountant):
            raise ValueError(
                f"make_accountant={make_accountant!r}: must be a class or a function that makes "
                "an accountant"
            )
        keyword, takes = _relation_argument(make_accountant)

        def make(wanted: Relation) -> Any:
            if not takes:
                return make_accountant()
            if keyword is None:
                return make_accountant(wanted)
            return make_accountant(**{keyword: wanted})

        relations = (relation,) if relation is not None else _relations(make, takes)
        return cls(
            name=name or getattr(make_accountant, "__qualname__", None) or repr(make_accountant),
            make=make,
            relations=relations,
            make_with_orders=_with_orders(make_accountant, keyword),
        )


def _parameters(maker: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(maker).parameters)
    except (TypeError, ValueError):
        return {}


def _relation_argument(maker: Callable[..., Any]) -> tuple[str | None, bool]:
    """(keyword of the relation or None for the first argument, whether it takes one at all)."""
    parameters = _parameters(maker)
    for keyword in ("neighboring_relation", "relation"):
        if keyword in parameters:
            return keyword, True
    needed = [
        p
        for p in parameters.values()
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if not needed:
        return None, False
    if len(needed) == 1 and needed[0].kind is not inspect.Parameter.KEYWORD_ONLY:
        return None, True
    raise ValueError(
        f"make_accountant={maker!r}: must take the neighboring relation as its only required "
        f"argument or nothing; it requires {', '.join(p.name for p in needed)}"
    )


def _relations(make: Callable[[Relation], Any], takes: bool) -> tuple[Relation, ...]:
    if not takes:
        said = getattr(make(RELATIONS[0]), "neighboring_relation", RELATIONS[0])
        return (said if isinstance(said, NeighboringRelation) else RELATIONS[0],)
    found = []
    problems = []
    for relation in RELATIONS:
        try:
            make(relation)
        except Exception as error:  # whatever it raises, it makes none for this relation
            problems.append(f"{relation.name}: {type(error).__name__}: {error}")
            continue
        found.append(relation)
    if not found:
        raise ValueError(f"make_accountant: makes no accountant for any relation ({problems})")
    return tuple(found)


def _with_orders(
    maker: Callable[..., Any], keyword: str | None
) -> Callable[[Relation, Sequence[float]], Any] | None:
    if "orders" not in _parameters(maker):
        return None

    def make(relation: Relation, orders: Sequence[float]) -> Any:
        if keyword is None:
            return maker(orders=orders)
        return maker(**{keyword: relation}, orders=orders)

    return make
