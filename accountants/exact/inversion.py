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
from accountants.exact.estimates import past_barrier, table_for_delta, table_for_epsilon
from accountants.exact.tilts import TiltTable
from accountants.pairs import MixturePair

Array = NDArray[np.float64]
#: (kind of placement, refinement in u) of the contours that are tried, in order.
Attempts = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Precision:
    """Relative errors of δ at which the engine acts.

    Attributes
    ----------
    aimed : float
        No further contour is tried below it.
    good : float
        The slow convolution is tried above it.
    stated : float
        The engine refuses above it.
    patient : bool
        Whether large contour sums and convolutions, which take seconds, are tried at all.
    work : int
        What a convolution may cost: about a microsecond each.
    """

    aimed: float
    good: float
    stated: float
    patient: bool = True
    work: int = convolution.WORK


#: Where both ends are to meet.
EXACT = Precision(1e-10, 1e-9, 1e-6)
#: For ends that are apart by more than arithmetic anyway.
LOOSE = Precision(1e-7, 1e-5, 1e-2, work=9_000_000)
#: As loose, and nothing that takes seconds is tried.
BRIEF = Precision(1e-7, 1e-5, 1e-2, patient=False)
_QUICK = (
    (0, 1.0),
    (0, 0.5),
    (0, 0.25),
    (2, 0.25),
    (1, 0.5),
    (1, 0.25),
)  # (placement, refinement in u)
_ONCE = ((0, 1.0), (0, 0.5), (1, 0.5))
_SLOW = (*_QUICK, (0, 0.12), (1, 0.12))  # with a larger limit of work
_LARGER = ((2, 0.5), (0, 0.5), (2, 0.25), (0, 0.25))  # with the larger limit, before a convolution
_LARGER_WORK = 2 * WORK_LIMIT
_MANY_STEPS = 64
_SHARP = 2e-10  # relative width of ε
_QUICK_WORK = 2_000_000
_CONVOLVED_STEP = 2e-12  # error that the convolution is expected to have a step


def delta_value(composition: Composition, epsilon: float, precision: Precision = EXACT) -> Bracket:
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
        If the error bar stays above ``precision.stated`` of δ.
    """
    found = _Best(precision)
    if not precision.patient:
        only, guess = table_for_epsilon(composition, epsilon)
        _contour_delta(composition, only, epsilon, guess, _ONCE, _QUICK_WORK, found)
        return found.accept(f"delta at epsilon = {epsilon:.6g}")
    guess = 0.0
    try:
        table, guess = table_for_epsilon(composition, epsilon)
        _contour_delta(composition, table, epsilon, guess, _QUICK, _QUICK_WORK, found)
        if found.error > precision.good and _convolves_slowly(composition):
            _contour_delta(composition, table, epsilon, guess, _LARGER, _LARGER_WORK, found)
    except AccuracyError as error:
        table = None
        found.reasons.append(str(error))
    if found.error > max(precision.good, _CONVOLVED_STEP * composition.steps):
        try:
            if table is not None:
                guess = past_barrier(composition, table, epsilon, guess)
            bracket = convolution.log_delta_bracket(
                composition, epsilon, min(guess, 0.0), precision.work
            )
            found.offer(bracket, 0.5 * bracket.width)
        except AccuracyError as error:
            found.reasons.append(str(error))
    if found.error > precision.stated and table is not None:
        _contour_delta(composition, table, epsilon, guess, _SLOW, WORK_LIMIT, found)
    return found.accept(f"delta at epsilon = {epsilon:.6g}")


def epsilon_bracket(
    composition: Composition, log_delta: float, precision: Precision = EXACT
) -> Bracket:
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
        If the error bar of δ stays above ``precision.stated`` of δ.
    """
    found = _Best(precision)
    if not precision.patient:
        only, guess = table_for_delta(composition, log_delta)
        _contour_epsilon(composition, only, guess, log_delta, _ONCE, _QUICK_WORK, found)
        return found.accept(f"epsilon at delta = {_power_of_ten(log_delta)}")
    guess = 1.0
    try:
        table, guess = table_for_delta(composition, log_delta)
        _contour_epsilon(composition, table, guess, log_delta, _QUICK, _QUICK_WORK, found)
        if not found.settled and found.error > precision.good and _convolves_slowly(composition):
            _contour_epsilon(composition, table, guess, log_delta, _LARGER, _LARGER_WORK, found)
    except AccuracyError as error:
        table = None
        found.reasons.append(str(error))
    enough = max(precision.good, _CONVOLVED_STEP * composition.steps)
    if found.error > enough and not found.settled:
        try:
            bracket, error_bar = convolution.epsilon_bracket(
                composition, log_delta, guess, precision.work
            )
            found.offer(bracket, error_bar)
        except AccuracyError as error:
            found.reasons.append(str(error))
    if found.error > precision.stated and table is not None:
        _contour_epsilon(composition, table, guess, log_delta, _SLOW, WORK_LIMIT, found)
    return found.accept(f"epsilon at delta = {_power_of_ten(log_delta)}")


