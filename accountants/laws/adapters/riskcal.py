"""riskcal's accountant (Opacus' interface over dp_accounting's loss distributions)."""

from __future__ import annotations

from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws.adapters._base import StepAdapter, from_numbers
from accountants.laws.candidate import Candidate


def _make(relation: NeighboringRelation) -> StepAdapter:
    from riskcal.accountants import CTDAccountant

    return StepAdapter(CTDAccountant())


def _solve(q: float, steps: int, epsilon: float, delta: float) -> float:
    from riskcal.accountants import CTDAccountant
    from riskcal.calibration import find_noise_multiplier_for_epsilon_delta

    return float(find_noise_multiplier_for_epsilon_delta(CTDAccountant, q, steps, epsilon, delta))


#: The candidates of this module.
CANDIDATES = (
    Candidate(
        name="riskcal",
        make=_make,
        relations=(NeighboringRelation.ADD_OR_REMOVE_ONE,),  # that of Poisson sampled batches
        package="riskcal",
        calibrate=from_numbers(_solve),
    ),
)
