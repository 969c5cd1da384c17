"""The delay rule and the gate on made-up curves, at and around every threshold."""

import pytest

from dp2theory.planning.blocks import BlockStatistic
from dp2theory.planning.gate import first_clear_length, judge, snr_at


def curve(*ratios):
    return tuple(
        BlockStatistic(length=2**level, blocks=99, signal=snr, noise=1.0, snr=snr, drift=0.0)
        for level, snr in enumerate(ratios)
    )


def proportional(ratio_at_40, levels=8):
    return curve(*(ratio_at_40 * 2**level / 40 for level in range(levels)))


def test_snr_is_linear_between_measured_lengths():
    blocks = curve(0.0, 0.5, 1.0, 3.0)  # lengths 1, 2, 4, 8
    assert snr_at(blocks, 1) == 0.0
    assert snr_at(blocks, 3) == pytest.approx(0.75)
    assert snr_at(blocks, 5) == pytest.approx(1.5)
    assert snr_at(blocks, 8) == 3.0
    assert snr_at(blocks, 20) == pytest.approx(3.0 * 20 / 8)
    assert snr_at((), 5) is None


def test_first_clear_length_is_measured_or_continued():
    assert first_clear_length(curve(0.1, 0.99, 1.0, 0.5)) == 4
    assert first_clear_length(curve(0.1, 0.3)) == 7  # ceil(2 / 0.3)
    assert first_clear_length(curve(0.1, 0.0)) == float("inf")


@pytest.mark.parametrize(
    ("ratio", "advice"),
    [
        (50.0, "dp2"),
        (1.0, "dp2"),
        (0.999, "marginal"),
        (0.3, "marginal"),
        (0.2999, "dp-sgd"),
        (0.0, "dp-sgd"),
    ],
)
def test_gate_thresholds(ratio, advice):
    verdict = judge(proportional(ratio), steps=1600)  # default delay 40
    assert verdict.snr_at_default_delay == pytest.approx(ratio)
    assert verdict.advice == advice
    assert (verdict.recommended_delay is None) == (advice == "dp-sgd")
    assert f"{ratio:.3g}" in verdict.reason


@pytest.mark.parametrize(
    ("ratio", "delay"),
    [
        (100.0, 20),  # clear at once: T // 80
        (1.6, 32),  # ratio 1 at length 25, first measured length at or above it: 32
        (1.0, 40),  # 64 would be the first measured one: T // 40
        (0.5, 40),
    ],
)
def test_delay_lies_between_t_over_80_and_t_over_40(ratio, delay):
    assert judge(proportional(ratio), steps=1600).recommended_delay == delay


def test_short_runs_have_a_delay_of_at_least_one():
    for steps in (1, 16, 39, 79):
        assert judge(curve(10.0, 20.0), steps).recommended_delay == 1


def test_nothing_measured_gives_no_advice():
    verdict = judge((), steps=400)
    assert verdict.advice is None
    assert verdict.snr_at_default_delay is None
    assert verdict.recommended_delay == verdict.default_delay == 10


def test_steps_must_be_positive():
    with pytest.raises(ValueError, match="steps=0"):
        judge(curve(1.0), steps=0)
