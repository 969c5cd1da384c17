"""Bounds on recorded runs: what is recorded, what holds, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dp2theory.verification.certify as module
from accountants.sampling import Poisson, WithoutReplacement
from bounds import theorems
from dp2theory.optimizers.adam import DpAdam
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.sgd import DpSgd, Sgd
from dp2theory.problems.convex import huber, least_absolute_deviations, quadratic
from dp2theory.problems.linear import AbsoluteError, LinearProblem
from dp2theory.problems.protocol import Constants
from dp2theory.problems.registry import get_problem
from dp2theory.problems.rows import DenseRows
from dp2theory.verification import certify_trace
from dp2theory.verification.certify import certify
from dp2theory.verification.certify_trace import InBox, box_of, check_size, record_run

PROBLEM = least_absolute_deviations(n=64, d=3)
SAMPLING = Poisson(0.25)
DP_SGD = DpSgd(0.1, 1.0, 0.5)
DP2 = Dp2RmsProp(0.1, 1.0, 0.02, 50.0, 0.5, delay=5, damping=0.2)


def recorded(optimizer, problem=PROBLEM, sampling=SAMPLING, steps=40, seeds=range(3)):
    made = [
        record_run(optimizer, problem, sampling=sampling, steps=steps, seed=seed) for seed in seeds
    ]
    return [one for one, _ in made], [trace for _, trace in made]


def slope(*, steps=8):
    """|w - 1| on [0, 1] from 0 with step 1/T and no noise: every bound is attained."""
    known = Constants(lipschitz=1.0, diameter=1.0, optimal_value=0.0)
    rows, target = DenseRows(np.ones((1, 1))), np.ones(1)
    problem = LinearProblem("slope", {"train": rows}, {"train": target}, AbsoluteError(), known)
    return recorded(Sgd(1 / steps), problem, WithoutReplacement(1, 1), steps)[1], problem


@pytest.fixture
def slope_box(monkeypatch):
    monkeypatch.setitem(certify_trace.KNOWN_BOXES, "slope", (0.0, 1.0))


@pytest.mark.parametrize("optimizer", [DP_SGD, DP2, Sgd(0.1)], ids=lambda each: each.name)
def test_watching_changes_no_bit(optimizer):
    made, traces = recorded(optimizer, seeds=(3,))
    plain = run(InBox(optimizer, -1.0, 1.0), PROBLEM, sampling=SAMPLING, steps=40, rng=3)
    assert np.array_equal(made[0].result.parameters, plain.parameters)
    assert made[0].final_loss == plain.final_loss
    assert made[0].ledger == plain.ledger
    assert np.array_equal(traces[0].w[-1], plain.parameters)


def test_a_trace_is_a_model_of_the_assumptions_that_code_answers_for():
    _, traces = recorded(DP2)
    model = module._model(traces, np.ones(40))
    for assumption in theorems()["dp2.master"].assumptions:
        if assumption.id in ("inside", "update"):
            assert not (model.margin(assumption.formula) < -1e-9).any()
    assert (traces[0].D[5:10] != 1).all()
    assert (traces[0].D[:5] == 1).all()
    assert np.allclose(traces[0].nu[[0, 5]], [0.5 / 16, 0.5 * 50 / 16])
    assert np.allclose(traces[0].a[[0, 5]], [0.1, 0.02])


def test_noise_has_the_deviation_that_the_bound_pays_for():
    _, traces = recorded(DP2, steps=400)
    for phase in (0, 5):
        steps = (np.arange(400) // 5 % 2 == phase // 5).nonzero()[0]
        drawn = np.concatenate([each.N[steps].ravel() for each in traces])
        assert drawn.std() == pytest.approx(traces[0].nu[phase], rel=0.1)


def test_the_bound_is_that_of_the_formula():
    _, traces = recorded(DP2)
    found = certify(PROBLEM, SAMPLING, traces)
    B = np.mean([each.D / each.a[:, None] for each in traces], axis=0)
    rises = np.mean(
        [np.maximum(0, np.diff(each.D / each.a[:, None], axis=0)) for each in traces], axis=0
    )
    second = np.mean([each.g**2 / each.D for each in traces], axis=0)
    D = np.mean([each.D for each in traces], axis=0)
    a, nu = traces[0].a[:, None], traces[0].nu[:, None]
    by_hand = (2.0**2 * (B[0].sum() + rises.sum()) + (a * (nu**2 * D + second)).sum()) / 2 / 40
    assert found.bounds[0].theorem == "dp2.master"
    assert found.bounds[0].bound == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("make", [least_absolute_deviations, huber, quadratic])
@pytest.mark.parametrize("sampling", [SAMPLING, WithoutReplacement(64, 16)], ids=lambda s: s.scheme)
@pytest.mark.parametrize("optimizer", [DP_SGD, DP2, Sgd(0.1)], ids=lambda each: each.name)
def test_bounds_hold(make, sampling, optimizer):
    problem = make(n=64, d=3)
    if not isinstance(optimizer, Sgd):
        optimizer = replace(optimizer, clip_norm=max(1.0, problem.constants.lipschitz))
    found = certify(problem, sampling, recorded(optimizer, problem, sampling)[1])
    assert not found.violated
    assert all(row.runs_above == 0 for row in found.bounds)
    names = [row.theorem for row in found.bounds]
    assert names[:3] == ["dp2.master", "dp2.master.best", "dp2.master.average"]
    assert ("dp2.B" in names) == isinstance(optimizer, Dp2RmsProp) == bool(found.not_applicable)
    assert found.statement == "an estimate over 3 runs, not for release: it reads raw gradients"


def test_a_bound_that_is_attained_is_met_exactly(slope_box):
    traces, problem = slope()
    found = certify(problem, WithoutReplacement(1, 1), traces)
    for row in found.bounds:
        if row.gap_of == "mean over the steps":
            assert row.bound == pytest.approx(row.gap, rel=1e-12)
    assert not found.violated


def test_clipped_runs_are_refused():
    tight = replace(DP2, preconditioned_clip_norm=0.5)
    _, traces = recorded(tight)
    assert traces[0].clipped == 20
    with pytest.raises(ValueError, match=r"clip_norm=0\.5: must be larger, .* of 20 steps"):
        certify(PROBLEM, SAMPLING, traces)
    with pytest.raises(ValueError, match=r"clip_norm=0\.5: must be at least 1"):
        recorded(replace(DP_SGD, clip_norm=0.5))


def test_what_no_theorem_speaks_of_is_refused():
    with pytest.raises(ValueError, match="no theorem here speaks of it"):
        recorded(DpAdam(0.1, 1.0, 1.0))
    with pytest.raises(ValueError, match="no box is known"):
        box_of(get_problem("het:n=100,d=5,amin=1/10,avg=2,seed=1"))
    with pytest.raises(ValueError, match="optimal value is not known"):
        box_of(replace(PROBLEM, constants=replace(PROBLEM.constants, optimal_value=None)))
    with pytest.raises(ValueError, match="from at least 2"):
        certify(PROBLEM, SAMPLING, recorded(DP_SGD)[1][:1])
    with pytest.raises(ValueError, match="too large to keep"):
        check_size(10**6, 10, 1)


def test_a_loss_that_is_not_convex_is_refused():
    class Bent:
        name, convex, constants, dimension = "bent", False, Constants(), 3

    with pytest.raises(ValueError, match="not convex"):
        box_of(Bent())
