"""Approximate Rényi privacy: bounds that hold up to a small part of both laws.

Laws have finitely many outcomes here; P and Q are the output laws on neighbouring data sets.
"""

from __future__ import annotations

import sympy
from sympy import And, Eq, Implies, Sum, exp, log

from bounds.assumptions import CODE, Assumption
from bounds.operators import Index, Max, Variable, deterministic
from bounds.proof.methods import Linearity
from bounds.proof.step import at, expectation, inequality
from bounds.resque import definitions_models
from bounds.resque.symbols import delta_far, eta_b, order, tau_1, zeta, zeta_2
from bounds.symbols import delta, eps_dp
from bounds.theorem import Curve, Kind, Source, Status, Theorem

outcomes = sympy.Symbol("outcomes", integer=True, positive=True)
outcomes_2 = sympy.Symbol("outcomes_2", integer=True, positive=True)
i = Index("i")
k = Index("k")
x_ = Variable("x_")
y_ = Variable("y_")
z_ = Variable("z_")
c_ = Variable("c_")
d_ = Variable("d_")
e_ = Variable("e_")
law_p = deterministic("law_p", nonnegative=True)
law_q = deterministic("law_q", nonnegative=True)
good_p = deterministic("good_p", nonnegative=True)
good_q = deterministic("good_q", positive=True)
bad_p = deterministic("bad_p", nonnegative=True)
bad_q = deterministic("bad_q", nonnegative=True)
loss = deterministic("loss")
_OUTCOMES = (i, 1, outcomes)


def _total(term: sympy.Expr) -> sympy.Expr:
    return Sum(term, (i, 1, outcomes))


def _delta(p: sympy.Expr, q: sympy.Expr) -> sympy.Expr:
    """The privacy profile of P against Q at eps_dp: the mass that exp(eps) Q does not cover."""
    return _total(Max(p - exp(eps_dp) * q, 0))


_MOMENT = _total(good_q(i) * exp(order * loss(i)))
_CUT = (1 - zeta) * exp((order - 1) * (tau_1 - eps_dp)) + zeta
_APPROXIMATE = _delta(law_p(i), law_q(i)) <= _CUT

_PARTS = (
    Assumption(
        "parts-p",
        Eq(law_p(i), (1 - zeta) * good_p(i) + zeta * bad_p(i)),
        "P = (1 - zeta) P' + zeta P'': a part of weight zeta is cut off",
        CODE,
    ),
    Assumption(
        "parts-q",
        Eq(law_q(i), (1 - zeta) * good_q(i) + zeta * bad_q(i)),
        "Q = (1 - zeta) Q' + zeta Q'' with the same weight",
        CODE,
    ),
    Assumption("weight", And(zeta >= 0, zeta <= 1), "zeta is a probability", CODE),
    Assumption("bad-law", Eq(_total(bad_p(i)), 1), "P'' is a probability distribution", CODE),
)

