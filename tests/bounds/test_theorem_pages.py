"""The pages of the theorems are those that the theorems and their proofs give."""

import pytest

import bounds
from bounds import catalogue, listing
from bounds.curve import curve_points
from bounds.describe import describe
from bounds.proof.replay import replay_all
from dp2theory.report import theorem_indexes, theorem_pages
from dp2theory.report.tables import markdown_table
from dp2theory.report.theorem_plots import mark, save_theorem_picture
from tests.bounds import theorem_pages as written
from tests.bounds.made import MADE, made_report

AGAIN = "run make theorems"


@pytest.fixture(scope="module")
def proofs():
    return written.kept()


def test_every_theorem_has_a_page_and_a_proof_on_record(proofs):
    assert set(proofs) == set(bounds.theorems()), AGAIN
    assert written.stale() == [], AGAIN


def test_the_list_that_is_kept_is_current():
    assert listing.kept() == listing.current(), AGAIN


@pytest.mark.parametrize("id", bounds.theorems())
def test_the_page_of_a_theorem_is_current(id, proofs):
    described = describe(catalogue.theorem(id))
    assert proofs[id]["ok"]
    assert proofs[id]["fingerprint"] == written.fingerprint(described), AGAIN
    path = written.FOLDER / f"{id}.md"
    assert path.read_text(encoding="utf-8") == written.page_of(described, proofs[id]), AGAIN


def test_the_indexes_are_current(proofs):
    for path, text in written.indexes(proofs).items():
        assert path.read_text(encoding="utf-8") == text, AGAIN


@pytest.mark.parametrize("path", written.pictures(), ids=lambda path: path.stem)
def test_a_picture_is_of_the_points_that_the_theorem_gives(path):
    assert written.has_mark(path, curve_points(written.pictures()[path])), AGAIN


@pytest.mark.slow
def test_the_record_is_what_a_replay_gives(proofs):
    theorems = bounds.theorems()
    reports = replay_all(theorems)
    found = {id: written.record(describe(each), reports[id]) for id, each in theorems.items()}
    assert found == proofs, AGAIN
    assert sum(report.seconds for report in reports.values()) < 60


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr("bounds.describe.file_of", lambda _id: "bounds/dp2/made.py")

    def told(**outcome):
        return describe(MADE, made_report(**outcome))

    return told


def test_a_page_has_all_parts_and_no_times(told):
    page = theorem_pages.theorem_page(told(), picture="images/made.svg")
    for words in (
        "# dp2.made: The second moment of a clipped gradient",
        "recalled, not quoted",
        f"```math\n{MADE.latex()}\n```",
        "**clipped** (checked by code, or true by construction): gradients are clipped",
        "**noise** (promised by the caller): the noise is small",
        "| square | z3 | ok | a square grows with \\|g\\| |",
        "| known | assumed | assumed | see BLM13 |",
        "| mean | expectation: Linearity | ok | monotone |",
        "Nothing checks these:\n\n- `known`: see BLM13\n- `dp2.other: tail`, through a theorem",
        "1 of the 4 steps is assumed and listed below",
        "It stands on [dp2.other](dp2.other.md)",
        "No step stands on the assumptions `noise`.",
        "**instance**, from `square at t → t + 1`",
        "`with_noise(gradient_bound, noise_std)`",
        "bound and with\\_noise against gradient\\_bound, with noise\\_std = 0.5.",
        "](images/made.svg)",
        "- It says nothing of \\| clipping \\|.",
        "- C\\*\\*2: attained by g = C only",
        "```bibtex\n@inproceedings{li2023dp2,",
        "@book{boucheron2013concentration,",
    ):
        assert words in page
    assert page.startswith(theorem_pages.WRITTEN)
    assert "0.125" not in page
    assert "fails" not in page


def test_what_is_settled_by_nothing_says_so(told):
    plain = told()
    assert theorem_pages.verdict(plain).startswith("1 of the 4 steps is assumed")
    rules = [step["rule"] for step in plain["steps"]]
    for step in plain["steps"]:
        step["rule"] = "assumed"
    assert theorem_pages.verdict(plain).startswith("No rule settles it: it is assumed.")
    for step, rule in zip(plain["steps"], rules, strict=True):
        step["rule"] = "z3" if rule == "assumed" else rule
    assert theorem_pages.verdict(plain).startswith("Each of the 4 steps is checked")


def test_a_failing_proof_shows(told):
    page = theorem_pages.theorem_page(told(ok=False, failed=("square",)))
    assert "**The proof fails.**" in page
    assert "| square | z3 | **fails** |" in page
    row = {**listing.paper_map()[0], "proof": {"ok": False, "steps": 3, "assumed": []}}
    papers = {row["paper"]: ("Somebody (2000)", "Somebody. Something.")}
    assert "| **fails** |" in theorem_indexes.index_page([row], papers)


def test_signs_of_markdown_in_prose_are_kept_as_signs():
    assert theorem_pages.prose("E*X_t <= `a*b`\n|x|") == "E\\*X\\_t \\<= `a*b` \\|x\\|"
    assert markdown_table(("a",), [("|x|",), ("\\|x",)]).splitlines()[2:] == [
        "| \\|x\\| |",
        "| \\|x |",
    ]


def test_items_sort_as_people_count():
    items = ["Theorem 10", "Theorem 2", "", "Lemma 3"]
    assert sorted(items, key=theorem_indexes.item_order) == [
        "Lemma 3",
        "Theorem 2",
        "Theorem 10",
        "",
    ]


CURVE = {
    "id": "dp2.made",
    "along": "delay",
    "along_unit": "steps",
    "values": [1.0, 2.0, 4.0],
    "series": {"bound": [0.1 + 0.2, 1.0, 2.0], "other": [1.0, 2.0, float("inf")]},
    "fixed": {"damping": 0.1},
    "log_x": True,
    "log_y": True,
}


def test_the_same_points_give_the_same_picture(tmp_path):
    first, again, other = (tmp_path / name for name in ("a.svg", "b.svg", "c.svg"))
    save_theorem_picture(CURVE, first)
    save_theorem_picture(CURVE, again)
    assert first.read_bytes() == again.read_bytes()
    assert written.has_mark(first, CURVE)
    rounded = {**CURVE, "series": {**CURVE["series"], "bound": [0.3, 1.0, 2.0]}}
    assert mark(rounded) == mark(CURVE)
    moved = {**CURVE, "series": {**CURVE["series"], "bound": [0.3, 1.0, 2.00002]}}
    save_theorem_picture(moved, other)
    assert not written.has_mark(other, CURVE)
    assert first.stat().st_size < 40_000
    assert not written.has_mark(tmp_path / "none.svg", CURVE)
