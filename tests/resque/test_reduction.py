"""The reduction from a population to regularised risks on disjoint parts."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.reduction import first_step, part_sizes, risk_parts, split_records

SETTINGS: dict[str, Any] = {
    "dataset_size": 1600,
    "parts": 3,
    "dimension": 4,
    "lipschitz": 2.0,
    "radius": 3.0,
    "accuracy": 0.5,
    "target_epsilon": 1.0,
    "target_delta": 1e-6,
}


@pytest.mark.parametrize("size", [8, 1000, 4001])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_parts_halve_and_use_every_record(size: int, parts: int) -> None:
    sizes = part_sizes(size, parts)
    assert sum(sizes) == size
    assert sizes[1:] == tuple(size // 2**i for i in range(2, parts + 1))


def test_a_part_without_records_is_refused() -> None:
    assert part_sizes(4, 2) == (3, 1)
    for parts in (3, 10**9):
        with pytest.raises(ValueError, match="parts"):
            part_sizes(4, parts)


def test_groups_are_disjoint_and_do_not_depend_on_the_records() -> None:
    groups = split_records(20, (11, 5, 4), np.random.default_rng(0))
    assert [len(each) for each in groups] == [11, 5, 4]
    assert sorted(np.concatenate(groups).tolist()) == list(range(20))
    again = split_records(20, (11, 5, 4), np.random.default_rng(0))
    for one, other in zip(groups, again, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="dataset_size"):
        split_records(19, (11, 5, 4), np.random.default_rng(0))


def test_risks_follow_the_formulas() -> None:
    parts = risk_parts(**SETTINGS)
    step = 3.0 / 2.0 * min(4 / math.sqrt(1600), 0.5 / math.sqrt(4 * math.log(1e6)))
    for index, part in enumerate(parts, 1):
        assert part.index == index
        assert part.learning_rate == pytest.approx(step / 4**index, rel=1e-14)
        assert part.regularisation == pytest.approx(
            2 / (part.learning_rate * part.dataset_size), rel=1e-14
        )
        bound = 3.0 if index == 1 else 6.0
        assert part.domain_radius == min(bound, 2.0 / part.regularisation)
        assert part.accuracy == pytest.approx(0.25 / 2 ** (index - 1), rel=1e-14)
    for before, after in pairwise(parts):
        assert after.regularisation > before.regularisation
        assert after.domain_radius <= 2 * before.domain_radius
    assert parts[0].to_json()["dataset_size"] == 1600 - 400 - 200


def test_privacy_limits_the_step() -> None:
    rest: dict[str, Any] = {"dataset_size": 10**6, "dimension": 4, "lipschitz": 1.0, "radius": 1.0}
    loose, strict = (
        first_step(target_epsilon=epsilon, target_delta=1e-6, constants=PrivateConstants(), **rest)
        for epsilon in (50.0, 0.01)
    )
    assert loose == 4 / 1000
    assert strict == pytest.approx(0.5 * 0.01 / math.sqrt(4 * math.log(1e6)), rel=1e-14)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accuracy", 0.0),
        ("accuracy", 7.0),
        ("accuracy", math.nan),
        ("target_epsilon", 0.0),
        ("target_delta", 1.0),
        ("parts", 0),
        ("dataset_size", 2.5),
        ("dimension", 0),
        ("radius", -1.0),
        ("lipschitz", math.inf),
    ],
)
def test_bad_values_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        risk_parts(**{**SETTINGS, name: value})


def test_the_order_of_the_records_is_random() -> None:
    """A sorted data set is no sample of a population, part by part."""
    first, again, other = (
        split_records(100, (60, 40), np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[1], other[1])
    assert not np.array_equal(first[0], np.arange(60))
    counts = np.zeros(100)
    for seed in range(200):
        counts[split_records(100, (60, 40), np.random.default_rng(seed))[1]] += 1
    assert 40 < counts.min() < counts.max() < 120  # of 80 on average, standard deviation 7


def test_a_later_part_may_begin_at_the_other_end_of_the_ball() -> None:
    """Where the regulariser does not bind, its minimiser is within 2R of its start, not R."""
    weak = PrivateConstants(statistical_step=1e3, private_step=1e3, part_step_shrink=1.5)
    for part in risk_parts(**SETTINGS, constants=weak):
        assert part.domain_radius == (3.0 if part.index == 1 else 6.0)
