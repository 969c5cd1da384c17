"""Verdicts follow from the data, whichever way they fall."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dp2theory.experiments.figures import (
    comparison,
    fig1,
    fig2,
    fig3,
    fig4,
    fig5,
    fig6,
    fig7,
    statistics,
    table1,
)
from dp2theory.experiments.figures.staleness import Staleness
from tests.experiments.figures_made import arm, result

LOW, HIGH, WIDE = (0.40, 0.41, 0.402), (0.50, 0.51, 0.503), (0.30, 0.60, 0.47)
INFINITY = math.inf


def test_mean_interval_is_students():
    mean = statistics.mean_over_seeds([1.0, 2.0, 4.0])
    half = 4.30265272991 * np.std([1, 2, 4], ddof=1) / math.sqrt(3)
    assert mean.value == pytest.approx(7 / 3)
    assert (mean.lower, mean.upper) == (pytest.approx(7 / 3 - half), pytest.approx(7 / 3 + half))
    assert statistics.mean_over_seeds([1.0]).to_json() == {"value": 1.0, "interval": None}
    assert statistics.mean_over_seeds([1.0, INFINITY]).to_json()["value"] == "inf"
    with pytest.raises(ValueError, match="values"):
        statistics.mean_over_seeds([])


def test_rank_correlation_has_ties_and_constants():
    assert statistics.rank_correlation(np.array([1, 2, 3]), np.array([5, 7, 9])) == 1
    assert statistics.rank_correlation(np.array([1, 2, 3]), np.array([9, 7, 5])) == -1
    tied = statistics.rank_correlation(np.array([1, 1, 2, 3]), np.array([1, 2, 3, 4]))
    assert tied == pytest.approx(0.9486832980505138)
    assert statistics.rank_correlation(np.ones(3), np.arange(3)) is None


def test_clause_says_side_size_and_interval():
    clause = comparison.compare(arm("dp2-rmsprop", LOW), arm("dp-sgd", HIGH))
    assert clause.startswith("DP²-RMSProp is 19.9 % below DP-SGD [-2")
    clause = comparison.compare(arm("dp-sgd", HIGH), arm("dp2-rmsprop", LOW))
    assert clause.startswith("DP-SGD is 24.8 % above DP²-RMSProp [+2")
    stuck = arm("dp-sgd", (0.5, INFINITY, 0.5))
    clause = comparison.compare(arm("dp2-rmsprop", LOW), stuck)
    assert "1 of 3 runs of DP-SGD diverged" in clause


def curves(dp2, sgd, rmsprop, reached=20):
    arms = (arm("dp-sgd", sgd), arm("dp-rmsprop", rmsprop), arm("dp2-rmsprop", dp2))
    return fig4.Curves(arms, 40, reached)


@pytest.mark.parametrize(
    ("dp2", "sgd", "rmsprop", "holds"),
    [
        (LOW, HIGH, HIGH, True),
        (HIGH, LOW, LOW, False),
        (LOW, HIGH, LOW, None),  # equal to one: not told apart
        (HIGH, WIDE, LOW, False),
        (LOW, (0.5, INFINITY, 0.5), HIGH, None),
    ],
)
def test_learning_curves(dp2, sgd, rmsprop, holds):
    verdict = fig4.judge(curves(dp2, sgd, rmsprop))
    assert verdict.holds is holds
    assert "step 20 of 40 (2.0 times sooner)" in verdict.text


def test_first_step_that_reaches_the_others_last_loss():
    def along(losses):
        steps = range(0, 10 * len(losses), 10)
        return arm("x", [losses[-1]], runs=[result(losses[-1], steps=steps, losses=losses)])

    theirs = along((0.7, 0.6, 0.5))
    assert fig4.first_reached(along((0.4, 0.55, 0.5)), theirs) == 20  # the start does not count
    assert fig4.first_reached(along((0.7, 0.45, 0.48)), theirs) == 10
    assert fig4.first_reached(along((0.7, 0.65, 0.51)), theirs) is None
    assert fig4.first_reached(along((0.7, 0.45, 0.48)), arm("x", [INFINITY])) is None


def budget(dp2, sgd, rmsprop):
    return {one.label: one for one in curves(dp2, sgd, rmsprop).arms}


@pytest.mark.parametrize(
    ("second", "holds", "words"),
    [
        ((LOW, HIGH, HIGH), True, "at 2 of 2 budgets, above one of them at 0"),
        ((HIGH, LOW, LOW), False, "at 1 of 2 budgets, above one of them at 1"),
        ((LOW, WIDE, WIDE), None, "at 1 of 2 budgets, above one of them at 0"),
    ],
)
def test_budgets(second, holds, words):
    data = fig5.Budgets(((1.0, budget(LOW, HIGH, HIGH)), (2.0, budget(*second))))
    verdict = fig5.judge(data)
    assert verdict.holds is holds
    assert words in verdict.text


def delays(*losses, advised=None, sgd=HIGH):
    pairs = tuple((s, arm(f"s = {s}", one)) for s, one in zip((2, 4, 8), losses, strict=True))
    plan = SimpleNamespace(verdict=SimpleNamespace(recommended_delay=advised))
    return fig6.Delays(pairs, arm("dp-sgd", sgd), plan)


@pytest.mark.parametrize(
    ("losses", "holds", "place"),
    [
        ((HIGH, LOW, HIGH), True, "inside the range;"),
        ((HIGH, LOW, (INFINITY,) * 3), True, "inside the range;"),
        ((WIDE, LOW, HIGH), None, "not told apart"),
        ((LOW, HIGH, HIGH), False, "at an end"),
        ((HIGH, HIGH, LOW), False, "at an end"),
    ],
)
def test_sweet_spot(losses, holds, place):
    verdict = fig6.judge(delays(*losses))
    assert verdict.holds is holds
    assert place in verdict.text


def test_advice_is_held_against_the_best_of_all():
    good = delays(HIGH, LOW, HIGH, advised=4)
    assert good.regret == 0
    assert "advises s = 4, 0.0 % above" in fig6.judge(good).text
    bad = delays(HIGH, LOW, HIGH, advised=2)
    assert bad.regret == pytest.approx(sum(HIGH) / sum(LOW) - 1)
    none = delays(HIGH, LOW, HIGH, sgd=(0.3, 0.31, 0.302))
    assert none.regret == 0
    assert "advises DP-SGD, 0.0 %" in fig6.judge(none).text
    assert delays(HIGH, LOW, (INFINITY,) * 3, advised=8).regret is None


@pytest.mark.parametrize(
    ("equal", "first", "holds"),
    [(HIGH, HIGH, True), (LOW, HIGH, None), (HIGH, (0.2, 0.21, 0.202), False)],
)
def test_ablations(equal, first, holds):
    arms = {
        fig7.DP_SGD: arm("dp-sgd", HIGH),
        fig7.DP2: arm("dp2-rmsprop", LOW),
        fig7.EQUAL_NOISE: arm("a", (0.2, 0.21, 0.202), epsilon=4.5),
        fig7.EQUAL_PRIVACY: arm("b", equal),
        fig7.FIRST: arm("c", first),
    }
    verdict = fig7.judge(fig7.Ablations(arms, 19, (9, 19)))
    assert verdict.holds is holds
    assert "at ε ≤ 4.5" in verdict.text
    assert verdict.text.startswith("At s = 19, ablation 1, equal privacy")


@pytest.mark.parametrize(
    ("informed", "holds"),
    [(HIGH, True), ((0.401, 0.411, 0.403), True), (WIDE, None), ((0.2, 0.21, 0.202), False)],
)
def test_side_information(informed, holds):
    arms = {name: arm(name, HIGH) for name in ("dp-sgd", "dp-rmsprop")}
    arms |= {"dp2-rmsprop": arm("dp2-rmsprop", LOW), "adadps": arm("adadps", informed)}
    arms["snapshot"] = arm("snapshot", (0.1, 0.11, 0.102))
    verdict = table1.judge(table1.SideInformation(arms, {}, 4))
    assert verdict.holds is holds
    assert "AdaDPS (public data)" in verdict.text
    assert "the best with side information" in verdict.text
    assert "better than DP²-RMSProp" in verdict.text


def test_side_information_that_nobody_has():
    arms = {name: arm(name, HIGH) for name in ("dp-sgd", "dp-rmsprop", "dp2-rmsprop")}
    verdict = table1.judge(table1.SideInformation(arms, {"adadps": "why"}, 4))
    assert verdict.holds is None


@pytest.mark.parametrize(
    ("losses", "holds", "words"),
    [
        ((LOW, LOW), True, "at every delay tried"),
        ((LOW, HIGH), False, "at s = 2, not at s = 4"),
        ((HIGH, (INFINITY,) * 3), False, "at no delay tried"),
    ],
)
def test_delayed(losses, holds, words):
    pairs = tuple((s, arm(f"s = {s}", one)) for s, one in zip((2, 4), losses, strict=True))
    verdict = fig2.judge(fig2.Delayed(arm("RMSProp", LOW), arm("SGD", HIGH), pairs))
    assert verdict.holds is holds
    assert words in verdict.text


def ratio(delay, h, low, high, *, noise_only, snr):
    return Staleness(delay, h, low, high, noise_only, h, h, h, 1e6, snr, snr)


def test_growth_of_h_needs_intervals_apart():
    def judged(second):
        first = ratio(1, 1.0, 0.9, 1.1, noise_only=1.05, snr=0.05)
        return fig3.judge(fig3.DelayRatios({}, {}, (first, second)))

    grown = judged(ratio(100, 10.0, 9.0, 11.0, noise_only=20.0, snr=3.0))
    assert grown.holds is True
    assert "log-log slope 0.50" in grown.text
    assert "noise alone predicts h within 5.0 % at the 1 delays" in grown.text
    steep = judged(ratio(100, 1000.0, 900.0, 1100.0, noise_only=1e4, snr=3.0))
    assert steep.holds is False  # more than linearly
    assert "grows" in steep.text
    assert judged(ratio(100, 0.5, 0.4, 0.6, noise_only=1.0, snr=3.0)).holds is False
    assert judged(ratio(100, 1.1, 1.0, 1.2, noise_only=1.0, snr=3.0)).holds is None
    loud = fig3.DelayRatios({}, {}, (ratio(1, 1.0, None, None, noise_only=9.0, snr=2.0),))
    assert fig3.judge(loud).holds is None
    assert "predicts nothing" in fig3.judge(loud).text


def moments(*, factor=1.2, order=0.95, share=0.9):
    look = fig1.Drift(5, 10, factor, order)
    rows = np.array([[1.0, 2.0, 30.0]])
    return fig1.SecondMoments(
        5, (10,), rows, rows, 0.1, 1.0, {}, (look,), (), noise_share=share, noisy_order=0.2
    )


@pytest.mark.parametrize(
    ("change", "holds"),
    [({}, True), ({"factor": 2.5}, False), ({"order": 0.5}, False), ({"share": 0.2}, False),
     ({"order": None}, False)],
)  # fmt: skip
def test_slow_and_drowned(change, holds):
    assert fig1.judge(moments(**change)).holds is holds
