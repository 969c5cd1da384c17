"""Opacus' Rényi, PRV and Gaussian-DP accountants, as its privacy engine makes and asks them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from dp_accounting import DpEvent
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws.adapters._base import StepAdapter, from_numbers, parts
from accountants.laws.candidate import Candidate


def _make(mechanism: str, relation: NeighboringRelation, **options: Any) -> StepAdapter:
    from opacus.accountants import create_accountant

    return StepAdapter(create_accountant(mechanism), **options)


def _with_orders(relation: NeighboringRelation, orders: Sequence[float]) -> StepAdapter:
    return _make("rdp", relation, alphas=list(orders))


def _renyi(event: DpEvent, relation: NeighboringRelation, orders: Sequence[float]) -> Any:
    from opacus.accountants.analysis.rdp import compute_rdp

    settings = [(*part.sampled_gaussian(), part.times) for part in parts(event)]
    return sum(
        compute_rdp(q=q, noise_multiplier=sigma, steps=steps, orders=list(orders))
        for sigma, q, steps in settings
    )


def _solve(mechanism: str, q: float, steps: int, epsilon: float, delta: float) -> float:
    from opacus.accountants.utils import get_noise_multiplier

    asked = {"target_epsilon": epsilon, "target_delta": delta, "sample_rate": q, "steps": steps}
    return float(get_noise_multiplier(accountant=mechanism, **asked))


def _candidate(mechanism: str, **more: Any) -> Candidate:
    # Its loaders draw Poisson batches; the relation is that of adding or removing a record.
    relations = (NeighboringRelation.ADD_OR_REMOVE_ONE,)
    make, calibrate = partial(_make, mechanism), from_numbers(partial(_solve, mechanism))
    return Candidate(f"opacus-{mechanism}", make, relations, "opacus", calibrate, **more)


#: The candidates of this module.
CANDIDATES = (
    _candidate("rdp", make_with_orders=_with_orders, renyi=_renyi),
    _candidate("prv"),
    _candidate("gdp"),
)
