"""What phi does as u goes to 0, and what the exact exponent makes of it."""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Equivalent, Implies, Integer, Rational, ceiling, floor, log, sqrt

from bounds.assumptions import CALLER, Assumption
from bounds.dp2.symbols import c1, c2, c3, c4, eps, s
from bounds.dp2.tradeoff import (
    CURVE,
    EVALUATIONS,
    HALF,
    LOG,
    PAPER,
    base,
    brief,
    log_at,
    log_phi,
    staleness,
    x,
)
from bounds.operators import Variable
from bounds.proof.step import cite, identity, inequality
from bounds.symbols import T
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_ONE = Integer(1)
_FLAT = sqrt(c3) + eps  # B where there is no noise in M
_TOTAL = log(c1 + c2)

_NOISY = Implies(And(x >= 1, c4 * x >= 8), log_phi(x) >= _TOTAL + (x + 1) / 2)
_BELOW = Implies(And(x >= 1, Eq(c4, 0)), log_phi(x) >= _TOTAL - sqrt(x) + (x + HALF) * log(_FLAT))
_ABOVE = Implies(And(x >= 1, Eq(c4, 0)), log_phi(x) <= _TOTAL + (x + HALF) * log(_FLAT))
_LEVEL = Implies(
    And(Eq(c4, 0), Eq(_FLAT, 1), c2 > 0),
    And(Eq(log_phi(x), log(staleness(x))), log_phi(x) > log(c1)),
)
_LIMITS = And(_NOISY, _BELOW, _ABOVE, _LEVEL)
_LINEAR = Implies(x >= 1, log(x) <= x / 2)
_ROOT = Implies(x >= 1, log(x) <= sqrt(x))
_SHARE = Implies(
    x >= 1,
    And(log(staleness(x)) >= _TOTAL - log(x), log(staleness(x)) <= _TOTAL),
)

LIMITS = Theorem(
    id="dp2.phi.limits",
    title="What phi does as the delay goes to 0",
    statement=_LIMITS,
    kind=Kind.RATE,
    source=Source(PAPER, "trade-off phi(u)", Status.DERIVED),
    steps=brief(
        inequality("log", LOG, cite("dp2.phi.logarithm")),
        inequality("linear", _LINEAR, log_at("log", _ONE, x)),
        inequality("root", _ROOT, log_at("log", _ONE, sqrt(x))),
        identity("quotient", Eq(log((c1 + c2) / x), _TOTAL - log(x)), note="log of a quotient"),
        inequality(
            "share",
            _SHARE,
            log_at("log", staleness(x), (c1 + c2) / x),
            log_at("log", staleness(x), c1 + c2),
            "quotient",
            note="(c1 + c2)/x <= c1 + c2/x <= c1 + c2, and the logarithm increases",
        ),
        inequality(
            "large-base",
            Implies(And(x >= 1, c4 * x >= 8), log(base(x)) >= 1),
            log_at("log", base(x), 2 * _ONE),
        ),
        inequality("noisy", _NOISY, "share", "linear", "large-base"),
        inequality("below", _BELOW, "share", "root"),
        inequality("all", _LIMITS, "noisy", "below"),
    ),
    explanation=(
        "With x = 1/u going to infinity. If c4 > 0, ln phi grows at least like x/2 from x = 8/c4 "
        "on, so phi goes to infinity. If c4 = 0, B does not depend on u, and ln phi is between "
        "(x + 1/2) ln B - sqrt(x) and (x + 1/2) ln B up to ln(c1 + c2): phi goes to infinity for "
        "B > 1 and to 0 for B < 1. For B = 1 it is c1 + c2 u, which comes close to c1 at u = 0 and "
        "does not reach it when c2 > 0. At u = 1 phi is, by its definition, "
        "(c1 + c2)(sqrt(c3 + c4) + eps)^(3/2)."
    ),
    evaluations=EVALUATIONS | {"at_one": (c1 + c2) * (sqrt(c3 + c4) + eps) ** Rational(3, 2)},
    slack={
        "halved 1 in x >= 1 (3)": "x >= 1 always; the lower bound holds for smaller x too",
        "halved 1/2 in x + 1/2 (6)": "the exponent of B = 1: any would do",
        "halved 1/2 in x + 1/2 (7)": "the exponent of B = 1: any would do",
    },
    curve=CURVE,
    caveats=(
        "B < 1 is excluded by the theorem that phi comes from, where 1/B is a decay alpha <= 1.",
    ),
)

# --- the exact exponent

_STEPS = 1000
_B, _u, _v = (Variable(name, positive=True) for name in ("B", "u_1", "v_1"))


def exact_phi(share: Any) -> Any:
    """phi with the exponent floor(1/u), where c4 = 0 and B is the same for all u."""
    return (c1 + c2 * share) * _B ** floor(1 / share)


_DROP = floor(1 / _u) - floor(1 / _v)
_SAWTOOTH = And(
    Implies(And(_u < _v, Eq(_DROP, 0)), exact_phi(_u) < exact_phi(_v)),
    Implies(
        Eq(_DROP, 1),
        Equivalent(exact_phi(_v) < exact_phi(_u), c1 + c2 * _v < _B * (c1 + c2 * _u)),
    ),
)
_RISES = Assumption("rises", c2 > 0, "a longer delay makes the preconditioner staler", CALLER)
_SHARP = (c1 + c2 * s / T) * (sqrt(c3 + c4 * T / s) + eps) ** floor(T / s)

SAWTOOTH = Theorem(
    id="dp2.phi.sawtooth",
    title="With its exact exponent phi is not unimodal",
    statement=_SAWTOOTH,
    kind=Kind.STRUCTURE,
    source=Source(PAPER, "trade-off phi(u)", Status.DERIVED),
    assumptions=(_RISES,),
    steps=brief(
        inequality("sawtooth", _SAWTOOTH, "rises"),
    ),
    explanation=(
        "The relaxed exponent T/s + 1/2 stands for floor(T/s), which jumps. Between two jumps the "
        "exact form rises with s. Where the exponent drops by one it falls, as long as the "
        "staleness c1 + c2 u grows by less than the factor B: there is a local minimum just after "
        "each such jump. So a solver for convex functions finds the minimum of the relaxed form "
        "only; for the exact one every integer s has to be looked at. (The curve has nine local "
        "minima inside.)"
    ),
    evaluations={
        "bound": _SHARP,
        "last_phase": (c1 + c2 * s / T) * (sqrt(c3 + c4 * T / s) + eps) ** (ceiling(T / s) - 1),
    },
    curve=Curve(
        along="delay",
        values=tuple(range(60, 1001, 2)),
        fixed=dict(CURVE.fixed) | {"steps": _STEPS},
        names=("bound", "last_phase"),
        log_y=True,
    ),
    caveats=(
        "Stated for c4 = 0, where B does not depend on u; with c4 > 0 it falls along each piece.",
        "Over real u the exact form need not attain its infimum: its pieces are open on the left.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (LIMITS, SAWTOOTH)
