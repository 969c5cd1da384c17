"""The pages of plan, account, audit, sweep and verify: whole, offline, escaped, and right."""

import copy
import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dp2theory import files
from dp2theory.report import html_ledger, html_numbers, html_page, html_plots, tables
from dp2theory.report.html import write_plan_report
from dp2theory.report.html_account import write_account_report
from dp2theory.report.html_audit import write_optimizer_audit_report
from dp2theory.report.html_runs import write_runs_report
from dp2theory.report.html_snapshot import write_snapshot_report
from dp2theory.report.html_sweep import write_sweep_report
from dp2theory.report.html_verify import write_verify_report
from tests.report import documents
from tests.report.reading import fields, missing, problems
from tests.report.results import certified_runs, plan_document, runs_document, snapshot_document
from tests.report.test_html import self_contained


def evil_plan():
    document = plan_document(reason=documents.EVIL, notes=[documents.EVIL])
    document["inputs"]["problem"]["value"] = documents.EVIL
    document["result"]["group"] = {"size": 3, "epsilon": {"lower": 9.0, "upper": 10.5}}
    return document


def evil(document):
    """The document with a name in it that would break a page."""
    document["inputs"]["problem"]["value"] = documents.EVIL
    return document


def violated_audit():
    result = documents.audit_document()["result"]
    worst = result["worst"] | {"shown_lower": 1.98765}
    return documents.audit_document(violated=True, worst=worst, epsilon=worst)


#: Page -> what writes it, its JSON output, and fields that must be on it.
PAGES = {
    "plan": (write_plan_report, evil_plan,
             "noise_multiplier epsilon.upper epsilon.lower steps delay.recommended delay.default "
             "snr.at_default_delay pilot.epsilon_spent.upper pilot.steps group.epsilon.upper"),
    "plan, snapshot": (write_snapshot_report, lambda: evil(snapshot_document()),
                       "noise_multiplier noise_multiplier_without epsilon.upper epsilon.lower "
                       "settings.refreshes settings.period settings.snapshot_noise_multiplier "
                       "snapshot_share reach releases.0.count releases.2.noise_multiplier"),
    "train": (write_runs_report, lambda: evil(runs_document()),
              "noise_multiplier epsilon.upper epsilon.lower compare.epsilon.upper releases "
              "method.mean_train_loss compare.mean_train_loss paired.ratio.value "
              "paired.ratio.interval.upper paired.difference.mean"),
    "train, certified": (write_runs_report, lambda: evil(certified_runs()),
                         "certificate.bounds.0.bound certificate.bounds.0.bound_interval.upper "
                         "certificate.bounds.1.gap_interval.lower certificate.trivial "
                         "certificate.optimal_value certificate.bounds.0.runs_above"),
    "train, violated": (write_runs_report, lambda: evil(certified_runs(violated=True)),
                        "certificate.bounds.1.gap"),
    "account": (write_account_report, documents.account_document,
                "epsilon.upper epsilon.lower steps answers.0.epsilon.lower answers.1.epsilon.upper "
                "peers.0.value alternatives.0.epsilon.upper"),
    "account, delta": (write_account_report, documents.delta_document,
                       "delta.upper delta.lower log_delta.upper log_delta.lower"),
    "account, remaining": (write_account_report, documents.remaining_document,
                           "remaining_steps remaining_epochs spent.upper epsilon.upper "
                           "next_epsilon.lower"),
    "audit": (write_optimizer_audit_report, documents.audit_document,
              "epsilon.shown_lower epsilon.accounted.upper power confidence evidence.hits "
              "evidence.false_alarms evidence.largest_provable profile.1.shown_lower "
              "attempts.0.promise"),
    "audit, violated": (write_optimizer_audit_report, violated_audit, "epsilon.shown_lower"),
    "sweep": (write_sweep_report, documents.sweep_document,
              "runs groups.0.cells.0.epsilon.upper groups.0.cells.1.paired.ratio.value "
              "groups.0.cells.1.paired.ratio.interval.upper groups.0.cells.2.mean_train_loss "
              "groups.0.cells.2.diverged groups.0.cells.0.noise_multiplier"),
    "verify": (write_verify_report, documents.verify_document,
               "seconds counts.theorems theorems.0.slack theorems.1.seconds "
               "theorems.0.tested.0.count theorems.0.tested.0.interval.1"),
    "verify, violated": (write_verify_report, lambda: documents.verify_document(violated=True),
                         "theorems.2.slack counts.violated"),
}  # fmt: skip


