"""The difference of two reweighted estimates that share noise and sample: the sharp constant."""

from __future__ import annotations

from sympy import Abs, And, Eq, Implies, Integral, Lambda, Rational, exp, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Conditional, E, Independent, StandardNormal, Variable
from bounds.proof.methods import Integrate, Jensen, Linearity, Tower
from bounds.proof.step import at, expectation, identity, inequality
from bounds.resque import estimator_models
from bounds.resque.estimator import g_norm, moment_p
from bounds.resque.estimator_kappa import KAPPA, KAPPA_EVEN
from bounds.resque.estimator_segment import (
    AT_S,
    GROWING,
    RATE,
    TILTED,
    U,
    V,
    Z,
    a_par,
    a_perp,
    c_,
    k_,
    moment,
    rate,
    s_,
    w_1,
    w_2,
    weight,
    x_,
    y_,
)
from bounds.resque.symbols import H_sep, L_lip, p_norm, t_rel
from bounds.theorem import Curve, Kind, Source, Status, Theorem

u_ = Variable("u_")
v_ = Variable("v_")
_DIFFERENCE = Abs(w_2 - w_1) ** p_norm
_BETWEEN = Integral(Abs(RATE) ** p_norm, (s_, 0, 1))
_LIMIT = H_sep**p_norm * exp(p_norm * (p_norm - 1) * t_rel**2 / 2) * moment((p_norm - 1) * t_rel)
_STATEMENT = E(_DIFFERENCE * g_norm**p_norm) <= L_lip**p_norm * _LIMIT

_ON = And(s_ >= 0, s_ <= 1)
_BOUNDED = (
    inequality("exp-increases", Implies(x_ <= y_, exp(x_) <= exp(y_))),
    inequality(
        "ball",
        Implies(_ON, AT_S**2 + a_perp**2 <= t_rel**2),
        "centre-1",
        "centre-2",
        note="a ball is convex",
    ),
    inequality(
        "in-range",
        Implies(
            _ON,
            And(
                -t_rel <= AT_S,
                t_rel >= AT_S,
                p_norm * (p_norm - 1) * (AT_S**2 + a_perp**2) / 2
                <= p_norm * (p_norm - 1) * t_rel**2 / 2,
            ),
        ),
        "ball",
        "order",
    ),
    inequality(
        "on-segment",
        Implies(_ON, E(Abs(rate(AT_S)) ** p_norm) <= _LIMIT),
        at("rate", {c_: AT_S}),
        "in-range",
        at("growing", {c_: AT_S, k_: p_norm - 1}),
        at(
            "exp-increases",
            {
                x_: p_norm * (p_norm - 1) * (AT_S**2 + a_perp**2) / 2,
                y_: p_norm * (p_norm - 1) * t_rel**2 / 2,
            },
        ),
    ),
)

