"""The catalogue finds every theorem by itself, refuses doubles, and costs nothing before use."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bounds
from bounds import bibliography, catalogue, listing
from bounds.describe import describe, symbols_of
from bounds.proof.step import Rule
from bounds.theorem import Status
from tests.bounds.made import MADE, made_report

ROOT = Path(bounds.__file__).parents[1]


def test_importing_bounds_imports_nothing_heavy():
    code = (
        "import sys, bounds.listing"
        "; heavy = {'sympy', 'numpy', 'z3', 'flint', 'mpmath'} & set(sys.modules)"
        "; assert not heavy, heavy; bounds.Theorem; assert 'sympy' in sys.modules"
        "; from bounds import catalogue; catalogue.theorem('dp2.master')"
        "; assert not {'z3', 'flint'} & set(sys.modules)"
    )
    # SymPy itself counts with flint where it finds it, unless it is told otherwise.
    environment = {**os.environ, "SYMPY_GROUND_TYPES": "python"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_lazy_names_are_the_real_ones():
    from bounds.theorem import Theorem

    assert bounds.Theorem is Theorem
    with pytest.raises(AttributeError, match="no_such"):
        bounds.no_such  # noqa: B018


def test_every_theorem_of_every_module_is_listed_once():
    found = bounds.theorems()
    assert found is bounds.theorems()
    for id, each in found.items():
        assert id == each.id
        assert each is catalogue.theorem(id) is found[id]
        assert (ROOT / catalogue.file_of(id)).is_file()
    folders = [ROOT / package.replace(".", "/") for package in listing.PACKAGES]
    named = [path for folder in folders for path in folder.glob("*.py")]
    with_theorems = {path for path in named if "\nTHEOREMS" in path.read_text(encoding="utf-8")}
    assert {ROOT / catalogue.file_of(id) for id in found} == with_theorems


PROMISED = {
    "dp2": "master A A0 closed recalled relaxed hermite exponent W B C CTV first-phase"
    " h.definition h.folded-normal h.bounds h.linear h.saturation phi.convex phi.limits"
    " phi.stationary phi.interior phi.minimiser phi.sawtooth S1 S2 nonconvex nonconvex.rate"
    " noise.average noise.bias noise.clamped noise.order dp-sgd",
    "resque": "E1 E2 E3 E4 E5 E6 E7 F1 F2 F3 F4 F5 ball.potential ball.count ball.free"
    " parallel.1 parallel.2 table1 private.rate table2 drift definitions approximate",
}
#: The only steps that nothing checks: Gaussian concentration, a display that is recalled, and the
#: rate of an accelerated method that is cited.
ASSUMED = {"dp2.A0.tail concentration", "dp2.recalled statement", "resque.parallel.2 rate"}


def test_every_promised_theorem_is_there():
    wanted = {f"{paper}.{name}" for paper, names in PROMISED.items() for name in names.split()}
    assert wanted <= set(bounds.theorems())


def test_nothing_else_is_assumed():
    steps = [(each, step) for each in bounds.theorems().values() for step in each.steps]
    found = {f"{each.id} {step.id}" for each, step in steps if step.rule is Rule.ASSUMED}
    assert found == ASSUMED


def test_recalled_statements_are_marked():
    found = [each for each in bounds.theorems().values() if each.source.status is Status.RECALLED]
    assert {each.id for each in found} == {"dp2.h.definition", "dp2.recalled", "dp2.relaxed"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An empty package `dp2` whose modules are the catalogue; `add(name, *ids)` puts one there."""
    folder = tmp_path / "made_papers" / "dp2"
    folder.mkdir(parents=True)
    for each in (folder.parent, folder):
        (each / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(listing, "PACKAGES", ("made_papers.dp2",))
    monkeypatch.setattr(listing, "KEPT", tmp_path / "listing.json")
    catalogue.theorems.cache_clear()

    def add(name, *ids):
        listed = " ".join(f"replace(MADE, id={id!r})," for id in ids)
        (folder / f"{name}.py").write_text(
            "from dataclasses import replace\nfrom tests.bounds.made import MADE\n"
            f"THEOREMS = ({listed})\n"
        )

    yield add
    catalogue.theorems.cache_clear()
    unload()


def unload():
    for name in [name for name in sys.modules if name.startswith("made_papers")]:
        del sys.modules[name]
    importlib.invalidate_caches()


def test_a_new_module_is_found_and_known_ids_come_first(package):
    package("aardvark", "dp2.new", "dp2.phi.limits", "dp2.A0")
    package("master", "dp2.first", "dp2.master.down", "dp2.A.metric", "dp2.A")
    package("symbols")
    assert list(catalogue.theorems()) == [
        "dp2.master.down",
        "dp2.A",
        "dp2.A.metric",
        "dp2.A0",
        "dp2.phi.limits",
        "dp2.first",
        "dp2.new",
    ]
    assert catalogue.theorem("dp2.new").id == "dp2.new"
    assert catalogue.file_of("dp2.first") == "made_papers/dp2/master.py"
    row = listing.paper_map()[-2]
    assert row == {
        "paper": "li2023dp2",
        "item": "Lemma 9",
        "id": "dp2.first",
        "title": MADE.title,
        "kind": "upper",
        "status": "recalled",
        "note": "as FKT20 has it",
        "file": "made_papers/dp2/master.py",
    }


@pytest.mark.parametrize(
    ("ids", "words"), [(("dp2.a", "dp2.a"), "another"), (("resque.a",), "begins with 'dp2.'")]
)
def test_doubles_and_foreign_ids_are_refused(package, ids, words):
    package("one", *ids)
    with pytest.raises(ValueError, match=words):
        catalogue.theorems()


def loaded():
    return {name.rpartition(".")[2] for name in sys.modules if name.startswith("made_papers.dp2.")}


def test_the_kept_list_is_used_as_long_as_it_is_true(package):
    package("master", "dp2.first")
    package("weighted", "dp2.second")
    fresh = listing.paper_map()
    listing.KEPT.write_text(json.dumps(listing.current()))
    unload()
    assert listing.paper_map() == fresh
    assert loaded() == set()
    assert catalogue.theorem("dp2.second").id == "dp2.second"
    assert loaded() == {"weighted"}
    unload()
    package("weighted", "dp2.other")
    package("new", "dp2.third")
    assert [row["id"] for row in listing.paper_map()] == ["dp2.first", "dp2.other", "dp2.third"]
    assert loaded() == {"weighted", "new"}


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("dp2.mastre", "dp2.master"),
        ("master", "dp2.master"),
        ("DP2.phi.Convex", "dp2.phi.convex"),
        ("phi", "dp2.phi.limits"),
        ("limit", "dp2.phi.limits"),
    ],
)
def test_an_unknown_id_names_those_near_it(package, word, near):
    package("one", "dp2.master", "dp2.phi.convex", "dp2.phi.limits")
    with pytest.raises(ValueError, match=f"'{word}' is not in the catalogue.*{near}"):
        catalogue.theorem(word)
    with pytest.raises(ValueError, match="near it: none"):
        catalogue.theorem("zzz")


