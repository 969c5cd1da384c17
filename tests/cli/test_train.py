"""`dp2theory train` from the outside: ledgers, pairing, plans that are continued, refusals."""

import json
import math

import pytest

from tests.cli.conftest import validate
from tests.report.reading import problems

PROBLEM = "--problem het:n=1500,d=20,amin=1/10,avg=4,seed=7 --batch-size 100 --steps 160"
TRAIN = f"train {PROBLEM}"
BOTH = "--method dp2-rmsprop --compare dp-sgd"


def result(outcome):
    return outcome.document["result"]


@pytest.fixture
def plan_file(cli, tmp_path):
    path = tmp_path / "plan.npz"
    cli(f"plan {PROBLEM}", f"--epsilon 3 --seed 2 --out {path}")
    return path


def test_comparison_is_paired_and_its_epsilon_comes_from_the_ledger(cli):
    found = result(cli(TRAIN, BOTH, "--epsilon 3 --seeds 3 --json"))
    assert 3 * (1 - 1e-8) < found["epsilon"]["upper"] <= 3
    assert found["releases"] == found["steps"] == 160
    assert found["compare"]["epsilon"] == found["epsilon"]
    assert [run["seed"] for run in found["method"]["runs"]] == [0, 1, 2]
    assert [run["seed"] for run in found["compare"]["runs"]] == [0, 1, 2]
    ours, theirs = (
        [run["train_loss"] for run in found[name]["runs"]] for name in ("method", "compare")
    )
    paired = found["paired"]
    assert paired["difference"]["mean"] == pytest.approx(
        sum(a - b for a, b in zip(ours, theirs, strict=True)) / 3
    )
    assert paired["ratio"]["value"] == pytest.approx(sum(ours) / sum(theirs))
    assert paired["difference"]["interval"]["lower"] < paired["difference"]["mean"]


def test_text_prints_means_interval_and_ledger(cli):
    found = result(cli(TRAIN, BOTH, "--epsilon 3 --seeds 2 --json"))
    text = cli(TRAIN, BOTH, "--epsilon 3 --seeds 2").out
    assert "95% interval [" in text
    assert "(2 paired seeds)" in text
    assert "by its ledger of 160 releases" in text
    assert repr(found["epsilon"]["upper"]) in text
    assert f"{found['method']['mean_train_loss']:.4g}" in text
    assert "Neither method was tuned here" in text
    assert (
        float(cli(TRAIN, BOTH, "--epsilon 3 --seeds 2 --quiet").out)
        == (found["paired"]["ratio"]["value"])
    )


def test_seeds_are_reproducible_one_by_one(cli):
    several = result(cli(TRAIN, "--method dp-sgd --epsilon 3 --seeds 3 --json"))
    alone = result(cli(TRAIN, "--method dp-sgd --epsilon 3 --seed 2 --json"))
    assert alone["method"]["runs"][0] == several["method"]["runs"][2]


def test_noise_multiplier_instead_of_epsilon(cli):
    found = result(cli(TRAIN, "--method dp-sgd --noise-multiplier 1.5 --json"))
    account = cli(
        "account --dataset-size 1500 --batch-size 100 --steps 160 --noise-multiplier 1.5 --json"
    ).document["result"]
    assert found["noise_multiplier"] == 1.5
    assert found["epsilon"] == account["epsilon"]


def test_methods_without_noise_have_no_epsilon(cli):
    found = result(cli(TRAIN, "--method dp-sgd --compare sgd --epsilon 3 --json"))
    assert found["compare"]["epsilon"] == {"lower": "inf", "upper": "inf"}
    assert found["epsilon"]["upper"] <= 3
    alone = result(cli(TRAIN, "--method rmsprop --json"))
    assert alone["epsilon"]["upper"] == "inf"


def test_plan_is_continued_for_t_releases_in_all(cli, plan_file):
    planned = result(cli(f"plan {PROBLEM}", "--epsilon 3 --seed 2 --json"))
    found = result(cli(f"train --plan {plan_file} --method dp2-rmsprop --json"))
    assert found["noise_multiplier"] == planned["noise_multiplier"]
    assert found["releases"] == found["steps"] == 160
    assert found["epsilon"]["upper"] == pytest.approx(planned["epsilon"]["upper"], rel=1e-9)
    run = found["method"]["runs"][0]
    assert run["pilot_steps"] == 40
    assert run["losses"][0] == planned["pilot"]["losses"][0]["train_loss"]
    # The bite: the 120 steps after the switch alone would have cost less.
    rest = cli(
        "account --dataset-size 1500 --batch-size 100 --steps 120 --json",
        f"--noise-multiplier {planned['noise_multiplier']!r}",
    ).document["result"]
    assert rest["epsilon"]["upper"] < 0.95 * found["epsilon"]["lower"]


