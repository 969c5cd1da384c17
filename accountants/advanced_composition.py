"""The classical accountant: each step's own (ε, δ), put together by advanced composition.

For comparison: it forgets everything about a step but one point of its profile, and loses against
every accountant that follows the whole of it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from dp_accounting.privacy_accountant import NeighboringRelation
from scipy import optimize

from accountants import validation
from accountants.counting import CountingAccountant
from accountants.errors import AccuracyError
from accountants.exact import two_sided
from accountants.exact.domination import is_exact, upper_run
from accountants.exact.run import Run
from accountants.extremes import moderate
from accountants.relations import directions_of
from accountants.rounding import above, below
from accountants.tcdp.advanced import Steps, dwork_rothblum_vadhan_mixed
from accountants.walk import Release

__all__ = ["SLACK_SHARES", "AdvancedCompositionAccountant"]

#: Shares of δ that the composition theorem may take, the rest going to the steps; hand-chosen.
#: 0 stands for basic composition, which needs none.
SLACK_SHARES = (0.0, *(2.0**-j for j in range(10, 3, -1)), 1 / 7, 0.2, 0.3, 0.5)

_TOLERANCE = 1e-8  # of log δ, where δ is looked for
_SHARE = 1e-8  # of δ that truncations may take
_FAR = 5.0  # log of ratios of ε beyond which their size does not matter
_FIRST, _LEAST = -12.0, -690.0  # log δ where the search starts, and below which it does not go


class AdvancedCompositionAccountant(CountingAccountant):
    """(ε, δ) of adaptive compositions from the (ε, δ) of every step alone.

    The steps' own ε are the upper ends of `ExactAccountant` for one use, at equal δ a use; they
    are composed by the theorem of Dwork, Rothblum and Vadhan, in its form for steps that differ,
    or added up where that is less.  Every answer is an upper end.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation
        Default ADD_OR_REMOVE_ONE.  Noise multipliers are relative to the clip norm under every
        relation: replacing a record moves the sum by up to twice that norm.
    shares : sequence of float
        In [0, 1): shares of δ that are tried for the slack of the theorem (0: basic
        composition).  The smallest ε over them is returned; each is valid by itself.

    Raises
    ------
    ValueError
        If the relation is unknown or a share outside its domain.

    References
    ----------
    Dwork, Rothblum and Vadhan, FOCS 2010; Dwork and Roth 2014, theorem 3.20.

    Examples
    --------
    >>> import dp_accounting
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    >>> accountant = AdvancedCompositionAccountant().compose(step, 1000)
    >>> round(accountant.get_epsilon(1e-6), 3) > 2.125  # the exact one's
    True
    """

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        shares: Sequence[float] = SLACK_SHARES,
    ) -> None:
        super().__init__(neighboring_relation)
        allowed = "numbers in [0, 1), at least one"
        values = validation.reals("shares", shares, allowed)
        validation.require(values.ndim == 1 and values.size > 0, "shares", shares, allowed)
        for share in values.tolist():
            validation.require(0 <= share < 1, "shares", share, allowed)
        self._shares = tuple(values.tolist())

    def settings(self) -> dict[str, Any]:
        """Constructor arguments as JSON values, the relation by name."""
        relation = self.neighboring_relation.name
        return {"neighboring_relation": relation, "shares": list(self._shares)}

    def _moderated(self, release: Release) -> Release | None:
        return moderate(release)

    def epsilon_and_share(self, target_delta: float) -> tuple[float, float]:
        """Smallest ε for ``target_delta``, and the share of δ that gave it (NaN where none did).

        Parameters
        ----------
        target_delta : float
            δ in [0, 1].

        Returns
        -------
        (float, float)

        Raises
        ------
        ValueError
            If ``target_delta`` is outside [0, 1].
        AccuracyError
            If the exact accountant cannot bound a step at any of the δ that it may have.
        """
        delta = validation.target_delta(target_delta)
        if self._non_private:
            return math.inf, math.nan
        if not self._counts or delta == 1:
            return 0.0, math.nan
        best, refused = (math.inf, math.nan), None
        answered = False
        for share in self._shares:
            try:
                value = self._composed(share, delta)
            except AccuracyError as error:
                refused = error
                continue
            answered = True
            best = min(best, (value, share))
        if not answered and refused is not None:
            raise refused
        return best if best[0] < math.inf else (math.inf, math.nan)

    def _composed(self, share: float, delta: float) -> float:
        """ε where ``share`` of δ is the theorem's and every use has as much of the rest."""
        uses = sum(self._counts.values())
        own, slack = below((1 - share) * delta / uses, 4), below(share * delta, 2)
        parts = []
        for release, epsilon in self._alone(own):
            if epsilon == math.inf:
                return math.inf
            parts.append(Steps(epsilon, own, self._counts[release]))
        if share == 0:
            return above(math.fsum(part.count * part.epsilon for part in parts), 4)
        return dwork_rothblum_vadhan_mixed(parts, slack)[0] if slack > 0 else math.inf

    def _alone(self, delta: float) -> Iterator[tuple[Release, float]]:
        """ε of one use of each release, at ``delta``."""
        for release in self._counts:
            yield release, epsilon_alone(release, self.neighboring_relation, delta)

    def get_epsilon(self, target_delta: float) -> float:
        """Smallest ε over the splits of ``target_delta``; see ``PrivacyAccountant``."""
        return self.epsilon_and_share(target_delta)[0]

    def get_delta(self, target_epsilon: float) -> float:
        """A δ at which ``get_epsilon`` is at most ``target_epsilon``, the smallest by root finding.

        Raises
        ------
        ValueError
            If ``target_epsilon`` is negative or NaN.
        """
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return 1.0
        if not self._counts or epsilon == math.inf:
            return 0.0

        def excess(log_delta: float) -> float:
            with contextlib.suppress(AccuracyError):
                found = self.get_epsilon(math.exp(log_delta))
                if found <= epsilon:
                    return max(math.log(found / epsilon), -_FAR) if found > 0 else -_FAR
                return min(math.log(found / epsilon), _FAR) if epsilon > 0 else _FAR
            return _FAR

        low, high = _FIRST, 0.0
        while excess(low) <= 0:
            if low <= _LEAST:
                return math.exp(low)
            low, high = max(2 * low, _LEAST), low
        # Rounding may leave the root on the wrong side: only what was evaluated is returned.
        root = float(optimize.brentq(excess, low, high, xtol=_TOLERANCE))
        reach = 0.0
        while root + reach < 0:
            if excess(root + reach) <= 0:
                return math.exp(root + reach)
            reach = max(2 * reach, _TOLERANCE)
        return 1.0


def epsilon_alone(release: Release, relation: NeighboringRelation, delta: float) -> float:
    """The upper end of ε of one use of a release, as `ExactAccountant` has it.

    Parameters
    ----------
    release : Release
        With noise, of moderate size (``extremes.moderate``).
    relation : NeighboringRelation
    delta : float
        At most 1; nothing is claimed at 0 or below.
    """
    if not delta > 0:
        return math.inf
    counts, directions = {release: 1}, directions_of(relation)
    if is_exact(counts, relation):
        return two_sided.epsilon_upper(counts, relation, directions, delta)
    runs = _runs(release, relation, math.floor(math.log10(delta)))
    return max(two_sided.upper_epsilon(run, delta) for run in runs)


@lru_cache(maxsize=256)
def _runs(release: Release, relation: NeighboringRelation, exponent: int) -> tuple[Run, ...]:
    """Dominating runs of one use, fit for δ of one power of ten."""
    tail = max(_SHARE * 10.0**exponent, 1e-300)
    return tuple(
        upper_run({release: 1}, relation, direction, tail) for direction in directions_of(relation)
    )
