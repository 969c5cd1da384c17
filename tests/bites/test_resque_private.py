"""Private pipelines that are wrong on purpose: each is caught by a check that the right one passes.

Broken variants stand beside the check that must fail on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accountants.exact.accountant import ExactAccountant
from dp2theory.resque import localization, private, private_erm
from dp2theory.resque.ball_acceleration import accelerate
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.counters import Counter, RoundError
from dp2theory.resque.estimator import QueryPool
from dp2theory.resque.functions import Array
from dp2theory.resque.localization import Localised, PrivateBallOracle, Release, localise
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.needed_size import NeededSize
from dp2theory.resque.phases import schedule
from dp2theory.resque.private_erm import minimise_privately
from dp2theory.resque.private_part import RELATION, PartPlan
from dp2theory.resque.private_plan import PrivatePlan
from dp2theory.resque.reduction import RiskPart
from tests.resque.small import absolute_loss
from tests.resque.spies import DataReadError, Spy


def data(records: int = 200) -> AbsoluteLoss:
    return absolute_loss(records)


def part(**changes: Any) -> PartPlan:
    """A plan by hand: nothing here depends on a calibration."""
    risk = RiskPart(1, 200, 0.05, 0.2, 1.0, 0.2)
    plan = PartPlan(risk, 1.2, 0.5, 0.5 / 160, 40.0, 30, 30, 60, 1e-12, 8.0, math.nan, math.nan)
    return replace(plan, **changes)


def run(function: Any, **changes: Any) -> private_erm.PartRun:
    return minimise_privately(
        function, part(), start=np.zeros(2), rng=np.random.default_rng(0), **changes
    )


# ----------------------------------------------------------------------------------- reads the data


def test_an_acceptance_test_that_peeks_at_f_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    run(Spy(data()))

    def peeking(oracle: Any, **options: Any) -> Any:
        return accelerate(oracle, stop=lambda x: oracle.function.value(x) < 0.1, **options)

    monkeypatch.setattr(private_erm, "accelerate", peeking)
    with pytest.raises(DataReadError, match="value"):
        run(Spy(data()))


def test_a_search_that_asks_for_gradients_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The multiplier of a step without bisection needs a gradient at the answer."""

    class Peeking(PrivateBallOracle):
        def solve(self, center: Array, multiplier: float) -> Array:
            answer = super().solve(center, multiplier)
            self.function.subgradients(answer[None, :], np.array([0]))
            return answer

    for kind, honest in ((PrivateBallOracle, True), (Peeking, False)):
        monkeypatch.setattr(private_erm, "PrivateBallOracle", kind)
        spy, counter = Spy(data()), Counter()
        run(spy, counter=counter)
        assert (sum(spy.queries) == counter.queries) is honest


def test_a_second_parallel_round_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Twice(QueryPool):
        @classmethod
        def draw(cls, *args: Any, **options: Any) -> Any:
            super().draw(*args, **options)
            return super().draw(*args, **options)

    monkeypatch.setattr(localization, "QueryPool", Twice)
    with pytest.raises(RoundError, match="second"):
        run(data())


# ---------------------------------------------------------------------------------------- the count


