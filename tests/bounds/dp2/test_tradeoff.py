"""The theorems on phi and on the sweet spot: they replay, they compute, and false ones fail."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from sympy import And, Implies, Ne, Rational, log

from bounds.dp2 import (
    sweet_spot,
    sweet_spot_branches,
    tradeoff,
    tradeoff_limits,
    tradeoff_minimiser,
)
from bounds.dp2.certified import Inputs, bound
from bounds.dp2.phi import Tradeoff
from bounds.proof.replay import replay
from bounds.proof.step import Rule, inequality

MODULES = (tradeoff, tradeoff_minimiser, tradeoff_limits, sweet_spot, sweet_spot_branches)
THEOREMS = {theorem.id: theorem for module in MODULES for theorem in module.THEOREMS}
IDS = (
    "dp2.phi.logarithm", "dp2.phi.convex", "dp2.phi.stationary", "dp2.phi.interior",
    "dp2.phi.minimiser", "dp2.phi.limits", "dp2.phi.sawtooth", "dp2.S1", "dp2.S2",
    "dp2.S2.saturated", "dp2.S2.branches",
)  # fmt: skip
CONSTANTS = {
    "staleness_intercept": 1, "staleness_slope": 9, "second_moment_floor": 0.64,
    "second_moment_noise": 0.01, "damping": 0.2,
}  # fmt: skip
EXAMPLE = {
    "steps": 1000, "dimension": 50, "diameter": 1.0, "gradient_bound": 1.0,
    "damping": 0.01, "noise_std": 1.931468948429 / 256,
    "preconditioned_noise_std": 193.1468948429 / 256, "staleness_intercept": 0.3,
    "staleness_slope": 0.002, "variation_ratio": 0.05,
    "mean_gradient": 0.03 * 0.9 ** np.arange(50),
}  # fmt: skip


def replayed(theorem):
    return replay(theorem, theorems=THEOREMS)


def test_ids_are_the_promised_ones():
    assert set(THEOREMS) == set(IDS)


@pytest.mark.parametrize("id", IDS)
def test_proof_replays_and_assumes_nothing(id):
    report = replayed(THEOREMS[id])
    assert report.ok, report.describe()
    assert report.assumed == ()
    assert report.unused_assumptions == ()
    assert report.unused_steps == ()


@pytest.mark.parametrize("id", IDS)
def test_no_step_is_assumed(id):
    steps = THEOREMS[id].steps
    assert steps
    assert all(step.rule is not Rule.ASSUMED for step in steps)


@pytest.mark.parametrize("backend", ["numpy", "mpmath", "ball"])
def test_backends_agree_on_phi(backend):
    theorem = THEOREMS["dp2.phi.minimiser"]
    value = theorem.evaluate(backend=backend, relative_delay=0.14590617714, **CONSTANTS)
    assert float(value) == pytest.approx(3.12479853491, rel=1e-11)
    given = {name: CONSTANTS[name] for name in
             ("second_moment_floor", "second_moment_noise", "damping")}  # fmt: skip
    base = theorem.evaluate("base", backend=backend, relative_delay=1, **given)
    assert float(base) == pytest.approx(sqrt(0.65) + 0.2, rel=1e-14)


def test_minimiser_is_stationary():
    theorem = THEOREMS["dp2.phi.stationary"]
    u = Tradeoff(1, 9, 0.64, 0.01, 0.2).minimiser().relative_delay
    near = [theorem.evaluate("residual", relative_delay=v, **CONSTANTS) for v in (0.9 * u, 1.1 * u)]
    assert abs(theorem.evaluate("residual", relative_delay=u, **CONSTANTS)) < 1e-12
    assert near[0] < 0 < near[1]  # phi falls first, then ... the gain exceeds the cost


def test_phi_of_the_theorem_is_phi_in_numbers():
    theorem = THEOREMS["dp2.phi.convex"]
    u = np.linspace(0.01, 1, 50)
    mine = Tradeoff(*CONSTANTS.values()).log_phi(u)
    assert np.allclose(theorem.evaluate("log_bound", relative_delay=u, **CONSTANTS), mine,
                       rtol=1e-13)  # fmt: skip
    sharp = THEOREMS["dp2.phi.sawtooth"]
    s = np.arange(30, 1001)
    for name, exponent in (("bound", "floor"), ("last_phase", "ceiling")):
        values = sharp.evaluate(name, delay=s, steps=1000, **CONSTANTS)
        logs = Tradeoff(*CONSTANTS.values()).log_over_delays(1000, exponent)[29:]
        assert np.allclose(np.log(values), logs, rtol=1e-12, atol=1e-12)


def test_interior_criterion_tells_the_ends_apart():
    theorem = THEOREMS["dp2.phi.interior"]
    assert theorem.evaluate("slope_at_one", **CONSTANTS) < 0
    ones = dict.fromkeys(CONSTANTS, 1) | {"damping": 0.1}
    assert theorem.evaluate("slope_at_one", **ones) > 0


@pytest.mark.parametrize("backend", ["numpy", "mpmath", "ball"])
def test_certified_value_of_the_theorem_is_the_planners(backend):
    theorem = THEOREMS["dp2.S2"]
    value = theorem.evaluate(
        "certified", backend=backend, delay=67, preconditioned_clip_norm=100.0, **EXAMPLE
    )
    assert float(value) == pytest.approx(0.1979001741736, rel=1e-12)
    smooth = theorem.evaluate("bound", backend=backend, delay=66, **EXAMPLE)
    assert float(smooth) == pytest.approx(0.1995827686341, rel=1e-12)


def test_certified_values_agree_at_every_delay():
    s = np.arange(1, 1001)
    given = {key: value for key, value in EXAMPLE.items() if key != "dimension"}
    inputs = Inputs(preconditioned_clip_norm=100.0, **given)
    theorem = THEOREMS["dp2.S2"]
    values = theorem.evaluate("certified", delay=s, preconditioned_clip_norm=100.0, **EXAMPLE)
    assert np.allclose(values, bound(inputs, s), rtol=1e-13, atol=0)
    assert np.allclose(
        theorem.evaluate("bound", delay=s, **EXAMPLE),
        bound(inputs, s, exact=False, branch="staleness"),
        rtol=1e-13,
        atol=0,
    )


def test_closed_forms():
    theorem = THEOREMS["dp2.S1"]
    given = {"variation_floor": 1.0, "variation_per_update": 25.0,
             "moment_floor": 8 + 0.07544800579799**2, "moment_slope": 0.04}  # fmt: skip
    assert theorem.evaluate("best_delay", **given) == pytest.approx(70.735830743597, rel=1e-12)
    assert theorem.evaluate("least", **given) == pytest.approx(14.6645588610667, rel=1e-12)
    proved = given | {"variation_per_update": 500 * sqrt(0.1)}
    assert theorem.evaluate("least", **proved) == pytest.approx(28.56154344246, rel=1e-12)
    names = ("steps", "gradient_bound", "damping", "preconditioned_noise_std", "variation_ratio",
             "staleness_intercept", "staleness_slope")  # fmt: skip
    found = THEOREMS["dp2.S2"].evaluate(
        "constant_norm_delay", **{name: EXAMPLE[name] for name in names}
    )
    assert found == pytest.approx(61.81549174549, rel=1e-12)


def test_log_convex_on_a_grid():
    theorem = THEOREMS["dp2.S2"]
    s = np.exp(np.linspace(0, np.log(1000), 61))
    given = {key: value for key, value in EXAMPLE.items() if key != "dimension"}
    inputs = Inputs(preconditioned_clip_norm=100.0, **given)
    logs = np.log(bound(inputs, s, exact=False, branch="staleness"))
    assert np.diff(logs, 2).min() > 0
    assert theorem.curve is not None


# --- false ones


@pytest.mark.parametrize(
    "slope",
    [
        lambda x: log(tradeoff.base(x)) + tradeoff.bend(x) / 2 - tradeoff.fall(x),
        lambda x: log(tradeoff.base(x)) + tradeoff.bend(x) - tradeoff.fall(x) / 2,
        lambda x: tradeoff.slope(x) / 2,
    ],
)
def test_a_wrong_slope_is_refused(slope):
    x, y = tradeoff.x, tradeoff.y
    claim = Implies(
        And(x >= 1, y >= 1, Ne(x, y)),
        tradeoff.log_phi(y) > tradeoff.log_phi(x) + slope(x) * (y - x),
    )
    assert not replayed(THEOREMS["dp2.phi.convex"].with_claim(claim)).ok


def test_convexity_in_u_itself_is_not_claimed_for_free():
    """The bracket needs x >= 1: for small x ln phi is not convex."""
    x, y = tradeoff.x, tradeoff.y
    claim = Implies(Ne(x, y), tradeoff.TANGENT.args[1])
    assert not replayed(THEOREMS["dp2.phi.convex"].with_claim(claim)).ok


def test_a_constant_phi_is_not_strictly_convex():
    theorem = THEOREMS["dp2.phi.convex"]
    assert not replayed(theorem.without_assumption("varies")).ok


def test_half_the_bracket_is_refused():
    theorem = THEOREMS["dp2.phi.minimiser"]
    smaller = And(*[each.subs(8, Rational(1, 2)) for each in theorem.statement.args])
    assert smaller != theorem.statement
    assert not replayed(theorem.with_claim(smaller)).ok


def test_half_the_least_value_of_the_product_is_refused():
    theorem = THEOREMS["dp2.S1"]
    wrong = theorem.statement.subs(sweet_spot._LEAST, sweet_spot._LEAST / 2)
    assert wrong != theorem.statement
    assert not replayed(theorem.with_claim(wrong)).ok


def test_least_branch_is_not_claimed_log_convex():
    """At the kink the middle lies above: the step that would prove it has a counter-model."""
    x, y = sweet_spot._x, sweet_spot._y
    theorem = THEOREMS["dp2.S2"]
    term = sweet_spot.moment_bound
    claim = Implies(Ne(x, y), term((x * y) ** Rational(1, 2)) ** 2 < term(x) * term(y))
    step = inequality("kink", claim, *theorem.steps[-1].premises)
    assert not replayed(replace(theorem, statement=claim, steps=(*theorem.steps[:-1], step))).ok
