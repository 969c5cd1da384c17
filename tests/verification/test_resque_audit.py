"""The audit of one private ball subproblem: power, honesty, refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dp2theory.verification.resque_audit import audit_ball, audited_pairs


def test_the_right_noise_stays_below_what_is_accounted_and_the_attack_is_near_it() -> None:
    found = audit_ball(trials=1000)
    assert not found.violated
    assert found.power > 0.4
    document = found.to_json()
    assert document["epsilon"]["shown_lower"] <= document["epsilon"]["accounted"]["upper"]
    assert document["confidence"] == 0.999
    assert set(document["promises"]) == {"steep", "kinked", "last"}


def test_the_outcome_does_not_depend_on_workers() -> None:
    here = audit_ball(trials=200, records=3)
    with ThreadPoolExecutor(2) as executor:
        there = audit_ball(trials=200, records=3, executor=executor)
    assert here == there


def test_pairs_are_neighbours() -> None:
    for pair in audited_pairs(5):
        first, second = pair.sides
        same = (first.features == second.features).all(axis=1) & (first.targets == second.targets)
        assert np.count_nonzero(~same) == 1
        assert first.lipschitz == second.lipschitz == 1.0


def test_bad_input_is_refused() -> None:
    for change, named in (
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"noise_multiplier": float("nan")}, "noise_multiplier"),
        ({"records": 2}, "records"),
        ({"trials": 99}, "trials"),
        ({"delta": 1.0}, "delta"),
        ({"error": 0.0}, "error"),
        ({"seed": -1}, "seed"),
    ):
        with pytest.raises(ValueError, match=named):
            audit_ball(**change)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise_multiplier", [1.0, 2.0, 4.0])
def test_the_right_noise_is_never_accused(noise_multiplier: float, seed: int) -> None:
    assert not audit_ball(noise_multiplier=noise_multiplier, seed=seed).violated