@cache
def written(name):
    """A page, its JSON output, and the fields that must be on it."""
    write, document, wanted = PAGES[name]
    document = json.loads(json.dumps(document(), allow_nan=False))  # plain JSON is enough
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        write(path, document, documents.ABOUT)
        return path.read_text(encoding="utf-8"), document, wanted.split()


@pytest.fixture(params=PAGES)
def made(request):
    """Each page, once."""
    return written(request.param)


def test_pages_are_offline_and_escaped(made):
    page, _, _ = made
    reader = self_contained(page)
    assert "<script" not in page
    assert documents.EVIL in reader.text
    assert "Content-Security-Policy" in page
    assert reader.tags.count("img") >= 1
    for words in ("@media print", "prefers-color-scheme:dark", "name='viewport'"):
        assert words in page


def test_numbers_are_those_of_the_json_rounded_against_us(made):
    page, document, wanted = made
    assert problems(page, document) == []
    missing = {f"result.{field}" for field in wanted} - fields(page)
    assert not missing
    given = {
        f"inputs.{name}.value"
        for name, entry in document["inputs"].items()
        if isinstance(entry["value"], int | float) and not isinstance(entry["value"], bool)
    }
    assert given <= fields(page)


def test_nothing_is_missing_and_what_is_would_be_noticed(made):
    page, document, _ = made
    assert missing(page, document) == []
    marks = ("<h2>Inputs</h2>", "<h2>Kinds of numbers</h2>", "<dt>scipy</dt>", "<dt>seed",
             " scope='col'", "<pre class='command'>")  # fmt: skip
    for there in marks:
        assert there in page
        assert missing(page.replace(there, ""), document), there
    for name, entry in document["inputs"].items():
        words = name.replace("_", " ")
        gone = page.replace(f"<th scope='row'>{words}</th>", "<th scope='row'>other</th>")
        assert f"no input {words}" in missing(gone, document)
        if isinstance(entry["value"], float):
            gone = page.replace(f"inputs.{name}.value", "inputs.other.value")
            assert f"no value of the input {words}" in missing(gone, document)
    assert "a picture without words" in missing(re.sub(" alt='[^']+'", " alt=''", page), document)


def test_pages_say_how_they_were_made(made):
    text = self_contained(made[0]).text
    for words in (
        documents.ABOUT.command, "3.99.1", "dp2.made", "100 times", "noise multiplier 1.25",
        "each record drawn with probability 0.01", "Kinds of numbers", "default or derived"
        if any(entry["default"] for entry in made[1]["inputs"].values()) else "given",
    ):  # fmt: skip
        assert words in text, words
    ledger = made[0].split("<pre class='ledger'>")[1].split("</pre>")[0]
    assert json.loads(ledger.replace("&quot;", '"')) == documents.EVENT


def test_wrong_pages_are_noticed(made):
    """The reader of numbers has teeth: another number in the JSON, or on the page, is seen."""
    page, document, wanted = made
    field = wanted[0]
    other = copy.deepcopy(document)
    place = other["result"]
    *path, last = field.split(".")
    for key in path:
        place = place[int(key) if key.isdigit() else key]
    place[last] = place[last] + 1
    assert any(f"result.{field}" in line for line in problems(page, other))


