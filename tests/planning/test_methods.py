"""Optimizers by name: documented defaults, and no setting that is silently ignored."""

import pytest

from dp2theory.optimizers.registry import needs_public_data
from dp2theory.planning.budget import Budget
from dp2theory.planning.methods import (
    METHODS,
    Settings,
    calibrate_method,
    is_private,
    make_optimizer,
    planned_event_of,
)

BUDGET = Budget(2000, 100, 80, 3.0, 1e-5)


def make(method, **settings):
    return make_optimizer(
        method,
        Settings.from_mapping(settings),
        noise_multiplier=1.5,
        steps=400,
        expected_batch_size=50.0,
    )


def test_defaults_of_dp_sgd_and_dp2_belong_together():
    sgd, dp2 = make("dp-sgd", clip_norm=0.5), make("dp2-rmsprop", clip_norm=0.5)
    assert sgd.learning_rate * sgd.clip_norm == 1.0
    assert dp2.learning_rate == pytest.approx(sgd.learning_rate / 3)
    assert dp2.adaptive_learning_rate * dp2.preconditioned_clip_norm == pytest.approx(3.0)
    assert (dp2.delay, dp2.ema, dp2.damping) == (10, 0.9, 1e-7)
    assert sgd.noise_multiplier == dp2.noise_multiplier == 1.5


def test_adaptive_step_follows_the_sgd_rate_and_the_clip_norm():
    dp2 = make("dp2-rmsprop", learning_rate=2.0, clip_norm=0.5, preconditioned_clip_norm=100.0)
    assert dp2.adaptive_learning_rate * 100.0 == pytest.approx(3 * (3 * 2.0 * 0.5))


def test_given_settings_win():
    dp2 = make("dp2-rmsprop", sgd_steps=3, adaptive_steps=5, ema=0.5, damping=1e-3,
               adaptive_learning_rate=0.2)  # fmt: skip
    assert (dp2.delay, dp2.phases.sgd_steps, dp2.phases.adaptive_steps) == (None, 3, 5)
    assert (dp2.ema, dp2.damping, dp2.adaptive_learning_rate) == (0.5, 1e-3, 0.2)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_defaults(method):
    if needs_public_data(method):
        with pytest.raises(ValueError, match=f"public=None: {method} uses side information"):
            make(method)
        return
    optimizer = make(method)
    assert optimizer.name == method
    assert (optimizer.noise_multiplier == 1.5) == is_private(method)


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("dp-sgd", {"delay": 3}, "delay=3: dp-sgd has no such setting"),
        ("sgd", {"clip_norm": 1.0}, "clip_norm=1.0: sgd has no such setting"),
        ("adamw", {}, "method='adamw'.*dp2-rmsprop"),
        ("dp-adam", {"delay": 3}, "delay=3: dp-adam has no such setting"),
        ("dp-adam", {"beta": 0.5}, "beta=0.5: dp-adam has no such setting"),
        ("dp-sgd", {"clip_norm": 0.0}, "clip_norm"),
        ("dp2-rmsprop", {"clip_norm": -1.0}, "clip_norm"),
        ("dp2-rmsprop", {"preconditioned_clip_norm": 0.0}, "preconditioned_clip_norm"),
    ],
)
def test_bad_settings_are_named(method, settings, words):
    with pytest.raises(ValueError, match=words):
        make(method, **settings)


# The ledgers of methods with side information: tests/optimizers.
@pytest.mark.parametrize(
    "method", [m for m in METHODS if is_private(m) and not needs_public_data(m)]
)
def test_the_noise_of_a_method_pays_for_all_its_releases(method):
    found = calibrate_method(method, Settings(), BUDGET)
    assert BUDGET.target_epsilon * (1 - 1e-6) < found.epsilon.upper <= BUDGET.target_epsilon
    plain = BUDGET.calibrate().noise_multiplier
    # Only methods that release more than one noisy sum a step need more noise than DP-SGD.
    one_a_step = planned_event_of(method, Settings(), BUDGET, noise_multiplier=1.0) == BUDGET.event(
        1.0
    )
    assert (found.noise_multiplier == plain) == one_a_step
    assert found.noise_multiplier >= plain


def test_two_releases_on_each_batch_need_root_two_times_the_noise():
    extra = calibrate_method("dp2-rmsprop-extra-noise", Settings(), BUDGET).noise_multiplier
    plain = BUDGET.calibrate().noise_multiplier
    # All but the first delay steps release twice.
    assert 1.3 * plain < extra < 2**0.5 * plain


def test_nothing_is_calibrated_without_noise():
    with pytest.raises(ValueError, match="method='sgd': adds no noise"):
        calibrate_method("sgd", Settings(), BUDGET)


def test_momentum_and_decay_wrap_any_method():
    wrapped = make("dp-adam", momentum=0.5, learning_rate_schedule="cosine", learning_rate=0.02)
    assert wrapped.name == "dp-adam+momentum+cosine-decay"
    assert wrapped.optimizer.optimizer.learning_rate == 0.02
    assert (wrapped.steps, wrapped.optimizer.momentum) == (400, 0.5)
    with pytest.raises(ValueError, match="momentum"):
        make("dp-sgd", momentum=1.0)
    with pytest.raises(ValueError, match="schedule='steps' must be one of"):
        make("dp-sgd", learning_rate_schedule="steps")


def test_wrappers_cost_what_is_wrapped_costs():
    settings = Settings.from_mapping({"momentum": 0.5, "learning_rate_schedule": "linear"})
    assert calibrate_method("dp-sgd", settings, BUDGET) == BUDGET.calibrate()
