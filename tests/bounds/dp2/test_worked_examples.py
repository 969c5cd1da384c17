"""From a budget to a delay: both worked examples through the theorems, to the digits given."""

from math import comb, exp, log, sqrt

import numpy as np
import pytest

from bounds.describe import parameters_of
from bounds.dp2 import (
    certified,
    common_constant,
    common_freeze_constant,
    delay_folded,
    dp_sgd,
    gamma,
    sweet_spot_knowledge,
    two_rates_before,
)
from bounds.dp2.certified_inputs import Inputs
from bounds.proof.replay import replay
from dp2theory.planning.budget import Budget
from tests.bounds.dp2.test_certified import SIGMA, B, D, T, example

MODULES = (common_constant, common_freeze_constant, delay_folded, dp_sgd, gamma,
           sweet_spot_knowledge, two_rates_before)  # fmt: skip
THEOREMS = {theorem.id: theorem for module in MODULES for theorem in module.THEOREMS}


def value(id, name="bound", **parameters):
    """One evaluation of a theorem, from more parameters than it may need."""
    taken = parameters_of(THEOREMS[id].evaluations[name])
    return THEOREMS[id].evaluate(name, **{k: v for k, v in parameters.items() if k in taken})


def test_noise_of_the_examples_spends_the_budget():
    """Rényi, Poisson sampling, add or remove, integer orders 2 to 64."""
    q, epsilons = B / 10_000, []
    for order in range(2, 65):
        moment = sum(
            comb(order, k) * (1 - q) ** (order - k) * q**k * exp((k * k - k) / (2 * SIGMA**2))
            for k in range(order + 1)
        )
        spent = T * log(moment) / (order - 1)
        epsilons.append(spent + log(1 - 1 / order) - log(1e-5 * order) / (order - 1))
    assert min(epsilons) == pytest.approx(2, abs=1e-10)
    assert int(np.argmin(epsilons)) + 2 == 10


def test_noise_of_full_batches():
    found = Budget(10_000, 10_000, T, 2.0, 1e-5).calibrate().noise_multiplier
    assert found == pytest.approx(63.0498855542424, rel=1e-9)
    assert sqrt(T) / found == pytest.approx(0.501551689169657, rel=1e-9)


@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("delay", [1, 7, 66, 67, 71, 333, 500, 1000])
def test_certified_value_is_that_of_theorem_ctv(which, delay):
    inputs = example(which)
    norm = float(certified.preconditioner_norm(inputs, delay))
    moment = min(float(each) for each in certified.gradient_moments(inputs, delay).values())
    given = inputs.to_json() | {
        "delay": delay, "preconditioner_norm": norm,
        "preconditioned_gradient_moment": moment, "collecting_gradient_moment": moment,
    }  # fmt: skip
    mine = float(certified.bound(inputs, delay))
    assert value("dp2.CTV", **given) == pytest.approx(mine, rel=1e-13)
    frozen = float(certified.bound(example(which, mode="freeze"), delay))
    if delay < T:  # the theorem needs one renewal less than are counted here
        theorem = value("dp2.CTV.freeze", **given)
        assert theorem <= frozen <= theorem * sqrt(1 + inputs.variation_ratio) * (1 + 1e-12)


def test_certified_value_with_a_smaller_clip_norm_is_that_of_theorem_ctv():
    """C C2 says nothing of the collecting steps, whose noise is then the larger one."""
    inputs = example(2, preconditioned_clip_norm=2.0, preconditioned_noise_std=2 * SIGMA / B)
    for delay in (3, 40, 999):
        norm = float(certified.preconditioner_norm(inputs, delay))
        moments = certified.gradient_moments(inputs, delay, norm)
        collecting = min(float(moments["staleness"]), float(moments["gradient-bound"]))
        given = inputs.to_json() | {
            "delay": delay, "preconditioner_norm": norm,
            "preconditioned_gradient_moment": min(collecting, float(moments["clip"])),
            "collecting_gradient_moment": collecting,
        }  # fmt: skip
        mine = float(certified.bound(inputs, delay))
        assert value("dp2.CTV", **given) == pytest.approx(mine, rel=1e-13)


