"""Damaged data files: MovieLens, IMDB and Stack Overflow copies of users."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from dp2theory.problems.registry import get_problem
from dp2theory.problems.stackoverflow import read_examples
from tests.fuzz.mutations import LIGHT_AND_HEAVY, altered, damaged, fuzz, refusal, text_of
from tests.problems.test_imdb import REVIEWS
from tests.problems.test_stackoverflow import EXAMPLES, database, serialised


def archive(mode: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as file:
        for name, text in REVIEWS.items():
            member = tarfile.TarInfo(f"aclImdb/{name}")
            member.size = len(text.encode())
            file.addfile(member, io.BytesIO(text.encode()))
    return stream.getvalue()


def sqlite(folder: Path) -> bytes:
    rows = [("train", "client", serialised(one)) for one in EXAMPLES]
    return database(folder / "good.sqlite", rows).read_bytes()


RATINGS = b"196\t242\t3\t881250949\n186\t302\t4.5\t891717742\n22\t377\t1\t878887116\n"
LINES = "".join(json.dumps(one) + "\n" for one in EXAMPLES).encode()
TABLE = b"tokens,title,tags\nhow to sort,sort,python|sorting\nuse it,c,c\nlist,list,python\n"
GOOD = {
    "ratings.data": ("movielens-100k", {}, RATINGS),
    "reviews.tar": ("imdb", {"dimension": 4}, archive("w")),
    "reviews.tar.gz": ("imdb", {"dimension": 4}, archive("w:gz")),
    "reviews.tar.xz": ("imdb", {"dimension": 4}, archive("w:xz")),
    "reviews.tar.bz2": ("imdb", {"dimension": 4}, archive("w:bz2")),
    "posts.jsonl": ("stackoverflow", {"words": 3, "tags": 2}, LINES),
    "posts.csv": ("stackoverflow", {"words": 3, "tags": 2}, TABLE),
    "posts.sqlite": ("stackoverflow", {"words": 3, "tags": 2}, sqlite),
}


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
@pytest.mark.parametrize("name", GOOD)
def test_bytes(tmp_path, name, many):
    problem, options, made = GOOD[name]
    good = made(tmp_path) if callable(made) else made
    path = tmp_path / name

    def read(file):
        try:
            return get_problem(problem, path=str(file), **options)
        except ValueError as error:
            if str(error).startswith(tuple(f"{option}=" for option in options)):
                return None  # a file that is fine, and too small for the options
            raise

    def check(content):
        path.write_bytes(content)
        refusal(path, read)

    check(good)
    assert refusal(path, read) is None
    fuzz(damaged(good), check, 25 * many)


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_values_of_json_lines(tmp_path, many):
    path = tmp_path / "posts.jsonl"

    def check(example):
        path.write_text(text_of(EXAMPLES[0]) + "\n" + text_of(example) + "\n")
        refusal(path, lambda file: list(read_examples(file)))

    fuzz(altered({**EXAMPLES[0], "tags": ["a", "b"]}), check, 50 * many)


@pytest.mark.parametrize("many", LIGHT_AND_HEAVY)
def test_bytes_of_serialised_examples(tmp_path, many):
    path = tmp_path / "posts.sqlite"

    def check(content):
        path.unlink(missing_ok=True)
        database(path, [("train", "client", content)])
        refusal(path, lambda file: list(read_examples(file)))

    fuzz(damaged(serialised(EXAMPLES[0])), check, 25 * many)
