"""What DP-SGD's bound is worth when it may use what the certified bound uses."""

from __future__ import annotations

from sympy import And, Eq, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.sweet_spot import updates
from bounds.dp2.symbols import D1, Gam, R, chi, eps, nu1, nu2, s
from bounds.dp2.tradeoff import PAPER, brief
from bounds.operators import Variable
from bounds.proof.step import inequality
from bounds.symbols import T, d
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_count = Variable("r", nonnegative=True)

#: Gam = (bound on E||g||^2)/eps, as all three branches have it.
_moment = eps * Gam
_DP_SGD = d * (_moment + d * nu1**2)
_CERTIFIED = D1 * (1 + chi * _count) * (Gam + nu2**2 * D1)
_FAIR = _DP_SGD <= _CERTIFIED

SAME_KNOWLEDGE = Theorem(
    id="dp2.S2.same-knowledge",
    title="Given the same knowledge, DP-SGD's bound is never the larger one",
    statement=_FAIR,
    kind=Kind.TIGHT,
    source=Source(PAPER, "optimal delay", Status.DERIVED),
    assumptions=(
        Assumption("damped", d * eps <= D1, "each entry of D is at least the damping", CODE),
        Assumption(
            "unclipped",
            Eq(nu2, nu1 / eps),
            "C2 = C1/eps: with this clip norm no adaptive step clips, whatever the gradient",
            CALLER,
        ),
    ),
    steps=brief(
        inequality(
            "noise",
            And(d * nu1 <= D1 * nu2, d**2 * nu1**2 <= D1**2 * nu2**2),
            "damped",
            "unclipped",
        ),
        inequality("fair", _FAIR, "noise", "damped"),
    ),
    explanation=(
        "Both bounds are R sqrt(x/T). In the certified one x is D1 (1 + chi r)(Gam + nu2^2 D1), "
        "with a gradient term Gam = Q/eps that comes from a bound Q on E||g||^2: C^2, or "
        "C (c1 + c2 s) D1 where staleness counts. DP-SGD with the same Q has x = d (Q + d nu1^2). "
        "Since D1 >= d eps this is never larger, with equality for D = eps. So the certified bound "
        "can fall below DP-SGD's usual value R sqrt(d (C^2 + d nu1^2)/T), but only by knowing more "
        "of the gradients, and then DP-SGD gains more from knowing it."
    ),
    evaluations={
        "bound": R * sqrt(_DP_SGD / T),
        "certified": R * sqrt(_CERTIFIED.subs(_count, updates(s)) / T),
    },
    curve=Curve(
        along="preconditioner_norm",
        values=tuple(round(0.5 + 0.1 * k, 1) for k in range(60)),
        fixed={
            "steps": 1000, "dimension": 50, "diameter": 1.0, "damping": 0.01, "delay": 67,
            "preconditioned_gradient_moment": 35.0, "noise_std": 0.0075,
            "preconditioned_noise_std": 0.75, "variation_ratio": 0.05,
        },
        names=("bound", "certified"),
    ),
    caveats=(
        "It compares bounds, not runs: on problems whose coordinates differ in scale DP² beats "
        "DP-SGD, and these bounds do not see why.",
        "A smaller clip norm C2 in adaptive steps has less noise; then the theorems must be told "
        "that nothing is clipped.",
    ),
)  # fmt: skip

THEOREMS: tuple[Theorem, ...] = (SAME_KNOWLEDGE,)
