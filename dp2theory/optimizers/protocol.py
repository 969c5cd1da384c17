"""`run`: drive an optimizer over a problem and return what was done, with its ledger."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dp2theory.optimizers.batches import make_sampler
from dp2theory.optimizers.clipping import release_mean
from dp2theory.optimizers.ledger import Ledger
from dp2theory.optimizers.results import DivergedRun as DivergedRun
from dp2theory.optimizers.results import InterruptedRun as InterruptedRun
from dp2theory.optimizers.results import RunResult as RunResult
from dp2theory.optimizers.steps import Optimizer, OptimizerState
from dp2theory.problems.protocol import Array, IndexArray, Problem, check_parameters
from dp2theory.problems.validation import positive_real, whole_number

if TYPE_CHECKING:
    from accountants.sampling import Sampling


def make_generator(rng: np.random.Generator | int) -> tuple[np.random.Generator, int | None]:
    """Return a generator, and the seed if one was given.

    A seed starts SFC64: its normals cost two thirds of PCG64's, and noise is the largest part
    of a step. Neither is a cryptographic source (see `release_mean`).
    """
    if isinstance(rng, np.random.Generator):
        return rng, None
    seed = whole_number("rng", rng, minimum=0)
    return np.random.Generator(np.random.SFC64(seed)), seed


def run(
    optimizer: Optimizer,
    problem: Problem,
    *,
    sampling: Sampling,
    steps: int,
    rng: np.random.Generator | int,
    initial_parameters: Array | None = None,
    initial_state: OptimizerState | None = None,
    start_step: int = 0,
    expected_batch_size: float | None = None,
    record_every: int | None = None,
    on_step: Callable[[int], None] | None = None,
    on_release: Callable[[int, Array], None] | None = None,
) -> RunResult:
    """Run `steps` steps and return the last iterate with the ledger of what was executed.

    Parameters
    ----------
    optimizer : Optimizer
        A configuration such as `dp2theory.optimizers.sgd.DpSgd`.
    problem : Problem
    sampling : Poisson, WithoutReplacement or WithReplacement
        How batches are drawn; sums are divided by its public expected batch size.
    steps : int
        Number of steps to take, >= 0.
    rng : numpy.random.Generator or int
        Drawn from in this order: initial parameters (if not given), then per release the
        batch (where a new one is asked for) and the noise. Two runs with equal seeds and
        arguments agree bit for bit, and two private optimizers with equal seeds meet the same
        batches and the same normals as long as they make the same kinds of releases.
    initial_parameters : ndarray, shape (dimension,), optional
        Where to start; the problem's own start if None.
    initial_state : OptimizerState, optional
        State to continue from, phase counter included; a fresh one if None, in which case
        phases count from the first step of this call.
    start_step : int
        Number of the first step, for `loss_steps` and the callbacks; it does not shift phases.
    expected_batch_size : float, optional
        Public divisor of the noisy sums. By default it is that of the sampling; for Poisson
        sampling this is the probability times the number of records, which makes that number
        public: where adding a record is to be hidden, give a round figure instead.
    record_every : int, optional
        Record the train loss before the first step, after every so many, and after the last.
    on_step : callable, optional
        Called with the step number after each step.
    on_release : callable, optional
        Called with the step number and each release (the noisy mean gradient, preconditioned
        in adaptive phases) before it is applied; it must not be written to.

    Returns
    -------
    RunResult

    Raises
    ------
    ValueError
        For values outside their domain, naming the argument.
    InterruptedRun
        On KeyboardInterrupt inside the loop, with the partial result.
    DivergedRun
        When a released gradient or the last iterate is not finite, with the partial result.

    Notes
    -----
    A private step costs the d normals of its noise, which nothing here avoids, the entries of
    the batch, and a few passes over d coordinates; ``benchmarks/optimizer_step.py`` measures
    how much that is in units of the normals. Recording losses costs a pass over the data each.
    """
    sampler = make_sampler(sampling, problem.dataset_size)
    steps = whole_number("steps", steps, minimum=0)
    start_step = whole_number("start_step", start_step, minimum=0)
    divisor = sampler.expected_batch_size
    if expected_batch_size is not None:
        divisor = positive_real("expected_batch_size", expected_batch_size)
    check_divisor(optimizer, divisor)
    if record_every is not None:
        record_every = whole_number("record_every", record_every)
    generator, seed = make_generator(rng)
    start = start_parameters(problem, initial_parameters, generator)
    # One tuple, so that an interrupt cannot leave parameters and state of different steps.
    iterate = start, _start_state(optimizer, problem.dimension, initial_state)

    loss_steps: list[int] = []
    losses: list[float] = []
    started_steps = 0
    ledger = Ledger(sampler)
    first_step = iterate[1].step
    batch: IndexArray | None = None
    everybody = np.arange(problem.dataset_size)

    def record(step: int) -> None:
        # The loss is computed first, so that an interrupt leaves the two lists of one length.
        loss = problem.loss(iterate[0])
        loss_steps.append(step)
        losses.append(loss)

    def result(completed: bool) -> RunResult:
        return RunResult(
            problem=problem.name,
            optimizer=optimizer,
            sampling=sampling,
            parameters=iterate[0],
            state=iterate[1],
            steps=started_steps,
            start_step=start_step,
            final_loss=problem.loss(iterate[0]),
            loss_steps=np.asarray(loss_steps[: len(losses)], dtype=np.int64),
            losses=np.asarray(losses, dtype=np.float64),
            ledger=ledger.event(optimizer.noise_multiplier),
            seed=seed,
            bit_generator=type(generator.bit_generator).__name__,
            completed=completed,
        )

    # Overflow is not a warning here: it ends in DivergedRun or in an infinite loss.
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            if record_every is not None:
                record(start_step)
            while (done := iterate[1].step - first_step) < steps:
                parameters, state = iterate
                query = optimizer.query(state)
                if query.records == "new-batch":
                    batch = sampler.sample(generator)
                whole = query.records == "all"
                released = release_mean(
                    problem,
                    parameters,
                    everybody if whole or batch is None else batch,
                    query,
                    expected_batch_size=1.0 if whole else divisor,
                    rng=generator,
                )
                # Counted before anybody sees it: an interrupt must not lose a release.
                ledger.add(query)
                started_steps += query.records == "new-batch"
                # A sum is finite only if all entries are, and is cheaper than a test of each.
                if not math.isfinite(released.sum()):
                    raise DivergedRun(result(completed=False))
                t = start_step + done
                if on_release is not None:
                    on_release(t, released)
                iterate = optimizer.apply(parameters, state, released)
                if iterate[1].step == state.step:
                    continue
                done += 1
                if record_every is not None and (done % record_every == 0 or done == steps):
                    record(t + 1)
                if on_step is not None:
                    on_step(t)
            # An iterate that left the doubles shows in the next release, if there is one.
            if not np.isfinite(iterate[0]).all():
                raise DivergedRun(result(completed=False))
            return result(completed=True)  # in here, since its loss takes a while as well
        except KeyboardInterrupt:
            raise InterruptedRun(result(completed=False)) from None


def check_divisor(optimizer: Optimizer, expected: float) -> None:
    """Refuse an optimizer that reckons with the noise of means over batches of another size."""
    assumed = getattr(optimizer, "expected_batch_size", None)
    if assumed is not None and not math.isclose(assumed, expected, rel_tol=1e-9):
        raise ValueError(
            f"expected_batch_size={assumed!r} of {optimizer.name} must be {expected!r}, the "
            "divisor of the sums of this sampling"
        )


def start_parameters(problem: Problem, given: Array | None, rng: np.random.Generator) -> Array:
    """Return where a run starts: a copy of what was given, or the problem's own start."""
    if given is None:
        return problem.initial_parameters(rng)
    start = check_parameters(given, problem.dimension, "initial_parameters")
    if not np.all(np.isfinite(start)):
        raise ValueError("initial_parameters holds NaN or infinity, every entry must be finite")
    return start.copy()


def _start_state(
    optimizer: Optimizer, dimension: int, given: OptimizerState | None
) -> OptimizerState:
    fresh = optimizer.initial_state(dimension)
    if given is None:
        return fresh
    whole_number("initial_state.step", given.step, minimum=0)
    if given.stage:
        raise ValueError(
            f"initial_state.stage={given.stage!r} must be 0: its batch was not kept, and a step "
            "goes on with the batch that it began with"
        )
    for kind in ("arrays", "numbers"):
        held, needed = set(getattr(given, kind)), set(getattr(fresh, kind))
        if held != needed:
            raise ValueError(
                f"initial_state holds {sorted(held)}, {optimizer.name} needs {sorted(needed)}"
            )
    for name, array in given.arrays.items():
        if np.shape(array) != (dimension,) or not np.all(np.isfinite(array)):
            raise ValueError(
                f"initial_state[{name!r}] of shape {np.shape(array)!r} must be finite and of "
                f"shape ({dimension},)"
            )
    return given
