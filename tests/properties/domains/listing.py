"""All public callables, from the list that the reference is made of, with their arguments."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from docs.site.reference import own_names, public_modules


@dataclass(frozen=True)
class Argument:
    """One argument of a callable: its name, its annotation as it is written, its default."""

    name: str
    annotation: str
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        """Whether a call has to give it."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Public:
    """A public function, class or method.

    Attributes
    ----------
    module, name : str
        Where it is defined, and ``function``, ``Class`` or ``Class.method``.
    arguments : tuple of Argument
        Without ``self``; those that take "any more" are left out.
    """

    module: str
    name: str
    arguments: tuple[Argument, ...]

    @property
    def key(self) -> str:
        """The dotted name that the reference has."""
        return f"{self.module}.{self.name}"

    @property
    def owner(self) -> str | None:
        """The class of a method."""
        return self.name.rpartition(".")[0] or None

    def get(self) -> Any:
        """The callable itself; of a method the function of its class."""
        found: Any = importlib.import_module(self.module)
        for part in self.name.split("."):
            found = getattr(found, part)
        return found


def _annotation(parameter: inspect.Parameter) -> str:
    found = parameter.annotation
    if found is inspect.Parameter.empty:
        return ""
    return found if isinstance(found, str) else getattr(found, "__name__", str(found))


def arguments_of(function: Callable[..., Any]) -> tuple[Argument, ...]:
    """The arguments of a function or class, or none where Python knows no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(
        Argument(each.name, _annotation(each), each.default)
        for each in parameters
        if each.kind not in several and each.name not in ("self", "cls")
    )


def _methods(owner: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods that a class itself defines, and no properties."""
    for name, found in vars(owner).items():
        function = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def callables_of(module: ModuleType, names: list[str]) -> Iterator[Public]:
    """The public callables of a module that has these names of its own."""
    for name in names:
        found = getattr(module, name)
        yield Public(module.__name__, name, arguments_of(found))
        if inspect.isclass(found):
            for method, function in _methods(found):
                yield Public(module.__name__, f"{name}.{method}", arguments_of(function))


@cache
def public_callables() -> tuple[Public, ...]:
    """Every public function, class and method of the three packages.

    Modules for frameworks that are not installed are left out; the tests of integrations have
    them.
    """
    found: list[Public] = []
    for name, path in public_modules().items():
        own = own_names(path)
        if not own:
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        found += callables_of(module, own)
    return tuple(found)


def is_plain(owner: Any) -> bool:
    """Whether a class is a dataclass, whose fields are its arguments."""
    return dataclasses.is_dataclass(owner)
