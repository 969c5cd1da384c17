"""`imdb`: sentiment of film reviews, from the user's copy of the Large Movie Review Dataset.

The set (Maas et al., ACL 2011) is a folder ``aclImdb`` or the archive ``aclImdb_v1.tar.gz``:
``train/pos/*.txt``, ``train/neg/*.txt`` and the same under ``test``, 12,500 reviews each. It is
not shipped here; its terms are for whoever downloads it.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from dp2theory.problems.linear import LinearProblem, Logistic
from dp2theory.problems.protocol import Array
from dp2theory.problems.rows import SparseRows
from dp2theory.problems.validation import whole_number
from dp2theory.problems.words import bag_of_words, most_frequent

#: Folders of the data.
SPLITS = ("train", "test")
#: Folders of a split, with the target of their reviews.
LABELS = {"neg": 0.0, "pos": 1.0}
_TOKEN = re.compile(r"[a-z0-9']+")
_BREAK = re.compile(r"<br\s*/?>")
_LARGEST = 10**6  # bytes of a review; the longest has about 14,000
_LAYOUT = "the folder aclImdb (train|test/pos|neg/*.txt), or its .tar.gz"


def imdb(*, path: str, dimension: int = 10_000) -> LinearProblem:
    """Return logistic regression on binary bags of words of the reviews, intercept last.

    Train and test are those of the set. HTML line breaks are dropped, texts lower-cased, tokens
    are runs of letters, digits and apostrophes. The vocabulary is the dimension - 1 tokens that
    most train reviews hold (ties in alphabetical order); choosing it is not accounted.

    Parameters
    ----------
    path : str
        The folder ``aclImdb``, or the archive.
    dimension : int
        Number of parameters, the intercept included, >= 2.

    Raises
    ------
    ValueError
        If the path holds no such set, or a part of it is missing, empty or unreadable.
    """
    dimension = whole_number("dimension", dimension, minimum=2)
    tokens, targets = read_reviews(Path(path))
    column = most_frequent(tokens["train"], dimension - 1, name=f"dimension={dimension}")
    return LinearProblem(
        name="imdb",
        rows={
            split: SparseRows(bag_of_words(tokens[split], column, dimension)) for split in SPLITS
        },
        targets=targets,
        point_loss=Logistic(),
        unit="a review",
    )


def read_reviews(path: Path) -> tuple[dict[str, list[list[str]]], dict[str, Array]]:
    """Return the sorted distinct tokens of each review and the labels (positive = 1), by split.

    Negative reviews come first, each kind in the order of its file names, whatever the order in
    the archive or on the disk.

    Raises
    ------
    ValueError
        As `imdb`.
    """
    found: dict[tuple[str, str], dict[str, list[str]]] = {
        (split, label): {} for split in SPLITS for label in LABELS
    }
    for split, label, name, content in _files(path):
        text = _BREAK.sub(" ", content.decode("utf-8", errors="replace").lower())
        found[split, label][name] = sorted(set(_TOKEN.findall(text)))
    for (split, label), reviews in found.items():
        if not reviews:
            raise ValueError(
                f"path={str(path)!r} holds no {split}/{label}/*.txt, must be {_LAYOUT}"
            )
    tokens = {
        split: [
            found[split, label][name] for label in LABELS for name in sorted(found[split, label])
        ]
        for split in SPLITS
    }
    targets = {
        split: np.concatenate(
            [np.full(len(found[split, label]), value) for label, value in LABELS.items()]
        )
        for split in SPLITS
    }
    return tokens, targets


def _files(path: Path) -> Iterator[tuple[str, str, str, bytes]]:
    """Split, label, name and content of every review."""
    if path.is_dir():
        yield from _folder_files(path)
    elif path.is_file():
        try:
            yield from _archive_files(path)
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            raise ValueError(
                f"path={str(path)!r} cannot be read as an archive ({error}), must be {_LAYOUT}"
            ) from None
    else:
        raise ValueError(f"path={str(path)!r} does not exist, must be {_LAYOUT}")


def _folder_files(path: Path) -> Iterator[tuple[str, str, str, bytes]]:
    for split in SPLITS:
        for label in LABELS:
            for file in (path / split / label).glob("*.txt"):
                if not file.name.startswith("."):
                    try:
                        yield split, label, file.name, _checked(file.read_bytes(), str(file))
                    except OSError as error:
                        raise ValueError(f"path={str(file)!r}: {error.strerror}") from None


def _archive_files(path: Path) -> Iterator[tuple[str, str, str, bytes]]:
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            parts = PurePosixPath(member.name).parts
            if not member.isfile() or len(parts) < 3 or not parts[-1].endswith(".txt"):
                continue
            split, label, name = parts[-3:]
            if split in SPLITS and label in LABELS and not name.startswith("."):
                if member.size > _LARGEST:
                    _checked(b"", member.name, member.size)
                content = archive.extractfile(member)
                assert content is not None  # a file
                yield split, label, name, _checked(content.read(), member.name)


def _checked(content: bytes, name: str, size: int | None = None) -> bytes:
    """The content, unless it is no review."""
    length = len(content) if size is None else size
    if length > _LARGEST:
        raise ValueError(f"{name!r} has {length} bytes, a review has at most {_LARGEST}")
    if not content.strip():
        raise ValueError(f"{name!r} is empty, must hold a review")
    return content
