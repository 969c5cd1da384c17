"""`run`: repeatable, continuable, interruptible, and its ledger is what was executed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from accountants.sampling import Poisson, WithoutReplacement
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import DivergedRun, InterruptedRun, RunResult, run
from dp2theory.optimizers.sgd import DpSgd, Sgd
from dp2theory.optimizers.steps import OptimizerState
from dp2theory.problems.convex import quadratic
from tests.optimizers.checks import SETTINGS, Counting, check_ledger, small_problem
from tests.problems.small import ratings

DP2 = Dp2RmsProp(**SETTINGS, delay=3)
TENTH = Poisson(0.1)


def _generator(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def test_equal_seeds_agree_bit_for_bit() -> None:
    first, again, other = (
        run(DP2, small_problem(), sampling=TENTH, steps=20, rng=seed, record_every=4)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.parameters, again.parameters)
    np.testing.assert_array_equal(first.losses, again.losses)
    assert not np.array_equal(first.parameters, other.parameters)
    assert (first.seed, first.bit_generator) == (1, "SFC64")
    from_generator = run(DP2, small_problem(), sampling=TENTH, steps=20, rng=_generator(1))
    np.testing.assert_array_equal(first.parameters, from_generator.parameters)
    assert from_generator.seed is None


def test_random_starts_come_from_the_seed() -> None:
    problem, dp_sgd = ratings(), DpSgd(0.1, 1.0, 1.0)
    starts = [
        run(dp_sgd, problem, sampling=TENTH, steps=0, rng=seed).parameters for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(starts[0], starts[1])
    assert not np.array_equal(starts[0], starts[2])
    np.testing.assert_array_equal(starts[0], problem.initial_parameters(_generator(1)))


@pytest.mark.parametrize("cut", [1, 3, 4, 11])
def test_a_continued_run_is_the_whole_run(cut: int) -> None:
    whole = run(DP2, small_problem(), sampling=TENTH, steps=20, rng=_generator())
    rng = _generator()
    first = run(DP2, small_problem(), sampling=TENTH, steps=cut, rng=rng)
    second = run(
        DP2, small_problem(), sampling=TENTH, steps=20 - cut, rng=rng,
        initial_parameters=first.parameters, initial_state=first.state, start_step=cut,
        record_every=100,
    )  # fmt: skip
    np.testing.assert_array_equal(second.parameters, whole.parameters)
    for name, array in whole.state.arrays.items():
        np.testing.assert_array_equal(second.state.arrays[name], array)
    assert first.ledger.count + second.ledger.count == whole.ledger.count
    assert list(second.loss_steps) == [cut, 20]


def test_without_a_state_phases_start_at_the_switch() -> None:
    start = np.linspace(-0.1, 0.1, 13)
    shifted, plain = (
        run(
            DP2, small_problem(), sampling=TENTH, steps=8, rng=0,
            initial_parameters=start, start_step=t,
        )
        for t in (5, 0)
    )  # fmt: skip
    np.testing.assert_array_equal(shifted.parameters, plain.parameters)
    assert shifted.state.step == 8
    assert shifted.start_step == 5


def test_nothing_given_is_written_to() -> None:
    start, problem = np.linspace(-0.1, 0.1, 13), small_problem()
    first = run(DP2, problem, sampling=TENTH, steps=7, rng=0, initial_parameters=start)
    kept = {name: array.copy() for name, array in first.state.arrays.items()}
    run(
        DP2, problem, sampling=TENTH, steps=9, rng=1,
        initial_parameters=first.parameters, initial_state=first.state,
    )  # fmt: skip
    np.testing.assert_array_equal(start, np.linspace(-0.1, 0.1, 13))
    for name, array in kept.items():
        np.testing.assert_array_equal(first.state.arrays[name], array)


def test_losses_are_recorded_where_asked() -> None:
    problem = small_problem()
    result = run(DP2, problem, sampling=TENTH, steps=10, rng=0, record_every=4)
    assert list(result.loss_steps) == [0, 4, 8, 10]
    assert result.losses[0] == problem.loss(np.zeros(13))
    assert result.losses[-1] == result.final_loss == problem.loss(result.parameters)
    assert run(DP2, problem, sampling=TENTH, steps=10, rng=0).losses.size == 0


def test_callbacks() -> None:
    seen: list[tuple[str, int]] = []
    result = run(
        DP2, small_problem(), sampling=TENTH, steps=3, rng=0, start_step=7,
        on_step=lambda t: seen.append(("step", t)),
        on_release=lambda t, g: seen.append(("release" if g.shape == (13,) else "?", t)),
    )  # fmt: skip
    assert seen == [(kind, t) for t in (7, 8, 9) for kind in ("release", "step")]
    assert result.completed


@pytest.mark.parametrize("steps", [0, 1, 17])
def test_ledger_counts_what_was_executed(steps: int) -> None:
    check_ledger(Dp2RmsProp, steps)


def test_ledger_of_fixed_size_batches() -> None:
    sampling = WithoutReplacement(80, 8)
    event = run(DP2, small_problem(), sampling=sampling, steps=4, rng=0).ledger
    assert event.count == 4
    assert (event.event.source_dataset_size, event.event.sample_size) == (80, 8)


@pytest.mark.parametrize("where", ["on_step", "on_release", "gradient"])
def test_an_interrupt_keeps_what_was_done(where: str) -> None:
    problem, calls = Counting(small_problem()), []

    def stop(*_: object) -> None:
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt

    arguments: dict[str, object] = {where: stop} if where != "gradient" else {}
    if where == "gradient":
        honest = problem.clipped_gradient_sum
        problem.clipped_gradient_sum = lambda *a, **k: (stop(), honest(*a, **k))[1]  # type: ignore[assignment]
    with pytest.raises(InterruptedRun) as caught:
        run(DP2, problem, sampling=TENTH, steps=20, rng=0, record_every=2, **arguments)  # type: ignore[arg-type]
    partial = caught.value.partial
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not partial.completed
    # A release that somebody saw counts; a batch whose sum never came out was not released.
    assert partial.ledger.count == partial.steps == (5 if where == "gradient" else 6)
    applied = 6 if where == "on_step" else 5
    assert partial.state.step == applied
    same = run(DP2, small_problem(), sampling=TENTH, steps=applied, rng=0)
    np.testing.assert_array_equal(partial.parameters, same.parameters)
    assert partial.losses.size == partial.loss_steps.size > 0
    assert partial.to_json()["completed"] is False


def test_divergence_is_said_and_keeps_the_ledger() -> None:
    with pytest.raises(DivergedRun, match="sgd on ratings diverged at step") as caught:
        run(Sgd(1e4), ratings(), sampling=Poisson(1.0), steps=200, rng=0)
    partial = caught.value.partial
    assert 1 < partial.steps < 200
    assert partial.ledger.count == partial.steps
    assert np.all(np.isfinite(partial.parameters))


def test_to_json_is_json() -> None:
    result = run(DP2, small_problem(), sampling=TENTH, steps=5, rng=3, record_every=2)
    back = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert back["optimizer"]["method"] == "dp2-rmsprop"
    assert back["optimizer"]["delay"] == 3
    assert "sgd_steps" not in back["optimizer"]
    assert back["sampling"] == {"scheme": "Poisson", "sampling_probability": 0.1}
    assert back["final_loss"] == result.final_loss
    assert (back["seed"], back["steps"], back["loss_steps"]) == (3, 5, [0, 2, 4, 5])
    infinite = RunResult(**{**vars(result), "final_loss": float("inf")}).to_json()
    assert infinite["final_loss"] == "inf"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": -1}, "steps=-1 must be an integer >= 0"),
        ({"steps": 2.0}, r"steps=2\.0 must be an integer"),
        ({"start_step": -1}, "start_step=-1 must be"),
        ({"record_every": 0}, "record_every=0 must be an integer >= 1"),
        ({"rng": -1}, "rng=-1 must be an integer >= 0"),
        ({"rng": None}, "rng=None must be an integer"),
        ({"initial_parameters": np.zeros(2)}, r"parameters has shape \(2,\), must be \(3,\)"),
        ({"initial_parameters": np.full(3, np.nan)}, "initial_parameters holds NaN"),
        ({"initial_state": OptimizerState()}, r"initial_state holds \[\], dp2-rmsprop needs"),
        ({"sampling": WithoutReplacement(5, 2)}, r"sampling\.dataset_size=5 must be"),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"sampling": TENTH, "steps": 3, "rng": 0}
    with pytest.raises(ValueError, match=message):
        run(DP2, quadratic(40, 3), **(good | change))  # type: ignore[arg-type]


def test_bad_state_arrays() -> None:
    state = DP2.initial_state(3)
    for bad in (np.zeros(2), np.array([0.0, np.nan, 0.0])):
        broken = OptimizerState(0, {**state.arrays, "second_moment": bad})
        with pytest.raises(ValueError, match=r"initial_state\['second_moment'\]"):
            run(DP2, quadratic(40, 3), sampling=TENTH, steps=1, rng=0, initial_state=broken)
