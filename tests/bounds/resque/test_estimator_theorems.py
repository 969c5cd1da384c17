"""Proofs of the estimator's theorems: they replay, false variants do not, models hold or break."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Eq, exp

from bounds.catalogue import theorem
from bounds.model import MARGIN, NORMAL_MARGIN
from bounds.mutants import survivors
from bounds.operators import E, StandardNormal
from bounds.proof.replay import Report, replay
from bounds.proof.step import expectation, inequality
from bounds.resque.drift import apart, inner
from bounds.resque.estimator_weight import w_a
from bounds.resque.symbols import a_len, eta_step, p
from bounds.symbols import t
from bounds.theorem import Theorem

PROVED = (
    "resque.E1",
    "resque.E2",
    "resque.E3",
    "resque.E3.difference",
    "resque.E3.orders",
    "resque.E3.ratio",
    "resque.E4",
    "resque.E5",
    "resque.E6",
    "resque.E6.sharp-2",
    "resque.E6.sharp-4",
    "resque.E7",
    "resque.F1",
    "resque.F1.norm",
    "resque.F2",
    "resque.F3",
    "resque.F3.tight",
    "resque.F4",
    "resque.F4.tight",
    "resque.F5",
    "resque.F5.gradient",
    "resque.definitions",
    "resque.definitions.tv",
    "resque.definitions.conditioning",
    "resque.definitions.coupling",
    "resque.definitions.quasi-convexity",
    "resque.definitions.renyi",
    "resque.definitions.renyi-order",
    "resque.definitions.composition",
    "resque.drift",
    "resque.drift.binomial",
    "resque.drift.orders",
    "resque.drift.powers",
    "resque.approximate",
    "resque.approximate.composition",
    "resque.approximate.sampling",
)
#: Statements on integrals of random functions, limits or derivatives: no finite model has them.
WITHOUT_MODELS = {
    "resque.E1",
    "resque.E3.orders",  # every order at once: no quadrature reaches
    "resque.E6.sharp-2",
    "resque.E6.sharp-4",
    "resque.drift.binomial",  # every order at once
    "resque.F1.norm",
    "resque.F3",
    "resque.F3.tight",
    "resque.F4",
    "resque.F5.gradient",
}


#: What steps came to, and proofs that are cited: variants of a theorem share most of them.
OUTCOMES: dict[Any, Any] = {}
DONE: dict[str, Report] = {}


def replayed(changed: Theorem) -> Report:
    return replay(changed, done=DONE, outcomes=OUTCOMES)


@pytest.mark.parametrize("id", PROVED)
def test_proof_replays_without_assumed_steps_and_without_leftovers(id: str) -> None:
    report = replayed(theorem(id))
    assert report.ok, report.describe()
    assert not report.assumed
    assert not report.unused_assumptions
    assert not report.unused_steps


@pytest.mark.parametrize("id", [each for each in PROVED if each not in WITHOUT_MODELS])
def test_models_hold_or_break_one_assumption(id: str) -> None:
    claim = theorem(id)
    assert claim.models is not None
    normal = any(each.formula.atoms(StandardNormal) for each in claim.assumptions)
    margin = NORMAL_MARGIN if normal else MARGIN
    whole, missing = 0, {each.id for each in claim.assumptions}
    for model in claim.models(np.random.default_rng(1)):
        broken = [each.id for each in claim.assumptions if not model.holds(each.formula)]
        if not broken:
            whole += 1
            assert not model.violates(claim.statement, margin), model.note
        else:
            assert len(broken) == 1, (model.note, broken)
            assert model.violates(claim.statement, margin), model.note
            missing.discard(broken[0])
    assert whole >= 1
    # Bounds on parameters that evaluation checks; no model is needed to see what they are for.
    assert missing <= {"order", "weight"}


@pytest.mark.parametrize("id", PROVED)
def test_every_assumption_is_needed_by_the_proof(id: str) -> None:
    claim = theorem(id)
    for assumption in claim.assumptions:
        assert not replayed(claim.without_assumption(assumption.id)).ok


@pytest.mark.parametrize(
    "id", ["resque.E2", "resque.E5", "resque.F1", "resque.drift", "resque.approximate"]
)
def test_no_mutant_survives(id: str) -> None:
    assert [each.id for each in survivors(theorem(id))] == []


@pytest.mark.slow
@pytest.mark.parametrize("id", PROVED)
def test_no_mutant_survives_anywhere(id: str) -> None:
    assert [each.id for each in survivors(theorem(id))] == []


def test_halved_exponent_of_the_moment_fails_and_has_a_counterexample() -> None:
    halved = theorem("resque.E2").with_claim(Eq(E(w_a**p), exp(p * (p - 1) * a_len**2 / 4)))
    assert not replayed(halved).ok
    found = halved.counterexample()
    assert found is not None
    assert found.model is not None


def test_monotonicity_holds_in_the_mean_only() -> None:
    """inner(t) >= 0 path by path does not follow, and is false in a model of the assumptions."""
    claim = theorem("resque.drift")
    pathwise = inequality("pathwise", inner(t) >= 0, "inner-mean", "monotone")
    wrong = replace(claim, steps=(pathwise,), statement=pathwise.conclusion)
    report = replayed(wrong)
    assert not report.ok
    assert "counter-model" in report.steps[0].message
    found = wrong.counterexample()
    assert found is not None
    growth = apart(t + 1) <= apart(t) + eta_step**2 * sympy.Function("jump")(t)
    assert any(
        model.violates(growth, MARGIN)
        for model in claim.models(np.random.default_rng(0))  # type: ignore[misc]
        if all(model.holds(each.formula) for each in claim.assumptions)
    )


def test_a_mean_of_a_product_is_no_product_of_means_without_independence() -> None:
    claim = theorem("resque.E3")
    report = replayed(claim.without_assumption("independent"))
    assert not report.ok
    assert claim.without_assumption("independent").counterexample() is not None


def test_jensen_needs_the_right_side() -> None:
    """|E X| >= E |X| is refused: the segment's inequality cannot be turned round."""
    claim = theorem("resque.E6")
    step = next(each for each in claim.steps if each.id == "minkowski")
    small, large = step.conclusion.args
    turned = expectation("turned", large <= small, "order", by=step.by)
    assert not replayed(replace(claim, steps=(turned,), statement=turned.conclusion)).ok
