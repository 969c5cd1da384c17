"""Rigorous two-sided enclosures of δ(ε), independent of every accountant: python-flint balls only.

Each end is certain: it is computed in ball arithmetic from data sets that are written down
(``ball_pairs``), by closed forms or on a lattice of losses (``ball_lattice``); doubles choose
spacings and cuts and never enter a claim.  Proofs: docs/proofs/enclosure.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import dp_accounting
import flint
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import validation
from accountants.laws import ball_adaptive
from accountants.laws.ball_curves import float_above, float_below
from accountants.laws.ball_events import Bare, read
from accountants.laws.ball_masses import OutOfReach
from accountants.laws.ball_pairs import Product, attained, ball
from accountants.laws.ball_runs import Run, Target, closed_form, gathered, largest_loss
from accountants.walk import UnsupportedLeaf

__all__ = ["Enclosure", "NoEnclosure", "delta_enclosure", "too_large", "too_small"]

_BITS = 160
_SMALLEST_LOG = -760.0  # below the logarithm of the smallest float
_FINER = 3.0
_LONGEST_RUN = 200_000  # steps; longer compositions are first confirmed with this many
_FAR = 1_000_000_000
_BRIEFLY = 1.0  # seconds for fixed data sets where an adaptive run confirms as well


class NoEnclosure(ValueError):
    """The event has no attained pair here, or its composition is out of reach; says why."""


@dataclass(frozen=True)
class Enclosure:
    """Ends of δ at an ε.

    Attributes
    ----------
    lower, upper : float
        Rounded outward.  The true δ, over all pairs of neighbouring data sets, lies between.
    method : str
        Which data sets and which arithmetic stand behind the ends.
    """

    lower: float
    upper: float
    method: str


def delta_enclosure(
    event: dp_accounting.DpEvent,
    relation: NeighboringRelation,
    epsilon: float,
    *,
    spacing: float | None = None,
    seconds: float = 60.0,
) -> Enclosure:
    """δ of ``event`` at ``epsilon``, between two certain ends.

    Parameters
    ----------
    event : dp_accounting.DpEvent
    relation : NeighboringRelation
    epsilon : float
        In [0, inf).
    spacing : float, optional
        Of the lattice, in units of the loss; by default a fine one for the run.
    seconds : float
        CPU time after which ``NoEnclosure`` is raised.

    Returns
    -------
    Enclosure
        Where no pair is known that dominates, the upper end is 1.

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    NoEnclosure
        If the event has no attained pair, or the lattice would be too long.
    """
    value = validation.target_epsilon(epsilon)
    if value == math.inf:
        raise ValueError(f"epsilon={epsilon!r}: must be a finite number >= 0")
    deadline = time.process_time() + seconds
    with flint.ctx.workprec(_BITS):
        products, shown = _products(event, relation)
        target = Target(ball(Fraction(value)), _SMALLEST_LOG)
        lower, upper, name = float_below(shown), 1.0 if shown > 0 else 0.0, "no noise"
        for product in products:
            try:
                low, high = _ends(product, target, spacing, deadline)
            except OutOfReach as error:
                raise NoEnclosure(str(error)) from None
            if float_below(low) >= lower:
                lower, name = float_below(low), product.name
            upper = max(upper, float_above(high) if product.dominating else 1.0)
        return Enclosure(min(lower, upper), upper, f"largest lower end: {name}")


def too_small(
    event: dp_accounting.DpEvent,
    relation: NeighboringRelation,
    epsilon: float,
    delta: float,
    *,
    seconds: float = 10.0,
) -> str | None:
    """A proof that ``event`` is not (``epsilon``, ``delta``)-DP, or None if none was found.

    Parameters
    ----------
    event : dp_accounting.DpEvent
    relation : NeighboringRelation
    epsilon, delta : float
        The guarantee that is claimed; an ε below 0 is read as 0, which it implies.
    seconds : float
        CPU time in which to refine.

    Returns
    -------
    str or None
        The data sets and a certain lower end of their δ, which exceeds ``delta``.
    """
    if math.isnan(epsilon) or math.isnan(delta) or epsilon == math.inf or delta >= 1:
        return None
    deadline = time.process_time() + seconds
    claim = flint.arb(max(delta, 0.0))
    log_delta = math.log(delta) if delta > 0 else _SMALLEST_LOG
    with flint.ctx.workprec(_BITS):
        try:
            products, shown = _products(event, relation)
        except (NoEnclosure, ValueError):
            return None
        if shown > claim:
            at = float_below(shown)
            return f"releases without noise show a record with chance {at!r}, above {delta!r}"
        target = Target(ball(Fraction(max(epsilon, 0.0))), log_delta)
        if delta <= 0:
            return _some_delta(products, target.epsilon, epsilon)
        # Who adapts attains more than fixed data sets: where that is enough, these get less time.
        plan = ball_adaptive.promising(read(event, relation), relation, max(epsilon, 0.0), delta)
        if plan is not None:
            deadline = min(deadline, time.process_time() + _BRIEFLY)
        searches = {
            product.name: _better_ends(product, target, deadline, upper=False)
            for product in products
        }
        spent = dict.fromkeys(searches, 0.0)
        values: dict[str, Any] = {}
        while searches:
            name = min(searches, key=lambda name: spent[name])  # nobody waits for a slow one
            start = time.process_time()
            low = next(searches[name], None)
            spent[name] += time.process_time() - start
            if low is None or time.process_time() > deadline:
                del searches[name]
                continue
            if low[0] > claim:
                return _sentence(name, low, epsilon, delta)
            values[name] = low[0].mid()
            # Time goes to the data sets that are ahead, once any is near.
            best = max(values.values(), key=float)
            for other in [other for other in searches if other in values]:
                if best > claim / 100 and values[other] < best / 4:
                    del searches[other]
        if plan is not None:
            value = ball_adaptive.lower_end(plan, target.epsilon)
            if value > claim:
                how = f"an adaptive run, lattice of spacing {plan.spacing:.3g} in balls"
                return _sentence("chosen anew at each step", (value, how), epsilon, delta)
    return None


def too_large(
    event: dp_accounting.DpEvent,
    relation: NeighboringRelation,
    epsilon: float,
    delta: float,
    *,
    seconds: float = 10.0,
) -> str | None:
    """A proof that δ(``epsilon``) < ``delta`` for every pair of data sets, or None.

    Then ``epsilon`` is above the smallest ε at ``delta`` and no lower end of it.  Only where
    known pairs dominate (``ball_pairs``).
    """
    if not 0 <= epsilon < math.inf or not 0 < delta <= 1:
        return None
    deadline = time.process_time() + seconds
    ends = []
    with flint.ctx.workprec(_BITS):
        try:
            products, shown = _products(event, relation)
        except (NoEnclosure, ValueError):
            return None
        if shown > 0 or not all(product.dominating for product in products):
            return None
        target = Target(ball(Fraction(epsilon)), math.log(delta))
        claim = flint.arb(delta)
        for product in products:
            for high, how in _better_ends(product, target, deadline, upper=True):
                if high < claim:
                    ends.append(f"{product.name}: at most {float_above(high)!r} ({how})")
                    break
            else:
                return None
    detail = "; ".join(ends) if ends else "no release"
    return f"δ({epsilon!r}) is below {delta!r} for every pair of data sets: {detail}"


def _some_delta(products: list[Product], at: Any, epsilon: float) -> str | None:
    """Proof that δ > 0: outcomes of positive chance have a loss above ε."""
    for product in products:
        total = flint.arb(0)
        for pair, count in gathered(product):
            most = largest_loss(pair)
            if most is None:
                return f"data sets ({product.name}) have losses without a bound, so that δ > 0"
            total = total + count * most
        if total > at:
            return (
                f"data sets ({product.name}) have losses above ε = {epsilon!r} with a positive "
                f"chance (up to {float(total.lower())!r}), so that δ > 0"
            )
    return None


def _products(
    event: dp_accounting.DpEvent, relation: NeighboringRelation
) -> tuple[list[Product], Any]:
    """The attained products of what has noise, and the chance that the rest shows a record."""
    try:
        counts = read(event, relation)
    except UnsupportedLeaf as error:
        raise NoEnclosure(error.reason) from None
    log_hidden = flint.arb(0)
    for leaf in [leaf for leaf in counts if isinstance(leaf, Bare)]:
        uses = counts.pop(leaf)
        if leaf.share == 1:
            return [], flint.arb(1)
        log_hidden = log_hidden + uses * leaf.draws * (-flint.arb(leaf.share)).log1p()
    return (attained(counts, relation) if counts else []), -log_hidden.expm1()


def _ends(
    product: Product, target: Target, spacing: float | None, deadline: float
) -> tuple[Any, Any]:
    parts = gathered(product)
    found = closed_form(parts, target)
    if found is not None:
        return found
    run = Run(parts, target)
    if run.log_bound > _SMALLEST_LOG:
        target = Target(target.epsilon, max(target.log_delta, min(0.0, run.log_bound) - 20.0))
        run = Run(parts, target)
    step = spacing if spacing is not None else run.first_spacing / 27
    lower = run.lower(step, deadline).delta(target.epsilon)
    upper = flint.arb(1)
    if product.dominating:
        upper = run.upper(step, deadline).delta(target.epsilon)
    return lower, upper


def _better_ends(
    product: Product, target: Target, deadline: float, *, upper: bool
) -> Iterator[tuple[Any, str]]:
    """Ever better ends of one side, each with how it was found."""
    parts = gathered(product)
    try:
        found = closed_form(parts, target)
        if found is not None:
            yield found[upper], "closed form"
            return
        steps = max(count for _, count in parts)
        if steps > _LONGEST_RUN and not upper:
            fewer = [(pair, min(count, _LONGEST_RUN)) for pair, count in parts]
            for value, how in _refined(fewer, target, deadline, upper=False, most=3):
                yield value, f"{how}, releases beyond {_LONGEST_RUN} of a kind left out"
        yield from _refined(parts, target, deadline, upper=upper)
    except OutOfReach:
        return


def _refined(
    parts: Any, target: Target, deadline: float, *, upper: bool, most: int = _FAR
) -> Iterator[tuple[Any, str]]:
    run = Run(parts, target)
    if run.log_bound < target.log_delta - 2.0 and not upper:
        return  # by Chernoff δ is far below: only a choice of where not to look
    spacing = run.first_spacing / (1 if run.exact else 4)
    before: Any = None
    for turn in range(most):
        start = time.process_time()
        curve = run.upper(spacing, deadline) if upper else run.lower(spacing, deadline)
        value = curve.delta(target.epsilon)
        yield value, f"lattice of spacing {float(run.step(spacing)):.3g} in balls"
        claim = flint.arb(target.log_delta).exp()
        if before is not None and value > 0 and before > 0:
            # Errors fall like the square of the spacing, by 9; if twice the rest is not enough
            # no spacing will be.
            ahead = value + (value - before) / 4
            hopeless = ahead > claim if upper else ahead < claim
            if hopeless and turn > 1 and abs(value - before) < value / 200:
                return
        before = value
        if run.exact:
            return
        now = time.process_time()
        affordable = (deadline - now) / max(now - start, 1e-6) / 1.2  # time grows like 1/spacing
        if affordable < 1.2:
            return
        spacing /= min(_FINER, affordable)


def _sentence(name: str, low: tuple[Any, str], epsilon: float, delta: float) -> str:
    value, how = low
    return (
        f"data sets ({name}) have δ >= {float_below(value)!r} at ε = {epsilon!r}, above the "
        f"δ = {delta!r} that is claimed ({how})"
    )
