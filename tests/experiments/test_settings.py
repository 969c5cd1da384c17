"""Settings: what a comparison is run on."""

import dataclasses
import math

import pytest

from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from dp2theory.experiments.settings import SETTINGS, Setting, setting_for
from dp2theory.problems.registry import problem_names
from tests.experiments.runs import PROBLEM, SETTING


def test_steps_delta_and_relation_are_resolved():
    setting = dataclasses.replace(SETTING, steps=None, epochs=3)
    assert setting.run_steps == 200 // 20 * 3
    assert setting.delta == 200**-1.1
    assert setting.resolved_relation == "add-or-remove-one"
    fixed = dataclasses.replace(SETTING, sampling="without-replacement", target_delta=1e-3)
    assert (fixed.delta, fixed.resolved_relation) == (1e-3, "replace-one")


@pytest.mark.parametrize(
    ("sampling", "description"),
    [
        ("poisson", Poisson(0.1)),
        ("without-replacement", WithoutReplacement(200, 20)),
        ("with-replacement", WithReplacement(200, 20)),
    ],
)
def test_what_is_drawn_is_what_the_budget_accounts(sampling, description):
    setting = dataclasses.replace(SETTING, sampling=sampling)
    assert setting.description() == description
    assert setting.budget().sampling == description
    assert setting.budget().relation == setting.resolved_relation


def test_a_public_share_leaves_the_private_rest():
    setting = dataclasses.replace(SETTING, public_share=0.25)
    assert setting.load().dataset_size == 150
    assert setting.public() is not None
    assert setting.delta == 150**-1.1  # n counts private records
    assert SETTING.public() is None


def test_a_problem_is_loaded_once():
    assert SETTING.load() is dataclasses.replace(SETTING, target_epsilon=1.0).load()


def test_json_round_trip():
    for setting in (*SETTINGS.values(), dataclasses.replace(SETTING, target_epsilon=math.inf)):
        assert Setting.from_json(setting.to_json()) == setting
        assert hash(Setting.from_json(setting.to_json())) == hash(setting)
    with pytest.raises(ValueError, match="batch"):
        Setting.from_json({"problem": "het", "batch": 3})


def test_settings_of_its_own_for_problems_that_exist():
    assert set(SETTINGS) <= set(problem_names())
    assert all(name == setting.problem for name, setting in SETTINGS.items())


def test_setting_for_fills_in():
    assert setting_for("hetB") == SETTINGS["hetB"]
    changed = setting_for("hetB", steps=7, target_epsilon=None, batch_size=64)
    assert (changed.steps, changed.epochs, changed.batch_size) == (7, None, 64)
    assert changed.target_epsilon == SETTINGS["hetB"].target_epsilon
    with pytest.raises(ValueError, match="batch_size is missing"):
        setting_for(PROBLEM, steps=3)
    with pytest.raises(ValueError, match="batches=3"):
        setting_for("het", batches=3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"problem": 3}, "problem=3"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 2.0}, "batch_size=2.0"),
        ({"steps": None}, "exactly one"),
        ({"epochs": 3}, "exactly one"),
        ({"steps": 0}, "steps=0"),
        ({"target_epsilon": math.nan}, "target_epsilon=nan"),
        ({"target_epsilon": -1.0}, "target_epsilon=-1.0"),
        ({"target_delta": 1.0}, "target_delta=1.0"),
        ({"target_delta": 0.0}, "target_delta=0.0"),
        ({"sampling": "shuffled-epochs"}, "sampling='shuffled-epochs'"),
        ({"relation": "swap"}, "relation='swap'"),
        ({"public_share": 1.0}, "public_share=1.0"),
        ({"problem_options": {"seed": math.nan}}, "problem_options"),
        ({"problem_options": 3}, "problem_options=3"),
    ],
)
def test_bad_values_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(SETTING, **changes)


def test_a_batch_larger_than_the_data_is_refused():
    setting = dataclasses.replace(SETTING, batch_size=201)
    with pytest.raises(ValueError, match="batch_size=201"):
        setting.description()
    with pytest.raises(ValueError, match="batch_size=201"):
        _ = dataclasses.replace(setting, steps=None, epochs=1).run_steps


def test_file_contents_are_part_of_the_identity(tmp_path):
    def identity(path):
        setting = Setting("movielens-100k", 8, steps=2, problem_options={"path": str(path)})
        return setting.data_identity()

    first, copy = tmp_path / "a", tmp_path / "b"
    first.write_text("1\t1\t3\t9\n2\t1\t4\t9\n")
    copy.write_bytes(first.read_bytes())
    assert identity(first) == identity(copy)
    copy.write_text("1\t1\t3\t9\n2\t1\t5\t9\n")
    assert identity(first) != identity(copy)
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "c").write_text("x")
    whole = identity(folder)
    (folder / "inner" / "d").write_text("")
    assert identity(folder) != whole
    with pytest.raises(ValueError, match="does not exist"):
        identity(tmp_path / "none")
