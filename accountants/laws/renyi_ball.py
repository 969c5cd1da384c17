"""Rényi divergences that no correct accountant may go below, in ball arithmetic.

Only where they have a finite closed form: unsampled Gaussian releases at any order, Poisson samples
at whole orders (the binomial theorem), and compositions of them.  For one release in noise units
with P = (1-q) N(0) + q N(s) and Q = N(0),

    exp((a-1) D_a(P || Q)) = sum_k C(a, k) (1-q)^(a-k) q^k exp(k (k-1) s^2 / 2).

Divergences of a composition of attained pairs add up, so the sum is attained too.
"""

from __future__ import annotations

from typing import Any

import dp_accounting
import flint
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.sampling import Poisson
from accountants.walk import NonPrivate, UnsupportedLeaf, leaves

_MOST_TERMS = 4096
_BITS = 256


def too_small(
    event: dp_accounting.DpEvent, relation: NeighboringRelation, order: float, value: float
) -> str | None:
    """A sentence that proves ``value`` to be below the Rényi divergence of ``order``.

    Parameters
    ----------
    event : DpEvent
    relation : NeighboringRelation
    order : float
        Greater than 1.
    value : float
        In nats.

    Returns
    -------
    str or None
        None where there is no closed form or ``value`` is not below it.
    """
    before = flint.ctx.prec
    flint.ctx.prec = _BITS
    try:
        total = flint.arb(0)
        for leaf, count in leaves(event, 1, relation):
            if isinstance(leaf, NonPrivate) or leaf.noise_multiplier == 0:
                return "a release without noise has an infinite divergence"
            if not isinstance(leaf.sampling, Poisson):
                return None
            shift = 2 if relation is NeighboringRelation.REPLACE_ONE else 1
            one = _divergence(
                leaf.sampling.sampling_probability, leaf.noise_multiplier, shift, order
            )
            if one is None:
                return None
            total += one * count
        if total > flint.arb(value):
            return f"ball arithmetic: the divergence is {total.str(12)}"
    except (UnsupportedLeaf, ValueError):
        return None
    finally:
        flint.ctx.prec = before
    return None


def _divergence(q: float, sigma: float, shift: int, order: float) -> Any:
    s = flint.arb(shift) / flint.arb(sigma)
    if q == 1:
        return flint.arb(order) * s * s / 2
    if q == 0:
        return flint.arb(0)
    if shift != 1 or order != int(order) or order > _MOST_TERMS:
        return None
    a = int(order)
    present, absent = flint.arb(q), 1 - flint.arb(q)
    total, weight = flint.arb(0), absent**a
    for k in range(a + 1):
        total += weight * (s * s * (k * (k - 1)) / 2).exp()
        weight = weight * (a - k) / (k + 1) * present / absent
    return total.log() / (a - 1)
