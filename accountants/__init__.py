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
    from accountants.explain import Explanation as Explanation
    from accountants.relations import NeighboringRelation as NeighboringRelation
    from accountants.renyi.accountant import RenyiAccountant as RenyiAccountant
    from accountants.sampling import weighted_sampling as weighted_sampling
    from accountants.tcdp.accountant import TruncatedCdpAccountant as TruncatedCdpAccountant
    from accountants.tcdp.curve import TruncatedCdp as TruncatedCdp

_HOMES = {
    "AccuracyError": "accountants.errors",
    "Bracket": "accountants.bracket",
    "Calibration": "accountants.calibration",
    "ExactAccountant": "accountants.exact.accountant",
    "Explanation": "accountants.explain",
    "InfeasibleBudgetError": "accountants.errors",
    "NeighboringRelation": "accountants.relations",
    "RenyiAccountant": "accountants.renyi.accountant",
    "TruncatedCdp": "accountants.tcdp.curve",
    "TruncatedCdpAccountant": "accountants.tcdp.accountant",
    "calibrate_noise_multiplier": "accountants.calibration",
    "weighted_sampling": "accountants.sampling",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'accountants' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
