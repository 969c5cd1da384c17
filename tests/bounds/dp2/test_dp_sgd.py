"""DP-SGD with a constant step: the value others are compared with."""

import numpy as np
import pytest

from bounds.dp2.dp_sgd import ANY_STEP, DP_SGD
from tests.bounds.dp2.convex_runs import linear_run, replayed

EXAMPLE = {
    "steps": 1000,
    "dimension": 50,
    "diameter": 1.0,
    "gradient_bound": 1.0,
    "noise_std": 0.007544800579799,
}


def test_reference_number():
    for backend in ("numpy", "mpmath"):
        value = DP_SGD.evaluate(backend=backend, **EXAMPLE)
        assert float(value) == pytest.approx(0.2239247865679, rel=1e-12)


def test_the_best_step_is_the_best():
    step = DP_SGD.evaluate("learning_rate", **EXAMPLE)
    best = DP_SGD.evaluate(**EXAMPLE)
    assert ANY_STEP.evaluate(learning_rate=step, **EXAMPLE) == pytest.approx(best, rel=1e-13)
    others = ANY_STEP.evaluate(learning_rate=step * np.array([0.5, 0.9, 1.1, 2.0]), **EXAMPLE)
    assert (others > best).all()


def test_both_sides_agree_on_a_linear_loss():
    run = linear_run(9, 9)
    left, right = (run.value(side) for side in ANY_STEP.statement.args)
    assert right / left == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("id", ["clipped", "variance", "convex", "update", "fresh"])
def test_assumptions_are_needed(id):
    assert not replayed(ANY_STEP.without_assumption(id)).ok


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="steps"):
        DP_SGD.evaluate(**{**EXAMPLE, "steps": 0})
    with pytest.raises(ValueError, match="noise_std"):
        DP_SGD.evaluate(**{**EXAMPLE, "noise_std": -1.0})
