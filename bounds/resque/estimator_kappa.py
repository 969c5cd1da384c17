"""kappa_p(t), the constant of the difference of two estimates, and why it cannot be improved."""

from __future__ import annotations

import sympy
from sympy import Eq, Limit, Rational, Sum, binomial, exp, factorial, gamma, hyper, pi, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.operators import E, Index, RandomVariable, StandardNormal, Variable
from bounds.proof.step import Premise, at, identity
from bounds.resque.symbols import p_norm, q_half, t_rel
from bounds.theorem import Kind, Source, Status, Theorem

_MEAN = (p_norm - 1) * t_rel
#: kappa_p(t) = exp((p - 1) t^2/2) ||(p - 1) t + Z||_p for real p >= 1; 1F1 is Kummer's function.
KAPPA = exp((p_norm - 1) * t_rel**2 / 2) * (
    2 ** (p_norm / 2)
    * gamma((p_norm + 1) / 2)
    / sqrt(pi)
    * hyper((-p_norm / 2,), (Rational(1, 2),), -(_MEAN**2) / 2)
) ** (1 / p_norm)

_TERM = Index("term")
_EVEN_MEAN = (2 * q_half - 1) * t_rel
#: The same for p = 2q, in elementary terms: (2k)!/(2^k k!) = (2k - 1)!! is E Z^(2k).
KAPPA_EVEN = exp((2 * q_half - 1) * t_rel**2 / 2) * (
    _EVEN_MEAN ** (2 * q_half)
    + Sum(
        binomial(2 * q_half, 2 * _TERM)
        * _EVEN_MEAN ** (2 * q_half - 2 * _TERM)
        * factorial(2 * _TERM)
        / (2**_TERM * factorial(_TERM)),
        (_TERM, 1, q_half),
    )
) ** (1 / (2 * q_half))

U = RandomVariable("U")
c_ = Variable("c_")
h_ = Variable("h_")

_ALONG = Assumption(
    "along",
    StandardNormal(U),
    "the component of xi/rho along the line through the centre is standard normal",
    CODE,
)


def _weight(shift: sympy.Expr) -> sympy.Expr:
    return exp(shift * U - shift**2 / 2)


def _sharp(order: int, constant: sympy.Expr) -> Theorem:
    """The ratio of difference and distance, for x on the rim and x' next to it on the radius."""
    moment = E((_weight(t_rel) - _weight(t_rel - h_)) ** order)
    closed = apart = sympy.S.Zero
    means: list[Premise] = []
    for k in range(order + 1):
        slope = (order - k) * t_rel + k * (t_rel - h_)
        size = (order - k) * t_rel**2 + k * (t_rel - h_) ** 2
        closed += (-1) ** k * binomial(order, k) * exp(sympy.expand((slope**2 - size) / 2))
        apart += (-1) ** k * binomial(order, k) * exp(-size / 2) * E(exp(slope * U))
        means.append(at("gauss", {c_: slope}))
    statement = Eq(Limit(moment / h_**order, h_, 0), constant)
    return Theorem(
        id=f"resque.E6.sharp-{order}",
        title=f"The constant at order {order} cannot be improved",
        statement=statement,
        kind=Kind.TIGHT,
        source=Source("carmon2023resque", "sharpness of the constant", Status.DERIVED),
        assumptions=(_ALONG,),
        steps=(
            identity("gauss", Eq(E(exp(c_ * U)), exp(c_**2 / 2)), "along", evaluate=True),
            identity("powers", Eq(moment, apart), note="the binomial theorem"),
            identity(
                "moment", Eq(moment, closed), "powers", *means, note="joint moments of the weights"
            ),
            identity("limit", Eq(Limit(closed / h_**order, h_, 0), constant), evaluate=True),
            identity("sharp", statement, "moment", "limit"),
        ),
        explanation=(
            "x lies on the rim of the ball, at distance t rho from the centre, and x' on the same "
            f"radius, h rho further in. As h tends to 0 the moment of order {order} of the "
            f"difference of the weights, over h^{order}, tends to kappa_{order}(t)^{order}: the "
            "bound of resque.E6 is attained in the limit, for a linear loss."
        ),
        evaluations={"bound": constant ** Rational(1, order)},
    )


SHARP_2 = _sharp(2, (1 + t_rel**2) * exp(t_rel**2))
SHARP_4 = _sharp(4, (3 + 54 * t_rel**2 + 81 * t_rel**4) * exp(6 * t_rel**2))

THEOREMS: tuple[Theorem, ...] = (SHARP_2, SHARP_4)
