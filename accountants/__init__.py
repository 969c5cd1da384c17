"""Privacy accountants whose every answer has two ends.

The package is importable on its own and knows nothing of optimizers or theorems.  Public
names load on first use, so that ``import accountants`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accountants.advanced_composition import (
        AdvancedCompositionAccountant as AdvancedCompositionAccountant,
    )
    from accountants.bracket import Bracket as Bracket
    from accountants.budget import calibrate_batch_size as calibrate_batch_size
    from accountants.budget import calibrate_steps as calibrate_steps
    from accountants.budget import remaining_steps as remaining_steps
    from accountants.calibration import Calibration as Calibration
    from accountants.calibration import calibrate_noise_multiplier as calibrate_noise_multiplier
    from accountants.conversion import DeltaCurve as DeltaCurve
    from accountants.errors import AccuracyError as AccuracyError
    from accountants.errors import InfeasibleBudgetError as InfeasibleBudgetError
    from accountants.exact.accountant import ExactAccountant as ExactAccountant
    from accountants.explain import Explanation as Explanation
    from accountants.gaussian_dp import GaussianDp as GaussianDp
    from accountants.gaussian_dp import GaussianDpEstimate as GaussianDpEstimate
    from accountants.gaussian_dp import central_limit_estimate as central_limit_estimate
    from accountants.group import GroupAccountant as GroupAccountant
    from accountants.laws.check import check_accountant as check_accountant
    from accountants.ledger import read_ledger as read_ledger
    from accountants.ledger import read_state as read_state
    from accountants.ledger import restore as restore
    from accountants.ledger import state_to_json as state_to_json
    from accountants.ledger import write_ledger as write_ledger
    from accountants.ledger import write_state as write_state
    from accountants.relations import NeighboringRelation as NeighboringRelation
    from accountants.renyi.accountant import RenyiAccountant as RenyiAccountant
    from accountants.sampling import weighted_sampling as weighted_sampling
    from accountants.tcdp.accountant import TruncatedCdpAccountant as TruncatedCdpAccountant
    from accountants.tcdp.curve import ApproximateTruncatedCdp as ApproximateTruncatedCdp
    from accountants.tcdp.curve import TruncatedCdp as TruncatedCdp
    from accountants.trade_off import trade_off as trade_off

_HOMES = {
    "AccuracyError": "accountants.errors",
    "AdvancedCompositionAccountant": "accountants.advanced_composition",
    "ApproximateTruncatedCdp": "accountants.tcdp.curve",
    "Bracket": "accountants.bracket",
    "Calibration": "accountants.calibration",
    "DeltaCurve": "accountants.conversion",
    "ExactAccountant": "accountants.exact.accountant",
    "Explanation": "accountants.explain",
    "GaussianDp": "accountants.gaussian_dp",
    "GaussianDpEstimate": "accountants.gaussian_dp",
    "GroupAccountant": "accountants.group",
    "InfeasibleBudgetError": "accountants.errors",
    "NeighboringRelation": "accountants.relations",
    "RenyiAccountant": "accountants.renyi.accountant",
    "TruncatedCdp": "accountants.tcdp.curve",
    "TruncatedCdpAccountant": "accountants.tcdp.accountant",
    "calibrate_batch_size": "accountants.budget",
    "calibrate_noise_multiplier": "accountants.calibration",
    "calibrate_steps": "accountants.budget",
    "central_limit_estimate": "accountants.gaussian_dp",
    "check_accountant": "accountants.laws.check",
    "read_ledger": "accountants.ledger",
    "read_state": "accountants.ledger",
    "remaining_steps": "accountants.budget",
    "restore": "accountants.ledger",
    "state_to_json": "accountants.ledger",
    "trade_off": "accountants.trade_off",
    "weighted_sampling": "accountants.sampling",
    "write_ledger": "accountants.ledger",
    "write_state": "accountants.ledger",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'accountants' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
