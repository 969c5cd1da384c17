"""Whole private runs: what reads the data, what is counted, what repeats."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dp2theory.resque import localization
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.counters import Counter
from dp2theory.resque.estimator import QueryPool
from dp2theory.resque.functions import Array
from dp2theory.resque.localization import Release
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.private import PrivateRun, run_private
from dp2theory.resque.private_erm import minimise_privately
from dp2theory.resque.private_ledger import PartLedger
from dp2theory.resque.private_plan import PrivatePlan, plan_private
from dp2theory.resque.reference import reference_optimum
from tests.resque.small import absolute_loss
from tests.resque.spies import DataReadError, Spy

DELTA = 1e-6


def data(records: int = 400) -> AbsoluteLoss:
    return absolute_loss(records)


@pytest.fixture(scope="module")
def plan() -> PrivatePlan:
    return plan_private(
        data(), accuracy=0.4, target_epsilon=4.0, target_delta=DELTA, parts=2, smoothing=0.5,
        draws=90,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(plan: PrivatePlan) -> PrivateRun:
    return run_private(data(), plan, rng=1)


# ------------------------------------------------------------------------------- who reads the data


def test_only_the_pools_read_the_data(plan: PrivatePlan, run: PrivateRun) -> None:
    """Not one query outside of an oracle call's one round; `value` is never asked."""
    spy, counter = Spy(data()), Counter()
    found = run_private(spy, plan, rng=1, counter=counter)
    np.testing.assert_array_equal(found.parameters, run.parameters)
    assert len(spy.queries) == counter.query_depth == counter.oracle_calls
    assert sum(spy.queries) == counter.queries


def test_after_a_pool_is_drawn_nothing_touches_the_data(plan: PrivatePlan) -> None:
    """The data are locked as soon as the gradients of a call are there, until the next call."""
    spy = Spy(data())

    class Locking(QueryPool):
        @classmethod
        def draw(cls, *args: Any, **options: Any) -> Any:
            spy.locked[0] = False
            try:
                return super().draw(*args, **options)
            finally:
                spy.locked[0] = True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(localization, "QueryPool", Locking)
        run_private(spy, plan, rng=1)
    with pytest.raises(DataReadError):
        spy.subgradients(np.zeros((1, 2)), np.array([0]))


def test_the_outer_loop_is_post_processing_of_releases(plan: PrivatePlan) -> None:
    """From the released points alone, without any data, the run comes out again, bit for bit."""
    function, part = data(300), plan.parts[0]
    last = f"restart 1, phase {len(seen_names(plan))}"
    released: list[Array] = []

    def observe(release: Release) -> None:
        if release.name == last:
            released.append(release.released)

    start = np.zeros(2)
    first = minimise_privately(
        function, part, start=start, rng=np.random.default_rng(3), constants=plan.constants,
        observe=observe,
    )  # fmt: skip

    class Replay:
        radius, restricted = part.radius, True

        def __init__(self) -> None:
            self.answers = iter(released)

        def solve(self, center: Array, multiplier: float) -> Array:
            u = next(self.answers)
            length = float(np.linalg.norm(u))
            return center + (u * (self.radius / length) if length > self.radius else u)

    again = accelerate(
        Replay(), start=start, domain_radius=part.risk.domain_radius, lipschitz=part.slope,
        accuracy=part.risk.accuracy, floor=part.floor, band=plan.constants.band,
        calls_per_step=plan.constants.calls_per_step, floor_first=False,
        max_calls=part.max_calls,
    )  # fmt: skip
    assert again.calls == first.calls == len(released)
    np.testing.assert_array_equal(again.x, first.parameters)
    np.testing.assert_array_equal(again.multipliers, first.acceleration.multipliers)


def seen_names(plan: PrivatePlan) -> list[str]:
    from dp2theory.resque.phases import phase_sizes

    return [str(each) for each in phase_sizes(plan.parts[0].draws, plan.constants)]


def test_parts_read_disjoint_records(plan: PrivatePlan) -> None:
    spy = Spy(data())
    run_private(spy, plan, rng=1)
    first, second = spy.parts
    assert len(first) == plan.parts[0].dataset_size
    assert len(second) == plan.parts[1].dataset_size
    assert not set(first.tolist()) & set(second.tolist())


def test_draws_are_uniform_with_replacement(plan: PrivatePlan) -> None:
    spy = Spy(data())
    found = run_private(spy, plan, rng=1)
    calls = spy.asked[: found.parts[0].calls]
    size = plan.parts[0].dataset_size
    counts = np.bincount(np.concatenate(calls), minlength=size)
    expected = len(calls) * plan.parts[0].draws / size
    # A chi-square statistic of about its mean: neither too even nor too uneven.
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert abs(statistic - size) < 6 * np.sqrt(2 * size)
    assert any(len(np.unique(each)) < len(each) for each in calls)


# -------------------------------------------------------------------------------------- the ledger


def test_every_oracle_call_is_in_the_ledger(plan: PrivatePlan, run: PrivateRun) -> None:
    assert sum(part.calls for part in run.ledger.parts) == run.counts.oracle_calls
    for entry, part in zip(run.ledger.parts, run.parts, strict=True):
        assert entry.calls == part.acceleration.calls >= part.acceleration.accepted
        assert entry.executed.count == entry.calls
        assert entry.guaranteed.count == entry.plan.max_calls
    assert run.counts.query_depth == run.counts.oracle_calls
    assert run.counts.queries == 90 * run.counts.oracle_calls


