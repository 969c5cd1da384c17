"""Optimizers by name: documented defaults, and no setting that is silently ignored."""

import pytest

from dp2theory.planning.methods import METHODS, Settings, is_private, make_optimizer


def make(method, **settings):
    return make_optimizer(method, Settings(**settings), noise_multiplier=1.5, steps=400)


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
    optimizer = make(method)
    assert optimizer.name == method
    assert (optimizer.noise_multiplier == 1.5) == is_private(method)


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("dp-sgd", {"delay": 3}, "delay=3: dp-sgd has no such setting"),
        ("sgd", {"clip_norm": 1.0}, "clip_norm=1.0: sgd has no such setting"),
        ("adam", {}, "method='adam'.*dp2-rmsprop"),
        ("dp-sgd", {"clip_norm": 0.0}, "clip_norm"),
        ("dp2-rmsprop", {"clip_norm": -1.0}, "clip_norm"),
        ("dp2-rmsprop", {"preconditioned_clip_norm": 0.0}, "preconditioned_clip_norm"),
    ],
)
def test_bad_settings_are_named(method, settings, words):
    with pytest.raises(ValueError, match=words):
        make(method, **settings)
