"""Rényi code that is known to be wrong, and the checks that catch it.

Each check is a test of tests/renyi, which passes on the real code there; here one piece is broken
first, and the check must fail.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from accountants.relations import Direction
from accountants.renyi import (
    accountant,
    amplification,
    approximate,
    composition,
    conversion,
    curves,
    halflines,
    lines,
    quadrature,
    strips,
    symmetric,
)
from tests.renyi import (
    test_accountant,
    test_amplification,
    test_approximate,
    test_conversion,
    test_quadrature,
    test_symmetric,
)


@contextmanager
def caught() -> Iterator[None]:
    with pytest.raises(AssertionError):
        yield


def changed_gap(factor: float) -> Callable[..., Any]:
    real = lines.Mixture.relative

    def relative(self: Any, u: Any) -> Any:
        return real(lines.Mixture(self.probabilities, self.gap * factor), u)

    return relative


def test_a_halved_exponent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines.Mixture, "relative", changed_gap(math.sqrt(0.5)))
    with caught():
        test_quadrature.test_reference_values()
    with caught():
        test_symmetric.test_coupled_reference()


def test_a_slightly_smaller_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines.Mixture, "relative", changed_gap(1 - 1e-11))
    with caught():
        test_quadrature.test_reference_values()


@pytest.mark.parametrize("part", ["slope", "powers"])
def test_a_dropped_term_of_the_moment(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    if part == "slope":
        real = lines.line_nodes
        monkeypatch.setattr(
            quadrature,
            "line_nodes",
            lambda *arguments: dataclasses.replace(real(*arguments), slope=0.0),
        )
    else:
        monkeypatch.setattr(quadrature, "_POWERS", np.arange(2, 4))
        monkeypatch.setattr(quadrature, "_FACTORIALS", np.array([2.0, 6.0]))
    with caught():
        test_quadrature.test_reference_values()


def test_nodes_that_stop_before_the_tilted_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    real = strips.Strip.of

    def of(mixture: Any, order: Any, b_low: float, b_high: float) -> Any:
        strip = real(mixture, order, b_low, b_high)
        return dataclasses.replace(strip, high=strip.step * round(6 / strip.step))

    monkeypatch.setattr(strips.Strip, "of", staticmethod(of))
    monkeypatch.setattr(strips.Strip, "relative_error", lambda self, m, o, b, e, t, u: 0 * b)
    with caught():
        test_quadrature.test_reference_values()


def test_too_few_nodes_without_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the error bound the answer is above the truth, without it the answer is wrong."""
    real = strips.Strip.of

    def of(*arguments: Any) -> Any:
        strip = real(*arguments)
        step = 4 * strip.step
        low, high = math.floor(strip.low / step), math.ceil(strip.high / step)
        return dataclasses.replace(strip, step=step, low=low * step, high=high * step)

    mixture, orders = lines.Mixture((0.99, 0.01), 1.0), np.array([1.5, 2.0, 8.0])
    truth = quadrature.divergences(mixture, quadrature.Order.REMOVE, orders)
    monkeypatch.setattr(strips.Strip, "of", staticmethod(of))
    wide = quadrature.divergences(mixture, quadrature.Order.REMOVE, orders)
    assert (wide >= truth * (1 - 1e-11)).all()
    assert (wide > truth * (1 + 1e-6)).any()
    monkeypatch.setattr(strips.Strip, "relative_error", lambda self, m, o, b, e, t, u: 0 * b)
    with caught():
        test_quadrature.test_reference_values()


def test_swapped_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    swapped = {
        Direction.REMOVE: lines.Order.ADD,
        Direction.ADD: lines.Order.REMOVE,
        Direction.SYMMETRIC: lines.Order.REPLACE,
    }
    monkeypatch.setattr(curves, "_order", swapped.__getitem__)
    with caught():
        test_accountant.test_never_below_the_exact_cost("small noise", 1e-6)


