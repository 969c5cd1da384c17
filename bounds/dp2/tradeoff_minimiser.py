"""Where phi is least: when phi is stationary, when inside (0, 1), and that there is one place."""

from __future__ import annotations

from sympy import And, Derivative, Eq, Implies, Integer, Ne, log, sqrt

from bounds.dp2.symbols import c1, c2, c3, c4, eps, u
from bounds.dp2.tradeoff import (
    CURVE,
    EVALUATIONS,
    HALF,
    LOG,
    PAPER,
    TANGENT,
    VARIES,
    base,
    bend,
    brief,
    fall,
    log_at,
    log_phi,
    root,
    slope,
    x,
    y,
)
from bounds.operators import Variable
from bounds.proof.step import at, cite, identity, inequality
from bounds.theorem import Kind, Source, Status, Theorem

_r = Variable("r", positive=True)
_ONE = Integer(1)

# --- stationary points, in u itself

_root = sqrt(c3 + c4 / _r)
_log_phi = log(c1 + c2 * _r) + (1 / _r + HALF) * log(_root + eps)
_gain = _r**2 * c2 / (c1 + c2 * _r)
_cost = log(_root + eps) + (1 / _r + HALF) * c4 / (2 * _root * (_root + eps))
_STATIONARY = Eq(Derivative(_log_phi, _r), (_gain - _cost) / _r**2)

STATIONARY = Theorem(
    id="dp2.phi.stationary",
    title="When phi is stationary",
    statement=_STATIONARY,
    kind=Kind.IDENTITY,
    source=Source(PAPER, "trade-off phi(u)", Status.DERIVED),
    steps=brief(
        identity("derivative", _STATIONARY, evaluate=True),
    ),
    explanation=(
        "The derivative of ln phi in the relative delay r = u. It vanishes exactly where the "
        "growth of the staleness factor, u^2 c2/(c1 + c2 u), equals the cost of further phases, "
        "ln B + (1/u + 1/2) c4/(2 sqrt(M) B)."
    ),
    evaluations={
        "bound": EVALUATIONS["bound"],
        "residual": (_gain - _cost).subs(_r, u),
    },
)

# --- two tangents below one graph

_f, _g = (Variable("f"), Variable("f_y")), (Variable("g"), Variable("g_y"))
_CROSSING = Implies(
    And(y > x, _f[1] > _f[0] + _g[0] * (y - x), _f[0] > _f[1] + _g[1] * (x - y)), _g[0] < _g[1]
)
_ORDER = Implies(And(x >= 1, y > x), slope(x) < slope(y))
_HERE = {_f[0]: log_phi(x), _f[1]: log_phi(y), _g[0]: slope(x), _g[1]: slope(y)}
#: The slope increases: both theorems below begin with these steps.
_RISING = (
    inequality("tangents", TANGENT, cite("dp2.phi.convex")),
    inequality("crossing", _CROSSING, note="the later of two tangents below a graph is steeper"),
    inequality("order", _ORDER, "tangents", at("tangents", {x: y, y: x}), at("crossing", _HERE)),
)

# --- the end u = 1

_AT_ONE = log(base(_ONE)) + 3 * c4 / (4 * sqrt(c3 + c4) * base(_ONE)) - c2 / (c1 + c2)
_RATE = c4 / (2 * root(_ONE) * base(_ONE))
#: How fast the slope can grow from u = 1 on, at most.
_GROWTH = c4 / (root(_ONE) * base(_ONE)) + 1
_STEEPER = Implies(x >= 1, slope(x) <= _AT_ONE + _GROWTH * (x - 1))
_three, _k, _e = tuple(Variable(f"d_{i}") for i in (1, 2, 3)), Variable("k"), Variable("e")
_ADDED = Implies(And(_three[0] <= _k, _three[1] <= _k, _three[2] <= _e), sum(_three) <= 2 * _k + _e)
_END = Implies(And(y > 1, _AT_ONE >= 0), log_phi(y) > log_phi(_ONE))
_BETTER = Implies(And(x > 1, _AT_ONE + _GROWTH * (x - 1) <= 0), log_phi(x) < log_phi(_ONE))
_SMALL = Implies(_AT_ONE < 0, log(base(_ONE)) < c2 / (c1 + c2))
_INTERIOR = And(_END, _BETTER, _SMALL)

