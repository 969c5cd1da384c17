"""The certified delay: the two worked examples to the digits given, and what must never happen."""

from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Any

import numpy as np
import pytest

from bounds.dp2 import certified
from bounds.dp2.certified import Inputs, bound, optimum

T, D, B, SIGMA = 1000, 50, 256, 1.931468948429


def example(which, **changes):
    """n = 10,000, b = 256, T = 1,000, d = 50, C = R = 1: damping .1 and large means, or .01."""
    damping, start, c1, c2 = (0.1, 0.3, 0.8, 0.004) if which == 1 else (0.01, 0.03, 0.3, 0.002)
    values = {
        "steps": T,
        "mean_gradient": start * 0.9 ** np.arange(D),
        "noise_std": SIGMA / B,
        "preconditioned_noise_std": SIGMA / damping / B,
        "gradient_bound": 1.0,
        "preconditioned_clip_norm": 1 / damping,
        "damping": damping,
        "variation_ratio": 0.05,
        "staleness_intercept": c1,
        "staleness_slope": c2,
    }
    return Inputs(**(values | changes))


def test_noise_and_norms_of_the_examples():
    inputs = example(1)
    assert inputs.noise_std == pytest.approx(0.007544800579799, rel=1e-12)
    assert inputs.preconditioned_noise_std == pytest.approx(0.07544800579799, rel=1e-12)
    assert inputs.noise_std**2 / 100 == pytest.approx(5.692401578894e-7, rel=1e-12)
    assert float(certified.preconditioner_norm(inputs, 71)) == pytest.approx(
        7.986806295083, rel=1e-12
    )
    assert float(certified.preconditioner_norm(example(2), 100)) == pytest.approx(
        0.8086079364414, rel=1e-12
    )


@pytest.mark.parametrize(
    ("delay", "value"),
    [
        (1, 3.698336178913), (10, 1.372023444494), (50, 0.9785715297796), (70, 0.9671948088262),
        (71, 0.9671820665934), (72, 0.9672063164645), (100, 0.978332707178),
        (500, 1.369258677617), (1000, 1.771197862932),
    ],
)  # fmt: skip
def test_smooth_form_of_example_1(delay, value):
    found = bound(example(1), delay, exact=False, branch="staleness")
    assert float(found) == pytest.approx(value, rel=1e-12)


def test_smooth_minimisers_of_example_1():
    inputs = example(1)
    values = bound(inputs, np.arange(1, T + 1), exact=False, branch="staleness")
    assert int(np.argmin(values)) + 1 == 71
    assert certified.smooth_delay(inputs) == pytest.approx(70.8379356426, rel=1e-11)
    assert certified.constant_norm_delay(inputs) == pytest.approx(70.735830743597, rel=1e-12)
    proved = example(1, variation_ratio=sqrt(0.1))
    assert certified.constant_norm_delay(proved) == pytest.approx(177.8911965068, rel=1e-12)
    values = bound(proved, np.arange(1, T + 1), exact=False, branch="staleness")
    assert int(np.argmin(values)) + 1 == 178
    assert values.min() == pytest.approx(1.349554908127, rel=1e-12)


@pytest.mark.parametrize(
    ("which", "chi", "branch", "delay", "value"),
    [
        (1, 0.05, "staleness", 77, 0.9587752767521),
        (1, sqrt(0.1), "staleness", 200, 1.290779847196),
        (1, 0.05, None, 1000, 0.2832136187887),
        (1, sqrt(0.1), None, 1000, 0.2832136187887),
        (2, 0.05, None, 67, 0.1979001741736),
        (2, sqrt(0.1), None, 200, 0.2729869636559),
    ],
)
def test_exact_minimisers(which, chi, branch, delay, value):
    inputs = example(which, variation_ratio=chi)
    values = bound(inputs, np.arange(1, T + 1), branch=branch)
    assert int(np.argmin(values)) + 1 == delay
    assert values.min() == pytest.approx(value, rel=1e-12)
    if branch is None:
        found = optimum(inputs)
        assert (found.delay, found.value) == (delay, pytest.approx(value, rel=1e-12))


