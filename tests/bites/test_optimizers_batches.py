"""Broken samplers and ledgers that the checks of tests/optimizers must catch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from accountants.sampling import Poisson, WithoutReplacement
from dp2theory.optimizers import protocol
from dp2theory.optimizers.batches import PoissonSampler, make_sampler
from dp2theory.optimizers.dp2 import Dp2RmsProp
from tests.optimizers import checks

Indices = np.ndarray[Any, np.dtype[np.int64]]


class FixedSize(PoissonSampler):
    """A subset of exactly the expected size."""

    def sample(self, rng: np.random.Generator) -> Indices:
        size = round(self.expected_batch_size)
        return rng.choice(self.dataset_size, size, replace=False)


class Contiguous(PoissonSampler):
    """The right size, but neighbours always come together."""

    def sample(self, rng: np.random.Generator) -> Indices:
        size = rng.binomial(self.dataset_size, self.sampling.sampling_probability)
        return (rng.integers(self.dataset_size) + np.arange(size)) % self.dataset_size


class PoissonSize(PoissonSampler):
    """The batch size has the Poisson law and not the binomial."""

    def sample(self, rng: np.random.Generator) -> Indices:
        size = min(rng.poisson(self.expected_batch_size), self.dataset_size)
        return rng.choice(self.dataset_size, size, replace=False)


class Repeats(PoissonSampler):
    """Records may come twice in a batch."""

    def sample(self, rng: np.random.Generator) -> Indices:
        size = rng.binomial(self.dataset_size, self.sampling.sampling_probability)
        return rng.integers(self.dataset_size, size=size)


class SkipsTheLast(PoissonSampler):
    """Never draws the last record."""

    def sample(self, rng: np.random.Generator) -> Indices:
        return np.flatnonzero(
            rng.random(self.dataset_size - 1) < self.sampling.sampling_probability
        )


class Epochs:
    """Shuffles the records and walks through them in slices, as common loaders do."""

    def __init__(self, sampling: Poisson, dataset_size: int) -> None:
        self.sampling, self.dataset_size = sampling, dataset_size
        self.expected_batch_size = sampling.sampling_probability * dataset_size
        self.waiting: list[Indices] = []

    def sample(self, rng: np.random.Generator) -> Indices:
        if not self.waiting:
            parts = round(self.dataset_size / self.expected_batch_size)
            self.waiting = np.array_split(rng.permutation(self.dataset_size), parts)
        return self.waiting.pop()


@pytest.mark.parametrize(
    "broken", [FixedSize, Contiguous, PoissonSize, Repeats, SkipsTheLast, Epochs]
)
def test_what_is_not_poisson_sampling_is_caught(broken: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        checks.check_poisson_law(broken(Poisson(0.2), 25), np.random.default_rng(0))


def test_a_coin_per_record_passes() -> None:
    """The definition itself, so that the check does not merely like one implementation."""

    class Coins(PoissonSampler):
        def sample(self, rng: np.random.Generator) -> Indices:
            return np.flatnonzero(
                rng.random(self.dataset_size) < self.sampling.sampling_probability
            )

    checks.check_poisson_law(Coins(Poisson(0.2), 25), np.random.default_rng(0))


@pytest.mark.parametrize("wrong", ["a step short", "half the noise", "other sampling"])
def test_a_ledger_of_something_else_is_caught(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lying(PoissonSampler):
        def event(self, noise_multiplier: float, steps: int) -> Any:
            if wrong == "a step short":
                return super().event(noise_multiplier, max(0, steps - 1))
            if wrong == "half the noise":
                return super().event(noise_multiplier / 2, steps)
            return PoissonSampler(Poisson(0.05), self.dataset_size).event(noise_multiplier, steps)

    monkeypatch.setattr(protocol, "make_sampler", Lying)
    with pytest.raises(AssertionError):
        checks.check_ledger(Dp2RmsProp, 9)


def test_a_second_look_at_the_data_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = protocol.release_mean

    def twice(*args: Any, **kwargs: Any) -> Any:
        honest(*args, **kwargs)
        return honest(*args, **kwargs)

    monkeypatch.setattr(protocol, "release_mean", twice)
    with pytest.raises(AssertionError):
        checks.check_ledger(Dp2RmsProp, 9)


def test_fixed_size_event_does_not_pass_for_poisson() -> None:
    event = make_sampler(WithoutReplacement(40, 4), 40).event(1.0, 3)
    assert not hasattr(event.event, "sampling_probability")
