"""Tight engines that are known to be wrong, and the checks that catch them.

Every check used here passes on the real engine (tests/tight).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from accountants.sampling import WithoutReplacement, WithReplacement
from accountants.tight import budget, engine, frontier, kernel, steps
from accountants.tight.fold import Fold
from accountants.walk import Release
from tests.tight import checks, test_frontier
from tests.tight.configurations import hockey_stick

Patch = pytest.MonkeyPatch


def caught(check: Callable[[], None]) -> None:
    with pytest.raises(AssertionError):
        check()


def few_steps() -> None:
    step = steps.step_of(Release(WithoutReplacement(10, 3), 1.5), 0.0)
    profiles = checks.planar_profiles(0.3, 1.5)
    checks.check_steps(step, profiles, grid=0.2, at=(1, 2, 5), count=60, slack=1e-6)


def few_steps_with_replacement() -> None:
    step = steps.step_of(Release(WithReplacement(10, 3), 1.0), 1e-300)
    profiles = checks.copies_profiles(10, 3, 1.0)
    checks.check_steps(step, profiles, grid=0.3, at=(1, 2, 5), count=20, slack=2e-4)


def test_the_checks_pass_on_the_real_engine() -> None:
    few_steps()
    few_steps_with_replacement()


def test_halved_budget(monkeypatch: Patch) -> None:
    real = kernel.grid_budget
    monkeypatch.setattr(kernel, "grid_budget", lambda i, h: 0.5 * real(i, h))
    caught(few_steps)
    caught(checks.check_adaptive)


def test_budget_without_the_grid(monkeypatch: Patch) -> None:
    """What the chords add belongs to the budget."""
    monkeypatch.setattr(kernel, "grid_budget", lambda i, h: i / (4 * np.sinh(h / 4)))
    caught(few_steps)


def test_budget_of_the_attained_pair_only(monkeypatch: Patch) -> None:
    monkeypatch.setattr(
        budget,
        "without_replacement",
        lambda q, sigma: float(frontier.hellinger(frontier.ATTAINED, q, sigma)[0]),
    )
    caught(lambda: checks.check_one_step(0.1, 0.6))


def test_cover_without_the_lower_corner(monkeypatch: Patch) -> None:
    """C has to be taken at the lower corner of a rectangle."""

    def top(self: frontier.Rectangles) -> frontier.Grams:
        return frontier.inscribed(self.high[:, 0], self.high[:, 1])

    monkeypatch.setattr(frontier.Rectangles, "dominating", top)
    caught(test_frontier.test_rectangles_dominate_their_triangles)


def test_caps_of_the_other_order(monkeypatch: Patch) -> None:
    """H(Q||P) of the attained pair lies below H(P||Q)."""
    monkeypatch.setattr(steps.Step, "caps", lambda self, e: _reverse(e, self.q, self.sigma))
    caught(lambda: checks.check_one_step(0.3, 1.5))
    caught(checks.check_adaptive)


def _reverse(epsilon: np.ndarray, q: float, sigma: float) -> np.ndarray:
    pair = np.array([[0.0, 0.0], [-2.0, 0.0]])
    return np.maximum(hockey_stick(pair, q, sigma, epsilon), 0.0)


def test_caps_of_half_the_shift(monkeypatch: Patch) -> None:
    real = steps.Step.caps

    def half(self: steps.Step, epsilon: np.ndarray) -> np.ndarray:
        return real(steps.Step(self.q, 2 * self.sigma, 2.0, None, single=False), epsilon)

    monkeypatch.setattr(steps.Step, "caps", half)
    caught(lambda: checks.check_one_step(0.3, 1.5))
    caught(lambda: checks.check_attained(WithoutReplacement(10, 3), 2.0, 100, 22.5, 24.8, 9.0))


def test_caps_a_hundredth_too_low(monkeypatch: Patch) -> None:
    real = steps.Step.caps
    monkeypatch.setattr(steps.Step, "caps", lambda self, e: 0.99 * real(self, e))
    caught(lambda: checks.check_one_step(0.3, 1.5))
    caught(few_steps)


def test_lost_infinity(monkeypatch: Patch) -> None:
    real = Fold.step

    def step(self: Fold) -> None:
        before = self.infinite
        real(self)
        self.infinite = before

    monkeypatch.setattr(Fold, "step", step)
    caught(checks.check_small_grid)
    caught(checks.check_mass)


def test_atom_before_the_tail(monkeypatch: Patch) -> None:
    """What remains at 0 counts what went to infinity in the same step."""
    real = Fold.step

    def step(self: Fold) -> None:
        before = self.infinite
        real(self)
        self.centre += self.infinite - before

    monkeypatch.setattr(Fold, "step", step)
    caught(checks.check_mass)


def test_no_unimodal_majorant(monkeypatch: Patch) -> None:
    def settle(self: Fold) -> None:
        self.centre = 1.0 - self.infinite - float(np.sum(self._weight * self.masses))

    monkeypatch.setattr(Fold, "_settle", settle)
    caught(checks.check_unimodal)


def test_no_correction_near_zero(monkeypatch: Patch) -> None:
    """Near ε = 0 a window may be paid more than far from it."""
    real = kernel.build

    def build(caps: np.ndarray, limit: float, h: float) -> kernel.Kernel:
        k = real(caps, limit, h)
        return kernel.Kernel(k.up, k.down, k.stay, k.lost, (), 0, k.budget, k.slack)

    monkeypatch.setattr(kernel, "build", build)
    caught(few_steps)


def test_plain_releases_after_the_adaptive_ones(monkeypatch: Patch) -> None:
    """The recursion runs backwards: what a single pair dominates comes last in it."""

    def reversed_run(
        plan: engine._Plan,
        delta: float,
        grid: float,
        factor: float,
        of: Callable[[engine.Worst], float],
    ) -> engine.TightRun:
        (pair, _), h = plan.pairs[0], 0.05 * plan.main.scale
        table, other = (engine._caps(s, h, 1e-10) for s in (plan.main, pair))
        fold = Fold(kernel.symmetric(other, h), h, 2000)
        fold.switch(kernel.build(table, kernel.grid_budget(plan.main.hellinger, h), h))
        fold.step()
        return engine.TightRun(grid, factor, 0, of(fold.result()), 0.0)

    monkeypatch.setattr(engine, "_run", reversed_run)
    caught(lambda: checks.check_mixed(6.0))


def test_copies_cut_off_for_nothing(monkeypatch: Patch) -> None:
    monkeypatch.setattr(steps.Step, "tail", property(lambda self: 0.0))
    caught(checks.check_truncation)


def test_only_one_copy_in_the_budget(monkeypatch: Patch) -> None:
    monkeypatch.setattr(
        budget,
        "with_replacement",
        lambda copies, sigma: budget.without_replacement(copies.probabilities[1], sigma),
    )
    caught(lambda: test_frontier.test_with_replacement(5, 4, 1.5))
