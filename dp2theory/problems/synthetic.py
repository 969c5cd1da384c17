"""Synthetic sparse classification: the `het` family, `syn` and `tags`.

`het` is logistic regression on features that differ both in scale and in frequency, the case
in which a delayed preconditioner pays; `syn` and `tags` differ in frequency alone.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from dp2theory.problems.linear import LinearProblem, Logistic, logistic_sigmoid
from dp2theory.problems.multi_output import MultiOutputProblem
from dp2theory.problems.protocol import Array
from dp2theory.problems.rows import SparseRows
from dp2theory.problems.validation import positive_real, real_in, whole_number

#: Records of the test split.
TEST_SIZE = 5_000
_MAX_FREQUENCY = 0.5
_LOGIT_STD = 1.5
#: Sizes up to which a problem is made: records, features, expected entries of the matrix (some
#: 100 bytes each while it is made), and uniforms drawn (one per record and feature; minutes).
MAX_RECORDS = 10_000_000
#: Most features.
MAX_FEATURES = 10_000_000
#: Most expected entries of the matrix, some 100 bytes each while it is made.
MAX_ENTRIES = 50_000_000
#: Most uniforms drawn, one for each record and feature: minutes.
MAX_DRAWS = 20_000_000_000
# Columns drawn at a time: bounds memory, and consumes the stream column by column all the same.
_COLUMN_BLOCK = 32


def het(n: int, d: int, amin: float, avg: float, seed: int, *, name: str = "het") -> LinearProblem:
    """Return sparse logistic regression with heterogeneous feature scales and frequencies.

    Feature j is present with frequency f_j, proportional to j^-0.8, capped at 1/2 and rescaled
    to sum to `avg`; when present its value is a_j = exp(U(log amin, 0)). The true weight is
    u_j / (a_j sqrt(f_j (1 - f_j))) with u_j standard normal, the intercept (last column) 0.
    The logits z are centred and scaled to standard deviation 1.5 over all rows, and
    P(y = 1) = 1 / (1 + exp(-2 z)). One generator draws the values a, the presence column by
    column, the u, and the labels, in this order.

    Parameters
    ----------
    n : int
        Number of train records (5,000 test records are drawn besides).
    d : int
        Number of features; the dimension is d + 1.
    amin : float
        Smallest feature value, in (0, 1].
    avg : float
        Mean number of features present in a record, in (0, d/2).
    seed : int
        Seed of the one generator.
    name : str
        Name the problem carries.

    Returns
    -------
    LinearProblem
    """
    n = whole_number("n", n, maximum=MAX_RECORDS)
    d = whole_number("d", d, maximum=MAX_FEATURES)
    seed = whole_number("seed", seed, minimum=0)
    amin = positive_real("amin", amin)
    if amin > 1:
        raise ValueError(f"amin={amin!r} must be in (0, 1]")
    avg = positive_real("avg", avg)
    if avg >= _MAX_FREQUENCY * d:
        raise ValueError(f"avg={avg!r} must be in (0, d/2) = (0, {_MAX_FREQUENCY * d:g})")
    _check_size(n, d, avg)
    rng = np.random.default_rng(seed)
    total = n + TEST_SIZE
    values = np.exp(rng.uniform(math.log(amin), 0.0, size=d))
    frequencies = _capped_frequencies(d, avg)
    matrix = _bernoulli_columns(rng, frequencies, values, total)
    weights = rng.standard_normal(d) / (values * np.sqrt(frequencies * (1 - frequencies)))
    logits = matrix[:, :d] @ weights
    logits = (logits - logits.mean()) * (_LOGIT_STD / logits.std())
    labels = (rng.random(total) < logistic_sigmoid(2 * logits)).astype(np.float64)
    return _logistic(name, matrix, labels, n)


def syn(n: int = 20_000, d: int = 1_000, active: int = 20, seed: int = 0) -> LinearProblem:
    """Return sparse logistic regression on binary features with Zipf(1.1) frequencies.

    Feature j is present with frequency proportional to j^-1.1, capped at 1/2 and rescaled so
    that `active` are present on average; the true weight is u_j / sqrt(f_j (1 - f_j)): rarer
    means larger. Scales do not differ, so heterogeneity of frequency stands alone.

    Parameters
    ----------
    n, d, active, seed : int
        Train records, features, mean number of active features, seed.
    """
    n = whole_number("n", n, maximum=MAX_RECORDS)
    d = whole_number("d", d, maximum=MAX_FEATURES)
    seed = whole_number("seed", seed, minimum=0)
    active = whole_number("active", active)
    real_in("active", active, 1, _MAX_FREQUENCY * d, open_high=True)
    _check_size(n, d, active)
    rng = np.random.default_rng(seed)
    total = n + TEST_SIZE
    frequencies = _capped_frequencies(d, float(active), exponent=1.1)
    matrix = _bernoulli_columns(rng, frequencies, np.ones(d), total)
    weights = rng.standard_normal(d) / np.sqrt(frequencies * (1 - frequencies))
    logits = matrix[:, :d] @ weights
    logits = (logits - logits.mean()) * (_LOGIT_STD / logits.std())
    labels = (rng.random(total) < logistic_sigmoid(2 * logits)).astype(np.float64)
    return _logistic("syn", matrix, labels, n)


def tags(
    n: int = 20_000,
    d: int = 1_000,
    outputs: int = 20,
    active: int = 20,
    seed: int = 0,
) -> MultiOutputProblem:
    """Return multi-label classification: binary Zipf(1.1) features, one sigmoid per tag.

    Tag k has a true weight vector as in `syn` and logits of standard deviation 1.5, shifted
    so that tags become rarer with k (from about 1/2 down to a few per cent). The loss of a
    record is the sum over tags.

    Parameters
    ----------
    n, d, outputs, active, seed : int
        Train records, features, tags, mean number of active features, seed. The dimension is
        (d + 1) * outputs.
    """
    n = whole_number("n", n, maximum=MAX_RECORDS)
    d = whole_number("d", d, maximum=MAX_FEATURES)
    outputs = whole_number("outputs", outputs)
    seed = whole_number("seed", seed, minimum=0)
    active = whole_number("active", active)
    real_in("active", active, 1, _MAX_FREQUENCY * d, open_high=True)
    _check_size(n, d, active)
    rng = np.random.default_rng(seed)
    total = n + TEST_SIZE
    frequencies = _capped_frequencies(d, float(active), exponent=1.1)
    matrix = _bernoulli_columns(rng, frequencies, np.ones(d), total)
    weights = rng.standard_normal((d, outputs))
    weights /= np.sqrt(frequencies * (1 - frequencies))[:, None]
    logits = matrix[:, :d] @ weights
    logits = (logits - logits.mean(axis=0)) * (_LOGIT_STD / logits.std(axis=0))
    logits -= np.linspace(0.0, 2.0, outputs)
    labels = (rng.random((total, outputs)) < logistic_sigmoid(2 * logits)).astype(np.float64)
    return MultiOutputProblem(
        name="tags",
        rows={"train": SparseRows(matrix[:n]), "test": SparseRows(matrix[n:])},
        targets={"train": labels[:n], "test": labels[n:]},
        exclusive=False,
    )


def _check_size(n: int, d: int, avg: float) -> None:
    """Refuse before anything is allocated what would take all memory, or hours."""
    most = int(MAX_ENTRIES / (avg + 1)) - TEST_SIZE
    if n > most:
        raise ValueError(
            f"n={n} must be <= {max(most, 0)} at {avg:g} features per record: more than "
            f"{MAX_ENTRIES:,} entries are not made"
        )
    most = MAX_DRAWS // (n + TEST_SIZE)
    if d > most:
        raise ValueError(
            f"d={d} must be <= {most} at n={n}: more than {MAX_DRAWS:,} (n + {TEST_SIZE:,}) * d "
            "are not drawn"
        )


def _capped_frequencies(d: int, avg: float, *, exponent: float = 0.8) -> Array:
    frequencies = np.arange(1, d + 1, dtype=np.float64) ** -exponent
    frequencies *= avg / frequencies.sum()
    for _ in range(30):
        frequencies = np.minimum(frequencies, _MAX_FREQUENCY)
        frequencies *= avg / frequencies.sum()
    return frequencies


def _bernoulli_columns(
    rng: np.random.Generator, frequencies: Array, values: Array, total: int
) -> sparse.csr_array:
    """Return (total, d + 1) rows: column j holds values[j] with its frequency, last column 1."""
    d = frequencies.size
    records, columns = [np.arange(total)], [np.full(total, d)]
    for first in range(0, d, _COLUMN_BLOCK):
        # A row-major (columns, total) draw uses up the stream exactly column after column.
        block = frequencies[first : first + _COLUMN_BLOCK, None]
        column, record = np.nonzero(rng.random((block.shape[0], total)) < block)
        records.append(record)
        columns.append(column + first)
    row, col = np.concatenate(records), np.concatenate(columns)
    entries = np.append(values, 1.0)[col]
    return sparse.csr_array(sparse.coo_array((entries, (row, col)), shape=(total, d + 1)))


def _logistic(name: str, matrix: sparse.csr_array, labels: Array, n: int) -> LinearProblem:
    return LinearProblem(
        name=name,
        rows={"train": SparseRows(matrix[:n]), "test": SparseRows(matrix[n:])},
        targets={"train": labels[:n], "test": labels[n:]},
        point_loss=Logistic(),
    )
