"""Samplers: the law of the draws and the event that goes with it."""

from __future__ import annotations

import numpy as np
import pytest

from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from dp2theory.optimizers.batches import make_sampler
from tests.optimizers.checks import check_poisson_law


@pytest.mark.parametrize("q", [0.05, 0.3])
def test_poisson_includes_every_record_independently(q: float) -> None:
    check_poisson_law(make_sampler(Poisson(q), 25), np.random.default_rng(0))


def test_poisson_with_probability_one_takes_everybody() -> None:
    sampler, rng = make_sampler(Poisson(1.0), 25), np.random.default_rng(0)
    assert all(sorted(sampler.sample(rng).tolist()) == list(range(25)) for _ in range(20))


def test_poisson_sizes_are_binomial() -> None:
    sampler, rng = make_sampler(Poisson(0.1), 20_000), np.random.default_rng(1)
    sizes = np.array([sampler.sample(rng).size for _ in range(2_000)])
    assert sampler.expected_batch_size == pytest.approx(2_000)
    assert sizes.mean() == pytest.approx(2_000, abs=5 * np.sqrt(1_800 / 2_000))
    assert sizes.std() == pytest.approx(np.sqrt(1_800), rel=0.08)


def test_without_replacement_draws_uniform_subsets() -> None:
    sampler, rng = make_sampler(WithoutReplacement(6, 2), 6), np.random.default_rng(2)
    pairs = [tuple(sorted(sampler.sample(rng).tolist())) for _ in range(6_000)]
    counts = {pair: pairs.count(pair) for pair in set(pairs)}
    assert len(counts) == 15
    assert all(len(set(pair)) == 2 for pair in counts)
    assert max(abs(c - 400) for c in counts.values()) < 5 * 20
    assert sampler.expected_batch_size == 2.0


def test_with_replacement_repeats_records() -> None:
    sampler, rng = make_sampler(WithReplacement(4, 2), 4), np.random.default_rng(3)
    pairs = np.array([sampler.sample(rng) for _ in range(8_000)])
    counts = np.bincount(4 * pairs[:, 0] + pairs[:, 1], minlength=16)
    assert np.all(np.abs(counts - 500) < 5 * np.sqrt(500))
    assert sampler.expected_batch_size == 2.0


def test_each_sampler_emits_the_event_it_executes() -> None:
    poisson = make_sampler(Poisson(0.2), 10).event(1.5, 7)
    assert type(poisson).__name__ == "SelfComposedDpEvent"
    assert type(poisson.event).__name__ == "PoissonSampledDpEvent"
    assert (poisson.count, poisson.event.sampling_probability) == (7, 0.2)
    assert poisson.event.event.noise_multiplier == 1.5
    subset = make_sampler(WithoutReplacement(10, 3), 10).event(1.5, 7)
    assert type(subset.event).__name__ == "SampledWithoutReplacementDpEvent"
    assert (subset.event.source_dataset_size, subset.event.sample_size) == (10, 3)
    repeated = make_sampler(WithReplacement(10, 3), 10).event(1.5, 7)
    assert type(repeated.event).__name__ == "SampledWithReplacementDpEvent"
    assert (repeated.event.source_dataset_size, repeated.event.sample_size) == (10, 3)


@pytest.mark.parametrize(
    ("sampling", "size", "message"),
    [
        (Poisson(0.0), 10, r"sampling_probability=0\.0 must be in \(0, 1\]"),
        (WithoutReplacement(9, 3), 10, r"sampling\.dataset_size=9 must be .* 10"),
        (WithReplacement(11, 3), 10, r"sampling\.dataset_size=11 must be .* 10"),
        ("poisson", 10, "sampling='poisson' must be a Poisson"),
        (Poisson(0.5), 0, "dataset_size=0 must be an integer >= 1"),
    ],
)
def test_bad_descriptions(sampling: object, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_sampler(sampling, size)  # type: ignore[arg-type]


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_size"):
        WithoutReplacement(10, 11)
    with pytest.raises(ValueError, match="sampling_probability"):
        Poisson(11 / 10)