def test_a_plans_learning_rate_is_dp_sgds_alone(cli, plan_file):
    """Those of methods that divide by a root of second moments are of another kind."""
    planned = result(cli(f"train --plan {plan_file} --method dp-sgd --json"))["method"]["settings"]
    for method in ("dp-rmsprop", "dp-adam"):
        own = result(cli(f"train --plan {plan_file} --method {method} --json"))["method"][
            "settings"
        ]
        alone = result(cli(TRAIN, f"--method {method} --epsilon 3 --json"))["method"]["settings"]
        assert own["learning_rate"] == alone["learning_rate"] < planned["learning_rate"]


def test_plan_without_a_method_runs_what_it_advises(cli, plan_file):
    planned = result(cli(f"plan {PROBLEM}", "--epsilon 3 --seed 2 --json"))
    document = cli(f"train --plan {plan_file} --json").document
    expected = "dp-sgd" if planned["advice"] == "dp-sgd" else "dp2-rmsprop"
    assert document["inputs"]["method"] == {"value": expected, "unit": "name", "default": True}
    assert document["result"]["method"]["runs"][0]["delay"] == planned["delay"]["recommended"]


def test_online_run_equals_plan_then_train(cli, plan_file):
    """`--pilot` makes the pilot and goes on; `plan` and `train --plan` do it in two calls."""
    step_sizes = "--learning-rate 0.4 --clip-norm 1 --adaptive-learning-rate 0.01"
    twice = result(
        cli(f"train --plan {plan_file} --method dp2-rmsprop --seed 2 {step_sizes} --json")
    )
    once = result(
        cli(TRAIN, f"--method dp2-rmsprop --pilot --epsilon 3 --seed 2 {step_sizes}"
            " --compare dp-sgd --compare-learning-rate 1 --json")
    )  # fmt: skip
    ours, theirs = once["method"]["runs"][0], twice["method"]["runs"][0]
    assert ours["train_loss"] == theirs["train_loss"]
    assert ours["delay"] == theirs["delay"]
    assert once["releases"] == 160


def test_the_ledger_is_written_and_accounts_to_the_same(cli, plan_file, tmp_path):
    ledger = tmp_path / "ledger.json"
    options = f"--method dp2-rmsprop --compare dp-sgd --discarded-pilot {plan_file}"
    found = result(cli(TRAIN, options, f"--epsilon 3 --ledger {ledger} --json"))
    epsilon = result(cli(f"account --event {ledger} --dataset-size 1500 --json"))["epsilon"]
    assert epsilon["upper"] == pytest.approx(found["epsilon"]["upper"], rel=1e-9)
    # The bite: what the run itself released is less.
    alone = result(cli(TRAIN, f"--method dp-sgd --noise-multiplier {found['noise_multiplier']!r}",
                       f"--ledger {ledger} --json"))  # fmt: skip
    epsilon = result(cli(f"account --event {ledger} --dataset-size 1500 --json"))["epsilon"]
    assert epsilon["upper"] == pytest.approx(alone["epsilon"]["upper"], rel=1e-9)
    assert epsilon["upper"] < 0.99 * found["epsilon"]["lower"]


def test_discarded_pilot_is_accounted(cli, plan_file):
    more = result(
        cli(TRAIN, f"--method dp-sgd --noise-multiplier 1.5 --discarded-pilot {plan_file} --json")
    )
    plain = result(cli(TRAIN, "--method dp-sgd --noise-multiplier 1.5 --json"))
    assert more["releases"] == 200
    assert more["discarded_pilot"]["steps"] == 40
    assert more["epsilon"]["lower"] > 1.05 * plain["epsilon"]["upper"]
    # Within a budget the run has to make room for it.
    fitted = result(cli(TRAIN, f"--method dp-sgd --epsilon 3 --discarded-pilot {plan_file} --json"))
    alone = result(cli(TRAIN, "--method dp-sgd --epsilon 3 --json"))
    assert fitted["epsilon"]["upper"] <= 3
    assert fitted["noise_multiplier"] > 1.03 * alone["noise_multiplier"]


