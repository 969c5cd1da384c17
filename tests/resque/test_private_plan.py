"""Plans of private runs: budgets, failures, caps, refusals, notes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import dp_accounting
import numpy as np
import pytest
from scipy import special

from accountants.errors import InfeasibleBudgetError
from accountants.exact.accountant import ExactAccountant
from bounds.catalogue import theorem
from dp2theory.resque import failure, private_part
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.constants import WIDE, PrivateConstants
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.needed_size import needed_size
from dp2theory.resque.noise_search import smallest_noise
from dp2theory.resque.phases import schedule
from dp2theory.resque.private_part import RELATION, weight_bound
from dp2theory.resque.private_plan import PrivatePlan, plan_private
from tests.resque.spies import Spy

EPSILON, DELTA = 2.0, 1e-6


def plan(**changes: Any) -> PrivatePlan:
    function = Spy(function_named("absolute", records=1000, dimension=2))  # type: ignore[arg-type]
    function.locked[0] = True
    settings: dict[str, Any] = {
        "accuracy": 0.4,
        "target_epsilon": EPSILON,
        "target_delta": DELTA,
        "parts": 1,
    }
    return plan_private(function, **{**settings, **changes})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No accountant: noise as 8/epsilon, for tests of everything else."""

    def noise(make_event: Any, *, target_epsilon: float, **rest: Any) -> float:
        make_event(4.0)
        return 8 / target_epsilon

    monkeypatch.setattr(private_part, "smallest_noise", noise)


@pytest.fixture(scope="module")
def two() -> PrivatePlan:
    return plan(parts=2, smoothing=0.5, draws=100)


def test_every_part_meets_the_budget_and_little_is_left_over(two: PrivatePlan) -> None:
    for part in two.parts:
        accountant = ExactAccountant(RELATION).compose(part.event)
        assert EPSILON * 0.999 < accountant.get_epsilon(DELTA) <= EPSILON


def test_failures_cost_less_than_half_of_delta(two: PrivatePlan) -> None:
    for part in two.parts:
        drawn = 1 - (1 - 1 / part.dataset_size) ** part.draws
        cost = part.max_calls * drawn * part.failure_probability
        assert part.failure_delta == pytest.approx(cost, rel=1e-9)
        assert 0 < part.failure_delta < DELTA / 2


@pytest.mark.parametrize("lemma", ["powers", "orders"])
def test_failures_at_c_2_and_a_ball_of_a_64th(lemma: str) -> None:
    """Below half of delta by the theorem of the catalogue alone."""
    phases = schedule(
        draws=900, dimension=2, lipschitz=1.0, radius=1 / 64, smoothing=1.0, multiplier=1e-200,
        noise_multiplier=0.0, constants=WIDE,
    )  # fmt: skip
    zeta = failure.call_failure(
        [failure.Phase(each.draws, each.step, 1.0, 1.0, 1 / 64, 2.0) for each in phases],
        lemma=lemma,
    )
    drawn = 1 - (1 - 1 / 10**5) ** 900
    assert 1000 * drawn * zeta < 1e-6 / 2
    assert zeta < (1e-100 if lemma == "powers" else 1e-10)


def test_steps_that_fail_bound_are_the_longest_of_the_run(two: PrivatePlan) -> None:
    part = two.parts[0]
    for multiplier in (part.floor, 10 * part.floor):
        phases = schedule(
            draws=part.draws, dimension=2, lipschitz=1.0, radius=part.radius,
            smoothing=part.smoothing, multiplier=multiplier + part.risk.regularisation,
            noise_multiplier=part.noise_multiplier,
        )  # fmt: skip
        zeta = failure.call_failure(
            failure.Phase(each.draws, each.step, 1.0, part.smoothing, part.radius, 1.1)
            for each in phases
        )
        assert zeta <= part.failure_probability


def test_too_many_failures_are_refused_and_the_way_out_works(quick: None) -> None:
    loose = PrivateConstants(drift_factor=1.1, radius_over_smoothing=1 / 16)
    with pytest.raises(InfeasibleBudgetError, match="delta/2") as caught:
        plan(constants=loose, smoothing=0.5)
    factor = float(caught.value.nearest.split("drift_factor=")[1].split(",")[0])
    assert 1.5 < factor < 3
    found = plan(constants=replace(loose, drift_factor=factor), smoothing=0.5)
    assert found.parts[0].failure_delta < DELTA / 2


