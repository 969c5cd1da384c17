"""What a plan says is certified: a priori and estimated, in units, with honest labels."""

import json
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from bounds.dp2 import certified as bound_of
from dp2theory.planning.blocks import BlockMeans, BlockStatistic
from dp2theory.planning.budget import Budget
from dp2theory.planning.certified import (
    BRANCH_THEOREMS,
    ESTIMATE_NOTE,
    certify,
    dominating_line,
    gradient_l1,
)
from dp2theory.planning.plan import make_plan
from tests.planning.small import small_budget, small_problem

#: The sizes of the worked examples.
WORKED = Budget(10_000, 256, 1000, 2.0, 1e-5)
SIGMA = 1.931468948429


def released(means, *, steps, budget=WORKED, clip_norm=1.0, seed=0):
    """Block means of gradients that are their means plus the privacy noise."""
    rng = np.random.default_rng(seed)
    std = SIGMA * clip_norm / budget.batch_size
    blocks = BlockMeans(len(means))
    for _ in range(steps):
        blocks.add(clip_norm * means + std * rng.standard_normal(len(means)))
    statistics = blocks.statistics(
        noise_multiplier=SIGMA, clip_norm=clip_norm, batch_size=budget.batch_size
    )
    return blocks, statistics


def answers(**changes):
    given = {"dimension": 50, "noise_multiplier": SIGMA, "clip_norm": 1.0, "damping": 0.01}
    return certify(WORKED, **(given | changes))


def test_a_priori_means_give_the_largest_norm_that_the_clip_norm_allows():
    (found,) = answers()
    assert found.kind == "a-priori"
    rng = np.random.default_rng(3)
    worst = bound_of.preconditioner_norm(found.inputs, 40)
    for _ in range(50):
        direction = rng.standard_normal(50) ** 3
        means = found.inputs.gradient_bound * direction / np.linalg.norm(direction)
        other = bound_of.preconditioner_norm(
            replace(found.inputs, mean_gradient=means, repeats=1), 40
        )
        assert other <= worst * (1 + 1e-12)


def test_a_priori_bound_prefers_the_whole_run():
    """Without a promise on staleness the bound falls with s: dp2.S2.saturated."""
    for damping in (1e-7, 0.01, 1.0):
        (found,) = answers(damping=damping)
        assert found.origin["damping"] == (
            "the default of DP²-RMSProp" if damping == 1e-7 else "as given"
        )
        assert found.optimum.delay == 1000
        assert found.optimum.branch == "gradient-bound"
        assert "whole run" in found.verdict
        values = bound_of.bound(found.inputs, np.arange(1, 1001))
        assert (np.diff(values) <= 1e-12 * values[1:]).all()


def test_poisson_batches_have_their_factor():
    (found,) = answers()
    share = 256 / 10_000
    assert found.inputs.gradient_bound == pytest.approx(sqrt(1 + (1 - share) / 256), rel=1e-15)
    (full,) = certify(
        Budget(10_000, 10_000, 1000, 2.0, 1e-5), dimension=50, noise_multiplier=60.0, clip_norm=1.0
    )
    assert full.inputs.gradient_bound == 1.0


def test_estimate_sees_the_means_of_the_pilot():
    means = 0.03 * 0.9 ** np.arange(50)
    blocks, statistics = released(means, steps=250)
    prior, estimate = answers(blocks=blocks, statistics=statistics, recommended=25)
    assert estimate.kind == "estimate"
    size = estimate.inputs.to_json()["mean_gradient_l1"]
    noise = 50 * SIGMA / 256 * sqrt(2 / np.pi / 128)
    assert means.sum() * 0.95 < size < means.sum() + noise
    assert estimate.optimum.value < prior.optimum.value
    assert "estimate" in estimate.origin["mean_gradient"]
    assert "128 released gradients" in estimate.origin["mean_gradient"]
    assert "estimate" in estimate.origin["staleness"]
    assert "estimate" not in " ".join(prior.origin.values())
    value = float(bound_of.bound(estimate.inputs, 25))
    assert estimate.at_recommended == value >= estimate.optimum.value
    assert estimate.to_json()["phi"]["message"] == "bound uninformative for s"


def test_staleness_line_dominates_what_the_blocks_show():
    blocks, statistics = released(0.03 * 0.9 ** np.arange(50), steps=250, seed=4)
    estimate = answers(blocks=blocks, statistics=statistics)[1]
    inputs = estimate.inputs
    size = gradient_l1(statistics[0], 50, inputs.gradient_bound)
    for each in statistics:
        norm = np.abs(blocks.latest(each.length)[1]).sum() + 50 * 0.01
        line = inputs.staleness_intercept + inputs.staleness_slope * each.length
        assert line >= size / norm * (1 - 1e-12)


