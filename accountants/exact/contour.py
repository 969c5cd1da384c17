"""δ(ε) of a composition by a contour integral, with an error bar.

For c > 0, with M(z) = E exp(z L) of the whole run and z = c + i t,

    δ(ε) = (1/2 pi) integral of M(z) exp(-z ε) / (z (z+1)) dt.

The trapezoid sum with step h equals δ(ε) plus images exp(c k x) δ(ε + k x), k != 0, with
x = 2 pi/h: an error that is positive, known exactly and bounded here by Chernoff bounds.  So
the sum never understates δ by discretisation.  Cut-off, quadrature of M and rounding enter the
bar as stated in docs/decisions (derivations in docs/proofs/contour.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.errors import AccuracyError
from accountants.exact.composition import Composition
from accountants.exact.cumulants import ROUND, centred_characteristic
from accountants.exact.moments import tilted
from accountants.exact.tilts import TiltTable

Array = NDArray[np.float64]

ALIAS_NATS = 31.0  #: images are kept below exp(-31) of δ
_CUT_NATS = 37.0  # the sum stops when its terms are below exp(-37) of δ
WORK_LIMIT = 15_000_000  #: nodes in t times nodes in u
_ALLOWED_LOSS = (9.0, 5.0, 3.0)  # nats by which terms may exceed δ, by kind of placement
_MANY_STEPS = 200_000
_SAFETY = 2.0  # factor on the modelled part of the bar
_PICKS = np.linspace(0, 1, 6)
_STEPS: Array = 0.2 * np.arange(41.0)
_PROBES: Array = 1.35 ** np.arange(0.0, 14.0)
_TAIL_POINTS = 6


@dataclass(frozen=True)
class DeltaValue:
    """log δ(ε) with its error bar: ``log_lower <= log δ <= log_upper``.

    Attributes
    ----------
    log_value : float
        log of the sum itself, inside the bar.
    log_lower, log_upper : float
        The ends of the bar.
    slope : float
        Derivative of log δ in ε, negative.
    """

    log_value: float
    log_lower: float
    log_upper: float
    slope: float  # derivative of log δ in ε, negative

    @property
    def relative_error(self) -> float:
        """Half the width of the bar relative to δ (infinite where the bar reaches 0)."""
        if self.log_lower == -math.inf:
            return math.inf
        return 0.5 * (math.exp(min(self.log_upper - self.log_lower, 700.0)) - 1)


@dataclass(frozen=True)
class Placement:
    """Where the contour lies: ``tilt`` c and ``period`` x, the distance between images."""

    tilt: float
    period: float


def place(table: TiltTable, epsilon: float, log_delta: float, *, attempt: int = 0) -> Placement:
    """Choose abscissa and step of the contour.

    Parameters
    ----------
    table : TiltTable
        Must reach beyond the abscissa that is wanted.
    epsilon, log_delta : float
        The point aimed at; ``log_delta`` may be an estimate.
    attempt : int
        0 stays where the tilted law has one scale and lets terms exceed δ by exp(9), since a
        low abscissa needs few nodes; 2 does so with terms that exceed δ by exp(3), for many
        steps; 1 takes any abscissa with little excess.

    Returns
    -------
    Placement
    """
    c = table.c
    bound = table.log_chernoff_factor + table.psi - c * epsilon
    # period[i, j]: what abscissa c_i needs if the right images are bounded at tilt c_j
    with np.errstate(divide="ignore", invalid="ignore"):
        right = (bound[None, :] - log_delta + ALIAS_NATS) / (c[None, :] - c[:, None])
    right = np.where(c[None, :] > c[:, None] * 1.0001, right, math.inf).min(axis=1)
    left = (ALIAS_NATS - log_delta) / c
    # A tenth more leaves room for the geometric series and for ε to move a little.
    period = 1.1 * np.maximum(np.maximum(left, right), 1e-12)
    loss = table.log_estimate(epsilon) - log_delta
    work = period / np.sqrt(table.curvature + 1e-300)
    open_to = np.isfinite(work)
    if attempt != 1:
        # Beyond the far-tail barrier the tilted law is double-peaked and M hard to sum.
        open_to &= table.curvature <= 4 * table.curvature[0]
    if not open_to.any():
        raise AccuracyError("no abscissa keeps the images of the contour sum small")
    allowed = max(_ALLOWED_LOSS[attempt], float(loss[open_to].min()) + 1.0)
    best = int(np.argmin(np.where(open_to & (loss <= allowed), work, math.inf)))
    return Placement(float(c[best]), float(period[best]))


def absolute_bound(composition: Composition, table: TiltTable, epsilon: float) -> float:
    """log of a bound on δ(ε): the integral of |M(z) exp(-zε)/(z(z+1))| over one contour.

    Within about a third of δ where the loss is nearly normal, at a fraction of the cost of the
    sum; ``inf`` where the integrand does not fall from sample to sample.
    """
    at = int(np.argmin(table.log_estimate(epsilon)))
    c = float(table.c[at])
    t = _STEPS / math.sqrt(float(table.curvature[at]))
    modulus = -0.5 * composition.gap_squared * t * t
    for (_, count), moments in zip(composition.pairs, table.moments, strict=True):
        modulus = modulus + count * moments.log_modulus(c, t)
    envelope = modulus - 0.5 * np.log((t * t + c * c) * (t * t + (1 + c) ** 2))
    if not (np.diff(envelope) <= 0).all():
        return math.inf
    area = float(np.diff(t) @ np.exp(envelope[:-1])) + math.exp(modulus[-1]) / float(t[-1])
    # The tabulated psi carries rounding of about 1e-15 a step.
    return float(table.psi[at]) - c * epsilon + math.log(area / math.pi) + 1e-9


class Contour:
    """M(z) of a composition on one contour; δ at any nearby ε follows by a short sum.

    Parameters
    ----------
    composition : Composition
    placement : Placement
    table : TiltTable
        For the bounds on the images.
    log_delta : float
        log of the δ aimed at, which sets where the sum may stop.
    epsilon : float
        The ε aimed at.
    refine : float
        Factor on the step in u.
    work_limit : int
        Largest number of nodes in t times nodes in u.

    Raises
    ------
    AccuracyError
        If the sum would need more work than ``work_limit``.
    """

    def __init__(
        self,
        composition: Composition,
        placement: Placement,
        table: TiltTable,
        *,
        log_delta: float,
        epsilon: float,
        refine: float = 1.0,
        work_limit: int = WORK_LIMIT,
    ) -> None:
        self._composition = composition
        self._table = table
        self.tilt, self.period = placement.tilt, placement.period
        self._step = 2 * math.pi / self.period
        self._tilted = [
            (tilted(pair, moments, self.tilt, refine), count)
            for (pair, count), moments in zip(composition.pairs, table.moments, strict=True)
        ]
        self._many_steps = refine < 1 or composition.steps > _MANY_STEPS
        self._measure()
        self._sum_characteristic(log_delta, epsilon, work_limit)
        self._estimate_quadrature()

    def _measure(self) -> None:
        c = self.tilt
        gap_squared = self._composition.gap_squared
        self.psi = 0.5 * gap_squared * c * (c + 1)
        self.mean = gap_squared * (c + 0.5)
        self._psi_bar = ROUND * abs(self.psi)
        self._mean_bar = ROUND * self.mean
        variance = gap_squared
        for pair, count in self._tilted:
            self.psi += count * pair.log_moment
            self._psi_bar += count * (
                pair.rounding + pair.quadrature + ROUND * abs(pair.log_moment)
            )
            self.mean += count * pair.mean
            self._mean_bar += count * (pair.mean_bar + ROUND * abs(pair.mean))
            variance += count * pair.spread**2
        self._deviation = math.sqrt(variance)

    def _log_power(self, t: Array) -> tuple[Array, Array]:
        """log |M(c+it)/M(c)| and its phase beyond the mean, both times the counts."""
        modulus = -0.5 * self._composition.gap_squared * t * t
        phase = np.zeros_like(t)
        for pair, count in self._tilted:
            real, imaginary = centred_characteristic(
                pair.weight, pair.centred, t, many_steps=self._many_steps
            )
            with np.errstate(divide="ignore"):
                modulus = modulus + 0.5 * count * np.log1p(
                    np.maximum(2 * real + real * real + imaginary * imaginary, -1.0)
                )
            phase = phase + count * np.arctan2(imaginary, 1 + real)
        return modulus, phase

    def _log_envelope(self, t: Array, modulus: Array) -> Array:
        c = self.tilt
        return modulus - 0.5 * np.log((t * t + c * c) * (t * t + (1 + c) ** 2))

    def _sum_characteristic(self, log_delta: float, epsilon: float, work_limit: int) -> None:
        size = sum(pair.weight.size for pair, _ in self._tilted) or 1
        floor = log_delta - (self.psi - self.tilt * epsilon) - _CUT_NATS
        start = 6 / self._deviation
        log_scale = math.log(self._step / math.pi)
        for _ in range(12):
            probe = start * _PROBES
            modulus, _ = self._log_power(probe)
            envelope = self._log_envelope(probe, modulus) + log_scale
            # What follows the cut is about the envelope times the remaining range over h.
            ready = np.flatnonzero(envelope + np.log(probe / self._step + 1) < floor)
            if ready.size >= _TAIL_POINTS:
                break
            start = float(probe[ready[0]]) / 1.35 if ready.size else float(probe[-1])
        else:
            raise AccuracyError(
                "the characteristic function of the run decays too slowly "
                f"(|M(c+it)/M(c)| = {math.exp(modulus[-1]):.3g} at t = {probe[-1]:.3g})"
            )
        last = float(probe[ready[0]])
        self._cut = _tail(probe[ready[0] :], modulus[ready[0] :])
        nodes = max(4, math.ceil(last / self._step) + 1)
        if nodes * size > work_limit:
            raise AccuracyError(
                f"the contour sum would need {nodes} x {size} terms, more than {work_limit}"
            )
        self._t = self._step * np.arange(nodes, dtype=np.float64)
        self._modulus, self._phase = self._log_power(self._t)
        c = self.tilt
        z = c + 1j * self._t
        weight = np.full(nodes, self._step / math.pi)
        weight[0] *= 0.5
        self._factor = weight * np.exp(self._modulus) / (z * (z + 1))
        self._z = z

    def _estimate_quadrature(self) -> None:
        """Error of each node from the quadrature of M and from rounding, relative."""
        t = self._t
        picks = np.unique(np.exp(math.log(t.size) * _PICKS).astype(np.intp) - 1)
        some: Array = t[picks]
        error = np.zeros(picks.size)
        rounding = np.zeros_like(t)
        for pair, count in self._tilted:
            own = centred_characteristic(
                pair.weight, pair.centred, some, many_steps=self._many_steps
            )
            other = centred_characteristic(
                pair.shifted_weight, pair.shifted_centred, some, many_steps=self._many_steps
            )
            gap = np.hypot(own[0] - other[0], own[1] - other[1])
            error += count * gap / np.maximum(np.hypot(1 + own[0], own[1]), 1e-300)
            angle = t * pair.spread
            amplitude = np.minimum(2.0, angle * angle if self._many_steps else angle)
            rounding += (8 * ROUND * count) * amplitude
        # The two node sets together would be far better than either, so that their whole
        # difference bounds the error of one.
        self._relative = rounding + np.interp(t, some, error) + ROUND * (np.abs(self._phase) + 8)
        self._size = np.abs(self._factor)
        self._size_moment = float(self._size @ t)
        self._size_error = float(self._size @ self._relative)

    def images(self, epsilon: float) -> float:
        """log of a proved bound on what the images add to the sum at ``epsilon``."""
        c, x, table = self.tilt, self.period, self._table
        decay = -c * x
        left = decay - math.log(-math.expm1(decay))
        above = table.c > c * 1.0001
        gain = -(table.c[above] - c) * x
        right = (
            table.log_chernoff_factor[above]
            + table.psi[above]
            - table.c[above] * epsilon
            + gain
            - np.log(-np.expm1(gain))
        )
        return float(np.logaddexp(left, right.min() if right.size else math.inf))

    def raw(self, epsilon: float) -> tuple[float, float, float]:
        """(log scale, sum, derivative of the sum): δ is about exp(scale) * sum."""
        angle = self._t * (self.mean - epsilon) + self._phase
        terms = self._factor * np.exp(1j * angle)
        return (
            self.psi - self.tilt * epsilon,
            float(terms.real.sum()),
            -float((terms * self._z).real.sum()),
        )

    def evaluate(self, epsilon: float) -> DeltaValue:
        """log δ at ``epsilon`` with its whole error bar."""
        log_scale, total, slope = self.raw(epsilon)
        # An error of the mean loss shifts ε, one of psi scales the sum: neither is amplified
        # by the cancellation between terms.
        shift = self._mean_bar + ROUND * (abs(epsilon) + abs(self.mean))
        scale = self._psi_bar + 2 * ROUND * (abs(self.psi) + abs(self.tilt * epsilon) + 32)
        turned = ROUND * abs(self.mean - epsilon) * self._size_moment
        other = self._size_error + turned + self._cut
        other += abs(total) * scale + abs(slope) * shift
        other *= _SAFETY
        images = math.exp(min(self.images(epsilon) - log_scale, 700.0))
        low, high = total - images - other, total + other
        return DeltaValue(
            log_value=log_scale + math.log(total) if total > 0 else -math.inf,
            log_lower=log_scale + math.log(low) if low > 0 else -math.inf,
            log_upper=min(0.0, log_scale + math.log(high)) if high > 0 else -math.inf,
            slope=slope / total if total > 0 else -math.inf,
        )


def _tail(t: Array, modulus: Array) -> float:
    """Bound of the integral beyond t[0], from |M| sampled at ``t`` and falling between."""
    modulus = np.minimum(modulus, 700.0)  # where it is that large the bar swallows the answer
    height = np.exp(np.maximum(modulus[:-1], modulus[1:]))
    pieces = float(height @ (1 / t[:-1] - 1 / t[1:]))
    return (pieces + math.exp(float(modulus[-4:].max())) / float(t[-1])) / math.pi