def test_tuning_is_on_other_seeds_and_says_it_is_not_accounted(cli):
    document = cli(TRAIN, BOTH, "--epsilon 3 --tune --tune-seeds 1 --json").document
    tuning = document["result"]["tuning"]
    assert set(tuning) == {"dp-sgd", "dp2-rmsprop"}
    assert len(tuning["dp-sgd"]["grid"]) == 12
    assert len(tuning["dp2-rmsprop"]["grid"]) == 19
    evaluated = {run["seed"] for run in document["result"]["method"]["runs"]}
    for search in tuning.values():
        assert not evaluated & set(search["seeds"])
        best = min(search["grid"], key=lambda row: float(row["mean_loss"]))
        assert best["learning_rate"] == search["optimizer"]["learning_rate"]
    settings = document["result"]["compare"]["settings"]
    assert settings["learning_rate"] == tuning["dp-sgd"]["optimizer"]["learning_rate"]
    assert any("not accounted" in note for note in document["result"]["notes"])
    assert not any("Neither method was tuned" in note for note in document["result"]["notes"])


def test_tuned_from_the_pilot(cli, plan_file):
    document = cli(TRAIN, BOTH, "--epsilon 3 --tune --tune-seeds 1 --pilot --json").document
    assert set(document["result"]["tuning"]) == {"dp-sgd", "dp2-rmsprop from the pilot"}
    assert document["result"]["method"]["runs"][0]["pilot_steps"] == 40
    continued = cli(f"train --plan {plan_file} --tune --tune-seeds 1 --method dp2-rmsprop --json")
    assert set(continued.document["result"]["tuning"]) == {"dp2-rmsprop from the pilot"}


def test_out_and_report_are_written(cli, tmp_path):
    out, report = tmp_path / "r.json", tmp_path / "r.html"
    printed = cli(TRAIN, BOTH, f"--epsilon 3 --seeds 2 --out {out} --report {report} --json")
    document = json.loads(out.read_text())
    validate(document)
    assert document == printed.document
    page = report.read_text(encoding="utf-8")
    assert "http:" not in page
    assert "https:" not in page
    assert "2 paired seeds" in page
    assert problems(page, document) == []
    for words in ("as JSON</summary>", "dp2theory train --problem", "dp-accounting</dt>",
                  "<dt>seeds</dt><dd>0 to 1</dd>"):  # fmt: skip
        assert words in page, words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]


def interrupt_at(monkeypatch, step):
    """Ctrl-C at the release number `step` of the whole command."""
    from dp2theory.optimizers import protocol

    release, seen = protocol.release_mean, [0]

    def stop(*args, **kwargs):
        seen[0] += 1
        if seen[0] == step:
            raise KeyboardInterrupt
        return release(*args, **kwargs)

    monkeypatch.setattr(protocol, "release_mean", stop)


def test_interrupted_training_keeps_what_is_there(cli, tmp_path, monkeypatch):
    out = tmp_path / "r.json"
    interrupt_at(monkeypatch, 160 * 3 + 50)  # two runs of each but the last, of which 49 steps
    cli(TRAIN, BOTH, f"--epsilon 3 --seeds 4 --out {out}").refused(130, "3 finished runs", str(out))
    document = json.loads(out.read_text())
    validate(document)
    assert document["status"] == "interrupted"
    kept = document["result"]
    assert [run["completed"] for run in kept["method"]["runs"]] == [True, True]
    assert [run["completed"] for run in kept["compare"]["runs"]] == [True, False]
    assert kept["compare"]["runs"][1]["steps"] == 49
    assert kept["paired"]["pairs"] == 1


