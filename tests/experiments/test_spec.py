"""Sweep files: lists multiply, and nothing unknown is passed over."""

import math

import pytest

from dp2theory.experiments.spec import Spec, parse_spec, read_spec
from tests.experiments.runs import PROBLEM
from tests.repo.project import ROOT

BASE = {"problems": PROBLEM, "methods": ["dp-sgd", "dp2-rmsprop"], "batch_size": 20, "steps": 20}


def spec(**changes) -> Spec:
    return parse_spec({name: value for name, value in (BASE | changes).items() if value != ()})


def test_lists_multiply():
    made = spec(
        problems=["het", PROBLEM],
        epsilons=[1, 2.5],
        samplings=["poisson", "with-replacement"],
        delays=[2, 4, 8],
        seeds=5,
        settings={"dp-sgd": {"learning_rate": [1.0, 2.0], "clip_norm": [1.0, 0.5]}},
    )
    assert len(made.settings) == 2 * 2 * 2
    assert len(made.choices["dp-sgd"]) == 4
    assert [choice["delay"] for choice in made.choices["dp2-rmsprop"]] == [2, 4, 8]
    assert made.cells == 8 * (4 + 3)
    assert made.seeds == (0, 1, 2, 3, 4)
    problem, sampling, epsilon = zip(
        *((one.problem, one.sampling, one.target_epsilon) for one in made.settings), strict=True
    )
    assert problem == ("het",) * 4 + (PROBLEM,) * 4
    assert sampling[:4] == ("poisson", "poisson", "with-replacement", "with-replacement")
    assert epsilon[:2] == (1.0, 2.5)


def test_defaults_are_the_problems_own():
    (setting,) = spec(problems="hetB", batch_size=(), steps=()).settings
    assert (setting.batch_size, setting.epochs, setting.target_epsilon) == (512, 20, 1.0)


def test_sizes_of_one_problem_take_the_place_of_those_of_all():
    made = spec(problems=["het", "hetA"], problem={"hetA": {"epochs": 2}})
    assert [(one.batch_size, one.epochs, one.steps) for one in made.settings] == [
        (20, None, 20),
        (20, 2, None),
    ]
    (text,) = spec(problems="text", problem={"text": {"options": {"dimension": 50}}}).settings
    assert text.problem_options == {"dimension": 50}


def test_seeds_can_be_named():
    assert spec(seeds=[7, 3]).seeds == (7, 3)


def test_tuning_leaves_the_delay_and_methods_without_a_grid_as_given():
    made = spec(
        methods=["dp2-rmsprop", "sgd"], tune=True, delays=[2, 4],
        settings={"sgd": {"learning_rate": 0.5}},
    )  # fmt: skip
    assert made.choices == {
        "dp2-rmsprop": ({"delay": 2}, {"delay": 4}),
        "sgd": ({"learning_rate": 0.5},),
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"problems": ()}, "problems is missing"),
        ({"methods": ()}, "methods is missing"),
        ({"nope": 1}, "'nope' is unknown"),
        ({"problems": "nix"}, "problem='nix'"),
        ({"problems": []}, "problems="),
        ({"problems": 3}, "problems: 3"),
        ({"problems": [PROBLEM, PROBLEM]}, "twice"),
        ({"batch_size": ()}, "batch_size is missing"),
        ({"methods": "dp-sgdd"}, "'dp-sgdd'"),
        ({"methods": ["dp-sgd", "dp-sgd"]}, "twice"),
        ({"methods": [["dp-sgd"]]}, "methods"),
        ({"epsilons": math.nan}, "epsilons=nan"),
        ({"epsilons": math.inf}, "epsilons=inf"),
        ({"epsilons": [1.0, 1]}, "twice"),
        ({"epsilons": True}, "epsilons=True"),
        ({"seeds": 0}, "seeds=0"),
        ({"seeds": [1, 1]}, "twice"),
        ({"seeds": [-1]}, "seeds=-1"),
        ({"seeds": 1.0}, "seeds=1.0"),
        ({"seeds": 10**9}, "seeds=1000000000"),
        ({"seeds": 10**6, "epsilons": [1.0, 2.0]}, "must be at most 1,000,000"),
        ({"delays": 0}, "delays=0"),
        ({"delays": [2], "methods": "dp-sgd"}, "none of the methods has a delay"),
        ({"delays": [2], "settings": {"dp2-rmsprop": {"sgd_steps": 2}}}, "sgd_steps is given"),
        ({"settings": 3}, "settings=3"),
        ({"settings": {"dp-adam": {}}}, "settings.dp-adam"),
        ({"settings": {"dp-sgd": {"learning_rat": 1.0}}}, "'learning_rat' is unknown"),
        ({"settings": {"dp-sgd": {"name": "x"}}}, "'name' is unknown"),
        ({"settings": {"dp-sgd": {"noise_multiplier": 1.0}}}, "'noise_multiplier' is unknown"),
        ({"settings": {"dp-sgd": {"clip_norm": math.nan}}}, "clip_norm=nan"),
        ({"settings": {"dp-sgd": {"clip_norm": [[1.0]]}}}, "clip_norm"),
        ({"settings": {"dp-sgd": {"clip_norm": {}}}}, "clip_norm"),
        ({"tune": 1}, "tune=1"),
        ({"tune_seeds": 2}, "nothing is tuned"),
        ({"tune": True, "settings": {"dp-sgd": {"clip_norm": 1.0}}}, "tune = true chooses"),
        ({"delta": 1.0}, "delta=1.0"),
        ({"delta": math.nan}, "delta=nan"),
        ({"relation": "swap"}, "relation='swap'"),
        ({"samplings": "shuffled-epochs"}, "'shuffled-epochs'"),
        ({"public_share": 1.0}, "public_share=1.0"),
        ({"record_every": 0}, "record_every=0"),
        ({"epochs": 2}, "exactly one"),
        ({"problem": {"het": {}}}, "problem.het"),
        ({"problem": {PROBLEM: {"b": 1}}}, "'b' is unknown"),
        ({"problem": {PROBLEM: {"options": {"dimension": 3}}}}, "dimension=3"),
    ],
)
def test_bad_specs_are_named(changes, words):
    with pytest.raises(ValueError) as caught:
        spec(**changes)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"problems = ", "no TOML"),
        (b"\xff\xfe", "no TOML"),
        (b"a = " + b"[" * 5000, "no TOML"),
        (b"methods = 'dp-sgd'", "problems is missing"),
        (b"#" * 1_000_001, "larger than"),
    ],
)
def test_bad_files_are_named(tmp_path, raw, words):
    path = tmp_path / "bad.toml"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"bad\.toml") as caught:
        read_spec(path)
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        read_spec(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="cannot be read"):
        read_spec(tmp_path)


def test_the_example_is_what_its_comment_says():
    path = ROOT / "docs" / "examples" / "sweep.toml"
    made = read_spec(path)
    runs = made.cells * len(made.seeds)
    assert f"{runs} runs" in path.read_text()
