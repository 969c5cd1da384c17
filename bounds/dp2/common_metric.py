"""Theorem C: one metric for both modes and a step that decays as slowly as the metric may shrink.

An EMA keeps at least the share beta of its past at each update, whatever the data, so D never
falls below sqrt(beta) times what it was. A step that falls by sqrt(beta) at each update
makes D/a grow in every run: no cap on v, no comparison of D with 1.
"""

from __future__ import annotations

from sympy import Implies, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.common_models import metric_models
from bounds.dp2.common_setting import EMA, METRIC, RENEWALS, memory
from bounds.dp2.relations import Eq, Le
from bounds.dp2.symbols import D, a, alpha, beta, eta, renew, upd
from bounds.operators import Variable
from bounds.proof.step import at, cite, inequality
from bounds.symbols import j, t
from bounds.theorem import Kind, Source, Status, Theorem

_SOURCE = Source("li2023dp2", "convex analysis", Status.DERIVED)
x, y = Variable("x"), Variable("y")
share = Variable("share")
low, high, before, after = (
    Variable(name, positive=True) for name in ("low", "high", "before", "after")
)

DECAY = Assumption(
    "decay",
    Eq(a(t), eta * alpha ** upd(t)),
    "the step falls by the factor alpha at each update of the preconditioner",
    CODE,
)
SLOW = Assumption(
    "slow", Le(alpha**2, beta), "the decay alpha is at most sqrt(beta); sqrt(beta) is best", CODE
)
COUNTED = Assumption(
    "counted", Eq(upd(t + 1), upd(t) + renew(t)), "r(t) counts the updates before step t", CODE
)

_SHRINK = Le(
    D(t, j) * (1 - renew(t) * (1 - sqrt(beta))),
    D(t + 1, j),
)
SHRINK = Theorem(
    id="dp2.C.shrink",
    title="A preconditioner keeps sqrt(beta) of itself",
    statement=_SHRINK,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=(METRIC, EMA, RENEWALS, memory(renew(t))),
    steps=(
        inequality(
            "renewed",
            Implies(Eq(renew(t), 1), sqrt(beta) * D(t, j) <= D(t + 1, j)),
            "metric",
            at("metric", {t: t + 1}),
            "memory",
            "ema",
        ),
        inequality(
            "kept",
            Implies(Eq(renew(t), 0), Eq(D(t + 1, j), D(t, j))),
            "metric",
            at("metric", {t: t + 1}),
            "memory",
        ),
        inequality("either", _SHRINK, "renewed", "kept", "renewals"),
    ),
    explanation=(
        "After an update v is at least beta times what it was, whatever was averaged, so D is at "
        "least sqrt(beta) times what it was. This holds in every run, with any noise, and needs "
        "no cap."
    ),
    models=metric_models,
)

_RATIO = Le(D(t, j) / a(t), D(t + 1, j) / a(t + 1))
RATIO = Theorem(
    id="dp2.C.metric",
    title="Preconditioner over step never falls",
    statement=_RATIO,
    kind=Kind.TIGHT,
    source=_SOURCE,
    assumptions=(METRIC, EMA, RENEWALS, memory(renew(t)), DECAY, SLOW, COUNTED),
    steps=(
        inequality(
            "step",
            Eq(a(t + 1), a(t) * (1 - renew(t) * (1 - alpha))),
            "decay",
            at("decay", {t: t + 1}),
            "counted",
            "renewals",
        ),
        inequality(
            "divide",
            Implies(
                (low * share <= high) & Eq(after, before * share) & (share > 0),
                low / before <= high / after,
            ),
        ),
        inequality("share", 1 - renew(t) * (1 - alpha) > 0, "renewals"),
        inequality(
            "shrink",
            Le(D(t, j) * (1 - renew(t) * (1 - alpha)), D(t + 1, j)),
            "slow",
            "renewals",
            cite("dp2.C.shrink"),
        ),
        inequality(
            "ratio",
            _RATIO,
            "step",
            "share",
            "shrink",
            at(
                "divide",
                {
                    low: D(t, j),
                    high: D(t + 1, j),
                    before: a(t),
                    after: a(t + 1),
                    share: 1 - renew(t) * (1 - alpha),
                },
            ),
        ),
    ),
    explanation=(
        "The step falls by alpha <= sqrt(beta) when the preconditioner is renewed, and the "
        "preconditioner never falls by more: their ratio never shrinks, in any run."
    ),
    models=metric_models,
)
THEOREMS: tuple[Theorem, ...] = (SHRINK, RATIO)
