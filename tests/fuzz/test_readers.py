"""Every place that reads a file is known, and says where its damage is tested."""

from __future__ import annotations

import ast

from tests.repo.project import PACKAGES, ROOT

#: Calls that read a file or parse what was in one. `open` counts as well where it writes.
READING = {
    "loads", "loadtxt", "genfromtxt", "fromfile", "read_text", "read_bytes", "read_csv",
    "DictReader", "reader", "open", "fdopen", "connect",
}  # fmt: skip
#: `load` of these; ours load problems and packages.
LOADING = {"json", "np", "numpy", "pickle", "tomllib"}
OWN = "no file of a user: "
#: Module -> the test of damaged files, or why there is none.
READERS = {
    "accountants/laws/corpus.py": OWN + "shipped; parse: tests/laws/test_corpus.py",
    "accountants/laws/sandbox.py": OWN + "pipes of a process of ours, /proc",
    "accountants/files.py": OWN + "writes",
    "accountants/ledger.py": "tests/fuzz/test_ledgers.py",
    "bounds/listing.py": OWN + "shipped",
    "dp2theory/cli/_exit.py": OWN + "/dev/null",
    "dp2theory/experiments/settings.py": "tests/fuzz/test_data.py (only a digest)",
    "dp2theory/experiments/spec.py": "tests/fuzz/test_experiments.py",
    "dp2theory/experiments/store.py": "tests/fuzz/test_experiments.py",
    "dp2theory/experiments/study_page.py": "tests/fuzz/test_experiments.py",
    "dp2theory/experiments/task_data.py": OWN + "sources",
    "dp2theory/experiments/tasks.py": OWN + "texts of our workers",
    "dp2theory/gallery.py": "tests/fuzz/test_experiments.py",
    "dp2theory/planning/state.py": "tests/fuzz/test_experiments.py",
    "dp2theory/problems/imdb.py": "tests/fuzz/test_data.py",
    "dp2theory/problems/movielens.py": "tests/fuzz/test_data.py",
    "dp2theory/problems/stackoverflow.py": "tests/fuzz/test_data.py",
    "dp2theory/problems/text.py": OWN + "of an installed package",
}


def reads(source: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr == "load":
            if getattr(node.value, "id", "") in LOADING:
                return True
        elif isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in READING:
                return True
    return False


def test_every_reader_is_known():
    found = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if reads(path.read_text(encoding="utf-8"))
    }
    assert found == set(READERS)


def test_tests_of_readers_are_there():
    for test in READERS.values():
        if not test.startswith(OWN):
            assert (ROOT / test.split()[0]).is_file()


def test_a_reader_is_seen():
    assert reads("import json\ndef f(path):\n    return json.loads(path.read_text())\n")
    assert reads("with open(path) as stream:\n    pass\n")
    assert reads("import numpy as np\nnp.load(path)\n")
    assert not reads("json.dumps(3)\nsetting.load()\n")
