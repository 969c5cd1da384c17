"""Which moments a pair has: sums over outputs, or over nodes of the loss."""

from __future__ import annotations

from accountants.exact.cumulants import MomentTable, TiltedPair
from accountants.exact.node_law import ClosedPair, NodeMoments, ProfilePair
from accountants.pairs import MixturePair, SampledGaussianPair

#: Every kind of dominating pair; what they have in common is told in `accountants.pairs`.
AnyPair = SampledGaussianPair | MixturePair | ProfilePair | ClosedPair
#: Moments of one release: by sums over outputs, or over nodes of the loss.
Moments = MomentTable | NodeMoments


def moment_table(pair: AnyPair, top_tilt: float) -> Moments:
    """Moments of one release at tilts 0..``top_tilt``."""
    if isinstance(pair, (ProfilePair, ClosedPair)):
        return pair.moment_table(top_tilt)
    return MomentTable(pair, top_tilt)


def tilted(pair: AnyPair, moments: Moments, tilt: float, refine: float) -> TiltedPair:
    """One release tilted by ``tilt``; ``refine`` below 1 asks for finer sums over outputs."""
    if isinstance(moments, NodeMoments):
        return moments.tilted(tilt)
    assert isinstance(pair, (SampledGaussianPair, MixturePair))
    return TiltedPair.of(pair, tilt, *moments.range_at(tilt), refine)
