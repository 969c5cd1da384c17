"""A bound that is too small, a trace of another run, a wrong step: each is noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dp2theory.verification.certify as module
from accountants.sampling import WithoutReplacement
from bounds import theorems
from dp2theory.verification import certify_trace
from dp2theory.verification.certify import certify
from tests.verification.test_certify import DP2, DP_SGD, PROBLEM, SAMPLING, recorded, slope


@pytest.fixture
def slope_box(monkeypatch):
    monkeypatch.setitem(certify_trace.KNOWN_BOXES, "slope", (0.0, 1.0))


def test_a_bound_too_small_is_noticed(slope_box, monkeypatch):
    traces, problem = slope()
    known = dict(theorems())
    master = known["dp2.master"]
    left, right = master.statement.args
    known["dp2.master"] = master.with_statement(left <= right * 0.999)
    monkeypatch.setattr(module, "theorems", lambda: known)
    found = certify(problem, WithoutReplacement(1, 1), traces)
    assert found.violated
    # The average's gap is as large here, as the loss is linear on the way.
    assert [row.theorem for row in found.bounds if not row.holds] == [
        "dp2.master",
        "dp2.master.average",
    ]
    assert found.bounds[0].runs_above == 3


@pytest.mark.parametrize("optimizer", [DP_SGD, DP2], ids=lambda each: each.name)
def test_a_wrong_step_and_another_run_are_noticed(optimizer):
    _, (first, second, third) = recorded(optimizer)
    for wrong in (
        replace(first, a=first.a * 1.01),
        replace(first, N=second.N),
        replace(first, g=second.g),
        replace(first, D=first.D * 1.01),
    ):
        with pytest.raises(ValueError, match="another run, or of another step size"):
            certify(PROBLEM, SAMPLING, [wrong, second, third])
    with pytest.raises(ValueError, match="outside the box"):
        certify(PROBLEM, SAMPLING, [replace(first, high=first.w.max() - 0.01), second])
    other = recorded(replace(optimizer, noise_multiplier=1.0))[1][0]
    with pytest.raises(ValueError, match="not of one method"):
        certify(PROBLEM, SAMPLING, [first, other])
