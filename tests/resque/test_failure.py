"""Failure probabilities: the table of the lemma, one step exactly, simulated runs, roundings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bounds.catalogue import theorem
from bounds.evaluate import evaluate
from dp2theory.resque import failure
from dp2theory.resque.drift import linear, simulate
from dp2theory.resque.failure import (
    Phase,
    PhaseFailure,
    call_failure,
    log_drift,
    log_failure,
    phase_failure,
    smallest_drift_factor,
)
from dp2theory.resque.moments import log_difference_norm

EVEN = np.arange(2.0, 101.0, 2.0)
RATIOS = (1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)


def phase(ratio: float, factor: float = 2.0, steps: int = 900, **changes: Any) -> Phase:
    """Steps r/(L sqrt(T)) with r = L = 1."""
    values: dict[str, Any] = {
        "steps": steps,
        "step_size": steps**-0.5,
        "lipschitz": 1.0,
        "smoothing": 1 / ratio,
        "radius": 1.0,
        "drift_factor": factor,
    }
    return Phase(**(values | changes))


def solve(each: Phase, **more: Any) -> PhaseFailure:
    return phase_failure(**vars(each), **more)


#: log10 of the failure probability at T = 900, from even orders and the exponential form of the
#: theorem's growth, by r/rho = 1/4, ..., 1/64.
TABLE = {
    1.5: (-0.29, -0.58, -1.28, -2.67, -5.48),
    2.0: (-0.54, -1.33, -2.76, -5.78, -11.83),
    3.0: (-1.22, -2.53, -5.35, -11.11, -22.75),
}


def exponential(ratio: float, factor: float) -> float:
    """log10 of the same from the exponential form of the growth, which overstates it a little."""
    bound = theorem("resque.drift.orders").evaluations["simple factor"]
    drift = evaluate(
        bound, log=True, norm_order=EVEN[1:], steps=900, lipschitz=1, smoothing_std=1 / ratio,
        relative_radius=ratio, ball_learning_rate=1 / 30,
    )  # fmt: skip
    second = log_failure(phase(ratio, factor), EVEN[:1], lemma="orders")
    logs = np.concatenate([second, EVEN[1:] * (drift - math.log(factor))])
    return float(logs.min() / math.log(10))


@pytest.mark.parametrize("factor", TABLE)
def test_the_table_of_the_theorem(factor: float) -> None:
    for ratio, printed in zip(RATIOS, TABLE[factor], strict=True):
        each = phase(ratio, factor)
        assert abs(exponential(ratio, factor) - printed) < 0.0061
        even = log_failure(each, EVEN, lemma="orders").min() / math.log(10)
        assert even == pytest.approx(printed, abs=0.005, rel=0.006)
        # More orders can only help; the lemma is better at every order.
        assert solve(each, lemma="orders").log10_probability <= even + 0.01
        assert solve(each).log10_probability <= even


@pytest.mark.parametrize(
    ("ratio", "printed"),
    list(zip(RATIOS, (-0.93, -3.36, -12.86, -49.3, -186.6), strict=True)),
)
def test_the_table_of_the_lemma(ratio: float, printed: float) -> None:
    found = solve(phase(ratio))
    assert found.log10_probability == pytest.approx(printed, rel=2e-3, abs=0.006)
    # Near log(c)/(2 t^2), where p^2 t^2 - p log(c) is smallest.
    assert found.order == pytest.approx(math.log(2) / (2 * ratio**2), rel=0.2)


def test_reference_bounds_on_the_drift() -> None:
    # p = 2, 4, 8 at T = 200, with the factor of the differing step.
    for ratio, wanted in ((0.05, (1.00251, 1.01056, 1.0426)), (0.1, (1.01015, 1.0457, 1.239))):
        found = np.exp(log_drift(phase(ratio, steps=200), [2, 4, 8], lemma="orders"))
        assert_allclose(found, wanted, rtol=5e-4)


def test_the_powers_are_resque_drift_at_order_2_and_sharper_than_orders_above() -> None:
    for ratio in RATIOS:
        orders = np.array([2.0, 3.0, 4.0, 7.0, 20.0])
        lemma = log_drift(phase(ratio), orders)
        proved = log_drift(phase(ratio), orders, lemma="orders")
        assert_allclose(lemma[0], proved[0], rtol=1e-10)
        assert np.all(lemma[1:] < proved[1:])


@pytest.mark.parametrize("steps", [1, 200])
def test_the_lemma_in_logarithms_is_the_theorem_of_the_powers(steps: int) -> None:
    drift = theorem("resque.drift.powers").evaluations["factor"]
    for ratio in (0.02, 0.1, 0.5):
        excess = np.array([1, 2, 6, 30])
        exact = evaluate(
            drift, log=True, order_excess=excess, steps=steps, lipschitz=1,
            smoothing_std=1 / ratio, relative_radius=ratio, ball_learning_rate=steps**-0.5,
        )  # fmt: skip
        assert_allclose(log_drift(phase(ratio, steps=steps), excess + 2.0), exact, rtol=1e-10)


def test_the_elementary_bound_for_high_powers_is_an_upper_bound() -> None:
    orders = np.array([10.0, 60.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failure, "_EXACT", 4)
        rough = log_drift(phase(1 / 8), orders)
    exact = log_drift(phase(1 / 8), orders)
    assert np.all(exact <= rough)
    assert_allclose(rough, exact, rtol=0.05)


@pytest.mark.parametrize("order", [2, 3, 4, 6, 9])
def test_one_step_of_a_linear_loss_grows_no_more_than_the_lemma_says(order: int) -> None:
    """E|Phi - eta (w_u - w_v) g|^p by quadrature, at the rim, at distances of all sizes."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / math.sqrt(2 * math.pi)
    largest = 0.0
    for ratio in (0.1, 0.4):
        for step in (0.02, 0.2):
            each = phase(ratio, steps=1, step_size=step)
            bound = order * (log_drift(each, [order])[0] - (order - 1) * ratio**2 / 2)
            for near in (0.999, 0.5, -1.0):
                u, v = ratio, near * ratio  # units of rho; Phi = rho (u - v)
                change = np.exp(u * nodes - u**2 / 2) - np.exp(v * nodes - v**2 / 2)
                for sign in (1.0, -1.0):
                    after = np.abs((u - v) / ratio - sign * step * change) ** order
                    growth = math.log(weights @ after / ((u - v) / ratio) ** order)
                    assert growth <= bound + 1e-12
                    largest = max(largest, growth / bound)
    assert largest > 0.5  # and it is no empty promise


