"""What the master inequality says about one iterate: the best one, and the average."""

from __future__ import annotations

from sympy import Implies, Sum

from bounds.assumptions import CALLER, CODE, Assumption
from bounds.dp2.master import CAVEATS
from bounds.dp2.relations import Eq, Le
from bounds.dp2.runs_convex import master_models
from bounds.dp2.setting import ASSUMPTIONS, LEFT, MOMENT, OVER_J, OVER_T, growth, metric, right_side
from bounds.dp2.symbols import average, best_gap, gap, omega, slope, w
from bounds.operators import E, RandomVariable, Variable
from bounds.proof.methods import Linearity
from bounds.proof.step import at, cite, expectation, identity, inequality
from bounds.symbols import T, j, t
from bounds.theorem import Kind, Source, Status, Theorem

x_, y_ = Variable("x_"), Variable("y_")
b_ = Variable("b_", positive=True)
_HALF = right_side(growth(metric), MOMENT)
_BEST = Le(best_gap * Sum(omega(t), OVER_T), _HALF)

BEST = Theorem(
    id="dp2.master.best",
    title="Master inequality for the best iterate",
    statement=_BEST,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "convex analysis", Status.DERIVED),
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "best",
            Implies(Le(t, T), Le(best_gap, E(gap(t)))),
            "no step up to T has an expected gap below the best one",
            CODE,
        ),
    ),
    steps=(
        inequality("scale", Implies(x_ <= y_, b_ * x_ <= b_ * y_)),
        inequality(
            "weighted",
            Implies(Le(t, T), Le(omega(t) * best_gap, omega(t) * E(gap(t)))),
            "best",
            at("scale", {b_: omega(t), x_: best_gap, y_: E(gap(t))}),
        ),
        expectation(
            "smallest",
            Le(best_gap * Sum(omega(t), OVER_T), LEFT),
            "weighted",
            by=Linearity(over=(OVER_T,)),
        ),
        inequality("below", _BEST, "smallest", cite("dp2.master")),
    ),
    explanation=(
        "The smallest expected gap of the run, times the sum of the weights, is below the right "
        "side of the master inequality. The same holds for the expected gap of one iterate drawn "
        "with probabilities proportional to the weights: that is the weighted mean itself."
    ),
    models=master_models,
    caveats=CAVEATS,
)

#: F - F* at the average iterate
average_gap = RandomVariable("Delta_avg", nonnegative=True)
moment = Sum(omega(t) * w(t, j), OVER_T)
tangent = Sum(slope(j) * (w(t, j) - average(j)), OVER_J)
_AVERAGE = Le(E(average_gap) * Sum(omega(t), OVER_T), _HALF)

AVERAGE = Theorem(
    id="dp2.master.average",
    title="Master inequality for the average iterate",
    statement=_AVERAGE,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "convex analysis", Status.DERIVED),
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "average",
            Eq(moment, average(j) * Sum(omega(t), OVER_T)),
            "the average iterate has the weights omega_t",
            CODE,
        ),
        Assumption(
            "convex-at-average",
            Le(average_gap + tangent, gap(t)),
            "F is convex: it lies above its tangent, with slopes S, at the average iterate",
            CALLER,
        ),
    ),
    steps=(
        inequality("scale", Implies(x_ <= y_, b_ * x_ <= b_ * y_)),
        inequality(
            "weighted",
            Le(omega(t) * (average_gap + tangent), omega(t) * gap(t)),
            "convex-at-average",
            at("scale", {b_: omega(t), x_: average_gap + tangent, y_: gap(t)}),
        ),
        expectation(
            "summed",
            Le(
                average_gap * Sum(omega(t), OVER_T)
                + Sum(slope(j) * (moment - average(j) * Sum(omega(t), OVER_T)), OVER_J),
                Sum(omega(t) * gap(t), OVER_T),
            ),
            "weighted",
            by=Linearity(over=(OVER_T,)),
        ),
        identity(
            "no-slope",
            Eq(slope(j) * (moment - average(j) * Sum(omega(t), OVER_T)), 0),
            "average",
        ),
        expectation(
            "no-slopes",
            Eq(Sum(slope(j) * (moment - average(j) * Sum(omega(t), OVER_T)), OVER_J), 0),
            "no-slope",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "path",
            Le(average_gap * Sum(omega(t), OVER_T), Sum(omega(t) * gap(t), OVER_T)),
            "summed",
            "no-slopes",
        ),
        expectation(
            "mean-gap",
            Le(E(average_gap) * Sum(omega(t), OVER_T), LEFT),
            "path",
            by=Linearity(over=(E,)),
        ),
        inequality("below", _AVERAGE, "mean-gap", cite("dp2.master")),
    ),
    explanation=(
        "The gap of the weighted average of the iterates obeys the same bound, because a convex "
        "function of an average is at most the average of the function."
    ),
    models=master_models,
    caveats=CAVEATS,
)

THEOREMS: tuple[Theorem, ...] = (BEST, AVERAGE)
