"""Plans: what they say with and without data, and how advice moves with the budget."""

import json

import numpy as np
import pytest

from accountants import AccuracyError, Bracket
from dp2theory.planning import plan as plan_module
from dp2theory.planning.budget import Budget
from dp2theory.planning.gate import judge
from dp2theory.planning.plan import make_plan
from dp2theory.problems.registry import get_problem
from tests.planning.small import small_budget, small_problem


def test_plan_is_pilot_plus_gate():
    budget = small_budget()
    made = make_plan(budget, small_problem(), seed=4, record_every=10)
    assert made.noise_multiplier == budget.calibrate().noise_multiplier
    assert made.pilot.noise_multiplier == made.noise_multiplier
    assert (made.clip_norm, made.learning_rate) == (1.0, 1.0)
    assert made.blocks == made.pilot.statistics()
    assert made.verdict == judge(made.blocks, 160)
    assert made.pilot_epsilon == budget.account(budget.event(made.noise_multiplier, steps=40))
    assert made.pilot_epsilon.upper < made.epsilon.upper <= 3.0


def test_result_has_the_promised_keys_and_survives_json():
    result = make_plan(small_budget(), small_problem()).to_json()
    assert {
        "noise_multiplier",
        "epsilon",
        "steps",
        "advice",
        "reason",
        "delay",
        "snr",
        "pilot",
    } <= (result.keys())
    assert result["steps"] == 160
    assert result["delay"]["default"] == 4
    assert result["pilot"]["steps"] == 40
    for bracket in (result["epsilon"], result["pilot"]["epsilon_spent"]):
        assert 0 < bracket["lower"] <= bracket["upper"]
    lengths = [block["length"] for block in result["snr"]["blocks"]]
    assert lengths == [1, 2, 4, 8]  # 40 steps hold four blocks of 8 and two of 16
    json.dumps(result)


def test_noise_norm_is_what_an_average_must_exceed():
    made = make_plan(small_budget(), small_problem(), clip_norm=0.5)
    block = next(block for block in made.blocks if block.length == made.verdict.default_delay)
    assert made.noise_norm == pytest.approx(np.sqrt(block.noise), rel=1e-12)


def test_default_learning_rate_is_effective_step_one():
    made = make_plan(small_budget(), clip_norm=0.25)
    assert made.learning_rate * made.clip_norm == 1.0


def test_without_data_no_pilot_is_claimed():
    made = make_plan(small_budget(), dimension=21)
    result = made.to_json()
    assert result["advice"] is None
    assert "no pilot was made" in result["reason"]
    assert result["delay"]["recommended"] == result["delay"]["default"] == 4
    assert result["pilot"] == {
        "steps": 0, "epsilon_spent": {"lower": 0.0, "upper": 0.0}, "losses": [],
    }  # fmt: skip
    assert result["snr"]["blocks"] == []
    assert result["noise_multiplier"] == make_plan(small_budget(), small_problem()).noise_multiplier
    assert result["snr"]["noise_norm_at_default_delay"] > 0
    assert make_plan(small_budget()).to_json()["snr"]["noise_norm_at_default_delay"] is None


def test_run_too_short_for_a_pilot_is_planned_without():
    made = make_plan(small_budget(steps=15), small_problem())
    assert made.pilot is None
    assert "fewer than the 4 blocks" in made.verdict.reason
    assert made.verdict.recommended_delay == 1
    assert make_plan(small_budget(steps=16), small_problem()).pilot.steps == 4


def test_pilot_cost_is_bounded_by_the_run_where_it_cannot_be_computed(monkeypatch):
    budget = small_budget()

    def refuse(self, event):
        raise AccuracyError("no")

    monkeypatch.setattr(Budget, "account", refuse)
    made = make_plan(budget, small_problem())
    assert made.pilot_epsilon == Bracket(0.0, made.epsilon.upper)
    assert plan_module.spent_by(None, budget, made.epsilon) == Bracket(0.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"clip_norm": 0.0}, "clip_norm=0.0"), ({"learning_rate": -1.0}, "learning_rate=-1.0")],
)
def test_bad_values_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        make_plan(small_budget(), small_problem(), **changes)


#: name, batch size, epochs, epsilon, clip norm, learning rate (None: defaults), advice.
#: Sizes and tuned step sizes of the two synthetic instances with the highest and lowest ratio.
INSTANCES = [
    ("hetM", 1024, 16, 2.8, 0.675, 13.2, "dp2"),
    ("hetM", 1024, 16, 2.8, None, None, "dp2"),
    ("hetC", 256, 20, 1.0, 1.04, 2.13, "dp-sgd"),
    ("hetC", 256, 20, 1.0, None, None, "dp-sgd"),
]


@pytest.mark.parametrize(("name", "b", "epochs", "epsilon", "clip", "rate", "advice"), INSTANCES)
@pytest.mark.parametrize("seed", [0, 1])
def test_advice_on_the_two_extreme_instances(name, b, epochs, epsilon, clip, rate, advice, seed):
    problem = get_problem(name)
    n = problem.dataset_size
    budget = Budget(n, b, n // b * epochs, epsilon, n**-1.1)
    made = make_plan(budget, problem, clip_norm=clip, learning_rate=rate, seed=seed)
    assert made.verdict.advice == advice
    if advice == "dp2":
        assert budget.steps // 80 <= made.verdict.recommended_delay <= budget.steps // 40
    if (name, clip) == ("hetM", 0.675):
        assert made.verdict.snr_at_default_delay == pytest.approx(55, rel=0.25)
    if name == "hetC":
        assert made.verdict.snr_at_default_delay < 0.15


ORDER = {"dp-sgd": 0, "marginal": 1, "dp2": 2}
LADDER = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)


@pytest.mark.parametrize(
    ("name", "b", "epochs"),
    [
        ("het:n=6000,d=150,amin=1/30,avg=8,seed=21", 128, 8),
        ("het:n=9000,d=60,amin=1/10,avg=6,seed=22", 512, 12),
    ],
)
@pytest.mark.parametrize("seed", [0, 5])
def test_more_epsilon_on_one_seed_never_turns_dp2_into_dp_sgd(name, b, epochs, seed):
    problem = get_problem(name)
    n = problem.dataset_size
    plans = [
        make_plan(Budget(n, b, n // b * epochs, epsilon, n**-1.1), problem, seed=seed)
        for epsilon in LADDER
    ]
    grades = [ORDER[made.verdict.advice] for made in plans]
    assert grades == sorted(grades)
    assert grades[0] == 0, "the ladder must start where the noise wins"
    assert grades[-1] == 2, "and end where the signal does"
    # Clear of the floor of the estimate (about 1 / sqrt(d K)) the ratio itself grows.
    seen = [made.verdict.snr_at_default_delay for made in plans]
    clear = [snr for snr in seen if snr > 0.1]
    assert clear == sorted(clear)


def test_a_pilot_that_climbs_is_pointed_out():
    def notes(learning_rate):
        made = make_plan(
            small_budget(), small_problem(), learning_rate=learning_rate, record_every=10
        )
        return [note for note in made.to_json()["notes"] if "train loss rose" in note]

    assert notes(0.5) == []
    assert len(notes(1e6)) == 1