def test_rejected_tries_are_paid_for(plan: PrivatePlan) -> None:
    """With a band that is hard to hit the search throws answers away; all of them count."""
    narrow = replace(plan.constants, band=(0.45, 0.5), calls_per_step=6)
    spy = Spy(data(300))
    found = minimise_privately(
        spy, plan.parts[0], start=np.zeros(2), rng=np.random.default_rng(0), constants=narrow
    )
    assert found.calls > found.acceleration.accepted
    assert found.calls == len(spy.queries)


def test_at_the_cap_what_was_planned_was_executed(plan: PrivatePlan) -> None:
    capped = replace(plan, parts=tuple(replace(part, max_calls=6) for part in plan.parts))
    found = run_private(data(), capped, rng=0)
    assert {part.acceleration.stopped for part in found.parts} == {"max_calls"}
    assert found.ledger.executed == found.ledger.guaranteed
    assert found.ledger.guaranteed == tuple(part.event for part in capped.parts)


def test_the_claim_is_that_of_the_cap_and_of_the_dearest_part(run: PrivateRun) -> None:
    claimed = run.ledger.epsilon(DELTA)
    assert 3.99 < claimed.upper <= 4.0
    assert 0 < claimed.lower < claimed.upper
    alone = [replace(run.ledger, parts=(part,)).epsilon(DELTA).upper for part in run.ledger.parts]
    assert claimed.upper == max(alone)


def test_four_accountants_in_their_order(run: PrivateRun) -> None:
    first = replace(run.ledger, parts=run.ledger.parts[:1])
    rows = first.table(DELTA)
    assert [row.accountant for row in rows] == ["exact", "renyi", "tcdp", "advanced"]
    uppers = [row.guaranteed.upper for row in rows]
    assert uppers == sorted(uppers)
    assert len(set(uppers)) == 4
    for row in rows:
        assert row.guaranteed.lower == rows[0].guaranteed.lower <= row.guaranteed.upper
        assert row.executed.upper <= row.guaranteed.upper
    json.dumps([row.to_json() for row in rows])


def test_more_calls_than_the_cap_have_no_ledger(plan: PrivatePlan) -> None:
    with pytest.raises(ValueError, match="calls"):
        PartLedger(plan.parts[0], plan.parts[0].max_calls + 1)


def test_without_noise_epsilon_is_infinite(plan: PrivatePlan) -> None:
    found = run_private(data(), plan.without_noise(), rng=1)
    for row in found.ledger.table(DELTA):
        assert row.to_json()["guaranteed"] == {"lower": "inf", "upper": "inf"}
    best = data().value(np.full(2, 0.5 / np.sqrt(2)))
    assert data().value(found.parameters) - best < 0.04  # smoothing and regulariser are coarse


# --------------------------------------------------------------------------------------------- runs


def test_runs_repeat_bit_for_bit(plan: PrivatePlan, run: PrivateRun) -> None:
    with ThreadPoolExecutor(2) as pool:
        again = run_private(data(), plan, rng=1, executor=pool)
    np.testing.assert_array_equal(again.parameters, run.parameters)
    assert again.to_json() == run.to_json()
    assert not np.array_equal(run_private(data(), plan, rng=2).parameters, run.parameters)


def test_a_private_run_learns_something(plan: PrivatePlan) -> None:
    function = data()
    values = [function.value(run_private(function, plan, rng=s).parameters) for s in range(5)]
    best = function.value(np.full(2, 0.5 / np.sqrt(2)))
    assert np.mean(values) - best < 0.5 * (function.value(function.start) - best)


def test_progress_and_counters_add_up(plan: PrivatePlan, run: PrivateRun) -> None:
    seen: list[tuple[int, int]] = []
    counter = Counter()
    counter.steps(7)
    found = run_private(data(), plan, rng=1, counter=counter, progress=lambda *at: seen.append(at))
    assert seen == [(1, 2), (2, 2)]
    assert found.counts == run.counts
    assert counter.computational_depth == 7 + run.counts.computational_depth


def test_results_turn_into_json_without_secrets(run: PrivateRun) -> None:
    text = json.dumps(run.to_json())
    assert "clean" not in text
    assert json.loads(text)["ledger"]["parts"][0]["max_calls"] == run.ledger.parts[0].plan.max_calls


def test_another_data_set_than_planned_is_refused(plan: PrivatePlan) -> None:
    with pytest.raises(ValueError, match="401 records"):
        run_private(data(401), plan, rng=0)
    with pytest.raises(ValueError, match="part"):
        run_private(function_named("max", dimension=2), plan, rng=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="300"):
        minimise_privately(data(), plan.parts[0], start=np.zeros(2), rng=np.random.default_rng(0))


@pytest.mark.slow
def test_whole_private_runs_come_near_the_optimum() -> None:
    """Mean excess at epsilon 1, where the start has .24; many records come nearest."""
    means = []
    for size in (1000, 4000, 16000):
        function = data(size)
        budget: dict[str, Any] = {
            "accuracy": 0.2, "target_epsilon": 1.0, "target_delta": DELTA, "parts": 1,
        }  # fmt: skip
        found = plan_private(function, **budget)
        best = reference_optimum(function).upper
        values = [function.value(run_private(function, found, rng=s).parameters) for s in range(4)]
        means.append(float(np.mean(values)) - best)
    # Not monotone at fixed constants: .0010, .0056, .0002 were measured.
    assert max(means) < 0.02, means
    assert means[2] < 0.001, means
