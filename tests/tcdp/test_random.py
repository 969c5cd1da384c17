"""Random settings: nothing crashes, nothing is below an exact lower end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import AccuracyError, ExactAccountant
from accountants.events import dp_sgd_event
from accountants.sampling import (
    Poisson,
    Sampling,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from accountants.tcdp.accountant import TruncatedCdpAccountant

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE


def random_sampling(rng: np.random.Generator) -> Sampling:
    n = int(10 ** rng.uniform(1, 6))
    m = max(1, int(n * 10 ** rng.uniform(-4, -0.1)))
    q = float(10 ** rng.uniform(-5, 0))
    schemes: tuple[Sampling, ...] = (
        Poisson(q),
        WithoutReplacement(n, m),
        WithReplacement(n, m),
        WeightedWithReplacement(min(0.9, 2 / n), m),
        ShuffledEpochs(n, m),
        TruncatedPoisson(n, m / n, min(n, 2 * m + 40)),
    )
    return schemes[rng.integers(len(schemes))]


def steps_of(sampling: Sampling, steps: int) -> int:
    return steps * sampling.batches if isinstance(sampling, ShuffledEpochs) else steps


def run(seed: int, *, exact: bool) -> None:
    rng = np.random.default_rng(seed)
    sampling = random_sampling(rng)
    relation = list(NeighboringRelation)[rng.integers(3)]
    if isinstance(sampling, ShuffledEpochs) and relation is ADD_REMOVE:
        relation = NeighboringRelation.REPLACE_ONE
    sigma, steps = float(10 ** rng.uniform(-0.4, 2)), int(10 ** rng.uniform(0, 5))
    delta = float(10 ** rng.uniform(-20, -2))
    event = dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=steps_of(sampling, steps))
    method = ("gaussian", "gaussian-closed", "agnostic")[rng.integers(3)]
    accountant = TruncatedCdpAccountant(relation, method).compose(event)
    epsilon = accountant.get_epsilon(delta)
    case = (seed, sampling, relation.name, sigma, steps, delta, method, epsilon)
    assert epsilon >= 0, case
    if epsilon < math.inf:
        assert accountant.get_delta(epsilon) <= delta * (1 + 1e-3), case
    if exact:
        try:
            lower = ExactAccountant(relation).compose(event).epsilon_bracket(delta).lower
        except AccuracyError:
            return
        assert lower <= epsilon, case


@pytest.mark.parametrize("seed", range(12))
def test_random_settings(seed: int) -> None:
    run(seed, exact=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_random_settings_against_exact_lower_ends(seed: int) -> None:
    run(seed, exact=True)