APPROXIMATE = Theorem(
    id="resque.approximate",
    title="From approximate Rényi privacy to (epsilon, delta)",
    statement=_APPROXIMATE,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "approximate Rényi privacy", Status.DERIVED),
    assumptions=(
        *_PARTS,
        Assumption(
            "loss",
            Eq(good_p(i), good_q(i) * exp(loss(i))),
            "loss(i) = log(P'(i)/Q'(i)) is the privacy loss of the outcome i",
            CODE,
        ),
        Assumption("order", order > 1, "the order is above 1", CODE),
        Assumption(
            "divergence",
            exp((order - 1) * tau_1) >= _MOMENT,
            "D_a(P'||Q') <= tau: the Rényi divergence of the parts that are kept",
            CODE,
        ),
    ),
    steps=(
        inequality("exp-increases", Implies(x_ <= y_, exp(x_) <= exp(y_))),
        inequality(
            "tail",
            Max(exp(loss(i)) - exp(eps_dp), 0) <= exp(order * loss(i)) * exp(-(order - 1) * eps_dp),
            at("exp-increases", {x_: loss(i), y_: order * loss(i) - (order - 1) * eps_dp}),
            at("exp-increases", {x_: loss(i), y_: eps_dp}),
            "order",
            note="where the loss exceeds epsilon, a times the loss exceeds it by (a - 1) epsilon",
        ),
        inequality(
            "kept",
            Max(good_p(i) - exp(eps_dp) * good_q(i), 0)
            <= good_q(i) * exp(order * loss(i)) * exp(-(order - 1) * eps_dp),
            "tail",
            "loss",
        ),
        inequality(
            "split",
            Max(law_p(i) - exp(eps_dp) * law_q(i), 0)
            <= (1 - zeta) * Max(good_p(i) - exp(eps_dp) * good_q(i), 0) + zeta * bad_p(i),
            "parts-p",
            "parts-q",
            "weight",
        ),
        inequality(
            "pointwise",
            Max(law_p(i) - exp(eps_dp) * law_q(i), 0)
            <= (1 - zeta) * exp(-(order - 1) * eps_dp) * good_q(i) * exp(order * loss(i))
            + zeta * bad_p(i),
            "split",
            "kept",
            "weight",
        ),
        expectation(
            "summed",
            _delta(law_p(i), law_q(i))
            <= (1 - zeta) * exp(-(order - 1) * eps_dp) * _MOMENT + zeta * _total(bad_p(i)),
            "pointwise",
            by=Linearity(over=(_OUTCOMES,)),
        ),
        inequality(
            "weighted",
            (1 - zeta) * exp(-(order - 1) * eps_dp) * _MOMENT
            <= (1 - zeta) * exp(-(order - 1) * eps_dp) * exp((order - 1) * tau_1),
            "divergence",
            "weight",
        ),
        inequality("profile", _APPROXIMATE, "summed", "weighted", "bad-law"),
    ),
    models=definitions_models.approximate,
    explanation=(
        "If a Rényi bound holds for all but a part of weight zeta of the output laws, the "
        "mechanism is (epsilon, delta)-private with "
        "delta = (1 - zeta) exp((a - 1)(tau - epsilon)) + zeta. "
        "The part that is cut off costs its weight in delta, and no more."
    ),
    evaluations={
        "bound": _CUT,
        "epsilon": Max(tau_1 + log((1 - zeta) / (delta - zeta)) / (order - 1), 0),
    },
    curve=Curve(
        along="target_epsilon",
        values=tuple(step / 10 for step in range(1, 61)),
        fixed={"order": 16, "divergence": sympy.Rational(1, 2), "failure_probability": 1e-6},
        log_y=True,
    ),
    caveats=(
        "zeta must cover every way in which the bound on the kept parts can fail, for all phases "
        "and calls of a run together.",
        "The conversion is the plain one; sharper ones (CKS20) gain a factor of about a e.",
    ),
)

kept = deterministic("kept", nonnegative=True)
kept_2 = deterministic("kept_2", nonnegative=True)
first = deterministic("first", nonnegative=True)
second = deterministic("second", nonnegative=True)
_JOINT = first(i) * second(i, k)
_KEPT = (1 - zeta) * (1 - zeta_2) * kept(i) * kept_2(i, k)
_COMPOSED = And(
    _KEPT <= _JOINT,
    Eq(
        Sum(_JOINT - _KEPT, (k, 1, outcomes_2), (i, 1, outcomes)),
        1 - (1 - zeta) * (1 - zeta_2),
    ),
)
COMPOSITION = Theorem(
    id="resque.approximate.composition",
    title="What is cut off from two mechanisms, one after the other",
    statement=_COMPOSED,
    kind=Kind.TIGHT,
    source=Source("carmon2023resque", "composition of approximate privacy", Status.DERIVED),
    assumptions=(
        Assumption(
            "first-kept",
            (1 - zeta) * kept(i) <= first(i),
            "the first output law keeps a part P' of weight 1 - zeta",
            CODE,
        ),
        Assumption(
            "second-kept",
            (1 - zeta_2) * kept_2(i, k) <= second(i, k),
            "for every first output i the second law keeps a part of weight 1 - zeta_2",
            CODE,
        ),
        Assumption("weight", And(zeta >= 0, zeta <= 1), "zeta is a probability", CODE),
        Assumption("first-law", Eq(_total(first(i)), 1), "the first output has a law", CODE),
        Assumption(
            "second-law",
            Eq(Sum(second(i, k), (k, 1, outcomes_2)), 1),
            "for every first output the second output has a law",
            CODE,
        ),
        Assumption("kept-law", Eq(_total(kept(i)), 1), "the kept part is a law", CODE),
        Assumption(
            "kept-law-2",
            Eq(Sum(kept_2(i, k), (k, 1, outcomes_2)), 1),
            "the kept part of the second mechanism is a law",
            CODE,
        ),
    ),
    steps=(
        inequality(
            "product",
            _KEPT <= _JOINT,
            "first-kept",
            "second-kept",
            "weight",
        ),
        inequality(
            "inner",
            Eq(
                Sum(_JOINT - _KEPT, (k, 1, outcomes_2)),
                first(i) - (1 - zeta) * (1 - zeta_2) * kept(i),
            ),
            "second-law",
            "kept-law-2",
        ),
        expectation(
            "outer",
            Eq(
                Sum(_JOINT - _KEPT, (k, 1, outcomes_2), (i, 1, outcomes)),
                _total(first(i)) - (1 - zeta) * (1 - zeta_2) * _total(kept(i)),
            ),
            "inner",
            by=Linearity(over=(_OUTCOMES,)),
        ),
        inequality("composed", _COMPOSED, "product", "outer", "first-law", "kept-law"),
    ),
    models=definitions_models.approximate_composition,
    explanation=(
        "If each of two mechanisms keeps a part with a Rényi bound, their composition keeps the "
        "product of the parts: the bounds add up (resque.definitions.composition) and the weight "
        "cut off is 1 - (1 - zeta)(1 - zeta_2). After K mechanisms it is 1 - (1 - zeta)^K, at most "
        "K zeta."
    ),
    evaluations={"bound": zeta + zeta_2 * (1 - zeta)},
)

