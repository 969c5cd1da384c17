"""The page, the tables and the pictures of an audit."""

import json

import pytest

from dp2theory.report import audit, audit_plots, audit_tables, html_page, plots
from tests.laws.made_report import FOUND, INFINITY, LAWS, finding, made_report
from tests.report.test_html import Reader, self_contained


def document(**changes):
    report = made_report(**changes)
    entry = {"value": "mine:<Mine>", "unit": "name", "default": False}
    return {
        "schema": "dp2theory/audit-accountant/1",
        "version": "9.8.7",
        "command": "audit-accountant",
        "inputs": {"accountant": entry},
        # through text: only plain JSON may be needed
        "result": json.loads(json.dumps(report.to_json(), allow_nan=False)),
        "status": "ok" if report.ok else "violated",
    }


def axes():
    with plots.styled():
        return plots.new_figure()[1][0]


@pytest.fixture
def page(tmp_path):
    audit.write_audit_report(tmp_path / "audit.html", document())
    return (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_page_is_self_contained_and_escaped(page):
    reader = self_contained(page)
    assert "img" in reader.tags
    assert "a <proof>" in reader.text
    assert "<proof>" not in page


def test_page_has_every_finding_worst_first_and_every_verdict(page):
    text = Reader(page).text
    places = [text.index(heading) for _, heading in audit_tables.GROUPS]
    assert places == sorted(places)
    assert places[-1] < text.index("Law by law")
    for verdict, findings, note in FOUND.values():
        assert str(verdict) in text
        assert note in text
        for found in findings:
            assert found.case.describe() in text
            assert found.case.to_json()["code"] in text
    for law in LAWS:
        assert f"title of {law}" in text
    assert "Laws are violated" in text
    assert "50 % short" in text
    assert "Worst: epsilon = 0.25 where the truth is 2:" in text
    assert "dp2theory 9.8.7" in text


def test_page_of_an_accountant_without_findings(tmp_path):
    audit.write_audit_report(tmp_path / "a.html", document(laws=("L1", "L8"), version="1.2.3"))
    text = Reader((tmp_path / "a.html").read_text(encoding="utf-8")).text
    assert "Audit of mine:Mine 1.2.3" in text
    assert "No violation was found" in text
    assert (
        "nothing was found"
        in audit_plots.draw_answers(axes(), document(laws=("L1",))["result"]).texts[0].get_text()
    )


def test_a_file_that_stood_there_survives_an_error(tmp_path, monkeypatch):
    path = tmp_path / "audit.html"
    path.write_text("kept")
    monkeypatch.setattr(html_page, "page", lambda *_args, **_options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        audit.write_audit_report(path, document())
    assert path.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [path]


def points(drawn, marker):
    found = [line for line in drawn.lines if line.get_marker() == marker and len(line.get_xdata())]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in found]


def test_answers_over_the_truth():
    drawn = audit_plots.draw_answers(axes(), document()["result"])
    assert drawn.get_xscale() == "log"
    # rows: L2 (no bound), L4 (1 of 2), the contract, the suspect, the loose one
    understated = document()["result"]["understatements"]
    row = [found["law"] for found in understated].index("L4")
    assert points(drawn, "o") == [(0.5, row)]
    assert points(drawn, "s") == [(pytest.approx(0.95), 3)]
    assert points(drawn, "^") == [(2.0, 4)]
    said = [text.get_text() for text in drawn.texts]
    assert "delta = 0" in said
    assert "epsilon = nan" in said
    labels = [label.get_text() for label in drawn.get_yticklabels()]
    assert len(labels) == 5
    assert labels[row].startswith("L4 1000 x Poisson")
    words = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert words == ["below the truth", "other violation", "suspect", "loose"]


def test_many_findings_are_cut_and_counted():
    result = document()["result"]
    result["looseness"] = result["looseness"] * 40
    drawn = audit_plots.draw_answers(axes(), result)
    assert len(drawn.get_yticklabels()) == audit_plots.MOST
    assert f"{44 - audit_plots.MOST} more findings" in drawn.get_xlabel()


def test_verdicts_have_a_cell_each():
    result = document()["result"]
    result["results"].append(dict(result["results"][0], relation="REPLACE_ONE"))
    drawn = audit_plots.draw_verdicts(axes(), result)
    assert len(drawn.patches) == len(LAWS) + 1
    assert [label.get_text() for label in drawn.get_xticklabels()] == [
        "add-or-remove-one",
        "replace-one",
    ]
    assert {text.get_text() for text in drawn.get_legend().get_texts()} == set(audit_plots.VERDICTS)


def test_text_that_looks_like_a_formula_is_shown_as_it_is():
    result = document()["result"]
    result["violations"][0] |= {"value": "$\\frac{", "case_text": "$x"}
    with plots.styled():
        plots.to_data_uri(audit_plots.audit_figure(result))


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (finding(), "50 % short"),
        (finding(value=0.0), "100 % short"),
        (finding(value=0.0, truth=(INFINITY, INFINITY)), "no finite bound"),
        (finding(value=-1.0), "–"),
        (finding(value="nan"), "–"),
        (finding(value=INFINITY), "–"),
        (finding(value=0.5, truth=None), "–"),
    ],
)
def test_how_far_off(made, told):
    assert audit_tables.off_by(made.to_json()) == told


def test_summary_names_the_worst_epsilon():
    result = document()["result"]
    told = audit_tables.summary(result)
    assert told.startswith("3 confirmed violations of the laws; worst under-statement: ")
    # a delta of 0 falls short by more, but is no epsilon
    assert "epsilon = 0.25 where the truth is 2:" in told
    assert audit_tables.summary(document(laws=("L1", "L3"))["result"]) == (
        "no violation of the laws was found"
    )