def test_a_call_that_is_not_counted_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejected tries made with an oracle whose counter looks away."""

    class Forgetful(PrivateBallOracle):
        tries = 0

        def solve(self, center: Array, multiplier: float) -> Array:
            Forgetful.tries += 1
            if Forgetful.tries % 5:
                return super().solve(center, multiplier)
            honest, self.counter = self.counter, Counter()
            try:
                return super().solve(center, multiplier)
            finally:
                self.counter = honest

    run(data())
    monkeypatch.setattr(private_erm, "PrivateBallOracle", Forgetful)
    with pytest.raises(RuntimeError, match="missing in the ledger"):
        run(data())


def test_accepted_steps_in_place_of_calls_claim_too_little() -> None:
    """What the ledger would say if searches were free."""
    narrow = PrivateConstants(band=(0.45, 0.5), calls_per_step=6)
    found = run(data(), constants=narrow)
    spent, claimed = (
        ExactAccountant(RELATION).compose(part().event_of(n)).get_epsilon(1e-6)
        for n in (found.calls, found.acceleration.accepted)
    )
    assert claimed < spent * 0.95


def test_draws_of_one_restart_for_those_of_all_claim_too_little() -> None:
    right, wrong = (
        ExactAccountant(RELATION).compose(part(draws=n).event).get_epsilon(1e-6) for n in (60, 30)
    )
    assert wrong < right * 0.8


# ---------------------------------------------------------------------------------------- the noise


def spread(solve: Callable[[PrivateBallOracle], None]) -> float:
    """Std of all noise of many releases over what the plan says."""
    seen: list[Release] = []
    oracle = PrivateBallOracle(
        data(), 0.01, 1.28, 40, 6.0, np.random.default_rng(2), observe=seen.append
    )
    for _ in range(250):
        solve(oracle)
    wanted = {
        phase.name: 6.0 * oracle.constants.drift_factor * phase.step
        for phase in oracle.phases(50.0)
    }
    noise = [(each.released - each.clean) / wanted[each.name] for each in seen]
    return float(np.concatenate(noise).std())


def ordinary(oracle: PrivateBallOracle) -> None:
    oracle.solve(np.zeros(2), 50.0)


def changed(change: Callable[[Any], Any]) -> Callable[[PrivateBallOracle], None]:
    """A call whose schedule was tampered with."""

    def solve(oracle: PrivateBallOracle) -> None:
        phases = [change(phase) for phase in oracle.phases(50.0)]
        oracle.phases = lambda multiplier: tuple(phases)  # type: ignore[method-assign]
        try:
            oracle.solve(np.zeros(2), 50.0)
        finally:
            del oracle.phases

    return solve


@pytest.mark.parametrize(
    ("solve", "honest"),
    [
        (ordinary, True),
        (changed(lambda phase: phase), True),
        (changed(lambda phase: replace(phase, noise_std=phase.noise_std / 2)), False),
        (changed(lambda phase: replace(phase, noise_std=phase.noise_std * 0.95)), False),
        (changed(lambda phase: replace(phase, noise_std=phase.noise_std / 1.1)), False),
    ],
    ids=["ordinary", "unchanged", "halved", "five-percent", "without-drift-factor"],
)
def test_noise_that_is_not_as_planned_is_caught(
    solve: Callable[[PrivateBallOracle], None], honest: bool
) -> None:
    assert (abs(spread(solve) - 1) < 0.03) is honest


def test_longer_steps_with_the_same_noise_move_more_than_it_covers() -> None:
    """The step size enters the sensitivity: three times as long, and one copy is not covered."""
    function = AbsoluteLoss(np.array([[1.0], [1.0]]), np.array([-20.0, -20.0]), lipschitz=1.0)
    other = replace(function, targets=np.array([20.0, -20.0]))
    constants = PrivateConstants(phases=1)
    phases = schedule(
        draws=20, dimension=1, lipschitz=1.0, radius=0.01, smoothing=1.28, multiplier=1.0,
        noise_multiplier=10.0, constants=constants,
    )  # fmt: skip
    samples = np.array([0] + [1] * 19)

    def moved(factor: float) -> float:
        longer = [replace(phase, step=phase.step * factor) for phase in phases]
        means = []
        for each in (function, other):
            pool = QueryPool.draw(
                each, np.zeros(1), smoothing=1.28, size=20, rng=np.random.default_rng(0),
                samples=samples,
            )  # fmt: skip
            rng = np.random.default_rng(1)
            found = localise(pool, longer, radius=0.01, multiplier=1.0, rng=rng)
            means.append(found.releases[0].clean)
        return abs(float((means[0] - means[1])[0]))

    covered = 2 * phases[0].noise_std / phases[0].noise_multiplier
    assert moved(1.0) <= covered
    assert moved(3.0) > covered


# ------------------------------------------------------------------------------------ the estimator


def test_weights_without_their_normaliser_are_caught() -> None:
    """exp(<u, xi>/rho^2) alone has mean exp(|u|^2/(2 rho^2)): the gradient is overrated."""
    rng = np.random.default_rng(0)
    function = AbsoluteLoss(np.array([[1.0, 0.0]]), np.array([-30.0]), lipschitz=1.0)
    pool = QueryPool.draw(function, np.zeros(2), smoothing=1.0, size=40_000, rng=rng)
    u = np.array([0.6, -0.5])
    right = pool.mean(u)[0]
    wrong = float(np.exp(pool.offsets @ u).mean())
    assert right == pytest.approx(1.0, abs=0.03)
    assert wrong > 1.25


def test_the_steps_use_the_normalised_weights() -> None:
    """The same slip inside of the solver moves its answer: the textbook loop finds it."""
    rng = np.random.default_rng(0)
    pool = QueryPool.draw(data(), np.zeros(2), smoothing=0.02, size=60, rng=rng)
    phases = schedule(
        draws=60, dimension=2, lipschitz=1.0, radius=0.02, smoothing=0.02, multiplier=5.0,
        noise_multiplier=0.0,
    )  # fmt: skip

    def textbook(normalised: bool) -> Array:
        u = np.zeros(2)
        for phase in phases:
            total = np.zeros(2)
            for t in range(phase.start, phase.start + phase.draws):
                weight = float(pool.weights(u, slice(t, t + 1))[0])
                if not normalised:
                    weight *= math.exp(float(u @ u) / (2 * 0.02**2))
                u = (u - phase.step * weight * pool.gradients[t]) / (1 + phase.step * 5.0)
                u = u * min(1.0, 0.02 / max(float(np.linalg.norm(u)), 1e-300))
                total += u
            u = total / phase.draws
        return u

    found: Localised = localise(pool, phases, radius=0.02, multiplier=5.0, rng=rng)
    np.testing.assert_allclose(found.point, textbook(True), atol=1e-13)
    assert np.linalg.norm(found.point - textbook(False)) > 1e-4


# ------------------------------------------------------------------------------------ the reduction


def overlapping(
    size: int, sizes: tuple[int, ...], rng: np.random.Generator
) -> tuple[np.ndarray[Any, Any], ...]:
    """Every part from the beginning of one order."""
    order = rng.permutation(size)
    return tuple(order[:each] for each in sizes)


@pytest.mark.parametrize("honest", [True, False])
def test_parts_that_share_records_are_caught(honest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would compose, where the ledger takes the dearest part alone."""
    first, second = (
        part(risk=replace(part().risk, index=index, dataset_size=size), max_calls=3)
        for index, size in ((1, 150), (2, 50))
    )
    plan = PrivatePlan((first, second), PrivateConstants(), 0.4, 1.0, 1e-6, NeededSize(1, 1.0), ())
    if not honest:
        monkeypatch.setattr(private, "split_records", overlapping)
    spy = Spy(data())
    private.run_private(spy, plan, rng=0)
    shared = set(spy.parts[0].tolist()) & set(spy.parts[1].tolist())
    assert (not shared) is honest
