"""Verdicts from losses alone: each claim fails when the losses are doctored against it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from accountants import Bracket
from dp2theory.experiments import study_checks as claims
from dp2theory.experiments.study_delay_ratio import Prediction
from dp2theory.experiments.study_losses import Advice, Arm, Measured

SEEDS = 16
NOISE = np.random.default_rng(3).normal(0.0, 0.002, SEEDS)


def arm(method: str, mean: float, *, delay: int | None = None, epsilon: float = 2.8) -> Arm:
    """Losses around a mean, with the same luck for all methods on the same seed."""
    settings = {} if delay is None else {"delay": delay}
    losses = tuple(float(mean + shared) for shared in NOISE - NOISE.mean())
    return Arm(method, settings, 1.0, Bracket(epsilon - 1e-9, epsilon), mean, losses)


def measured(**means: float) -> Measured:
    """A problem on which all claims hold, but for the means given."""
    delays = {5: 0.48, 10: 0.45, 20: 0.46, 100: 0.70}
    arms = {
        "dp-sgd": 0.50,
        "dp-rmsprop": 0.47,
        "snapshot": 0.44,
        "dp2-rmsprop-noise-first": 0.55,
        "dp2-rmsprop-extra-noise": 0.46,
    }
    for name, mean in means.items():
        if name[1:].isdigit():
            delays[int(name[1:])] = mean
        else:
            arms[name.replace("_", "-")] = mean
    return Measured(
        "het",
        {name: arm(name, mean) for name, mean in arms.items()},
        {s: arm("dp2-rmsprop", mean, delay=s) for s, mean in delays.items()},
        (5, 10, 20, 100),
        (Advice(1, "dp2", 20, 2.0),),
    )


def test_all_claims_hold_where_they_should():
    good = measured()
    checks = [
        claims.against_dp_sgd(good),
        claims.against_dp_rmsprop(good),
        claims.sweet_spot(good),
        claims.snapshot(good),
        claims.noise_first(good),
        claims.extra_noise(good),
        claims.regret(good),
        claims.privacy(good, 2.8),
    ]
    assert [check.verdict for check in checks] == ["holds"] * 8
    assert checks[0].measured == pytest.approx(0.9)
    assert checks[2].note == "delay 10 against 5"
    assert checks[6].measured == pytest.approx(0.46 / 0.45)
    assert claims.mean_regret([checks[6]]).measured == checks[6].measured


@pytest.mark.parametrize(
    ("claim", "doctored"),
    [
        (claims.against_dp_sgd, {"dp_sgd": 0.46}),
        (claims.against_dp_rmsprop, {"dp_rmsprop": 0.44}),
        (claims.sweet_spot, {"s5": 0.449}),
        (claims.sweet_spot, {"s100": 0.449}),
        (claims.real_data, {"dp_sgd": 0.47}),
        (claims.real_data, {"dp_sgd": 0.43}),
        (claims.snapshot, {"snapshot": 0.47}),
        (claims.noise_first, {"dp2_rmsprop_noise_first": 0.46}),
        (claims.extra_noise, {"dp2_rmsprop_extra_noise": 0.44}),
        (claims.regret, {"s20": 0.48}),
        (claims.regret, {"dp_sgd": 0.42}),
    ],
)
def test_doctored_losses_are_caught(claim, doctored):
    check = claim(measured(**doctored))
    assert not check.passed
    assert check.verdict == "MISSED"
    assert check.to_json()["passed"] is False


def test_real_data_may_differ_by_three_per_cent_either_way():
    for loss, holds in ((0.45 / 1.029, True), (0.45 / 1.031, False), (0.45 / 0.971, True)):
        assert claims.real_data(measured(dp_sgd=loss)).passed is holds


def test_the_first_pilot_counts_and_its_advice_is_what_runs():
    good = measured()
    cautious = replace(good, advice=(Advice(1, "dp-sgd", None, 0.1), good.advice[0]))
    check = claims.regret(cautious)
    assert check.measured == pytest.approx(0.50 / 0.45)
    assert not check.passed
    assert claims.advised(cautious, good.advice[0]) is good.delays[20]


def test_the_best_delay_is_chosen_on_tuning_seeds():
    good = measured()
    lucky = replace(good.delays[20], tuning_loss=0.40)
    chosen = replace(good, delays={**good.delays, 20: lucky})
    assert chosen.best_delay == 20
    assert claims.against_dp_sgd(chosen).measured == pytest.approx(0.46 / 0.50)


def test_an_advised_delay_outside_the_grid_is_no_candidate_for_the_best():
    good = measured(s15=0.30)
    assert good.best_delay == 10
    followed = replace(good, advice=(Advice(1, "dp2", 15, 2.0),))
    assert claims.regret(followed).measured == pytest.approx(0.30 / 0.45)


def test_a_mean_of_regrets_is_held_to_its_own_bar():
    checks = [claims.regret(measured(s20=loss)) for loss in (0.45, 0.47)]
    assert all(check.passed for check in checks)
    mean = claims.mean_regret(checks)
    assert mean.measured == pytest.approx((1 + 0.47 / 0.45) / 2)
    assert not mean.passed
    assert not claims.mean_regret([]).passed


def test_a_run_that_diverged_is_a_miss():
    good = measured()
    gone = replace(good.delays[10], losses=(math.inf, *good.delays[10].losses[1:]))
    check = claims.against_dp_sgd(replace(good, delays={**good.delays, 10: gone}))
    assert not check.passed
    assert check.to_json()["measured"] == "nan"
    end = replace(good.delays[100], losses=gone.losses)
    assert not claims.sweet_spot(replace(good, delays={**good.delays, 100: end})).passed


def test_an_interval_that_crosses_the_bar_is_said_to_be_within_noise():
    check = claims.Check("x", "het", "c", 0.96, 0.97, interval=Bracket(0.95, 0.98))
    assert check.passed
    assert check.verdict == "holds, within noise"
    assert not replace(check, whole_interval=True).passed
    assert replace(check, whole_interval=True, interval=Bracket(0.95, 0.97)).passed


def test_a_sweet_spot_within_noise_is_none():
    rng = np.random.default_rng(5)
    good = measured()
    shaken = replace(
        good.delays[5], losses=tuple(0.451 + rng.normal(0, 0.01, SEEDS)), tuning_loss=0.451
    )
    assert not claims.sweet_spot(replace(good, delays={**good.delays, 5: shaken})).passed


def test_more_than_the_budget_is_caught_wherever_it_is_spent():
    good = measured()
    dear = replace(good.arms["snapshot"], epsilon=Bracket(2.7, 2.8000001))
    assert not claims.privacy(replace(good, arms={**good.arms, "snapshot": dear}), 2.8).passed
    dear = replace(good.delays[20], epsilon=dear.epsilon)
    assert not claims.privacy(replace(good, delays={**good.delays, 20: dear}), 2.8).passed


def test_h_is_held_to_its_bar_where_the_signal_is_low():
    def found(error: float | None) -> Prediction:
        return Prediction(3, 0.5, 0.05, 4, 8, error)

    assert claims.delay_ratio("hetC", [found(0.09), found(None)]).passed
    assert not claims.delay_ratio("hetC", [found(0.01), found(-0.11)]).passed
    assert not claims.delay_ratio("hetC", [found(None)]).passed


def test_runs_that_went_astray_prove_nothing():
    good = measured()
    fair = arm("dp2-rmsprop-noise-first", 0.46)
    for astray in (50.0, math.inf):
        wild = replace(fair, losses=(*fair.losses[:-2], astray, astray))
        check = claims.noise_first(replace(good, arms={**good.arms, wild.method: wild}))
        assert check.measured == pytest.approx(0.46 / 0.45, abs=1e-3)
        assert not check.passed


def test_a_median_has_the_interval_of_its_order_statistics():
    ours = [float(k) for k in range(1, 17)]
    # P(at most 3 heads in 16) = .0106, P(at most 4) = .038: the 4th and the 13th.
    assert claims.median_ratio(ours, [1.0] * 16) == (8.5, Bracket(4.0, 13.0))
    assert claims.median_ratio([3.0, 1.0, 2.0], [1.0] * 3) == (2.0, None)
    assert claims.median_ratio(ours[:6], [1.0] * 6) == (3.5, Bracket(1.0, 6.0))
