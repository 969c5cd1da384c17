"""Oracle calls by other means: profiles by root finding, laws on grids, the class of mechanisms.

Shares nothing with the accountants but dp_accounting.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from dp_accounting.pld import pld_pmf
from numpy.typing import NDArray
from scipy import optimize, stats

Array = NDArray[np.float64]


def copies(dataset_size: int, draws: int, largest: int = 40) -> Array:
    """Chances of k = 0 … copies, the last entry with all that are more."""
    k = np.arange(min(draws, largest) + 1)
    p = stats.binom.pmf(k, draws, 1 / dataset_size)
    p[-1] += stats.binom.sf(k[-1], draws, 1 / dataset_size)
    return np.asarray(p[: 1 + max(1, int(np.count_nonzero(p[1:] > 1e-40)))])


def gaussian_delta(epsilon: float, gap: float) -> float:
    """δ of N(gap) against N(0)."""
    z = epsilon / gap
    first = float(stats.norm.sf(z - gap / 2))
    return first - math.exp(epsilon + float(stats.norm.logsf(z + gap / 2)))


def excess(weights: Array, gaps: Array, c: float) -> float:
    """Integral of (sum w_k N(g_k) - c N(0))_+: one threshold, since the ratio increases."""

    def ratio(u: float) -> float:
        return float(np.logaddexp.reduce(np.log(weights) + gaps * (u - gaps / 2))) - math.log(c)

    u = float(optimize.brentq(ratio, -400.0, 400.0, xtol=1e-13))
    return float(weights @ stats.norm.sf(u - gaps)) - c * float(stats.norm.sf(u))


def coupled(epsilon: float, p: Array, sigma: float) -> float:
    """sum p_k delta_2k(log(1 + (e^ε - 1)/eta))."""
    inner = math.log1p(math.expm1(epsilon) / float(p[1:].sum()))
    return math.fsum(v * gaussian_delta(inner, 2 * k / sigma) for k, v in enumerate(p) if k)


def smallest(epsilon: float, p: Array, sigma: float) -> float:
    """The smallest of the three profiles of docs/proofs/resque.md, section 2."""
    a, eta = math.exp(epsilon), float(p[1:].sum())
    x = 1 + (a - 1) / eta
    beta, gaps = a / x, 2 * np.arange(1, p.size) / sigma
    found = [coupled(epsilon, p, sigma)]
    found.append((1 - beta) * excess(p[1:], gaps, eta * x) + beta * found[0])
    found.append(excess(p[1:], gaps, (a - 1) * float(p[0]) + a * float(p[1])))
    return min(found)


def mixture(epsilon: float, p: Array, sigma: float) -> float:
    """H of (sum p_k N(2k), N(0)): what is no bound."""
    gaps = 2 * np.arange(1, p.size) / sigma
    return excess(p[1:], gaps, math.expm1(epsilon) + float(p[1:].sum()))


def composed_epsilon(profile: Array, step: float, calls: int, delta: float) -> float:
    """ε of ``calls`` uses by dp_accounting, pessimistic, from δ at 0, step, 2 step, …"""
    positive = np.arange(profile.size) * step
    back = -np.expm1(-positive[1:]) + np.exp(-positive[1:]) * profile[1:]
    index = np.arange(1 - profile.size, profile.size)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(
        step, index, np.concatenate([back[::-1], profile])
    )
    return float(pmf.self_compose(calls).get_epsilon_for_delta(delta))


def planar_delta(eta: float, gap: float, calls: int, epsilon: float) -> float:
    """δ of ``calls`` uses where the record is at u or at v, 60 degrees apart, others at 0.

    All three distances are ``gap``.  Losses are shared out between two points of a lattice, which
    keeps their mean; what that and the grid err is far below a thousandth of δ.
    """
    axis = np.arange(-9.0, 9.0 + gap, 0.02)
    x, y = np.meshgrid(axis, axis)
    bell = np.exp(-(x * x + y * y) / 2) / (2 * math.pi) * 0.02**2
    u, v = (gap, 0.0), (gap / 2, gap * math.sqrt(3) / 2)
    p, q = ((1 - eta) + eta * np.exp(a * x + b * y - gap * gap / 2) for a, b in (u, v))
    # Losses on a lattice, modulo a window that is wide enough for nothing to come round.
    lattice, wide = 1e-3, 1 << 17
    at = (np.log(p / q) / lattice).ravel()
    cell, weight = np.floor(at).astype(int), (bell * p).ravel()
    mass = np.bincount(cell % wide, weight * (cell + 1 - at), minlength=wide)
    mass += np.bincount((cell + 1) % wide, weight * (at - cell), minlength=wide)
    total = np.maximum(np.fft.irfft(np.fft.rfft(mass) ** calls, wide), 0)
    loss = lattice * (np.arange(wide) - np.where(np.arange(wide) >= wide // 2, wide, 0))
    above = loss > epsilon
    return float(np.sum(total[above] * -np.expm1(epsilon - loss[above])))


def largest_of_class(
    p: Array, sigma: float, a: float, rng: np.random.Generator, zeta: float = 0.0
) -> float:
    """Largest P(A) - a Q(A) found among random members of the class of one call.

    A set A of outputs has the chance high_k where k draws are the record, low_k where they are
    the record of the other data set, c where none is.  Tuples differ in k draws, or in max(k, j)
    at least; each pair of them allows what `_reach` says, by itself: no failure of one pair need
    be that of another.
    """
    size = 12_000
    g, k = 2 / sigma, np.arange(p.size)
    c = stats.norm.cdf(rng.normal(0.0, 3.0, (size, 1)))
    least = (1 - zeta) * _moved(np.maximum(c - zeta, 0) / (1 - zeta), -g * k)
    turn = rng.uniform(-1, 1, (size, p.size)) * rng.choice([0.0, 1.0], (size, 1))
    turn = np.where(rng.random((size, 1)) < 0.5, turn, turn[:, :1])
    low = np.clip(_moved(c, -g * k * turn), least, 1.0)
    low = np.where(rng.random((size, 1)) < 0.5, least, low)
    low[:, 0] = c[:, 0]
    apart = g * np.maximum(k[:, None], k)
    high = _reach(low[:, None, :], apart, zeta)[:, 1:].min(axis=2)
    return float((high @ p[1:] - a * (low[:, 1:] @ p[1:]) + (1 - a) * p[0] * c[:, 0]).max())


def _moved(chance: Array, gap: Array) -> Array:
    return np.asarray(stats.norm.cdf(stats.norm.ppf(chance) + gap))


def _reach(chance: Array, gap: Array, zeta: float) -> Array:
    """Largest chance under a law that is Gaussian-dominated but for a failure ``zeta``."""
    return (1 - zeta) * _moved(np.minimum(chance / (1 - zeta), 1.0), gap) + zeta


def planar_sum_delta(
    own: Array, other: Array, others: Array, draws: int, sigma: float, epsilon: float
) -> float:
    """δ of one Gaussian sum of draws of vectors of the plane, every batch listed."""
    axis = np.linspace(-2 * draws - 9 * sigma, 2 * draws + 9 * sigma, 241)
    density = []
    for record in (own, other):
        total = np.zeros((axis.size, axis.size))
        for batch in itertools.product([record, *others], repeat=draws):
            x, y = np.sum(batch, axis=0)
            total += np.outer(stats.norm.pdf(axis, x, sigma), stats.norm.pdf(axis, y, sigma))
        density.append(total / (1 + len(others)) ** draws)
    over = np.maximum(density[0] - math.exp(epsilon) * density[1], 0)
    return float(over.sum() * (axis[1] - axis[0]) ** 2)
