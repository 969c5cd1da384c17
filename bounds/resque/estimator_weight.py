"""The weight of the reweighted estimator: its moments, joint moments and law.

With u = x - xbar, a = u/rho and z = xi/rho ~ N(0, I), the weight is ``exp(<a, z> - ||a||^2/2)``.
Only the component of z along a enters, which is standard normal, so that every moment is an
integral over one variable (two for two points: the plane of a and b).
"""

from __future__ import annotations

import sympy
from sympy import Eq, Piecewise, Rational, exp

from bounds.assumptions import CODE, Assumption
from bounds.operators import E, Independent, RandomVariable, StandardNormal, Variable
from bounds.proof.methods import Linearity, ZeroMean
from bounds.proof.step import at, expectation, identity, inequality
from bounds.resque import estimator_models
from bounds.resque.symbols import (
    a_len,
    a_pos,
    ab,
    b_len,
    j_ord,
    k_ord,
    p,
    w_cut,
)
from bounds.theorem import Curve, Kind, Source, Status, Theorem

Z1 = RandomVariable("Z1")
Z2 = RandomVariable("Z2")
w_a = RandomVariable("w_a", positive=True)
w_b = RandomVariable("w_b", positive=True)
log_w = RandomVariable("log_w")
c_ = Variable("c_")
#: Components of b along a and across it.
b_par = sympy.Symbol("b_par", real=True)
b_perp = sympy.Symbol("b_perp", real=True)

ALONG = Assumption(
    "along",
    StandardNormal(Z1),
    "the component of xi/rho along x - xbar is standard normal: xi ~ N(0, rho^2 I)",
    CODE,
)
WEIGHT = Assumption(
    "weight",
    Eq(w_a, exp(a_len * Z1 - a_len**2 / 2)),
    "the weight is the ratio of the two Gaussian densities, exp(<a, z> - ||a||^2/2)",
    CODE,
)

E2 = Theorem(
    id="resque.E2",
    title="Moments of the weight",
    statement=Eq(E(w_a**p), exp(p * (p - 1) * a_len**2 / 2)),
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "moments of the density ratio", Status.DERIVED),
    assumptions=(WEIGHT, ALONG),
    steps=(
        identity(
            "power",
            Eq(E(w_a**p), exp(-p * a_len**2 / 2) * E(exp(p * a_len * Z1))),
            "weight",
            note="the exponent of the weight is affine in one Gaussian variable",
        ),
        identity(
            "square",
            Eq(E(exp(p * a_len * Z1)), exp(p**2 * a_len**2 / 2)),
            "along",
            evaluate=True,
            note="complete the square in the Gaussian integral",
        ),
        identity(
            "moment",
            Eq(E(w_a**p), exp(p * (p - 1) * a_len**2 / 2)),
            "power",
            "square",
        ),
    ),
    models=estimator_models.e2,
    explanation=(
        "Every moment of the weight has a closed form, also for orders that are no integer and "
        "for negative ones. The order p enters squared in the exponent: moments of high order are "
        "bounded only when x lies within about rho/sqrt(p) of the centre of the ball. For p = 1 "
        "it says that the weight has mean 1."
    ),
    evaluations={"bound": exp(p * (p - 1) * a_len**2 / 2)},
    curve=Curve(
        along="shift",
        values=tuple(step / 20 for step in range(41)),
        fixed={"moment": 2},
        log_y=True,
    ),
    caveats=(
        "The moment is exact, but a sample mean of the weight is far from it once the shift "
        "exceeds 1: the mass sits in rare, large weights.",
    ),
)

_MEETS = (j_ord * a_len + k_ord * b_par) * Z1
_E3_STATEMENT = Eq(
    E(w_a**j_ord * w_b**k_ord),
    exp(
        (
            (j_ord**2 * a_len**2 + 2 * j_ord * k_ord * ab + k_ord**2 * b_len**2)
            - j_ord * a_len**2
            - k_ord * b_len**2
        )
        / 2
    ),
)
PAIR = (
    WEIGHT,
    Assumption(
        "second",
        Eq(w_b, exp(b_par * Z1 + b_perp * Z2 - b_len**2 / 2)),
        "the second weight uses the same noise; b has the components b_par along a and b_perp "
        "across it",
        CODE,
    ),
    Assumption("inner", Eq(ab, a_len * b_par), "<a, b> = ||a|| b_par", CODE),
    Assumption("length", Eq(b_len**2, b_par**2 + b_perp**2), "||b||^2 = b_par^2 + b_perp^2", CODE),
    ALONG,
    Assumption(
        "across",
        StandardNormal(Z2),
        "the component of xi/rho across a, in the plane of a and b, is standard normal",
        CODE,
    ),
    Assumption(
        "independent",
        Independent(Z2, Z1),
        "orthogonal components of an isotropic Gaussian are independent",
        CODE,
    ),
)

