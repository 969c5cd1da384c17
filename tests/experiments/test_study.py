"""The study end to end on a tiny problem: verdicts, files, exit codes, resuming."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dp2theory.experiments import study, study_scenes, tasks
from dp2theory.experiments.figures.staleness import Trace
from dp2theory.experiments.settings import SETTINGS, Setting
from dp2theory.experiments.study_checks import median_ratio
from dp2theory.experiments.study_delay_ratio import predict, predictions
from dp2theory.experiments.study_runs import Bench, measure
from dp2theory.experiments.study_scenes import CHECKS, Scene, check_names, fresh_settings, scenes
from dp2theory.optimizers.dp2 import Dp2RmsProp

TINY = Scene(
    "het",
    Setting("het:n=240,d=10,amin=1/10,avg=3,seed=1", 24, steps=20, target_epsilon=4.0),
    CHECKS,
    (10, 5),
    evaluations=3,
)
ASKED = ("real-data", "noise-first", "privacy")


@pytest.fixture(scope="module")
def found():
    return measure(TINY, ASKED, Bench("a text", tuning_seeds=2))


def test_every_claim_is_checked_somewhere_and_the_claimed_problems_are_there():
    everything = scenes()
    assert {name for scene in everything for name in scene.checks} == set(CHECKS)
    het = {scene.name for scene in everything if "dp-sgd" in scene.checks}
    assert het == {"het", "hetA", "hetB", "hetD", "hetM"}
    judged = {scene.name for scene in everything if "regret" in scene.checks}
    assert judged == het | {"hetC", "text", "fresh het", "fresh hetB", "fresh hetM"}
    assert all(scene.evaluations == 16 for scene in everything if "dp-sgd" in scene.checks)


def test_fresh_problems_have_known_shapes_and_seeds_of_the_text():
    (name, one), *_ = fresh_settings("a")
    assert name == "fresh het"
    assert one.target_epsilon == SETTINGS["het"].target_epsilon
    assert one.problem.startswith("het:n=20000,d=300,")
    assert one == fresh_settings("a")[0][1]
    assert one != fresh_settings("b")[0][1]


def test_methods_of_one_problem_meet_the_same_budget(found):
    assert set(found.arms) == {"dp-sgd", "dp2-rmsprop-noise-first"}
    assert found.grid == (2, 4)
    assert found.arms["dp2-rmsprop-noise-first"].settings["delay"] == found.best_delay
    for arm in (*found.arms.values(), *found.delays.values()):
        assert len(arm.losses) == 3
        assert arm.epsilon.upper <= 4.0 < 1.01 * arm.epsilon.upper


def test_verdicts_follow_the_losses(found):
    (near, first, spent) = study.judge(TINY, found, ASKED)
    ratio = found.best.mean / found.arms["dp-sgd"].mean
    assert near.measured == pytest.approx(abs(ratio - 1))
    later = found.arms["dp2-rmsprop-noise-first"]
    middle, _ = median_ratio(later.losses, found.best.losses)
    assert first.measured == pytest.approx(min(later.mean / found.best.mean, middle))
    assert spent.passed
    doctored = replace(
        found.arms["dp-sgd"], losses=tuple(2 * x for x in found.arms["dp-sgd"].losses)
    )
    worse = replace(found, arms={**found.arms, "dp-sgd": doctored})
    assert not study.judge(TINY, worse, ASKED)[0].passed


def test_it_writes_what_it_found_resumes_and_says_by_its_exit_code_what_it_found(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(study_scenes, "scenes", lambda text: [replace(TINY, checks=("privacy",))])
    command = ["--only", "privacy", "--store", str(tmp_path / "runs.db"), "--seeds-from", "x"]
    command += ["--executor", "serial", "--out", str(tmp_path)]
    assert study.main(command) == study.FINE
    written = json.loads((tmp_path / "study.json").read_text())
    assert written["passed"] is True
    assert written["facts"]["seeds_from"] == "x"
    assert [check["name"] for check in written["checks"]] == ["privacy"]
    text = (tmp_path / "study.md").read_text()
    assert "**1 of 1 checks hold.**" in text
    assert "not accounted" in text
    assert "holds" in capsys.readouterr().out

    def never(task):
        raise AssertionError("this run is in the store")

    monkeypatch.setattr(tasks, "run_task", never)
    monkeypatch.setattr(study, "judge", lambda scene, one, names: [_missed(one)])
    assert study.main(command) == study.MISSED
    again = json.loads((tmp_path / "study.json").read_text())
    assert again["problems"] == written["problems"]
    assert again["passed"] is False
    assert again["facts"]["attempts"] == 2
    assert again["facts"]["cpu_seconds"] >= written["facts"]["cpu_seconds"]
    assert "Missed: privacy on het" in (tmp_path / "study.md").read_text()


def _missed(one):
    from dp2theory.experiments.study_checks import privacy

    return privacy(one, 1.0)


def test_unknown_claims_are_refused(tmp_path, capsys):
    with pytest.raises(ValueError, match=r"check='magic' must be one of dp-sgd"):
        check_names(["magic"])
    assert study.main(["--only", "magic", "--out", str(tmp_path)]) == study.USAGE
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_study_without_checks_does_not_pass():
    assert not study.run_study([], CHECKS, Bench()).passed


def test_h_of_pure_noise_has_no_signal_and_h_without_noise_nothing_but():
    setting = replace(TINY.setting, steps=24)
    (noisy,) = predictions(setting, {2: Dp2RmsProp(1e-6, 1e-4, 1e-9, 1.0, 50.0, delay=2)}, (1, 2))
    assert noisy.low_updates == noisy.updates == 6
    assert noisy.low_error == noisy.error
    (clear,) = predictions(setting, {2: Dp2RmsProp(1e-6, 1.0, 1e-9, 1.0, 1e-3, delay=2)}, (1, 2))
    assert clear.low_updates == 0
    assert clear.low_error is None
    assert clear.error > 1


def test_the_prediction_is_held_to_steps_whose_average_has_little_signal():
    dimension, std = 10, 0.5
    alone = dimension * std * math.sqrt(2 / math.pi)
    trace = Trace(
        gradients=np.array([8.0, 2.0, 1.0]),
        updates=np.array([0, 1, 1]),
        averages=alone * np.array([1.5, 1.04, 9.0]),
        folded=np.ones(3),
        roots=np.ones(3),
        signals=dimension * std**2 * np.array([1.0, 0.05, 0.0]),
    )
    found = predict(7, [trace, trace], dimension=dimension, noise_std=std, damping=0.0)
    assert found.error == pytest.approx(0.5)  # the largest ratio is the first step's
    assert found.low_error == pytest.approx(0.04)
    assert (found.low_updates, found.updates) == (1, 2)  # nothing looks back on the third
    assert found.signal_to_noise == pytest.approx(0.525)
