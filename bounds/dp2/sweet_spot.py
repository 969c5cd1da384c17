"""The sweet spot in s: the product (p0 + p1/s)(q0 + q1 s), and the shape of the certified bound."""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Implies, Ne, Sum, ceiling, floor, sqrt

from bounds.assumptions import CALLER, Assumption
from bounds.dp2.sweet_spot_models import certified_models
from bounds.dp2.symbols import (
    C2,
    C,
    R,
    c1,
    c2,
    chi,
    eps,
    m,
    nu1,
    nu2,
    p0,
    p1,
    q0,
    q1,
    s,
)
from bounds.dp2.tradeoff import PAPER, brief
from bounds.operators import Min, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, expectation, inequality
from bounds.symbols import T, d, j
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_x = Variable("x", positive=True)
_y = Variable("y", positive=True)
_l = Variable("l", positive=True)

# --- S1: a falling and a rising factor


def _product(delay: Any) -> Any:
    return (p0 + p1 / delay) * (q0 + q1 * delay)


_BEST = sqrt(p1 * q0 / (p0 * q1))
_LEAST = (sqrt(p0 * q0) + sqrt(p1 * q1)) ** 2
_S1 = And(
    _product(_x) >= _LEAST,
    Implies(Ne(_x, _BEST), _product(_x) > _LEAST),
    Eq(_product(_BEST), _LEAST),
)

S1 = Theorem(
    id="dp2.S1",
    title="The best delay of a falling times a rising factor",
    statement=_S1,
    kind=Kind.TIGHT,
    source=Source(PAPER, "optimal delay", Status.DERIVED),
    steps=brief(
        inequality(
            "all", _S1, note="f(x) - min = (sqrt(p1 q0/x) - sqrt(p0 q1 x))^2, 0 at one x alone"
        ),
    ),
    explanation=(
        "More updates of the preconditioner cost p1/s, a staler preconditioner costs q1 s. Their "
        "product is least at s = sqrt(p1 q0/(p0 q1)) alone, where it is "
        "(sqrt(p0 q0) + sqrt(p1 q1))^2. With the constants of the certified bound and D1 held "
        "constant this is s = sqrt(chi T q0/(2 q1)) with q0 = (C/eps) c1 + nu2^2 and "
        "q1 = (C/eps) c2: the delay grows like the square root of the number of steps."
    ),
    evaluations={
        "bound": (p0 + p1 / s) * (q0 + q1 * s),
        "least": _LEAST,
        "best_delay": _BEST,
    },
    curve=Curve(
        along="delay",
        values=tuple(range(5, 401, 5)),
        fixed={"variation_floor": 1.0, "variation_per_update": 25.0, "moment_floor": 8.0,
               "moment_slope": 0.04},
    ),
    caveats=(
        "For a real delay. The best integer is one of the two neighbours.",
        "D1 is not constant in s: dp2.S2 has the true shape.",
    ),
)  # fmt: skip

# --- S2: the shape of the certified bound


def norm(delay: Any) -> Any:
    """D1(s): the bound on E||D||_1."""
    return Sum(sqrt(m(j) ** 2 + nu1**2 / delay), (j, 1, d)) + d * eps


def _square(delay: Any) -> Any:
    """(Phi(s)/R)^2 T on the staleness branch with T/2s for the number of updates."""
    return norm(delay) ** 2 * _variation(delay) * _moment(delay)


def _variation(delay: Any) -> Any:
    return 1 + chi * T / (2 * delay)


def _moment(delay: Any) -> Any:
    return C / eps * (c1 + c2 * delay) + nu2**2


_middle = sqrt(_x * _y)
_mu = Variable("mu")
_a, _b, _c = (Variable(name, nonnegative=True) for name in ("a", "b", "c"))
_u, _v, _w = (Variable(name, positive=True) for name in ("u_1", "v_1", "w_1"))


def _root(delay: Any) -> Any:
    return sqrt(_mu**2 + nu1**2 / delay)


RISES = Assumption("rises", c2 > 0, "a longer delay makes the preconditioner staler", CALLER)
_S2 = Implies(Ne(_x, _y), _square(_middle) ** 2 < _square(_x) * _square(_y))
_COORDINATE = 2 * _root(_middle) <= _l * _root(_x) + _root(_y) / _l
_NORMS = 2 * norm(_middle) <= _l * norm(_x) + norm(_y) / _l
_NORM = norm(_middle) ** 2 <= norm(_x) * norm(_y)
_TWO_STRICT = Implies(
    And(_u**2 <= _v * _w, _c**2 < _a * _b), (_u * _c) ** 2 < (_v * _a) * (_w * _b)
)


