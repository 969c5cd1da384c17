"""The inputs of ``data/fixed_size.json``: derived tables, and a public report, computed anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from .fixed_size import Run


@dataclass(frozen=True)
class Setting:
    """epsilon at ``delta`` or delta at ``epsilon`` of a named pair.

    ``largest``: the measure of K <= largest, not divided by its mass (``PQ``, ``symmetrised``).
    """

    source: str
    run: Run
    pair: str
    delta: str | None = None
    epsilon: str | None = None
    largest: int | None = None


N, M = 50000, 256


def without(q: str, sigma: str, count: int, n: int | None = None) -> Run:
    share = Fraction(q)
    return Run("without", share.denominator, share.numerator, Fraction(sigma), count)


def replaced(sigma: str, count: int, n: int = N, m: int = M) -> Run:
    return Run("with", n, m, Fraction(sigma), count)


Q = f"{M}/{N}"


def settings() -> Iterator[Setting]:
    """All of them, the cheap ones first."""
    yield from _composed()
    yield from _gap_table()
    yield from _tight_table()
    yield from _reports()
    yield from _profiles()


def _composed() -> Iterator[Setting]:
    """Composed deltas."""
    yield Setting("D2", without(Q, "1", 2000), "PQ", epsilon="8")
    yield Setting("D2", without(Q, "1", 2000), "QP", epsilon="8")
    yield Setting("D3", without(Q, "2", 20000), "PQ", epsilon="6")
    yield Setting("D3", without(Q, "2", 20000), "QP", epsilon="6")
    yield Setting("D9", replaced("1", 2000), "PQ", epsilon="14", largest=6)
    yield Setting("D10", replaced("2", 20000), "PQ", epsilon="6", largest=6)
    yield Setting("D10", replaced("2", 20000), "PQ", epsilon="6")
    yield Setting("D11", replaced("4", 1000, 1000, 10), "PQ", epsilon="1")
    yield Setting("D11", replaced("4", 1000, 1000, 10), "QP", epsilon="1")
    yield Setting("E1", without(Q, "1", 2000), "symmetrised", epsilon="8")
    yield Setting("E2", without(Q, "2", 20000), "symmetrised", epsilon="6")
    yield Setting("E4", replaced("4", 20000), "symmetrised", epsilon="3", largest=3)


def _gap_table() -> Iterator[Setting]:
    """What the symmetrised pair costs beside the attained orders (delta = 1e-6)."""
    for sigma in ("1", "2"):
        for count in (1000, 2000, 5000, 20000):
            for pair in ("PQ", "QP", "mixed", "symmetrised"):
                yield Setting("orders", without(Q, sigma, count), pair, delta="1e-6")
    for sigma, count in (("0.6", 1000), ("1.5", 20000)):
        for pair in ("PQ", "symmetrised"):
            yield Setting("orders", without(Q, sigma, count), pair, delta="1e-6")
    for sigma, counts in (
        ("0.6", (20000,)),
        ("0.8", (1000, 20000)),
        ("1", (1000, 5000, 20000)),
        ("1.5", (1000, 5000, 20000)),
    ):
        for count in counts:
            yield Setting("copies", replaced(sigma, count), "PQ", delta="1e-6")


def _tight_table() -> Iterator[Setting]:
    """The attained columns beside which the tight accountant is judged."""
    rows = [
        *((Q, "1", t) for t in (10, 100, 1000, 2000, 5000, 20000)),
        *((Q, "1.5", t) for t in (10, 100, 1000, 20000)),
        *((Q, "2", t) for t in (10, 100, 1000, 2000, 5000, 20000)),
        *((Q, "4", t) for t in (1000, 20000)),
        (Q, "5", 1000),
        (Q, "0.7", 1000),
        (Q, "0.6", 500),
        (Q, "0.6", 1000),
        ("0.01", "1", 1000),
        *(("0.01", "2", t) for t in (10, 100, 1000)),
        ("0.001", "1", 20000),
        ("0.001", "0.8", 20000),
        ("0.1", "2", 1000),
        ("0.1", "1", 100),
        ("0.3", "2", 100),
    ]
    for q, sigma, count in rows:
        for delta in ("1e-5", "1e-6"):
            yield Setting("tight", without(q, sigma, count), "PQ", delta=delta)
    many = [
        ("0.8", (1000, 20000)),
        ("1", (100, 1000, 2000, 20000)),
        ("1.5", (100, 1000, 20000)),
        ("2", (100, 1000, 2000)),
        ("4", (1000,)),
    ]
    for sigma, counts in many:
        for count in counts:
            for delta in ("1e-5", "1e-6"):
                yield Setting("tight", replaced(sigma, count), "PQ", delta=delta)
    for delta in ("1e-5", "1e-6"):
        yield Setting("tight", replaced("4", 1000, 1000, 10), "PQ", delta=delta)


def _reports() -> Iterator[Setting]:
    """autodp#3, opacus#80, tensorflow/privacy#483: fixed-size batches, both units of the noise."""
    for sigma in ("2", "1"):
        for pair in ("PQ", "symmetrised"):
            yield Setting("autodp#3", without("0.01", sigma, 1000), pair, delta="1e-5")


def _profiles() -> Iterator[Setting]:
    """Upper columns with replacement: Balle's profile in node form, ``h1`` from its profile."""
    for sigma, counts in (("1", (1000, 5000, 20000)), ("1.5", (1000, 5000, 20000))):
        for count in counts:
            yield Setting("copies", replaced(sigma, count), "symmetrised", delta="1e-6")
    for sigma, count in (("1.5", 20000), ("1", 20000), ("0.8", 20000), ("1", 1000), ("1.5", 1000)):
        yield Setting("copies", replaced(sigma, count), "h1", delta="1e-6")
    yield Setting("copies", replaced("0.6", 1000), "PQ", delta="1e-6")
