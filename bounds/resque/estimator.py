"""The reweighted estimator: its mean and the moments of its norm.

One query point xi near the ball's centre serves every x of the ball: the gradient there is
multiplied by the ratio of the Gaussian densities around x and around the centre.
"""

from __future__ import annotations

import sympy
from sympy import And, Eq, Implies, Integral, Rational, exp, oo, pi, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import Conditional, E, RandomVariable, Variable, random_process
from bounds.proof.methods import Integrate, Linearity, Tower
from bounds.proof.step import at, cite, expectation, identity, inequality
from bounds.resque import estimator_models
from bounds.resque.estimator_weight import ALONG, WEIGHT, w_a
from bounds.resque.symbols import L_lip, a_len, p, p_norm
from bounds.theorem import Curve, Kind, Source, Status, Theorem

z_ = Variable("z_")
h_ = Variable("h_")
x_ = Variable("x_")
y_ = Variable("y_")
#: Directional derivative, in a fixed direction e, of the loss at the point z_ along a.
slope = random_process("slope_e")
#: Loss at the point z_ along a, moved by h_ in direction e.
loss_at = random_process("loss_e")
mean_e = sympy.Symbol("mean_e", real=True)
grad_e = sympy.Symbol("grad_e", real=True)
curvature = sympy.Symbol("curvature", positive=True)


def normal_density(z: sympy.Expr) -> sympy.Expr:
    """Density of N(0, 1)."""
    return exp(-(z**2) / 2) / sqrt(2 * pi)


_WEIGHT_AT = exp(a_len * z_ - a_len**2 / 2)


def _smoothed(value: sympy.Expr) -> sympy.Expr:
    """E of a function of the point x + xi: z_ has density N(a, 1), in units of rho from xbar."""
    return E(Integral(value * normal_density(z_ - a_len), (z_, -oo, oo)))


_ESTIMATE = E(Integral(_WEIGHT_AT * slope(z_) * normal_density(z_), (z_, -oo, oo)))
_ALL = Integrate(z_, -oo, oo, normal_density(z_ - a_len))

E1 = Theorem(
    id="resque.E1",
    title="The reweighted estimator is unbiased",
    statement=Eq(_ESTIMATE, grad_e),
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "the ReSQue estimator is unbiased", Status.STATED),
    assumptions=(
        Assumption(
            "subgradient",
            loss_at(z_, 0) + h_ * slope(z_) <= loss_at(z_, h_),
            "g is a subgradient of the convex loss: f(v + h e) >= f(v) + h <g(v), e> at every "
            "point v, for every direction e (fixed here) and every h",
            CALLER,
        ),
        Assumption(
            "differentiable",
            _smoothed(loss_at(z_, h_))
            <= _smoothed(loss_at(z_, 0)) + grad_e * h_ + curvature * h_**2 / 2,
            "grad_e is the derivative of the smoothed loss at x in direction e, and the smoothed "
            "loss bends by some finite curvature at most (resque.F3 gives one)",
            CALLER,
        ),
        Assumption(
            "mean",
            Eq(E(Integral(slope(z_) * normal_density(z_ - a_len), (z_, -oo, oo))), mean_e),
            "mean_e names the mean of <g(x + xi), e>, which is finite",
            CALLER,
        ),
    ),
    steps=(
        identity(
            "measure",
            Eq(_ESTIMATE, _smoothed(slope(z_))),
            note="the weight is the ratio of the densities around x and around the centre: the "
            "weighted mean around the centre is the plain mean around x",
        ),
        expectation(
            "supporting",
            _smoothed(loss_at(z_, 0) + h_ * slope(z_)) <= _smoothed(loss_at(z_, h_)),
            "subgradient",
            by=Linearity(over=(E, _ALL)),
            note="the mean subgradient is a subgradient of the smoothed loss",
        ),
        inequality(
            "same",
            Eq(mean_e, grad_e),
            at("supporting", {h_: (mean_e - grad_e) / curvature}),
            at("differentiable", {h_: (mean_e - grad_e) / curvature}),
            "mean",
            note="a differentiable function has one subgradient: with h = (M - G)/B, "
            "h (M - G) <= B h^2/2 forces M = G",
        ),
        identity("unbiased", Eq(_ESTIMATE, grad_e), "measure", "mean", "same"),
    ),
    explanation=(
        "Whatever the centre of the ball, the mean of the reweighted subgradient is the gradient "
        "of the smoothed loss at x. Gradients queried once around the centre therefore serve "
        "every x near it. The proof takes one direction e at a time and integrates along the line "
        "through the centre and x; everything across that line, and the sample, stands under E."
    ),
    caveats=(
        "Unbiased does not mean useful: the variance grows as exp(||x - xbar||^2/rho^2), see "
        "resque.E4.",
    ),
)

g_norm = RandomVariable("g_norm", nonnegative=True)
moment_2 = RandomVariable("moment_2", nonnegative=True)
moment_p = RandomVariable("moment_p", nonnegative=True)
_SECOND = w_a**2 * g_norm**2
_NORM = w_a**p_norm * g_norm**p_norm