def test_half_the_unit_under_replace_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The add-or-remove pair in place of the mirror images."""
    monkeypatch.setattr(curves, "_order", lambda direction: lines.Order.REMOVE)
    with caught():
        test_accountant.test_never_below_the_exact_cost("poisson, replace", 1e-6)


def test_the_attained_pair_in_place_of_the_symmetric_closure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def attained(law: tuple[float, ...], gap: float, orders: Any) -> Any:
        return quadrature.divergences(lines.Mixture(law, 2 * gap), lines.Order.REMOVE, orders)

    monkeypatch.setattr(test_symmetric, "replaced", attained)
    with caught():
        test_symmetric.test_reference_values()


@pytest.mark.parametrize("part", [0, 1])
def test_one_side_of_the_closure(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    real = halflines.log_parts

    def half(line: Any, b: Any) -> Any:
        parts = list(real(line, b))
        parts[part] = np.full_like(b, -math.inf)
        return tuple(parts)

    monkeypatch.setattr(symmetric, "log_parts", half)
    with caught():
        test_symmetric.test_reference_values()
    with caught():
        test_symmetric.test_special_replacement_agrees_with_the_profiles(0.3, 1.0)


def test_swapped_profiles_of_the_special_record(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {Direction.REMOVE: Direction.ADD, Direction.ADD: Direction.REMOVE}
    real = symmetric.special_replaced
    monkeypatch.setattr(
        test_symmetric, "special_replaced", lambda law, gap, d, o: real(law, gap, other[d], o)
    )
    with caught():
        test_symmetric.test_special_replacement_agrees_with_the_profiles(0.3, 1.0)


def test_a_dropped_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition.Composition, "log_kept", 0.0)
    with caught():
        test_accountant.test_cut_batches_are_carried_in_delta()
    with caught():
        test_accountant.test_the_number_of_copies_is_chosen_well()


def test_a_tail_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    real = composition.Composition.log_kept.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(
        composition.Composition,
        "log_kept",
        property(lambda self: real(self) / sum(self.counts.values())),
    )
    with caught():
        test_accountant.test_the_number_of_copies_is_chosen_well()


def test_a_bad_moment_mapped_to_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    real = conversion.epsilons
    monkeypatch.setattr(
        conversion,
        "epsilons",
        lambda orders, d, log_delta: real(orders, np.nan_to_num(d, posinf=0.0), log_delta),
    )
    for bad in (math.nan, math.inf):
        with caught():
            test_conversion.test_a_bad_moment_is_discarded_and_never_zero(bad)


def test_a_larger_constant_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The conversion with (1/a) squared: an ε below what is true."""
    real = conversion.log_deltas
    monkeypatch.setattr(
        conversion, "log_deltas", lambda orders, d, e: real(orders, d, e) - np.log(orders)
    )
    with caught():
        test_conversion.test_the_constant_is_the_maximum_over_losses(2.0, 1.0)


def test_conversion_of_the_wrong_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """The conditional formula for a smoothed curve."""
    real = approximate.carried

    def carried(own: float, delta: float, epsilon: float, _: Any) -> float:
        return real(own, delta, epsilon, approximate.Definition.CONDITIONAL)

    monkeypatch.setattr(test_approximate, "carried", carried)
    with caught():
        test_approximate.test_conversions_of_reference()


def test_amplification_without_a_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    real = amplification._log_b
    monkeypatch.setattr(amplification, "_log_b", lambda c, j: real(c, j) - math.log(2))
    with caught():
        test_amplification.test_reference_values()


def test_a_grid_in_place_of_real_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gridded(accountant.RenyiAccountant):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            named["orders"] = named.get("orders") or [*np.arange(1.1, 11, 0.1), *range(11, 64)]
            super().__init__(*arguments, **named)

    monkeypatch.setattr(test_accountant, "RenyiAccountant", Gridded)
    with caught():
        test_accountant.test_the_best_order_off_the_grid()