def test_further_values_of_the_examples():
    assert float(bound(example(1), 71, branch="staleness")) == pytest.approx(
        0.9664261602125, rel=1e-12
    )
    assert float(bound(example(1), 71)) == pytest.approx(0.3291080180947, rel=1e-12)
    inputs = example(2)
    for delay, value in [(1, 0.9339088220111), (10, 0.2879773364911), (66, 0.1995827686341),
                         (100, 0.2032994576867), (1000, 0.2869913647929)]:  # fmt: skip
        assert float(bound(inputs, delay, exact=False)) == pytest.approx(value, rel=1e-12)
    assert float(bound(inputs, 1000)) == pytest.approx(0.2834698649888, rel=1e-12)
    assert certified.smooth_delay(inputs) == pytest.approx(65.89331480263, rel=1e-11)
    assert certified.constant_norm_delay(inputs) == pytest.approx(61.81549174549, rel=1e-12)
    proved = example(2, variation_ratio=sqrt(0.1))
    assert float(bound(proved, 100)) == pytest.approx(0.2921372224263, rel=1e-12)


def test_freeze_needs_its_own_minimisers():
    """ "The same s, the value times sqrt 2" would be wrong."""
    first, second = (optimum(example(which, mode="freeze")) for which in (1, 2))
    assert (first.delay, round(first.value, 5)) == (500, 0.41042)
    assert (second.delay, round(second.value, 5)) == (71, 0.28305)
    assert bound(example(1, mode="freeze"), 1000) == np.inf  # no adaptive step: no bound


def test_dp_sgd_with_and_without_the_same_knowledge():
    first, second = optimum(example(1)), optimum(example(2))
    for found in (first, second):
        assert found.dp_sgd == pytest.approx(0.2239247865679, rel=1e-12)
    assert first.prefers_dp_sgd
    assert not second.prefers_dp_sgd
    assert second.dp_sgd_with_staleness == pytest.approx(0.133299, abs=5e-7)
    assert second.dp_sgd_with_staleness < second.value
    # Where the promise is too loose to help, it does not help DP-SGD either.
    assert first.dp_sgd_with_staleness == first.dp_sgd


def test_which_branch_is_active():
    first, second = optimum(example(1)), optimum(example(2))
    assert (first.branch, first.staleness_range) == ("gradient-bound", None)
    assert (second.branch, second.staleness_range) == ("staleness", (1, 474))
    silent = optimum(example(2, staleness_intercept=None, staleness_slope=None))
    assert (silent.branch, silent.delay) == ("gradient-bound", T)
    assert silent.smooth_delay is silent.constant_norm_delay is None
    tight = optimum(example(2, preconditioned_clip_norm=1.0, mode="freeze"))
    assert tight.branch in ("clip", "staleness")


def test_flat_range_and_vacuity():
    found = optimum(example(2))
    values = bound(example(2), np.arange(1, T + 1))
    inside = np.flatnonzero(values <= 1.05 * values.min()) + 1
    assert found.flat == (inside[0], inside[-1])
    assert found.flat_count == inside.size
    assert found.flat[0] < found.delay < found.flat[1]
    assert not found.vacuous
    assert found.trivial == sqrt(D)
    assert optimum(example(2, damping=1e-7, preconditioned_noise_std=SIGMA / 1e-7 / B,
                           preconditioned_clip_norm=1e7)).vacuous  # fmt: skip


