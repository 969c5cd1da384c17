"""Two engines for adaptive adversaries that share no inequality beyond the recursion."""

from __future__ import annotations

import pytest

from accountants.sampling import WithoutReplacement
from accountants.tight import engine, kernel
from accountants.tight.fold import Fold
from accountants.tight.steps import step_of
from accountants.walk import Release
from tests.tight import checks
from tests.tight.family import Family


def test_family_is_above_adaptive_adversaries() -> None:
    scale = step_of(Release(WithoutReplacement(10, 3), 1.5), 0.0).scale
    family = Family(0.3, 1.5, 0.2 * scale, 100, 30)
    done = 1
    for steps, epsilon, attained in checks.ADAPTIVE:
        for _ in range(steps - done):
            family.advance()
        done = steps
        assert attained - 1e-6 < family.delta(epsilon) < 1.06 * attained


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "end", "members"), [(1.0, 10.0, 60), (2.0, 1.0, 140)])
def test_engines_agree_on_one_grid(sigma: float, end: float, members: int) -> None:
    step = step_of(Release(WithoutReplacement(50_000, 256), sigma), 0.0)
    h = 0.28 * step.scale
    family = Family(step.q, sigma, h, int(end / h), members)
    table = engine._caps(step, h, 1e-14)
    fold = Fold(kernel.build(table, kernel.grid_budget(step.hellinger, h), h), h, family.size)
    for steps in range(2, 101):
        family.advance()
        fold.step()
        if steps in (2, 10, 30, 100):
            result = fold.result()
            for delta in (1e-5, 1e-6):
                # Both are proved, so that either may be smaller; they must be close.
                ratio = result.epsilon(delta) / family.epsilon(delta)
                assert 1 - 2e-3 < ratio < 1.01, (steps, delta, ratio)
