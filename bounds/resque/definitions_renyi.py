"""Rényi divergence: of two Gaussians, in its order, and of adaptive compositions."""

from __future__ import annotations

import sympy
from sympy import And, Eq, Implies, Lambda, exp, log

from bounds.assumptions import CODE, Assumption
from bounds.operators import Conditional, E, Max, RandomVariable, Variable
from bounds.proof.methods import Jensen, Linearity, Tower
from bounds.proof.step import at, cite, expectation, identity, inequality
from bounds.resque import definitions_models
from bounds.resque.definitions import CONDITIONING, TV
from bounds.resque.estimator_weight import ALONG, WEIGHT, w_a
from bounds.resque.symbols import a_len, order, p, tau_1, tau_2
from bounds.theorem import Curve, Kind, Source, Status, Theorem

x_ = Variable("x_", positive=True)
y_ = Variable("y_", positive=True)
v_ = Variable("v_")
ratio = RandomVariable("ratio", positive=True)
ratio_1 = RandomVariable("ratio_1", positive=True)
ratio_2 = RandomVariable("ratio_2", positive=True)
given_1 = RandomVariable("given_1", positive=True)

_ABOVE_ONE = Assumption("order", order > 1, "the order is above 1", CODE)
_LOG = inequality("log-increases", Implies(x_ <= y_, log(x_) <= log(y_)))

_RENYI = Eq(log(E(w_a**order)) / (order - 1), order * a_len**2 / 2)
RENYI = Theorem(
    id="resque.definitions.renyi",
    title="Rényi divergence of two Gaussians",
    statement=_RENYI,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "Rényi divergence", Status.DERIVED),
    assumptions=(_ABOVE_ONE, WEIGHT, ALONG),
    steps=(
        identity(
            "gaussians", _RENYI, cite("resque.E2", {p: order}), "order", note="moment of the ratio"
        ),
    ),
    models=definitions_models.renyi,
    explanation=(
        "The Rényi divergence of order a is log E_Q (P/Q)^a/(a - 1), with the density ratio P/Q. "
        "For two Gaussians with the same standard deviation rho and means ||a|| rho apart the "
        "ratio is the weight of resque.E2, and the divergence is a ||a||^2/2."
    ),
    evaluations={"bound": order * a_len**2 / 2},
    curve=Curve(
        along="order", values=tuple(1 + step / 2 for step in range(1, 40)), fixed={"shift": 1}
    ),
)

excess = sympy.Symbol("excess", positive=True)
excess_2 = sympy.Symbol("excess_2", positive=True)
_ONE = E(ratio**excess)
_TWO = E(ratio**excess_2)
_POWER = excess_2 / excess
_ORDERS = log(_ONE) / excess <= log(_TWO) / excess_2
RENYI_ORDER = Theorem(
    id="resque.definitions.renyi-order",
    title="Rényi divergence grows with its order",
    statement=_ORDERS,
    kind=Kind.STRUCTURE,
    source=Source("carmon2023resque", "Rényi divergence", Status.DERIVED),
    assumptions=(
        Assumption(
            "larger", excess_2 >= excess, "the second order 1 + excess_2 is the larger one", CODE
        ),
    ),
    steps=(
        expectation(
            "power",
            _ONE**_POWER <= _TWO,
            "larger",
            by=Jensen(Lambda(v_, Max(v_, 0) ** _POWER), ratio**excess),
            note="x^c is convex for c = excess_2/excess >= 1",
        ),
        identity("log-power", Eq(log(_ONE**_POWER), _POWER * log(_ONE))),
        inequality(
            "grows",
            _ORDERS,
            "power",
            "log-power",
            "larger",
        ),
    ),
    models=definitions_models.renyi_order,
    explanation=(
        "With the density ratio P/Q under P, the divergence of order 1 + c is "
        "log E_P (P/Q)^c/c. A larger order weighs large ratios more: a bound at one "
        "order is a bound at every smaller one."
    ),
)

_BOTH = E(ratio_1**order * ratio_2**order)
_COMPOSED = log(_BOTH) / (order - 1) <= tau_1 + tau_2
COMPOSITION = Theorem(
    id="resque.definitions.composition",
    title="Rényi divergence of two mechanisms, one after the other",
    statement=_COMPOSED,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "composition of Rényi privacy", Status.DERIVED),
    assumptions=(
        _ABOVE_ONE,
        Assumption(
            "first",
            E(ratio_1**order) <= exp((order - 1) * tau_1),
            "the first mechanism's divergence of this order is at most tau_1",
            CODE,
        ),
        Assumption(
            "second",
            Conditional(ratio_2**order, given_1, ratio_1, given_1),
            "given_1 is the mean of the second mechanism's ratio^a for a given first output, on "
            "which the second mechanism may depend",
            CODE,
        ),
        Assumption(
            "second-bound",
            given_1 <= exp((order - 1) * tau_2),
            "whatever the first output, the second mechanism's divergence is at most tau_2",
            CODE,
        ),
    ),
    steps=(
        expectation("condition", Eq(_BOTH, E(ratio_1**order * given_1)), "second", by=Tower()),
        inequality(
            "pointwise",
            ratio_1**order * given_1 <= exp((order - 1) * tau_2) * ratio_1**order,
            "second-bound",
        ),
        expectation(
            "averaged",
            E(ratio_1**order * given_1) <= exp((order - 1) * tau_2) * E(ratio_1**order),
            "pointwise",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "bound", exp((order - 1) * (tau_1 + tau_2)) >= _BOTH, "condition", "averaged", "first"
        ),
        _LOG,
        inequality(
            "add-up",
            _COMPOSED,
            "bound",
            at("log-increases", {x_: _BOTH, y_: exp((order - 1) * (tau_1 + tau_2))}),
            "order",
        ),
    ),
    models=definitions_models.composition,
    explanation=(
        "Divergences of one order add up when mechanisms run one after the other on the same "
        "data, also when the second one is chosen in view of the first one's output."
    ),
    evaluations={"bound": tau_1 + tau_2},
)

_ALL = And(TV.statement, CONDITIONING.statement, RENYI.statement)
DEFINITIONS = Theorem(
    id="resque.definitions",
    title="The distances between laws",
    statement=_ALL,
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "definitions", Status.DERIVED),
    assumptions=(*TV.assumptions, *CONDITIONING.assumptions[1:], _ABOVE_ONE, WEIGHT, ALONG),
    steps=(
        inequality(
            "together",
            _ALL,
            cite("resque.definitions.tv"),
            cite("resque.definitions.conditioning"),
            cite("resque.definitions.renyi"),
        ),
    ),
    models=definitions_models.definitions,
    explanation=(
        "Total variation in three forms, what conditioning on an event does to it, and the Rényi "
        "divergence of two Gaussians, side by side. Couplings are in "
        "resque.definitions.coupling, mixtures in resque.definitions.quasi-convexity, adaptive "
        "composition in resque.definitions.composition."
    ),
    evaluations={"bound": order * a_len**2 / 2},
)

THEOREMS: tuple[Theorem, ...] = (DEFINITIONS, RENYI, RENYI_ORDER, COMPOSITION)