def test_rounding_to_the_wrong_side_is_noticed():
    document = {"result": {"epsilon": {"upper": 1.23456789, "lower": 1.23456789}}}
    for kind, shown in (("upper", "1.23457"), ("lower", "1.23456")):
        right = html_numbers.datum(document, f"result.epsilon.{kind}", kind, digits=6)
        assert f">{shown}<" in right
        assert problems(right, document) == []
        wrong = "1.23456" if kind == "upper" else "1.23457"
        assert problems(right.replace(f">{shown}<", f">{wrong}<"), document)
        for digit in "0135":  # a last digit that is off
            assert problems(right.replace(f"{shown}<", f"{shown}{digit}<"), document)


def test_a_cell_that_is_not_escaped_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "escaped", lambda text: text)
    write_sweep_report(tmp_path / "p.html", documents.sweep_document(), documents.ABOUT)
    with pytest.raises(AssertionError):
        self_contained((tmp_path / "p.html").read_text(encoding="utf-8"))


def test_verdicts_are_worded():
    for name, words in {
        "audit": "Nothing was found Attacks show 73 % of the ε that is accounted",
        "audit, violated": "Violated: more was shown than is accounted ε is at least 1.98765",
        "verify": "No violation was found 2 theorems were looked at",
        "verify, violated": "1 of 3 theorems are violated dp2.master.",
        "account, remaining": "2265 steps remain",
        "train, certified": "An estimate over 2 runs, not for release: it reads raw gradients.",
        "train, violated": "Violated: a measured gap is above its bound dp2.made: the bound on "
        "the gap of the mean over the <steps> is 0.201926, and measured is 0.25.",
    }.items():
        assert words in self_contained(written(name)[0]).text, name


def test_a_violation_stands_on_top_in_a_red_box():
    for name in PAGES:
        body = written(name)[0].split("<main>")[1]
        first = body.split("</p>")[1].strip()
        assert first.startswith("<div class='verdict broken'>") == ("violated" in name), name
        assert ("class='verdict broken'" in body) == ("violated" in name), name


def test_theorems_are_linked_where_the_page_states_them_and_nowhere_else():
    page = written("train, violated")[0]
    assert "<a href='#dp2.made'>dp2.made</a>" in page
    assert "<p id='dp2.made'>" in page
    assert "'#dp2.master'" not in page
    assert "dp2.master" in page
    assert html_page.with_theorems("<see dp2.A, and resque.E1.>").count("<a href=") == 2


def test_inputs_have_units_and_words():
    text = self_contained(written("train")[0]).text
    for words in ("dataset size 40,000 records given", "learning rate 13.2 no unit given",
                  "tune yes – given", "delta 1e-05 probability default or derived"):  # fmt: skip
        assert words in text, words
    assert "seed 7" in text
    assert "seed none: nothing random is in it" in self_contained(written("plan, snapshot")[0]).text


def test_many_theorems_take_several_pictures_on_one_scale():
    one = documents.verify_document()["result"]["theorems"][0]
    many = [one | {"slack": slack} for slack in [0.5, *[1.5] * 80, "inf", None]]
    figures = html_plots.slack_figures(many)
    axes = [figure.axes[0] for figure in figures]
    assert [len(each.get_yticklabels()) for each in axes] == [27, 27, 27]
    assert len({each.get_xlim() for each in axes}) == 1
    assert axes[0].get_xlim()[0] < 0.5
    assert html_plots.slack_figures(many[-2:]) == []


def test_interrupted_and_empty_sweeps_have_a_page(tmp_path):
    document = documents.sweep_document(groups=[], runs=0, tuning_seeds=None)
    document["status"] = "interrupted"
    write_sweep_report(tmp_path / "p.html", document)
    text = self_contained((tmp_path / "p.html").read_text(encoding="utf-8")).text
    assert "Interrupted" in text


