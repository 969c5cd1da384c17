"""`imdb` on tiny folders and archives in the format of the set."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

from dp2theory.problems.imdb import read_reviews
from dp2theory.problems.registry import get_problem, takes_option

REVIEWS = {
    "train/pos/0_9.txt": "A great, great film.<br /><br />It's GREAT fun",
    "train/pos/1_7.txt": "fun film",
    "train/neg/10_1.txt": "a dull film",
    "train/neg/2_3.txt": "dull, dull",
    "test/pos/0_10.txt": "great unheard-of words",
    "test/neg/0_2.txt": "nothing known here",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in REVIEWS.items():
        file = tmp_path / "aclImdb" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "aclImdb" / "train" / "unsup").mkdir()
    (tmp_path / "aclImdb" / "train" / "unsup" / "0_0.txt").write_text("not labelled")
    (tmp_path / "aclImdb" / "train" / "pos" / "._0_9.txt").write_bytes(b"\0 left by an archiver")
    return tmp_path / "aclImdb"


@pytest.fixture
def archive(folder: Path) -> Path:
    path = folder.parent / "aclImdb_v1.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        file.add(folder, arcname="aclImdb")
    return path


def test_bags_of_words_by_hand(folder: Path) -> None:
    problem = get_problem("imdb", path=str(folder), dimension=4)
    # Documents with each word: film 3; a, dull, fun 2; great, it's 1. Negative reviews first,
    # by file name ("10_1" before "2_3"); the intercept is last.
    rows = problem.rows["train"].matrix.toarray()  # type: ignore[attr-defined]
    assert rows.tolist() == [[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [1, 0, 0, 1]]
    assert problem.targets["train"].tolist() == [0, 0, 1, 1]  # type: ignore[attr-defined]
    assert problem.targets["test"].tolist() == [0, 1]  # type: ignore[attr-defined]
    assert (problem.dataset_size, problem.dimension) == (4, 4)
    assert problem.unit == "a review"  # type: ignore[attr-defined]
    assert 0 < problem.loss(np.zeros(4)) == pytest.approx(np.log(2))


def test_archive_and_folder_agree(folder: Path, archive: Path) -> None:
    assert takes_option("imdb", "path")
    for one, other in zip(read_reviews(folder), read_reviews(archive), strict=True):
        for split in ("train", "test"):
            assert list(one[split]) == list(other[split])


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda p: [f.unlink() for f in (p / "test" / "neg").iterdir()], "holds no test/neg"),
        (lambda p: (p / "train" / "pos" / "1_7.txt").write_text(" \n"), "is empty"),
        (lambda p: (p / "train" / "pos" / "1_7.txt").write_text("a " * 600_000), "1200000 bytes"),
    ],
)
def test_broken_folders_are_refused(folder: Path, broken, words: str) -> None:
    broken(folder)
    with pytest.raises(ValueError, match=words):
        get_problem("imdb", path=str(folder), dimension=4)


def test_broken_archives_are_refused(archive: Path, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    for content in (whole[: len(whole) // 2], b"no archive at all", b"", whole[:40] + b"\xff" * 80):
        archive.write_bytes(content)
        with pytest.raises(ValueError, match=r"cannot be read as an archive|holds no"):
            get_problem("imdb", path=str(archive), dimension=4)
    with pytest.raises(ValueError, match="does not exist"):
        get_problem("imdb", path=str(tmp_path / "nowhere"))


@pytest.mark.parametrize("dimension", [1, 0, 2.5, 100])
def test_bad_dimensions_are_refused(folder: Path, dimension: object) -> None:
    with pytest.raises(ValueError, match="dimension="):
        get_problem("imdb", path=str(folder), dimension=dimension)


def test_bytes_that_are_no_text_are_replaced(folder: Path) -> None:
    (folder / "train" / "pos" / "1_7.txt").write_bytes(b"caf\xe9 film")
    tokens, _ = read_reviews(folder)
    assert ["caf", "film"] in tokens["train"]
