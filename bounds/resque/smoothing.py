"""Facts on Gaussian smoothing f_rho(x) = E f(x + xi), xi ~ N(0, rho^2 I), of a convex loss."""

from __future__ import annotations

import sympy
from sympy import And, Eq, Integral, Lambda, Sum, gamma, oo, sqrt

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.operators import E, RandomVariable, Variable, deterministic, random_process
from bounds.proof.methods import Jensen, Linearity
from bounds.proof.step import expectation, identity, inequality
from bounds.resque import smoothing_models
from bounds.resque.symbols import L_lip, dist_xy, rho_s
from bounds.symbols import d, j
from bounds.theorem import Curve, Kind, Source, Status, Theorem

noise = random_process("noise")
slope_here = deterministic("slope_here")
f_near = RandomVariable("f_near")
f_here = sympy.Symbol("f_here", real=True)
x_ = Variable("x_")
r_ = Variable("r_", nonnegative=True)
share = sympy.Symbol("share", real=True)
f_x = RandomVariable("f_x")
f_y = RandomVariable("f_y")
f_mix = RandomVariable("f_mix")

_NORM = sqrt(Sum(noise(j) ** 2, (j, 1, d)))
_F1_STATEMENT = And(
    f_here <= E(f_near),
    E(f_near) <= f_here + L_lip * rho_s * E(_NORM),
    E(_NORM) <= sqrt(d),
)

F1 = Theorem(
    id="resque.F1",
    title="Smoothing raises a convex loss, by at most L rho sqrt(d)",
    statement=_F1_STATEMENT,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "approximation by Gaussian smoothing", Status.DERIVED),
    assumptions=(
        Assumption(
            "convex",
            f_here + Sum(slope_here(j) * rho_s * noise(j), (j, 1, d)) <= f_near,
            "the loss is convex: it lies above its tangent at x, f(x + rho z) >= f(x) + <g, rho z>",
            CALLER,
        ),
        Assumption(
            "lipschitz",
            f_near <= f_here + L_lip * rho_s * _NORM,
            "the loss is L-Lipschitz",
            CALLER,
        ),
        Assumption("centred", Eq(E(noise(j)), 0), "the noise xi/rho has mean 0", CODE),
        Assumption(
            "unit", Eq(E(noise(j) ** 2), 1), "every coordinate of xi/rho has variance 1", CODE
        ),
    ),
    steps=(
        expectation(
            "above-tangent",
            f_here + Sum(slope_here(j) * rho_s * E(noise(j)), (j, 1, d)) <= E(f_near),
            "convex",
            by=Linearity(over=(E,)),
        ),
        identity(
            "tangent-mean",
            Eq(Sum(slope_here(j) * rho_s * E(noise(j)), (j, 1, d)), 0),
            "centred",
        ),
        expectation(
            "raised",
            E(f_near) <= f_here + L_lip * rho_s * E(_NORM),
            "lipschitz",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "root",
            E(_NORM) ** 2 <= E(Sum(noise(j) ** 2, (j, 1, d))),
            by=Jensen(Lambda(x_, x_**2), _NORM),
            note="the mean length is at most the root of the mean square",
        ),
        identity("dimension", Eq(Sum(E(noise(j) ** 2), (j, 1, d)), d), "unit"),
        inequality(
            "sandwich",
            _F1_STATEMENT,
            "above-tangent",
            "tangent-mean",
            "raised",
            "root",
            "dimension",
        ),
    ),
    models=smoothing_models.f1,
    explanation=(
        "The smoothed loss lies above the loss, and above by at most L rho times the mean length "
        "of a standard Gaussian vector, which is at most sqrt(d). So rho = eps/(2 L sqrt(d)) costs "
        "an error of eps/2. The mean length itself is in resque.F1.norm."
    ),
    evaluations={
        "bound": L_lip * rho_s * sqrt(2) * gamma((d + 1) / 2) / gamma(d / 2),
        "simple": L_lip * rho_s * sqrt(d),
    },
    curve=Curve(
        along="dimension",
        values=(1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50),
        fixed={"lipschitz": 1, "smoothing_std": 1},
        names=("bound", "simple"),
    ),
)

_RADIAL = r_ ** (d - 1) * sympy.exp(-(r_**2) / 2)
_F1_NORM = Eq(
    Integral(r_ * _RADIAL, (r_, 0, oo)) / Integral(_RADIAL, (r_, 0, oo)),
    sqrt(2) * gamma((d + 1) / 2) / gamma(d / 2),
)

F1_NORM = Theorem(
    id="resque.F1.norm",
    title="Mean length of a standard Gaussian vector",
    statement=_F1_NORM,
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "mean length of a Gaussian vector", Status.DERIVED),
    steps=(identity("radial", _F1_NORM, evaluate=True, note="two gamma integrals in polar form"),),
    explanation=(
        "In polar coordinates the length of a standard Gaussian vector has a density proportional "
        "to r^(d - 1) exp(-r^2/2); its mean is a ratio of two gamma functions: 0.798 for d = 1, "
        "close to sqrt(d - 1/2) for large d."
    ),
    evaluations={"bound": sqrt(2) * gamma((d + 1) / 2) / gamma(d / 2)},
    curve=Curve(along="dimension", values=tuple(range(1, 31)), fixed={}),
)

_F2_STATEMENT = And(
    E(f_mix) <= share * E(f_x) + (1 - share) * E(f_y),
    sympy.Abs(E(f_x) - E(f_y)) <= L_lip * dist_xy,
)

F2 = Theorem(
    id="resque.F2",
    title="Smoothing keeps convexity and the Lipschitz constant",
    statement=_F2_STATEMENT,
    kind=Kind.STRUCTURE,
    source=Source("carmon2023resque", "properties of Gaussian smoothing", Status.DERIVED),
    assumptions=(
        Assumption(
            "convex",
            f_mix <= share * f_x + (1 - share) * f_y,
            "the loss is convex: for every noise xi its value at (share x + (1 - share) y) + xi is "
            "at most the average of those at x + xi and y + xi (share in [0, 1])",
            CALLER,
        ),
        Assumption(
            "lipschitz",
            And(f_x - f_y <= L_lip * dist_xy, f_y - f_x <= L_lip * dist_xy),
            "the loss is L-Lipschitz: for every noise xi, |f(x + xi) - f(y + xi)| <= L ||x - y||",
            CALLER,
        ),
    ),
    steps=(
        expectation(
            "mean-convex",
            E(f_mix) <= share * E(f_x) + (1 - share) * E(f_y),
            "convex",
            by=Linearity(over=(E,)),
        ),
        inequality("up", f_x - f_y <= L_lip * dist_xy, "lipschitz"),
        inequality("down", f_y - f_x <= L_lip * dist_xy, "lipschitz"),
        expectation("mean-up", E(f_x) - E(f_y) <= L_lip * dist_xy, "up", by=Linearity(over=(E,))),
        expectation(
            "mean-down", E(f_y) - E(f_x) <= L_lip * dist_xy, "down", by=Linearity(over=(E,))
        ),
        inequality("both", _F2_STATEMENT, "mean-convex", "mean-up", "mean-down"),
    ),
    models=smoothing_models.f2,
    explanation=(
        "The smoothed loss is an average of translates of the loss, and an average of convex, "
        "L-Lipschitz functions is convex and L-Lipschitz."
    ),
    evaluations={"bound": L_lip * dist_xy},
)

THEOREMS: tuple[Theorem, ...] = (F1, F1_NORM, F2)
