"""The trade-off phi: what it is made of, and that ln phi is strictly convex in 1/u.

    phi(u) = (c1 + c2 u) B^((2 + u)/(2u)),   B = sqrt(c3 + c4/u) + eps.

In x = 1/u >= 1 its logarithm is log(c1 + c2/x) + (x + 1/2) log(sqrt(c3 + c4 x) + eps).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import And, Eq, Implies, Integral, Ne, Or, Rational, log, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import c1, c2, c3, c4, eps, u
from bounds.operators import Variable
from bounds.proof.methods import Integrate, Linearity
from bounds.proof.step import Arithmetic, Step, at, cite, expectation, identity, inequality
from bounds.theorem import Curve, Kind, Source, Status, Theorem

HALF = Rational(1, 2)
PAPER = "li2023dp2"
x = Variable("x", positive=True)
y = Variable("y", positive=True)
_p, _q = Variable("p", positive=True), Variable("q", positive=True)
_z = Variable("z", positive=True)
_rx, _ry = Variable("r_x", nonnegative=True), Variable("r_y", nonnegative=True)
_rise = Variable("Lambda")


def staleness(at_x: Any) -> Any:
    """c1 + c2 u at u = 1/x."""
    return c1 + c2 / at_x


def root(at_x: Any) -> Any:
    """sqrt(M) at u = 1/x."""
    return sqrt(c3 + c4 * at_x)


def base(at_x: Any) -> Any:
    """B: one over the decay of the step size per phase, at u = 1/x."""
    return root(at_x) + eps


def log_phi(at_x: Any) -> Any:
    """ln phi(1/x)."""
    return log(staleness(at_x)) + (at_x + HALF) * log(base(at_x))


def fall(at_x: Any) -> Any:
    """N: minus the derivative of log(c1 + c2/x)."""
    return c2 / (at_x * (c1 * at_x + c2))


def bend(at_x: Any) -> Any:
    """(x + 1/2) times the derivative of log B."""
    return (at_x + HALF) * c4 / (2 * root(at_x) * base(at_x))


def slope(at_x: Any) -> Any:
    """P - N: the derivative of ln phi in x."""
    return log(base(at_x)) + bend(at_x) - fall(at_x)


PHI = (c1 + c2 * u) * (sqrt(c3 + c4 / u) + eps) ** ((2 + u) / (2 * u))
EVALUATIONS = {"bound": PHI, "log_bound": log_phi(1 / u), "base": base(1 / u)}
CURVE = Curve(
    along="relative_delay",
    values=tuple(round(0.02 * k, 2) for k in range(1, 51)),
    fixed={
        "staleness_intercept": 1.0, "staleness_slope": 9.0, "second_moment_floor": 0.64,
        "second_moment_noise": 0.01, "damping": 0.2,
    },
    log_y=True,
)  # fmt: skip

VARIES = Assumption("varies", c2 + c4 > 0, "c2 and c4 are not both 0: phi is not constant", CODE)

# --- the logarithm against rational functions

_LOG_ABOVE = Implies(_q <= _p, log(_p) - log(_q) >= 2 * (_p - _q) / (_p + _q))
_LOG_BELOW = Implies(_p <= _q, log(_q) - log(_p) <= (_q**2 - _p**2) / (2 * _p * _q))
LOG = And(_LOG_ABOVE, _LOG_BELOW)


#: All steps of these proofs need less; a wrong variant is then given up within a second.
_BUDGET = 1_000_000


def brief(*steps: Step) -> tuple[Step, ...]:
    """The steps, with a budget for z3 that is near what they need."""
    return tuple(
        replace(step, by=replace(step.by, budget=_BUDGET))
        if isinstance(step.by, Arithmetic)
        else step
        for step in steps
    )


def log_at(id: str, p: Any, q: Any) -> Any:
    """Premise: both inequalities of `dp2.phi.logarithm` for p and q, from the step `id`."""
    return at(id, {_p: p, _q: q})


_UP = (4 * _q / (_z + _q) ** 2, 1 / _z)
_DOWN = (1 / _z, (1 / _p + _p / _z**2) / 2)


def _area(integrand: Any, low: Any, high: Any) -> Any:
    return Integral(integrand, (_z, low, high))


LOGARITHM = Theorem(
    id="dp2.phi.logarithm",
    title="The logarithm between two rational functions",
    statement=LOG,
    kind=Kind.UPPER,
    source=Source(PAPER, "trade-off phi", Status.DERIVED, "a lemma of ours"),
    steps=brief(
        inequality("below", Implies(_q <= _z, _UP[0] <= _UP[1])),
        expectation(
            "integrated-below",
            Implies(_q <= _p, _area(_UP[0], _q, _p) <= _area(_UP[1], _q, _p)),
            "below",
            by=Linearity(over=(Integrate(_z, _q, _p),)),
        ),
        inequality("above", Implies(_p <= _z, _DOWN[0] <= _DOWN[1])),
        expectation(
            "integrated-above",
            Implies(_p <= _q, _area(_DOWN[0], _p, _q) <= _area(_DOWN[1], _p, _q)),
            "above",
            by=Linearity(over=(Integrate(_z, _p, _q),)),
        ),
        identity("log-up", Eq(_area(1 / _z, _q, _p), log(_p) - log(_q)), evaluate=True),
        identity("log-down", Eq(_area(1 / _z, _p, _q), log(_q) - log(_p)), evaluate=True),
        identity("up", Eq(_area(_UP[0], _q, _p), 2 * (_p - _q) / (_p + _q)), evaluate=True),
        identity(
            "down", Eq(_area(_DOWN[1], _p, _q), (_q**2 - _p**2) / (2 * _p * _q)), evaluate=True
        ),
        inequality(
            "both", LOG, "integrated-below", "integrated-above", "log-up", "log-down", "up", "down"
        ),
    ),
    explanation=(
        "Two rational bounds on a difference of logarithms, one from below for p >= q and one "
        "from above for p <= q. Both agree with the logarithm to second order at p = q, which is "
        "what convexity of phi needs. They come from comparing 1/z with rational functions under "
        "an integral."
    ),
)

# --- convexity

_TO_RIGHT = And(
    _rx <= _ry, x * _ry**2 <= y * _rx**2, _rise >= 2 * (_ry - _rx) / (_rx + _ry + 2 * eps)
)
_TO_LEFT = And(
    _ry <= _rx,
    y * _rx**2 <= x * _ry**2,
    -_rise <= ((_rx + eps) ** 2 - (_ry + eps) ** 2) / (2 * (_rx + eps) * (_ry + eps)),
)
_LINE = (x + HALF) * (_ry**2 - _rx**2) / (2 * _rx * (_rx + eps))
_CHORD = And((y + HALF) * _rise >= _LINE, Or(Eq(_rx, _ry), (y + HALF) * _rise > _LINE))
_HERE = {_rx: root(x), _ry: root(y), _rise: log(base(y)) - log(base(x))}


def _here(sentence: Any) -> Any:
    return sentence.subs(_HERE, simultaneous=True)


_STALE_RISE = log(staleness(y)) - log(staleness(x))
TANGENT = Implies(And(x >= 1, y >= 1, Ne(x, y)), log_phi(y) > log_phi(x) + slope(x) * (y - x))
CONVEX = Theorem(
    id="dp2.phi.convex",
    title="ln phi is strictly convex in 1/u",
    statement=TANGENT,
    kind=Kind.STRUCTURE,
    source=Source(PAPER, "trade-off phi(u)", Status.DERIVED, "phi itself is stated in the paper"),
    assumptions=(VARIES,),
    steps=brief(
        inequality("log", LOG, cite("dp2.phi.logarithm")),
        inequality(
            "stale",
            Implies(
                And(x >= 1, y >= 1),
                And(
                    -fall(x) * (y - x) <= _STALE_RISE,
                    Implies(And(c2 > 0, Ne(x, y)), -fall(x) * (y - x) < _STALE_RISE),
                ),
            ),
            log_at("log", staleness(y), staleness(x)),
            note="the first factor, which is convex by itself",
        ),
        inequality("left", Implies(And(y >= 1, y <= x, _ry > 0, _TO_LEFT), _CHORD)),
        inequality(
            "roots",
            And(
                Implies(And(x >= 1, y >= x), And(root(x) > 0, _here(_TO_RIGHT))),
                Implies(And(y >= 1, y <= x), And(root(y) > 0, _here(_TO_LEFT))),
            ),
            log_at("log", base(y), base(x)),
        ),
        inequality(
            "power-right",
            Implies(And(x >= 1, y >= x), _here(_CHORD)),
            "roots",
            note="the second factor",
        ),
        inequality(
            "power-left", Implies(And(y >= 1, y <= x), _here(_CHORD)), at("left", _HERE), "roots"
        ),
        inequality("tangent", TANGENT, "stale", "power-right", "power-left", "varies"),
    ),
    explanation=(
        "Seen as a function of x = 1/u, the number of phases, ln phi lies strictly above each of "
        "its tangents. So it is strictly convex there, phi falls and then rises (or only rises, or "
        "only falls), and it has at most one minimiser on (0, 1]."
    ),
    evaluations=EVALUATIONS,
    curve=CURVE,
    caveats=(
        "phi belongs to the paper's display; the closed form that is proved here (dp2.closed) has "
        "no staleness factor in front of its exponential.",
        "The active term of the decay alpha = min(eps, 1/(sqrt(M) + eps), 1) is eps for usual "
        "dampings; phi describes it only where eps (sqrt(M) + eps) >= 1.",
        "Where B < 1 phi stands for step sizes that grow from phase to phase, which alpha <= 1 "
        "excludes: the minimiser then says nothing about s.",
        "The exact exponent floor(T/s) in place of T/s + 1/2 makes a sawtooth of it "
        "(dp2.phi.sawtooth).",
    ),
)

THEOREMS: tuple[Theorem, ...] = (LOGARITHM, CONVEX)