def _factors(outer: Any, inner: Any) -> dict[Any, Any]:
    """One factor of the product at the middle, at x and at y, and what it is multiplied by."""
    values = {_u: outer(_middle), _v: outer(_x), _w: outer(_y)}
    return values | {_c: inner(_middle), _a: inner(_x), _b: inner(_y)}


def _varied(delay: Any) -> Any:
    return _variation(delay) * _moment(delay)


def _once(delay: Any) -> Any:
    return norm(delay) * _varied(delay)


def _below(function: Any) -> Any:
    return Implies(Ne(_x, _y), function(_middle) ** 2 < function(_x) * function(_y))


def updates(delay: Any) -> Any:
    """r(T): updates of the preconditioner in T steps, exactly."""
    return floor(ceiling(T / delay) / 2)


def moment_bound(delay: Any) -> Any:
    """Gam(s): the least of the three branches."""
    return Min(C * C2, C**2 / eps, C / eps * (c1 + c2 * delay) * norm(delay))


def certified(delay: Any) -> Any:
    """Phi(s) with the least branch and the exact number of updates, for C2 = C/eps."""
    moment = moment_bound(delay) + nu2**2 * norm(delay)
    return R * sqrt(norm(delay) * (1 + chi * updates(delay)) * moment / T)


_SMOOTH_DELAY = sqrt(chi * T * (C / eps * c1 + nu2**2) / (2 * C / eps * c2))

S2 = Theorem(
    id="dp2.S2",
    title="The certified bound is log-convex in ln s on the staleness branch",
    statement=_S2,
    kind=Kind.STRUCTURE,
    source=Source(PAPER, "optimal delay", Status.DERIVED),
    assumptions=(RISES,),
    steps=brief(
        inequality(
            "coordinate", _COORDINATE, note="arithmetic and geometric means, with a weight l"
        ),
        expectation(
            "sum",
            Sum(2 * _root(_middle).subs(_mu, m(j)), (j, 1, d))
            <= Sum((_l * _root(_x) + _root(_y) / _l).subs(_mu, m(j)), (j, 1, d)),
            at("coordinate", {_mu: m(j)}),
            by=Linearity(over=((j, 1, d),)),
        ),
        inequality("norms", _NORMS, "sum", note="the damping adds d eps on both sides"),
        inequality("norm", _NORM, at("norms", {_l: norm(_middle) / norm(_x)})),
        inequality("moment", _below(_moment), "rises"),
        inequality("two", _TWO_STRICT, note="products of log-convex functions"),
        inequality(
            "varied",
            _below(_varied),
            at("two", _factors(_variation, _moment)),
            "moment",
        ),
        inequality("once", _below(_once), at("two", _factors(norm, _varied)), "norm", "varied"),
        inequality("twice", _S2, at("two", _factors(norm, _once)), "norm", "once"),
    ),
    explanation=(
        "On the branch where staleness counts, and with T/2s for the number of updates, the "
        "certified bound Phi is a product of factors that are log-convex in ln s: at the geometric "
        "mean of two delays it is less than the geometric mean of its values. Being continuous it "
        "is strictly log-convex in ln s, so it falls and then rises, has one minimiser, and the "
        "best integer is the floor or the ceiling of it."
    ),
    evaluations={
        "bound": R * sqrt(_square(s) / T),
        "certified": certified(s),
        "norm": norm(s),
        "constant_norm_delay": _SMOOTH_DELAY,
    },
    models=certified_models,
    curve=Curve(
        along="delay",
        values=tuple(sorted({round(1.06**k) for k in range(119)})),
        fixed={
            "steps": 1000,
            "dimension": 50,
            "diameter": 1.0,
            "gradient_bound": 1.0,
            "preconditioned_clip_norm": 100.0,
            "damping": 0.01,
            "noise_std": 0.007544800579799,
            "preconditioned_noise_std": 0.7544800579799,
            "staleness_intercept": 0.3,
            "staleness_slope": 0.002,
            "variation_ratio": 0.05,
            "mean_gradient": tuple(0.03 * 0.9**k for k in range(50)),
        },
        names=("bound", "certified"),
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "The staleness branch is active only where (c1 + c2 s) D1(s) < C (and < eps C2). Elsewhere "
        "the gradient term is C^2/eps, a longer delay costs nothing in the bound, and it falls up "
        "to s = T, a run that never preconditions (dp2.S2.saturated): the interior minimum is then "
        "an artefact of a gradient term looser than C^2/eps.",
        "The least of the branches is not log-convex: there can be two local minima "
        "(dp2.S2.branches).",
        "T/2s is no upper bound of the number of updates r(T) = floor(ceil(T/s)/2): with it Phi is "
        "no bound. The certified value uses r(T), a step function, and looks at every s.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (S1, S2)
