"""Monotone solves that end on the private side."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation
from scipy import optimize

from accountants import validation
from accountants.bracket import Bracket
from accountants.errors import AccuracyError, InfeasibleBudgetError
from accountants.exact.accountant import ExactAccountant
from accountants.group import group_accountant
from accountants.profiles import log_gaussian_delta
from accountants.relations import rule
from accountants.walk import Release, UnsupportedLeaf, leaves

_SMALLEST, _LARGEST = 1e-3, 1e9
_TOLERANCE = 1e-9
_LOOSE_TOLERANCE = 1e-6
_TIGHT_TOLERANCE = 1e-3
_TIGHT_EVALUATIONS = 8
_EVALUATIONS = 80
_FAILURES = 4  # refusals of the accountant after which a solve gives up

#: From a noise multiplier to the event of the whole run.
MakeEvent = Callable[[float], dp_accounting.DpEvent]


@dataclass(frozen=True)
class Calibration:
    """A noise multiplier and what it costs.

    Attributes
    ----------
    noise_multiplier : float
        Noise std on the summed gradient divided by the clip norm.
    epsilon : Bracket
        ε at the target δ; its upper end is at most the target.
    """

    noise_multiplier: float
    epsilon: Bracket


def calibrate_noise_multiplier(
    make_event: MakeEvent,
    *,
    target_epsilon: float,
    target_delta: float,
    neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    direction: str = "both",
    tightness: str = "fast",
    group_size: int = 1,
) -> Calibration:
    """Smallest noise multiplier whose run meets a budget, to a relative 1e-9 in ε.

    Where the two ends of ε are apart it is the upper end that meets the budget, to a relative
    1e-6, or 1e-3 with ``tightness="tight"``.

    Parameters
    ----------
    make_event : callable
        From a noise multiplier to the event of the whole run; its cost must fall as the
        multiplier grows.
    target_epsilon : float
        ε in (0, inf).
    target_delta : float
        δ in (0, 1).
    neighboring_relation : NeighboringRelation
    direction : {"both", "remove", "add"}
    tightness : {"fast", "tight"}
        "tight" ends with a few evaluations of the tight upper end where that is smaller.
    group_size : int
        The budget is for groups of that many records (see `accountants.group.GroupAccountant`).

    Returns
    -------
    Calibration
        With ``epsilon.upper`` in ``(target_epsilon * (1 - tolerance), target_epsilon]``.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    InfeasibleBudgetError
        If no noise multiplier between 1e-3 and 1e9 meets the budget, or if every one does.
    UnsupportedEventError
        If the run has an event without a theorem.
    AccuracyError
        If the accountant cannot keep its stated error near the solution.

    Examples
    --------
    >>> from accountants.events import dp_sgd_event
    >>> from accountants.sampling import Poisson
    >>> run = lambda s: dp_sgd_event(sampling=Poisson(0.01), noise_multiplier=s, steps=1000)
    >>> found = calibrate_noise_multiplier(run, target_epsilon=2.0, target_delta=1e-6)
    >>> round(found.noise_multiplier, 6), found.epsilon.upper <= 2.0
    (1.029021, True)
    """
    epsilon = validation.target_epsilon(target_epsilon, open_ends=True)
    delta = validation.target_delta(target_delta, open_ends=True)
    # An unknown relation, direction or tightness is refused now: the search uses the last at its
    # very end only.
    group_accountant(neighboring_relation, direction, tightness, group_size=group_size)

    def accountant(noise_multiplier: float) -> ExactAccountant:
        fresh = group_accountant(neighboring_relation, direction, group_size=group_size)
        return fresh.compose(make_event(noise_multiplier))

    patient = True

    def excess(x: float) -> float:
        nonlocal patient
        try:
            at = accountant(math.exp(x))
            value = at.log_delta_upper(epsilon, rough=True, patient=patient)
        except AccuracyError:
            patient = False  # near by it would be refused as slowly again
            raise
        return max(value, -1e6) - log_delta

    log_delta = math.log(delta)
    budget = f"epsilon={epsilon!r} at delta={delta!r}"
    smallest = accountant(_SMALLEST)
    if smallest.hit_probability_bound < delta or smallest.unsampled_log_delta(epsilon) < log_delta:
        raise _nothing_to_calibrate(budget)

    def estimated_excess(x: float) -> float:
        value = accountant(math.exp(x)).log_delta_estimate(epsilon)
        return max(value, -1e6) - log_delta

    x, slope = _first_guess(make_event, neighboring_relation, epsilon, delta, group_size)
    # An estimate decides nothing: where it fails the true solve starts from the cruder guess.
    with contextlib.suppress(AccuracyError, InfeasibleBudgetError):
        x, slope, _ = _solve_delta(estimated_excess, x, slope, budget, within=0.02)
    x, slope, value = _solve_delta(excess, x, slope, budget, within=2e-3)
    exact = accountant(math.exp(x)).ends_meet
    tolerance = _TOLERANCE if exact else _LOOSE_TOLERANCE

    def ends(noise_multiplier: float) -> Bracket:
        found = accountant(noise_multiplier)
        # Where the ends are apart only the upper one steers, and the lower takes longer.
        return found.epsilon_bracket(delta) if exact else Bracket(0.0, found.get_epsilon(delta))

    best = _polish(ends, x, slope, value, epsilon, tolerance)
    if exact:
        return best
    sigma = best.noise_multiplier
    if tightness == "tight":
        unit = neighboring_relation, direction, group_size
        return _tightened(sigma, make_event, unit, epsilon, delta)
    return Calibration(sigma, accountant(sigma).epsilon_bracket(delta))


def _tightened(
    sigma: float,
    make_event: MakeEvent,
    unit: tuple[NeighboringRelation, str, int],
    epsilon: float,
    delta: float,
) -> Calibration:
    """Lower a noise multiplier that meets the budget until the tight upper end just does.

    A tight upper end takes seconds and jumps a little with its grid, so that few evaluations
    and a coarse tolerance serve; every value that is kept was computed to be inside the budget.
    """

    relation, direction, size = unit

    def tight(noise_multiplier: float) -> ExactAccountant:
        fresh = group_accountant(relation, direction, "tight", group_size=size)
        return fresh.compose(make_event(noise_multiplier))

    best, low = sigma, 0.0
    gap = tight(best).get_epsilon(delta) / epsilon - 1
    slope = 1.2  # -d log ε / d log sigma until it is known better
    for _ in range(_TIGHT_EVALUATIONS):
        if gap > -_TIGHT_TOLERANCE or best - low < 1e-4 * best:
            break
        trial = best * math.exp((gap + 0.3 * _TIGHT_TOLERANCE) / slope)
        trial = max(trial, low + 0.2 * (best - low))
        found = tight(trial).get_epsilon(delta) / epsilon - 1
        if found > gap and trial < best:
            slope = max((found - gap) / math.log(best / trial), 0.2)
        if found <= 0:
            best, gap = trial, found
        else:
            low = trial
    return Calibration(best, tight(best).epsilon_bracket(delta))


def _first_guess(
    make_event: MakeEvent,
    relation: NeighboringRelation,
    epsilon: float,
    delta: float,
    group_size: int,
) -> tuple[float, float]:
    """log of a noise multiplier at which loss variances match those of a Gaussian release.

    With it comes a guess of the derivative of log δ in it.
    """
    log_delta = math.log(delta)

    def gaussian_excess(log_gap: float) -> float:
        return max(float(log_gaussian_delta(epsilon, math.exp(log_gap))), -1e9) - log_delta

    try:
        gap = math.exp(optimize.brentq(gaussian_excess, -40, 40, xtol=1e-3))
    except ValueError:
        return 0.0, -math.inf
    try:
        found = list(leaves(make_event(1.0), 1, relation))
    except UnsupportedLeaf:
        return 0.0, -math.inf  # the accountant will say why

    def variance_excess(x: float) -> float:
        total = 0.0
        for leaf, count in found:
            if isinstance(leaf, Release):
                shift = group_size * rule(leaf.sampling.scheme, relation).shift
                square = min(shift * shift * math.exp(-2 * x), 500.0)
                q = leaf.chance
                full = count * q * q * math.expm1(square)
                # A sampled loss exceeds log(q) plus a Gaussian loss only by little.
                total += min(full, count * q * square * (1 + square)) if q < 1 else count * square
        return math.log(total + 1e-300) - 2 * math.log(gap)

    try:
        x = float(optimize.brentq(variance_excess, -3.0, 18.0, xtol=1e-3))
    except ValueError:
        return 0.0, -math.inf
    log_gap = math.log(gap)
    by_gap = (gaussian_excess(log_gap + 0.01) - gaussian_excess(log_gap)) / 0.01
    gap_by_x = (variance_excess(x + 0.01) - variance_excess(x)) / 0.02
    return x, by_gap * gap_by_x


def _solve_delta(
    excess: Callable[[float], float], start: float, slope: float, budget: str, *, within: float
) -> tuple[float, float, float]:
    """x with log δ ``within`` its target, slope and excess there, by a safeguarded secant."""
    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    known: dict[float, float] = {}
    left = right = None
    x = min(max(start, low), high)
    pace = 0.08
    failures = 0
    for _ in range(_EVALUATIONS):
        try:
            value = known[x] = excess(x)
        except AccuracyError:
            failures += 1
            if x >= high or failures > _FAILURES:
                raise
            x = min(high, x + 0.02 if right is None else 0.5 * (x + right))
            continue
        if value > 0:
            left = x
        else:
            right = x
        if abs(value) < within:
            return x, slope, value
        if left is None:
            if x <= low:
                raise _nothing_to_calibrate(budget)
        elif right is None and x >= high:
            raise InfeasibleBudgetError(
                f"{budget}: not met by any noise multiplier up to {_LARGEST:g}",
                nearest="a larger epsilon or delta, or fewer steps",
            )
        if len(known) > 1:
            slope = _slope(known, x)
        x = _next(value, slope, x, left, right, pace)
        x = min(max(x, low), high)
        pace *= 2 if left is None or right is None else 1
        if left is not None and right is not None and right - left < 1e-14 * max(1.0, abs(x)):
            return right, slope, known[right]
    raise AccuracyError(f"{budget}: the calibration did not converge")


def _nothing_to_calibrate(budget: str) -> InfeasibleBudgetError:
    return InfeasibleBudgetError(
        f"{budget}: met by every noise multiplier down to {_SMALLEST:g}; there is nothing to "
        "calibrate",
        nearest=f"noise_multiplier={_SMALLEST:g}",
    )


def _slope(known: dict[float, float], x: float) -> float:
    other = min((y for y in known if y != x), key=lambda y: abs(y - x))
    return (known[other] - known[x]) / (other - x)


def _next(
    value: float,
    slope: float,
    x: float,
    left: float | None,
    right: float | None,
    pace: float,
) -> float:
    """Secant step kept inside the bracket, or a growing step where there is none yet."""
    guess = x - value / slope if slope < 0 else math.nan
    if left is not None and right is not None:
        inside = left < guess < right
        return guess if inside else 0.5 * (left + right)
    stride = pace if value > 0 else -pace
    if (guess - x) * stride > 0 and abs(guess - x) < 4 * pace:
        return guess + 0.02 * (guess - x)
    return x + stride


def _polish(
    ends: Callable[[float], Bracket],
    x: float,
    delta_slope: float,
    delta_excess: float,
    epsilon: float,
    tolerance: float,
) -> Calibration:
    """Move from a nearly solved x until the upper end of ε lies just inside the budget."""
    low, high = -math.inf, math.inf  # low: too little noise
    previous: tuple[float, float] | None = None
    slope = -1.5  # d log ε / dx until it is known better
    best: Calibration | None = None
    for _ in range(_EVALUATIONS):
        sigma = math.exp(x)
        bracket = ends(sigma)
        gap = bracket.upper / epsilon - 1
        if gap <= 0 and (best is None or sigma < best.noise_multiplier):
            best = Calibration(sigma, bracket)
        if -tolerance < gap <= 0:
            return Calibration(sigma, bracket)
        if gap > 0:
            low = max(low, x)
        else:
            high = min(high, x)
        if previous is not None and previous[0] != x:
            slope = (gap - previous[1]) / (x - previous[0])
        elif abs(delta_excess) > 1e-7 and delta_slope * gap * delta_excess < 0:
            slope = delta_slope * gap / delta_excess  # both excesses are of the same x
        previous = (x, gap)
        target = x - (gap + 0.4 * tolerance) / slope if slope < 0 else math.nan
        if not low < target < high:
            target = (
                0.5 * (low + high) if math.isfinite(low + high) else x + math.copysign(1e-5, gap)
            )
        if target == x or (math.isfinite(low + high) and math.nextafter(low, high) >= high):
            break
        x = target
    if best is not None:
        # Neighbouring floats straddle the tolerance: the private one is still the answer.
        return best
    raise AccuracyError("no noise multiplier near the solution lies inside the budget")
