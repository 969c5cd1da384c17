"""Fixed-size batches: the attained pairs and the symmetrised ones, by name.

With all other records equal to z e and the replaced one e or -e (e a unit vector), a step is a
pair of mixtures on a line; ``PQ`` is z = -1 in the order that draws from the data set with the
record at e, ``QP`` its reverse.  The same two pairs are those of removing and adding a record.

===================  ==========================================================================
name                 pair
===================  ==========================================================================
``PQ``, ``QP``       shifts 2 K against N(0), K copies; reversed
``z=Z PQ``, ...      shifts K (1 - Z) against K (-1 - Z)
``mixed``            half of the steps PQ, half QP
``special z=Z real`` shifts K (1 - Z) against K (-Z): the other record is null; ``null`` reversed
``symmetrised``      without replacement: q delta_2; with: sum_k p_k delta_2k, K conditioned
===================  ==========================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
from mpmath import mpf

from . import laws
from .closed_forms import _tail, gaussian_delta, number
from .laws import Copies, Law, Mixture, MixtureLaw
from .symmetric import SymmetricLaw

SPARE = 35.0  # the tail of the copies moves delta by less than a factor exp(-SPARE)


@dataclass(frozen=True)
class Run:
    """``count`` steps on batches of ``batch_size`` out of ``dataset_size`` records."""

    sampling: str  # "without" or "with" replacement
    dataset_size: int
    batch_size: int
    sigma: Fraction
    count: int

    @property
    def q(self) -> Fraction:
        return Fraction(self.batch_size, self.dataset_size)

    def copies(self, log_delta: float, below: bool = True) -> Copies:
        """Enough copies; ``below``: for Q as well (see ``_tail_seen_from_null``)."""
        share = log_delta - math.log(self.count) - SPARE
        found = laws.copies_with_tail(self.batch_size, self.dataset_size, share)
        while below and not self._tail_seen_from_null(found, share):
            found = laws.replace_largest(found, found.largest + 1)
        return found

    def _tail_seen_from_null(self, copies: Copies, share: float) -> bool:
        """Whether leaving the tail out of Q moves epsilon by less than 1e-19 under N(0).

        But for N(0)-probability exp(share) a step has u < X, and there Q exceeds its truncation
        by the factor 1 + sum_{k > largest} (p_k / p_0) exp(a_k X - a_k^2/2) at most (a_k > X).
        """
        if copies.largest >= copies.draws or copies.among == 1:
            return True
        x = math.sqrt(-2 * share)
        per_copy = 2 / float(self.sigma)
        odds = -math.log(copies.among - 1)
        log_ratio = 0.0  # log of p_k / p_0
        total = -math.inf
        for k in range(1, min(copies.draws, copies.largest + 400) + 1):
            log_ratio += math.log(copies.draws - k + 1) - math.log(k) + odds
            if k > copies.largest:
                gain = max(per_copy * k * x - (per_copy * k) ** 2 / 2, 0.0)
                total = max(total, log_ratio + gain)
        return total + math.log(400) + math.log(self.count) < -44.0

    def parts(self, pair: str, log_delta: float) -> list[tuple[Law, int]]:
        """The composition that a name stands for, complete up to exp(log_delta - SPARE)."""
        if pair == "symmetrised":
            if self.sampling == "without":
                return [(SymmetricLaw(self.sigma, q=self.q), self.count)]
            share = log_delta - math.log(self.count) - SPARE
            copies = laws.copies_with_tail(self.batch_size, self.dataset_size, share)
            copies = Copies(copies.draws, copies.among, copies.largest, conditioned=True)
            return [(SymmetricLaw(self.sigma, copies=copies), self.count)]
        if pair == "mixed":
            law = self.mixture("PQ", log_delta)
            return [(law, self.count // 2), (law.reversed(), self.count - self.count // 2)]
        return [(self.mixture(pair, log_delta), self.count)]

    def mixture(self, pair: str, log_delta: float = -80.0) -> MixtureLaw:
        """One step of an attained pair."""
        words = pair.split()
        special = words[0] == "special"
        z = next((Fraction(w[2:]) for w in words if w.startswith("z=")), Fraction(-1))
        other = 0 if special else -1
        if self.sampling == "without":
            law = laws.without_replacement(self.q, self.sigma, z, 1, other)
        else:
            below = z != other or words[-1] in ("QP", "null")
            law = laws.with_replacement(self.copies(log_delta, below), self.sigma, z, 1, other)
        return law.reversed() if words[-1] in ("QP", "null") else law


# ------------------------------------------------------------------------------- one step, exactly


def _components(mixture: Mixture, sigma: Fraction) -> list[tuple[Any, Any]]:
    weights = mixture.weights
    if isinstance(weights, Copies):
        m, n = weights.draws, weights.among
        values = [
            mpmath.binomial(m, k) * mpf(n - 1) ** (m - k) / mpf(n) ** m
            for k in range(weights.largest + 1)
        ]
        if weights.conditioned:
            values = [v / mpmath.fsum(values) for v in values]
    else:
        values = [number(w) for w in weights.values]
    return [(w, number(a / sigma)) for w, a in zip(values, mixture.shifts, strict=True) if w]


def single_delta(law: MixtureLaw, epsilon: Any) -> Any:
    """delta of one step for a pair whose loss increases or decreases in x."""
    upper, lower = _components(law.upper, law.sigma), _components(law.lower, law.sigma)
    e = mpmath.exp(epsilon)

    def excess(u: Any) -> Any:
        """(P - e^epsilon Q) / N(u; 0, 1) up to a positive factor."""
        p, q = (
            mpmath.fsum(w * mpmath.exp(a * u - a * a / 2) for w, a in side)
            for side in (upper, lower)
        )
        return p - e * q

    low, high = mpf(-200), mpf(200)
    at_low, at_high = excess(low) > 0, excess(high) > 0
    if at_low == at_high:
        total = mpmath.fsum(w for w, _ in upper) - e * mpmath.fsum(w for w, _ in lower)
        return total if at_high else mpf(0)
    for _ in range(mpmath.mp.prec + 20):
        middle = (low + high) / 2
        low, high = (middle, high) if (excess(middle) > 0) == at_low else (low, middle)
    sign = 1 if at_high else -1
    return mpmath.fsum(w * _tail(sign * (low - a)) for w, a in upper) - e * mpmath.fsum(
        w * _tail(sign * (low - a)) for w, a in lower
    )


def single_profile(run: Run, name: str, epsilon: Any, largest: int | None = None) -> Any:
    """One-step upper profiles at epsilon >= 0: ``tight``, ``balle``, ``h1``, ``h2``."""
    sigma, e = number(run.sigma), mpmath.exp(epsilon)
    if name == "tight":
        q = number(run.q)
        return q * gaussian_delta(2 / sigma, mpmath.log1p((e - 1) / q))
    largest = run.batch_size if largest is None else largest
    copies = Copies(run.batch_size, run.dataset_size, largest)
    pair = laws.with_replacement(copies, run.sigma)
    weights = [w for w, _ in _components(pair.upper, run.sigma)]
    eta = 1 - weights[0]
    if name == "h2":
        p1 = weights[1]
        rest = [(w, 2 * k / sigma) for k, w in enumerate(weights) if k >= 1]
        against = (e - 1) * weights[0] + e * p1
        return _against_null(rest, against)
    a = 1 + (e - 1) / eta
    inner = mpmath.log(a)
    balle = mpmath.fsum(
        w * gaussian_delta(2 * k / sigma, inner) for k, w in enumerate(weights) if k
    )
    if name == "balle":
        return balle
    beta = e / a
    return (1 - beta) * single_delta(pair, epsilon) + beta * balle


def _against_null(components: list[tuple[Any, Any]], weight: Any) -> Any:
    """int (sum_k w_k N(a_k) - weight N(0))_+ for shifts a_k > 0."""
    if mpmath.fsum(w for w, _ in components) <= 0:
        return mpf(0)
    low, high = mpf(-400), mpf(400)
    for _ in range(mpmath.mp.prec + 20):
        middle = (low + high) / 2
        above = mpmath.fsum(w * mpmath.exp(a * middle - a * a / 2) for w, a in components) > weight
        low, high = (low, middle) if above else (middle, high)
    return mpmath.fsum(w * _tail(low - a) for w, a in components) - weight * _tail(low)


def solve_epsilon(profile: Any, delta: Fraction, digits: int = 40) -> Any:
    """epsilon >= 0 with profile(epsilon) = delta: bisection, then secants on logarithms."""
    with mpmath.mp.workdps(digits):
        target = number(delta)
        if profile(mpf(0)) <= target:
            return mpf(0)
        low, high = mpf(0), mpf(1) / 1024
        while profile(high) > target:
            low, high = high, 2 * high
        while high - low > high / 64:
            middle = (low + high) / 2
            low, high = (middle, high) if profile(middle) > target else (low, middle)

        def excess(x: Any) -> Any:
            value = profile(x)
            return mpmath.log(value / target) if value > 0 else mpf(-1000)

        a, b = (low, excess(low)), (high, excess(high))
        for turn in range(400):
            x = b[0] - b[1] * (b[0] - a[0]) / (b[1] - a[1]) if b[1] != a[1] else low
            if not low < x < high or turn % 3 == 2:
                x = (low + high) / 2
            value = excess(x)
            low, high = (x, high) if value > 0 else (low, x)
            a, b = b, (x, value)
            if high - low < mpf(10) ** (8 - digits) * high or value == 0:
                return (low + high) / 2 if value else x
            if abs(value) < mpf(10) ** (10 - digits):
                return +x
        raise ArithmeticError("the secants for epsilon did not settle")