def test_interrupted_while_tuning(cli, tmp_path, monkeypatch):
    from dp2theory.optimizers.batches import PoissonSampler

    monkeypatch.chdir(tmp_path)
    sample, seen = PoissonSampler.sample, [0]

    def stop(*args):  # at a batch: grids run in lockstep, without `release_mean`
        seen[0] += 1
        if seen[0] == 1000:
            raise KeyboardInterrupt
        return sample(*args)

    monkeypatch.setattr(PoissonSampler, "sample", stop)
    cli(TRAIN, BOTH, "--epsilon 3 --tune --json").refused(130, "dp2theory-train-interrupted.json")
    document = json.loads((tmp_path / "dp2theory-train-interrupted.json").read_text())
    validate(document)
    assert document["result"]["method"] is None


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("train --method dp-sgd --batch-size 9 --steps 9 --epsilon 1", "--problem is wanted"),
        ("train --problem hetM --method dp-sgd --steps 9 --epsilon 1", "--batch-size is wanted"),
        (f"{TRAIN} --epsilon 1", "--method is wanted"),
        (f"{TRAIN} --method nonsense --epsilon 1", "dp2-rmsprop"),
        (f"{TRAIN} --method dp-sgd", "none given"),
        (f"{TRAIN} --method dp-sgd --epsilon 1 --noise-multiplier 1", "both given"),
        (f"{TRAIN} --method dp-sgd --epsilon nan", "--epsilon nan"),
        (f"{TRAIN} --method dp-sgd --noise-multiplier 0", "--noise-multiplier 0"),
        (f"{TRAIN} --method dp-sgd --compare dp-sgd --epsilon 1", "the method itself"),
        (f"{TRAIN} --method dp-sgd --compare nonsense --epsilon 1", "'nonsense'"),
        (f"{TRAIN} --method dp-sgd --delay 3 --epsilon 1", "--delay 3:"),
        (f"{TRAIN} --method dp2-rmsprop --delay 0 --epsilon 1", "delay"),
        (f"{TRAIN} --method dp2-rmsprop --sgd-steps 3 --epsilon 1", "adaptive_steps"),
        (f"{TRAIN} --method dp-sgd --compare-clip-norm 1 --epsilon 1", "--compare"),
        (f"{TRAIN} --method dp-sgd --clip-norm 0 --epsilon 1", "--clip-norm 0"),
        (f"{TRAIN} --method dp-sgd --seeds 0 --epsilon 1", "--seeds 0"),
        (f"{TRAIN} --method dp-sgd --seed -1 --epsilon 1", "--seed -1"),
        (f"{TRAIN} {BOTH} --epsilon 1 --tune --clip-norm 1", "--clip-norm 1"),
        (f"{TRAIN} --method sgd --compare dp-sgd --epsilon 1 --tune", "sgd has no grid"),
        (f"{TRAIN} --method sgd --pilot", "has no noise"),
        (f"{TRAIN} --method dp-sgd --epsilon 1 --seed 4294967296 --tune", "4294967296"),
        (f"{TRAIN} --method dp-sgd --epsilon 1 --out /nowhere/r.json", "/nowhere"),
        (f"{TRAIN} --method dp-sgd --epsilon 1 --plan absent.npz", "absent.npz"),
        (
            f"{TRAIN} --method dp2-rmsprop --epsilon 1 --learning-rate 1e308",
            "--learning-rate 1e+308: must be in",
        ),
        (f"{TRAIN} --method dp-sgd --epsilon 1 --clip-norm inf", "--clip-norm inf: must be in"),
        (f"{TRAIN} --method dp-sgd --epsilon 1 --clip-norm 1e300", "--clip-norm 1e+300: must be"),
        (
            f"{TRAIN} --method dp-sgd --epsilon 1 --compare sgd --compare-learning-rate nan",
            "--compare-learning-rate nan: must be in",
        ),
        (
            f"{TRAIN} --method dp2-rmsprop --epsilon 1 --preconditioned-clip-norm 0",
            "--preconditioned-clip-norm 0.0: must be in",
        ),
        (f"{TRAIN} --method dp2-rmsprop --epsilon 1 --damping 0", "--damping 0.0: must be"),
        (
            "train --problem quadratic --batch-size 9 --steps 9 --method sgd --learning-rate 1e100",
            "learning_rate: the run of sgd on quadratic diverged",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(cli, command, words):
    cli(command, "--json").refused(2, words)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--problem hetC", "--problem 'hetC':"),
        ("--problem het:n=1500,d=20,amin=1/10,avg=4,seed=8", "seed=8"),
        ("--batch-size 101", "--batch-size 101"),
        ("--steps 161", "--steps 161"),
        ("--epochs 10", "--steps 150"),
        ("--epsilon 3.1", "--epsilon 3.1"),
        ("--noise-multiplier 9", "--noise-multiplier 9"),
        ("--delta 1e-6", "--delta 1e-06"),
        ("--relation replace-one", "--relation replace-one"),
        ("--sampling without-replacement", "--sampling without-replacement"),
        ("--sampling with-replacement", "--sampling with-replacement"),
        ("--pilot", "--pilot"),
        ("--method sgd", "no noise"),
    ],
)
def test_a_plan_is_continued_only_on_what_it_was_made_for(cli, plan_file, words, complaint):
    cli(f"train --plan {plan_file} {words}").refused(2, complaint)


