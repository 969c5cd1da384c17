"""From a composition to δ(ε) and ε(δ) with their ends."""

from __future__ import annotations

import math

import numpy as np

from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.exact.composition import Composition, TiltTable
from accountants.exact.contour import Contour, DeltaValue, place

AIMED_ERROR = 3e-11  # relative error of δ that another attempt is worth
STATED_ERROR = 1e-6  # relative error of δ above which the engine refuses
_ATTEMPTS = 6


def delta_value(composition: Composition, epsilon: float) -> DeltaValue:
    """log δ(ε) of a composition by the contour engine.

    Parameters
    ----------
    composition : Composition
        With at least one pair.
    epsilon : float
        Any real number below the largest possible loss.

    Returns
    -------
    DeltaValue

    Raises
    ------
    AccuracyError
        If the error bar stays above ``STATED_ERROR`` of δ.
    """
    table, log_delta = _table_for_epsilon(composition, epsilon)
    best: DeltaValue | None = None
    reason = "no attempt gave a positive sum"
    for attempt in range(_ATTEMPTS):
        try:
            contour = _contour(composition, table, epsilon, log_delta, attempt)
        except AccuracyError as error:
            reason = str(error)
            continue
        value = contour.evaluate(epsilon)
        if best is None or value.relative_error < best.relative_error:
            best = value
        if best.relative_error <= AIMED_ERROR:
            break
        log_delta = _better_target(log_delta, value)
    return _accept(best, reason)


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
    table, epsilon = _table_for_delta(composition, log_delta)
    best: tuple[float, Bracket] | None = None
    reason = "no attempt converged"
    for attempt in range(2 * _ATTEMPTS):
        try:
            contour = _contour(composition, table, epsilon, log_delta, attempt // 2)
        except AccuracyError as error:
            reason = str(error)
            continue
        epsilon, settled = _newton(contour, epsilon, log_delta)
        if not settled:
            continue
        value = contour.evaluate(epsilon)
        error_bar = value.relative_error
        if best is not None and error_bar >= best[0]:
            continue
        if error_bar <= STATED_ERROR:
            ends = _verified_ends(contour, epsilon, value, log_delta)
            if ends is not None:
                best = (error_bar, ends)
                if error_bar <= AIMED_ERROR:
                    break
        else:
            reason = f"relative error bar {error_bar:.2g} of delta"
    if best is None:
        raise AccuracyError(
            f"epsilon at log delta = {log_delta:.6g} cannot be computed to a relative error of "
            f"{STATED_ERROR:g} in delta: {reason}"
        )
    return best[1]


def _contour(
    composition: Composition, table: TiltTable, epsilon: float, log_delta: float, attempt: int
) -> Contour:
    placement = place(table, epsilon, log_delta, caution=attempt)
    refine = (1.0, 0.8, 0.5, 0.25, 0.12, 0.06)[min(attempt, 5)]
    return Contour(
        composition, placement, table, log_delta=log_delta, epsilon=epsilon, refine=refine
    )


def _better_target(log_delta: float, value: DeltaValue) -> float:
    """Aim the next contour at what this one saw, but never much below its error bar."""
    if value.log_lower > -math.inf:
        return value.log_value
    return min(log_delta, value.log_upper - 3.0)


def _accept(best: DeltaValue | None, reason: str) -> DeltaValue:
    if best is None or best.relative_error > STATED_ERROR:
        if best is not None:
            reason = f"relative error bar {best.relative_error:.2g}"
        raise AccuracyError(
            f"delta cannot be computed to a relative error of {STATED_ERROR:g}: {reason}"
        )
    return best


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
    centre = composition.typical_tilt(-14.0)
    low, high = centre / 24, centre * 2.5
    for _ in range(16):
        table = composition.table(low, high)
        saddles = table.saddle_epsilon
        if saddles[-3] < epsilon:
            high *= 3.0
            low = max(low, high / 200)
        elif saddles[0] > epsilon:
            low /= 16
            high = max(high / 8, low * 60)
        else:
            estimates = table.log_estimate(epsilon)
            return table, float(np.interp(epsilon, saddles, estimates))
    raise AccuracyError(
        f"no saddle point found for epsilon = {epsilon:.6g}: the run's largest possible loss is "
        "near it, or the loss has an extreme spread"
    )


def _table_for_delta(composition: Composition, log_delta: float) -> tuple[TiltTable, float]:
    """A table whose saddles enclose log δ, and an estimate of ε there."""
    centre = composition.typical_tilt(log_delta)
    low, high = centre / 24, centre * 2.5
    for _ in range(16):
        table = composition.table(low, high)
        saddles = table.saddle_epsilon
        estimates = table.psi - table.c * saddles - np.log(table.c * (1 + table.c))
        estimates -= 0.5 * np.log(2 * math.pi * table.width)
        if estimates[-3] > log_delta:
            high *= 3.0
            low = max(low, high / 200)
        elif estimates[0] < log_delta:
            low /= 16
            high = max(high / 8, low * 60)
        else:
            order = np.argsort(-estimates, kind="stable")
            return table, float(np.interp(-log_delta, -estimates[order], saddles[order]))
    raise AccuracyError(
        f"no saddle point found for log delta = {log_delta:.6g}: the largest possible loss is "
        "reached first, or the loss has an extreme spread"
    )
