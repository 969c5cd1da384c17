"""Constants of the private pipeline: named, sourced, checked."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from dp2theory.resque.constants import WIDE, PrivateConstants


def test_every_constant_has_a_source() -> None:
    assert {each.name for each in fields(PrivateConstants)} == set(PrivateConstants.SOURCES)
    found = PrivateConstants().to_json()
    assert found["drift_factor"]["value"] == 1.1
    assert found["radius_over_smoothing"]["value"] == 1 / 128
    assert all(each["source"] for each in found.values())


def test_the_wide_constants_differ_in_two() -> None:
    changed = {
        each.name
        for each in fields(PrivateConstants)
        if getattr(WIDE, each.name) != getattr(PrivateConstants(), each.name)
    }
    assert (WIDE.drift_factor, WIDE.radius_over_smoothing) == (2.0, 1 / 64)
    assert changed == {"drift_factor", "radius_over_smoothing"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("drift_factor", 0.9),
        ("drift_factor", float("nan")),
        ("radius_over_smoothing", 0.0),
        ("radius_over_smoothing", 1.5),
        ("phase_shrink", 1.0),
        ("step_shrink", 2.0),
        ("restarts", 0),
        ("phases", 0),
        ("radius_margin", 0.5),
        ("band", (0.5, 1.0)),
        ("band", (0.5,)),
        ("calls_per_step", 1),
        ("mean_calls_per_step", 0.5),
        ("draws_factor", -1.0),
        ("full_noise", 0.0),
        ("smoothing_share", 1.0),
        ("part_shrink", 1.0),
        ("statistical_step", 0.0),
        ("accuracy_shrink", 0.5),
    ],
)
def test_bad_constants_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        replace(PrivateConstants(), **{name: value})
