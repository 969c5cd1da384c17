"""One truncated curve for every end point omega, of everything that was composed.

A sampled release has no single best curve: a larger omega costs a larger rho.  A *family* gives
the total rho as a function of omega and one failure probability; each member is a valid
statement about the whole run, so that a conversion may take the best of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from accountants import relations
from accountants.copies import CopyLaw, copies_for_tail, copy_law_of
from accountants.errors import AccuracyError
from accountants.relations import NeighboringRelation
from accountants.rounding import above
from accountants.sampling import (
    GroupedPoisson,
    OracleDraws,
    Poisson,
    Repeating,
    ShuffledEpochs,
    TruncatedPoisson,
    WithoutReplacement,
    WithReplacement,
)
from accountants.tcdp import agnostic, amplification, sampled_gaussian, slopes
from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp
from accountants.truncated import cut_probability
from accountants.walk import Release

Array = NDArray[np.float64]

_MANY = 64  # copies past which sampling is not used

#: Theorems that amplify by sampling, by name.
METHODS = ("gaussian", "gaussian-closed", "agnostic", "agnostic-closed")


class NoTheoremError(ValueError):
    """The chosen method has no theorem for a release."""


@dataclass(frozen=True)
class Member:
    """One sampled release and how often it is used.

    Attributes
    ----------
    release : Release
    count : int
        Uses, > 0.
    law : CopyLaw
        Number of copies of a record in a batch.
    gap : float
        Shift of one copy over the noise standard deviation.
    """

    release: Release
    count: int
    law: CopyLaw
    gap: float

    @property
    def unsampled(self) -> float:
        """Slope for the largest number of copies, at all orders: what sampling cannot exceed."""
        return above(0.5 * (self.law.largest * self.gap) ** 2, 4)

    @property
    def base(self) -> TruncatedCdp:
        """Curve for one position of a batch."""
        return TruncatedCdp(above(self.gap * self.gap / 2, 3))


@dataclass(frozen=True)
class Family:
    """Total rho for every omega.

    Attributes
    ----------
    unsampled : TruncatedCdp
        Releases without sampling, together.
    members : tuple of Member
    method : str
        Which theorem amplifies.
    failure : float
        Failure probability of the whole run, whatever omega.
    """

    unsampled: TruncatedCdp
    members: tuple[Member, ...]
    method: str
    failure: float

    def rho(self, omega: Array) -> Array:
        """Total rho at each omega; ``inf`` where the method does not reach."""
        total = np.full(omega.shape, self.unsampled.rho)
        for member in self.members:
            total += member.count * _RULES[self.method](member, omega) * (1 + 1e-15)
        return total * (1 + 1e-14)

    def without_sampling(self) -> ApproximateTruncatedCdp:
        """The curve that has no end, from the largest number of copies."""
        terms = [member.count * member.unsampled for member in self.members]
        total = math.fsum([self.unsampled.rho, *terms]) * (1 + 1e-14)
        return ApproximateTruncatedCdp(TruncatedCdp(total), self.failure)

    def curve(self, omega: float) -> ApproximateTruncatedCdp:
        """The member of the family that ends at ``omega``."""
        if not self.members:
            return ApproximateTruncatedCdp(self.unsampled, self.failure)
        rho = float(self.rho(np.array([omega]))[0])
        return ApproximateTruncatedCdp(TruncatedCdp(rho, omega), self.failure)

    def least_rho(self) -> float:
        """A slope, to rounding, below that of every curve of the family."""
        terms = [member.count * _least(member, self.method) for member in self.members]
        return math.fsum([self.unsampled.rho, *terms])

    def useful_omega(self, least: float) -> float:
        """Order past which the curve of some release has exploded, or its theorem ends."""
        return min((_useful(member, self.method, least) for member in self.members), default=0.0)


def family(
    counts: Mapping[Release, int],
    relation: NeighboringRelation,
    method: str,
    tail: float,
) -> Family:
    """The family of a run in which each step fails with probability at most ``tail``.

    Parameters
    ----------
    counts : mapping of Release to int
        Releases with noise and their numbers of uses.
    relation : NeighboringRelation
    method : str
        One of ``METHODS``.
    tail : float
        Bound on P(K > kappa) by which the largest number of copies is chosen.

    Returns
    -------
    Family

    Raises
    ------
    NoTheoremError
        If ``method`` does not cover a release.
    """
    unsampled, members, log_survival = TruncatedCdp(0.0), [], 0.0
    for release, count in counts.items():
        shift = relations.rule(release.sampling.scheme, relation).shift
        gap = shift / release.noise_multiplier
        law = copy_law(release, tail)
        if law is None:
            part = TruncatedCdp(above(gap * gap / 2, 3)).repeated(count)
            unsampled = unsampled.compose(part)
            continue
        require_theorem(release, relation, method)
        members.append(Member(release, count, law, gap))
        log_survival += count * math.log1p(-law.tail) if law.tail < 1 else -math.inf
    failure = min(1.0, above(-math.expm1(log_survival), 8)) if log_survival else 0.0
    return Family(unsampled, tuple(members), method, failure)


def copy_law(release: Release, tail: float) -> CopyLaw | None:
    """Copies of one record in a batch; None where every batch has the record for sure."""
    sampling = release.sampling
    if isinstance(sampling, ShuffledEpochs):
        return None  # one full release for each record and epoch
    if isinstance(sampling, Repeating):
        draws, probability = sampling.batch_size, sampling.draw_probability
        try:
            largest = copies_for_tail(draws, probability, tail)
        except AccuracyError:
            largest = min(draws, 400)
        try:
            return copy_law_of(sampling, largest)
        except AccuracyError:  # hardly ever absent: any law, and a failure that says nothing
            return CopyLaw((0.5, 0.5), 1.0)
    if isinstance(sampling, (Poisson, WithoutReplacement, TruncatedPoisson)):
        q = sampling.sampling_probability
        failure = cut_probability(sampling) if isinstance(sampling, TruncatedPoisson) else 0.0
        return CopyLaw((1 - q, q), failure) if q < 1 or failure else None
    if isinstance(sampling, GroupedPoisson):
        raise TypeError("truncated concentrated privacy is accounted for single records")
    assert_never(sampling)


def require_theorem(release: Release, relation: NeighboringRelation, method: str) -> None:
    """Raise ``NoTheoremError`` unless ``method`` covers the release, naming the nearest."""
    sampling = release.sampling
    if isinstance(sampling, OracleDraws) and method.startswith("agnostic"):
        raise NoTheoremError(
            "of an oracle call only the profile up to a failure is known, which says nothing "
            "about moments of three laws at once; use method='gaussian' or 'gaussian-closed'"
        )
    if method != "agnostic-closed":
        return
    nearest = "use method='agnostic' or 'gaussian', which cover it"
    if isinstance(sampling, WithoutReplacement):
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            raise NoTheoremError(
                "the published theorem without replacement is for replacing a record, not for "
                f"{relation.name}; {nearest}"
            )
    elif not isinstance(sampling, WithReplacement):
        raise NoTheoremError(
            f"no closed mechanism-agnostic theorem for {sampling.scheme} sampling; {nearest}"
        )


def _gaussian(member: Member, omega: Array) -> Array:
    if member.law.largest > _MANY:
        return np.full(omega.shape, member.unsampled)
    return slopes.best_slope(member.law, member.gap, omega)


def _gaussian_closed(member: Member, omega: Array) -> Array:
    # A curve up to 2 is also one up to any order below.
    return sampled_gaussian.closed_rho(member.law, member.gap, np.maximum(omega, 2.0))


def _agnostic(member: Member, omega: Array) -> Array:
    return agnostic.best_rho(member.law, member.base, omega)


def _agnostic_closed(member: Member, omega: Array) -> Array:
    curve = _closed_curve(member)
    return np.where(omega <= curve.omega, curve.rho, np.inf)


def _closed_curve(member: Member) -> TruncatedCdp:
    sampling, base = member.release.sampling, member.base
    if isinstance(sampling, WithoutReplacement):
        return amplification.without_replacement_published(
            base, dataset_size=sampling.dataset_size, batch_size=sampling.batch_size
        )
    assert isinstance(sampling, WithReplacement)
    return amplification.with_replacement_closed(
        base,
        dataset_size=sampling.dataset_size,
        batch_size=sampling.batch_size,
        largest_copies=member.law.largest,
    ).curve


_RULES: dict[str, Callable[[Member, Array], Array]] = {
    "gaussian": _gaussian,
    "gaussian-closed": _gaussian_closed,
    "agnostic": _agnostic,
    "agnostic-closed": _agnostic_closed,
}


def _least(member: Member, method: str) -> float:
    if method == "agnostic-closed":
        return _closed_curve(member).rho
    if method == "agnostic":
        return float(_agnostic(member, np.array([2.0]))[0])
    return float(_gaussian(member, np.array([1 + 1e-9]))[0])


def _useful(member: Member, method: str, least: float) -> float:
    """Order at which (p_k/eta) eta^w exp(w(w-1) k^2 gap^2/2) passes e^20 of the total rho."""
    if method == "agnostic-closed":
        return _closed_curve(member).omega
    eta = member.law.present
    if method == "agnostic":
        limit = 1000.0
    else:
        # What the quadrature can do in a fraction of a second.
        t = member.law.largest * member.gap
        limit = min(300 / t, (1600 / t**2) ** (2 / 3), 80 / (t * math.sqrt(eta)))
    room = 20 + max(0.0, math.log(max(least, 5e-324) / member.count))
    k = np.arange(1, member.law.largest + 1)
    log_p = np.log(np.array(member.law.probabilities[1:]) / eta)
    c = 0.5 * np.square(k * member.gap)
    b = max(0.0, -math.log(eta))
    # c w^2 - (c + b) w = room - log_p
    w = ((c + b) + np.sqrt(np.square(c + b) + 4 * c * (room - log_p))) / (2 * c)
    return float(max(min(w.min(), limit), 1 + 1e-6))