def test_powers_of_one_step_are_those_of_the_moments() -> None:
    # h_q is exact for close points at the rim: the sum over q is the moments' own.
    ratio, gap = 0.3, 1e-6
    each = phase(ratio, steps=1, step_size=0.05)
    powers = np.array([2.0, 3.0, 4.0])
    moments = powers * (
        log_difference_norm(powers, [ratio], [ratio - gap]) + math.log(0.05 * ratio / gap)
    )
    exact = math.log1p(np.exp(moments) @ [6, 4, 1])
    found = 4 * (log_drift(each, [4])[0] - 3 * ratio**2 / 2)
    assert_allclose(found, exact, rtol=1e-4)
    assert found >= exact - 1e-12


def test_simulated_runs_fail_less_often_than_claimed() -> None:
    ratio, steps, paths = 0.25, 100, 20_000
    sizes = simulate(linear(steps), steps=steps, ratio=ratio, method="shared", paths=paths,
                     rng=np.random.default_rng(0))  # fmt: skip
    for factor in (1.2, 1.5, 1.8):
        claimed = solve(phase(ratio, factor, steps)).probability
        seen = (sizes > factor).mean()
        assert seen <= claimed
        # The runs part at the centre; at the rim the weight of the differing step comes on top.
        rim = np.exp(np.random.default_rng(1).standard_normal(paths) * ratio - ratio**2 / 2)
        assert (sizes * rim > factor).mean() <= claimed


