"""`dp2theory plan --method snapshot`: the promised answers, the command to run, refusals."""

import json
import shlex

import jsonschema
import pytest
from dp_accounting import GaussianDpEvent

from tests.cli.conftest import validate
from tests.report.reading import problems

SIZES = "plan --method snapshot --dataset-size 20000 --batch-size 256 --epochs 20 --epsilon 2.8"
SMALL = (
    "plan --method snapshot --problem het:n=400,d=12,amin=1/10,avg=4,seed=7 --batch-size 40"
    " --steps 20 --epsilon 4"
)


def result(outcome):
    return outcome.document["result"]


def test_sizes_alone_are_enough(cli):
    document = cli(SIZES, "--json").document
    found = document["result"]
    assert document["command"] == "plan"
    assert found["settings"]["refreshes"] == 1
    assert 1.0265 < found["noise_multiplier"] < 1.0266
    assert 1.0121 < found["noise_multiplier_without"] < 1.0123
    assert found["epsilon"]["lower"] <= found["epsilon"]["upper"] <= 2.8
    assert found["snapshot_share"] == pytest.approx(0.05)
    assert [r["what"] for r in found["releases"]] == ["histogram", "snapshot", "gradient"]
    assert [r["count"] for r in found["releases"]] == [1, 1, 1560]
    assert found["reach"] is None
    assert "--problem NAME" in found["train_command"]


def test_json_and_plain_text_agree(cli):
    found = result(cli(SIZES, "--dimension 301 --json"))
    text = cli(SIZES, "--dimension 301").out
    for value in (
        found["noise_multiplier"],
        found["noise_multiplier_without"],
        found["settings"]["snapshot_noise_multiplier"],
        found["settings"]["histogram_noise_multiplier"],
        found["epsilon"]["upper"],
    ):
        assert repr(value) in text
    assert found["train_command"] in text
    assert found["events"] in text
    assert found["reach"] == pytest.approx(20_000 / (301**0.5 * 6.39986), rel=1e-4)
    sigma0, refreshes, sigma = cli(SIZES, "--quiet").out.split()
    assert [float(sigma0), int(refreshes), float(sigma)] == [
        found["settings"]["snapshot_noise_multiplier"], 1, found["noise_multiplier"],
    ]  # fmt: skip


def test_a_page_is_written_with_the_ledger_of_the_whole(cli, tmp_path):
    report = tmp_path / "p.html"
    document = cli(SIZES, f"--json --report {report}").document
    page = report.read_text()
    assert problems(page, document) == []
    assert "Snapshot plan: sizes only" in page
    assert "1560 times" in page
    assert "seed</dt><dd>none: nothing random is in it" in page
    assert f"report: {report}" in cli(SIZES, f"--report {report}").out


@pytest.mark.parametrize("extra", ["", "--refreshes 3", "--statistic-clip-norm 0.4 --refreshes 2"])
def test_the_printed_command_runs_what_was_planned(cli, extra):
    planned = result(cli(SMALL, extra, "--json"))
    words = shlex.split(planned["train_command"])
    assert words[0] == "dp2theory"
    outcome = cli(*words[1:], "--json --quiet")
    trained = result(outcome)
    assert trained["noise_multiplier"] == planned["noise_multiplier"]
    arm = trained["method"]
    assert arm["epsilon"] == planned["epsilon"]
    for name, value in planned["settings"].items():
        assert arm["settings"][name] == value
    assert json.dumps(arm["runs"][0]).count("diverged") == 0


def test_a_public_clip_norm_saves_the_histogram(cli):
    found = result(cli(SIZES, "--statistic-clip-norm 0.5 --json"))
    assert found["histogram_share"] == 0
    assert [r["what"] for r in found["releases"]] == ["snapshot", "gradient"]
    assert found["noise_multiplier"] < result(cli(SIZES, "--json"))["noise_multiplier"]
    assert any("public constant" in note for note in found["notes"])


def test_several_snapshots_share_the_same_part_of_the_budget(cli):
    one, four = result(cli(SIZES, "--json")), result(cli(SIZES, "--refreshes 4 --json"))
    assert four["settings"]["period"] == 390
    assert four["settings"]["snapshot_noise_multiplier"] == pytest.approx(
        2 * one["settings"]["snapshot_noise_multiplier"]
    )
    assert four["noise_multiplier"] == pytest.approx(one["noise_multiplier"], rel=1e-6)


def test_fixed_size_batches_are_planned_too(cli):
    words = "plan --method snapshot --dataset-size 900 --batch-size 30 --steps 40 --epsilon 3"
    found = result(cli(words, "--sampling without-replacement --json"))
    assert found["epsilon"]["upper"] <= 3
    assert found["noise_multiplier"] > found["noise_multiplier_without"]


def test_events_name_every_release(cli):
    found = result(cli(SIZES, "--json"))
    sigma0 = found["settings"]["snapshot_noise_multiplier"]
    assert repr(GaussianDpEvent(sigma0)) in found["events"]
    assert "count=1560" in found["events"]


def test_few_records_are_warned_of(cli):
    words = "plan --method snapshot --dataset-size 300 --batch-size 30 --steps 40 --epsilon 1"
    notes = " ".join(result(cli(words, "--dimension 5000 --json"))["notes"])
    assert "histogram" in notes
    assert "its floor" in notes


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--refreshes 0", "--refreshes 0"),
        ("--refreshes 1561", "--refreshes 1561"),
        ("--statistic-clip-norm 0", "--statistic-clip-norm 0"),
        ("--statistic-clip-norm nan", "--statistic-clip-norm nan"),
        ("--out pilot.npz", "--out pilot.npz"),
        ("--damping 0.1", "--damping 0.1"),
    ],
)
def test_refusals(cli, words, named):
    cli(SIZES, words).refused(2, named)


def test_shuffled_epochs_are_not_supported(cli):
    cli(SIZES, "--sampling shuffled-epochs").refused(5, "shuffled-epochs")


def test_its_options_need_the_method(cli):
    words = "plan --dataset-size 20000 --batch-size 256 --epochs 20 --epsilon 2.8"
    cli(words, "--refreshes 2").refused(2, "--refreshes 2", "--method snapshot")
    cli(words, "--statistic-clip-norm 1").refused(2, "--method snapshot")
    cli(words, "--method adam").refused(2, "--method", "dp2, snapshot")


def test_the_schema_keeps_the_two_plans_apart(cli):
    document = cli(SIZES, "--json").document
    for broken in (
        document | {"result": document["result"] | {"snapshot_share": "much"}},
        document | {"result": {k: v for k, v in document["result"].items() if k != "releases"}},
        document | {"inputs": {k: v for k, v in document["inputs"].items() if k != "refreshes"}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            validate(broken)


def test_groups_of_records_are_accounted_for_both_plans(cli):
    words = "--dataset-size 2000 --batch-size 50 --steps 80 --epsilon 1 --group-size 3 --json"
    for method in ("dp2", "snapshot"):
        document = cli(f"plan --method {method}", words).document
        group = document["result"]["group"]
        assert group["size"] == 3
        assert group["epsilon"]["upper"] > 2 * document["result"]["epsilon"]["upper"]
        assert document["inputs"]["unit_of_privacy"]["value"] == "a record"  # of the budget
    text = cli("plan --method snapshot", words.replace("--json", "")).out
    assert f"for groups of 3 records: epsilon in [{group['epsilon']['lower']!r}" in text
    assert "group" not in result(cli(SIZES, "--json"))
    cli(SIZES, "--group-size 0").refused(2, "--group-size 0")
