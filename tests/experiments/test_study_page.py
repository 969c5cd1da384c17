"""The page says what the figures say, disappointments first of all."""

from dataclasses import replace

import pytest

from dp2theory.experiments import study_checks as claims
from dp2theory.experiments.study import Study
from dp2theory.experiments.study_disappointments import disappointments, tuned_regret
from dp2theory.experiments.study_losses import Advice, Measured
from dp2theory.experiments.study_page import page
from dp2theory.experiments.study_runs import Bench
from tests.experiments.test_study_checks import arm, measured

FACTS = {
    "version": "0", "seeds_from": "0", "python": "3", "numpy": "2", "scipy": "1", "machine": "m",
    "code": "c" * 64, "cpu_seconds": 60, "wall_seconds": 120, "runs_found_in_the_store": 0,
    "attempts": 1,
}  # fmt: skip


def study_of(one: Measured, *names: str) -> Study:
    """A study of one problem, judged on some claims."""
    every = {
        "dp-sgd": claims.against_dp_sgd,
        "regret": claims.regret,
        "real-data": claims.real_data,
    }
    return Study((one,), tuple(every[name](one) for name in names))


def test_nothing_disappoints_where_all_is_well():
    assert disappointments(study_of(measured(), "dp-sgd", "regret")) == ""


def test_a_missed_claim_heads_the_page_and_is_explained():
    study = study_of(measured(dp_sgd=0.46), "dp-sgd", "regret")
    text = page(study, FACTS, Bench(), ("dp-sgd", "regret"))
    assert "**1 of 2 checks hold.** Missed: dp-sgd on het." in text
    assert "het: train loss of DP²-RMSProp over DP-SGD's is 0.9783, wanted at most 0.97." in text
    assert "not accounted" in text
    assert "| het | 0.9783 |" in text


def test_no_gain_and_a_small_gain_are_named():
    none = study_of(replace(measured(dp_sgd=0.449), problem="text"), "real-data")
    assert "text: DP² at its best delay is at 1.0022" in disappointments(none)
    assert "no gain that could be told from none" in disappointments(none)
    small = study_of(replace(measured(dp_sgd=0.46), problem="fresh"), "regret")
    assert "a small gain, on a problem where none was claimed" in disappointments(small)


def test_advice_at_tuned_steps_that_costs_is_named():
    good = measured()
    assert tuned_regret(good) is None
    cautious = replace(good, tuned_advice=(Advice(1, "dp-sgd", None, 0.2),))
    assert tuned_regret(cautious) == pytest.approx(0.50 / 0.45)
    text = disappointments(study_of(cautious, "dp-sgd"))
    assert "advises dp-sgd (0.2), which costs 11.1 % more" in text
    elsewhere = replace(good, tuned_advice=(Advice(1, "dp2", 7, 2.0),))
    assert tuned_regret(elsewhere) is None  # that delay was not run


def test_a_pilot_that_costs_the_gain_is_named():
    good = measured()
    lost = replace(good, switched=arm("dp2-rmsprop", 0.505).losses[:8])
    assert "goes on from a pilot is at 1.01" in disappointments(study_of(lost, "dp-sgd"))
    kept = replace(good, switched=arm("dp2-rmsprop", 0.46).losses[:8])
    assert disappointments(study_of(kept, "dp-sgd")) == ""
