"""Momentum and learning-rate decay around other optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountants.sampling import Poisson
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.ledger import planned_event
from dp2theory.optimizers.modifiers import SCHEDULES, LearningRateDecay, Momentum
from dp2theory.optimizers.protocol import RunResult, run
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.steps import Optimizer
from dp2theory.optimizers.variants import Dp2RmsPropExtraNoise
from dp2theory.problems.protocol import Array
from tests.optimizers import adaptive_cases as cases
from tests.optimizers.checks import SETTINGS, check_state_comes_from_releases, small_problem
from tests.optimizers.literal_adaptive import Releases

STEPS = 13
INNER: list[Optimizer] = [
    DpSgd(0.7, 0.4, 0.8),
    Dp2RmsProp(**SETTINGS, delay=3),
    Dp2RmsPropExtraNoise(**cases.EXTRA_NOISE),
]


def go(optimizer: Optimizer, **options: Any) -> RunResult:
    return run(optimizer, small_problem(), sampling=Poisson(cases.Q), steps=STEPS, rng=5, **options)


def literal_sgd(momentum: float, factors: list[float]) -> Array:
    """DP-SGD with momentum and a learning rate per step, each record clipped by hand."""
    releases = Releases(small_problem(), cases.Q, 5)
    w, velocity = np.zeros(13), np.zeros(13)
    for factor in factors:
        g = releases.mean(w, releases.batch(), 0.4, 0.8)
        velocity = momentum * velocity - factor * 0.7 * g
        w = w + velocity
    return w


def test_momentum_around_dp_sgd_is_dp_sgd_with_momentum() -> None:
    expected = literal_sgd(0.9, [1.0] * STEPS)
    np.testing.assert_allclose(go(Momentum(INNER[0], 0.9)).parameters, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("schedule", "factor"),
    [
        ("linear", lambda t: (STEPS - t) / STEPS),
        ("cosine", lambda t: np.cos(np.pi * t / STEPS / 2) ** 2),
        ("inverse-sqrt", lambda t: (t + 1) ** -0.5),
    ],
)
def test_decay_scales_the_learning_rate(schedule: Any, factor: Any) -> None:
    expected = literal_sgd(0.0, [factor(t) for t in range(STEPS)])
    result = go(LearningRateDecay(INNER[0], schedule, STEPS))
    np.testing.assert_allclose(result.parameters, expected, rtol=1e-9)


def test_both_nest_in_either_order() -> None:
    factors = [(STEPS - t) / STEPS for t in range(STEPS)]
    inside = go(Momentum(LearningRateDecay(INNER[0], "linear", STEPS), 0.8))
    np.testing.assert_allclose(inside.parameters, literal_sgd(0.8, factors), rtol=1e-9)
    outside = go(LearningRateDecay(Momentum(INNER[0], 0.8), "linear", STEPS))
    assert not np.allclose(outside.parameters, inside.parameters)


@pytest.mark.parametrize("inner", INNER, ids=lambda o: o.name)
def test_no_momentum_and_no_decay_change_nothing(inner: Optimizer) -> None:
    plain = go(inner)
    still = go(Momentum(inner, 0.0))
    np.testing.assert_array_equal(still.parameters, plain.parameters)
    first = run(
        LearningRateDecay(inner, "linear", 1), small_problem(), sampling=Poisson(cases.Q),
        steps=1, rng=5,
    )  # fmt: skip
    one = run(inner, small_problem(), sampling=Poisson(cases.Q), steps=1, rng=5)
    np.testing.assert_array_equal(first.parameters, one.parameters)


@pytest.mark.parametrize("inner", INNER, ids=lambda o: o.name)
def test_momentum_moves_by_the_displacements_of_whole_steps(inner: Optimizer) -> None:
    """Forced releases; the velocity takes in each step's displacement once."""
    wrapped = Momentum(inner, 0.5)
    rng = np.random.default_rng(0)
    w = plain_w = np.zeros(4)
    state, plain_state = wrapped.initial_state(4), inner.initial_state(4)
    velocity, start = np.zeros(4), w
    for _ in range(20):
        released = rng.standard_normal(4)
        step = state.step
        moved, new_plain = inner.apply(plain_w, plain_state, released)
        w, state = wrapped.apply(w, state, released)
        if new_plain.step > step:
            # These optimizers step by the release alone, wherever they are.
            velocity = 0.5 * velocity + (moved - plain_w)
            np.testing.assert_allclose(w, start + velocity, rtol=1e-12, atol=1e-15)
            start = w
        plain_w, plain_state = moved, new_plain


@pytest.mark.parametrize("inner", INNER, ids=lambda o: o.name)
@pytest.mark.parametrize("wrap", ["momentum", *SCHEDULES])
def test_ledger_and_noise_are_the_wrapped_optimizers(inner: Optimizer, wrap: Any) -> None:
    wrapped: Any = Momentum(inner) if wrap == "momentum" else LearningRateDecay(inner, wrap, STEPS)
    result = go(wrapped)
    assert result.ledger == go(inner).ledger == planned_event(wrapped, Poisson(0.1), 80, STEPS)
    assert wrapped.noise_multiplier == inner.noise_multiplier
    assert wrapped.name.startswith(inner.name + "+")
    assert result.to_json()["optimizer"]["method"] == wrapped.name
    check_state_comes_from_releases(lambda _: wrapped)


@pytest.mark.parametrize("inner", INNER, ids=lambda o: o.name)
def test_a_wrapped_run_continues_from_its_state(inner: Optimizer) -> None:
    wrapped = LearningRateDecay(Momentum(inner, 0.5), "cosine", STEPS)
    rng = np.random.Generator(np.random.SFC64(5))
    first = run(wrapped, small_problem(), sampling=Poisson(cases.Q), steps=6, rng=rng)
    second = run(
        wrapped, small_problem(), sampling=Poisson(cases.Q), steps=STEPS - 6, rng=rng,
        initial_parameters=first.parameters, initial_state=first.state,
    )  # fmt: skip
    np.testing.assert_array_equal(second.parameters, go(wrapped).parameters)


@given(st.sampled_from(SCHEDULES), st.integers(1, 10_000), st.integers(0, 20_000))
def test_factors_fall_and_stay_positive(schedule: Any, steps: int, step: int) -> None:
    decay = LearningRateDecay(INNER[0], schedule, steps)
    assert 0 < decay.factor(step + 1) <= decay.factor(step) <= decay.factor(0) == 1


def test_dimension_and_batch_size_show_through_only_where_they_exist() -> None:
    wrapped = Momentum(INNER[0])
    assert not hasattr(wrapped, "dimension")
    assert not hasattr(wrapped, "expected_batch_size")
    debiased = next(o for o in cases.private_optimizers() if hasattr(o, "expected_batch_size"))
    assert Momentum(debiased).expected_batch_size == cases.B


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Momentum(INNER[0], 1.0), r"momentum=1\.0 must be in \[0, 1\)"),
        (lambda: Momentum(INNER[0], float("nan")), "momentum=nan must be"),
        (lambda: Momentum(LearningRateDecay(Momentum(INNER[0]), "linear", 3)), "momentum already"),
        (lambda: Momentum("dp-sgd"), "optimizer='dp-sgd' must be an optimizer"),  # type: ignore[arg-type]
        (lambda: LearningRateDecay(INNER[0], "step", 3), "schedule='step' must be one of linear"),  # type: ignore[arg-type]
        (lambda: LearningRateDecay(INNER[0], "linear", 0), "steps=0 must be an integer >= 1"),
    ],
)
def test_bad_settings(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
