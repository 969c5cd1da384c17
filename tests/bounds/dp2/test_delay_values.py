"""What the theorems on h(s), noise and nonconvex losses compute: three ways, and pictures."""

from __future__ import annotations

import mpmath
import pytest

from bounds.curve import curve_points
from bounds.describe import parameters_of
from bounds.dp2 import (
    delay,
    delay_average,
    delay_bounds,
    delay_folded,
    delay_linear,
    noise,
    noise_bias,
    noise_clamped,
    noise_order,
    nonconvex,
    nonconvex_rate,
)
from bounds.theorem import Theorem

MODULES = (
    delay, delay_average, delay_bounds, delay_folded, delay_linear, noise, noise_bias,
    noise_clamped, noise_order, nonconvex, nonconvex_rate,
)  # fmt: skip
THEOREMS = {theorem.id: theorem for module in MODULES for theorem in module.THEOREMS}
DRAWN = {id: theorem for id, theorem in THEOREMS.items() if theorem.curve is not None}


def test_all_are_here() -> None:
    wanted = {
        "dp2.h.definition", "dp2.h.folded-normal", "dp2.h.bounds", "dp2.h.linear",
        "dp2.h.saturation", "dp2.noise.average", "dp2.noise.bias", "dp2.noise.clamped",
        "dp2.noise.order", "dp2.nonconvex", "dp2.nonconvex.rate",
    }  # fmt: skip
    assert wanted <= set(THEOREMS)


@pytest.mark.parametrize("theorem", DRAWN.values(), ids=DRAWN.keys())
def test_picture_can_be_drawn(theorem: Theorem) -> None:
    points = curve_points(theorem)
    assert all(value > 0 for series in points["series"].values() for value in series)


@pytest.mark.parametrize("theorem", DRAWN.values(), ids=DRAWN.keys())
def test_three_ways_agree_along_the_picture(theorem: Theorem) -> None:
    curve = theorem.curve
    assert curve is not None
    for name in theorem.evaluations:
        taken = parameters_of(theorem.evaluations[name])
        known = {**curve.fixed, curve.along: None}
        if not set(taken) <= set(known):
            continue
        for place in {0, len(curve.values) // 2, len(curve.values) - 1}:
            given = {**curve.fixed, curve.along: curve.values[place]}
            given = {key: value for key, value in given.items() if key in taken}
            numpy_, digits, ball = (
                theorem.evaluate(name, backend=backend, **given)
                for backend in ("numpy", "mpmath", "ball")
            )
            assert float(numpy_) == pytest.approx(float(digits), rel=1e-12, abs=1e-300)
            assert ball.overlaps(type(ball)(mpmath.nstr(digits, 45)))


@pytest.mark.parametrize(
    ("id", "given", "word"),
    [
        ("dp2.h.saturation", {"gradient_bound": 1, "damping": 0, "dimension": 10}, "damping"),
        ("dp2.h.saturation", {"gradient_bound": 1, "damping": 0.1, "dimension": 0}, "dimension"),
        ("dp2.h.folded-normal",
         {"mean_gradient": [0.1], "averaged_noise_std": 0, "dimension": 1}, "averaged_noise_std"),
        ("dp2.noise.average",
         {"noise_multiplier": 1, "clip_norm": 1, "batch_size": 32, "delay": 2.5}, "delay"),
        ("dp2.noise.average",
         {"noise_multiplier": -1, "clip_norm": 1, "batch_size": 32, "delay": 2},
         "noise_multiplier"),
    ],
)  # fmt: skip
def test_values_outside_the_domain_are_refused(
    id: str, given: dict[str, object], word: str
) -> None:
    with pytest.raises(ValueError, match=word):
        THEOREMS[id].evaluate(backend="numpy", **given)


def test_too_long_a_step_is_refused() -> None:
    """The nonconvex bound is for steps of at most min(1, eps)/L: the code checks it."""
    curve = nonconvex.NONCONVEX.curve
    assert curve is not None
    given = {**curve.fixed, "delay": 10, "learning_rate": 1.0}
    with pytest.raises(ValueError, match="learning_rate"):
        nonconvex.NONCONVEX.evaluate(backend="numpy", **given)
