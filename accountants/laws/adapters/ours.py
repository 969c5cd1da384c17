"""The accountants of this package."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from dp_accounting import DpEvent
from dp_accounting.privacy_accountant import NeighboringRelation

import accountants
from accountants.laws.candidate import Candidate, MakeEvent


def _exact(relation: NeighboringRelation, tightness: str = "fast") -> Any:
    return accountants.ExactAccountant(relation, tightness=tightness)


def _renyi(relation: NeighboringRelation, orders: Sequence[float] | None = None) -> Any:
    return accountants.RenyiAccountant(relation, orders)


def _curve(event: DpEvent, relation: NeighboringRelation, orders: Sequence[float]) -> Any:
    return _renyi(relation).compose(event).rdp(orders)


def _calibrate(
    make_event: MakeEvent,
    relation: NeighboringRelation,
    epsilon: float,
    delta: float,
    *,
    tightness: str = "fast",
) -> float:
    return accountants.calibrate_noise_multiplier(
        make_event,
        target_epsilon=epsilon,
        target_delta=delta,
        neighboring_relation=relation,
        tightness=tightness,
    ).noise_multiplier


_COMMON: dict[str, Any] = {"relations": tuple(NeighboringRelation), "package": "dp2theory"}
#: The candidates of this module.
CANDIDATES = (
    Candidate("ours-exact", _exact, calibrate=_calibrate, **_COMMON),
    Candidate(
        "ours-exact-tight",
        lambda relation: _exact(relation, "tight"),
        calibrate=partial(_calibrate, tightness="tight"),
        **_COMMON,
    ),
    Candidate("ours-renyi", _renyi, make_with_orders=_renyi, renyi=_curve, **_COMMON),
    Candidate("ours-truncated-cdp", lambda r: accountants.TruncatedCdpAccountant(r), **_COMMON),
)
