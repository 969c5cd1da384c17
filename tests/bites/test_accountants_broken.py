"""Accountants that are known to be wrong, and the checks that catch them.

Every check used here passes on the real accountant (tests/accountants, and again below).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import attr
import dp_accounting
import numpy as np
import pytest

from accountants import Bracket, ExactAccountant, NeighboringRelation
from tests.accountants import checks
from tests.reference.rows import Row, rows


def first(table: str, **wanted: str) -> Row:
    """The first row of a table with these attributes."""
    return next(row for row in rows(table) if all(getattr(row, k) == v for k, v in wanted.items()))


ROWS = {
    "remove": first("issue", source="account", direction="remove"),
    "add": first("issue", source="account", direction="add"),
    "replace": first("issue", source="account", direction="replace"),
    "gaussian": first("public_reports", source="google/differential-privacy#378"),
}


def on_row(name: str) -> Callable[[checks.Make], None]:
    """The comparison with one reference value as a check of an accountant."""
    return lambda make: checks.check_row(make, ROWS[name])


def mapped(event: Any, change: Callable[[Any], Any]) -> Any:
    """An event tree with ``change`` applied to every node, from the leaves up."""
    if isinstance(event, dp_accounting.ComposedDpEvent):
        event = dp_accounting.ComposedDpEvent([mapped(e, change) for e in event.events])
    elif isinstance(
        event, (dp_accounting.SelfComposedDpEvent, dp_accounting.PoissonSampledDpEvent)
    ):
        event = attr.evolve(event, event=mapped(event.event, change))
    return change(event)


class Changed(ExactAccountant):
    """The real accountant, fed with a changed event."""

    def change(self, event: Any) -> Any:
        raise NotImplementedError

    def compose(self, event: Any, count: int = 1) -> ExactAccountant:
        return super().compose(mapped(event, self.change), count)


class SensitivityHalved(Changed):
    """Noise counted as if the clip norm were half of what it is."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp_accounting.GaussianDpEvent):
            return dp_accounting.GaussianDpEvent(2 * event.noise_multiplier)
        return event


class ReplaceAsDiameter(SensitivityHalved):
    """Replacing with the multiplier read relative to the diameter 2C."""

    def change(self, event: Any) -> Any:
        if self.neighboring_relation is not NeighboringRelation.REPLACE_ONE:
            return event
        return super().change(event)


class InnerCountDropped(Changed):
    """SelfComposedDpEvent counted once."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp_accounting.SelfComposedDpEvent):
            return dp_accounting.SelfComposedDpEvent(event.event, min(event.count, 1))
        return event


class OuterCountDropped(ExactAccountant):
    """``compose(event, count)`` counted once."""

    def compose(self, event: Any, count: int = 1) -> ExactAccountant:
        return super().compose(event, min(count, 1))


class LastEventOnly(ExactAccountant):
    """Forgets what came before the last call."""

    def compose(self, event: Any, count: int = 1) -> ExactAccountant:
        self._counts.clear()
        return super().compose(event, count)


class SamplingForgotten(Changed):
    """Sampling with probability 1."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp_accounting.PoissonSampledDpEvent):
            return dp_accounting.PoissonSampledDpEvent(1.0, event.event)
        return event


class AmplifiedTwice(Changed):
    """q^2 in place of q."""

    def change(self, event: Any) -> Any:
        if isinstance(event, dp_accounting.PoissonSampledDpEvent):
            return dp_accounting.PoissonSampledDpEvent(event.sampling_probability**2, event.event)
        return event


class LengthInCalls(ExactAccountant):
    """A length that counts calls of ``compose``."""

    _calls = 0

    def compose(self, event: Any, count: int = 1) -> ExactAccountant:
        self._calls += 1
        return super().compose(event, count)

    def __len__(self) -> int:
        return self._calls


def add_only(relation: NeighboringRelation, direction: str) -> ExactAccountant:
    """The direction is forgotten: always what adding costs."""
    if relation is NeighboringRelation.REPLACE_ONE:
        return ExactAccountant(relation)
    return ExactAccountant(relation, "add")


def swapped(relation: NeighboringRelation, direction: str) -> ExactAccountant:
    """Remove and add exchanged."""
    other = {"remove": "add", "add": "remove", "both": "both"}
    if relation is NeighboringRelation.REPLACE_ONE:
        return ExactAccountant(relation)
    return ExactAccountant(relation, other[direction])


def replace_as_remove(relation: NeighboringRelation, direction: str) -> ExactAccountant:
    """Replacing accounted by the pair of removing."""
    if relation is NeighboringRelation.REPLACE_ONE:
        return ExactAccountant()
    return ExactAccountant(relation, direction)


