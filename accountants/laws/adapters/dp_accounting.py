"""Google's dp_accounting: its Rényi and its privacy-loss-distribution accountant.

The events are dp_accounting's own and go to it as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dp_accounting
from dp_accounting import DpEvent
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws.candidate import Candidate, MakeEvent


def _rdp(relation: NeighboringRelation, orders: Sequence[float] | None = None) -> Any:
    return dp_accounting.rdp.RdpAccountant(orders=orders, neighboring_relation=relation)


def _pld(relation: NeighboringRelation) -> Any:
    return dp_accounting.pld.PLDAccountant(neighboring_relation=relation)


def _renyi(event: DpEvent, relation: NeighboringRelation, orders: Sequence[float]) -> Any:
    return _rdp(relation, orders).compose(event).rdp


def _calibrate(
    make: Any, make_event: MakeEvent, relation: NeighboringRelation, epsilon: float, delta: float
) -> float:
    return float(
        dp_accounting.calibrate_dp_mechanism(lambda: make(relation), make_event, epsilon, delta)
    )


#: The candidates of this module.
CANDIDATES = (
    Candidate(
        name="dp-accounting-rdp",
        make=_rdp,
        relations=tuple(NeighboringRelation),
        package="dp-accounting",
        calibrate=lambda *asked: _calibrate(_rdp, *asked),
        make_with_orders=_rdp,
        renyi=_renyi,
    ),
    Candidate(
        name="dp-accounting-pld",
        make=_pld,
        relations=tuple(NeighboringRelation),
        package="dp-accounting",
        calibrate=lambda *asked: _calibrate(_pld, *asked),
    ),
)
