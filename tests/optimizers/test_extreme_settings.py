"""Settings at the ends of the doubles: refused by name, or a finite run; never NaN in silence."""

import math
import pickle
from dataclasses import fields

import numpy as np
import pytest

from accountants.sampling import Poisson
from dp2theory.optimizers.batched import run_batched
from dp2theory.optimizers.protocol import DivergedRun, run
from dp2theory.optimizers.registry import METHODS
from dp2theory.planning.methods import Settings, make_optimizer
from dp2theory.problems.public import split_public
from dp2theory.problems.synthetic import het

EXTREMES = {
    "clip_norm": (1e-320, 1e308),
    "preconditioned_clip_norm": (1e-100, 1e100),
    "statistic_clip_norm": (1e-320, 1e308),
    "damping": (5e-324, 1e-300, 1e300),
    "floor": (5e-324, 1e300),
    "noise_floor": (1e-300, 1e300),
    "exponent": (0.0, 1.0),
    "ema": (0.0,),
    "noise_multiplier": (1e-3, 1e6, 1e160),
}


@pytest.fixture(scope="module")
def parts():
    return split_public(het(n=60, d=6, amin=0.5, avg=2.0, seed=1), 0.2)


def attempt(parts, method, name, value):
    """The run, or the complaint that there is none."""
    problem, public = parts
    sigma = value if name == "noise_multiplier" else 1.0
    given = {} if name == "noise_multiplier" else {name: value}
    try:
        optimizer = make_optimizer(
            method,
            Settings.from_mapping(given),
            noise_multiplier=sigma,
            steps=4,
            public=public,
            expected_batch_size=8.0,
        )
        return run(optimizer, problem, sampling=Poisson(8 / 48), steps=4, rng=1)
    except (DivergedRun, ValueError) as error:
        return error


@pytest.mark.parametrize("method", METHODS)
def test_extreme_settings(parts, method):
    own = {field.name for field in fields(METHODS[method])}
    for name in own & EXTREMES.keys():
        for value in EXTREMES[name]:
            made = attempt(parts, method, name, value)
            if isinstance(made, DivergedRun):
                assert not made.partial.completed
            elif isinstance(made, ValueError):  # it names a setting
                assert "=" in str(made) or "preconditioner" in str(made)
            else:
                assert np.isfinite(made.parameters).all(), (name, value)
                assert not math.isnan(made.final_loss), (name, value)


def test_a_last_step_out_of_the_doubles_is_told_of(parts):
    """A damping that is no normal number: a step of 0.006 g / 5e-324 at a coordinate without v."""
    problem, _ = parts
    optimizer = make_optimizer(
        "delayed-adam", Settings.from_mapping({"damping": 5e-324}), noise_multiplier=0.0, steps=6
    )
    given = {"sampling": Poisson(8 / 48), "steps": 6}
    with pytest.raises(DivergedRun) as caught:
        run(optimizer, problem, rng=1, **given)
    ((made,),) = run_batched([optimizer], problem, seeds=[1], **given)
    assert not made.completed
    np.testing.assert_array_equal(made.parameters, caught.value.partial.parameters)


def test_a_diverged_run_crosses_processes(parts):
    """A worker that raises what cannot be read again takes its pool with it."""
    problem, _ = parts
    optimizer = make_optimizer(
        "dp-sgd", Settings.from_mapping({"clip_norm": 1e308}), noise_multiplier=9.0, steps=2
    )
    with pytest.raises(DivergedRun) as caught:
        run(optimizer, problem, sampling=Poisson(8 / 48), steps=2, rng=1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, DivergedRun)
    assert str(again) == str(caught.value)
    assert again.partial.ledger == caught.value.partial.ledger