def test_size_of_a_gradient_is_not_taken_from_its_noise():
    truth = 0.4
    means = np.full(400, truth / 20)  # l2 norm 0.4, noise norm 0.15
    _, statistics = released(means, steps=250)
    found = gradient_l1(statistics[0], 400, 1.0)
    assert found == pytest.approx(20 * truth, rel=0.05)
    drowned = BlockStatistic(1, 250, signal=-1e-4, noise=0.02, snr=0.0, drift=0.0)
    assert 0 < gradient_l1(drowned, 400, 1.0) < 20 * 0.05
    loud = BlockStatistic(1, 250, signal=9.0, noise=0.02, snr=450.0, drift=0.0)
    assert gradient_l1(loud, 400, 1.0) == 20.0  # never above sqrt(d) C


@pytest.mark.parametrize(
    "points",
    [[(1, 0.2)], [(1, 0.5), (2, 0.4), (4, 0.3)], [(1, 0.1), (2, 0.5), (4, 0.6), (8, 3.0)],
     [(1, 0.0), (2, 1.0)]],
)  # fmt: skip
def test_line_is_above_all_points_and_never_falls(points):
    intercept, slope = dominating_line(points)
    assert min(intercept, slope) >= 0
    gaps = [intercept + slope * s - h for s, h in points]
    assert min(gaps) == pytest.approx(0, abs=1e-12)


def test_clip_norm_is_a_unit():
    """Gradients, damping and clip norm ten times as large: nothing changes but phi's base."""
    means = 0.03 * 0.9 ** np.arange(50)
    blocks, statistics = released(means, steps=250)
    one = answers(blocks=blocks, statistics=statistics)
    blocks, statistics = released(means, steps=250, clip_norm=10.0)
    ten = answers(blocks=blocks, statistics=statistics, clip_norm=10.0, damping=0.1)
    for mine, other in zip(one, ten, strict=True):
        assert mine.optimum.delay == other.optimum.delay
        assert mine.optimum.value == pytest.approx(other.optimum.value, rel=1e-9)
        assert other.tradeoff.base() == pytest.approx(10 * mine.tradeoff.base(), rel=1e-9)


def test_schedule_of_the_paper_is_seen_to_be_vacuous():
    (found,) = answers(recommended=25, damping=0.1)
    schedule = found.to_json()["schedule"]
    assert schedule == {"decay": 0.1, "delay": 25, "log10_factor": pytest.approx(39.0)}
    (single,) = answers(recommended=1000)
    assert single.to_json()["schedule"]["log10_factor"] == 0


def test_nothing_is_said_without_a_dimension():
    assert answers(dimension=None) == ()
    result = make_plan(small_budget()).to_json()
    assert result["certified"] == {"missing": ["dimension"], "answers": []}
    assert not any("certified" in note.lower() for note in result["notes"])


def test_plan_has_both_answers_and_says_which_is_a_guess():
    result = make_plan(small_budget(), small_problem(), seed=4, damping=0.1).to_json()
    assert [each["kind"] for each in result["certified"]["answers"]] == ["a-priori", "estimate"]
    assert result["certified"]["missing"] == []
    assert ESTIMATE_NOTE in result["notes"]
    json.dumps(result)
    bare = make_plan(small_budget(), dimension=21, damping=0.1).to_json()
    assert [each["kind"] for each in bare["certified"]["answers"]] == ["a-priori"]
    assert ESTIMATE_NOTE not in bare["notes"]
    assert bare["certified"]["answers"][0] == result["certified"]["answers"][0] | {
        name: bare["certified"]["answers"][0][name] for name in ("at_recommended_delay", "schedule")
    }


def test_theorems_exist():
    import bounds

    (found,) = answers()
    named = set(found.to_json()["theorems"].values()) | set(BRANCH_THEOREMS.values())
    assert named <= set(bounds.theorems())


@pytest.mark.parametrize(
    ("damping", "words"), [(0.0, "damping=0.0"), (float("nan"), "damping=nan"),
                           (1e-200, "damping=1e-200: must be within 1e")],
)  # fmt: skip
def test_bad_damping_is_refused_before_the_pilot(damping, words):
    def spent(_step):
        pytest.fail("the pilot has run")

    with pytest.raises(ValueError, match=words):
        make_plan(small_budget(), small_problem(), damping=damping, on_step=spent)


def test_verdicts():
    (found,) = answers(damping=1e-7)
    assert "vacuous" in found.verdict
    blocks, statistics = released(0.03 * 0.9 ** np.arange(50), steps=250)
    estimate = answers(blocks=blocks, statistics=statistics)[1]
    best = estimate.optimum
    for dp_sgd, words in (
        (best.value / 2, "above the bound of DP-SGD"),
        (best.value * 2, "not below it given the same knowledge"),
    ):
        changed = replace(best, dp_sgd=dp_sgd)
        assert words in replace(estimate, optimum=changed).verdict
