"""`stackoverflow` on tiny files in the formats that it reads."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dp2theory.problems import multi_output
from dp2theory.problems.registry import get_problem
from dp2theory.problems.stackoverflow import Example, read_examples
from dp2theory.problems.tf_example import MalformedExampleError, text_features

EXAMPLES = [
    {"tokens": "how to sort a list in python", "title": "sort list", "tags": "python|sorting"},
    {"tokens": "use the sorted function", "title": "sort list", "tags": "python|sorting"},
    {"tokens": "segmentation fault in my loop", "title": "c loop", "tags": "c"},
    {"tokens": "list comprehension é", "title": "", "tags": "python|list"},
    {"tokens": "pointer to a list", "title": "c list", "tags": "c|pointers"},
]


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def serialised(fields: dict[str, str]) -> bytes:
    """A tf.train.Example by hand: bytes, an integer list and a float list that are skipped."""
    entries = b""
    for name, text in {**fields, "type": "question"}.items():
        feature = message(1, message(1, text.encode()))
        entries += message(1, message(1, name.encode()) + message(2, feature))
    score = message(3, message(1, varint(300)))
    entries += message(1, message(1, b"score") + message(2, score))
    weight = message(2, varint(1 << 3 | 5) + b"\0\0\x80\x3f")
    entries += message(1, message(1, b"weight") + message(2, weight))
    return message(1, entries)


def database(path: Path, rows: list[tuple[str, str, object]]) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE examples (split_name TEXT NOT NULL, client_id TEXT NOT NULL, "
            "serialized_example_proto BLOB NOT NULL)"
        )
        connection.executemany("INSERT INTO examples VALUES (?, ?, ?)", rows)
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    rows = [("train", str(i % 2), serialised(one)) for i, one in enumerate(EXAMPLES)]
    rows.insert(1, ("test", "9", serialised({**EXAMPLES[0], "tags": "unseen"})))
    found = {"sqlite": database(tmp_path / "stackoverflow.sqlite", rows)}
    found["jsonl"] = tmp_path / "posts.jsonl"
    lines = [json.dumps(one) for one in EXAMPLES]
    lines[2] = json.dumps({"body": EXAMPLES[2]["tokens"], "title": "c loop", "tags": ["c"]})
    found["jsonl"].write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    found["csv"] = tmp_path / "posts.csv"
    with found["csv"].open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["title", "tokens", "tags"])
        writer.writeheader()
        writer.writerows(EXAMPLES)
    return found


def test_all_formats_say_the_same(files: dict[str, Path]) -> None:
    found = {kind: list(read_examples(path)) for kind, path in files.items()}
    assert found["sqlite"] == found["jsonl"] == found["csv"]
    assert found["csv"][2] == Example(("c", "fault", "in", "loop", "my", "segmentation"), ("c",))
    assert "é" in found["csv"][3].words


@pytest.mark.parametrize("kind", ["sqlite", "jsonl", "csv"])
def test_the_problem_by_hand(files: dict[str, Path], kind: str) -> None:
    problem = get_problem("stackoverflow", path=str(files[kind]), words=3, tags=2, seed=1)
    order = np.random.default_rng(1).permutation(5)
    train = [EXAMPLES[i] for i in order[:4]]
    words = [set((one["tokens"] + " " + one["title"]).split()) for one in train]
    counts = {word: sum(word in each for each in words) for each in words for word in each}
    vocabulary = sorted(counts, key=lambda word: (-counts[word], word))[:2]
    rows = [[float(word in each) for word in vocabulary] + [1.0] for each in words]
    assert problem.rows["train"].matrix.toarray().tolist() == rows  # type: ignore[attr-defined]
    named = [one["tags"].split("|") for one in train]
    often = {tag: sum(tag in each for each in named) for each in named for tag in each}
    kept = sorted(often, key=lambda tag: (-often[tag], tag))[:2]
    targets = [[int(tag in each) for tag in kept] for each in named]
    assert problem.targets["train"].tolist() == targets  # type: ignore[attr-defined]
    assert problem.dimension == 3 * 2
    assert "not a user" in problem.unit  # type: ignore[attr-defined]
    gradient = problem.clipped_gradient_sum(np.zeros(6), np.arange(4), clip_norm=np.inf)
    assert gradient.shape == (6,)
    expected = np.array(rows).T @ (0.5 - np.array(targets))
    assert gradient.reshape(3, 2) == pytest.approx(expected)


def test_losses_in_parts_are_those_of_the_whole(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = get_problem("stackoverflow", path=str(files["csv"]), words=4, tags=3)
    at = np.linspace(-1, 1, problem.dimension)
    whole = problem.metrics(at)
    monkeypatch.setattr(multi_output, "MOST_LOGITS", 5)
    assert problem.metrics(at) == pytest.approx(whole, rel=1e-14)


def test_only_so_many_records_are_read(files: dict[str, Path]) -> None:
    lines = files["jsonl"].read_text(encoding="utf-8").splitlines()
    files["jsonl"].write_text("\n".join([*lines[:3], "{ broken"]), encoding="utf-8")
    problem = get_problem("stackoverflow", path=str(files["jsonl"]), words=3, tags=1, records=3)
    assert problem.dataset_size == 2
    with pytest.raises(ValueError, match="line 4: is no JSON"):
        get_problem("stackoverflow", path=str(files["jsonl"]), words=3, tags=1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[1, 2]", "must be an object"),
        ('{"tokens": "a b", "title": "c"}', "tags None must be a text"),
        ('{"tokens": "a b", "title": "c", "tags": ""}', "at least one tag"),
        ('{"tokens": "a b", "title": "c", "tags": [1]}', "tags 1 must be a text"),
        ('{"title": "c", "tags": "a"}', "tokens None must be a text"),
        ('{"tokens": 7, "title": "c", "tags": "a"}', "tokens 7 must be a text"),
        ('{"tokens": "a", "title": null, "tags": "a"}', "title None must be a text"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "posts.jsonl"
    path.write_text('{"tokens": "a b", "title": "c", "tags": "x"}\n' + line)
    with pytest.raises(ValueError, match=words) as caught:
        list(read_examples(path))
    assert "line 2" in str(caught.value)


def test_broken_databases_are_refused(tmp_path: Path) -> None:
    good = serialised(EXAMPLES[0])
    for number, (content, words) in enumerate(
        [
            (good[:-3], "cut off"),
            (b"\xff" * 30, "is no tf.train.Example"),
            ("text", "must hold bytes"),
            (serialised({"tokens": "a", "title": "b"}), "no feature 'tags'"),
        ]
    ):
        path = database(
            tmp_path / f"{number}.sqlite", [("train", "0", good), ("train", "0", content)]
        )
        with pytest.raises(ValueError, match=words) as caught:
            list(read_examples(path))
        assert "row 2" in str(caught.value)
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE posts (body TEXT)")
    with pytest.raises(ValueError, match="as SQLite: no such table"):
        list(read_examples(path))
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ValueError, match="as SQLite"):
        list(read_examples(path))


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.h5", b"\x89HDF"), ("a.sqlite", b"no database"), ("a.sqlite.lzma", b"\xfd7zXZ")],
)
def test_other_formats_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"must be a \.sqlite file"):
        list(read_examples(tmp_path / name))


def test_other_trouble_is_named(tmp_path: Path, files: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match="must be an existing file"):
        list(read_examples(tmp_path / "nowhere.csv"))
    (tmp_path / "latin.jsonl").write_bytes(b'{"tokens": "caf\xe9"}')
    with pytest.raises(ValueError, match="is no UTF-8"):
        list(read_examples(tmp_path / "latin.jsonl"))
    (tmp_path / "one.jsonl").write_text(json.dumps(EXAMPLES[0]))
    with pytest.raises(ValueError, match="needs at least 2"):
        get_problem("stackoverflow", path=str(tmp_path / "one.jsonl"))
    with pytest.raises(ValueError, match="words=10000 must be at most"):
        get_problem("stackoverflow", path=str(files["csv"]))


def test_every_cut_of_an_example_is_noticed_or_harmless() -> None:
    whole = serialised(EXAMPLES[0])
    names = ("tokens", "title", "tags")
    expected = {name: EXAMPLES[0][name] for name in names}
    assert text_features(whole, names) == expected
    for end in range(len(whole)):
        with pytest.raises(MalformedExampleError):
            text_features(whole[:end], names)
