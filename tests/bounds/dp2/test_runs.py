"""Finite runs: right ones satisfy the theorems, tight ones exactly, broken ones break one thing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bounds.dp2 import runs_convex
from bounds.dp2.dp_sgd import THEOREMS as DP_SGD
from bounds.dp2.master import THEOREMS as MASTER
from bounds.dp2.runs import Run, perturbed, signs
from bounds.dp2.schedule_metric import METRIC
from bounds.model import Model
from bounds.theorem import Theorem

BY_ID = {each.id: each for each in (*MASTER, *DP_SGD)}
CASES = [
    ("dp2.master", runs_convex.master_models),
    ("dp2.dp-sgd.any-step", runs_convex.sgd_models),
    ("dp2.dp-sgd", runs_convex.sgd_models),
]


def satisfying(theorem: Theorem, models) -> list[Model]:
    return [
        model
        for model in models(np.random.default_rng(0))
        if all(model.holds(each.formula) for each in theorem.assumptions)
    ]


@pytest.mark.parametrize(("id", "models"), CASES)
def test_right_runs_satisfy_the_theorem(id: str, models) -> None:
    theorem = BY_ID[id]
    right = satisfying(theorem, models)
    assert len(right) >= 8
    margins = [float(np.nanmin(model.margin(theorem.statement))) for model in right]
    assert min(margins) >= -1e-14
    if id != "dp2.dp-sgd":  # whose tuned step is tight for sums only
        assert min(margins) <= 1e-14


@pytest.mark.parametrize(("id", "models"), CASES)
def test_every_dropped_assumption_has_its_run(id: str, models) -> None:
    theorem = replace(BY_ID[id], models=models)
    for assumption in theorem.assumptions:
        found = theorem.without_assumption(assumption.id).counterexample(tries=1000)
        assert found is not None, assumption.id
        assert found.model is not None
        assert not found.model.holds(assumption.formula)


def test_every_rule_of_the_schedule_has_its_run() -> None:
    theorem = replace(METRIC, models=runs_convex.decay_models)
    assert len(satisfying(theorem, runs_convex.decay_models)) > 100
    assert theorem.counterexample(tries=1000) is None
    for assumption in theorem.assumptions:
        found = theorem.without_assumption(assumption.id).counterexample(tries=1000)
        assert found is not None, assumption.id


def test_a_run_plays_the_update_rule() -> None:
    run = Run(
        3,
        1,
        np.ones((3, 1)),
        0.5 * signs(3),
        np.array([1.0, 2.0, 1.0])[:, None],
        np.array([0.3, 0.4, 0.5]),
        best=0.25,
    )
    made = run.model().processes
    w, scenario = 1.0, 5  # signs + - +
    for step, (noise, metric, size) in enumerate(
        zip((0.5, -0.5, 0.5), (1, 2, 1), (0.3, 0.4, 0.5), strict=True)
    ):
        assert made["w"][step, 0, scenario] == pytest.approx(w)
        slope = 1.0 if w >= 0.25 else -1.0
        assert made["grad"][step, 0, scenario] == slope
        assert made["gap"][step, scenario] == pytest.approx(abs(w - 0.25))
        w = min(max(w - size * (slope / metric + noise), 0.0), 1.0)
    assert made["w"][3, 0, scenario] == pytest.approx(w)
    assert made["mode"].tolist() == [0, 1, 0]


def test_claims_change_letters_and_nothing_else() -> None:
    run = Run(2, 1, np.ones((2, 1)), np.zeros((2, 1, 1)), np.ones((2, 1)), np.full(2, 0.5))
    smaller, larger = (each.model() for each in perturbed(run, "C"))
    assert (float(smaller.values["C"]), float(larger.values["C"])) == (0.2, 5.0)
    np.testing.assert_array_equal(smaller.processes["w"], run.model().processes["w"])
