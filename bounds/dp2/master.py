"""The master inequality: every convex theorem of DP² is a corollary of it.

One step moves w along g/D + N and clips to the box. In the metric B = omega D/a each step
contracts the squared distance to the minimiser in every coordinate; the sum over the steps
telescopes but for the changes of the metric, and only its growth costs.
"""

from __future__ import annotations

from typing import Any

from sympy import Sum

from bounds.dp2.master_proof import proof
from bounds.dp2.relations import Eq, Le
from bounds.dp2.runs_convex import master_models
from bounds.dp2.setting import (
    ASSUMPTIONS,
    ASSUMPTIONS_MIXED,
    LEFT,
    MOMENT,
    MOMENT_MIXED,
    OVER_J,
    decline,
    growth,
    metric,
    noise_after,
    noise_mixed,
    right_side,
)
from bounds.dp2.symbols import Rj
from bounds.operators import E, Index, Max, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import Induction, Step, at, cite, expectation, inequality
from bounds.symbols import T, j, t
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
CAVEATS = (_NEED_MOMENTS, _NEED_BOX, _SAMPLER)

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
    models=master_models,
    caveats=CAVEATS,
)


def _both_forms() -> tuple[Step, ...]:
    """Growth and decline of the metric are the same: x = max(x, 0) - max(-x, 0)."""
    until = Index("until")
    B = metric
    change = B(t + 1, j) - B(t, j)
    rises, falls = E(Max(change, 0)), E(Max(-change, 0))
    x = Variable("x")

    def up_to(end: Any) -> Any:
        return Eq(
            E(B(1, j)) + Sum(rises, (t, 1, end - 1)), E(B(end, j)) + Sum(falls, (t, 1, end - 1))
        )

    return (
        inequality("parts", Eq(x, Max(x, 0) - Max(-x, 0))),
        expectation(
            "change",
            Eq(E(B(t + 1, j)) - E(B(t, j)), rises - falls),
            at("parts", {x: change}),
            by=Linearity(over=(E,)),
        ),
        inequality(
            "forms",
            up_to(until),
            at("change", {t: until}),
            induction=Induction(until),
        ),
        inequality(
            "weighted-forms",
            Eq(Rj(j) ** 2 * growth(metric), Rj(j) ** 2 * decline(metric)),
            at("forms", {until: T}),
        ),
        expectation(
            "all-coordinates",
            Eq(
                Sum(Rj(j) ** 2 * growth(metric), OVER_J),
                Sum(Rj(j) ** 2 * decline(metric), OVER_J),
            ),
            "weighted-forms",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality("down", _DOWN, cite("dp2.master"), "all-coordinates"),
    )


DOWN = Theorem(
    id="dp2.master.down",
    title="Master inequality, with the decreases of the metric",
    statement=_DOWN,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "convex analysis", Status.DERIVED),
    assumptions=ASSUMPTIONS,
    steps=_both_forms(),
    explanation=(
        "The same bound, written with the metric at the end and its decreases instead of the "
        "metric at the start and its increases. It is the shorter form when the metric hardly "
        "ever shrinks: then only the last metric is paid for."
    ),
    models=master_models,
    caveats=CAVEATS,
)

COMMON = Theorem(
    id="dp2.master.common",
    title="Master inequality, noise before or after the preconditioner",
    statement=_MIXED,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "convex analysis", Status.DERIVED),
    assumptions=ASSUMPTIONS_MIXED,
    steps=proof(noise_mixed, MOMENT_MIXED, _MIXED, "modes"),
    explanation=(
        "The master inequality for runs in which some steps divide the noise by the "
        "preconditioner, too: a raw private gradient g + N is multiplied by 1/D afterwards, which "
        "costs no privacy. Such a step pays nu^2 E sum_j 1/D_j instead of nu^2 E sum_j D_j."
    ),
    models=master_models,
    caveats=CAVEATS,
)

THEOREMS: tuple[Theorem, ...] = (MASTER, DOWN, COMMON)
