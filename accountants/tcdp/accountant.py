"""Truncated concentrated privacy as a dp_accounting ``PrivacyAccountant``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation
from accountants.counting import CountingAccountant
from accountants.extremes import moderate
from accountants.tcdp import orders
from accountants.tcdp.amplification import OutsideRegionError
from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp
from accountants.tcdp.families import (
    METHODS,
    Family,
    NoTheoremError,
    copy_law,
    family,
    require_theorem,
)
from accountants.walk import Leaf, Release

# Orders in the scan that chooses truncations and in each closer one around its best; the last
# ones lie 1e-5 apart, relative to omega - 1.
_SCAN, _REFINED, _PASSES = 28, 9, 8
_FINALISTS = 4
_Convert = Callable[[ApproximateTruncatedCdp], float]


class TruncatedCdpAccountant(CountingAccountant):
    """(ε, δ) of adaptive compositions by way of truncated concentrated privacy.

    For comparison and for statements that need a curve; ``ExactAccountant`` is tighter.  Every
    answer is an upper end.  Where a record may be drawn several times, the number of copies is
    cut off and the probability of more is carried in δ.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation
        Default ADD_OR_REMOVE_ONE.
    method : {"gaussian", "gaussian-closed", "agnostic", "agnostic-closed"}
        How sampling amplifies: from the Gaussian profile, numerically (default) or in closed
        form; or from the base curve alone, numerically or by closed theorems (without
        replacement the published one, with replacement the one with constant 11).

    Raises
    ------
    ValueError
        If the relation or the method is unknown.

    References
    ----------
    Derived in docs/proofs/truncated-cdp.md, except for the published theorem without
    replacement, which is cited (Bun, Dwork, Rothblum and Steinke, STOC 2018).

    Examples
    --------
    >>> import dp_accounting
    >>> step = dp_accounting.SampledWithReplacementDpEvent(
    ...     50000, 256, dp_accounting.GaussianDpEvent(8.0)
    ... )
    >>> accountant = TruncatedCdpAccountant(NeighboringRelation.REPLACE_ONE)
    >>> round(accountant.compose(step, 1000).get_epsilon(1e-6), 3)
    0.537
    """

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        method: str = "gaussian",
    ) -> None:
        super().__init__(neighboring_relation)
        validation.require(method in METHODS, "method", method, f"one of {', '.join(METHODS)}")
        self._method = method

    def settings(self) -> dict[str, Any]:
        """Constructor arguments as JSON values, the relation by name."""
        return {"neighboring_relation": self.neighboring_relation.name, "method": self._method}

    def _refusal(self, found: Sequence[Leaf]) -> str:
        try:
            for leaf in found:
                if isinstance(leaf, Release) and copy_law(leaf, 0.5) is not None:
                    require_theorem(leaf, self.neighboring_relation, self._method)
        except NoTheoremError as error:
            return str(error)
        return ""

    def _moderated(self, release: Release) -> Release | None:
        return moderate(release)

    def curve(self, omega: float = math.inf, tail: float = 1e-12) -> ApproximateTruncatedCdp:
        """A truncated curve of everything composed so far.

        Parameters
        ----------
        omega : float
            Order at which it ends; ``inf`` only without sampling.
        tail : float
            In (0, 1): probability of more copies of a record in one batch than are counted.

        Returns
        -------
        ApproximateTruncatedCdp

        Raises
        ------
        ValueError
            If an argument is outside its domain or the method does not reach ``omega``.
        """
        allowed = "a number in (0, 1)"
        tail = validation.real("tail", tail, allowed)
        validation.require(0 < tail < 1, "tail", tail, allowed)
        if self._non_private:
            raise ValueError(f"omega={omega!r}: a release without privacy has no curve")
        found = family(self._counts, self.neighboring_relation, self._method, tail)
        if found.members:
            allowed = "a finite order > 1 where batches are sampled"
            omega = validation.real("omega", omega, allowed)
            validation.require(1 < omega < math.inf, "omega", omega, allowed)
        curve = found.curve(omega)
        if curve.curve.rho == math.inf:
            raise OutsideRegionError(f"omega={omega!r}: method {self._method!r} does not reach it")
        return curve

    def get_epsilon(self, target_delta: float) -> float:
        """Smallest ε over the curves and truncations tried, rounded up.

        Parameters
        ----------
        target_delta : float
            δ in [0, 1].

        Raises
        ------
        ValueError
            If ``target_delta`` is outside [0, 1].
        """
        delta = validation.target_delta(target_delta)
        if self._non_private:
            return math.inf
        if not self._counts or delta == 1:
            return 0.0
        if delta == 0:
            return math.inf
        log_delta = math.log(delta)

        def reach(least: float) -> float:
            return orders.order_for_epsilon(least, log_delta)

        return self._best(delta, math.inf, reach, lambda curve: curve.epsilon(delta))

    def get_delta(self, target_epsilon: float) -> float:
        """Smallest δ over the curves and truncations tried, rounded up.

        Parameters
        ----------
        target_epsilon : float
            ε in [0, inf].

        Raises
        ------
        ValueError
            If ``target_epsilon`` is negative or NaN.
        """
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return 1.0
        if not self._counts:
            return 0.0
        if epsilon == math.inf:
            # A curve of finite slope leaves nothing there; only failures stay.
            return family(self._counts, self.neighboring_relation, self._method, 5e-324).failure

        def reach(least: float) -> float:
            return max(1e-6, orders.order_for_delta(least, epsilon))

        return self._best(1.0, 1.0, reach, lambda curve: curve.delta(epsilon))

    def _best(
        self, delta: float, worst: float, reach: Callable[[float], float], convert: _Convert
    ) -> float:
        """Smallest converted value over the families; each of their curves is valid."""
        tried: list[tuple[float, int, Family]] = []
        refused, best = None, worst
        # What no truncation avoids: failures of oracle calls.
        kept = sum(n * math.log1p(-min(r.failure, 1 - 1e-16)) for r, n in self._counts.items())
        floor = -math.expm1(kept) if kept < 0 else 0.0
        if floor > 0 and floor >= delta:
            return worst
        for found in self._families(delta):
            if found.failure >= delta:
                continue
            try:
                value = _smallest(found, reach, convert, (_SCAN,))
            except OutsideRegionError as error:
                refused = refused or error
            else:
                tried.append((value, len(tried), found))
                best = min(best, value)
            # Fewer failures cannot help once they hardly count.
            room = (delta if worst == math.inf else best) - floor
            if found.failure - floor <= max(1e-4 * room, 1e-7 * floor):
                break
        if not tried and refused is not None:
            raise refused
        for _, _, found in sorted(tried)[:_FINALISTS]:
            best = min(best, _smallest(found, reach, convert, (_SCAN, *[_REFINED] * _PASSES)))
        return best

    def _families(self, delta: float) -> Iterator[Family]:
        """Families with fewer and fewer failures; one only where nothing is cut off."""
        uses = sum(self._counts.values())
        seen: set[tuple[int, ...]] = set()
        for quarter in range(1300):
            tail = delta / uses * 10.0 ** (-quarter / 4)
            found = family(self._counts, self.neighboring_relation, self._method, max(tail, 5e-324))
            kappas = tuple(member.law.largest for member in found.members)
            if kappas not in seen:
                seen.add(kappas)
                yield found
            if found.failure == 0 or tail == 0:
                return


def _smallest(
    found: Family, reach: Callable[[float], float], convert: _Convert, passes: Sequence[int]
) -> float:
    """Smallest converted value over curves of one family; the search need not be exact.

    Each pass tries that many orders, the later ones around the best of the pass before.
    """
    if not found.members:
        return convert(found.curve(math.inf))
    best = math.inf
    if found.method != "agnostic-closed":  # there the theorems alone
        best = convert(found.without_sampling())
    least = found.least_rho()
    if not 0 < least < math.inf:
        return best
    # Past the best order of the smallest slope a longer curve only costs more.
    last = min(found.useful_omega(least), 1 + 1.05 * reach(least))
    high = math.log(last - 1)
    low = high - 7
    for number in passes:
        at = np.linspace(low, high, number)
        omegas = 1 + np.exp(at)
        if found.method == "agnostic":
            omegas = np.ceil(omegas)  # between integers rho does not change
        values = [
            convert(ApproximateTruncatedCdp(TruncatedCdp(rho, omega), found.failure))
            for rho, omega in zip(found.rho(omegas).tolist(), omegas.tolist(), strict=True)
        ]
        place = int(np.argmin(values))
        best = min(best, values[place])
        low, high = at[max(place - 1, 0)], at[min(place + 1, number - 1)]
    return best
