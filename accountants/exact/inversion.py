"""From a composition to δ(ε) and ε(δ) with their ends.

Two engines stand behind every answer: the contour sum, fast and good to 12 digits wherever the
loss of the run has one scale, and the convolution of densities, slower and blind to scales.
The narrower bar wins; where both are too wide the call refuses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.exact import convolution
from accountants.exact.composition import Composition
from accountants.exact.contour import WORK_LIMIT, Contour, DeltaValue, absolute_bound, place
from accountants.exact.tilts import TiltTable, locate
from accountants.profiles import log_gaussian_delta, log_sampled_delta

Array = NDArray[np.float64]
Attempts = tuple[tuple[int, float], ...]

AIMED_ERROR = 1e-10  # relative error of δ at which no further contour is tried
GOOD_ERROR = 1e-9  # relative error of δ above which the slow convolution is tried
STATED_ERROR = 1e-6  # relative error of δ above which the engine refuses
_QUICK = ((0, 1.0), (0, 0.5), (0, 0.25), (1, 0.5), (1, 0.25))  # (placement, refinement in u)
_SLOW = (*_QUICK, (0, 0.12), (1, 0.12))  # with a larger limit of work
_QUICK_WORK = 2_000_000
_CONVOLVED_STEP = 2e-12  # error that the convolution is expected to have a step


def delta_value(composition: Composition, epsilon: float) -> Bracket:
    """log δ(ε) of a composition, between two ends.

    Parameters
    ----------
    composition : Composition
        With at least one pair.
    epsilon : float
        Any real number below the largest possible loss.

    Returns
    -------
    Bracket
        Of log δ.

    Raises
    ------
    AccuracyError
        If the error bar stays above ``STATED_ERROR`` of δ.
    """
    found = _Best()
    guess = 0.0
    try:
        table, guess = _table_for_epsilon(composition, epsilon)
        _contour_delta(composition, table, epsilon, guess, _QUICK, _QUICK_WORK, found)
    except AccuracyError as error:
        table = None
        found.reasons.append(str(error))
    if found.error > max(GOOD_ERROR, _CONVOLVED_STEP * composition.steps):
        try:
            if table is not None:
                guess = _past_barrier(composition, table, epsilon, guess)
            bracket = convolution.log_delta_bracket(composition, epsilon, min(guess, 0.0))
            found.offer(bracket, 0.5 * bracket.width)
        except AccuracyError as error:
            found.reasons.append(str(error))
    if found.error > STATED_ERROR and table is not None:
        _contour_delta(composition, table, epsilon, guess, _SLOW, WORK_LIMIT, found)
    return found.accept(f"delta at epsilon = {epsilon:.6g}")


def epsilon_bracket(composition: Composition, log_delta: float) -> Bracket:
    """ε at which δ(ε) = exp(``log_delta``), unclipped (it may be negative).

    Parameters
    ----------
    composition : Composition
        With at least one pair.
    log_delta : float
        < 0.

    Returns
    -------
    Bracket

    Raises
    ------
    AccuracyError
        If the error bar of δ stays above ``STATED_ERROR`` of δ.
    """
    found = _Best()
    guess = 1.0
    try:
        table, guess = _table_for_delta(composition, log_delta)
        _contour_epsilon(composition, table, guess, log_delta, _QUICK, _QUICK_WORK, found)
    except AccuracyError as error:
        table = None
        found.reasons.append(str(error))
    if found.error > max(GOOD_ERROR, _CONVOLVED_STEP * composition.steps):
        try:
            bracket, error_bar = convolution.epsilon_bracket(composition, log_delta, guess)
            found.offer(bracket, error_bar)
        except AccuracyError as error:
            found.reasons.append(str(error))
    if found.error > STATED_ERROR and table is not None:
        _contour_epsilon(composition, table, guess, log_delta, _SLOW, WORK_LIMIT, found)
    return found.accept(f"epsilon at delta = {_power_of_ten(log_delta)}")


def delta_estimate(composition: Composition, epsilon: float) -> float:
    """Estimate of log δ(ε), by the saddle point or one large loss: no bound, for first guesses.

    Raises
    ------
    AccuracyError
        If there is no saddle point.
    """
    table, estimate = _table_for_epsilon(composition, epsilon)
    return _past_barrier(composition, table, epsilon, estimate)


def _past_barrier(
    composition: Composition, table: TiltTable, epsilon: float, estimate: float
) -> float:
    """The saddle estimate, or that of one rare large loss where such a loss decides."""
    at = int(np.searchsorted(table.saddle_epsilon, epsilon))
    ordinary = table.curvature[min(at, table.c.size - 1)] < 9 * table.curvature[0]
    if ordinary or sum(count * pair.q for pair, count in composition.pairs) > 1:
        return estimate
    terms = [float(log_gaussian_delta(epsilon, math.sqrt(float(table.curvature[0]))))]
    for pair, count in composition.pairs:
        single = log_sampled_delta(epsilon, pair.q, pair.sigma, pair.direction)
        terms.append(math.log(count) + single)
    return min(estimate, float(np.logaddexp.reduce(terms)))


def surely_below(composition: Composition, epsilon: float, log_delta: float) -> bool:
    """Whether δ(``epsilon``) is below exp(``log_delta``) beyond the error bars.

    A proved Chernoff bound is tried first, then the integral of the absolute value over one
    contour, then the contour sum.
    """
    try:
        table, guess = _table_for_epsilon(composition, epsilon)
    except AccuracyError:
        return False
    # The tabulated cumulants carry rounding of about 1e-15 a step.
    if table.log_chernoff(epsilon) + 1e-9 + 1e-14 * composition.steps < log_delta:
        return True
    if absolute_bound(composition, table, epsilon) < log_delta:
        return True
    found = _Best()
    _contour_delta(composition, table, epsilon, guess, _QUICK[:1], _QUICK_WORK, found)
    return found.bracket is not None and found.bracket.upper < log_delta


@dataclass
class _Best:
    """The narrowest answer so far, and why others failed."""

    bracket: Bracket | None = None
    error: float = math.inf
    reasons: list[str] = field(default_factory=list)

    def offer(self, bracket: Bracket, error: float) -> None:
        """Keep ``bracket`` if its relative error of δ is the smallest so far."""
        if error < self.error:
            self.bracket, self.error = bracket, error

    def accept(self, what: str) -> Bracket:
        """The answer, or a refusal that says why."""
        if self.bracket is None or self.error > STATED_ERROR:
            bar = f"smallest error bar {self.error:.2g}, " if self.bracket is not None else ""
            first_and_last = dict.fromkeys(self.reasons[:1] + self.reasons[-1:])
            raise AccuracyError(
                f"{what} cannot be computed to a relative error of {STATED_ERROR:g} in delta "
                f"({bar}{'; '.join(first_and_last)})"
            )
        return self.bracket


def _contour_delta(
    composition: Composition,
    table: TiltTable,
    epsilon: float,
    log_delta: float,
    attempts: Attempts,
    work_limit: int,
    found: _Best,
) -> None:
    too_large: set[int] = set()
    for placement, refine in attempts:
        if placement in too_large:
            continue
        target = log_delta
        for _ in range(3):
            try:
                contour = Contour(
                    composition,
                    place(table, epsilon, target, attempt=placement),
                    table,
                    log_delta=target,
                    epsilon=epsilon,
                    refine=refine,
                    work_limit=work_limit,
                )
            except AccuracyError as error:
                found.reasons.append(str(error))
                too_large.add(placement)  # finer nodes would be dearer still
                break
            value = contour.evaluate(epsilon)
            found.offer(Bracket(value.log_lower, value.log_upper), value.relative_error)
            better = _better_target(target, value)
            if found.error <= AIMED_ERROR or abs(better - target) < 2.0:
                break
            target = better
        if found.error <= AIMED_ERROR:
            return


def _contour_epsilon(
    composition: Composition,
    table: TiltTable,
    guess: float,
    log_delta: float,
    attempts: Attempts,
    work_limit: int,
    found: _Best,
) -> None:
    epsilon = guess
    too_large: set[int] = set()
    for placement, refine in attempts:
        if placement in too_large:
            continue
        for _ in range(4):
            try:
                contour = Contour(
                    composition,
                    place(table, epsilon, log_delta, attempt=placement),
                    table,
                    log_delta=log_delta,
                    epsilon=epsilon,
                    refine=refine,
                    work_limit=work_limit,
                )
            except AccuracyError as error:
                found.reasons.append(str(error))
                too_large.add(placement)  # finer nodes would be dearer still
                break
            start = epsilon
            epsilon, settled = _newton(contour, start, log_delta)
            if settled:
                value = contour.evaluate(epsilon)
                if value.relative_error < min(found.error, STATED_ERROR):
                    ends = _verified_ends(contour, epsilon, value, log_delta)
                    if ends is not None:
                        found.offer(ends, value.relative_error)
                # Where ε moved far the images must be bounded anew on a contour of its own.
                if found.error <= AIMED_ERROR or abs(epsilon - start) * contour.tilt < 2.0:
                    break
        if found.error <= AIMED_ERROR:
            return


def _power_of_ten(logarithm: float) -> str:
    exponent = math.floor(logarithm / math.log(10))
    return f"{math.exp(logarithm - exponent * math.log(10)):.4g}e{exponent}"


def _better_target(log_delta: float, value: DeltaValue) -> float:
    """Aim the next contour at what this one saw, but never much below its error bar."""
    if value.log_lower > -math.inf:
        return value.log_value
    return min(log_delta, value.log_upper - 3.0)


def _newton(contour: Contour, epsilon: float, log_delta: float) -> tuple[float, bool]:
    """Solve for ε on one contour; False where it left the region that the contour sees."""
    for _ in range(40):
        log_scale, total, slope = contour.raw(epsilon)
        if not total > 0:
            epsilon -= 2.0 / contour.tilt
            continue
        excess = log_scale + math.log(total) - log_delta
        step = excess * total / -slope if slope < 0 else math.copysign(1 / contour.tilt, excess)
        # log δ is concave where it matters, so Newton may overshoot only from the left.
        limit = 8.0 / contour.tilt
        step = min(max(step, -limit), limit)
        epsilon += step
        if abs(step) <= 1e-15 * abs(epsilon) + 1e-14 / contour.tilt:
            return epsilon, True
        if abs(step) <= 1e-9 / contour.tilt:
            # One more full step doubles the digits; then the values only jitter.
            log_scale, total, slope = contour.raw(epsilon)
            if total > 0 > slope:
                epsilon += (log_scale + math.log(total) - log_delta) * total / -slope
            return epsilon, True
    return epsilon, False


def _verified_ends(
    contour: Contour, epsilon: float, value: DeltaValue, log_delta: float
) -> Bracket | None:
    """An interval of ε whose ends are checked against δ with its whole bar."""
    if not value.slope < 0:
        return None
    reach = 1.5 * value.relative_error / -value.slope + 4 * math.ulp(epsilon)
    for _ in range(8):
        upper, lower = epsilon + reach, epsilon - reach
        above = contour.evaluate(upper).log_upper <= log_delta
        below = contour.evaluate(lower).log_lower >= log_delta
        if above and below:
            return Bracket(lower, upper)
        reach *= 2
    return None


def _table_for_epsilon(composition: Composition, epsilon: float) -> tuple[TiltTable, float]:
    """A table whose saddles enclose ``epsilon``, and an estimate of log δ there."""
    table, k = locate(
        composition.table,
        lambda t: -t.saddle_epsilon,
        -epsilon,
        composition.typical_tilt(-14.0),
    )
    return table, _between(table.saddle_epsilon, table.log_estimate(epsilon), k, epsilon)


def _table_for_delta(composition: Composition, log_delta: float) -> tuple[TiltTable, float]:
    """A table whose saddles enclose log δ, and an estimate of ε there."""
    table, k = locate(
        composition.table,
        lambda t: t.own_estimate,
        log_delta,
        composition.typical_tilt(log_delta),
    )
    return table, _between(table.own_estimate, table.saddle_epsilon, k, log_delta)


def _between(x: Array, y: Array, k: int, target: float) -> float:
    """Value of y where x crosses ``target`` between positions k-1 and k, by a straight line."""
    share = (target - x[k - 1]) / (x[k] - x[k - 1]) if x[k] != x[k - 1] else 0.0
    return float(y[k - 1] + min(max(share, 0.0), 1.0) * (y[k] - y[k - 1]))
