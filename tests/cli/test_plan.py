"""`dp2theory plan` from the outside: the promised answers, files, and refusals."""

import tracemalloc

import pytest

from dp2theory.planning.state import load_pilot

SMALL = "plan --problem het:n=1500,d=20,amin=1/10,avg=4,seed=7 --batch-size 100 --steps 160"
SIZES = "plan --dataset-size 20000 --batch-size 200 --epochs 4 --epsilon 2"


def result(outcome):
    return outcome.document["result"]


def test_plan_has_the_promised_keys(cli):
    document = cli(SMALL, "--epsilon 3 --json").document
    found = document["result"]
    assert found["steps"] == 160
    assert found["advice"] in ("dp2", "marginal", "dp-sgd")
    assert found["delay"]["default"] == 4
    assert (found["delay"]["recommended"] is None) == (found["advice"] == "dp-sgd")
    assert found["pilot"]["steps"] == 40
    assert 0 < found["pilot"]["epsilon_spent"]["upper"] < found["epsilon"]["upper"] <= 3
    assert [block["length"] for block in found["snr"]["blocks"]] == [1, 2, 4, 8]
    inputs = document["inputs"]
    assert inputs["delta"] == {
        "value": pytest.approx(1500**-1.1), "unit": "probability", "default": True,
    }  # fmt: skip
    assert inputs["clip_norm"]["default"]
    assert inputs["learning_rate"]["value"] == 1.0
    assert inputs["effective_step"]["value"] == 1.0


def test_json_and_plain_text_agree(cli):
    found = result(cli(SMALL, "--epsilon 3 --json"))
    text = cli(SMALL, "--epsilon 3").out
    assert repr(found["noise_multiplier"]) in text
    assert f"({found['advice']})" in text
    assert found["reason"] in text
    assert "dataset-size: 1500 records" in text
    quiet = cli(SMALL, "--epsilon 3 --quiet").out.split()
    assert quiet[0] == found["advice"]
    assert quiet[1:] == ([str(found["delay"]["recommended"])] if quiet[0] != "dp-sgd" else [])


@pytest.mark.parametrize(
    ("name", "sizes", "words", "advice"),
    [
        ("hetM", "--batch-size 1024 --epochs 16 --epsilon 2.8",
         "--clip-norm .675 --learning-rate 13.2", "dp2"),
        ("hetC", "--batch-size 256 --epochs 20 --epsilon 1",
         "--clip-norm 1.04 --learning-rate 2.13", "dp-sgd"),
    ],
)  # fmt: skip
def test_advice_at_given_and_at_default_step_sizes(cli, name, sizes, words, advice):
    for step_sizes in (words, ""):
        found = result(cli(f"plan --problem {name} {sizes} {step_sizes} --json"))
        assert found["advice"] == advice
    if name == "hetM":
        assert 624 // 80 <= found["delay"]["recommended"] <= 624 // 40


def test_text_is_told_to_use_dp_sgd(cli):
    outcome = cli(
        "plan --problem text --batch-size 256 --epochs 30 --epsilon 2.8 --clip-norm 2.03"
        " --learning-rate 0.83 --json"
    )
    found = result(outcome)
    assert 1.1690 <= found["noise_multiplier"] <= 1.1692
    assert found["advice"] == "dp-sgd"
    assert found["delay"]["recommended"] is None
    assert found["snr"]["at_default_delay"] < 0.15


def test_sizes_alone_give_noise_and_default_delay(cli):
    outcome = cli(SIZES, "--dimension 500 --json")
    found = result(outcome)
    assert found["steps"] == 400
    assert found["advice"] is None
    assert "no pilot was made" in found["reason"]
    assert found["delay"]["default"] == found["delay"]["recommended"] == 10
    assert found["pilot"] == {
        "steps": 0, "epsilon_spent": {"lower": 0.0, "upper": 0.0}, "losses": [],
    }  # fmt: skip
    calibrated = cli(
        "calibrate --for noise-multiplier --epsilon 2 --dataset-size 20000 --batch-size 200"
        " --epochs 4 --json"
    ).document
    assert found["noise_multiplier"] == calibrated["result"]["noise_multiplier"]
    assert "no pilot was made" in cli(SIZES).out


def test_no_pilot_touches_no_data_and_keeps_the_noise(cli):
    bare = result(cli(SMALL, "--epsilon 3 --no-pilot --json"))
    full = result(cli(SMALL, "--epsilon 3 --json"))
    assert bare["noise_multiplier"] == full["noise_multiplier"]
    assert bare["pilot"]["steps"] == 0
    assert bare["advice"] is None


def test_relation_is_heeded(cli):
    replace = result(cli(SIZES, "--relation replace-one --json"))
    assert replace["noise_multiplier"] > 1.05 * result(cli(SIZES, "--json"))["noise_multiplier"]