E4 = Theorem(
    id="resque.E4",
    title="Second moment of the estimator",
    statement=And(
        E(_SECOND) <= L_lip**2 * exp(a_len**2),
        Implies(a_len <= 1, E(_SECOND) <= L_lip**2 * exp(1)),
    ),
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "second moment on the ball of radius rho", Status.DERIVED),
    assumptions=(
        WEIGHT,
        ALONG,
        Assumption(
            "given-noise",
            Conditional(g_norm**2, moment_2, w_a, moment_2),
            "moment_2 is the mean of ||g||^2 over the sample for given noise xi (so for a given "
            "weight): the sample is drawn independently of the noise",
            CODE,
        ),
        Assumption(
            "bounded",
            moment_2 <= L_lip**2,
            "at every point the subgradient of a random sample has second moment at most L^2",
            CALLER,
        ),
    ),
    steps=(
        expectation("condition", Eq(E(_SECOND), E(w_a**2 * moment_2)), "given-noise", by=Tower()),
        inequality("pointwise", w_a**2 * moment_2 <= L_lip**2 * w_a**2, "bounded"),
        expectation(
            "weighted",
            E(w_a**2 * moment_2) <= L_lip**2 * E(w_a**2),
            "pointwise",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "second-moment",
            And(
                E(_SECOND) <= L_lip**2 * exp(a_len**2),
                Implies(a_len <= 1, E(_SECOND) <= L_lip**2 * exp(1)),
            ),
            "condition",
            "weighted",
            cite("resque.E2", {p: sympy.Integer(2)}),
        ),
    ),
    models=estimator_models.e4,
    explanation=(
        "The estimator's second moment is that of the subgradient times E w^2. On the ball of "
        "radius rho around the centre it is at most e L^2, less than 3 L^2: the reweighting costs "
        "a constant factor. It is attained by a linear loss."
    ),
    evaluations={"bound": L_lip**2 * exp(a_len**2), "on the ball": L_lip**2 * exp(1)},
    curve=Curve(
        along="shift",
        values=tuple(step / 20 for step in range(31)),
        fixed={"lipschitz": 1},
        log_y=True,
    ),
)

_E5_BOUND = (L_lip * exp((p_norm - 1) * a_len**2 / 2)) ** p_norm
_E5_STATEMENT = And(
    E(_NORM) <= _E5_BOUND,
    Implies(a_len <= 1 / p_norm, E(_NORM) <= (L_lip * exp(Rational(1, 8))) ** p_norm),
    Implies(a_len**2 <= 1 / p_norm, E(_NORM) <= (L_lip * exp(Rational(1, 2))) ** p_norm),
)

E5 = Theorem(
    id="resque.E5",
    title="Moments of the estimator of every order",
    statement=_E5_STATEMENT,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "moments on the ball of radius rho/p", Status.DERIVED),
    assumptions=(
        WEIGHT,
        ALONG,
        Assumption(
            "given-noise",
            Conditional(g_norm**p_norm, moment_p, w_a, moment_p),
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
        expectation(
            "condition", Eq(E(_NORM), E(w_a**p_norm * moment_p)), "given-noise", by=Tower()
        ),
        inequality("pointwise", w_a**p_norm * moment_p <= L_lip**p_norm * w_a**p_norm, "bounded"),
        expectation(
            "weighted",
            E(w_a**p_norm * moment_p) <= L_lip**p_norm * E(w_a**p_norm),
            "pointwise",
            by=Linearity(over=(E,)),
        ),
        inequality("exp-increases", Implies(x_ <= y_, exp(x_) <= exp(y_))),
        inequality(
            "every-order",
            _E5_STATEMENT,
            "condition",
            "weighted",
            cite("resque.E2", {p: p_norm}),
            at("exp-increases", {x_: p_norm * (p_norm - 1) * a_len**2 / 2, y_: p_norm / 8}),
            at("exp-increases", {x_: p_norm * (p_norm - 1) * a_len**2 / 2, y_: p_norm / 2}),
        ),
    ),
    models=estimator_models.e5,
    explanation=(
        "The p-norm of the estimator is at most L exp((p - 1) ||a||^2/2). On the ball of radius "
        "rho/p the factor is at most e^(1/8) = 1.1331..., on the larger ball of radius rho/sqrt(p) "
        "at most e^(1/2) = 1.6487.... So moments of order p are as good as those of the plain "
        "subgradient, in a ball that shrinks slowly with p."
    ),
    evaluations={
        "bound": L_lip * exp((p_norm - 1) * a_len**2 / 2),
        "moment": _E5_BOUND,
        "within rho/p": L_lip * exp(Rational(1, 8)),
        "within rho/sqrt(p)": L_lip * exp(Rational(1, 2)),
    },
    curve=Curve(
        along="norm_order",
        values=tuple(1 + step / 4 for step in range(61)),
        fixed={"lipschitz": 1, "shift": Rational(1, 4)},
        names=("bound", "within rho/p", "within rho/sqrt(p)"),
    ),
    caveats=(
        "The statement bounds the p-th power of the norm; its p-th root is the evaluation `bound`.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (E1, E4, E5)
