"""Phased localisation: sensitivity of a pass, disjoint phases, noise, bound, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from accountants import ExactAccountant, NeighboringRelation
from dp2theory.resque.losses import AbsoluteLoss, HingeLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.phased_localization import one_pass, run_phased
from dp2theory.resque.phased_plan import PhasedConstants, plan_phased, sensitivity
from tests.resque.hard_instances import Spied, drifting, replace_record

BUDGET: dict[str, Any] = {"target_epsilon": 1.0, "target_delta": 1e-6}
STEP = 0.01
LEAST = STEP / np.sqrt(2 * np.pi)


def small(records: int = 200) -> AbsoluteLoss:
    found = function_named("absolute", records=records, dimension=3)
    assert isinstance(found, AbsoluteLoss)
    return found


@pytest.mark.parametrize("position", [0, 20, 59])
@pytest.mark.parametrize("smoothing", [LEAST, 5 * LEAST, 0.0])
def test_a_replaced_record_moves_a_pass_by_no_more_than_is_proved(
    position: int, smoothing: float
) -> None:
    order = np.random.default_rng(position).permutation(60)
    record = int(order[position])
    for kind in ("absolute", "hinge"):
        loss = function_named(kind, records=60, dimension=4)
        assert isinstance(loss, (AbsoluteLoss, HingeLoss))
        row = np.array([0.6, -0.8, 0.0, 0.0])
        neighbour = replace(
            loss, features=np.where(np.arange(60)[:, None] == record, row, loss.features)
        )
        passes = [one_pass(each, order, loss.start, STEP, smoothing) for each in (loss, neighbour)]
        moved = np.linalg.norm(passes[0] - passes[1]) / STEP
        assert moved <= sensitivity("smoothed" if smoothing else "raw", 60)
        assert moved > 0 or position == 59  # the last point is not in the average


def test_smoothing_holds_a_pass_together_where_plain_subgradients_drift() -> None:
    neighbours = drifting(200)
    order, start = np.arange(200), neighbours[0].start

    def moved(smoothing: float) -> float:
        first, second = (one_pass(each, order, start, STEP, smoothing) for each in neighbours)
        return float(np.linalg.norm(first - second)) / STEP

    assert moved(LEAST) <= sensitivity("smoothed", 200) == 2.0
    # sqrt(T/3) is attained, sqrt(3)/2 of what is proved.
    assert moved(0.0) == pytest.approx(2 * np.sqrt(200 / 3), rel=0.01)
    assert moved(0.0) <= sensitivity("raw", 200)


@pytest.mark.parametrize("variant", ["smoothed", "raw"])
@pytest.mark.parametrize("records", [2, 3, 200])
def test_phases_are_disjoint_and_each_costs_the_budget(variant: str, records: int) -> None:
    plan = plan_phased(small(records), **BUDGET, constants=PhasedConstants(variant=variant))
    assert sum(phase.records for phase in plan.phases) <= records
    assert len(plan.parts) == len(plan.phases)
    for event, phase in zip(plan.parts, plan.phases, strict=True):
        accountant = ExactAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
        assert 1 - 1e-6 < accountant.compose(event).get_epsilon(1e-6) <= 1.0
        moved = sensitivity(variant, phase.records) * phase.step_size
        assert phase.noise_std == pytest.approx(plan.noise_multiplier * moved / 2)
        if variant == "smoothed":
            # The step is within 2 over the smoothness.
            assert phase.step_size <= 2 / (np.sqrt(2 / np.pi) / phase.smoothing)


def test_no_record_is_read_twice() -> None:
    spied = Spied(small())
    plan = plan_phased(spied, **BUDGET)
    assert plan.variant == "raw"
    run = run_phased(spied, plan, rng=np.random.default_rng(0))
    assert len(spied.asked) == len(set(spied.asked)) == run.counts.queries > 190


@pytest.mark.parametrize("variant", ["smoothed", "raw"])
def test_noise_of_each_release_is_what_the_plan_says(variant: str) -> None:
    d = 1500
    rows = np.zeros((40, d))
    rows[:, 0] = 1
    loss = AbsoluteLoss(rows, np.linspace(-1, 1, 40), lipschitz=1.0)
    plan = plan_phased(loss, **BUDGET, constants=PhasedConstants(variant=variant))
    runs = [run_phased(loss, plan, rng=np.random.default_rng(s)) for s in range(12)]
    for index, phase in enumerate(plan.phases):
        noise = [run.releases[index].released - run.releases[index].clean for run in runs]
        scaled = np.array(noise) / phase.noise_std
        low, high = np.sqrt(stats.chi2.ppf([5e-7, 1 - 5e-7], scaled.size) / scaled.size)
        assert 0.97 < low < np.sqrt(np.square(scaled).mean()) < high < 1.03


def test_the_bound_holds_and_smoothing_is_the_better_variant() -> None:
    function = small(2000)
    best = function.value(0.5 * np.full(3, 3**-0.5))
    means, bounds = {}, {}
    for variant in ("smoothed", "raw"):
        plan = plan_phased(
            function,
            target_epsilon=4.0,
            target_delta=1e-6,
            constants=PhasedConstants(variant=variant),
        )
        runs = [run_phased(function, plan, rng=np.random.default_rng(s)) for s in range(6)]
        means[variant] = np.mean([function.value(run.parameters) for run in runs]) - best
        bounds[variant] = plan.excess_bound
        assert means[variant] < bounds[variant]
    assert means["smoothed"] < 0.5 * means["raw"]
    assert bounds["smoothed"] < 0.1 < bounds["raw"]


def test_a_neighbour_runs_under_the_same_plan() -> None:
    function = small()
    plan = plan_phased(function, **BUDGET)
    other = replace_record(function, 3, -function.features[3], 0.0)
    assert plan == plan_phased(other, **BUDGET)
    assert run_phased(other, plan, rng=np.random.default_rng(0)).epsilon.upper <= 1.0


def test_bad_input_is_refused() -> None:
    for change, named in (
        ({"variant": "exact"}, "variant"),
        ({"records_shrink": 1.0}, "records_shrink"),
        ({"step_shrink": float("nan")}, "step_shrink"),
        ({"phases": 0}, "phases"),
    ):
        with pytest.raises(ValueError, match=named):
            PhasedConstants(**change)
    with pytest.raises(ValueError, match="'raw' takes any"):
        plan_phased(Spied(small()), **BUDGET, constants=PhasedConstants(variant="smoothed"))
    with pytest.raises(ValueError, match="sample_size"):
        run_phased(small(100), plan_phased(small(), **BUDGET), rng=np.random.default_rng(0))
    assert set(PhasedConstants.SOURCES) == set(PhasedConstants().to_json())