@pytest.mark.parametrize("delta", [1e-300, 1e-320])
def test_tiny_deltas_are_refused_with_a_way_out(delta: float, quick: None) -> None:
    with pytest.raises(InfeasibleBudgetError, match="delta/2") as caught:
        plan(target_delta=delta)
    assert "drift_factor=" in caught.value.nearest


def test_more_calls_and_less_budget_want_more_noise() -> None:
    rest = {"smoothing": 0.5, "draws": 200}
    sigma = plan(max_calls=20, **rest).parts[0].noise_multiplier
    assert plan(max_calls=80, **rest).parts[0].noise_multiplier > sigma
    assert plan(max_calls=20, target_epsilon=1.0, **rest).parts[0].noise_multiplier > sigma


def test_noise_searches_that_cannot_end_are_refused() -> None:
    def everything(_: float) -> Any:
        return dp_accounting.NonPrivateDpEvent()

    budget: dict[str, Any] = {"target_epsilon": 1.0, "target_delta": 1e-6, "relation": RELATION}
    with pytest.raises(InfeasibleBudgetError, match="noise"):
        smallest_noise(everything, **budget)
    # Where any noise will do, the smallest one that is tried.
    assert smallest_noise(lambda _: dp_accounting.NoOpDpEvent(), **budget) == pytest.approx(0.05)


@pytest.mark.parametrize("guess", [0.06, 4.0, 1e4])
def test_noise_search_lands_just_inside_the_budget(guess: float) -> None:
    def event(sigma: float) -> Any:
        return dp_accounting.GaussianDpEvent(sigma / 2)

    sigma = smallest_noise(
        event, target_epsilon=1.0, target_delta=1e-6, relation=RELATION, guess=guess
    )
    found = ExactAccountant(RELATION).compose(event(sigma)).get_epsilon(1e-6)
    assert 0.999 <= found <= 1.0


def test_noise_search_where_epsilon_jumps_takes_few_evaluations() -> None:
    """At a large delta epsilon falls to 0 at one noise: the search goes on in delta there."""
    asked: list[float] = []

    def event(sigma: float) -> Any:
        asked.append(sigma)
        return dp_accounting.GaussianDpEvent(sigma / 2)

    budget: dict[str, Any] = {"target_delta": 3e-3, "relation": RELATION}
    sigma = smallest_noise(event, target_epsilon=1e-9, guess=100.0, **budget)
    assert len(asked) <= 16
    assert ExactAccountant(RELATION).compose(event(sigma)).get_epsilon(3e-3) <= 1e-9
    # A Gaussian pair at distance 4/sigma (replacement moves a sum by two norms) has the distance
    # erf(4/sigma / (2 sqrt(2))) in total variation.
    assert sigma == pytest.approx(math.sqrt(2) / special.erfinv(3e-3), rel=2e-3)


def test_cap_on_calls_is_the_bound_times_the_searches(two: PrivatePlan) -> None:
    for part in two.parts:
        assert part.max_calls == math.ceil(part.accepted_bound)
    assert not any("cap" in note for note in two.notes)


def test_caps_can_be_given(quick: None) -> None:
    capped = plan(max_calls=5, smoothing=0.5, draws=64)
    assert capped.parts[0].max_calls == 5
    assert any("cap of 5 oracle calls" in note for note in capped.notes)


def test_weights_grow_as_fast_as_the_bound_on_steps_says() -> None:
    class Random:
        """An oracle that answers at random: the bound asks nothing of it."""

        radius, restricted = 0.02, True

        def __init__(self) -> None:
            self.rng = np.random.default_rng(4)

        def solve(self, center: np.ndarray[Any, Any], multiplier: float) -> np.ndarray[Any, Any]:
            step = self.rng.standard_normal(2)
            return center + step * self.rng.uniform(0, 0.02) / np.linalg.norm(step)

    run = accelerate(
        Random(), start=np.zeros(2), domain_radius=1.0, lipschitz=1.0, accuracy=0.05,
        band=(0.5, 0.93), calls_per_step=8, floor_first=False,
    )  # fmt: skip
    bound = weight_bound(largest=1 / (0.93 * 0.02), domain_radius=1.0, accuracy=0.05)
    assert run.stopped == "weight"
    assert run.accepted <= bound
    assert np.all(run.weights >= np.arange(1, run.accepted + 1) ** 2 * (0.93 * 0.02) / 4)
    assert bound == math.ceil(math.sqrt(2 / (0.93 * 0.02) / 0.05))


