"""A tangent lies above the logarithm: the one analytic fact that counts of steps rest on."""

from __future__ import annotations

from sympy import And, Eq, Implies, Integral, log

from bounds.operators import Variable
from bounds.proof.methods import Integrate, Linearity
from bounds.proof.step import expectation, identity, inequality
from bounds.theorem import Kind, Source, Status, Theorem

__all__ = ["THEOREMS", "p_", "q_"]

p_ = Variable("p_", positive=True)
q_ = Variable("q_", positive=True)
_s = Variable("s_")

_slope = (p_ - q_) / (q_ + (p_ - q_) * _s)
_tangent = (p_ - q_) / q_

LOG = Theorem(
    id="resque.ball.log",
    title="A tangent lies above the logarithm",
    statement=log(p_) <= log(q_) + p_ / q_ - 1,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "lemma for the count of ball acceleration", Status.DERIVED),
    steps=(
        inequality(
            "slope",
            Implies(And(_s >= 0, _s <= 1), _slope <= _tangent),
            note="the slope of the logarithm falls on the way from q to p",
        ),
        expectation(
            "integrated",
            Integral(_slope, (_s, 0, 1)) <= Integral(_tangent, (_s, 0, 1)),
            "slope",
            by=Linearity(over=(Integrate(_s, 0, 1),)),
        ),
        identity(
            "difference",
            Eq(Integral(_slope, (_s, 0, 1)), log(p_) - log(q_)),
            evaluate=True,
        ),
        inequality(
            "tangent",
            log(p_) <= log(q_) + p_ / q_ - 1,
            "integrated",
            "difference",
        ),
    ),
    explanation=(
        "The logarithm of p is at most its tangent at q. With p and q the weights of two"
        " consecutive steps it turns a relative step size into growth of the logarithm of the"
        " weight; with p below q it says that the logarithm increases."
    ),
)

THEOREMS: tuple[Theorem, ...] = (LOG,)
