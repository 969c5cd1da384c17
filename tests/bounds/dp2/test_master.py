"""The master inequality: proof, exactly tight runs, and the false steps that must not pass."""

import numpy as np
import pytest
from sympy import Eq

from bounds.assumptions import CODE, Assumption
from bounds.dp2 import variation
from bounds.dp2.master import COMMON, DOWN, MASTER
from bounds.dp2.relations import Le
from bounds.dp2.setting import UNBIASED
from bounds.dp2.symbols import D, N, Q, Rj, g, w, wstar
from bounds.model import Model
from bounds.operators import E, Independent, Max, RandomVariable
from bounds.proof.methods import Linearity, ZeroMean
from bounds.proof.step import at, expectation
from bounds.symbols import i, j, t
from bounds.theorem import Kind, Source, Theorem
from tests.bounds.dp2.convex_runs import ALL, linear_run, noisy_run, replayed


@pytest.mark.parametrize("id", ALL)
def test_proofs(id):
    """All theorems of this part."""
    report = replayed(ALL[id])
    assert report.ok, report.describe()
    assert not report.assumed
    assert not report.unused_steps
    assert not report.unused_assumptions


@pytest.mark.parametrize(("steps", "delay"), [(7, 2), (20, 5), (13, 20), (31, 4)])
@pytest.mark.parametrize("theorem", [MASTER, DOWN, COMMON], ids=lambda each: each.id)
def test_both_sides_agree_on_a_linear_loss(theorem, steps, delay):
    run = linear_run(steps, delay)
    left, right = (run.value(side) for side in theorem.statement.args)
    assert right / left == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(("steps", "dimension"), [(1, 1), (5, 1), (2, 2)])
@pytest.mark.parametrize("mixed", [False, True])
def test_it_holds_for_a_preconditioner_that_looks_at_the_past(steps, dimension, mixed):
    rng = np.random.default_rng(steps + 10 * dimension)
    for _ in range(3):
        run = noisy_run(rng, steps, dimension, mixed=mixed)
        for theorem in (COMMON,) if mixed else (MASTER, DOWN):
            assert all(run.holds(each.formula) for each in theorem.assumptions)
            assert run.holds(theorem.statement)
        if not mixed:
            up, down = (run.value(theorem.statement.args[1]) for theorem in (MASTER, DOWN))
            assert up == pytest.approx(down, rel=1e-12)


@pytest.mark.parametrize("id", [each.id for each in MASTER.assumptions])
def test_every_assumption_is_needed(id):
    report = replayed(MASTER.without_assumption(id))
    assert not report.ok


@pytest.mark.parametrize(
    "id", ["clip", "near", "positive-part", "paid", "noise-move", "step", "change", "gaps"]
)
def test_load_bearing_steps(id):
    assert not replayed(MASTER.without_step(id)).ok


def test_half_the_bound_is_refuted():
    half = Le(MASTER.statement.args[0], MASTER.statement.args[1] / 2)
    assert not replayed(MASTER.with_claim(half)).ok
    assert not linear_run(7, 2).holds(half)


def test_noise_that_looks_at_the_iterate_does_not_vanish():
    """Without independence of the iterate the mean of D N (w - w*) need not be 0."""
    knows = Assumption("fresh", Independent(N(t, j), D(t, i), g(t, i)), "not of w", CODE)
    weak = [knows if each.id == "fresh" else each for each in MASTER.assumptions]
    broken = Theorem(
        "t", "t", MASTER.statement, Kind.UPPER, Source("li2023dp2", "t"), tuple(weak), MASTER.steps
    )
    report = replayed(broken)
    failed = [each.id for each in report.steps if not each.ok]
    assert failed == ["noise-move"]


def test_independent_noise_is_asked_for_in_the_cross_term():
    step = expectation("t", Eq(E(N(t, j) * (w(t, j) - wstar(j))), 0), "unbiased", by=ZeroMean())
    theorem = Theorem(
        "t", "t", step.conclusion, Kind.IDENTITY, Source("li2023dp2", "t"), (UNBIASED,), (step,)
    )
    assert not replayed(theorem).ok


def _one(conclusion, premise, by):
    step = expectation("t", conclusion, "premise", by=by)
    assumed = Assumption("premise", premise, "t", CODE)
    return Theorem(
        "t", "t", conclusion, Kind.UPPER, Source("li2023dp2", "t"), (assumed,), (step,)
    ).replay()


def test_growth_on_average_is_not_growth_in_every_run():
    """E x (B' - B) <= R^2 E (B' - B) needs B' >= B almost surely, not on average."""
    x = (w(t + 1, j) - wstar(j)) ** 2
    change = Q(t + 1, j) - Q(t, j)
    wanted = Le(E(x * change), Rj(j) ** 2 * E(change))
    on_average = Le(E(Q(t, j)), E(Q(t + 1, j)))
    assert not _one(wanted, on_average, Linearity(over=(E,))).ok
    # What is true in every run may be averaged.
    in_every_run = Le(x * change, Rj(j) ** 2 * Max(change, 0))
    true = Le(E(x * change), Rj(j) ** 2 * E(Max(change, 0)))
    assert _one(true, in_every_run, Linearity(over=(E,))).ok


def test_the_counterexample_to_growth_on_average():
    """Delta = +-1 with probability 1/2, squared distance 1 where it rises, 0 where it falls."""
    change, distance = RandomVariable("change"), RandomVariable("distance")
    run = Model({}, {"change": np.array([1.0, -1.0]), "distance": np.array([1.0, 0.0])})
    assert run.value(E(change)) == 0
    assert run.value(E(distance * change)) == 0.5


def test_a_metric_that_grows_on_average_only_is_refused():
    weak = Assumption("grows", Le(E(Q(t, j)), E(Q(t + 1, j))), "on average", CODE)
    theorem = variation.MONOTONE
    broken = Theorem(
        "t", "t", theorem.statement, theorem.kind, theorem.source, (weak,), theorem.steps
    )
    assert not replayed(broken).ok


def test_a_step_too_early_in_time():
    """`at` puts nothing in place of t that may be 0."""
    report = Theorem(
        "t",
        "t",
        Le(Q(t - 1, j), Q(t, j)),
        Kind.UPPER,
        Source("li2023dp2", "t"),
        (Assumption("grows", Le(Q(t, j), Q(t + 1, j)), "t", CODE),),
        (expectation("t", Le(Q(t - 1, j), Q(t, j)), at("grows", {t: t - 1}), by=Linearity()),),
    ).replay()
    assert not report.ok
