"""The page is what the report says, and the report is about the locked versions."""

import json
from collections import Counter

import pytest

from accountants.laws import adapters
from tests.peers.lock import locked
from tests.peers.page import page
from tests.repo.project import ROOT

FOLDER = ROOT / "docs" / "peers"
REPORT = json.loads((FOLDER / "report.json").read_text(encoding="utf-8"))
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_page_is_made_from_the_report():
    assert page(REPORT) == PAGE


def test_the_report_is_about_the_lock_and_every_peer():
    pinned = locked()
    assert REPORT["versions"] == {name: pinned[name] for name in REPORT["versions"]}
    assert {audit["package"] for audit in REPORT["audits"]} == set(REPORT["versions"])
    peers = [name for name in adapters.names() if not name.startswith("ours-")]
    assert [audit["name"] for audit in REPORT["audits"]] == peers
    for audit in REPORT["audits"]:
        assert audit["version"] == pinned[audit["package"]]
        assert (audit["seed"], audit["max_examples"]) == (REPORT["seed"], REPORT["max_examples"])


def test_all_accountants_together_take_less_than_ten_minutes():
    assert sum(audit["cpu_seconds"] for audit in REPORT["audits"]) < 600


def section(name: str) -> str:
    return PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("audit", REPORT["audits"], ids=lambda audit: audit["name"])
def test_answers_below_the_truth_come_first_and_are_confirmed(audit):
    text = section(audit["name"])
    places = [text.find(title) for title in ("Below the truth:", "Other violations:", "All laws:")]
    assert (places[0] >= 0) == bool(audit["understatements"])
    assert (places[1] >= 0) == bool(audit["violations"])
    there = [place for place in places if place >= 0]
    assert there == sorted(there)
    for finding in audit["understatements"]:
        assert finding["confirmed_by"]
        assert finding["kind"] == "understatement"
        assert f"| {finding['law']} | {finding['clause']} | " in text
    for finding in audit["violations"]:
        assert finding["confirmed_by"]
        assert finding["kind"] == "contract"


def test_looseness_stands_in_a_table_of_its_own():
    table = section("Loose answers")
    count = sum(len(audit["looseness"]) for audit in REPORT["audits"])
    named = Counter(line.split(" | ")[0] for line in table.splitlines() if line.startswith("| "))
    listed = sum(named[f"| {audit['name']}"] for audit in REPORT["audits"])
    assert listed == count


def test_wording_is_neutral():
    for word in "bug wrong fault broken bad fails incorrect mistake dangerous".split():
        assert f" {word} " not in PAGE.lower(), word
