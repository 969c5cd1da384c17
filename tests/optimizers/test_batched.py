"""Runs in lockstep are single runs, to the last bit."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from accountants.sampling import Poisson, Sampling, WithoutReplacement, WithReplacement
from dp2theory.optimizers import batched
from dp2theory.optimizers.batched import LockstepError, grid_losses, run_batched
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.modifiers import Momentum
from dp2theory.optimizers.protocol import DivergedRun, run
from dp2theory.optimizers.registry import METHODS, needs_public_data
from dp2theory.optimizers.results import RunResult
from dp2theory.optimizers.sgd import DpSgd, Sgd
from dp2theory.optimizers.steps import Optimizer
from dp2theory.planning.methods import Settings, make_optimizer
from dp2theory.problems.protocol import Problem
from dp2theory.problems.public import split_public
from dp2theory.problems.synthetic import het
from tests.problems.small import PROBLEMS

SEEDS = (3, 0, 2**32)
STEPS = 7


def alone(
    optimizer: Optimizer, problem: Problem, seed: int, sampling: Sampling, **more: Any
) -> RunResult:
    return run(optimizer, problem, sampling=sampling, steps=STEPS, rng=seed, **more)


def assert_equal(found: RunResult, expected: RunResult) -> None:
    assert found.parameters.tobytes() == expected.parameters.tobytes()
    assert found.state.step == expected.state.step
    assert dict(found.state.numbers) == dict(expected.state.numbers)
    assert set(found.state.arrays) == set(expected.state.arrays)
    for name, array in expected.state.arrays.items():
        assert np.array_equal(found.state.arrays[name], array, equal_nan=True), name
    assert found.final_loss == expected.final_loss
    assert repr(found.ledger) == repr(expected.ledger)
    for name in ("optimizer", "sampling", "steps", "seed", "bit_generator", "completed"):
        assert getattr(found, name) == getattr(expected, name), name


def dp2(rate: float, clip_norm: float = 0.7, delay: int = 2) -> Dp2RmsProp:
    return Dp2RmsProp(rate, clip_norm, 0.02, 3.0, 0.8, delay=delay, ema=0.6, damping=0.01)


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method(method: str) -> None:
    whole = het(80, 12, 0.1, 4, 1)
    problem, public = split_public(whole, 0.25) if needs_public_data(method) else (whole, None)
    sampling = Poisson(0.2)
    size = 0.2 * problem.dataset_size
    grid = [
        make_optimizer(
            method,
            Settings(learning_rate=rate),
            noise_multiplier=0.9,
            steps=STEPS,
            public=public,
            expected_batch_size=size,
        )
        for rate in (0.5, 0.05, 1.5)
    ]
    found = run_batched(grid, problem, sampling=sampling, steps=STEPS, seeds=SEEDS)
    for row, optimizer in zip(found, grid, strict=True):
        for one, seed in zip(row, SEEDS, strict=True):
            assert_equal(one, alone(optimizer, problem, seed, sampling))


@pytest.mark.parametrize("name", list(PROBLEMS))
@pytest.mark.parametrize("stacked", [True, False])
def test_every_problem(name: str, stacked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS[name]()
    if not stacked:
        monkeypatch.setattr(batched, "MOST_COORDINATES", 1)
    sampling = Poisson(0.3)
    grid: list[Optimizer] = [dp2(0.3), dp2(0.1, 0.2), Momentum(dp2(1.0), 0.5)]
    found = run_batched(grid, problem, sampling=sampling, steps=STEPS, seeds=SEEDS)
    for row, optimizer in zip(found, grid, strict=True):
        for one, seed in zip(row, SEEDS, strict=True):
            assert_equal(one, alone(optimizer, problem, seed, sampling))


@pytest.mark.parametrize(
    "sampling", [Poisson(0.01), WithoutReplacement(80, 9), WithReplacement(80, 9)]
)
def test_every_sampling_given_starts_and_divisors(sampling: Sampling) -> None:
    # Poisson batches of 0.8 records are often empty.
    problem = het(80, 12, 0.1, 4, 1)
    starts = {seed: np.linspace(-1, 1, 13) * (seed + 1) % 3 for seed in SEEDS}
    grid = [dp2(0.3), dp2(0.1)]
    found = run_batched(
        grid,
        problem,
        sampling=sampling,
        steps=STEPS,
        seeds=SEEDS,
        initial_parameters=starts,
        expected_batch_size=5.0,
    )
    for row, optimizer in zip(found, grid, strict=True):
        for one, seed in zip(row, SEEDS, strict=True):
            more = {"initial_parameters": starts[seed], "expected_batch_size": 5.0}
            assert_equal(one, alone(optimizer, problem, seed, sampling, **more))


def test_phases_of_different_lengths_are_in_lockstep_too() -> None:
    problem = het(80, 12, 0.1, 4, 1)
    grid = [dp2(0.3, delay=1), dp2(0.3, delay=3), dp2(0.3, delay=2), dp2(0.3, delay=1)]
    found = run_batched(grid, problem, sampling=Poisson(0.2), steps=STEPS, seeds=SEEDS)
    for row, optimizer in zip(found, grid, strict=True):
        for one, seed in zip(row, SEEDS, strict=True):
            assert_equal(one, alone(optimizer, problem, seed, Poisson(0.2)))


def test_one_run_that_diverges_does_not_touch_the_others() -> None:
    problem = PROBLEMS["ratings"]()
    grid = [Sgd(0.01), Sgd(1e200), Sgd(0.02)]
    found = run_batched(grid, problem, sampling=Poisson(0.5), steps=STEPS, seeds=SEEDS)
    for row, optimizer in zip(found, grid, strict=True):
        for one, seed in zip(row, SEEDS, strict=True):
            if optimizer.learning_rate > 1:
                with pytest.raises(DivergedRun) as caught:
                    alone(optimizer, problem, seed, Poisson(0.5))
                partial = caught.value.partial
                assert not one.completed
                assert (one.steps, repr(one.ledger)) == (partial.steps, repr(partial.ledger))
                assert one.parameters.tobytes() == partial.parameters.tobytes()
            else:
                assert_equal(one, alone(optimizer, problem, seed, Poisson(0.5)))
    losses = grid_losses(grid, problem, sampling=Poisson(0.5), steps=STEPS, seeds=SEEDS)
    assert losses[1] == [np.inf] * 3
    assert losses[2] == [one.final_loss for one in found[2]]


def test_losses_of_a_grid_do_not_depend_on_the_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = het(80, 12, 0.1, 4, 1)
    grid = [dp2(0.1 * k) for k in range(1, 8)]
    settings = {"sampling": Poisson(0.2), "steps": STEPS, "seeds": SEEDS}
    calls: list[tuple[int, int]] = []
    here = grid_losses(grid, problem, **settings, progress=lambda *c: calls.append(c))
    assert calls[-1] == (21, 21)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    with ThreadPoolExecutor(3) as executor:
        assert grid_losses(grid, problem, **settings, executor=executor) == here
    monkeypatch.setattr(batched, "CONFIGURATIONS_PER_TASK", 2)
    assert grid_losses(grid, problem, **settings) == here
    expected = [
        [alone(one, problem, seed, Poisson(0.2)).final_loss for seed in SEEDS] for one in grid
    ]
    assert here == expected


def test_what_differs_in_kind_is_refused_and_run_one_by_one() -> None:
    problem = het(80, 12, 0.1, 4, 1)
    mixed: list[Optimizer] = [DpSgd(0.1, 1.0, 1.0), Sgd(0.1)]
    settings = {"sampling": Poisson(0.2), "steps": STEPS, "seeds": SEEDS}
    with pytest.raises(LockstepError, match="different kinds"):
        run_batched(mixed, problem, **settings)
    losses = grid_losses(mixed, problem, **settings)
    assert losses[1][0] == alone(mixed[1], problem, SEEDS[0], Poisson(0.2)).final_loss
    unclipped: list[Optimizer] = [DpSgd(0.1, 1.0, 1.0), _Unclipped(0.1, 1.0, 1e-300)]
    with pytest.raises(LockstepError, match="clip norm"):
        run_batched(unclipped, problem, **settings)


@dataclasses.dataclass(frozen=True)
class _Unclipped(DpSgd):
    def query(self, state: Any) -> Any:
        return dataclasses.replace(super().query(state), clip_norm=float("inf"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seeds": ()}, "seeds="),
        ({"seeds": (1, 1)}, "distinct"),
        ({"seeds": (-1,)}, "seeds=-1"),
        ({"steps": -1}, "steps=-1"),
        ({"expected_batch_size": 0.0}, "expected_batch_size"),
        ({"initial_parameters": {}}, "no entry for seed 0"),
        ({"initial_parameters": np.zeros(3)}, "parameters has shape"),
        ({"sampling": WithoutReplacement(81, 3)}, "dataset_size"),
    ],
)
def test_bad_values_are_refused(change: dict[str, Any], words: str) -> None:
    settings = {"sampling": Poisson(0.2), "steps": 2, "seeds": (0,)} | change
    with pytest.raises(ValueError, match=words):
        run_batched([dp2(0.1)], het(80, 12, 0.1, 4, 1), **settings)


def test_no_optimizer_and_no_step() -> None:
    problem = het(80, 12, 0.1, 4, 1)
    assert run_batched([], problem, sampling=Poisson(0.2), steps=3, seeds=(0,)) == []
    ((one,),) = run_batched([dp2(0.1)], problem, sampling=Poisson(0.2), steps=0, seeds=(0,))
    assert one.steps == 0
    assert one.completed
