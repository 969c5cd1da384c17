"""`digits` and `breast-cancer`: the small real data sets that ship with scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from dp2theory.problems.errors import MissingExtraError
from dp2theory.problems.linear import LinearProblem, Logistic
from dp2theory.problems.multi_output import MultiOutputProblem
from dp2theory.problems.protocol import Array
from dp2theory.problems.rows import DenseRows
from dp2theory.problems.validation import whole_number

_TRAIN_SHARE = 0.8


def digits(*, seed: int = 0) -> MultiOutputProblem:
    """Return softmax regression on 8 x 8 images of digits: 1,437 train records, d = 650.

    Pixels (0 to 16) are divided by 16; the intercept is the last feature.

    Parameters
    ----------
    seed : int
        Seed of the permutation behind the 80/20 split.

    Raises
    ------
    MissingExtraError
        Without scikit-learn (extra ``data``).
    """
    data, labels = _load("digits")
    features = _with_intercept(data / 16.0)
    one_hot = np.eye(10)[labels.astype(np.int64)]
    rows, targets = _split(features, one_hot, seed)
    return MultiOutputProblem("digits", rows, targets, exclusive=True)


def breast_cancer(*, seed: int = 0) -> LinearProblem:
    """Return logistic regression on 30 measurements of tumours: 455 train records, d = 31.

    Features are standardised with the train means and standard deviations; this preparation
    looks at the data and is not accounted. The intercept is the last feature.

    Parameters
    ----------
    seed : int
        Seed of the permutation behind the 80/20 split.

    Raises
    ------
    MissingExtraError
        Without scikit-learn (extra ``data``).
    """
    data, labels = _load("breast_cancer")
    order, n = _order(labels.size, seed)
    train = data[order[:n]]
    features = _with_intercept((data - train.mean(axis=0)) / train.std(axis=0))
    rows, targets = _split(features, labels.astype(np.float64), seed)
    return LinearProblem("breast-cancer", rows, targets, Logistic())


def _load(name: str) -> tuple[Array, Array]:
    try:
        from sklearn import datasets
    except ImportError:
        raise MissingExtraError(name.replace("_", "-"), "scikit-learn") from None
    loader: Any = getattr(datasets, f"load_{name}")
    data, labels = loader(return_X_y=True)
    return np.asarray(data, dtype=np.float64), np.asarray(labels, dtype=np.float64)


def _with_intercept(features: Array) -> Array:
    return np.hstack([features, np.ones((features.shape[0], 1))])


def _order(records: int, seed: int) -> tuple[np.ndarray[Any, np.dtype[np.int64]], int]:
    seed = whole_number("seed", seed, minimum=0)
    return np.random.default_rng(seed).permutation(records), int(_TRAIN_SHARE * records)


def _split(features: Array, targets: Array, seed: int) -> tuple[dict[str, Any], dict[str, Array]]:
    order, n = _order(targets.shape[0], seed)
    parts = {"train": order[:n], "test": order[n:]}
    rows = {split: DenseRows(features[part]) for split, part in parts.items()}
    return rows, {split: targets[part] for split, part in parts.items()}