untouched = deterministic("untouched", nonnegative=True)
touched_p = deterministic("touched_p", nonnegative=True)
touched_q = deterministic("touched_q", nonnegative=True)
_AMPLIFIED = log(1 + eta_b * (exp(eps_dp) - 1))
_P = (1 - eta_b) * untouched(i) + eta_b * touched_p(i)
_Q = (1 - eta_b) * untouched(i) + eta_b * touched_q(i)
_AT_AMPLIFIED = _total(Max(_P - exp(_AMPLIFIED) * _Q, 0))
_GAIN = 1 + eta_b * (exp(eps_dp) - 1)
_SAMPLED = eta_b * (1 - zeta) * delta_far + eta_b * zeta >= _AT_AMPLIFIED
SAMPLING = Theorem(
    id="resque.approximate.sampling",
    title="Sampling with replacement, with a failure probability",
    statement=_SAMPLED,
    kind=Kind.UPPER,
    source=Source("carmon2023resque", "subsampled approximate privacy", Status.DERIVED),
    assumptions=(
        Assumption("touch", And(eta_b >= 0, eta_b <= 1), "eta = P(b >= 1) is a probability", CODE),
        Assumption(
            "neighbours",
            _delta(touched_p(i), touched_q(i)) <= (1 - zeta) * delta_far + zeta,
            "given that the record is drawn, the two output laws satisfy the group profile up to "
            "a failure of probability zeta",
            CODE,
        ),
        Assumption(
            "replaced",
            _delta(touched_p(i), untouched(i)) <= (1 - zeta) * delta_far + zeta,
            "the same against the law in which its copies are replaced by fresh draws of other "
            "records",
            CODE,
        ),
    ),
    steps=(
        inequality(
            "factors",
            And(eta_b * (1 - eta_b) * (exp(eps_dp) - 1) >= 0, eta_b * _GAIN >= 0),
            "touch",
        ),
        inequality(
            "pointwise",
            exp(eps_dp) * Max(_P - _GAIN * _Q, 0)
            <= eta_b
            * (1 - eta_b)
            * (exp(eps_dp) - 1)
            * Max(touched_p(i) - exp(eps_dp) * untouched(i), 0)
            + eta_b * _GAIN * Max(touched_p(i) - exp(eps_dp) * touched_q(i), 0),
            "factors",
        ),
        expectation(
            "summed",
            exp(eps_dp) * _AT_AMPLIFIED
            <= eta_b * (1 - eta_b) * (exp(eps_dp) - 1) * _delta(touched_p(i), untouched(i))
            + eta_b * _GAIN * _delta(touched_p(i), touched_q(i)),
            "pointwise",
            by=Linearity(over=(_OUTCOMES,)),
        ),
        inequality(
            "weighted",
            And(
                eta_b * (1 - eta_b) * (exp(eps_dp) - 1) * _delta(touched_p(i), untouched(i))
                <= eta_b * (1 - eta_b) * (exp(eps_dp) - 1) * ((1 - zeta) * delta_far + zeta),
                eta_b * _GAIN * _delta(touched_p(i), touched_q(i))
                <= eta_b * _GAIN * ((1 - zeta) * delta_far + zeta),
            ),
            "factors",
            "neighbours",
            "replaced",
        ),
        inequality("amplified", _SAMPLED, "summed", "weighted"),
    ),
    models=definitions_models.sampling,
    explanation=(
        "A record is drawn b times from n by sampling with replacement; with b = 0 nothing depends "
        "on it and nothing can fail. With eta = P(b >= 1) the profile at "
        "log(1 + eta (e^epsilon - 1)) is at most eta times the profile at epsilon given that the "
        "record is drawn, so that a failure of probability zeta of one call costs eta zeta, not "
        "zeta."
    ),
    evaluations={
        "bound": eta_b * (1 - zeta) * delta_far + eta_b * zeta,
        "amplified epsilon": _AMPLIFIED,
    },
)

THEOREMS: tuple[Theorem, ...] = (APPROXIMATE, COMPOSITION, SAMPLING)
