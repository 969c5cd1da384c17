"""Bags of words: a vocabulary by document frequency, and sparse rows with an intercept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy import sparse


def most_frequent(documents: Iterable[Iterable[str]], size: int, *, name: str) -> dict[str, int]:
    """Return the `size` terms that most documents hold, each with its column from 0.

    Ties are broken alphabetically. Choosing a vocabulary looks at the data and is not
    accounted, as is usual in experiments.

    Parameters
    ----------
    documents : iterable of iterables of str
        The distinct terms of each document.
    size : int
    name : str
        The setting that asks for them, as "words=10000": its number may count more than terms.

    Raises
    ------
    ValueError
        If there are fewer terms than asked for.
    """
    frequency = Counter(term for document in documents for term in document)
    if size > len(frequency):
        what, _, value = name.partition("=")
        most = len(frequency) + (int(value) - size)
        raise ValueError(
            f"{what}={value} must be at most {most}: the train documents hold {len(frequency)} "
            "distinct terms"
        )
    ranked = sorted(frequency, key=lambda term: (-frequency[term], term))
    return {term: j for j, term in enumerate(ranked[:size])}


def bag_of_words(
    documents: Sequence[Iterable[str]], column: Mapping[str, int], dimension: int
) -> sparse.csr_array:
    """Return one binary row per document, with a one in the last column (the intercept)."""
    columns: list[int] = []
    pointers = [0]
    for document in documents:
        columns.extend(column[term] for term in document if term in column)
        columns.append(dimension - 1)
        pointers.append(len(columns))
    return sparse.csr_array(
        (np.ones(len(columns)), columns, pointers), shape=(len(documents), dimension)
    )