def test_a_call_adds_its_phases_up() -> None:
    phases = [phase(1 / 8, steps=2**k, step_size=4.0 ** (k - 9) / 16) for k in range(9, 3, -1)]
    each = [solve(one) for one in phases]
    total = call_failure(phases)
    assert math.fsum(one.probability for one in each) <= total
    assert_allclose(total, sum(one.probability for one in each), rtol=1e-12)
    assert call_failure(each) == total
    assert call_failure([]) == 0.0
    assert call_failure([PhaseFailure(0.7, math.log10(0.7), 2.0)] * 2) == 1.0
    # Shorter phases with steps a quarter as long drift less, whatever the first step does.
    drifts = [log_drift(one, [8])[0] for one in phases]
    assert np.all(np.diff(drifts) < 0)


def test_realistic_runs_stay_below_half_of_delta() -> None:
    """r/rho = 1/64, c = 2: all phases of two restarts, 2000 oracle calls, delta = 1e-6."""
    draws, dimension, noise = 678, 100, 4.0
    phases = []
    for _ in range(2):
        for i in range(1, int(math.log2(draws)) + 1):
            step = 4.0 ** (1 - i) * min(draws**-0.5, 1 / (noise * math.sqrt(dimension)))
            phases.append(phase(1 / 64, 2.0, max(draws // 2**i, 1), step_size=step))
    for lemma in failure.LEMMAS:
        assert 2000 * call_failure(phases, lemma=lemma) < 1e-6 / 2


def test_the_smallest_factor_reaches_its_probability_and_no_smaller_one_does() -> None:
    for lemma in failure.LEMMAS:
        for ratio in (1 / 8, 1 / 32):
            values = vars(phase(ratio))
            values = {name: value for name, value in values.items() if name != "drift_factor"}
            factor = smallest_drift_factor(1e-9, lemma=lemma, **values)
            reached = phase_failure(drift_factor=factor, lemma=lemma, **values).probability
            assert reached == pytest.approx(1e-9, rel=0.02)
            less = phase_failure(drift_factor=factor * 0.99, lemma=lemma, **values).probability
            assert less > 1.01e-9


def test_probabilities_stay_probabilities() -> None:
    hopeless = solve(phase(2.0, 1.01))
    assert (hopeless.probability, hopeless.log10_probability) == (1.0, 0.0)
    certain = solve(phase(1e-4, 10.0))
    assert 0 < certain.probability < 1e-300
    assert certain.log10_probability < -1000
    assert set(certain.to_json()) == {"probability", "log10_probability", "order"}
    # What is beyond doubles does not turn into a good bound.
    for lemma in failure.LEMMAS:
        wild = solve(phase(0.1, 2.0, step_size=1e200), lemma=lemma)
        assert wild.probability == 1.0


def test_units_do_not_matter() -> None:
    one = solve(phase(1 / 16))
    other = solve(phase(1 / 16, step_size=1 / 30 * 3 / 7, radius=3.0, smoothing=48.0,
                        lipschitz=7.0))  # fmt: skip
    assert one.probability == pytest.approx(other.probability, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steps": 0}, "steps=0"),
        ({"steps": 1.5}, "steps=1.5"),
        ({"step_size": 0.0}, "step_size=0.0"),
        ({"lipschitz": -1.0}, "lipschitz=-1.0"),
        ({"smoothing": float("nan")}, "smoothing=nan"),
        ({"radius": float("inf")}, "radius=inf"),
        ({"drift_factor": "2"}, "drift_factor='2'"),
        ({"lemma": "best"}, "lemma='best'"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        phase_failure(**(vars(phase(1 / 8)) | change))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: log_drift(phase(0.1), np.array([1.5])), "orders="),
        (lambda: log_drift(phase(0.1), np.array([])), "not empty"),
        (lambda: log_drift(phase(0.1), np.array([2.5])), "whole numbers"),
        (lambda: call_failure([0.1]), "phases holds 0.1"),  # type: ignore[list-item]
        (lambda: smallest_drift_factor(1.0, steps=1, step_size=1.0, lipschitz=1.0, smoothing=1.0,
                                       radius=1.0), "probability=1.0"),
    ],
)  # fmt: skip
def test_bad_orders_and_phases_are_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)
