"""Private optimizers with one fault each, which an audit has to find.

A fault is in what is executed: in the release, in the sampler, in the optimizer, or in the ledger.
The rest is the real code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from dp2theory.optimizers import batches, protocol
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.ledger import Ledger
from dp2theory.optimizers.steps import Optimizer, OptimizerState, Query
from dp2theory.optimizers.variants import Dp2RmsPropExtraNoise
from dp2theory.problems.protocol import Array, IndexArray, Problem

SETTINGS: dict[str, Any] = {
    "learning_rate": 0.1,
    "clip_norm": 1.0,
    "adaptive_learning_rate": 0.1,
    "preconditioned_clip_norm": 4.0,
    "delay": 1,
}


def dp2(problem: Problem, *, noise_multiplier: float) -> Optimizer:
    """The right optimizer."""
    return Dp2RmsProp(noise_multiplier=noise_multiplier, **SETTINGS)


def extra_noise(problem: Problem, *, noise_multiplier: float) -> Optimizer:
    """Ablation 1: two releases on one batch."""
    return Dp2RmsPropExtraNoise(noise_multiplier=noise_multiplier, **SETTINGS)


class FedRawGradients(Dp2RmsProp):
    """Learns its preconditioner from the exact mean gradient of all records."""

    problem: Problem

    def apply(
        self, parameters: Array, state: OptimizerState, released: Array
    ) -> tuple[Array, OptimizerState]:
        moved, new = super().apply(parameters, state, released)
        if not self.phases.ends_sgd(state.step):
            return moved, new
        n = self.problem.dataset_size
        raw = self.problem.clipped_gradient_sum(parameters, np.arange(n), clip_norm=np.inf) / n
        moment = self.ema * state.arrays["second_moment"] + (1 - self.ema) * raw**2
        renewed = {"second_moment": moment, "preconditioner": np.sqrt(moment) + self.damping}
        return moved, OptimizerState(new.step, {**new.arrays, **renewed})


def fed_raw_gradients(problem: Problem, *, noise_multiplier: float) -> Optimizer:
    optimizer = FedRawGradients(noise_multiplier=noise_multiplier, **SETTINGS)
    object.__setattr__(optimizer, "problem", problem)
    return optimizer


Scale = Callable[[Query], float]
Divide = Callable[[Problem, IndexArray, float], float]


def asked(query: Query) -> float:
    return query.noise_multiplier * query.clip_norm


def public(problem: Problem, batch: IndexArray, expected: float) -> float:
    return expected


@contextmanager
def release(scale: Scale = asked, divide: Divide = public) -> Iterator[None]:
    """The release with another noise or another divisor."""

    def wrong(
        problem: Problem, parameters: Array, batch: IndexArray, query: Query, *,
        expected_batch_size: float, rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        total = problem.clipped_gradient_sum(
            parameters, batch, clip_norm=query.clip_norm, preconditioner=query.preconditioner
        )
        noisy = total + scale(query) * rng.standard_normal(total.size)
        return np.asarray(noisy / divide(problem, batch, expected_batch_size))

    with mock.patch.object(protocol, "release_mean", wrong):
        yield


@contextmanager
def every_record() -> Iterator[None]:
    """Every batch is the whole data set, and is accounted as a sampled one."""

    def sample(self: Any, rng: np.random.Generator) -> IndexArray:
        return np.arange(self.dataset_size)

    with mock.patch.object(batches.PoissonSampler, "sample", sample):
        yield


@contextmanager
def first_release_only() -> Iterator[None]:
    """The ledger counts one release for each batch."""
    honest = Ledger.add

    def add(self: Ledger, query: Query) -> None:
        if query.records != "same-batch":
            honest(self, query)

    with mock.patch.object(Ledger, "add", add):
        yield


@contextmanager
def one_noise_for_all() -> Iterator[None]:
    """The same normals are added at every step of a run."""
    honest = protocol.run

    class Repeating:
        """A generator whose normals are drawn once."""

        def __init__(self, rng: np.random.Generator) -> None:
            self.rng, self.drawn = rng, dict[Any, Array]()
            self.bit_generator = rng.bit_generator

        def standard_normal(self, shape: Any) -> Array:
            if shape not in self.drawn:
                self.drawn[shape] = np.asarray(self.rng.standard_normal(shape))
            return self.drawn[shape].copy()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.rng, name)

    from dp2theory.verification import trials

    def run(*args: Any, rng: Any, **kwargs: Any) -> Any:
        with mock.patch.object(protocol, "make_generator", lambda given: (Repeating(given), None)):
            return honest(*args, rng=rng, **kwargs)

    with mock.patch.object(trials, "run", run):
        yield


@dataclass(frozen=True)
class Fault:
    """What is wrong, and a setting in which an audit can see it.

    Attributes
    ----------
    name : str
    inject : callable
        Context in which the fault is there.
    make : callable
    relations : tuple of str
        Relations under which it is a violation.
    """

    name: str
    inject: Callable[[], AbstractContextManager[None]]
    make: Callable[..., Optimizer] = dp2
    relations: Sequence[str] = ("add-or-remove-one", "replace-one")


def _adaptive(query: Query) -> bool:
    return query.preconditioner is not None


FAULTS = [
    Fault(
        "noise left out in the adaptive phases",
        lambda: release(lambda query: 0.0 if _adaptive(query) else asked(query)),
    ),
    Fault(
        "noise left out in the SGD phases",
        lambda: release(lambda query: asked(query) if _adaptive(query) else 0.0),
    ),
    Fault(
        "noise scaled by the clip norm of the other phase",
        lambda: release(lambda query: query.noise_multiplier * SETTINGS["clip_norm"]),
    ),
    Fault(
        "half the noise",
        lambda: release(lambda query: 0.5 * asked(query)),
    ),
    Fault(
        "divisor is the size of the batch",
        lambda: release(divide=lambda problem, batch, expected: max(1.0, batch.size)),
        relations=("add-or-remove-one",),
    ),
    Fault(
        "divisor is made from the size of the data set",
        lambda: release(divide=lambda problem, batch, expected: 0.5 * problem.dataset_size),
        relations=("add-or-remove-one",),
    ),
    Fault("preconditioner fed with raw gradients", nullcontext, fed_raw_gradients),
    Fault("ablation 1 accounted as DP-SGD", first_release_only, extra_noise),
    Fault("every record in every batch", every_record),
    # Under replace-one at q = 1/2 a batch with the record looks like one without the other.
    Fault("one noise for all steps", one_noise_for_all, relations=("add-or-remove-one",)),
]
