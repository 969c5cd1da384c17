"""ε(δ) and δ(ε) of counted releases, from above and from below.

Where one pair dominates and is attained, both ends come from one computation to the accuracy
of the engine.  Elsewhere the upper end comes from the dominating pair of every release, by the
contour sum or, where that does not converge, by a Chernoff bound; the lower end is the largest
over the data sets that are tried.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from itertools import islice

from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.bracket import Bracket
from accountants.errors import AccuracyError
from accountants.exact import estimates, inversion, lattice, single
from accountants.exact.domination import Counts, is_exact, lower_runs, upper_run
from accountants.exact.inversion import Precision
from accountants.exact.run import Run, larger_epsilon, larger_log_delta, surely_free
from accountants.exact.run import log_delta_estimate as run_estimate
from accountants.relations import Direction

_EXACT_SHARE = 1e-12  # of δ that truncations may take where both ends are to meet
_LOOSE_SHARE = 1e-7
_TYPICAL = -32.0  # log of the δ that truncations are chosen for while it is not known
_CLOSE = 0.02  # a data set is computed where its estimate is this near the best or above it


def epsilon_bracket(
    counts: Counts,
    relation: NeighboringRelation,
    directions: tuple[Direction, ...],
    delta: float,
    *,
    rough: bool = False,
) -> Bracket:
    """ε at ``delta`` in [0, 1): see ``ExactAccountant.epsilon_bracket``.

    A ``rough`` one tries one pair of data sets only for the lower end, and takes little time.
    """
    if is_exact(counts, relation):
        return _exact_epsilon(counts, relation, directions, delta)
    upper = epsilon_upper(counts, relation, directions, delta)
    # What both laws leave out may weigh exp(ε) times its chance.
    tail = _tail(counts, delta * _LOOSE_SHARE * math.exp(-min(upper, 500.0)))
    lower = max(
        lower_epsilon(lower_runs(counts, relation, d, tail), delta, upper, rough=rough)
        for d in directions
    )
    return Bracket(min(lower, upper), upper)


def epsilon_upper(
    counts: Counts, relation: NeighboringRelation, directions: tuple[Direction, ...], delta: float
) -> float:
    """The upper end alone."""
    if is_exact(counts, relation):
        return _exact_epsilon(counts, relation, directions, delta).upper
    tail = _tail(counts, delta * _LOOSE_SHARE)
    return max(upper_epsilon(upper_run(counts, relation, d, tail), delta) for d in directions)


def _exact_epsilon(
    counts: Counts, relation: NeighboringRelation, directions: tuple[Direction, ...], delta: float
) -> Bracket:
    tail = _tail(counts, delta * _EXACT_SHARE)
    answer = Bracket(0.0, 0.0)
    for direction in directions:
        run = upper_run(counts, relation, direction, tail)
        if run.failure == 0 or delta == 0:
            answer = larger_epsilon(run, delta, answer)
            continue
        upper = upper_end(run, delta, answer)
        if upper <= answer.lower:
            continue
        (below,) = lower_runs(counts, relation, direction, tail)
        lower = larger_epsilon(below, delta, Bracket(0.0, 0.0)).lower
        answer = answer.hull_of_maximum(Bracket(min(lower, upper), upper))
    return answer


def upper_end(run: Run, delta: float, floor: Bracket) -> float:
    """Upper end of ε of an exact run that leaves something out; δ may be larger by its chance."""
    if delta <= run.failure:
        return math.inf
    return larger_epsilon(run, delta - run.failure, Bracket(0.0, floor.lower)).upper


def log_delta_bracket(
    counts: Counts,
    relation: NeighboringRelation,
    directions: tuple[Direction, ...],
    epsilon: float,
) -> Bracket:
    """log δ at a finite ``epsilon`` >= 0: see ``ExactAccountant.log_delta_bracket``."""
    if is_exact(counts, relation):
        return _refined(
            counts,
            _EXACT_SHARE,
            lambda tail: _exact_log_delta(counts, relation, directions, epsilon, tail),
        )
    upper = log_delta_upper(counts, relation, directions, epsilon)
    tail = _tail(counts, math.exp(max(upper + math.log(_LOOSE_SHARE) - epsilon, -700.0)))
    lower = max(lower_log_delta(lower_runs(counts, relation, d, tail), epsilon) for d in directions)
    return Bracket(min(lower, upper), upper)


def log_delta_upper(
    counts: Counts,
    relation: NeighboringRelation,
    directions: tuple[Direction, ...],
    epsilon: float,
    *,
    rough: bool = False,
    patient: bool = True,
) -> float:
    """The upper end alone; a ``rough`` one may be up to a hundredth above what is possible.

    Without patience it is rough, and what takes seconds is refused.
    """
    rough = rough or not patient
    if is_exact(counts, relation):
        precision = inversion.LOOSE if rough else inversion.EXACT
        precision = precision if patient else inversion.BRIEF
        return _refined(
            counts,
            _LOOSE_SHARE if rough else _EXACT_SHARE,
            lambda tail: _exact_log_delta(counts, relation, directions, epsilon, tail, precision),
        ).upper

    def value(tail: float) -> Bracket:
        found = max(
            upper_log_delta(upper_run(counts, relation, d, tail), epsilon) for d in directions
        )
        return Bracket(-math.inf, found)

    return _refined(counts, _LOOSE_SHARE, value).upper


def _refined(counts: Counts, share: float, value: Callable[[float], Bracket]) -> Bracket:
    """log δ with truncations that take at most ``share`` of it; δ is known only afterwards."""
    log_share = math.log(share)
    log_tail = _TYPICAL + log_share
    for _ in range(4):
        answer = value(_tail(counts, math.exp(max(log_tail, -700.0))))
        wanted = answer.upper + log_share
        if wanted >= log_tail or log_tail < -690 or not _truncates(counts):
            break
        log_tail = wanted - 1.0
    return answer


def _truncates(counts: Counts) -> bool:
    return any(release.most_copies > 1 for release in counts)


def _exact_log_delta(
    counts: Counts,
    relation: NeighboringRelation,
    directions: tuple[Direction, ...],
    epsilon: float,
    tail: float,
    precision: Precision = inversion.EXACT,
) -> Bracket:
    nothing = Bracket(-math.inf, -math.inf)
    answer = nothing
    for direction in directions:
        run = upper_run(counts, relation, direction, tail)
        if run.failure == 0:
            answer = larger_log_delta(run, epsilon, answer, precision)
            continue
        upper = _log_more(larger_log_delta(run, epsilon, nothing, precision).upper, run.failure)
        if upper <= answer.lower:
            continue
        (below,) = lower_runs(counts, relation, direction, tail)
        lower = larger_log_delta(below, epsilon, nothing, precision).lower
        answer = answer.hull_of_maximum(Bracket(min(lower, upper), upper))
    return answer


def log_delta_estimate(
    counts: Counts, relation: NeighboringRelation, direction: Direction, epsilon: float
) -> float:
    """Saddle-point estimate of the upper end of log δ: no bound."""
    run = upper_run(counts, relation, direction, _tail(counts, 1e-16))
    return _log_more(min(run_estimate(run, epsilon), 0.0), run.failure)


def _tail(counts: Counts, total: float) -> float:
    """Share of ``total`` for one use of a release."""
    return max(total / max(1, sum(counts.values())), 1e-307)


def _lower_factor(run: Run, epsilon: float) -> float:
    """Factor on the chance of failure that δ may be too high by.

    Of the law that the output is drawn from a share is missing, which costs that share; of the
    other law it costs exp(ε) times as much (docs/proofs/lower-ends.md).
    """
    if all(pair.direction is Direction.REMOVE for pair, _ in run.composition.pairs):
        return 1.0
    return 1.0 + math.exp(min(epsilon, 700.0))


def upper_epsilon(run: Run, delta: float) -> float:
    """Upper bound on the true ε(``delta``) from a dominating run; inf where it has none."""
    if delta <= run.failure:
        return math.inf if run.failure > 0 else run.epsilon_of_zero.upper
    log_delta = math.log(delta - run.failure)
    if surely_free(run, log_delta):
        return 0.0
    closed_form = run.closed_form
    if closed_form is not None:
        return single.epsilon_bracket(closed_form, log_delta).upper
    ways: tuple[Callable[[], float], ...] = (
        lambda: inversion.epsilon_bracket(run.composition, log_delta, inversion.BRIEF).upper,
        lambda: _smaller(
            lattice.epsilon_end(run.composition, log_delta, upper=True),
            lambda: estimates.chernoff_epsilon(run.composition, log_delta),
        ),
        lambda: inversion.epsilon_bracket(run.composition, log_delta, inversion.LOOSE).upper,
        lambda: estimates.chernoff_epsilon(run.composition, log_delta),
    )
    return max(0.0, _first_answer(ways))


def upper_log_delta(run: Run, epsilon: float) -> float:
    """Upper bound on the true log δ(``epsilon``) from a dominating run."""
    if epsilon >= run.largest_loss:
        value = -math.inf
    elif (closed_form := run.closed_form) is not None:
        value = single.log_bracket(closed_form, epsilon).upper
    else:
        ways: tuple[Callable[[], float], ...] = (
            lambda: inversion.delta_value(run.composition, epsilon, inversion.BRIEF).upper,
            lambda: _smaller(
                lattice.log_delta_end(run.composition, epsilon, upper=True),
                lambda: estimates.chernoff_log_delta(run.composition, epsilon),
            ),
            lambda: inversion.delta_value(run.composition, epsilon, inversion.LOOSE).upper,
            lambda: estimates.chernoff_log_delta(run.composition, epsilon),
        )
        value = _first_answer(ways)
    return _log_more(value, run.failure)


def _smaller(value: float, other: Callable[[], float]) -> float:
    """The smaller of two upper ends, the second of which may refuse."""
    with contextlib.suppress(AccuracyError):
        return min(value, other())
    return value


def _first_answer(ways: Iterable[Callable[[], float]]) -> float:
    """The answer of the first way that has one; the last may refuse."""
    *earlier, last = ways
    for way in earlier:
        with contextlib.suppress(AccuracyError):
            return way()
    return last()


def lower_epsilon(
    runs: Iterable[Run], delta: float, ceiling: float, *, rough: bool = False
) -> float:
    """Largest lower bound on ε(``delta``) among attained runs; 0 where none has one.

    ``ceiling`` is an upper end of ε: what was left out may cost up to exp(ε) times its chance.
    A ``rough`` bound is that of the first run, as far as it takes little time.
    """

    def estimate(run: Run) -> float:
        if run.closed_form is not None:
            return single.epsilon_bracket(run.closed_form, math.log(delta)).lower
        return estimates.epsilon_estimate(run.composition, math.log(delta))

    def value(run: Run, precision: Precision) -> float:
        raised = delta + run.failure * _lower_factor(run, ceiling)
        if raised >= 1 or surely_free(run, math.log(raised)):
            return 0.0
        target = math.log(raised)
        if run.closed_form is not None:
            return single.epsilon_bracket(run.closed_form, target).lower
        return _first_answer(
            (
                lambda: inversion.epsilon_bracket(run.composition, target, precision).lower,
                lambda: lattice.epsilon_end(run.composition, target, upper=False),
            )
        )

    if delta == 0:
        return max((run.epsilon_of_zero.lower for run in runs), default=0.0)
    if rough:
        with contextlib.suppress(AccuracyError):
            return max([0.0, *(value(run, inversion.BRIEF) for run in islice(runs, 1))])
        return 0.0
    return max(0.0, _best(runs, estimate, value, 0.0))


def lower_log_delta(runs: Iterable[Run], epsilon: float) -> float:
    """Largest lower bound on log δ(``epsilon``) among attained runs."""

    def estimate(run: Run) -> float:
        if epsilon >= run.largest_loss:
            return -math.inf
        if run.closed_form is not None:
            return run.closed_form(epsilon)[0]
        return estimates.delta_estimate(run.composition, epsilon)

    def value(run: Run, precision: Precision) -> float:
        if epsilon >= run.largest_loss:
            return -math.inf
        if run.closed_form is not None:
            found = single.log_bracket(run.closed_form, epsilon).lower
        else:
            found = _first_answer(
                (
                    lambda: inversion.delta_value(run.composition, epsilon, precision).lower,
                    lambda: lattice.log_delta_end(run.composition, epsilon, upper=False),
                )
            )
        return _log_less(found, run.failure * _lower_factor(run, epsilon))

    return _best(runs, estimate, value, -math.inf)


def _best(
    runs: Iterable[Run],
    estimate: Callable[[Run], float],
    value: Callable[[Run, Precision], float],
    nothing: float,
) -> float:
    """Largest value among the first run and those whose estimates reach near its value.

    The first run is the usual winner and is computed with patience, the others only as far as
    they take little time.
    """
    best = nothing
    for number, run in enumerate(runs):
        with contextlib.suppress(AccuracyError):
            if number == 0:
                best = max(best, value(run, inversion.LOOSE))
            elif estimate(run) > best - _CLOSE * abs(best):
                best = max(best, value(run, inversion.BRIEF))
    return best


def _log_more(log_value: float, extra: float) -> float:
    """log(exp(log_value) + extra), at most 0."""
    if extra == 0:
        return log_value
    total = math.log(extra) if log_value == -math.inf else _logaddexp(log_value, math.log(extra))
    return min(0.0, total + 1e-14)


def _log_less(log_value: float, removed: float) -> float:
    """log(exp(log_value) - removed), -inf where nothing is left."""
    if removed == 0 or log_value == -math.inf:
        return log_value
    gap = math.log(removed) - log_value
    return log_value + math.log1p(-math.exp(gap)) - 1e-14 if gap < 0 else -math.inf


def _logaddexp(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high))
