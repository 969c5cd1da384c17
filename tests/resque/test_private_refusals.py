"""What a private run refuses, because the epsilon of its ledger would be wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accountants.errors import InfeasibleBudgetError
from dp2theory.resque import private_part, private_plan
from dp2theory.resque.constants import WIDE, PrivateConstants
from dp2theory.resque.functions import Array, IndexArray
from dp2theory.resque.localization import PrivateBallOracle
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.private import run_private
from dp2theory.resque.private_erm import minimise_privately
from dp2theory.resque.private_plan import PrivatePlan, plan_private
from tests.resque.small import absolute_loss

BUDGET: dict[str, Any] = {"target_epsilon": 1.0, "target_delta": 1e-6}


def data(records: int = 40) -> AbsoluteLoss:
    return absolute_loss(records)


@pytest.fixture(autouse=True)
def _no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much noise there is does not matter here, and takes seconds to find."""
    monkeypatch.setattr(private_part, "smallest_noise", lambda *_, **__: 8.0)


@pytest.fixture
def plan() -> PrivatePlan:
    return plan_private(data(), accuracy=0.4, parts=1, draws=8, max_calls=4, **BUDGET)


def test_other_constants_than_the_plan(plan: PrivatePlan) -> None:
    """A smaller drift factor would put on less noise than the ledger says."""
    wide = plan_private(
        data(), accuracy=0.4, parts=1, draws=8, max_calls=4, constants=WIDE, **BUDGET
    )
    rng = np.random.default_rng(0)
    start = np.zeros(2)
    with pytest.raises(ValueError, match=r"constants=.* must be those of the plan"):
        minimise_privately(data(), wide.parts[0], start=start, rng=rng)
    with pytest.raises(ValueError, match="must be those of the plan"):
        run_private(data(), replace(plan, constants=PrivateConstants(drift_factor=1.01)), rng=0)
    minimise_privately(data(), wide.parts[0], start=start, rng=rng, constants=WIDE)


class Liar(AbsoluteLoss):
    """Subgradients twice as long as the bound, or none at all."""

    factor = 2.0

    def subgradients(self, points: Array, samples: IndexArray) -> Array:
        return self.factor * super().subgradients(points, samples)


class Nowhere(Liar):
    factor = np.nan


@pytest.mark.parametrize("kind", [Liar, Nowhere])
def test_subgradients_longer_than_the_bound(plan: PrivatePlan, kind: type[Liar]) -> None:
    honest = data()
    liar = kind(honest.features, honest.targets, lipschitz=1.0)
    with pytest.raises(ValueError, match=r"function\.lipschitz=1\.0 must bound every subgradient"):
        run_private(liar, plan, rng=0)
    oracle = PrivateBallOracle(liar, 0.01, 1.28, 8, 6.0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="must bound every subgradient"):
        oracle.solve(np.zeros(2), 1.0)


class Forgetful(AbsoluteLoss):
    """A part of it reads its own bound from the part's records."""

    def part(self, records: IndexArray) -> Forgetful:
        return Forgetful(0.5 * self.features[records], self.targets[records])


def test_parts_with_a_bound_of_their_own(plan: PrivatePlan) -> None:
    honest = data()
    function = Forgetful(honest.features, honest.targets, lipschitz=1.0)
    with pytest.raises(ValueError, match=r"function\.part: has lipschitz="):
        run_private(function, plan, rng=0)


def test_another_bound_than_the_plan(plan: PrivatePlan) -> None:
    with pytest.raises(ValueError, match=r"function\.lipschitz=2\.0 must be what was planned for"):
        run_private(replace(data(), lipschitz=2.0), plan, rng=0)


@pytest.mark.parametrize("seed", ["x", -1, 1.5, None, True])
def test_seeds_are_whole_numbers(plan: PrivatePlan, seed: Any) -> None:
    with pytest.raises(ValueError, match="rng="):
        run_private(data(), plan, rng=seed)


def test_a_bound_from_the_data_is_said_in_the_plan() -> None:
    honest = data()
    read = AbsoluteLoss(honest.features, honest.targets)
    given = AbsoluteLoss(honest.features, honest.targets, lipschitz=1.0)
    small: dict[str, Any] = {"accuracy": 0.4, "parts": 1, "draws": 8, "max_calls": 4}
    for function, said in ((read, True), (given, False)):
        notes = plan_private(function, **small, **BUDGET).notes
        assert any("read from the data" in each for each in notes) is said
    assert not replace(given).lipschitz_from_data  # type: ignore[attr-defined]


def test_a_later_part_that_is_infeasible_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = private_part.plan_part

    def refusing(function: Any, risk: Any, **options: Any) -> Any:
        if risk.index > 1:
            raise InfeasibleBudgetError("no such part")
        return honest(function, risk, **options)

    monkeypatch.setattr(private_plan, "plan_part", refusing)
    found = plan_private(data(), accuracy=0.4, draws=8, max_calls=4, **BUDGET)
    assert len(found.parts) == 1


@pytest.mark.parametrize("name", ["step_shrink", "part_shrink", "part_step_shrink", "drift_factor",
                                  "accuracy_share", "accuracy_shrink", "radius_margin",
                                  "mean_calls_per_step", "draws_factor"])  # fmt: skip
def test_constants_beyond_all_measure_are_named(name: str) -> None:
    changes: dict[str, Any] = {name: 1e300}
    with pytest.raises(ValueError, match=f"{name}=1e\\+300"):
        PrivateConstants(**changes)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"accuracy": 1e-300}, InfeasibleBudgetError, r"1e\+18 oracle calls are more than"),
        ({"smoothing": 1e-200}, InfeasibleBudgetError, r"1e\+18 oracle calls are more than"),
        ({"accuracy": 2.0}, ValueError, "accuracy=2.0"),
        ({"parts": 100}, ValueError, "parts=100"),
        ({"draws": 0}, ValueError, "draws=0"),
        ({"max_calls": 0}, ValueError, "max_calls=0"),
    ],
)
def test_sizes_beyond_all_measure(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        plan_private(data(), **{**BUDGET, "accuracy": 0.4, "draws": 8, **changes})


def test_smoothing_beyond_all_measure_is_planned() -> None:
    """A linear problem: one step, no drift."""
    found = plan_private(data(), accuracy=0.4, smoothing=1e200, parts=1, draws=8, **BUDGET)
    assert found.parts[0].failure_probability < 1e-80