def test_gradient_terms_are_those_of_the_theorems():
    inputs = example(2)
    moments = certified.gradient_moments(inputs, 67)
    given = inputs.to_json() | {
        "delay": 67, "preconditioner_norm": float(certified.preconditioner_norm(inputs, 67)),
    }  # fmt: skip
    for id, name in (
        ("dp2.gamma.damping", "gradient-bound"),
        ("dp2.gamma.clip", "clip"),
        ("dp2.gamma.staleness", "staleness"),
    ):
        assert value(id, **given) == pytest.approx(float(moments[name]), rel=1e-14)


def test_dp_sgd_of_the_theorem():
    given = example(1).to_json()
    assert value("dp2.dp-sgd", **given) == pytest.approx(0.2239247865679, rel=1e-12)
    assert certified.dp_sgd(example(1)) == pytest.approx(0.2239247865679, rel=1e-12)


@pytest.mark.parametrize(("delay", "norm"), [(100, 2.98454893842839), (71, 2.984577108736)])
def test_mean_size_of_an_average(delay, norm):
    found = value(
        "dp2.h.folded-normal",
        mean_gradient=0.3 * 0.9 ** np.arange(D),
        dimension=D,
        averaged_noise_std=SIGMA / B / sqrt(delay),
    )
    assert found == pytest.approx(norm, rel=1e-12)


@pytest.mark.parametrize(
    ("delay", "bound", "rate", "ratio", "variation", "moments"),
    [
        (50, 0.6569923053785, 0.5876461596577, 0.1227585316031, 386.0790051803, 1118.006634743),
        (100, 0.493634335276, 0.4415558753597, 0.1227459874393, 217.9671410204, 1117.943079964),
        (500, 0.3056716756695, 0.2734357356298, 0.1227359470698, 83.58155949788, 1117.892198566),
    ],
)
def test_theorem_b_in_example_1(delay, bound, rate, ratio, variation, moments):
    inputs = example(1)
    sizes = np.sqrt(inputs.mean_gradient**2 + inputs.noise_std**2 / delay) + inputs.damping
    average = value(
        "dp2.h.folded-normal",
        mean_gradient=inputs.mean_gradient,
        dimension=D,
        averaged_noise_std=inputs.noise_std / sqrt(delay),
    )
    stale = 10 * (0.8 + 0.004 * delay) * (average + D * inputs.damping)
    given = inputs.to_json() | {
        "delay": delay, "rate_ratio": float(np.median(sizes)), "side": np.ones(D),
        "preconditioner_norm": sizes.sum(), "preconditioner_mean_bound": sizes,
        "preconditioned_gradient_moment": min(10.0, stale),
    }  # fmt: skip
    assert given["rate_ratio"] == pytest.approx(ratio, rel=1e-12)
    for name, expected in (("bound", bound), ("learning_rate", rate),
                           ("variation", variation), ("moments", moments)):  # fmt: skip
        assert value("dp2.B.tuned", name, **given) == pytest.approx(expected, rel=1e-12)


def test_given_the_same_knowledge_dp_sgd_is_never_worse():
    theorem = THEOREMS["dp2.S2.same-knowledge"]
    report = replay(theorem, theorems=THEOREMS)
    assert report.ok, report.describe()
    rng = np.random.default_rng(12)
    for _ in range(40):
        damping = 10 ** rng.uniform(-4, 0)
        noise = 10 ** rng.uniform(-4, 0)
        inputs = Inputs(
            steps=200, mean_gradient=rng.exponential(0.05, 8), noise_std=noise,
            preconditioned_noise_std=noise / damping, gradient_bound=1.0,
            preconditioned_clip_norm=1 / damping, damping=damping, variation_ratio=0.3,
            staleness_intercept=10 ** rng.uniform(-2, 0),
            staleness_slope=10 ** rng.uniform(-4, -1),
        )  # fmt: skip
        best = certified.optimum(inputs)
        assert best.dp_sgd_with_staleness <= best.value * (1 + 1e-12)
    below = certified.optimum(example(2))
    assert below.value < below.dp_sgd