class Naive:
    """A minimal contour accountant (remove only) whose step follows the spread of the loss.

    With ``bounded`` the step also respects a bound on the images beyond epsilon; without it the
    answer is wrong by a few 1e-5 without any sign, because the right tail is far from Gaussian.
    """

    def __init__(self, bounded: bool) -> None:
        self.bounded = bounded
        self.parts: list[tuple[float, float, int]] = []

    def compose(self, event: Any, count: int = 1) -> Naive:
        """Record a sampled Gaussian."""
        self.parts.append((event.sampling_probability, event.event.noise_multiplier, count))
        return self

    def log_delta_bracket(self, epsilon: float) -> Bracket:
        """An interval of relative width 1e-9 around the contour sum."""
        ((q, sigma, steps),) = self.parts
        s = 1 / sigma
        u = np.arange(-12.0, 60.0, 0.1)
        ratio = np.log1p(q * np.expm1(s * u - s * s / 2))
        density = -u * u / 2 + math.log(0.1 / math.sqrt(2 * math.pi))

        def log_moment(z: Any) -> Any:
            return np.log(np.sum(np.exp(density + (1 + z) * ratio)))

        tilts = np.linspace(0.5, 20, 400)
        psi = np.array([steps * log_moment(c) - c * epsilon - math.log(c * (c + 1)) for c in tilts])
        c = float(tilts[np.argmin(psi)])
        weight = np.exp(density + (1 + c) * ratio)
        weight /= weight.sum()
        spread = math.sqrt(steps * float(weight @ (ratio - weight @ ratio) ** 2))
        period = 12 * spread if not self.bounded else max(60.0, 12 * spread)
        h = 2 * math.pi / period
        t = h * np.arange(1, 20_000)
        t = t[t * spread < 40]
        z = c + 1j * t
        powers = np.array([steps * log_moment(x) - x * epsilon for x in z])
        terms = (np.exp(powers) / (z * (z + 1))).real
        start = math.exp(steps * log_moment(c) - c * epsilon) / (c * (c + 1))
        log_delta = math.log(h / math.pi * (start / 2 + float(terms.sum())))
        return Bracket(log_delta - 5e-10, log_delta + 5e-10)

    def delta_bracket(self, epsilon: float) -> Bracket:
        """As floats."""
        logs = self.log_delta_bracket(epsilon)
        return Bracket(math.exp(logs.lower), math.exp(logs.upper))

    def get_delta(self, epsilon: float) -> float:
        """Upper end."""
        return self.delta_bracket(epsilon).upper


BROKEN: list[tuple[Any, Callable[[checks.Make], None]]] = [
    (SensitivityHalved, on_row("remove")),
    (SensitivityHalved, on_row("gaussian")),
    (ReplaceAsDiameter, on_row("replace")),
    (ReplaceAsDiameter, on_row("gaussian")),
    (ReplaceAsDiameter, checks.check_units),
    (InnerCountDropped, checks.check_counts),
    (InnerCountDropped, checks.check_length),
    (OuterCountDropped, checks.check_counts),
    (OuterCountDropped, on_row("remove")),
    (LastEventOnly, checks.check_counts),
    (LastEventOnly, checks.check_order_free),
    (SamplingForgotten, on_row("add")),
    (SamplingForgotten, checks.check_sampling),
    (AmplifiedTwice, on_row("remove")),
    (AmplifiedTwice, checks.check_sampling),
    (LengthInCalls, checks.check_length),
    (add_only, on_row("remove")),
    (add_only, checks.check_directions),
    (swapped, on_row("remove")),
    (swapped, on_row("add")),
    (swapped, checks.check_directions),
    (replace_as_remove, on_row("replace")),
    (replace_as_remove, checks.check_directions),
    (replace_as_remove, checks.check_units),
]


@pytest.mark.parametrize(("make", "check"), BROKEN)
def test_broken_is_caught(make: Any, check: Callable[[checks.Make], None]) -> None:
    check(ExactAccountant)
    with pytest.raises(AssertionError):
        check(make)


def test_missing_alias_bound_is_caught() -> None:
    """The same small contour passes with a bound on the images and fails without."""
    row = first("hand_picked", source="D1 remove")
    checks.check_row(lambda relation, direction: Naive(bounded=True), row)
    with pytest.raises(AssertionError):
        checks.check_row(lambda relation, direction: Naive(bounded=False), row)


@pytest.mark.parametrize("error", [3e-9, -3e-9])
@pytest.mark.parametrize("name", ["remove", "replace"])
def test_references_catch_small_errors(name: str, error: float) -> None:
    """A relative error of 3e-9 in epsilon does not pass, whatever its sign."""

    class Shifted(ExactAccountant):
        def epsilon_bracket(self, target_delta: float) -> Bracket:
            true = super().epsilon_bracket(target_delta)
            return Bracket(true.lower * (1 + error), true.upper * (1 + error))

    with pytest.raises(AssertionError):
        checks.check_row(Shifted, ROWS[name])


def test_references_catch_a_bar_that_is_too_wide() -> None:
    """A bracket that holds the truth but is wider than promised does not pass."""

    class Wide(ExactAccountant):
        def epsilon_bracket(self, target_delta: float) -> Bracket:
            true = super().epsilon_bracket(target_delta)
            return Bracket(true.lower * (1 - 3e-9), true.upper * (1 + 3e-9))

    with pytest.raises(AssertionError):
        checks.check_row(Wide, ROWS["remove"])


def test_references_catch_a_wrong_table() -> None:
    """A reference changed in its tenth digit does not pass either."""
    row = ROWS["remove"]
    wrong = dataclasses.replace(row, value=repr(row.number * (1 + 2e-9)))
    with pytest.raises(AssertionError):
        checks.check_row(ExactAccountant, wrong)
