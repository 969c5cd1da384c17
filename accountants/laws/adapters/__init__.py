"""Known accountants under the names that the audit takes; each package is optional.

A module of this folder translates between events and one package, and holds a tuple
``CANDIDATES``. Importing it does not import the package, so that listing names is cheap; a package
is found by its distribution. docs/how-to/add-an-adapter.md shows how one is added.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from accountants.laws.candidate import Candidate

#: Modules with adapters, in the order in which their candidates are listed.
MODULES = ("ours", "dp_accounting", "opacus", "prv_accountant", "autodp", "riskcal", "jax_privacy")


class MissingPackage(ValueError):
    """A known accountant whose package is not installed."""


@cache
def _known() -> dict[str, Candidate]:
    found: dict[str, Candidate] = {}
    for module in MODULES:
        for candidate in importlib.import_module(f"{__name__}.{module}").CANDIDATES:
            found[candidate.name] = candidate
    return found


def names() -> tuple[str, ...]:
    """The names of all known accountants, installed or not."""
    return tuple(_known())


def installed() -> tuple[str, ...]:
    """The names of the known accountants whose package is installed."""
    return tuple(name for name, candidate in _known().items() if _is_installed(candidate))


def load(name: str) -> Candidate:
    """A known accountant, or one that is named by its module.

    Parameters
    ----------
    name : str
        One of ``names()``, or ``"MODULE:CLASS"``: a class, a factory or a ``Candidate`` in an
        importable module.

    Returns
    -------
    Candidate

    Raises
    ------
    MissingPackage
        If the package of a known accountant is not installed.
    ValueError
        If the name is unknown, or nothing of that name can be imported.
    """
    if ":" in name:
        return _from_module(name)
    candidate = _known().get(name)
    if candidate is None:
        known = ", ".join(names())
        raise ValueError(f"name={name!r}: must be MODULE:CLASS or one of {known}")
    if not _is_installed(candidate):
        raise MissingPackage(f"name={name!r}: needs the package {candidate.package}")
    return candidate


def _is_installed(candidate: Candidate) -> bool:
    if candidate.package is None:
        return True
    try:
        version(candidate.package)
    except PackageNotFoundError:
        return False
    return True


def _from_module(name: str) -> Candidate:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"name={name!r}: must be MODULE:CLASS")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A module that is there but misses one of its own imports is a failure of its own.
        missing = error.name or ""
        if module != missing and not module.startswith(missing + "."):
            raise ValueError(f"name={name!r}: {module} needs the module {missing}") from error
        raise ValueError(f"name={name!r}: there is no module {module}") from None
    for step in attribute.split("."):
        if not hasattr(found, step):
            raise ValueError(f"name={name!r}: {module} has no {attribute}")
        found = getattr(found, step)
    if isinstance(found, Candidate):
        return found
    return Candidate.from_callable(found, name=name)
