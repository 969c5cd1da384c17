"""Broken variants of ends at the edges, each caught by tests/accountants/exact/test_edges.py."""

import math

import pytest

from accountants import Bracket, GroupAccountant, pairs
from accountants.exact.run import Run
from tests.accountants.exact import test_edges as edges


def test_an_end_that_rounds_to_nearest_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    nearest = property(lambda run: Bracket(run.largest_loss, run.largest_loss))
    monkeypatch.setattr(Run, "epsilon_of_zero", nearest)
    assert not all(edges.never_sampled(q) for q in (0.1, 1e-3, 0.7, 0.99))
    assert not all(edges.never_drawn(draws) for draws in (1, 30, 2000))


def test_a_difference_within_its_rounding_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cancels to nothing is taken for δ = 0."""
    right = pairs.log_delta_by_intervals

    def cancels(pair: pairs.MixturePair, epsilon: float) -> tuple[float, float]:
        try:
            return right(pair, epsilon)
        except ArithmeticError:
            return -math.inf, 0.0

    monkeypatch.setattr(pairs, "log_delta_by_intervals", cancels)
    event = edges.steps(edges.Poisson(0.5), 1e16)
    accountant = GroupAccountant(edges.REPLACE, group_size=2).compose(event)
    assert accountant.delta_bracket(0.0).upper < edges.total_variation(1e16)
