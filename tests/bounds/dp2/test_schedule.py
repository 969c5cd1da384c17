"""Proofs of the schedule theorems, small runs, and what must break them."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from sympy import Eq, Ge, Implies, Le, Rational, floor

from bounds.assumptions import CALLER, Assumption
from bounds.dp2 import (
    first_phase,
    schedule,
    schedule_closed,
    schedule_implications,
    schedule_metric,
    schedule_norm,
    schedule_recalled,
    schedule_tail,
    schedule_uncapped,
)
from bounds.dp2.schedule_metric import CAP, METRIC
from bounds.dp2.schedule_models import Run
from bounds.dp2.symbols import M, R, alpha, eps, s
from bounds.model import Model
from bounds.operators import E, RandomVariable, Variable
from bounds.proof.methods import Linearity
from bounds.proof.replay import Report, replay
from bounds.proof.step import expectation, inequality
from bounds.symbols import t
from bounds.theorem import Kind, Source, Status, Theorem

MODULES = (
    schedule_metric,
    schedule_norm,
    schedule,
    schedule_closed,
    schedule_implications,
    schedule_recalled,
    schedule_tail,
    schedule_uncapped,
    first_phase,
)
ALL = {theorem.id: theorem for module in MODULES for theorem in module.THEOREMS}
#: What may rest on an assumed step.
CITED = {"dp2.recalled", "dp2.relaxed", "dp2.A0", "dp2.A0.tail"}
PROVED = sorted(set(ALL) - {"dp2.recalled"})


#: Proofs of cited theorems, each replayed once.
DONE: dict[str, Report] = {}


def checked(theorem):
    return replay(theorem, done=DONE)


@pytest.mark.parametrize("id", ALL)
def test_proof(id):
    report = checked(ALL[id])
    assert report.ok, report.describe()
    found = report.to_json()
    assert not found["unused_steps"]
    assert not found["unused_assumptions"]
    assert bool(found["assumed"]) == (id in CITED)


def test_recalled_forms_are_marked():
    for id, theorem in ALL.items():
        recalled = theorem.source.status is Status.RECALLED
        assert recalled == (id in ("dp2.recalled", "dp2.relaxed"))


@pytest.mark.parametrize("id", ALL)
def test_small_runs(id):
    """Wherever all assumptions hold the statement does; and they do hold in several runs."""
    theorem = ALL[id]
    good = 0
    for model in islice(theorem.models(np.random.default_rng(1)), 9):
        if all(model.holds(each.formula) for each in theorem.assumptions):
            assert not model.violates(theorem.statement), model.note
            good += 1
    assert good >= 3


@pytest.mark.slow
@pytest.mark.parametrize("id", PROVED)
def test_no_assumption_can_be_dropped(id):
    theorem = ALL[id]
    for assumption in theorem.assumptions:
        assert not checked(theorem.without_assumption(assumption.id)).ok, assumption.id


@pytest.mark.parametrize("id", ["dp2.A.metric", "dp2.A", "dp2.A0.decline"])
def test_every_assumption_is_needed(id):
    """Without it there is a run in which all the others hold and the statement does not."""
    theorem = ALL[id]
    assert theorem.counterexample() is None
    for assumption in theorem.assumptions:
        found = theorem.without_assumption(assumption.id).counterexample()
        assert found is not None, assumption.id
        assert found.left > found.right


def _shifted(theorem, id):
    """The theorem with floor(t/s) in place of floor((t - 1)/s) in one assumption."""
    assumptions = tuple(
        Assumption(
            each.id, each.formula.subs(floor((t - 1) / s), floor(t / s)), each.text, each.held_by
        )
        if each.id == id
        else each
        for each in theorem.assumptions
    )
    assert assumptions != theorem.assumptions
    return replace(theorem, assumptions=assumptions)


@pytest.mark.parametrize("id", ["schedule", "plain", "adaptive"])
def test_one_step_early_breaks_the_metric(id):
    early = _shifted(METRIC, id)
    assert not checked(early).ok


def test_metric_drops_when_sizes_decay_one_step_early():
    """t = s has the decay already but not the preconditioner: the ratio falls at t = s + 1."""
    run = Run(steps=6, delay=2, noises=(0.0, 0.0))
    fine = run.model()
    assert not fine.violates(METRIC.statement)
    early = Run(steps=6, delay=2, noises=(0.0, 0.0), jump=1).model()
    assert early.violates(METRIC.statement)
    assert early.holds(Eq(alpha, eps))


@pytest.mark.parametrize("updates", [1, 4])
@pytest.mark.parametrize("stds", [0.0, 0.5, 1.5])
def test_cited_concentration_in_a_simulation(updates, stds):
    """The one step that is cited: the EMA norm of Gaussian noise rarely exceeds its mean."""
    rng = np.random.default_rng(updates)
    ema, spread = 0.6, 0.3
    square = np.zeros(200_000)
    for _ in range(updates):
        square = ema * square + (1 - ema) * (spread * rng.standard_normal(square.size)) ** 2
    norm = np.sqrt(square)
    excess = np.maximum(norm - norm.mean() - stds * np.sqrt(1 - ema) * spread, 0).mean()
    tail = ALL["dp2.A0.tail"].evaluate(decay_margin=stds, noise_std=spread, delay=1, ema=ema)
    assert 0.0 <= excess < tail
    assert excess > 1e-3 * tail  # the citation is used where it says something


# --- almost-sure monotonicity: a mean that grows is not enough

_delta = RandomVariable("change")
_square = RandomVariable("square", nonnegative=True)
_r = Variable("r_", positive=True)
IN_MEAN = Theorem(
    id="false.in-mean",
    title="The step that only a metric which never shrinks allows",
    statement=Le(E(_square * _delta), E(_delta)),
    kind=Kind.UPPER,
    source=Source("li2023dp2", "convex theorem"),
    assumptions=(
        Assumption("small", Le(_square, 1), "squared distances are at most 1", CALLER),
        Assumption("grows", Ge(E(_delta), 0), "the metric grows in the mean", CALLER),
    ),
    steps=(
        expectation(
            "statement",
            Le(E(_square * _delta), E(_delta)),
            "small",
            "grows",
            by=Linearity(over=(E,)),
        ),
    ),
    models=lambda rng: iter(
        [Model({}, {"change": [1.0, -1.0], "square": [1.0, 0.0]}, note="1/2 is not at most 0")]
    ),
)


def test_growth_in_the_mean_is_not_enough():
    report = checked(IN_MEAN)
    assert not report.ok
    found = IN_MEAN.counterexample()
    assert found is not None
    assert float(found.left) == pytest.approx(0.5)
    assert float(found.right) == pytest.approx(0.0)


def test_growth_on_every_path_is():
    path = inequality(
        "path", Le(_square * _delta, _delta), "small", Assumption("grows", Ge(_delta, 0), "").id
    )
    sure = replace(
        IN_MEAN,
        assumptions=(
            IN_MEAN.assumptions[0],
            Assumption("grows", Ge(_delta, 0), "the metric grows on every path", CALLER),
        ),
        steps=(
            path,
            expectation("statement", IN_MEAN.statement, "path", by=Linearity(over=(E,))),
        ),
    )
    assert checked(sure).ok


def test_witness_against_a_cap_in_the_mean():
    """alpha = 1/2, D = 3, roots 1 and 5/4: leaving the phase the metric falls from 3 to 5/2."""
    x, y, D_ = Variable("x_"), Variable("y_"), Variable("D_", positive=True)
    claim = Implies(
        Eq(alpha, Rational(1, 2)) & Le(x, y) & (x > 0) & Le(y, Rational(5, 4)), D_ * x <= y / alpha
    )
    step = inequality("leaving", claim)
    theorem = Theorem(
        id="false.leaving",
        title="Leaving an adaptive phase without alpha D <= 1",
        statement=claim,
        kind=Kind.STRUCTURE,
        source=Source("li2023dp2", "convex theorem"),
        steps=(step,),
    )
    report = checked(theorem)
    assert not report.ok
    assert "counter-model" in report.describe()
    assert not bool(claim.subs({alpha: Rational(1, 2), D_: 3, x: 1, y: Rational(5, 4)}))


def test_cap_in_the_mean_is_refused():
    """E v <= M in place of v <= M: the proof fails, and a run shows the metric falling."""
    v = CAP.formula.args[0]
    in_mean = replace(
        METRIC,
        assumptions=tuple(
            Assumption("cap", Le(E(v), M), "the mean of v is at most M", CALLER)
            if each.id == "cap"
            else each
            for each in METRIC.assumptions
        ),
    )
    assert not checked(in_mean).ok
    run = Run(steps=6, delay=1, noises=(0.0, 0.0)).model()
    moments = np.zeros((8, 1, 2))
    moments[1::2, 0] = (0.0, 4.5)  # mean 2.25 = M, sqrt(4.5) above sqrt(M)
    metric = np.ones((7, 1, 2))
    metric[1::2] = np.sqrt(moments[1:7:2]) + 0.5
    arrays = {**run.processes, "v": moments, "D": metric}
    two = Model(run.values, {name: arrays[name] for name in ("a", "v", "D")}, [0.5, 0.5])
    assert all(two.holds(each.formula) for each in in_mean.assumptions)
    assert two.violates(METRIC.statement)


# --- halved constants of the statements


@pytest.mark.parametrize("id", ["dp2.A", "dp2.closed", "dp2.first-phase.bound"])
def test_half_the_diameter_term_is_not_proved(id):
    theorem = ALL[id]
    less = theorem.with_claim(theorem.statement.subs(R**2, R**2 / 2))
    assert less.statement != theorem.statement
    assert not checked(less).ok


def test_twice_the_bound_is_still_true_but_must_be_stated():
    theorem = ALL["dp2.closed"]
    left, right = theorem.statement.args
    assert not checked(theorem.with_statement(Le(left, 2 * right))).ok


def test_first_phase_needs_a_full_phase():
    theorem = ALL["dp2.first-phase.bound"]
    loose = theorem.without_assumption("long")
    assert not checked(loose).ok