E6 = Theorem(
    id="resque.E6",
    title="Difference of two estimates, with the sharp constant",
    statement=_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "the estimator is Lipschitz in every p-norm", Status.DERIVED),
    assumptions=(
        Assumption("order", p_norm >= 1, "the order p of the norm is at least 1", CODE),
        Assumption(
            "first",
            Eq(w_1, weight(a_par)),
            "the weight at x; the shift a has the components a_par along b - a and a_perp across",
            CODE,
        ),
        Assumption(
            "second",
            Eq(w_2, weight(a_par + H_sep)),
            "the weight at x', which uses the same noise; its shift is b = a + (b - a)",
            CODE,
        ),
        Assumption(
            "along",
            StandardNormal(U),
            "the component of xi/rho along b - a is standard normal",
            CODE,
        ),
        Assumption(
            "across",
            StandardNormal(V),
            "the component of xi/rho across b - a, in the plane of a and b, is standard normal",
            CODE,
        ),
        Assumption(
            "independent",
            Independent(V, U),
            "orthogonal components of an isotropic Gaussian are independent",
            CODE,
        ),
        Assumption(
            "reference", StandardNormal(Z), "Z is standard normal: it states the bound", CODE
        ),
        Assumption(
            "centre-1",
            a_par**2 + a_perp**2 <= t_rel**2,
            "x lies in the ball of radius t rho around the centre",
            CODE,
        ),
        Assumption(
            "centre-2",
            (a_par + H_sep) ** 2 + a_perp**2 <= t_rel**2,
            "x' lies in that ball",
            CODE,
        ),
        Assumption(
            "given-noise",
            Conditional(g_norm**p_norm, moment_p, w_1, w_2, moment_p),
            "moment_p is the mean of ||g||^p over the sample for given noise xi",
            CODE,
        ),
        Assumption(
            "bounded",
            moment_p <= L_lip**p_norm,
            "at every point the subgradient has p-th moment at most L^p (every sample loss is "
            "L-Lipschitz, for instance)",
            CALLER,
        ),
    ),
    steps=(
        identity(
            "segment",
            Eq(_DIFFERENCE, Abs(Integral(RATE, (s_, 0, 1))) ** p_norm),
            "first",
            "second",
            evaluate=True,
            note="the weight along the segment from x to x', differentiated",
        ),
        expectation(
            "minkowski",
            Abs(Integral(RATE, (s_, 0, 1))) ** p_norm <= _BETWEEN,
            "order",
            by=Jensen(Lambda(x_, Abs(x_) ** p_norm), RATE, Integrate(s_, 0, 1)),
            note="Minkowski's inequality, as Jensen's over the segment",
        ),
        inequality("pathwise", _DIFFERENCE <= _BETWEEN, "segment", "minkowski"),
        expectation(
            "mean",
            E(_DIFFERENCE) <= Integral(E(Abs(RATE) ** p_norm), (s_, 0, 1)),
            "pathwise",
            by=Linearity(over=(E,)),
            note="the two averages exchanged",
        ),
        *GROWING,
        *TILTED,
        *_BOUNDED,
        expectation(
            "whole-segment",
            Integral(E(Abs(RATE) ** p_norm), (s_, 0, 1)) <= _LIMIT,
            "on-segment",
            by=Linearity(over=(Integrate(s_, 0, 1),)),
        ),
        expectation(
            "condition",
            Eq(E(_DIFFERENCE * g_norm**p_norm), E(_DIFFERENCE * moment_p)),
            "given-noise",
            by=Tower(),
        ),
        inequality(
            "pointwise",
            _DIFFERENCE * moment_p <= L_lip**p_norm * _DIFFERENCE,
            "bounded",
        ),
        expectation(
            "weighted",
            E(_DIFFERENCE * moment_p) <= L_lip**p_norm * E(_DIFFERENCE),
            "pointwise",
            by=Linearity(over=(E,)),
        ),
        inequality("difference", _STATEMENT, "condition", "weighted", "mean", "whole-segment"),
    ),
    models=estimator_models.e6,
    explanation=(
        "Two estimates at x and x' that use the same noise and the same sample differ by at most "
        "L ||x - x'||/rho times kappa_p(r/rho) in p-norm, where r is the radius of a ball that "
        "holds both points. The statement gives the p-th power: kappa_p(t)^p = "
        "exp(p (p - 1) t^2/2) E|(p - 1) t + Z|^p with Z standard normal. The constant cannot be "
        "improved: it is the limit for two points that close in on each other at the rim of the "
        "ball, on a line through its centre (resque.E6.sharp-2, resque.E6.sharp-4)."
    ),
    evaluations={
        "bound": L_lip * H_sep * KAPPA,
        "kappa": KAPPA,
        "kappa of even order": KAPPA_EVEN,
        "within rho/sqrt(p - 1)": 2 * exp(Rational(1, 2)) * sqrt(p_norm - 1),
    },
    curve=Curve(
        along="relative_radius",
        values=tuple(step / 40 for step in range(1, 41)),
        fixed={"norm_order": 4},
        names=("kappa",),
        log_y=True,
    ),
    caveats=(
        "The ball matters: at t = 1 the factor is 1.6e1 for p = 4 and 2.8e4 for p = 16. Use radius "
        "rho/p or rho/sqrt(p - 1) with moments of order p.",
        "For a gradient with a bound on its second moment only, the statement holds at p = 2.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (E6,)