def test_damaged_plan_is_refused(cli, plan_file):
    plan_file.write_bytes(plan_file.read_bytes()[:-100])
    cli(f"train --plan {plan_file}").refused(2, "plan.npz", "damaged")


def test_discarded_pilot_of_other_records_is_refused(cli, plan_file):
    cli(
        "train --problem het:n=1500,d=20,amin=1/10,avg=4,seed=8 --batch-size 100 --steps 160"
        f" --method dp-sgd --epsilon 3 --discarded-pilot {plan_file}"
    ).refused(2, "--discarded-pilot")


def test_the_plans_own_pilot_is_not_discarded_as_well(cli, plan_file, tmp_path):
    copy = tmp_path / "copy.npz"
    copy.write_bytes(plan_file.read_bytes())
    for path in (plan_file, copy):
        cli(f"train --plan {plan_file} --discarded-pilot {path}").refused(
            2, "--discarded-pilot", "--plan"
        )


def test_a_discarded_pilot_beside_a_plan_exceeds_its_budget(cli, plan_file, tmp_path):
    other = tmp_path / "other.npz"
    cli(f"plan {PROBLEM} --epsilon 3 --seed 5 --out {other}")
    outcome = cli(f"train --plan {plan_file} --discarded-pilot {other} --json")
    found = result(outcome)
    assert found["releases"] == 200
    assert found["epsilon"]["lower"] > 3
    assert found["discarded_pilot"]["budget_exceeded"] is True
    assert any("exceeds the budget" in note for note in found["notes"])
    warning = outcome.err.splitlines()
    assert len(warning) == 1
    assert warning[0].startswith("dp2theory: warning: ")
    assert f"{found['epsilon']['upper']:.6g}" in warning[0]
    # Within a budget that makes room for it there is nothing to warn of.
    roomy = cli(TRAIN, f"--method dp-sgd --epsilon 3 --discarded-pilot {other} --json")
    assert roomy.err == ""
    assert result(roomy)["discarded_pilot"]["budget_exceeded"] is False


def test_a_method_without_noise_has_no_discarded_pilot(cli, plan_file):
    cli(TRAIN, f"--method sgd --discarded-pilot {plan_file}").refused(
        2, "--discarded-pilot", "no noise"
    )


def test_runs_are_kept_when_the_user_stops_the_report(cli, tmp_path, monkeypatch):
    def stop(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("dp2theory.report.html_runs.write_runs_report", stop)
    monkeypatch.chdir(tmp_path)
    cli(TRAIN, "--method dp-sgd --epsilon 3 --report r.html").refused(130, "1 finished runs")
    document = json.loads((tmp_path / "dp2theory-train-interrupted.json").read_text())
    validate(document)
    assert document["result"]["method"]["runs"][0]["completed"]


@pytest.mark.slow
@pytest.mark.parametrize("start", ["", "--pilot"])
@pytest.mark.parametrize(
    "problem", ["hetM --batch-size 1024 --epochs 16", "hetD --batch-size 512 --epochs 20"]
)
def test_tuned_dp2_beats_tuned_dp_sgd_where_the_gate_says_so(cli, problem, start):
    """Both by their grids, 8 seeds: at most 0.97 of DP-SGD's mean final train loss."""
    found = result(
        cli(f"train --problem {problem} {BOTH} --epsilon 2.8 --seeds 8 --tune {start} --json")
    )
    assert found["paired"]["ratio"]["value"] <= 0.97
    assert found["paired"]["ratio"]["interval"]["upper"] < 1
    assert math.isclose(found["epsilon"]["upper"], 2.8, rel_tol=1e-8)
