"""Approximate Rényi differential privacy: a curve that holds up to a small mass δ.

Two definitions are in use and must not be mixed up.

* *Conditional*: P = (1-δ) P' + δ E and Q = (1-δ) Q' + δ F for some laws E and F, and D(P'||Q')
  is at most the curve.  It composes, and converts to (ε, δ + (1-δ) δ') where the curve alone
  gives (ε, δ').
* *Smoothed*: P' and Q' lie within total variation δ of P and Q.  It converts to
  (ε, δ' + δ (1 + exp(ε))) only, since Q'(S) <= Q(S) + δ is multiplied by exp(ε).

Conditional implies smoothed, not the reverse.  No statement on groups is made for either: the
parts that are set aside for different pairs of neighbours need not agree (derived in
docs/proofs/renyi.md).
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from accountants import validation
from accountants.renyi import conversion
from accountants.renyi.series import ROUND


class Definition(enum.Enum):
    """What the mass δ means."""

    CONDITIONAL = "conditional"
    SMOOTHED = "smoothed"


@dataclass(frozen=True)
class ApproximateRenyi:
    """A Rényi curve at given orders that holds up to mass ``delta``.

    Parameters
    ----------
    orders : sequence of float
        Finite, > 1, increasing.
    divergences : sequence of float
        In nats, >= 0 or ``inf``; of the conditional (or smoothed) pair.
    delta : float
        In [0, 1].
    definition : Definition
        Default CONDITIONAL.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    """

    orders: tuple[float, ...]
    divergences: tuple[float, ...]
    delta: float = 0.0
    definition: Definition = Definition.CONDITIONAL

    def __post_init__(self) -> None:
        orders = _numbers("orders", self.orders)
        values = _numbers("divergences", self.divergences)
        increasing = all(a < b for a, b in itertools.pairwise(orders))
        good = bool(orders) and increasing and orders[0] > 1 and orders[-1] < math.inf
        allowed = "finite numbers > 1, increasing, at least one"
        validation.require(good, "orders", self.orders, allowed)
        good = len(values) == len(orders) and min(values) >= 0
        allowed = "numbers >= 0, one for each order"
        validation.require(good, "divergences", self.divergences, allowed)
        delta = validation.real("delta", self.delta, "a number in [0, 1]")
        validation.require(0 <= delta <= 1, "delta", self.delta, "a number in [0, 1]")
        good = isinstance(self.definition, Definition)
        validation.require(good, "definition", self.definition, "a Definition")
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "divergences", values)
        object.__setattr__(self, "delta", delta)

    def compose(self, other: ApproximateRenyi) -> ApproximateRenyi:
        """Adaptive composition with another curve at the same orders and of the same kind.

        Divergences add; δ becomes 1 - (1-δ)(1-δ') (conditional) or δ + δ' (smoothed).

        Raises
        ------
        ValueError
            If orders or definitions differ.
        """
        validation.require(
            other.orders == self.orders, "orders", other.orders, "the same in both curves"
        )
        validation.require(
            other.definition is self.definition,
            "definition",
            other.definition,
            f"{self.definition}, as in the other curve; a conditional curve can be weakened by "
            "smoothed()",
        )
        pairs = zip(self.divergences, other.divergences, strict=True)
        return self._with([a + b for a, b in pairs], self.delta, other.delta)

    def repeat(self, count: int) -> ApproximateRenyi:
        """``count``-fold adaptive composition, ``count`` >= 0."""
        count = validation.whole(count, "count")
        total = [count * d if count else 0.0 for d in self.divergences]
        if self.delta == 1 and count:
            delta = 1.0
        elif self.definition is Definition.CONDITIONAL:
            delta = -math.expm1(count * math.log1p(-self.delta)) if count else 0.0
        else:
            delta = count * self.delta
        return self._with(total, delta, 0.0)

    def _with(self, values: Sequence[float], first: float, second: float) -> ApproximateRenyi:
        if self.definition is Definition.CONDITIONAL:
            delta = first + second * (1 - first)
        else:
            delta = first + second
        up = 1 + 8 * ROUND
        divergences = tuple(d * up for d in values)
        return ApproximateRenyi(self.orders, divergences, min(1.0, delta * up), self.definition)

    def smoothed(self) -> ApproximateRenyi:
        """The same curve under the weaker definition, that of smoothing."""
        return ApproximateRenyi(self.orders, self.divergences, self.delta, Definition.SMOOTHED)

    def get_delta(self, target_epsilon: float) -> float:
        """δ of (``target_epsilon``, δ)-differential privacy, in [0, 1].

        Raises
        ------
        ValueError
            If ``target_epsilon`` is negative or NaN.
        """
        epsilon = validation.target_epsilon(target_epsilon)
        if epsilon == math.inf:
            return self.delta if self.definition is Definition.CONDITIONAL or not self.delta else 1
        logs = conversion.log_deltas(np.array(self.orders), np.array(self.divergences), epsilon)
        own = math.exp(float(logs.min()))
        return carried(own, self.delta, epsilon, self.definition)

    def get_epsilon(self, target_delta: float) -> float:
        """Smallest ε >= 0 with ``get_delta(ε)`` at most ``target_delta``; ``inf`` if there is none.

        Raises
        ------
        ValueError
            If ``target_delta`` is outside [0, 1].
        """
        delta = validation.target_delta(target_delta)
        if delta == 1:
            return 0.0
        if self.definition is Definition.CONDITIONAL:
            rest = (delta - self.delta) / (1 - self.delta) if self.delta < 1 else -1.0
            rest *= 1 - 4 * ROUND
            if rest <= 0:
                return math.inf
            orders, divergences = np.array(self.orders), np.array(self.divergences)
            found = conversion.epsilons(orders, divergences, math.log(rest))
            return float(found.min()) * conversion.APART
        return self._smoothed_epsilon(delta)

    def _smoothed_epsilon(self, delta: float) -> float:
        """One side falls and the other rises in ε: solve left of the minimum."""
        if self.get_delta(0.0) <= delta:
            return 0.0
        top = max(self.orders[0], 2.0) * 1e3
        if self.delta > 0:
            top = min(top, math.log(max(2.0, delta / self.delta)))
        trial = optimize.minimize_scalar(
            lambda e: math.log(self.get_delta(float(e)) + 5e-324),
            bounds=(0.0, top),
            method="bounded",
        )
        low, high = 0.0, float(trial.x)
        if self.get_delta(high) > delta:
            return math.inf
        for _ in range(200):
            middle = 0.5 * (low + high)
            if self.get_delta(middle) <= delta:
                high = middle
            else:
                low = middle
        return high


def carried(own: float, delta: float, epsilon: float, definition: Definition) -> float:
    """δ of the whole where the curve alone gives ``own`` and holds up to ``delta``; at most 1.

    Parameters
    ----------
    own, delta : float
        In [0, 1].
    epsilon : float
        >= 0.
    definition : Definition

    Returns
    -------
    float
        Rounded up.
    """
    if definition is Definition.CONDITIONAL:
        total = delta + (1 - delta) * own
    elif delta == 0:
        total = own
    else:
        total = own + delta * (1 + math.exp(min(epsilon, 700.0)))
    return min(1.0, total * (1 + 4 * ROUND))


def _numbers(name: str, values: Sequence[float]) -> tuple[float, ...]:
    try:
        return tuple(validation.real(name, value, "numbers") for value in values)
    except TypeError:
        raise ValueError(f"{name}={values!r}: must be numbers") from None
