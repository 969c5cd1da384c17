"""Amplification of a truncated curve by sampling, in closed form, with its region.

A theorem is applied inside its region only; outside, the refusal gives the numbers that fail.
The base curve is one for replacing one of the records (or positions) of a batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from accountants import validation
from accountants.copies import CopyLaw
from accountants.rounding import above, below
from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp

CONSTANT = 11.0  #: the proof gives 10.4 inside the region
_PUBLISHED_CONSTANT = 13.0


class OutsideRegionError(ValueError):
    """A theorem was asked for parameters that it does not cover."""


@dataclass(frozen=True)
class _Condition:
    holds: bool
    text: str


def without_replacement_published(
    base: TruncatedCdp, *, dataset_size: int, batch_size: int
) -> TruncatedCdp:
    """Amplification by a uniform subset, as published (cited, not proved again here).

    Parameters
    ----------
    base : TruncatedCdp
        Curve of the mechanism on a batch, for replacing one record.
    dataset_size, batch_size : int
        n and m; s = m/n.

    Returns
    -------
    TruncatedCdp
        (13 s^2 rho, log(1/s)/(4 rho)) under REPLACE_ONE.

    Raises
    ------
    OutsideRegionError
        Unless rho and s are in (0, 0.1], log(1/s) >= 3 rho (2 + log2(1/rho)) and
        omega >= log(1/s)/(2 rho) >= 3.

    References
    ----------
    Bun, Dwork, Rothblum and Steinke, *Composable and versatile privacy via truncated CDP*,
    STOC 2018, theorem on amplification by subsampling.
    """
    n = validation.whole(dataset_size, "dataset_size", 1)
    m = validation.whole(batch_size, "batch_size", 1)
    validation.require(m <= n, "batch_size", m, f"at most dataset_size={n}")
    s, rho = m / n, base.rho
    if rho == 0:
        return TruncatedCdp(0.0)
    log_inverse = math.log(n / m)
    cost = 3 * rho * (2 - math.log2(rho)) if rho < math.inf else math.inf
    half = log_inverse / (2 * rho)
    # Conditions are tested with a little room against rounding.
    room = 1 + 1e-12
    _refuse_unless(
        "amplification without replacement (Bun et al. 2018)",
        f"rho={rho:.6g}, omega={base.omega:.6g}, s={s:.6g}",
        _Condition(rho <= 0.1, f"rho <= 0.1 (is {rho:.6g})"),
        _Condition(10 * m <= n, f"s <= 0.1 (is {s:.6g})"),
        _Condition(
            log_inverse >= cost * room,
            f"log(1/s)={log_inverse:.6g} >= 3 rho (2 + log2(1/rho))={cost:.6g}",
        ),
        _Condition(
            base.omega >= half * room, f"omega={base.omega:.6g} >= log(1/s)/(2 rho)={half:.6g}"
        ),
        _Condition(half >= 3 * room, f"log(1/s)/(2 rho)={half:.6g} >= 3"),
    )
    return TruncatedCdp(
        above(_PUBLISHED_CONSTANT * s * s * rho, 4), below(log_inverse / (4 * rho), 4)
    )


def with_replacement_closed(
    base: TruncatedCdp, *, dataset_size: int, batch_size: int, largest_copies: int
) -> ApproximateTruncatedCdp:
    """Amplification by independent uniform draws, in closed form with constant 11.

    Parameters
    ----------
    base : TruncatedCdp
        Curve of the mechanism on a batch of m records, for replacing one position.
    dataset_size, batch_size : int
        n >= 2 and m; s = m/(n-1).
    largest_copies : int
        kappa >= 1: more copies of the record than this are a failure, whose probability is
        carried.

    Returns
    -------
    ApproximateTruncatedCdp
        (11 s^2 rho, min(omega/kappa, log 2/(kappa^2 rho), 1/(16 s)) - 1) with failure
        probability P(Bin(m, 1/n) > kappa), under REPLACE_ONE; derived in
        docs/proofs/truncated-cdp.md.

    Raises
    ------
    OutsideRegionError
        Unless s <= 1/20, kappa^2 rho <= 1/10 and the curve keeps an order above 1 (which
        needs s < 1/32).
    """
    n = validation.whole(dataset_size, "dataset_size", 2)
    m = validation.whole(batch_size, "batch_size", 1)
    kappa = min(validation.whole(largest_copies, "largest_copies", 1), m)
    if base.rho == 0:
        return ApproximateTruncatedCdp(TruncatedCdp(0.0))
    s, grouped = m / (n - 1), kappa * kappa * base.rho
    ends = {
        "omega/kappa": base.omega / kappa,
        "log 2/(kappa^2 rho)": math.log(2) / grouped,
        "1/(16 s)": 1 / (16 * s),
    }
    name = min(ends, key=lambda key: ends[key])
    omega = below(ends[name] - 1, 4)
    _refuse_unless(
        "amplification with replacement, closed form",
        f"rho={base.rho:.6g}, omega={base.omega:.6g}, s=m/(n-1)={s:.6g}, kappa={kappa}",
        _Condition(20 * m <= n - 1, f"s <= 1/20 (is {s:.6g})"),
        # The constant leaves room for the rounding of kappa^2 rho.
        _Condition(grouped <= 0.1 * (1 + 1e-9), f"kappa^2 rho <= 1/10 (is {grouped:.6g})"),
        _Condition(omega > 1, f"{name} - 1 > 1 (is {omega:.6g})"),
    )
    tail = CopyLaw.of(m, 1 / n, largest=kappa).tail
    return ApproximateTruncatedCdp(TruncatedCdp(above(CONSTANT * s * s * base.rho, 4), omega), tail)


def _refuse_unless(theorem: str, numbers: str, *conditions: _Condition) -> None:
    failing = [condition.text for condition in conditions if not condition.holds]
    if failing:
        raise OutsideRegionError(f"{theorem}, {numbers}: needs {'; '.join(failing)}")
