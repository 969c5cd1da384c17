"""Total variation, couplings and Rényi divergence of mixtures, on finitely many outcomes."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Abs, And, Eq, Implies, Lambda, Or, Sum

from bounds.assumptions import CODE, Assumption
from bounds.operators import E, Index, Max, Min, Variable, deterministic, random_process
from bounds.proof.methods import Jensen, Linearity
from bounds.proof.step import cite, expectation, inequality
from bounds.resque import definitions_models
from bounds.resque.symbols import order
from bounds.theorem import Kind, Source, Status, Theorem

#: Outcomes of two laws P and Q, and members of a mixture.
outcomes = sympy.Symbol("outcomes", integer=True, positive=True)
members = sympy.Symbol("members", integer=True, positive=True)
prob_p = deterministic("prob_p", nonnegative=True)
prob_q = deterministic("prob_q", nonnegative=True)
i = Index("i")
k = Index("k")

_TV = Sum(Abs(prob_p(i) - prob_q(i)), (i, 1, outcomes)) / 2
_COMMON = Sum(Min(prob_p(i), prob_q(i)), (i, 1, outcomes))
_EXCESS = Sum(Max(prob_p(i) - prob_q(i), 0), (i, 1, outcomes))
_OUTCOMES = (i, 1, outcomes)
_LAWS = (
    Assumption(
        "law-p", Eq(Sum(prob_p(i), (i, 1, outcomes)), 1), "P is a probability distribution", CODE
    ),
    Assumption(
        "law-q", Eq(Sum(prob_q(i), (i, 1, outcomes)), 1), "Q is a probability distribution", CODE
    ),
)

_TV_STATEMENT = And(Eq(_TV, 1 - _COMMON), Eq(_TV, _EXCESS))
TV = Theorem(
    id="resque.definitions.tv",
    title="Total variation distance, three ways",
    statement=_TV_STATEMENT,
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "definition of total variation", Status.DERIVED),
    assumptions=_LAWS,
    steps=(
        inequality(
            "min",
            Eq(
                Abs(prob_p(i) - prob_q(i)),
                prob_p(i) + prob_q(i) - 2 * Min(prob_p(i), prob_q(i)),
            ),
        ),
        inequality(
            "max",
            Eq(Max(prob_p(i) - prob_q(i), 0), prob_p(i) - Min(prob_p(i), prob_q(i))),
        ),
        expectation(
            "sum-min",
            Eq(
                Sum(Abs(prob_p(i) - prob_q(i)), (i, 1, outcomes)),
                Sum(prob_p(i), (i, 1, outcomes)) + Sum(prob_q(i), (i, 1, outcomes)) - 2 * _COMMON,
            ),
            "min",
            by=Linearity(over=(_OUTCOMES,)),
        ),
        expectation(
            "sum-max",
            Eq(_EXCESS, Sum(prob_p(i), (i, 1, outcomes)) - _COMMON),
            "max",
            by=Linearity(over=(_OUTCOMES,)),
        ),
        inequality("three-ways", _TV_STATEMENT, "sum-min", "sum-max", "law-p", "law-q"),
    ),
    models=definitions_models.tv,
    explanation=(
        "Half the sum of the differences, one minus the common mass, and the sum of the positive "
        "differences are the same number. The last form is the privacy profile at epsilon = 0: "
        "delta(0)."
    ),
)

event = deterministic("event", nonnegative=True)
mass = sympy.Symbol("mass", positive=True)
_GIVEN = prob_p(i) * event(i) / mass
_CONDITIONING = Eq(Sum(Abs(_GIVEN - prob_p(i)), (i, 1, outcomes)) / 2, 1 - mass)
CONDITIONING = Theorem(
    id="resque.definitions.conditioning",
    title="Conditioning on an event moves a law by the event's complement",
    statement=_CONDITIONING,
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "conditioning and total variation", Status.DERIVED),
    assumptions=(
        _LAWS[0],
        Assumption(
            "event",
            Or(Eq(event(i), 0), Eq(event(i), 1)),
            "event(i) is 1 on the event, else 0",
            CODE,
        ),
        Assumption(
            "mass",
            Eq(Sum(prob_p(i) * event(i), (i, 1, outcomes)), mass),
            "mass is the probability of the event",
            CODE,
        ),
    ),
    steps=(
        inequality("inside", prob_p(i) * event(i) <= prob_p(i), "event"),
        expectation(
            "inside-sum",
            Sum(prob_p(i) * event(i), (i, 1, outcomes)) <= Sum(prob_p(i), (i, 1, outcomes)),
            "inside",
            by=Linearity(over=(_OUTCOMES,)),
        ),
        inequality("at-most-one", mass <= 1, "inside-sum", "law-p", "mass"),
        inequality(
            "apart",
            Eq(
                Abs(_GIVEN - prob_p(i)),
                (1 / mass - 1) * prob_p(i) * event(i) + prob_p(i) * (1 - event(i)),
            ),
            "event",
            "at-most-one",
            note="inside the event the law grows by the factor 1/mass, outside it vanishes",
        ),
        expectation(
            "summed",
            Eq(
                Sum(Abs(_GIVEN - prob_p(i)), (i, 1, outcomes)),
                (1 / mass - 1) * Sum(prob_p(i) * event(i), (i, 1, outcomes))
                + Sum(prob_p(i), (i, 1, outcomes))
                - Sum(prob_p(i) * event(i), (i, 1, outcomes)),
            ),
            "apart",
            by=Linearity(over=(_OUTCOMES,)),
        ),
        inequality("distance", _CONDITIONING, "summed", "law-p", "mass"),
    ),
    models=definitions_models.conditioning,
    explanation=(
        "The total variation distance between a law and the same law conditioned on an event is "
        "exactly the probability that the event fails. This is what truncation costs in delta: "
        "conditioning on few repetitions of a record adds the probability of many."
    ),
    evaluations={"bound": 1 - mass},
)

at_p = random_process("at_p", nonnegative=True)
at_q = random_process("at_q", nonnegative=True)
_APART = 1 - Sum(E(at_p(i) * at_q(i)), (i, 1, outcomes))


def _lesser(at: Any) -> Any:
    return Min(prob_p(at), prob_q(at))


def _surplus(law: Any, at: Any) -> Any:
    return law(at) - _lesser(at)


def _surpluses(law: Any) -> Any:
    return Sum(_surplus(law, k), (k, 1, outcomes))


_COUPLING = And(
    _TV <= _APART,
    Implies(
        Sum(Abs(prob_p(i) - prob_q(i)), (i, 1, outcomes)) > 0,
        And(
            Eq(_lesser(i) + _surplus(prob_p, i) * _surpluses(prob_q) / _TV, prob_p(i)),
            Eq(_lesser(i) + _surplus(prob_q, i) * _surpluses(prob_p) / _TV, prob_q(i)),
            Eq(_surplus(prob_p, i) * _surplus(prob_q, i), 0),
        ),
    ),
)
COUPLING = Theorem(
    id="resque.definitions.coupling",
    title="Every coupling separates at least as often as the total variation, one exactly so",
    statement=_COUPLING,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "couplings and total variation", Status.DERIVED),
    assumptions=(
        *_LAWS,
        Assumption(
            "one-outcome",
            And(at_p(i) <= 1, at_q(i) <= 1),
            "at_p(i) is 1 when x is the outcome i, else 0; at_q(i) the same for x'",
            CODE,
        ),
        Assumption("first", Eq(E(at_p(i)), prob_p(i)), "x has the law P", CODE),
        Assumption("second", Eq(E(at_q(i)), prob_q(i)), "x' has the law Q", CODE),
    ),
    steps=(
        inequality("both-p", at_p(i) * at_q(i) <= at_p(i), "one-outcome"),
        inequality("both-q", at_p(i) * at_q(i) <= at_q(i), "one-outcome"),
        expectation(
            "mean-p", E(at_p(i) * at_q(i)) <= E(at_p(i)), "both-p", by=Linearity(over=(E,))
        ),
        expectation(
            "mean-q", E(at_p(i) * at_q(i)) <= E(at_q(i)), "both-q", by=Linearity(over=(E,))
        ),
        inequality(
            "agree",
            E(at_p(i) * at_q(i)) <= Min(prob_p(i), prob_q(i)),
            "mean-p",
            "mean-q",
            "first",
            "second",
        ),
        expectation(
            "agree-sum",
            Sum(E(at_p(i) * at_q(i)), (i, 1, outcomes)) <= _COMMON,
            "agree",
            by=Linearity(over=(_OUTCOMES,)),
        ),
        inequality(
            "rest",
            And(
                Eq(_surpluses(prob_p), _TV),
                Eq(_surpluses(prob_q), _TV),
            ),
            cite("resque.definitions.tv"),
            "law-p",
            "law-q",
            note="what P and Q have beyond their common mass",
        ),
        inequality(
            "couplings",
            _COUPLING,
            "agree-sum",
            "rest",
            cite("resque.definitions.tv"),
        ),
    ),
    models=definitions_models.coupling,
    explanation=(
        "However x and x' are drawn together, they differ with a probability of at least the total "
        "variation distance of their laws. The maximal coupling draws a common outcome from the "
        "common mass min(P, Q), and otherwise draws x and x' independently from the two surpluses: "
        "its marginals are P and Q, and it never agrees outside the common mass, so that it "
        "differs with probability exactly TV."
    ),
)

member = deterministic("member", nonnegative=True)
dens_p = deterministic("dens_p", nonnegative=True)
dens_q = deterministic("dens_q", positive=True)
mix_p = deterministic("mix_p", nonnegative=True)
mix_q = deterministic("mix_q", positive=True)
x_ = Variable("x_", nonnegative=True)
y_ = Variable("y_")
z_ = Variable("z_", nonnegative=True)
_SHARE = member(k) * dens_q(k, i) / mix_q(i)
_RATIO = dens_p(k, i) / dens_q(k, i)
_RATIO_OF_MIXTURES = Max(Sum(_SHARE * _RATIO, (k, 1, members)), 0)
_POINT = mix_p(i) ** order * mix_q(i) ** (1 - order)
_QUASI = Sum(_POINT, (i, 1, outcomes)) <= Sum(
    member(k) * Sum(dens_p(k, i) ** order * dens_q(k, i) ** (1 - order), (i, 1, outcomes)),
    (k, 1, members),
)
QUASI_CONVEXITY = Theorem(
    id="resque.definitions.quasi-convexity",
    title="Rényi divergence of mixtures",
    statement=_QUASI,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "quasi-convexity of Rényi divergence", Status.DERIVED),
    assumptions=(
        Assumption("order", order > 1, "the order is above 1", CODE),
        Assumption(
            "mixture-p",
            Eq(mix_p(i), Sum(member(k) * dens_p(k, i), (k, 1, members))),
            "P is the mixture of the laws P_k with weights member(k)",
            CODE,
        ),
        Assumption(
            "mixture-q",
            Eq(mix_q(i), Sum(member(k) * dens_q(k, i), (k, 1, members))),
            "Q is the mixture of the laws Q_k with the same weights",
            CODE,
        ),
    ),
    steps=(
        inequality("unit", Eq(Sum(_SHARE, (k, 1, members)), 1), "mixture-q"),
        expectation(
            "jensen",
            _RATIO_OF_MIXTURES**order <= Sum(_SHARE * _RATIO**order, (k, 1, members)),
            "unit",
            "order",
            by=Jensen(Lambda(y_, Max(y_, 0) ** order), _RATIO, (_SHARE, (k, 1, members))),
            note="x^a is convex for x >= 0",
        ),
        inequality(
            "ratio",
            Eq(_RATIO_OF_MIXTURES, mix_p(i) / mix_q(i)),
            "mixture-p",
            note="the average of the density ratios is the ratio of the mixtures",
        ),
        inequality(
            "pointwise",
            Sum(member(k) * dens_p(k, i) ** order * dens_q(k, i) ** (1 - order), (k, 1, members))
            >= _POINT,
            "jensen",
            "ratio",
        ),
        expectation(
            "mixtures",
            _QUASI,
            "pointwise",
            by=Linearity(over=(_OUTCOMES,)),
        ),
    ),
    models=definitions_models.quasi_convexity,
    explanation=(
        "exp((a - 1) D_a) of two mixtures is at most the mean of the same quantity over their "
        "members: the divergence of two mixtures is never larger than the largest divergence of "
        "members. So a random quantity that both runs share, such as the noise of a smoothed "
        "gradient, may be fixed first and averaged afterwards."
    ),
)

THEOREMS: tuple[Theorem, ...] = (TV, CONDITIONING, COUPLING, QUASI_CONVEXITY)
