"""bounds: the theorems on delayed preconditioning and ReSQue as objects.

A theorem is one object that carries its assumptions, statement, kind (tight, upper, lower, rate),
proof steps and evaluation. `theorems()` gives all of them by id; ``theorems()["dp2.master"]``
is one. The package stands alone: it imports neither `accountants` nor `dp2theory`, and importing
it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bounds.assumptions import Assumption
    from bounds.theorem import Curve, Kind, Source, Status, Theorem

__all__ = ["Assumption", "Curve", "Kind", "Source", "Status", "Theorem", "theorems"]

_HOMES = {
    "Assumption": "bounds.assumptions",
    "Curve": "bounds.theorem",
    "Kind": "bounds.theorem",
    "Source": "bounds.theorem",
    "Status": "bounds.theorem",
    "Theorem": "bounds.theorem",
}


def theorems() -> Mapping[str, Theorem]:
    """All theorems by id, in reading order.

    Returns
    -------
    mapping of str to bounds.theorem.Theorem
        Read-only.
    """
    from bounds.catalogue import theorems as catalogued

    return catalogued()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
