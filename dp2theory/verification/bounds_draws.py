"""Draws of ReSQue's estimator and of its smoothed functions, as models of their theorems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import hypot, sqrt
from typing import Any

import numpy as np
import sympy
from scipy.stats import norm
from scipy.stats import t as student
from sympy.core.function import AppliedUndef

from bounds.evaluate_numpy import Arrays
from bounds.model import Model
from bounds.theorem import Theorem
from dp2theory.problems.protocol import Array
from dp2theory.resque.closed_forms import smoothed_absolute
from dp2theory.resque.distances import WeightedDistance
from dp2theory.resque.estimator import QueryPool, log_weights
from dp2theory.resque.named_functions import absolute
from dp2theory.verification.bounds_case import Case
from dp2theory.verification.bounds_margin import ALARM, CONFIDENCE, GROUPS, TOLERANCE, Found
from dp2theory.verification.verify_report import DRAWS

#: Distance times power up to which a sample shows a mean of powers of weights. They are lognormal
#: with this standard deviation of the logarithm: beyond it their mean is made by draws that no
#: sample has, and falls short of the truth by more than its standard error says. Hand-chosen.
TAME = 1.6


@dataclass(frozen=True)
class Pool:
    """One pool of queries, and where it is asked.

    Attributes
    ----------
    dimension, size, seed : int
        Size: queries of the pool.
    smoothing : float
        rho.
    distance : float
        From the centre of the pool to the point that is asked for, in units of rho.
    order : float
        Of the moments.
    """

    dimension: int = 4
    size: int = 20_000
    smoothing: float = 0.3
    distance: float = 0.4
    order: int = 2
    seed: int = 0

    @property
    def power(self) -> int:
        """The largest power of a weight whose mean is asked for."""
        return 2 * ((self.order + 1) // 2)

    @property
    def words(self) -> str:
        """What is drawn, for people."""
        return (
            f"{self.size} queries of a pool (d = {self.dimension}, rho = {self.smoothing:g}), "
            f"asked {self.distance:g} rho away"
        )


def estimator(setting: Pool) -> Iterator[Case]:
    """Weights and estimates of one pool: E1 to E7."""
    rho, d, order = setting.smoothing, setting.dimension, setting.order
    function = absolute(records=200, dimension=d, seed=setting.seed)
    rng = np.random.default_rng([setting.seed, d])
    center = 0.2 * np.ones(d)
    pool = QueryPool.draw(function, center, smoothing=rho, size=setting.size, rng=rng)
    along, across = np.eye(d)[0], np.eye(d)[1]
    far = setting.distance
    first, second = far * along, 0.6 * far * along + 0.5 * far * across
    weights = {
        name: pool.weights(center + rho * point) for name, point in (("a", first), ("b", second))
    }
    Z = pool.offsets / rho
    lengths = np.linalg.norm(pool.gradients, axis=1)
    values: dict[str, Any] = {
        "p": float(order),
        "p_norm": float(order),
        "a_len": far,
        "a_pos": far,
        "b_len": float(np.linalg.norm(second)),
        "b_par": 0.6 * far,
        "b_perp": 0.5 * far,
        "ab": 0.6 * far**2,
        "j_ord": 1.0,
        "k_ord": float(order),
        "power": setting.power,
        "L_lip": function.lipschitz,
        "w_cut": 1.1,
    }
    drawn = {
        "Z1": Z[:, 0],
        "Z2": Z[:, 1],
        "w_a": weights["a"],
        "w_b": weights["b"],
        "g_norm": lengths,
        "moment_2": np.full(setting.size, function.lipschitz**2),
        "moment_p": np.full(setting.size, function.lipschitz**order),
        "log_w": log_weights(rho * first, pool.offsets, rho),
    }
    ids = "resque.E2 resque.E3 resque.E3.difference resque.E3.orders resque.E4 resque.E5 resque.E7"
    yield Case(tuple(ids.split()), Model(values, drawn, note=setting.words), setting.size, DRAWS)
    # Two points of a line through the ball, at the same distance across from the centre.
    side, low = 0.3 * far, -0.5 * far
    apart = 0.9 * far
    points = [low * along + side * across, (low + apart) * along + side * across]
    pair = [pool.weights(center + rho * each) for each in points]
    values |= {
        "H_sep": apart,
        "a_par": low,
        "a_perp": side,
        "t_rel": max(hypot(low, side), hypot(low + apart, side)),
    }
    drawn |= {"U": Z[:, 0], "V": Z[:, 1], "Z": Z[:, 2], "w_1": pair[0], "w_2": pair[1]}
    yield Case(("resque.E6",), Model(values, drawn, note=setting.words), setting.size, DRAWS)
    smoothed = function.smoothed_gradient(center + rho * first, rho)
    estimates = pool.estimates(center + rho * first)

    def unbiased(theorem: Theorem) -> Found:
        # The weight as the theorem has it, on the code's draws and gradients.
        own = _weights(theorem, Z[:, 0], far)
        return _unbiased(theorem, pool.gradients * own[:, None], estimates, smoothed)

    yield _checked(setting, "resque.E1", unbiased)
    for power in (2, 4):
        check = partial(_sharp, pool=pool, far=far, power=power)
        yield _checked(setting, f"resque.E6.sharp-{power}", check)
    sizes = np.linalg.norm(Z, axis=1)
    yield _checked(
        setting, "resque.F1.norm", lambda theorem: _ratio(theorem, _right(theorem, d=d), sizes)
    )


def _checked(setting: Pool, id: str, check: Callable[[Theorem], Found]) -> Case:
    return Case((id,), None, setting.size, DRAWS, check=check, words=setting.words)


def _weights(theorem: Theorem, along: Array, far: float) -> Array:
    """What multiplies a gradient in an unbiased estimate: the integrand over a normal density."""
    integral = theorem.statement.lhs.args[0]
    (z,), (slope,) = integral.variables, integral.function.atoms(AppliedUndef)
    weight = integral.function / (slope * sympy.exp(-(z**2) / 2) / sympy.sqrt(2 * sympy.pi))
    letters = {"a_len": np.full(1, far), z.name: along}
    values = {each: letters[each.name] for each in weight.free_symbols}
    return np.broadcast_to(np.asarray(Arrays(values, {}, 1).value(weight)), along.shape)


def _unbiased(theorem: Theorem, claimed: Array, estimates: Array, smoothed: Array) -> Found:
    """Estimates are those of the theorem, and their mean is the gradient of the smoothed function.

    In every coordinate.
    """
    apart = float(np.abs(claimed - estimates).max())
    if apart > TOLERANCE * float(np.abs(estimates).max()):
        return Found(None, None, f"{theorem.id}: the code's estimates are off by {apart:.3g}")
    error = estimates.std(axis=0, ddof=1) / sqrt(len(estimates))
    off = (estimates.mean(axis=0) - smoothed) / error
    worst = int(np.argmax(np.abs(off)))
    limit = float(norm.ppf(1 - ALARM / len(off)))
    violation = ""
    if abs(off[worst]) > limit:
        violation = f"{theorem.id}: the estimate is off by {off[worst]:.1f} standard errors"
    shown = float(norm.ppf((1 + CONFIDENCE) / 2)) * error[worst]
    mean, true = float(estimates.mean(axis=0)[worst]), float(smoothed[worst])
    ends = sorted((float((mean - shown) / true), float((mean + shown) / true)))
    return Found(None, (ends[0], ends[1]), violation)


def _right(theorem: Theorem, **letters: Any) -> Any:
    """The right side of an equation, at values of its letters."""
    right = theorem.statement.rhs
    values = {each: np.atleast_1d(letters[each.name]) for each in right.free_symbols}
    found = np.asarray(Arrays(values, {}, 1).value(right), dtype=float)
    return found if found.size > 1 else float(found.reshape(-1)[0])


def _ratio(theorem: Theorem, claimed: float, sample: Array) -> Found:
    """claimed/mean with its interval, by groups: heavy tails make single draws a poor guide."""
    groups = np.array([part.mean() for part in np.array_split(sample, GROUPS)])
    mean, error = float(groups.mean()), float(groups.std(ddof=1)) / sqrt(GROUPS)
    factor = float(student.ppf(1 - ALARM, GROUPS - 1))
    shown = float(student.ppf((1 + CONFIDENCE) / 2, GROUPS - 1))
    violation = ""
    if abs(claimed - mean) > factor * error + 1e-9 * abs(mean):
        violation = f"{theorem.id}: {claimed:.6g} is claimed, the mean is {mean:.6g} ± {error:.2g}"
    high = claimed / (mean - shown * error) if mean > shown * error else float("inf")
    return Found(None, (claimed / (mean + shown * error), high), violation)


def _sharp(theorem: Theorem, *, pool: QueryPool, far: float, power: int) -> Found:
    """Two points on the rim, close together: the constant of E6 is attained."""
    step, far = 1e-4, min(far, TAME / power)
    rho, along = pool.smoothing, np.eye(pool.center.size)[0]
    rim, inside = (pool.weights(pool.center + rho * each * along) for each in (far, far - step))
    sample = (np.abs(rim - inside) / step) ** power
    claimed = _right(theorem, t_rel=far)
    # The quotient differs from its limit by the order of the step: far less than chance does.
    return _ratio(theorem, claimed, sample)


def smoothing(setting: Pool) -> Iterator[Case]:
    """Values and gradients of smoothed functions: F1 to F5."""
    rho, d = setting.smoothing, setting.dimension
    size = min(setting.size, 1000)
    function = absolute(records=100, dimension=d, seed=setting.seed)
    rng = np.random.default_rng([setting.seed, d, 1])
    noise = rng.standard_normal((d, size))
    x = 0.3 * np.ones(d)
    y = x + setting.distance * rho * np.ones(d) / sqrt(d)
    share = 0.3
    f_x, f_y, f_mix = (
        np.array([function.value(point + rho * each) for each in noise.T])
        for point in (x, y, share * x + (1 - share) * y)
    )
    everybody = np.arange(function.sample_size)
    slope = function.subgradients(np.tile(x, (len(everybody), 1)), everybody).mean(axis=0)
    values: dict[str, Any] = {
        "d": d,
        "rho_s": rho,
        "L_lip": function.lipschitz,
        "f_here": function.value(x),
        "share": share,
        "dist_xy": float(np.linalg.norm(x - y)),
        "offset": setting.distance * rho,
    }
    drawn = {
        "noise": noise,
        "slope_here": slope,
        "f_near": f_x,
        "f_x": f_x,
        "f_y": f_y,
        "f_mix": f_mix,
        "Z": noise[0],
    }
    words = f"{size} draws around two points (d = {d}, rho = {rho:g})"
    model = Model(values, drawn, note=words)
    yield Case(("resque.F1", "resque.F2", "resque.F5", "resque.F4.tight"), model, size, DRAWS)
    yield _gradients(setting, rng)
    at = np.linspace(-3, 3, 61)
    slopes = smoothed_absolute(at, rho)[1]

    def closed(theorem: Theorem) -> Found:
        claimed = _right(theorem, m_=at, rho_s=rho)
        gap = float(np.abs(claimed - slopes).max())
        violation = f"{theorem.id}: off by {gap:.3g} from the code's slope" if gap > 1e-9 else ""
        return Found(None, None, violation)

    yield Case(
        ("resque.F5.gradient",), None, len(at), DRAWS, check=closed, words="61 smoothed slopes"
    )
    single = WeightedDistance(np.ones(1), np.ones(1))
    step = 1e-4 * rho
    ends = [single.smoothed_gradient(1 + np.array([side]), rho) for side in (step, -step)]
    rise = ends[0] - ends[1]
    steep = float(rise[0]) / (2 * step)

    def attained(theorem: Theorem) -> Found:
        ratio = _right(theorem, rho_s=rho) / steep
        off = abs(ratio - 1) > 1e-6  # the quotient is its limit up to the square of the step
        violation = f"{theorem.id}: {ratio:.9g} times the steepest rise" if off else ""
        return Found(ratio, None, violation)

    yield Case(("resque.F3.tight",), None, 1, DRAWS, check=attained, words="|x| around its kink")


def _gradients(setting: Pool, rng: np.random.Generator) -> Case:
    """Exact gradients of smoothed functions at pairs of points, near and far; |x| among them."""
    rho, d, pairs = setting.smoothing, setting.dimension, 40
    function = absolute(records=100, dimension=d, seed=setting.seed)
    single = WeightedDistance(np.ones(1), np.ones(1))
    apart, rises = [], []
    for number in range(pairs):
        size = rho * 10 ** rng.uniform(-3, 1)
        if number % 2:
            x, y = 1 + np.array([size / 2]), 1 - np.array([size / 2])
            rise = single.smoothed_gradient(x, rho) - single.smoothed_gradient(y, rho)
        else:
            unit = rng.standard_normal(d)
            x = rng.uniform(-1, 1, d)
            y = x + size * unit / np.linalg.norm(unit)
            rise = function.smoothed_gradient(x, rho) - function.smoothed_gradient(y, rho)
        apart.append(float(np.linalg.norm(x - y)))
        rises.append(float(np.linalg.norm(rise)))
    values = {"dist_xy": np.array(apart), "rho_s": rho, "L_lip": 1.0}
    drawn = {"grad_x": np.array(rises), "grad_y": np.zeros(pairs)}
    words = f"smoothed gradients at {pairs} pairs of points (rho = {rho:g})"
    model = Model(values, drawn, note=words)
    return Case(("resque.F3", "resque.F4"), model, pairs, DRAWS, by_chance=False)
