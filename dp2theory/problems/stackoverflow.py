"""`stackoverflow`: tags of posts from their words, from the user's copy of the data.

Read are the SQLite file of TensorFlow Federated (``stackoverflow.sqlite``, unpacked), whose table
``examples`` holds one serialised ``tf.train.Example`` a row, and JSON lines or CSV with the same
fields: ``tokens`` (words of a sentence, separated by blanks; also named ``body``), ``title``, and
``tags`` (separated by ``|``; in JSON also a list). No TensorFlow is needed.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from dp2theory.problems.multi_output import MultiOutputProblem
from dp2theory.problems.protocol import Array
from dp2theory.problems.rows import SparseRows
from dp2theory.problems.tf_example import MalformedExampleError, text_features
from dp2theory.problems.validation import whole_number
from dp2theory.problems.words import bag_of_words, most_frequent

_TRAIN_SHARE = 0.8
_MAGIC = b"SQLite format 3\0"
_FORMATS = "a .sqlite file of TensorFlow Federated, .jsonl, or .csv with tokens, title and tags"
_LARGEST_FIELD = 10**6


@dataclass(frozen=True)
class Example:
    """The distinct words of an example (its title's too), sorted, and its distinct tags."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def stackoverflow(
    *, path: str, words: int = 10_000, tags: int = 500, records: int = 307_615, seed: int = 0
) -> MultiOutputProblem:
    """Return one logistic regression per tag on binary bags of words, intercept last.

    The first `records` examples of the file (of its split "train") are permuted with `seed` and
    split 80/20. Words and tags are those that most train examples hold; choosing them is not
    accounted. With the defaults and a file of enough examples there are 246,092 train records
    and 5,000,000 parameters, as in the paper (Li et al., ICLR 2023).

    Parameters
    ----------
    path : str
        The data file.
    words : int
        Features per tag, the intercept included, >= 2.
    tags : int
        Number of tags.
    records : int
        Largest number of examples that are read, >= 2.
    seed : int
        Seed of the permutation.

    Raises
    ------
    ValueError
        If the file cannot be read, or a record of it is malformed (its place is given).
    """
    words = whole_number("words", words, minimum=2)
    tags = whole_number("tags", tags)
    records = whole_number("records", records, minimum=2)
    seed = whole_number("seed", seed, minimum=0)
    examples = list(islice(read_examples(Path(path)), records))
    n = int(_TRAIN_SHARE * len(examples))
    if n == 0:
        raise ValueError(f"path={path!r} holds {len(examples)} example(s), needs at least 2")
    order = np.random.default_rng(seed).permutation(len(examples))
    parts = {"train": [examples[i] for i in order[:n]], "test": [examples[i] for i in order[n:]]}
    train = parts["train"]
    column = most_frequent((one.words for one in train), words - 1, name=f"words={words}")
    place = most_frequent((one.tags for one in train), tags, name=f"tags={tags}")
    return MultiOutputProblem(
        name="stackoverflow",
        rows={
            split: SparseRows(bag_of_words([one.words for one in part], column, words))
            for split, part in parts.items()
        },
        targets={split: _targets(part, place) for split, part in parts.items()},
        exclusive=False,
        unit="an example (a sentence of a post), not a user",
    )


def _targets(examples: list[Example], place: dict[str, int]) -> Array:
    # One byte an entry: 246,092 x 500 doubles would be a gigabyte.
    table = np.zeros((len(examples), len(place)), dtype=np.uint8)
    for row, example in enumerate(examples):
        table[row, [place[tag] for tag in example.tags if tag in place]] = 1
    return cast(Array, table)


def read_examples(path: Path) -> Iterator[Example]:
    """Yield the examples of a file in its order; of SQLite files those of the split "train".

    Raises
    ------
    ValueError
        As `stackoverflow`.
    """
    if not path.is_file():
        raise ValueError(f"path={str(path)!r} must be an existing file: {_FORMATS}")
    try:
        with path.open("rb") as file:
            is_database = file.read(len(_MAGIC)) == _MAGIC
        kind = ".sqlite" if is_database else path.suffix.lower()
        readers = {".sqlite": _database, ".jsonl": _json_lines, ".csv": _table}
        if kind not in readers or (kind == ".sqlite" and not is_database):
            raise ValueError(f"path={str(path)!r} must be {_FORMATS} (unpacked)")
        yield from readers[kind](path)
    except OSError as error:
        raise ValueError(f"path={str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"path={str(path)!r} is no UTF-8: {error.reason}") from None


def _database(path: Path) -> Iterator[Example]:
    query = (
        "SELECT rowid, serialized_example_proto FROM examples "
        "WHERE split_name = 'train' ORDER BY rowid"
    )
    address = f"{path.resolve().as_uri()}?mode=ro"  # nothing is written, nor locked
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            for row, content in connection.execute(query):
                where = f"path={str(path)!r}, table examples, row {row}"
                if not isinstance(content, bytes):
                    raise ValueError(f"{where}: must hold bytes, a serialised tf.train.Example")
                try:
                    fields = text_features(content, ("tokens", "title", "tags"))
                except MalformedExampleError as error:
                    raise ValueError(f"{where}: {error}") from None
                yield _example(fields, where)
    except sqlite3.Error as error:
        raise ValueError(f"path={str(path)!r} cannot be read as SQLite: {error}") from None


def _json_lines(path: Path) -> Iterator[Example]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"path={str(path)!r}, line {number}"
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:  # ValueError: thousands of digits, too
                raise ValueError(f"{where}: is no JSON ({error})") from None
            if not isinstance(found, dict):
                raise ValueError(f"{where}: must be an object with tokens, title and tags")
            yield _example(found, where)


def _table(path: Path) -> Iterator[Example]:
    with path.open(encoding="utf-8", newline="") as lines:
        try:
            rows = csv.DictReader(lines, strict=True)
            for row in rows:
                yield _example(row, f"path={str(path)!r}, line {rows.line_num}")
        except csv.Error as error:
            raise ValueError(f"path={str(path)!r} is no CSV: {error}") from None


def _example(fields: Any, where: str) -> Example:
    body = fields["tokens"] if "tokens" in fields else fields.get("body")
    title, tags = fields.get("title", ""), fields.get("tags")
    if isinstance(tags, list):
        separated: Iterable[Any] = tags
    else:
        separated = _text(tags, "tags", where).split("|")
    written = f"{_text(body, 'tokens', where)} {_text(title, 'title', where)}"
    words = {sys.intern(word) for word in written.lower().split()}  # millions, few distinct
    kept = {_text(tag, "tags", where).strip() for tag in separated} - {""}
    if not kept:
        raise ValueError(f"{where}: tags={tags!r} must name at least one tag")
    return Example(tuple(sorted(words)), tuple(sorted(kept)))


def _text(value: Any, name: str, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LARGEST_FIELD:
        if isinstance(value, str):
            shown = f"of {len(value)} characters"
        else:  # of a list the kind only: it may be nested too deeply to be shown
            shown = type(value).__name__ if isinstance(value, list | dict) else f"{value!r:.60}"
        raise ValueError(f"{where}: {name} {shown} must be a text of at most {_LARGEST_FIELD}")
    return value
