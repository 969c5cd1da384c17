"""What figures 1 and 3 measure: against literal recomputation, and against the theorems."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bounds.catalogue import theorem
from dp2theory.experiments.figures import fig1, fig3, staleness
from dp2theory.experiments.figures.request import FigureRequest
from dp2theory.experiments.figures.watched import WatchedProblem
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.rmsprop import RmsProp
from tests.experiments.figures_made import SETTING

DP2 = Dp2RmsProp(0.3, 1.0, 0.02, 50.0, 1.5, delay=5)
RUN = {"sampling": SETTING.description(), "steps": SETTING.run_steps, "rng": 3}


def test_watching_a_run_changes_nothing():
    plain = run(DP2, SETTING.load(), **RUN)
    watched = run(DP2, WatchedProblem(SETTING.load(), lambda *_: None), **RUN)
    np.testing.assert_array_equal(plain.parameters, watched.parameters)
    assert plain.ledger == watched.ledger


def literal_trace(seed):
    """The definition, step by step, from sums and releases that were written down."""
    problem, sums, released = SETTING.load(), [], []

    def see(parameters, batch, preconditioner, total):
        plain = problem.clipped_gradient_sum(parameters, batch, clip_norm=DP2.clip_norm)
        sums.append(plain / 40)
        if preconditioner is None:
            np.testing.assert_array_equal(plain, total)

    run(
        DP2, WatchedProblem(problem, see), **RUN | {"rng": seed},
        on_release=lambda t, mean: released.append(mean.copy()),
    )  # fmt: skip
    phases = [range(start, start + 5) for start in range(0, 40, 5)]
    averages = [np.abs(np.mean([released[t] for t in phase], axis=0)).sum() for phase in phases]
    means = [np.mean([sums[t] for t in phase], axis=0) for phase in phases]
    norms = [[np.abs(sums[t]).sum() for t in phase] for phase in phases]
    return averages[::2], means[::2], norms[1::2]


def test_traces_are_the_definition():
    trace = staleness.trace_run(SETTING, DP2, 3)
    averages, means, norms = literal_trace(3)
    np.testing.assert_allclose(trace.averages, averages, rtol=1e-12)
    np.testing.assert_allclose(trace.gradients, np.concatenate(norms), rtol=1e-12)
    np.testing.assert_array_equal(trace.updates, np.repeat(np.arange(4), 5))
    np.testing.assert_allclose(trace.signals, [mean @ mean for mean in means], rtol=1e-10)
    std = 1.5 / 40 / math.sqrt(5)
    for name, evaluated in (("folded", "dp2.h.folded-normal"), ("roots", "dp2.h.bounds")):
        found = [
            theorem(evaluated).evaluate(
                mean_gradient=tuple(np.abs(mean)), averaged_noise_std=std, dimension=mean.size
            )
            for mean in means
        ]
        np.testing.assert_allclose(getattr(trace, name), found, rtol=1e-9)


def test_h_is_the_largest_ratio_of_means_over_runs():
    seeds = (3, 4)
    point = staleness.staleness(SETTING, DP2, [staleness.trace_run(SETTING, DP2, s) for s in seeds])
    runs = [literal_trace(seed) for seed in seeds]
    ratios = [
        np.mean([norms[k][i] for _, _, norms in runs])
        / (np.mean([averages[k] for averages, _, _ in runs]) + 13 * DP2.damping)
        for k in range(4)
        for i in range(5)
    ]
    assert point.measured == pytest.approx(max(ratios), rel=1e-12)
    assert point.lower < point.upper
    assert point.band_lower <= point.folded <= point.band_upper
    # n = 400, b = 40: the caveat of dp2.h.saturation on Poisson batches
    saturation = theorem("dp2.h.saturation").evaluate(
        gradient_bound=math.sqrt(1 + 0.9 / 40), damping=DP2.damping, dimension=13
    )
    assert point.saturation == pytest.approx(float(saturation))
    top = max(np.mean([norms[k][i] for _, _, norms in runs]) for k in range(4) for i in range(5))
    noise = 13 * (1.5 / 40 / math.sqrt(5)) * math.sqrt(2 / math.pi) + 13 * DP2.damping
    assert point.noise_only == pytest.approx(top / noise, rel=1e-12)


@pytest.mark.parametrize("noise", [60.0, 400.0])
def test_noise_alone_predicts_h_where_it_dominates(noise):
    loud = Dp2RmsProp(0.01, 1.0, 0.001, 50.0, noise, delay=4)
    traces = [staleness.trace_run(SETTING, loud, seed) for seed in range(30)]
    point = staleness.staleness(SETTING, loud, traces)
    assert point.signal_to_noise < staleness.NOISE_DOMINATES
    # 13 coordinates and 30 runs: the average of |noise| is itself known to a few per cent
    assert abs(point.noise_only_error) < fig3.TOLERANCE


def test_noise_alone_predicts_nothing_where_it_is_small():
    quiet = Dp2RmsProp(0.01, 1.0, 0.001, 50.0, 0.01, delay=4)
    point = staleness.staleness(SETTING, quiet, [staleness.trace_run(SETTING, quiet, 0)])
    assert point.noise_only_error > 1
    assert (point.lower, point.upper) == (None, None)


def test_a_run_without_an_adaptive_phase_has_no_h():
    never = Dp2RmsProp(0.3, 1.0, 0.02, 50.0, 1.5, delay=40)
    with pytest.raises(ValueError, match="delay=40"):
        staleness.staleness(SETTING, never, [staleness.trace_run(SETTING, never, 0)])


def test_second_moments_in_pieces_are_those_of_one_run():
    optimizer = RmsProp(0.03)
    rows = fig1.moments_along(SETTING, optimizer, 3, [1, 7, 40])
    for step, row in zip((1, 7, 40), rows, strict=True):
        whole = run(optimizer, SETTING.load(), **RUN | {"steps": step})
        np.testing.assert_array_equal(row, whole.state.arrays["second_moment"])


def test_drift_is_symmetric_and_leaves_dead_coordinates_out():
    before = np.array([[1.0, 4.0, 0.0, 2.0]])
    after = np.array([[2.0, 1.0, 0.0, 2.0]])
    there, back = fig1.drift(0, 1, before, after), fig1.drift(0, 1, after, before)
    assert there.factor == back.factor == 2
    born = fig1.drift(0, 1, np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 1.0, 1.0]]))
    assert born.to_json()["median_factor"] == "inf"


def test_results_do_not_depend_on_the_executor():
    request = FigureRequest(SETTING, seeds=(0, 1), delays=(2, 5))
    with ThreadPoolExecutor(2) as threads:
        spread = FigureRequest(SETTING, seeds=(0, 1), delays=(2, 5), executor=threads)
        assert fig3.compute(spread).to_json() == fig3.compute(request).to_json()
        spread = FigureRequest(SETTING, seeds=(0, 1), executor=threads)
        assert fig1.compute(spread).to_json() == (
            fig1.compute(FigureRequest(SETTING, seeds=(0, 1))).to_json()
        )


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"seeds": ()}, "seeds"),
        ({"seeds": (1, 1)}, "seeds"),
        ({"seeds": (2**32,)}, "seeds"),
        ({"delays": ()}, "delays"),
        ({"delays": (0,)}, "delays"),
        ({"delays": (40,)}, "delays=40"),
        ({"delays": (2, 2)}, "delays"),
        ({"epsilons": (float("nan"),)}, "epsilons"),
        ({"epsilons": (-1.0,)}, "epsilons"),
    ],
)
def test_bad_requests_are_refused(change, word):
    with pytest.raises(ValueError, match=word):
        FigureRequest(SETTING, **change).bench()
