"""L3, L4, L10, L11, L12: answers beside the truth, and what a wrong one looks like."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import attr
import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.bracket import Bracket
from accountants.laws import corners, corpus, enclosure, oracle, strategies
from accountants.laws.case import Case
from accountants.laws.catalogue import judging
from accountants.laws.catalogue.examples import (
    at,
    cases,
    delta_cases,
    family_cases,
    reported_cases,
)
from accountants.laws.law import Clause, Held, Law, Outcome, Scope, Skipped

#: One record in the place of another.
REPLACE = NeighboringRelation.REPLACE_ONE
LOOSE = 1.05  #: from here on an answer is listed as loose

# ------------------------------------------------------------------------------------------- L3


def _corpus_clause(family: str) -> Clause:
    def rows(scope: Scope) -> list[Case]:
        found = [
            at(row.event, row.relation, row.delta)
            for row in corpus.rows()
            if row.family == family and row.relation is scope.relation
        ]
        random.Random(f"{scope.seed} {family}").shuffle(found)
        return found[: max(6, scope.max_examples)]

    def check(scope: Scope, case: Case) -> Outcome:
        reply = judging.ask_epsilon(scope, case)
        missing = judging.unanswered(reply)
        if missing is not None:
            return missing
        if reply.value is None or math.isnan(reply.value):
            return judging.contract("L3", family, case, reply, "epsilon is no number")
        truth = _stored(case)
        if judging.too_low(reply.value, truth):
            return judging.understated_epsilon(
                "L3", family, case, reply.value, truth, "epsilon below the corpus"
            )
        if reply.value > truth.upper * LOOSE + judging.NEGLIGIBLE:
            ratio = reply.value / truth.upper if truth.upper else math.inf
            return judging.loose(
                "L3", family, case, reply.value, truth, f"{ratio:.4g} times the corpus' upper end"
            )
        return Held()

    return Clause(family, rows, check)


def _stored(case: Case) -> Bracket:
    key = (repr(case.event), case.relation, case.delta)
    if not _by_case:
        for row in corpus.rows():
            _by_case[repr(row.event), row.relation, row.delta] = Bracket(row.lower, row.upper)
    return _by_case[key]


_by_case: dict[tuple[str, NeighboringRelation, float | None], Bracket] = {}

# ------------------------------------------------------------------------------------------- L4


def _sound_clause(family: str) -> Clause:
    def examples(scope: Scope) -> list[Case]:
        found = [*family_cases(family, scope.relation), *reported_cases(family, scope.relation)]
        return list({repr(case): case for case in found}.values())

    return Clause(
        family,
        examples,
        lambda scope, case: judging.judge_epsilon("L4", family, scope, case),
        lambda scope: cases((family,), scope.relation),
    )


def _delta_examples(scope: Scope) -> list[Case]:
    return [
        Case(event, scope.relation, epsilon=epsilon)
        for family in strategies.FAMILIES
        for event in corners.EVENTS[family][:4]
        for epsilon in (1.0, 0.1)
    ]


def _lower_examples(scope: Scope) -> list[Case]:
    return [
        case for family in strategies.FAMILIES for case in family_cases(family, scope.relation)[:12]
    ]


def _lower_end(scope: Scope, case: Case) -> Outcome:
    """A lower end that is offered must not exceed the truth."""
    reply = judging.ask_bracket(scope, case)
    missing = judging.unanswered(reply)
    if missing is not None:
        return missing
    lower, upper = reply.value, reply.upper
    if lower is None or upper is None or not lower <= upper:
        return judging.contract(
            "L4", "lower-end", case, reply, f"the ends {lower!r}, {upper!r} are out of order"
        )
    try:
        truth = judging.true_epsilon(case)
    except oracle.NoOracle as error:
        return Skipped(str(error))
    if judging.too_low(upper, truth):
        return judging.understated_epsilon(
            "L4", "lower-end", case, upper, truth, "the upper end is below the truth"
        )
    if lower <= truth.upper * (1 + judging.TOLERANCE) + judging.NEGLIGIBLE:
        return Held()
    delta = case.delta
    assert delta is not None
    return judging.contract(
        "L4",
        "lower-end",
        case,
        lower,
        "the lower end is above the truth",
        confirmed_by=None,
        truth=truth,
        settle=lambda: enclosure.too_large(case.whole, case.relation, lower, delta),
    )


# ----------------------------------------------------------------------------------- L10, L11, L12


def _unit_examples(scope: Scope) -> list[Case]:
    gaussians = [dp_accounting.GaussianDpEvent(sigma) for sigma in (1.0, 10.0, 0.1)]
    return [
        *(at(event, scope.relation, delta) for event in gaussians for delta in (1e-5, 1e-2)),
        at(dp_accounting.SelfComposedDpEvent(gaussians[0], 100), scope.relation, 1e-5),
    ]


def _unit(scope: Scope, case: Case) -> Outcome:
    """One Gaussian release is enough to see which sensitivity a multiplier is relative to."""

    def explain(value: float, truth: Bracket) -> str:
        for times, words in ((2, "half of"), (0.5, "twice")):
            event = _with_noise(case.event, times)
            other = judging.true_epsilon(at(event, case.relation, case.delta or 0.0))
            if other.lower * (1 - 1e-6) <= value <= other.upper * 1.1:
                return (
                    f"the answer is that of a noise multiplier relative to {words} the "
                    "sensitivity of this relation"
                )
        return ""

    return judging.judge_epsilon("L10", "unit", scope, case, explain)


def _with_noise(event: dp_accounting.DpEvent, times: float) -> dp_accounting.DpEvent:
    if isinstance(event, dp_accounting.GaussianDpEvent):
        return dp_accounting.GaussianDpEvent(event.noise_multiplier * times)
    return attr.evolve(event, event=_with_noise(event.event, times))


def _twice_examples(scope: Scope) -> list[Case]:
    if scope.relation is not REPLACE:
        return []
    if NeighboringRelation.ADD_OR_REMOVE_ONE not in scope.candidate.relations:
        return []
    return [
        at(dp_accounting.GaussianDpEvent(sigma), scope.relation, 1e-5)
        for sigma in (1.0, 2.0, 10.0, 0.5)
    ]


def _twice(scope: Scope, case: Case) -> Outcome:
    """Replacing is adding with half of the noise multiplier, by the accountant's own answers."""
    ours = judging.ask_epsilon(scope, case)
    adding = Case(
        _with_noise(case.event, 0.5), NeighboringRelation.ADD_OR_REMOVE_ONE, delta=case.delta
    )
    theirs = judging.ask_epsilon(scope, adding)
    missing = judging.unanswered(ours) or judging.unanswered(theirs)
    if missing is not None:
        return missing
    if ours.value is None or theirs.value is None:
        return Skipped("no number")
    truth = judging.true_epsilon(case)
    if judging.too_low(ours.value, truth):
        return judging.understated_epsilon(
            "L10",
            "two relations",
            case,
            ours.value,
            truth,
            f"{ours.value:.9g} for replacing; adding with half of the multiplier, the same "
            f"mechanism, is answered with {theirs.value:.9g}",
        )
    return Held()