def test_a_description_has_all_parts(monkeypatch):
    monkeypatch.setattr("bounds.describe.file_of", lambda _id: "bounds/dp2/made.py")
    told = describe(MADE, made_report())
    assert told["general_in"] == ["j", "t"]
    assert told["proof"]["assumed"] == ["known", "dp2.other: tail"]
    premises = {step["id"]: step["premises"] for step in told["steps"]}
    assert premises["square"] == ["clipped"]
    assert premises["instance"] == ["square at t → t + 1"]
    assert premises["known"] == ["theorem dp2.other with C → nu1"]
    assert [step["by"] for step in told["steps"]] == ["", "", "", "Linearity"]
    assert [each["parameters"] for each in told["evaluations"]] == [
        ["gradient_bound"],
        ["gradient_bound", "noise_std"],
    ]
    assert {each["letter"] for each in symbols_of(MADE)} == {"C", "g", "nu1", "t", "j"}
    assert [each["label"] for each in told["references"]] == ["LZL+23", "FKT20", "BLM13"]
    assert told["proof"]["unused_assumptions"] == ["noise"]
    assert describe(MADE)["proof"] is None


def test_sources_of_all_theorems_are_in_the_bibliography():
    for each in bounds.theorems().values():
        bibliography.entry(each.source.key)
    with pytest.raises(ValueError, match="nobody1999"):
        bibliography.entry("nobody1999")


@pytest.mark.parametrize("each", bibliography.ENTRIES.values(), ids=lambda each: each.key)
def test_an_entry_is_whole(each):
    assert each.authors
    assert 1900 < each.year < 2027
    text = each.bibtex()
    assert text.count("{") == text.count("}")
    for name in each.authors:
        assert name in text
        assert " " in name
    assert each.title in each.reference()
    assert not each.arxiv or each.arxiv.replace(".", "").isdigit()
    assert bibliography.cited([f"as in [{each.label}]."]) == [each]
    assert each.key.startswith(each.authors[0].split()[-1].lower())
    assert str(each.year) in each.key


def test_labels_are_unique():
    labels = [each.label for each in bibliography.ENTRIES.values()]
    assert len(set(labels)) == len(labels) == len(bibliography.ENTRIES)
    assert bibliography.cited(["no label here, CKS2 neither"]) == []
