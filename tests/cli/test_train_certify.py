"""`dp2theory train --certify` from the outside."""

import json

import pytest

import dp2theory.verification.certify as module
import dp2theory.verification.certify_trace as module_trace
from bounds import theorems
from tests.cli.conftest import validate
from tests.report.reading import problems

TRAIN = (
    "train --problem least-absolute-deviations --batch-size 50 --steps 60 --method dp-sgd "
    "--learning-rate 0.1 --noise-multiplier 1"
)
CERTIFY = f"{TRAIN} --certify --seeds 3"


def test_bound_and_loss_stand_side_by_side(cli):
    found = cli(CERTIFY, "--json").document["result"]
    certificate = found["certificate"]
    assert certificate["statement"] == (
        "an estimate over 3 runs, not for release: it reads raw gradients"
    )
    assert [each["theorem"] for each in certificate["bounds"]] == [
        "dp2.master", "dp2.master.best", "dp2.master.average", "dp2.dp-sgd.any-step",
    ]  # fmt: skip
    assert not certificate["violated"]
    first = certificate["bounds"][0]
    assert first["bound_interval"]["lower"] <= first["bound"] <= first["bound_interval"]["upper"]
    assert first["gap"] < first["bound"]
    assert found["method"]["settings"]["box_low"] == -1
    text = cli(CERTIFY).out
    assert certificate["statement"] in text
    assert f"{first['bound']:.6g} [" in text
    assert [each["kind"] for each in certificate["bounds"]] == ["estimate"] * 3 + ["upper"]
    assert "proved upper end" in text
    assert f"{first['gap']:.6g} [" in text
    assert "costs no privacy" in text


def test_what_dp2_runs_are_told(cli):
    dp2 = CERTIFY.replace("dp-sgd", "dp2-rmsprop")
    text = cli(dp2, "--damping 0.2 --delay 5").out
    assert "dp2.B" in text
    assert "the bounds are vacuous" in text
    assert "dp2.CTV says nothing here: " in text


def test_the_box_and_nothing_else_sets_these_runs_apart(cli):
    """Where no iterate reaches the box, runs are those without `--certify`, bit by bit."""
    boxed = cli(CERTIFY, "--json").document["result"]["method"]["runs"]
    plain = cli(TRAIN, "--seeds 3 --json").document["result"]["method"]["runs"]
    assert [each["train_loss"] for each in boxed] == [each["train_loss"] for each in plain]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--compare dp2-rmsprop", "--compare: does not go with --certify"),
        ("--pilot", "--pilot: does not go with --certify"),
        ("--public-share 0.1", "--public-share: does not go with --certify"),
        ("--tune", "--tune: does not go with --certify"),
        ("--seeds 1", "--seeds 1: --certify estimates expectations over runs"),
        ("--problem het:n=500,d=5,amin=1/10,avg=2,seed=1", "avg=2,seed=1': no box is known"),
        ("--method dp-adam", "--method 'dp-adam': no theorem here speaks of it"),
        ("--set momentum=0.5", "no theorem here speaks of it"),
        ("--clip-norm 0.5", "--clip-norm 0.5: must be at least 1, the largest norm"),
    ],
)
def test_what_is_refused(cli, options, words):
    given = CERTIFY.replace("--learning-rate 0.1", "") if "tune" in options else CERTIFY
    cli(given, options).refused(2, words)


def test_clipping_in_a_run_is_refused_before_anything_is_written(cli, tmp_path):
    out = tmp_path / "o.json"
    dp2 = CERTIFY.replace("dp-sgd", "dp2-rmsprop")
    outcome = cli(dp2, f"--preconditioned-clip-norm 0.5 --out {out}")
    outcome.refused(2, "--preconditioned-clip-norm 0.5: must be larger, it changed ")
    assert not out.exists()


def test_a_violation_is_printed_and_exits_3(cli, monkeypatch, tmp_path):
    known = dict(theorems())
    left, right = known["dp2.master"].statement.args
    known["dp2.master"] = known["dp2.master"].with_statement(left <= right / 100)
    monkeypatch.setattr(module, "theorems", lambda: known)
    report = tmp_path / "p.html"
    outcome = cli(CERTIFY, f"--json --report {report}")
    assert outcome.code == 3
    document = json.loads(outcome.out)
    validate(document)
    assert document["status"] == "violated"
    page = report.read_text()
    assert "<div class='verdict broken'><strong>Violated" in page
    assert "<p id='dp2.master'>" in page
    assert problems(page, document) == []
    outcome = cli(CERTIFY)
    assert outcome.code == 3
    assert "NO" in outcome.out
    assert "violated: dp2.master: " in outcome.err


def test_an_interrupted_run_is_kept_and_owed(cli, monkeypatch, tmp_path):
    seen = []
    whole = module_trace.InBox.apply

    def stop(self, *given):
        seen.append(0)
        if len(seen) == 70:
            raise KeyboardInterrupt
        return whole(self, *given)

    monkeypatch.setattr(module_trace.InBox, "apply", stop)
    out = tmp_path / "o.json"
    assert cli(CERTIFY, f"--out {out}").code == 130
    kept = json.loads(out.read_text())
    validate(kept)
    assert kept["status"] == "interrupted"
    assert [run["steps"] for run in kept["result"]["method"]["runs"]] == [60, 10]
    assert "certificate" not in kept["result"]
