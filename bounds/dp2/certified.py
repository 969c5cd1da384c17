"""The certified delay: the integer s that minimises the a-priori form of Theorem C-TV.

With D1(s) >= E||D_t||_1 and E||g_t||_1 <= (c1 + c2 s) D1(s) the theorem `dp2.CTV` gives

    Phi(s) = R sqrt(D1(s) (1 + chi r(T)) (Gam(s) + noise(s)) / T),
    D1(s) = sum_j sqrt(m_j^2 + nu1^2/s) + d eps,

where r(T) = floor(ceil(T/s)/2) counts the updates of the preconditioner and Gam is the least of
what is known: C^2/eps, C C2 (adaptive steps only), and the staleness branch
(C/eps)(c1 + c2 s) D1(s). Only the staleness branch ever makes a long delay expensive: where it
is not the least, Phi falls with s, and its minimiser is s = T, a run that never preconditions.

T/2s in place of r(T) makes ln Phi convex in ln s on the staleness branch (`dp2.S2`), but is no
bound: r(T) can be larger. Neither Gam nor r(T) is smooth, so the minimum is found by looking at
every s.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bounds.dp2.certified_inputs import Array, Inputs
from bounds.dp2.phi import check_steps, check_whole

Whole = NDArray[np.int64]

#: What may bound the gradient term of adaptive steps; the least is taken.
BRANCHES = ("staleness", "gradient-bound", "clip")
#: Two delays whose bounds differ by less than this share are as good as each other.
FLAT = 0.05
#: Square roots taken at once, and in all before the norm is interpolated between some delays.
_CHUNK, _EXACT = 2_000_000, 200_000_000
#: Ratio of neighbouring delays in that case, and what the chords may add to Phi, relatively.
_RATIO, _CHORD = 1.001, 1e-6
#: Branches that agree up to this share are the same number in floating point.
_ROUNDING = 1e-12


def updates(steps: int, delay: ArrayLike) -> Whole:
    """r(T) = floor(ceil(T/s)/2): updates of the preconditioner in T steps, exactly."""
    check_steps(steps)
    return (-(-steps // _whole(delay, steps))) // 2


def adaptive_steps(steps: int, delay: ArrayLike) -> Whole:
    """Steps of the odd phases among the first T."""
    check_steps(steps)
    s = _whole(delay, steps)
    cycles, rest = np.divmod(steps, 2 * s)
    return cycles * s + np.maximum(rest - s, 0)


def preconditioner_norm(inputs: Inputs, delay: ArrayLike) -> Array:
    """D1(s) = sum_j sqrt(m_j^2 + nu1^2/s) + d eps >= E||D_t||_1."""
    s = _delays(delay)
    flat = s.ravel()
    total = np.empty_like(flat)
    squares = inputs.sizes**2
    width = max(1, _CHUNK // squares.size)
    for start in range(0, flat.size, width):
        part = inputs.noise_std**2 / flat[start : start + width]
        total[start : start + width] = np.sqrt(squares + part[:, None]) @ inputs.counts
    return total.reshape(s.shape) + inputs.dimension * inputs.damping


def gradient_moments(
    inputs: Inputs, delay: ArrayLike, norm: Array | None = None
) -> dict[str, Array]:
    """What each branch says of E||g_t||^2 in the metric 1/D, in an adaptive step.

    Returns
    -------
    dict
        By the names of `BRANCHES`; infinite where a branch says nothing.
    """
    s = _delays(delay)
    d1 = preconditioner_norm(inputs, s) if norm is None else norm
    c, eps = inputs.gradient_bound, inputs.damping
    c1, c2 = inputs.staleness_intercept, inputs.staleness_slope
    stale = np.full(s.shape, inf) if c1 is None or c2 is None else c / eps * (c1 + c2 * s) * d1
    return {
        "staleness": stale,
        "gradient-bound": np.full(s.shape, c * c / eps),
        "clip": np.full(s.shape, c * inputs.preconditioned_clip_norm),
    }


def bound(
    inputs: Inputs, delay: ArrayLike, *, exact: bool = True, branch: str | None = None
) -> Array:
    """Phi(s).

    Parameters
    ----------
    inputs : Inputs
    delay : array_like of int
        s, from 1 to T.
    exact : bool
        With r(T); False puts T/2s in its place, which is smooth but no bound.
    branch : str, optional
        One of `BRANCHES` alone, instead of the least of them.

    Returns
    -------
    ndarray
        Infinite in mode "freeze" where no step is adaptive.
    """
    s = _whole(delay, inputs.steps) if exact else _delays(delay)
    return _phi(inputs, s, preconditioner_norm(inputs, s), exact, branch)


def _phi(inputs: Inputs, s: Any, d1: Array, exact: bool, branch: str | None) -> Array:
    if branch is not None and branch not in BRANCHES:
        raise ValueError(f"branch={branch!r}: must be one of {', '.join(BRANCHES)}")
    moments = gradient_moments(inputs, s, d1)
    steps = inputs.steps
    count = updates(steps, s) if exact else steps / (2 * s)
    adaptive = np.minimum.reduce(list(moments.values())) if branch is None else moments[branch]
    noise = inputs.preconditioned_noise_std**2 * d1
    if inputs.mode == "freeze":
        moving = adaptive_steps(steps, s) if exact else np.full(s.shape, steps / 2)
        mean = adaptive + noise
    else:
        # Collection steps clip the raw gradient, so that C C2 says nothing of them, and their
        # noise is divided by D; with C2 = C1/eps that noise is the smaller one.
        collecting = adaptive
        if branch is None:
            collecting = np.minimum(moments["staleness"], moments["gradient-bound"])
        elif branch == "clip":
            collecting = moments["gradient-bound"]
        moving = np.full(s.shape, steps)
        share = adaptive_steps(steps, s) / steps if exact else np.full(s.shape, 0.5)
        divided = np.maximum(noise, inputs.dimension * inputs.noise_std**2 / inputs.damping)
        mean = share * (adaptive + noise) + (1 - share) * (collecting + divided)
    with np.errstate(divide="ignore", over="ignore"):
        per_step = np.where(moving > 0, mean / moving, inf)
        value: Array = d1 * (1 + inputs.variation_ratio * count) * per_step
        return inputs.diameter * np.sqrt(value)


def dp_sgd(inputs: Inputs) -> float:
    """R sqrt(d (C^2 + d nu1^2)/T): what `dp2.dp-sgd` gives for the same T steps."""
    d = inputs.dimension
    moment = inputs.gradient_bound**2 + d * inputs.noise_std**2
    return inputs.diameter * sqrt(d * moment / inputs.steps)


def dp_sgd_with_staleness(inputs: Inputs, delay: int) -> float:
    """DP-SGD's value if it may use what the staleness branch uses.

    E||g||^2 <= C E||g||_1 <= C (c1 + c2 s) D1(s): a fair comparison gives both the same knowledge.
    """
    check_whole("delay", delay)
    c1, c2, c = inputs.staleness_intercept, inputs.staleness_slope, inputs.gradient_bound
    if c1 is None or c2 is None:
        return dp_sgd(inputs)
    known = c * (c1 + c2 * delay) * float(preconditioner_norm(inputs, delay))
    d = inputs.dimension
    moment = min(c * c, known) + d * inputs.noise_std**2
    return inputs.diameter * sqrt(d * moment / inputs.steps)


def trivial_bound(inputs: Inputs) -> float:
    """R C sqrt(d): F(w) - F* is never more on the box, whatever the algorithm does."""
    return inputs.diameter * inputs.gradient_bound * sqrt(inputs.dimension)


def smooth_delay(inputs: Inputs) -> float | None:
    """The real s that minimises the staleness branch with T/2s for r(T) (`dp2.S2`).

    ln Phi is convex in ln s there, so bisection on its slope finds it. None without a staleness
    promise.
    """
    if inputs.staleness_intercept is None:
        return None
    low, high = 0.0, float(np.log(max(inputs.steps, 2)))
    # The slope of a convex function changes sign once; values near the minimum are too flat.
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _slope(inputs, middle) >= 0 else (middle, high)
    return float(np.exp((low + high) / 2))


def _slope(inputs: Inputs, log_delay: float) -> float:
    """d ln(Phi^2)/d ln s of the staleness branch with T/2s in place of r(T)."""
    s = float(np.exp(log_delay))
    c1, c2 = float(inputs.staleness_intercept or 0), float(inputs.staleness_slope or 0)
    noise = inputs.noise_std**2 / s
    roots = np.sqrt(inputs.sizes**2 + noise)
    norm = float(inputs.counts @ roots) + inputs.dimension * inputs.damping
    shrinking = 0.0 if noise == 0 else -noise / 2 * float(inputs.counts @ (1 / roots)) / norm
    switching = inputs.variation_ratio * inputs.steps / (2 * s)
    scale = inputs.gradient_bound / inputs.damping
    stale = scale * (c1 + c2 * s) + inputs.preconditioned_noise_std**2
    return 2 * shrinking - switching / (1 + switching) + scale * c2 * s / stale


def constant_norm_delay(inputs: Inputs) -> float | None:
    """sqrt(chi T q0/(2 q1)): the same with D1 held constant (`dp2.S1`)."""
    c1, c2 = inputs.staleness_intercept, inputs.staleness_slope
    if c1 is None or not c2:
        return None
    scale = inputs.gradient_bound / inputs.damping
    q0, q1 = scale * c1 + inputs.preconditioned_noise_std**2, scale * c2
    return sqrt(inputs.variation_ratio * inputs.steps * q0 / (2 * q1))


@dataclass(frozen=True)
class Optimum:
    """The certified delay and what stands beside it.

    Attributes
    ----------
    delay : int
        s*, the smallest minimiser of Phi over 1, …, T.
    value : float
        Phi(s*).
    branch : str
        The branch that is least at s*: `BRANCHES`.
    updates : int
        r(T) at s*.
    flat : tuple of int
        Smallest and largest s with Phi(s) <= 1.05 Phi(s*).
    flat_count : int
        How many s these are: fewer than the range holds where Phi has several dips.
    staleness_range : tuple of int or None
        Smallest and largest s at which the staleness branch is the least.
    dp_sgd, dp_sgd_with_staleness : float
        DP-SGD's value, and its value with the same knowledge.
    trivial : float
        R C sqrt(d).
    smooth_delay, constant_norm_delay : float or None
        Minimisers of the smooth forms, for comparison.
    """

    delay: int
    value: float
    branch: str
    updates: int
    flat: tuple[int, int]
    flat_count: int
    staleness_range: tuple[int, int] | None
    dp_sgd: float
    dp_sgd_with_staleness: float
    trivial: float
    smooth_delay: float | None
    constant_norm_delay: float | None

    @property
    def vacuous(self) -> bool:
        """Whether Phi(s*) says no more than that the loss is Lipschitz on a box."""
        return not self.value < self.trivial

    @property
    def prefers_dp_sgd(self) -> bool:
        """Whether DP-SGD's bound is the smaller one without any staleness promise."""
        return self.dp_sgd <= self.value

    def to_json(self) -> dict[str, Any]:
        """All attributes and the two verdicts as plain values."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("flat", "staleness_range"):
            pair = values[name]
            values[name] = None if pair is None else {"shortest": pair[0], "longest": pair[1]}
        return values | {"vacuous": self.vacuous, "prefers_dp_sgd": self.prefers_dp_sgd}


def optimum(inputs: Inputs) -> Optimum:
    """Look at every s from 1 to T.

    Ties go to the smaller s. Where T times the number of different m_j is large, ln D1 is taken
    on chords in ln s, which lie above it by less than 1e-6 because it is convex there (`dp2.S2`),
    and every s that could still be the minimiser is computed in full.

    Raises
    ------
    ValueError
        When Phi is infinite everywhere (mode "freeze" with one step).
    """
    s = np.arange(1, inputs.steps + 1)
    norms, exact = _norms(inputs, s)
    values = _phi(inputs, s, norms, True, None)
    if not exact:
        close = np.flatnonzero(values <= values.min() * (1 + _CHORD))
        norms[close] = preconditioner_norm(inputs, s[close])
        values[close] = _phi(inputs, s[close], norms[close], True, None)
    place = int(np.argmin(values))
    least = float(values[place])
    if not isfinite(least):
        raise ValueError(f"mode={inputs.mode!r}: no delay up to steps={inputs.steps} has a bound")
    moments = gradient_moments(inputs, s, norms)
    # Ties count as the bound that needs no promise.
    others = np.minimum(moments["clip"], moments["gradient-bound"])
    stale = np.flatnonzero(moments["staleness"] < (1 - _ROUNDING) * others)
    clips = moments["clip"][place] < (1 - _ROUNDING) * moments["gradient-bound"][place]
    branch = "staleness" if place in stale else "clip" if clips else "gradient-bound"
    flat = np.flatnonzero(values <= (1 + FLAT) * least)
    delay = int(s[place])
    return Optimum(
        delay=delay,
        value=least,
        branch=branch,
        updates=int(updates(inputs.steps, delay)),
        flat=(int(s[flat[0]]), int(s[flat[-1]])),
        flat_count=int(flat.size),
        staleness_range=(int(s[stale[0]]), int(s[stale[-1]])) if stale.size else None,
        dp_sgd=dp_sgd(inputs),
        dp_sgd_with_staleness=dp_sgd_with_staleness(inputs, delay),
        trivial=trivial_bound(inputs),
        smooth_delay=smooth_delay(inputs),
        constant_norm_delay=constant_norm_delay(inputs),
    )


def _norms(inputs: Inputs, s: Whole) -> tuple[Array, bool]:
    if inputs.steps * inputs.sizes.size <= _EXACT:
        return preconditioner_norm(inputs, s), True
    nodes = np.unique(np.geomspace(1, inputs.steps, 1 + int(np.log(inputs.steps) / np.log(_RATIO)))
                      .round())  # fmt: skip
    logs = np.log(preconditioner_norm(inputs, nodes))
    return np.exp(np.interp(np.log(s), np.log(nodes), logs)), False


def _whole(delay: ArrayLike, steps: int) -> Whole:
    s = _numbers(delay)
    if s.dtype.kind not in "iu" or s.size == 0 or (s < 1).any() or (s > steps).any():
        raise ValueError(f"delay={delay!r}: must be integers from 1 to steps={steps}")
    return s.astype(np.int64)


def _delays(delay: ArrayLike) -> Array:
    s = _numbers(delay)
    if s.dtype.kind not in "iuf" or s.size == 0 or not ((s > 0) & np.isfinite(s)).all():
        raise ValueError(f"delay={delay!r}: must be positive and finite")
    return s.astype(np.float64, copy=False)


def _numbers(delay: ArrayLike) -> NDArray[Any]:
    """An array that is not made of numbers where NumPy makes none: rows of different lengths."""
    try:
        return np.asarray(delay)
    except ValueError:
        return np.asarray(None)
