"""The corpus: well formed, as strict as its schema says, and agreed upon by independent methods."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import random
import re
import shutil
import subprocess
from decimal import Decimal

import jsonschema
import pytest

from accountants import ExactAccountant
from accountants.errors import AccuracyError
from accountants.laws import corners, corpus, oracle
from accountants.laws.notation import describe, event_to_plain
from accountants.laws.strategies import total_steps
from tests.reference import generate_corpus
from tests.repo.project import ROOT

FOLDER = ROOT / "accountants" / "laws" / "data"
DOCUMENT = json.loads((FOLDER / "corpus-1.json").read_text(encoding="utf-8"))
SCHEMA = json.loads((FOLDER / "corpus-1.schema.json").read_text(encoding="utf-8"))
FIRST = DOCUMENT["rows"][0]
ROWS = corpus.rows()
PLAIN = {row["id"]: row for row in DOCUMENT["rows"]}


class TestForm:
    def test_the_schema_is_valid_and_holds(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        jsonschema.Draft202012Validator(SCHEMA).validate(DOCUMENT)

    def test_size_and_families(self):
        assert 300 <= len(ROWS) <= 600
        counts = {family: sum(row.family == family for row in ROWS) for family in FAMILIES}
        assert sum(counts.values()) == len(ROWS)
        assert all(counts[family] >= least for family, least in FAMILIES.items()), counts

    def test_ids_and_questions_are_unique(self):
        assert len({row.id for row in ROWS}) == len(ROWS)
        asked = {json.dumps([r["event"], r["relation"], r["delta"]]) for r in DOCUMENT["rows"]}
        assert len(asked) == len(ROWS)

    def test_rows_of_the_version_never_change(self):
        """Others compare with them by id: a change is a new version, an addition stands last."""
        text = json.dumps(DOCUMENT["rows"][:512], sort_keys=True)
        assert hashlib.sha256(text.encode()).hexdigest() == (
            "abe487e43654bba938c347108eaa70f9dfb73dcbe3c83c4ad2e3174a541e0ba0"
        )

    def test_ends_are_rounded_outward_and_no_further_than_to_the_next_float(self):
        for row in ROWS:
            lower, upper = (PLAIN[row.id][name] for name in ("lower", "upper"))
            if lower != "inf":
                assert (
                    Decimal(row.lower)
                    <= Decimal(lower)
                    < Decimal(math.nextafter(row.lower, math.inf))
                )
            if upper != "inf":
                assert Decimal(row.upper) >= Decimal(upper) > Decimal(math.nextafter(row.upper, -1))

    def test_digits_are_honest(self):
        """Ends that bound one number are as near to each other as the digits say."""
        for row in ROWS:
            lower, upper = (Decimal(PLAIN[row.id][name]) for name in ("lower", "upper"))
            if row.exact and lower != upper:
                gap = (upper - lower) / upper
                assert Decimal(10) ** -(row.digits + 1) <= gap <= Decimal(10) ** -row.digits
            assert row.digits >= 7
        long = sum(row.digits >= 12 for row in ROWS)
        assert long >= 0.9 * len(ROWS)

    def test_events_are_written_as_they_are_read(self):
        for row in ROWS:
            assert event_to_plain(row.event) == PLAIN[row.id]["event"]

    def test_every_reported_input_is_there(self):
        asked = {(describe(row.event), row.relation, row.delta) for row in ROWS}
        for _, event, relation, delta in corners.REPORTS:
            assert (describe(event), relation, delta) in asked


FAMILIES = {
    "gaussian": 90,
    "poisson": 120,
    "without-replacement": 30,
    "with-replacement": 25,
    "laplace": 30,
    "randomized-response": 40,
    "composition": 25,
    "limit": 15,
}


def changed(**fields):
    document = copy.deepcopy(DOCUMENT)
    document["rows"] = document["rows"][:2]
    document["rows"][1].update(fields)
    return document


BROKEN = [
    (changed(lower="1e3x"), r"\$\.rows\[1\]\.lower: '1e3x': must be a decimal"),
    (changed(lower="nan"), r"\.lower: 'nan': must be a decimal"),
    (changed(upper="-1"), r"\.upper: '-1': must be a decimal"),
    (changed(lower=1.0), r"\.lower: 1\.0: must be given, of type str"),
    (changed(delta=1.5), r"\.delta: 1\.5: must be a number in \[0, 1\]"),
    (changed(delta="1e-5"), r"\.delta: '1e-5': must be given, of type float"),
    (changed(relation="replace"), r"\.relation: 'replace': must be one of add-or-remove-one"),
    (changed(event={"kind": "gauss"}), r"\$\.rows\[1\]\.event\.kind: 'gauss'"),
    (changed(event=3), r"\.event: 3: must be given"),
    (changed(note="x"), r"\.note: 'x': must be left out"),
    (changed(source=None), r"\.source: None: must be given"),
    (changed(exact="yes"), r"\.exact: 'yes': must be given, of type bool"),
    ({**DOCUMENT, "version": 2}, r"\$: .*: must be a corpus of version 1"),
    ({**DOCUMENT, "rows": {}}, r"\$\.rows: \{\}: must be a list"),
    ([], r"\$: \[\]: must be a corpus"),
]


@pytest.mark.parametrize(("document", "message"), BROKEN)
def test_a_broken_document_is_refused_by_reader_and_schema(document, message):
    with pytest.raises(ValueError, match=message):
        corpus.parse(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(document)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (changed(id=FIRST["id"]), r"\$\.rows\[1\]\.id: .*: must be an id of its own"),
        (changed(lower="5", upper="4.9"), r"\$\.rows\[1\]\.upper: '4\.9': must be at least"),
        ({**DOCUMENT, "rows": [3]}, r"\$\.rows\[0\]: 3: must be an object"),
    ],
)
def test_what_a_schema_cannot_say_is_refused_too(document, message):
    with pytest.raises(ValueError, match=message):
        corpus.parse(document)


def disagreement(row: corpus.Row, bracket) -> str | None:
    """Why an answer of our own accountant and a row cannot both be right."""
    if bracket.lower > row.upper:
        return f"{row.id}: the lower end {bracket.lower!r} is above {row.upper!r}"
    if bracket.upper < row.lower:
        return f"{row.id}: the upper end {bracket.upper!r} is below {row.lower!r}"
    return None


def judged(rows):
    """Those that our exact accountant covers, with its answer."""
    for row in rows:
        accountant = ExactAccountant(row.relation)
        if accountant.supports(row.event):
            try:
                yield row, accountant.compose(row.event).epsilon_bracket(row.delta)
            except AccuracyError:  # says so instead of answering
                continue


def quick(row: corpus.Row) -> bool:
    steps = total_steps(row.event)
    return steps == 1 or row.family in ("gaussian", "limit") or steps >= 1000


SAMPLE = random.Random(1).sample([row for row in ROWS if quick(row)], 60)


class TestAgainstOurOwnAccountant:
    def test_a_sample(self):
        found = list(judged(SAMPLE))
        assert len(found) >= 40
        assert [wrong for row, bracket in found if (wrong := disagreement(row, bracket))] == []

    @pytest.mark.slow
    def test_all(self):
        found = list(judged(ROWS))
        assert len(found) >= 0.6 * len(ROWS)
        assert [wrong for row, bracket in found if (wrong := disagreement(row, bracket))] == []

    def test_a_wrong_row_is_caught(self):
        """In either direction, by a hundred-thousandth."""
        caught = 0
        for row, bracket in judged(SAMPLE[:30]):
            if row.exact and 0 < row.upper < math.inf and bracket.width < 1e-7 * bracket.upper:
                for factor in (1 - 1e-5, 1 + 1e-5):
                    ends = {"lower": row.lower * factor, "upper": row.upper * factor}
                    moved = corpus.Row(**{**vars(row), **ends})
                    assert disagreement(moved, bracket) is not None
                    caught += 1
        assert caught >= 20


class TestAgainstTheOracle:
    """Two-sided truth of the laws, which has code of its own for what our accountant refuses."""

    def wrong(self, rows):
        found = []
        for row in rows:
            try:
                bracket = oracle.epsilon_bracket(row.event, row.relation, row.delta)
            except oracle.NoOracle:
                continue
            found.append(disagreement(row, bracket))
        assert len(found) >= 0.8 * len(rows)
        return [text for text in found if text]

    def test_pure_mechanisms(self):
        responses = [row for row in ROWS if row.family == "randomized-response"]
        single = [r for r in ROWS if r.family == "laplace" and total_steps(r.event) == 1]
        assert self.wrong(responses[::3] + single[::3]) == []

    @pytest.mark.slow
    def test_all(self):
        assert self.wrong(ROWS) == []


class TestGenerator:
    def cheap(self, rows):
        return [r for r in rows if "ball arithmetic, both ends" in r["source"]]

    def test_rows_come_out_again(self):
        short = [row for row in ROWS if total_steps(row.event) <= 10]
        cheap = self.cheap([PLAIN[row.id] for row in short])
        rows = random.Random(2).sample(cheap, 25)
        rows += [row for row in DOCUMENT["rows"] if row["source"] == "definition"]
        assert generate_corpus.differing(rows) == []

    def test_contours_come_out_again(self):
        assert PLAIN["poisson-003"]["source"].startswith("contour")
        assert generate_corpus.differing([PLAIN["poisson-003"]]) == []

    @pytest.mark.slow
    def test_more_contours_come_out_again(self):
        """Not all: that takes an hour, and is ``generate_corpus --check 512``."""
        contour = "contour inversion in ball arithmetic, two runs"
        rows = [row for row in DOCUMENT["rows"] if row["source"] == contour]
        assert generate_corpus.differing(random.Random(3).sample(rows, 20)) == []

    @pytest.mark.parametrize("end", ["lower", "upper"])
    def test_a_broken_row_is_found(self, end):
        row = next(row for row in self.cheap(DOCUMENT["rows"]) if row["upper"] != "0")
        value = Decimal(row[end])
        broken = {**row, end: str(value * (1 + Decimal(10) ** -15))}
        assert generate_corpus.differing([broken]) == [row["id"]]

    def test_no_row_without_a_case(self):
        cases = {generate_corpus.key(case) for case in generate_corpus.cases()}
        assert all(generate_corpus.key(row) in cases for row in DOCUMENT["rows"])

    def test_writing_and_reading(self, tmp_path):
        path = tmp_path / "corpus.json"
        generate_corpus.write(DOCUMENT["rows"][:3], path)
        assert generate_corpus.load(path) == DOCUMENT["rows"][:3]
        assert len(corpus.parse(json.loads(path.read_text(encoding="utf-8")))) == 3
        assert generate_corpus.load(tmp_path / "none.json") == []


# From public reports, as the project's documentation states them.
KNOWN = [
    ("Gaussian(sigma=1)", "replace-one", 1e-5, 9.99725615),
    ("100 x Gaussian(sigma=1)", "replace-one", 1e-5, 284.391850),
    ("Gaussian(sigma=1)", "add-or-remove-one", 1e-5, 4.37717810),
    ("100 x Gaussian(sigma=1)", "add-or-remove-one", 1e-5, 91.8172896),
    ("1000 x Poisson(q=0.01) Gaussian(sigma=0.6)", "add-or-remove-one", 1e-5, 7.43361382),
    ("10000 x Poisson(q=0.001) Gaussian(sigma=0.7)", "add-or-remove-one", 1e-6, 1.63691642),
    ("50 x Poisson(q=0.2) Gaussian(sigma=3)", "add-or-remove-one", 1 / 48000, 1.96081134),
    ("10000 x Poisson(q=0.00033) Gaussian(sigma=4)", "add-or-remove-one", 1e-10, 0.0445389544),
    ("10000 x Poisson(q=0.00033) Gaussian(sigma=4)", "add-or-remove-one", 1e-30, 0.0920498621),
    ("Gaussian(sigma=1)", "add-or-remove-one", 1e-16, 8.45194627),
    ("Gaussian(sigma=0.02)", "add-or-remove-one", 1e-5, 1462.28501596),
    ("10 x Poisson(q=0.01) Gaussian(sigma=1)", "add-or-remove-one", 0.5, 0.0),
    ("10 x Poisson(q=0.001) Gaussian(sigma=20)", "add-or-remove-one", 1e-9, 6.5912275e-4),
    ("10 x Poisson(q=0.01) Gaussian(sigma=10)", "add-or-remove-one", 1e-5, 0.00777826588),
    ("10 x Poisson(q=1) Gaussian(sigma=1)", "add-or-remove-one", 1e-5, 17.8565868301),
    ("Poisson(q=0.00105) Gaussian(sigma=1)", "add-or-remove-one", 1e-3, 0.0),
    ("Poisson(q=0.00105) Gaussian(sigma=1)", "add-or-remove-one", 1e-4, 0.00240434002),
    ("1000 x Poisson(q=0.125) Gaussian(sigma=0.8)", "add-or-remove-one", 1e-6, 56.7259499778),
    ("500 x Poisson(q=0.2) Gaussian(sigma=1)", "add-or-remove-one", 1e-5, 38.1702472),
]


@pytest.mark.parametrize(("event", "relation", "delta", "value"), KNOWN)
def test_known_values(event, relation, delta, value):
    asked = corpus.RELATIONS[relation]
    (row,) = (
        r for r in ROWS if describe(r.event) == event and r.relation is asked and r.delta == delta
    )
    assert row.lower * (1 - 1e-8) <= value <= row.upper * (1 + 1e-8)
    assert row.upper - row.lower <= 1e-9 * row.upper


def test_fixed_size_report_lies_between_two_ends():
    found = {
        row.event.event.event.noise_multiplier: row
        for row in ROWS
        if row.report == "yuxiangw/autodp#3"
    }
    assert found[2.0].lower == pytest.approx(1.82823667, rel=1e-8)
    assert found[2.0].upper <= 2.2145
    assert found[1.0].lower == pytest.approx(13.3608240, rel=1e-8)
    assert found[1.0].upper <= 14.83
    assert not any(row.exact for row in found.values())


PAGE = (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")


class TestDocument:
    """What docs/corpus.md shows is what the file holds, and its programs run."""

    def test_the_row_that_is_shown(self):
        shown = json.loads(re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)[0])
        assert shown == PLAIN[shown["id"]]

    def test_every_field_kind_and_relation_is_explained(self):
        words = set(re.findall(r"`([\w-]+)`", PAGE))
        assert set().union(*DOCUMENT["rows"]) <= words
        assert {row["relation"] for row in DOCUMENT["rows"]} <= words
        assert {row["family"] for row in DOCUMENT["rows"]} <= words
        kinds = re.findall(r'"kind": "([\w-]+)"', json.dumps(DOCUMENT["rows"]))
        assert set(kinds) <= words

    def test_every_source_is_explained(self):
        for row in DOCUMENT["rows"]:
            text = row["source"]
            for prefix in ("lower end attained: ", "; upper end of a dominating pair: "):
                text = text.replace(prefix, "; ")
            for part in filter(None, text.split("; ")):
                assert f"`{part}`" in PAGE

    @pytest.mark.parametrize(("language", "program"), [("sh", "jq"), ("js", "node")])
    def test_programs_run(self, language, program):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
        (code,) = (
            block
            for block in re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
            if "corpus-1.json" in block
        )
        command = ["sh", "-c", code] if language == "sh" else ["node", "-e", code]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
        if language == "sh":
            (line,) = (x for x in done.stdout.splitlines() if x.startswith("gaussian-001\t"))
            assert float(line.split("\t")[1]) == 1.0
            assert line.split("\t")[2:] == [
                PLAIN["gaussian-001"][end] for end in ("lower", "upper")
            ]
        else:
            count = int(done.stdout.split()[0])
            assert count == sum(
                row["event"]["kind"] == "laplace" and row["relation"] == "add-or-remove-one"
                for row in DOCUMENT["rows"]
            )
            assert count >= 15
