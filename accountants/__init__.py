"""Privacy accountants whose every answer has two ends.

The package is importable on its own and knows nothing of optimizers or theorems.  Public
names load on first use, so that ``import accountants`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accountants.bracket import Bracket as Bracket
    from accountants.calibration import Calibration as Calibration
    from accountants.calibration import (
        calibrate_noise_multiplier as calibrate_noise_multiplier,
    )
    from accountants.errors import AccuracyError as AccuracyError
    from accountants.errors import InfeasibleBudgetError as InfeasibleBudgetError
    from accountants.exact.accountant import ExactAccountant as ExactAccountant
    from accountants.relations import NeighboringRelation as NeighboringRelation

_HOMES = {
    "AccuracyError": "accountants.errors",
    "Bracket": "accountants.bracket",
    "Calibration": "accountants.calibration",
    "ExactAccountant": "accountants.exact.accountant",
    "InfeasibleBudgetError": "accountants.errors",
    "NeighboringRelation": "accountants.relations",
    "calibrate_noise_multiplier": "accountants.calibration",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'accountants' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