def test_draws_are_enough_for_the_theorem_on_subproblems(quick: None) -> None:
    part = plan(
        constants=PrivateConstants(draws_factor=1.0, full_noise=1e-6), target_epsilon=8.0
    ).parts[0]
    subproblem = theorem("resque.private.subproblem")
    multiplier = part.floor + part.risk.regularisation
    error = subproblem.evaluate(
        "error", regularisation=multiplier, target_epsilon=8.0, dimension=2,
        private_batch=part.draws,
    )  # fmt: skip
    allowed = subproblem.evaluate("bound", regularisation=multiplier, ball_radius=part.radius)
    assert error <= allowed
    fewer = subproblem.evaluate(
        "error", regularisation=multiplier, target_epsilon=8.0, dimension=2,
        private_batch=part.draws / 16,
    )  # fmt: skip
    assert fewer > allowed


def test_floor_is_the_one_of_the_theorem(two: PrivatePlan) -> None:
    for part in two.parts:
        risk, band = part.risk, PrivateConstants().band
        ratio = risk.domain_radius / (band[1] * part.radius)
        floor = risk.accuracy / risk.domain_radius**2 * ratio ** (4 / 3)
        assert part.floor == pytest.approx(floor, rel=1e-12)


def test_scaled_instances_say_so(two: PrivatePlan, quick: None) -> None:
    assert any("scaled instance" in note for note in two.notes)
    assert two.parts[0].smoothing == 0.5
    assert two.parts[1].smoothing == 0.25
    ordinary = plan()
    assert not any("scaled" in note for note in ordinary.notes)
    bias = ordinary.parts[0].smoothing * math.sqrt(2)
    assert bias == pytest.approx(0.5 * ordinary.parts[0].risk.accuracy)


def test_a_hopeless_plan_says_that_nothing_is_promised(quick: None) -> None:
    found = plan(target_epsilon=0.05, smoothing=0.5, draws=64)
    assert found.parts[0].resolution > 1
    assert any("promises nothing" in note for note in found.notes)
    small = plan(target_epsilon=0.05, accuracy=0.05, smoothing=0.5, draws=64)
    assert small.needed.dataset_size > 1000
    assert any("fewer than" in note for note in small.notes)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("accuracy", [0.01, 0.3])
def test_needed_size_is_the_smallest_that_the_rate_allows(epsilon: float, accuracy: float) -> None:
    found = needed_size(
        dimension=7, relative_accuracy=accuracy, target_epsilon=epsilon, target_delta=1e-5
    )
    private = math.sqrt(7 * math.log(1e5)) / (accuracy * epsilon)
    assert found.dataset_size == pytest.approx(max(accuracy**-2, private), abs=1)
    assert found.queries > 0


def test_parts_are_added_while_they_promise_something(quick: None) -> None:
    rest = {"smoothing": 0.5, "draws": 200, "target_epsilon": 8.0}
    found = plan(parts=None, **rest)
    assert len(found.parts) >= 2
    assert all(part.resolution <= 1 for part in found.parts)
    assert len(plan(parts=None, **{**rest, "target_epsilon": 0.05}).parts) == 1


def test_the_reference_has_the_same_plan_without_noise(two: PrivatePlan) -> None:
    silent = two.without_noise()
    assert not silent.private
    assert two.private
    assert [replace(part, noise_multiplier=0.0) for part in two.parts] == list(silent.parts)
    assert ExactAccountant(RELATION).compose(silent.parts[0].event).get_epsilon(DELTA) == math.inf
    assert any("without privacy" in note for note in silent.notes)


def test_plans_turn_into_json(two: PrivatePlan) -> None:
    import json

    found = json.loads(json.dumps(two.to_json()))
    assert found["relation"] == "REPLACE_ONE"
    assert found["needed"]["dataset_size"] == two.needed.dataset_size
    assert found["constants"]["drift_factor"]["source"]
    assert len(found["parts"]) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accuracy", -1.0),
        ("accuracy", 2.0),
        ("target_epsilon", math.inf),
        ("target_delta", 0.0),
        ("parts", 0),
        ("smoothing", 0.0),
        ("draws", 0),
        ("max_calls", 0),
    ],
)
def test_bad_plans_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        plan(**{"smoothing": 0.5, name: value})


def test_a_run_that_would_not_end_is_refused() -> None:
    with pytest.raises(InfeasibleBudgetError, match="oracle calls") as caught:
        plan(accuracy=1e-7)
    assert "smoothing" in caught.value.nearest