E3 = Theorem(
    id="resque.E3",
    title="Joint moments of two weights with the same noise",
    statement=_E3_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "moments of the density ratio", Status.DERIVED),
    assumptions=PAIR,
    steps=(
        identity(
            "product",
            Eq(
                E(w_a**j_ord * w_b**k_ord),
                exp(-j_ord * a_len**2 / 2)
                * exp(-k_ord * b_len**2 / 2)
                * E(exp(_MEETS) * exp(k_ord * b_perp * Z2)),
            ),
            "weight",
            "second",
            note="the two exponents added up, sorted by the two components of the noise",
        ),
        identity(
            "gauss-across",
            Eq(E(exp(c_ * Z2)), exp(c_**2 / 2)),
            "across",
            evaluate=True,
            note="complete the square, for any factor c",
        ),
        identity("gauss-along", Eq(E(exp(c_ * Z1)), exp(c_**2 / 2)), "along", evaluate=True),
        expectation(
            "factor",
            Eq(
                E(exp(_MEETS) * exp(k_ord * b_perp * Z2)),
                exp((k_ord * b_perp) ** 2 / 2) * E(exp(_MEETS)),
            ),
            at("gauss-across", {c_: k_ord * b_perp}),
            "independent",
            by=ZeroMean(),
            note="independent factors",
        ),
        identity(
            "joint",
            _E3_STATEMENT,
            "product",
            "factor",
            at("gauss-along", {c_: j_ord * a_len + k_ord * b_par}),
            "inner",
            "length",
        ),
    ),
    models=estimator_models.e3,
    explanation=(
        "The weights at two points x and x' that share the Gaussian noise have joint moments in "
        "closed form: j times a plus k times b is again a direction, and one completes the square "
        "along it. This is what makes the difference of two estimates, and with it the drift of "
        "two coupled runs, computable exactly."
    ),
    evaluations={"bound": _E3_STATEMENT.rhs},
    curve=Curve(
        along="shift",
        values=tuple(step / 20 for step in range(31)),
        fixed={
            "first_order": 1,
            "second_order": 1,
            "second_shift": Rational(1, 2),
            "inner_product": Rational(1, 4),
        },
    ),
    caveats=(
        "Moments of the difference of two weights are alternating sums of these values. In double "
        "precision such a sum has no correct digit from order 8 on: see "
        "`bounds.resque.estimator_moments`.",
        "An inner product beyond ||a|| ||b|| belongs to no two vectors; the formula is evaluated "
        "all the same.",
    ),
)

_E7_PAST = (sympy.log(w_cut) + a_pos**2 / 2) / a_pos
_E7_STATEMENT = Eq(
    E(Piecewise((1, log_w > sympy.log(w_cut)), (0, True))),
    (1 - sympy.erf(_E7_PAST / sympy.sqrt(2))) / 2,
)

E7 = Theorem(
    id="resque.E7",
    title="Law of the weight",
    statement=_E7_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "law of the density ratio", Status.DERIVED),
    assumptions=(
        Assumption(
            "log-weight",
            Eq(log_w, a_pos * Z1 - a_pos**2 / 2),
            "the weight is computed in logs: log w = <a, z> - ||a||^2/2",
            CODE,
        ),
        ALONG,
    ),
    steps=(
        inequality(
            "event",
            Eq(
                Piecewise((1, log_w > sympy.log(w_cut)), (0, True)),
                Piecewise((1, Z1 - _E7_PAST > 0), (0, True)),
            ),
            "log-weight",
            note="log w is affine in one Gaussian variable",
        ),
        expectation(
            "probability",
            Eq(
                E(Piecewise((1, log_w > sympy.log(w_cut)), (0, True))),
                E(Piecewise((1, Z1 - _E7_PAST > 0), (0, True))),
            ),
            "event",
            by=Linearity(over=(E,)),
        ),
        identity(
            "tail",
            Eq(E(Piecewise((1, Z1 - c_ > 0), (0, True))), (1 - sympy.erf(c_ / sympy.sqrt(2))) / 2),
            "along",
            evaluate=True,
            note="the tail of a standard normal",
        ),
        identity("law", _E7_STATEMENT, "probability", at("tail", {c_: _E7_PAST})),
    ),
    models=estimator_models.e7,
    explanation=(
        "The logarithm of the weight has the law N(-||a||^2/2, ||a||^2). The statement gives the "
        "probability that the weight exceeds a value s, which is what one needs to say how "
        "often an estimate is dominated by a single draw."
    ),
    evaluations={"bound": sympy.erfc(_E7_PAST / sympy.sqrt(2)) / 2},
    curve=Curve(
        along="weight_threshold",
        values=tuple(step / 4 for step in range(1, 41)),
        fixed={"positive_shift": 1},
        log_y=True,
    ),
)

THEOREMS: tuple[Theorem, ...] = (E2, E3, E7)