def test_out_and_report_are_written(cli, tmp_path):
    out, report = tmp_path / "plan.npz", tmp_path / "plan.html"
    found = result(cli(SMALL, f"--epsilon 3 --seed 6 --out {out} --report {report} --json"))
    state = load_pilot(out)
    assert state.seed == 6
    assert state.complete
    assert state.noise_multiplier == found["noise_multiplier"]
    page = report.read_text(encoding="utf-8")
    assert found["reason"].replace(">=", "&gt;=").replace("<", "&lt;")[1:] in page
    assert "://" not in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.html", "plan.npz"]


def test_interrupted_pilot_is_kept_and_owed(cli, tmp_path, monkeypatch):
    """After 11 steps the user presses Ctrl-C."""
    from dp2theory.planning.blocks import BlockMeans

    add = BlockMeans.add

    def stop(self, vector):
        add(self, vector)
        if self.steps == 11:
            raise KeyboardInterrupt

    monkeypatch.setattr(BlockMeans, "add", stop)
    out = tmp_path / "plan.npz"
    cli(SMALL, f"--epsilon 3 --json --out {out}").refused(130, "11 of 40", str(out))
    assert load_pilot(out).ledger.count == 11
    monkeypatch.chdir(tmp_path)
    cli(SMALL, "--epsilon 3").refused(130, "dp2theory-plan-interrupted.npz")
    assert load_pilot("dp2theory-plan-interrupted.npz").steps == 11


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("plan --batch-size 10 --steps 9 --epsilon 1", "--problem or --dataset-size"),
        ("plan --problem nosuch --batch-size 10 --steps 9 --epsilon 1", "hetM"),
        (f"{SMALL} --epsilon nan", "--epsilon nan"),
        (f"{SMALL} --epsilon inf", "--epsilon inf"),
        (f"{SMALL} --epsilon 0", "--epsilon 0"),
        (f"{SMALL} --epsilon 3 --delta 1", "--delta 1"),
        (f"{SMALL} --epsilon 3 --delta nan", "--delta nan"),
        (f"{SMALL} --epsilon 3 --clip-norm -1", "--clip-norm -1"),
        (f"{SMALL} --epsilon 3 --learning-rate nan", "--learning-rate nan"),
        (f"{SMALL} --epsilon 3 --seed -1", "--seed -1"),
        (f"{SMALL} --epsilon 3 --dataset-size 1400", "1500"),
        (f"{SMALL} --epsilon 3 --epochs 2", "both were given"),
        (f"{SMALL} --epsilon 3 --out /nowhere/p.npz", "/nowhere/p.npz"),
        (f"{SMALL} --epsilon 3 --report /nowhere/p.html", "/nowhere/p.html"),
        (f"{SMALL} --epsilon 3 --no-pilot --out p.npz", "--out p.npz"),
        (f"{SIZES} --out p.npz", "--out p.npz"),
        (f"{SIZES} --data u.data", "--data"),
        (f"{SIZES} --dimension 0", "--dimension 0"),
        ("plan --dataset-size 50 --batch-size 60 --epochs 1 --epsilon 1", "--batch-size 60"),
        ("plan --dataset-size 50 --batch-size 10 --epochs 0 --epsilon 1", "--epochs 0"),
        ("plan --problem hetM --batch-size 50000 --epochs 1 --epsilon 1", "50000"),
        (f"{SMALL} --epsilon 3 --clip-norm 1e-300", "--clip-norm 1e-300: must be in [1e-100,"),
        (f"{SMALL} --epsilon 3 --clip-norm 1e300", "--clip-norm 1e+300: must be in [1e-100,"),
        (f"{SMALL} --epsilon 3 --learning-rate 1e308", "--learning-rate 1e+308: must be in"),
        (
            "plan --problem hetM --batch-size 1024 --steps 9 --epsilon 1 --dataset-size 7",
            "--dataset-size 7: contradicts problem 'hetM', which has 40000 records",
        ),
        (
            "plan --problem hetM --batch-size 64 --steps 9 --epsilon 1 --data foo",
            "--data foo: problem 'hetM' takes none",
        ),
        (
            "plan --problem hetM --batch-size 64 --steps 9 --epsilon 1 --dimension 7",
            "--dimension 7: problem 'hetM' takes none",
        ),
        (
            "plan --problem movielens-100k --batch-size 64 --steps 9 --epsilon 1 --data /nowhere/u",
            "--data /nowhere/u: must be an existing file",
        ),
        (
            "plan --problem quadratic --batch-size 20 --steps 80 --epsilon 3 --clip-norm 1e100"
            " --learning-rate 1e100",
            "--learning-rate 1e+100: the pilot ends at train loss inf",
        ),
        ("plan --problem movielens-100k --batch-size 64 --epochs 1 --epsilon 1", "--data"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(cli, command, words):
    cli(command, "--json").refused(2, words)


@pytest.mark.parametrize(
    ("n", "d", "words"),
    [
        (999999999999999999, 20, ("n=999999999999999999", "<= 10000000")),
        (20000, 999999999999999, ("d=999999999999999", "<= 10000000")),
        (1000000000, 100000, ("n=1000000000", "<= 10000000")),
        (9000000, 100, ("n=9000000", "<= 8328333", "entries")),
        (1000000, 100000, ("d=100000", "<= 19900", "n=1000000")),
    ],
)
def test_problems_too_large_are_refused_before_anything_is_allocated(cli, n, d, words):
    tracemalloc.start()
    problem = f"het:n={n},d={d},amin=1/10,avg=5,seed=0"
    cli(f"plan --problem {problem} --batch-size 20 --steps 60 --epsilon 3").refused(2, *words)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("clip_norm", ["1e-100", "1e100"])
def test_clip_norms_at_the_ends_of_their_range(cli, clip_norm, tmp_path):
    """The clip norm is a unit: noise and default step size go with it, the advice does not."""
    report = tmp_path / "r.html"
    found = result(cli(SMALL, f"--epsilon 3 --clip-norm {clip_norm} --report {report} --json"))
    assert 0 < found["snr"]["noise_norm_at_default_delay"] / float(clip_norm) < 10
    assert report.is_file()


def test_fixed_size_batches_are_refused_with_exit_5(cli):
    cli(SMALL, "--epsilon 3 --sampling without-replacement").refused(5, "without-replacement")


@pytest.mark.parametrize(
    "place",
    ["planning.plan.judge", "planning.plan.spent_by", "planning.plan.Plan.to_json",
     "report.html.write_plan_report", "cli.plan.emit"],
)  # fmt: skip
def test_pilot_is_kept_when_the_user_stops_what_comes_after_it(cli, tmp_path, monkeypatch, place):
    def stop(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"dp2theory.{place}", stop)
    monkeypatch.chdir(tmp_path)
    out, report = tmp_path / "plan.npz", tmp_path / "plan.html"
    cli(SMALL, f"--epsilon 3 --out {out} --report {report}").refused(130, f"--plan {out}")
    cli(SMALL, f"--epsilon 3 --report {report}").refused(130, "dp2theory-plan-interrupted.npz")
    for kept in (out, "dp2theory-plan-interrupted.npz"):
        assert load_pilot(kept).complete


def test_pilot_is_kept_when_the_user_stops_its_saving(cli, tmp_path, monkeypatch):
    import os

    replace, calls = os.replace, []

    def stop_once(*names):
        calls.append(names)
        if len(calls) == 1:
            raise KeyboardInterrupt
        replace(*names)

    monkeypatch.setattr(os, "replace", stop_once)
    out = tmp_path / "plan.npz"
    cli(SMALL, f"--epsilon 3 --out {out}").refused(130, str(out))
    assert load_pilot(out).complete
    assert list(tmp_path.iterdir()) == [out]


def test_interrupt_before_the_pilot_keeps_nothing(cli, tmp_path, monkeypatch):
    from dp2theory.planning.budget import Budget

    def stop(_self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Budget, "calibrate", stop)
    monkeypatch.chdir(tmp_path)
    cli(SMALL, "--epsilon 3").refused(130, "interrupted")
    assert list(tmp_path.iterdir()) == []


def test_interrupted_where_nothing_can_be_written(cli, monkeypatch):
    def stop(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("dp2theory.planning.plan.judge", stop)
    monkeypatch.setattr("dp2theory.cli.plan.INTERRUPTED_FILE", "/proc/x.npz")
    cli(SMALL, "--epsilon 3").refused(130, "40 pilot steps", "could not be kept in /proc/x.npz")


def test_certified_values_stand_beside_the_advice(cli):
    found = result(cli(SMALL, "--epsilon 3 --damping .1 --json"))
    prior, estimate = found["certified"]["answers"]
    assert (prior["kind"], prior["delay"]) == ("a-priori", 160)
    assert estimate["kind"] == "estimate"
    assert estimate["value"] < prior["value"]
    assert estimate["inputs"]["damping"] == 0.1
    text = cli(SMALL, "--epsilon 3 --damping .1").out
    for each in (prior, estimate):
        assert each["verdict"] in text
    for words in ("dp2.CTV", "dp2.dp-sgd", "bound uninformative for s", "delays within 5 %"):
        assert words in text
    assert "certified" not in cli(SMALL, "--epsilon 3 --quiet").out


def test_without_data_the_certified_answer_says_what_is_missing(cli):
    assert "certified: nothing, without --dimension" in cli(SIZES).out
    (prior,) = result(cli(SIZES, "--dimension 500 --json"))["certified"]["answers"]
    assert prior["kind"] == "a-priori"
    assert prior["vacuous"]  # at the default damping
    cli(SIZES, "--damping 0").refused(2, "--damping 0")
    cli(SMALL, "--epsilon 3 --damping 1e-99 --clip-norm 1e100").refused(2, "--damping 1e-99:")
