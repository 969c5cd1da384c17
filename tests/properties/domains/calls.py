"""Calls of public callables, all arguments usual but one."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.properties.domains.kinds import Kind
from tests.properties.domains.listing import Public, arguments_of
from tests.properties.domains.names import kind_of
from tests.properties.domains.objects import OBJECTS


class NoUsualValue(Exception):
    """An argument that has to be given, and of which nothing is known."""


@dataclass(frozen=True)
class Row:
    """What is said of one callable.

    Attributes
    ----------
    given : mapping of str to callable
        Usual values of arguments that have no other, or where the usual one does not fit; of
        arguments that have a default too, to give them.
    kinds : mapping of str to Kind
        Arguments that mean something else here than their names elsewhere.
    owner : callable, optional
        Makes the object of a method, where its class needs more than usual values.
    elsewhere : tuple of str
        Arguments whose ends do not fit the other usual values, or take long, "*" for all: only
        what lies outside is looked at.
    nan : bool
        Whether NaN is an answer here: a figure that there is none of.
    long : bool
        Whether a call takes seconds: only refusals, which come first, are looked at.
    keywords : mapping of str to Kind
        What is given to a callable that takes any keywords.
    called : mapping of str to str
        What messages call an argument, where the command line has another word for it.
    """

    given: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    owner: Callable[[], Any] | None = None
    elsewhere: tuple[str, ...] = ()
    nan: bool = False
    long: bool = False
    keywords: Mapping[str, Kind] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)

    @property
    def only_makes(self) -> bool:
        """Whether it says nothing but how to make the object of methods."""
        return self == Row(owner=self.owner)


def usual_arguments(public: Public, row: Row) -> dict[str, Any]:
    """A valid call: what has to be given, and what the row gives."""
    found = {name: kind.usual() for name, kind in row.keywords.items()}
    for argument in public.arguments:
        if argument.name in row.given:
            found[argument.name] = row.given[argument.name]()
            continue
        if not argument.required:
            continue
        kind = kind_of(argument, dict(row.kinds))
        make = kind.usual if kind else OBJECTS.get(argument.annotation)
        if make is None:
            raise NoUsualValue(f"{public.key}: {argument.name}: {argument.annotation}")
        found[argument.name] = make()
    return found


def kinds_of(public: Public, row: Row) -> dict[str, Kind]:
    """The arguments of a callable that have a domain, each with its kind."""
    found = {each.name: kind_of(each, dict(row.kinds)) for each in public.arguments}
    found |= row.keywords
    return {name: kind for name, kind in found.items() if kind and kind.outside is not None}


def bound(public: Public, rows: Mapping[str, Row]) -> Callable[..., Any]:
    """The callable; of a method that of an object made with usual values."""
    row = rows.get(public.key, Row())
    if public.owner is None:
        return public.get()
    name = public.name.rpartition(".")[2]
    owner = getattr(importlib.import_module(public.module), public.owner)
    if not inspect.isfunction(inspect.getattr_static(owner, name)):
        return getattr(owner, name)  # of the class, or static
    if row.owner is not None:
        return getattr(row.owner(), name)
    maker = Public(public.module, public.owner, arguments_of(owner))
    made = rows.get(maker.key, Row())
    if made.owner is not None:
        return getattr(made.owner(), name)
    return getattr(owner(**usual_arguments(maker, made)), name)


def call(public: Public, rows: Mapping[str, Row], **changes: Any) -> Any:
    """Call with usual values, and these in the place of theirs."""
    arguments = usual_arguments(public, rows.get(public.key, Row()))
    return bound(public, rows)(**{**arguments, **changes})