#: Families with batches of fixed size.
FIXED = ("without-replacement", "with-replacement")


def _sampler_examples(scope: Scope) -> list[Case]:
    return [
        *reported_cases("without-replacement", scope.relation),
        *(
            at(event, scope.relation, 1e-5)
            for family in FIXED
            for event in corners.EVENTS[family][:8]
        ),
    ]


def _sampler(scope: Scope, case: Case) -> Outcome:
    def explain(value: float, truth: Bracket) -> str:
        poisson = _as_poisson(case.event)
        for relation in (scope.relation, NeighboringRelation.ADD_OR_REMOVE_ONE):
            try:
                other = judging.true_epsilon(at(poisson, relation, case.delta or 0.0))
            except oracle.NoOracle:
                continue
            if other.lower * (1 - 1e-6) <= value <= other.upper * 1.02:
                return f"the answer is that of Poisson sampling under {relation.name}"
        return ""

    return judging.judge_epsilon("L11", "sampler", scope, case, explain)


def _as_poisson(event: dp_accounting.DpEvent) -> dp_accounting.DpEvent:
    if isinstance(event, dp_accounting.SelfComposedDpEvent):
        return dp_accounting.SelfComposedDpEvent(_as_poisson(event.event), event.count)
    q = min(1.0, event.sample_size / event.source_dataset_size)
    return dp_accounting.PoissonSampledDpEvent(q, event.event)