def test_updates_are_counted_exactly():
    for steps in (1, 2, 7, 60, 61, 1000):
        for s in range(1, steps + 1):
            phases = ceil(Fraction(steps, s))
            assert certified.updates(steps, s) == phases // 2
            modes = [(t - 1) // s % 2 for t in range(1, steps + 1)]
            assert certified.adaptive_steps(steps, s) == sum(modes)
            assert floor(Fraction(phases, 2)) == sum(
                1 for t in range(2, steps + 1) if modes[t - 1] and not modes[t - 2]
            )


def test_half_the_cycles_is_no_upper_bound_of_the_updates():
    s = np.arange(1, T + 1)
    assert (certified.updates(T, s) > T / (2 * s)).any()
    low, true = bound(example(1), s, exact=False), bound(example(1), s)
    assert (true > low * (1 + 1e-12)).any()


def test_value_scales_with_the_box_and_the_delay_does_not_move():
    one, five = optimum(example(2)), optimum(example(2, diameter=5.0))
    assert one.delay == five.delay
    for name in ("value", "dp_sgd", "dp_sgd_with_staleness", "trivial"):
        assert getattr(five, name) == pytest.approx(5 * getattr(one, name), rel=1e-14)


def test_chords_find_the_same_minimum(monkeypatch):
    rng = np.random.default_rng(5)
    for steps in (700, 3000):
        inputs = example(2, steps=steps, mean_gradient=rng.exponential(0.01, 50))
        full = optimum(inputs)
        monkeypatch.setattr(certified, "_EXACT", 0)
        norms, exact = certified._norms(inputs, np.arange(1, steps + 1))
        true = certified.preconditioner_norm(inputs, np.arange(1, steps + 1))
        assert not exact
        assert (norms >= true * (1 - 1e-14)).all()
        assert (norms <= true * (1 + certified._CHORD / 4)).all()
        chords = optimum(inputs)
        monkeypatch.undo()
        assert (chords.delay, chords.value) == (full.delay, pytest.approx(full.value, rel=1e-14))
        assert chords.branch == full.branch


def test_blocks_of_the_norm_do_not_show(monkeypatch):
    whole = certified.preconditioner_norm(example(1), np.arange(1, T + 1))
    monkeypatch.setattr(certified, "_CHUNK", 170)
    assert np.allclose(certified.preconditioner_norm(example(1), np.arange(1, T + 1)), whole,
                       rtol=1e-15, atol=0)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 0}, "steps=0: must be a positive integer"),
        ({"steps": True}, "steps=True"),
        ({"mean_gradient": []}, "mean_gradient"),
        ({"mean_gradient": [np.nan]}, "mean_gradient"),
        ({"damping": 0.0}, "damping=0.0: must be positive"),
        ({"gradient_bound": -1.0}, "gradient_bound=-1.0"),
        ({"noise_std": -1.0}, "noise_std=-1.0: must be >= 0"),
        ({"variation_ratio": np.nan}, "variation_ratio=nan"),
        ({"staleness_slope": None}, "both or neither"),
        ({"staleness_slope": -0.1}, "staleness_slope=-0.1"),
        ({"mode": "freez"}, "mode='freez': must be one of common, freeze"),
        ({"mode": "freeze", "steps": 1}, "mode='freeze': no delay up to steps=1"),
    ],
)
def test_bad_inputs_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        optimum(example(1, **changes))


@pytest.mark.parametrize("delay", [0, 1001, 2.5, []])
def test_bad_delays_are_named(delay):
    with pytest.raises(ValueError, match="delay="):
        bound(example(1), delay)


def test_unknown_branch_and_real_delay_are_named():
    with pytest.raises(ValueError, match="branch='h': must be one of"):
        bound(example(1), 5, branch="h")
    with pytest.raises(ValueError, match=r"delay=-1\.0"):
        bound(example(1), -1.0, exact=False)


def test_equal_means_are_counted_not_stored():
    few: dict[str, Any] = {
        "steps": 50, "noise_std": 0.1, "preconditioned_noise_std": 1.0, "gradient_bound": 1.0,
        "preconditioned_clip_norm": 10.0, "damping": 0.1, "variation_ratio": 0.3,
    }  # fmt: skip
    stored = certified.Inputs(mean_gradient=np.full(40, 0.2), **few)
    counted = certified.Inputs(mean_gradient=np.array([0.2]), repeats=40, **few)
    assert counted.dimension == stored.dimension == 40
    assert counted.to_json() == pytest.approx(stored.to_json())
    steps = np.arange(1, 51)
    np.testing.assert_allclose(certified.bound(counted, steps), certified.bound(stored, steps))
    huge = certified.Inputs(mean_gradient=np.array([1e-5]), repeats=10**10, **few)
    assert huge.dimension == 10**10
