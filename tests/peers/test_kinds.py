"""What a run on the peers has to find, with any seed; and that looking for it is no formality."""

import json

import pytest

from tests.peers.__main__ import main
from tests.peers.kinds import KINDS, missing
from tests.peers.lock import TARGET, differences
from tests.repo.project import ROOT

REPORT = json.loads((ROOT / "docs" / "peers" / "report.json").read_text(encoding="utf-8"))


def test_the_published_run_has_all_kinds():
    assert missing(REPORT) == []


def test_a_run_without_violations_has_none_of_them():
    audits = [{**audit, "understatements": [], "violations": []} for audit in REPORT["audits"]]
    assert missing({**REPORT, "audits": audits}) == list(KINDS)


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_every_seed_finds_all_kinds_within_ten_minutes(seed, tmp_path):
    if differences():
        pytest.skip(f"not the locked environment: `{TARGET}` makes it")
    file = tmp_path / "report.json"
    assert main(["--seed", str(seed), "--json", str(file)]) == 0
    report = json.loads(file.read_text(encoding="utf-8"))
    assert missing(report) == []
    assert sum(audit["cpu_seconds"] for audit in report["audits"]) < 600
