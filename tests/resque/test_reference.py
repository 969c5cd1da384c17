"""Smallest values on balls, against closed forms, other solvers and random points."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dp2theory.resque.losses import AbsoluteLoss, HingeLoss
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.reference import reference_optimum


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("radius", [0.3, 1.0, 4.0])
def test_one_record_has_a_closed_form(dimension, radius):
    rng = np.random.default_rng(dimension)
    row, start = rng.standard_normal((2, dimension))
    length = float(np.linalg.norm(row))
    for target in (-2.5, 0.4):
        loss = AbsoluteLoss(row[None], np.array([target]), start=start, radius=radius)
        found = reference_optimum(loss)
        best = max(0.0, abs(float(row @ start) - target) - radius * length)
        assert found.lower <= best + 1e-9
        assert found.lower == pytest.approx(best, abs=1e-6 * radius * length)
        assert found.upper == pytest.approx(best, abs=1e-6 * radius * length)
    hinge = HingeLoss(row[None], np.array([-1.0]), start=start, radius=radius)
    best = max(0.0, 1 + float(row @ start) - radius * length)
    assert reference_optimum(hinge).upper == pytest.approx(best, abs=1e-6 * radius * length)


@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_no_point_of_the_ball_is_better(name):
    function = function_named(name, records=60, dimension=5)
    found = reference_optimum(function)
    rng = np.random.default_rng(0)
    assert np.linalg.norm(found.point - function.start) <= function.radius
    assert found.upper == function.value(found.point)
    assert -1e-9 <= found.upper - found.lower <= 1e-6 * function.radius
    for scale in (1.0, 0.1, 0.01, 0.001):
        points = found.point + scale * rng.standard_normal((200, 5))
        away = points - function.start
        away *= np.minimum(1, function.radius / np.linalg.norm(away, axis=1))[:, None]
        values = [function.value(function.start + each) for each in away]
        assert min(values) >= found.lower - 1e-9


def test_the_median_where_the_ball_does_not_bind():
    targets = np.array([-1.0, 0.2, 3.0, 0.5, -0.7])
    loss = AbsoluteLoss(np.ones((5, 1)), targets, radius=50.0)
    found = reference_optimum(loss)
    assert found.point == pytest.approx([0.2], abs=1e-7)
    assert found.to_json() == {"lower": found.lower, "upper": found.upper}


def test_fewer_halvings_leave_a_wider_bracket():
    loss = function_named("hinge", records=50)
    object.__setattr__(loss, "radius", 0.5)
    wide, narrow = (reference_optimum(loss, halvings=each) for each in (2, 12))
    assert wide.lower < narrow.lower - 1e-4
    assert wide.upper >= narrow.upper - 1e-9
    # cos(pi/8) in each of three levels
    assert wide.upper - wide.lower <= 0.5 * (math.cos(math.pi / 8) ** -3 - 1)


def test_what_is_refused():
    with pytest.raises(ValueError, match="AbsoluteLoss or a HingeLoss"):
        reference_optimum(function_named("max"))
    with pytest.raises(ValueError, match="halvings"):
        reference_optimum(function_named("hinge", records=5), halvings=1)
    with pytest.raises(ValueError, match="function"):
        reference_optimum(None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"), [("svm-breast-cancer", 0.489467), ("l1-diabetes", 0.560637)]
)
def test_real_data(name, value):
    pytest.importorskip("sklearn")
    found = reference_optimum(function_named(name))
    assert found.lower == pytest.approx(value, abs=1e-6)
    assert found.upper - found.lower < 1e-6