def test_an_infinite_epsilon_says_so_first(tmp_path):
    nothing = {"lower": "inf", "upper": "inf"}
    series = {"steps": [1], "exact": {"lower": ["inf"], "upper": ["inf"]}}
    answers = documents.account_document()["result"]["answers"][:1]
    document = documents.account_document(
        epsilon=nothing, answers=[answers[0] | {"epsilon": nothing}], peers=[],
        against_steps=series,
        explanation={"upper": "x", "lower": "x", "exact": True, "source": ""},
    )  # fmt: skip
    write_account_report(tmp_path / "p.html", document, documents.ABOUT)
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert (
        page.split("<main>")[1]
        .split("</p>")[1]
        .strip()
        .startswith("<div class='verdict dp-sgd'><strong>No privacy</strong>ε is infinite: ")
    )
    assert problems(page, document) == []
    assert "Proofs:" not in page
    assert "No privacy" not in written("account")[0]


def test_pages_of_hundreds_of_cells_stay_small(tmp_path):
    document = documents.sweep_document()
    (group,) = document["result"]["groups"]
    cell = group["cells"][1]
    steps = list(range(200))
    run = cell["runs"][0] | {"loss_steps": steps, "losses": [0.7 - 1e-3 * k for k in steps]}
    many = [cell | {"settings": {"delay": k}, "runs": [run] * 10} for k in range(200)]
    document["result"]["groups"] = [group | {"cells": many}, group, group]
    write_sweep_report(tmp_path / "p.html", document, documents.ABOUT)
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 2_000_000
    assert "The first 24 rows of 200. The first 2 of each row." in page
    assert "Pictures are those of the first 1 settings; 2 more are in the tables." in page
    assert "result.groups.0.cells.199.noise_multiplier" in fields(page)
    assert problems(page, document) == []


def test_an_interrupted_verification_says_so_first(tmp_path):
    for violated in (False, True):
        document = documents.verify_document(violated=violated)
        document["status"] = "interrupted"
        document["result"]["unfinished"] = ["dp2.B", documents.EVIL]
        write_verify_report(tmp_path / "p.html", document, documents.ABOUT)
        page = (tmp_path / "p.html").read_text(encoding="utf-8")
        boxes = [part.split("<")[0] for part in page.split("'><strong>")[1:]]
        assert boxes[-2:] == (
            ["1 of 3 theorems are violated", "Interrupted"] if violated
            else ["Interrupted", "No violation was found so far"]
        )  # fmt: skip
        assert "verdict kept" not in page
        assert documents.EVIL in self_contained(page).text


def test_a_claimed_epsilon_is_not_called_proved(tmp_path):
    write_optimizer_audit_report(tmp_path / "p.html", documents.audit_document(claimed=True))
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    numbers = page.split("<h2>Numbers</h2>")[1].split("<h2>")[0]
    assert "proved upper end" not in numbers
    assert "as reported" in numbers


def test_without_an_upper_end_of_the_ledger_nothing_is_said(tmp_path):
    assert html_ledger.ledger_section(()) == []
    assert html_page.theorem_section(()) == []


def test_unknown_events_are_shown_with_their_fields():
    event = {"module_name": "m", "class_name": "New<Event>", "size": 3, "events": [documents.EVENT]}
    shown = html_ledger.tree(event)
    assert "New&lt;Event&gt;: size 3" in shown
    assert "100 times" in shown


@pytest.mark.parametrize("stop", [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize("half", [False, True])
def test_a_file_that_stood_there_survives_an_error(tmp_path, monkeypatch, stop, half):
    path = tmp_path / "p.html"
    path.write_text("kept")

    def fail(*given, **_options):
        if half:
            given[0].write_text(given[1][: len(given[1]) // 2], encoding="utf-8")
        raise stop

    monkeypatch.setattr(*((files, "_fill", fail) if half else (html_page, "page", fail)))
    with pytest.raises(stop):
        write_account_report(path, documents.account_document())
    assert path.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [path]
