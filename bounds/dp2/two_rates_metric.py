"""How large the preconditioner is on average, from the clip norm and the noise alone."""

from __future__ import annotations

from sympy import Abs, Implies, Integer, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.common_models import size_models
from bounds.dp2.relations import Eq, Le, Lt
from bounds.dp2.symbols import C, D, X, beta, eps, mbar, nbar, nu1, s, v
from bounds.operators import E, Variable
from bounds.proof.methods import CauchySchwarz, Linearity
from bounds.proof.step import Induction, at, expectation, inequality
from bounds.symbols import j, k
from bounds.theorem import Curve, Kind, Source, Status, Theorem

_NOISE = nu1 / sqrt(s)
_BOUND = C + _NOISE
_STATEMENT = Le(E(D(k, j)), _BOUND + eps)
x, y = Variable("x"), Variable("y")

METRIC = Theorem(
    id="dp2.B.metric",
    title="How large the preconditioner is on average",
    statement=_STATEMENT,
    kind=Kind.UPPER,
    source=Source("li2023dp2", "second moment of the averaged gradient", Status.DERIVED),
    assumptions=(
        Assumption("metric", Eq(D(k, j), sqrt(v(k, j)) + eps), "D = sqrt(v) + damping", CODE),
        Assumption("ema", Lt(beta, 1), "the EMA constant is below 1", CODE),
        Assumption("start", Eq(v(1, j), 0), "the EMA starts at 0", CODE),
        Assumption(
            "memory",
            Eq(v(k + 1, j), beta * v(k, j) + (1 - beta) * X(k, j) ** 2),
            "v is the EMA of the squared averages",
            CODE,
        ),
        Assumption(
            "average",
            Eq(X(k, j), mbar(k, j) + nbar(k, j)),
            "the released average is that of the gradients plus that of the noise",
            CODE,
        ),
        Assumption(
            "clipped", Le(Abs(mbar(k, j)), C), "no coordinate of a clipped gradient exceeds C", CODE
        ),
        Assumption(
            "noise",
            Eq(E(nbar(k, j) ** 2), nu1**2 / s),
            "the averaged noise has variance nu1^2/s (dp2.noise.average)",
            CODE,
        ),
    ),
    steps=(
        inequality(
            "square",
            Implies(Abs(x) <= C, Le((x + y) ** 2, C**2 + 2 * C * Abs(y) + y**2)),
        ),
        inequality(
            "path",
            Le(X(k, j) ** 2, C**2 + 2 * C * Abs(nbar(k, j)) + nbar(k, j) ** 2),
            "average",
            "clipped",
            at("square", {x: mbar(k, j), y: nbar(k, j)}),
        ),
        expectation(
            "mean-square",
            Le(
                E(X(k, j) ** 2),
                C**2 + 2 * C * E(Abs(nbar(k, j))) + E(nbar(k, j) ** 2),
            ),
            "path",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "mean-noise",
            Le(E(Abs(nbar(k, j))) ** 2, E(nbar(k, j) ** 2)),
            by=CauchySchwarz(Abs(nbar(k, j)), Integer(1), over=(E,)),
            note="the average and the noise may depend on one another",
        ),
        inequality("noise-root", Le(E(Abs(nbar(k, j))), _NOISE), "mean-noise", "noise"),
        inequality(
            "one",
            Le(E(X(k, j) ** 2), _BOUND**2),
            "mean-square",
            "noise-root",
            "noise",
        ),
        expectation("start-mean", Eq(E(v(1, j)), 0), "start", by=Linearity(over=(E,))),
        expectation(
            "memory-mean",
            Eq(E(v(k + 1, j)), beta * E(v(k, j)) + (1 - beta) * E(X(k, j) ** 2)),
            "memory",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "all",
            Le(E(v(k, j)), _BOUND**2),
            "memory-mean",
            "start-mean",
            "one",
            "ema",
            induction=Induction(k),
        ),
        expectation(
            "root",
            Le(E(sqrt(v(k, j))) ** 2, E(v(k, j))),
            by=CauchySchwarz(sqrt(v(k, j)), Integer(1), over=(E,)),
        ),
        expectation(
            "split", Eq(E(D(k, j)), E(sqrt(v(k, j))) + eps), "metric", by=Linearity(over=(E,))
        ),
        inequality("bound", _STATEMENT, "split", "root", "all"),
    ),
    explanation=(
        "Before any run, the mean of each coordinate of the preconditioner is at most the clip "
        "norm plus the standard deviation of the averaged noise, plus the damping. That averaged "
        "gradient and averaged noise of a phase depend on one another does not matter: their "
        "root mean squares add."
    ),
    models=size_models,
    evaluations={"bound": _BOUND + eps},
    curve=Curve(
        "delay",
        (1, 10, 100, 1000),
        {"gradient_bound": 1.0, "noise_std": 1.0, "damping": 0.1},
        log_x=True,
    ),
    caveats=(
        "A root of C^2 + nu1^2/s in place of the sum would need E[m n] <= 0 for averaged gradient "
        "m and averaged noise n, which is false for some convex losses.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (METRIC,)
