"""The master inequality: every convex theorem of DP² is a corollary of it.

One step moves w along g/D + N and clips to the box. In the metric B = omega D/a each step
contracts the squared distance to the minimiser in every coordinate; the sum over the steps
telescopes but for the changes of the metric, and only its growth costs.
"""

from __future__ import annotations

from sympy import Le

from bounds.dp2.master_proof import proof
from bounds.dp2.setting import (
    ASSUMPTIONS,
    LEFT,
    MOMENT,
    MOMENT_MIXED,
    decline,
    growth,
    metric,
    noise_after,
    right_side,
)
from bounds.theorem import Kind, Source, Status, Theorem

_UP = Le(LEFT, right_side(growth(metric), MOMENT))
_DOWN = Le(LEFT, right_side(decline(metric), MOMENT))
_MIXED = Le(LEFT, right_side(growth(metric), MOMENT_MIXED))

_NEED_MOMENTS = (
    "The expectations that occur are finite. They are when the noise is Gaussian and D is bounded "
    "or has a second moment."
)
_NEED_BOX = (
    "The projection is coordinatewise: clipping to a box moves no point away from another in any "
    "diagonal metric, a Euclidean projection onto a ball may."
)
_SAMPLER = (
    "It holds for any sampler that is unbiased. Almost-sure bounds on ||g_t|| that corollaries put "
    "in hold for batches of a fixed size; under Poisson sampling with a fixed divisor b only "
    "E||g_t||^2 <= C^2 (1 + (1 - q)/b) does."
)

MASTER = Theorem(
    id="dp2.master",
    title="Master inequality",
    statement=_UP,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "convex analysis", Status.DERIVED),
    assumptions=ASSUMPTIONS,
    steps=proof(noise_after, MOMENT, _UP),
    explanation=(
        "The weighted sum of the expected optimality gaps is at most half of two things: what the "
        "changes of the metric B = omega D/a cost, and the second moments of what was added to "
        "the iterate. The preconditioner D may be any positive random diagonal that is fixed "
        "before the noise of the step; it may depend on all of the past, grow or shrink. Dividing "
        "by the sum of the weights bounds the smallest E F(w_t) - F*, the gap of an iterate drawn "
        "with these weights, and the gap of the weighted average of the iterates."
    ),
    caveats=(_NEED_MOMENTS, _NEED_BOX, _SAMPLER),
)

THEOREMS: tuple[Theorem, ...] = (MASTER,)