INTERIOR = Theorem(
    id="dp2.phi.interior",
    title="When the best delay of phi is shorter than the run",
    statement=_INTERIOR,
    kind=Kind.STRUCTURE,
    source=Source(PAPER, "trade-off phi(u)", Status.DERIVED),
    assumptions=(VARIES,),
    steps=brief(
        inequality("tangents", TANGENT, cite("dp2.phi.convex")),
        inequality(
            "end",
            _END,
            at("tangents", {x: _ONE, y: y}),
            note="the tangent at u = 1 rises with 1/u",
        ),
        inequality("log", LOG, cite("dp2.phi.logarithm")),
        inequality(
            "base",
            Implies(
                x >= 1,
                log(base(x)) - log(base(_ONE)) <= _RATE * (x - 1),
            ),
            log_at("log", base(_ONE), base(x)),
        ),
        inequality(
            "bend",
            Implies(x >= 1, bend(x) - bend(_ONE) <= _RATE * (x - 1)),
        ),
        inequality("fall", Implies(x >= 1, fall(_ONE) - fall(x) <= x - 1)),
        inequality("sum", _ADDED, note="three differences, each with its bound"),
        inequality(
            "steeper",
            _STEEPER,
            at(
                "sum",
                {
                    _three[0]: log(base(x)) - log(base(_ONE)),
                    _three[1]: bend(x) - bend(_ONE),
                    _three[2]: fall(_ONE) - fall(x),
                    _k: _RATE * (x - 1),
                    _e: x - 1,
                },
            ),
            "base",
            "bend",
            "fall",
        ),
        inequality(
            "better",
            _BETTER,
            at("tangents", {x: x, y: _ONE}),
            "steeper",
            note="where the slope is not yet positive, phi is below its value at 1",
        ),
        inequality("all", _INTERIOR, "end", "better"),
    ),
    explanation=(
        "phi has its least value at u = 1, one phase and so plain DP-SGD, exactly when its slope "
        "there, ln B + 3 c4/(4 sqrt(M) B) - c2/(c1 + c2), is not negative. If it is negative, phi "
        "is smaller at shorter delays, at least from u = 1 down to the point that the second part "
        "names; then B < e^(c2/(c1 + c2)) < e at u = 1. With C = 1, c3 near 1 and a damping that "
        "is not small, the best delay of the paper's expression is usually s = T."
    ),
    evaluations={
        "bound": EVALUATIONS["bound"],
        "slope_at_one": _AT_ONE,
    },
    slack=dict.fromkeys(
        (
            "halved 3/4 in 3*c4/(4*sqrt(c3 + c4)*(eps + sqrt(c3 + c4)))",
            "halved -1/2 in 1/sqrt(c3 + c4)",
            "halved 1/2 in sqrt(c3 + c4)",
        ),
        "in the third part this term only has to be >= 0: any factor would do",
    ),
    curve=CURVE,
)

# --- the minimiser

_UNIQUE = Implies(And(x >= 1, y >= 1, Ne(x, y), Eq(slope(x), 0)), log_phi(y) > log_phi(x))
_BRACKET = Implies(And(x >= 1, c4 * x >= 8), slope(x) > 0)
_MINIMISER = And(_UNIQUE, _ORDER, _BRACKET)

MINIMISER = Theorem(
    id="dp2.phi.minimiser",
    title="The minimiser of phi is unique, and bisection finds it",
    statement=_MINIMISER,
    kind=Kind.STRUCTURE,
    source=Source(PAPER, "trade-off phi(u)", Status.DERIVED),
    assumptions=(VARIES,),
    steps=brief(
        *_RISING,
        inequality("unique", _UNIQUE, "tangents"),
        inequality("log", LOG, cite("dp2.phi.logarithm")),
        inequality(
            "large-base",
            Implies(And(x >= 1, c4 * x >= 8), log(base(x)) > 1),
            log_at("log", base(x), _ONE * 2),
            note="B >= sqrt(8), and ln 2 is known to many digits",
        ),
        inequality("bracket", _BRACKET, "large-base"),
        inequality("all", _MINIMISER, "unique", "order", "bracket"),
    ),
    explanation=(
        "A stationary point of phi is its only minimiser: phi is larger at every other u. The "
        "slope in 1/u increases, and is positive from 1/u = 8/c4 on, so that doubling and "
        "bisection find the point where it changes sign; where the slope at u = 1 is not negative, "
        "u = 1 is the minimiser (dp2.phi.interior)."
    ),
    evaluations=EVALUATIONS,
    curve=CURVE,
    caveats=(
        "With c4 = 0 there may be no minimiser: for B <= 1 phi only comes close to its infimum as "
        "u goes to 0 (dp2.phi.limits).",
        "For integer delays and the relaxed exponent, the best s is the floor or the ceiling of "
        "u* T, at least 1 and at most T; with the exact exponent every s has to be looked at.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (STATIONARY, INTERIOR, MINIMISER)