def surely_below(composition: Composition, epsilon: float, log_delta: float) -> bool:
    """Whether δ(``epsilon``) is below exp(``log_delta``) beyond the error bars.

    A proved Chernoff bound is tried first, then the integral of the absolute value over one
    contour, then the contour sum.
    """
    try:
        table, guess = table_for_epsilon(composition, epsilon)
    except AccuracyError:
        # Near the largest loss that a run can have the saddle is at a tilt beyond the tables; any
        # smaller tilt proves a bound, too.
        return _chernoff_below(composition, epsilon, log_delta)
    # The tabulated cumulants carry rounding of about 1e-15 a step.
    if table.log_chernoff(epsilon) + 1e-9 + 1e-14 * composition.steps < log_delta:
        return True
    if absolute_bound(composition, table, epsilon) < log_delta:
        return True
    found = _Best(EXACT)
    _contour_delta(composition, table, epsilon, guess, _QUICK[:1], _QUICK_WORK, found)
    return found.bracket is not None and found.bracket.upper < log_delta


def _chernoff_below(composition: Composition, epsilon: float, log_delta: float) -> bool:
    """Whether a Chernoff bound at a tilt that can be tabulated is below exp(``log_delta``)."""
    centre = composition.typical_tilt(log_delta)
    for factor in (1.0, 10.0, 100.0, 1000.0):
        try:
            table = composition.table(np.geomspace(factor * centre / 3, factor * centre * 3, 8))
        except AccuracyError:
            return False
        if table.log_chernoff(epsilon) + 1e-9 + 1e-14 * composition.steps < log_delta:
            return True
    return False


def _convolves_slowly(composition: Composition) -> bool:
    """Whether a large contour sum takes less time than convolutions would."""
    mixed = any(isinstance(pair, MixturePair) for pair, _ in composition.pairs)
    return mixed and composition.steps > _MANY_STEPS


@dataclass
class _Best:
    """The narrowest answer so far, and why others failed."""

    precision: Precision
    bracket: Bracket | None = None
    error: float = math.inf
    sharp: bool = False  # an ε this narrow needs no better δ
    reasons: list[str] = field(default_factory=list)

    def offer(self, bracket: Bracket, error: float) -> None:
        """Keep ``bracket`` if its relative error of δ is the smallest so far."""
        if error < self.error:
            self.bracket, self.error = bracket, error

    @property
    def settled(self) -> bool:
        """Whether no further contour is worth its time."""
        return self.error <= self.precision.aimed or (
            self.sharp and self.error <= 0.01 * self.precision.stated
        )

    def accept(self, what: str) -> Bracket:
        """The answer, or a refusal that says why."""
        if self.bracket is None or self.error > self.precision.stated:
            bar = f"smallest error bar {self.error:.2g}, " if self.bracket is not None else ""
            first_and_last = dict.fromkeys(self.reasons[:1] + self.reasons[-1:])
            raise AccuracyError(
                f"{what} cannot be computed to a relative error of "
                f"{self.precision.stated:g} in delta "
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
            if found.settled or abs(better - target) < 2.0:
                break
            target = better
        if found.settled:
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
                if value.relative_error < min(found.error, found.precision.stated):
                    ends = _verified_ends(contour, epsilon, value, log_delta)
                    if ends is not None:
                        found.offer(ends, value.relative_error)
                        found.sharp = ends.width <= _SHARP * abs(epsilon)
                # Where ε moved far the images must be bounded anew on a contour of its own.
                if found.settled or abs(epsilon - start) * contour.tilt < 2.0:
                    break
        if found.settled:
            return


def _power_of_ten(logarithm: float) -> str:
    exponent = math.floor(logarithm / math.log(10))
    mantissa = round(math.exp(logarithm - exponent * math.log(10)), 3)
    return f"{mantissa:g}e{exponent}" if mantissa < 10 else f"1e{exponent + 1}"


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
