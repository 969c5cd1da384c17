"""Pages: self-contained, escaped, and with everything the reader needs."""

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from dp2theory.report import html, html_runs
from dp2theory.report.tables import interval, number, text_table
from tests.report.results import plan_document, runs_document

PICTURE = "data:image/svg+xml;base64,"


class Reader(HTMLParser):
    """Collects tags, attributes and text, and checks that tags are balanced."""

    VOID = frozenset({"meta", "br", "img"})

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = [], [], [], []
        self.data, self._datum = [], None
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "data":
            self._datum = dict(attrs)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if self._datum is not None:
            self.data.append((self._datum, data))
            self._datum = None

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def self_contained(page):
    """Assert that a page asks nothing of a network; return what it says."""
    reader = Reader(page)
    assert not {"script", "link", "iframe", "object", "embed", "base"} & set(reader.tags)
    for name, value in reader.attributes:
        assert not name.startswith("on"), name
        if name in ("href", "xlink:href", "src", "srcset", "action"):
            if name == "href" and value.startswith("#"):  # a place on this page
                assert ("id", value[1:]) in reader.attributes
                continue
            assert value.startswith(PICTURE)
            picture = base64.b64decode(value.removeprefix(PICTURE)).decode()
            ElementTree.fromstring(picture)
            assert not re.search(r"""(href|src)=.(?!#)|url\((?!#)|<script|@import""", picture)
    for word in ("http:", "https:", "url(", "@import", "://"):
        assert word not in page, word
    told = [value for name, value in reader.attributes if name == "alt" and value]
    assert len(told) == reader.tags.count("img")
    return reader


@pytest.fixture
def plan_page(tmp_path):
    html.write_plan_report(tmp_path / "plan.html", plan_document())
    return (tmp_path / "plan.html").read_text(encoding="utf-8")


@pytest.fixture
def runs_page(tmp_path):
    html_runs.write_runs_report(tmp_path / "runs.html", runs_document())
    return (tmp_path / "runs.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["plan_page", "runs_page"])
def test_pages_are_self_contained(kind, request):
    page = request.getfixturevalue(kind)
    assert "img" in self_contained(page).tags


def test_plan_page_has_inputs_units_figures_advice_and_reason(plan_page):
    text = Reader(plan_page).text
    for words in (
        "DP², but it is close, delay s = 7",
        "The average has ratio 0.5 <&> it is close.",
        "1.23457",
        "ε ≤ 2.8",
        "at δ = 1e-05, 400 steps in all",
        "default T // 40 = 10",
        "spent by the pilot's 100 steps",
        "dataset size",
        "40,000",
        "records",
        "learning rate",
        "13.2",
        "default or derived",
        "a note about <private> losses",
        "block length m [steps]",
        "9.8.7",
    ):
        assert words in text, words


def test_values_are_escaped(plan_page):
    assert "<hetM>" not in plan_page
    assert "&lt;hetM&gt;" in plan_page
    assert "<private>" not in plan_page


def test_plan_without_pilot_has_a_page(tmp_path):
    document = plan_document(advice=None, reason="no pilot was made")
    document["result"]["snr"] |= {"blocks": [], "at_default_delay": None}
    document["result"]["pilot"] = {
        "steps": 0, "losses": [], "epsilon_spent": {"lower": 0.0, "upper": 0.0},
    }  # fmt: skip
    html.write_plan_report(tmp_path / "p.html", document)
    text = Reader((tmp_path / "p.html").read_text(encoding="utf-8")).text
    assert "No advice: no pilot was made" in text


@pytest.mark.parametrize("advice", ["dp2", "marginal", "dp-sgd"])
def test_each_advice_is_worded(advice, tmp_path):
    html.write_plan_report(tmp_path / "p.html", plan_document(advice=advice))
    text = Reader((tmp_path / "p.html").read_text(encoding="utf-8")).text
    assert html.ADVICE_TITLES[advice] in text


def test_runs_page_has_ratio_interval_and_means(runs_page):
    text = Reader(runs_page).text
    for words in (
        "-10.9 %",
        "against DP-SGD, 2 paired seeds",
        "[ 0.88 , 0.9 ]",
        "95% interval",
        "DP²-RMSProp",
        "0.41",
        "test loss 0.42",
        "one run, released alone",
    ):
        assert words in text, words


def test_runs_page_has_settings_and_groups(tmp_path):
    document = runs_document()
    result = document["result"]
    result["method"]["settings"] |= {"noise_multiplier": 1.25, "public": {"records": 20}}
    result["group"] = {"size": 3, "epsilon": {"lower": 9.0, "upper": 10.5}}
    for run in result["method"]["runs"]:
        run["delay"] = 7
    html_runs.write_runs_report(tmp_path / "runs.html", document)
    text = Reader((tmp_path / "runs.html").read_text(encoding="utf-8")).text
    for words in (
        "ε ≤ 10.5",
        "of the same run, for 3 records of one person",
        "1.25 ≤ 2.8 20 learning rate 1, public (records 20), delay 7",
    ):
        assert words in text, words


def test_numbers_are_short_but_right():
    assert number(None) == "–"
    assert number(12345678) == "12,345,678"
    assert number(True) == "True"
    assert number(1.23456789, 3) == "1.23"
    assert interval({"lower": 0.5, "upper": 0.25}) == "[0.5, 0.25]"
    assert interval(None) == "–"


def test_text_table_aligns():
    table = text_table(("name", "x"), [("a", "1"), ("long name", "22")])
    assert table.splitlines() == [
        "name        x",
        "---------  --",
        "a           1",
        "long name  22",
    ]


def test_plan_shows_what_is_certified_with_its_theorems(plan_page):
    text = Reader(plan_page).text
    assert "What is certified" in text
    assert "a priori: s = 67, below the <bound> of DP-SGD" in text
    for words in ("estimate from the pilot", "42 to 91", "bound uninformative for s", "dp2.value"):
        assert words in text
    document = plan_document(certified={"missing": ["dimension"], "answers": []})
    assert "certified" not in " ".join(html.plan_sections(document)).lower()