def _reflected_examples(scope: Scope) -> list[Case]:
    """Few steps, large rates, small ε: there the profile at ε < 0 weighs most."""
    inner = [
        dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma))
        for q, sigma in ((0.5, 1.0), (0.9, 1.0), (0.1, 0.5), (0.5, 4.0))
    ]
    inner += [
        dp_accounting.SampledWithoutReplacementDpEvent(10, m, dp_accounting.GaussianDpEvent(2.0))
        for m in (5, 9, 1)
    ]
    inner += [
        dp_accounting.SampledWithReplacementDpEvent(10, 5, dp_accounting.GaussianDpEvent(4.0)),
        dp_accounting.LaplaceDpEvent(1.0),
    ]
    return [
        *(_either_order(scope) + _quiet_others(scope) if scope.relation is REPLACE else []),
        *(
            at(dp_accounting.SelfComposedDpEvent(event, steps), scope.relation, delta)
            for steps, delta in ((2, 1e-2), (10, 1e-5), (2, 0.1))
            for event in inner
        ),
    ]


def _either_order(scope: Scope) -> list[Case]:
    """An adaptive run gains most by choosing the order of the data sets anew where ε is small."""
    without = dp_accounting.SampledWithoutReplacementDpEvent
    inner = without(10, 3, dp_accounting.GaussianDpEvent(1.5))
    return [
        at(dp_accounting.SelfComposedDpEvent(inner, steps), scope.relation, delta)
        for steps, delta in ((2, 0.17), (10, 0.1))
    ]


def _quiet_others(scope: Scope) -> list[Case]:
    """One step on many copies at large δ: the worst data set has others with gradients near 0."""
    return [
        at(
            dp_accounting.SampledWithReplacementDpEvent(n, m, dp_accounting.GaussianDpEvent(sigma)),
            scope.relation,
            delta,
        )
        for n, m, sigma, delta in ((3, 3, 1.4, 0.4), (4, 5, 2.0, 0.4), (3, 3, 1.4, 0.45))
    ]


def _by_family(clause: Callable[[str], Clause]) -> tuple[Clause, ...]:
    return tuple(clause(family) for family in strategies.FAMILIES)


L3 = Law(
    id="L3",
    weight=2.0,
    title="oracle",
    statement="a stored epsilon of closed forms and high-precision runs is not under-stated",
    needs="get_epsilon",
    tolerance=judging.TOLERANCE,
    reason="ends of the corpus are rounded outward; 1e-6 of epsilon covers printing and rounding",
    source="all of them: the corpus holds their inputs",
    clauses=_by_family(_corpus_clause),
)
L4 = Law(
    id="L4",
    weight=4.0,
    title="soundness",
    statement="an upper end is not below the truth, a lower end not above it; an approximation is "
    "no guarantee",
    needs="get_epsilon; get_delta and epsilon_bracket for their parts",
    tolerance=judging.TOLERANCE,
    reason="our own lower ends may be off by 1e-6 in delta",
    source="pytorch/opacus#715, #643, #384, microsoft/prv_accountant#17",
    clauses=(
        *_by_family(_sound_clause),
        Clause(
            "delta",
            _delta_examples,
            lambda scope, case: judging.judge_delta("L4", "delta", scope, case),
            lambda scope: delta_cases(strategies.FAMILIES, scope.relation),
        ),
        Clause(
            "lower-end",
            _lower_examples,
            _lower_end,
            lambda scope: cases(strategies.FAMILIES, scope.relation),
        ),
    ),
)
L10 = Law(
    id="L10",
    title="unit",
    statement="the noise multiplier is noise std over clip norm: adding or removing moves a sum "
    "by 1, replacing by 2",
    needs="get_epsilon",
    tolerance=judging.TOLERANCE,
    reason="as for L4",
    source="google/differential-privacy#378",
    clauses=(
        Clause("unit", _unit_examples, _unit),
        Clause("two relations", _twice_examples, _twice),
    ),
)
L11 = Law(
    id="L11",
    title="sampler",
    statement="batches of fixed size are accounted as such, not as Poisson samples",
    needs="get_epsilon for fixed-size sampling",
    tolerance=judging.TOLERANCE,
    reason="as for L4",
    source="yuxiangw/autodp#3, pytorch/opacus#80, tensorflow/privacy#483",
    clauses=(Clause("sampler", _sampler_examples, _sampler),),
)
L12 = Law(
    id="L12",
    title="symmetry",
    statement="what is composed dominates in both orders of the two data sets, for epsilon < 0 too",
    needs="get_epsilon",
    tolerance=judging.TOLERANCE,
    reason="as for L4",
    source="derived in docs/proofs/fixed-size.md",
    clauses=(
        Clause(
            "reflection",
            _reflected_examples,
            lambda scope, case: judging.judge_epsilon("L12", "reflection", scope, case),
        ),
    ),
)
