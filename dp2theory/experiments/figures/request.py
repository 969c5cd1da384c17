"""What is asked for with a figure, and the parts of a result that all figures share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from dp2theory.experiments.figures.bench import Bench, Progress
from dp2theory.experiments.figures.result import Data, FigureResult, Verdict
from dp2theory.experiments.tasks import WorkerError
from dp2theory.optimizers.defaults import default_delay
from dp2theory.optimizers.tuning import tuning_seeds
from dp2theory.problems.unit import unit_of
from dp2theory.problems.validation import positive_real, whole_number, whole_numbers

if TYPE_CHECKING:
    from dp2theory.experiments.settings import Setting
    from dp2theory.experiments.tasks import ResultStore

#: What a piece of work gives.
T = TypeVar("T")

#: Seeds that are shown.
SEEDS = 8
#: Other seeds, to tune on.
TUNE_SEEDS = 6


def mapped(
    executor: Executor | None,
    progress: Progress | None,
    description: str,
    function: Callable[..., T],
    items: Sequence[Any],
) -> list[T]:
    """`function(*item)` for each item, in their order; see `FigureRequest.map`."""
    count = len(items)

    def tell(done: int) -> None:
        if progress is not None:
            progress(description, done, count)

    tell(0)
    if executor is None:
        made = []
        for item in items:
            made.append(function(*item))
            tell(len(made))
        return made
    futures: list[Future[T]] = [executor.submit(function, *item) for item in items]
    try:
        for done, _ in enumerate(as_completed(futures), start=1):
            tell(done)
        return [future.result() for future in futures]
    except BrokenExecutor as error:
        raise WorkerError(f"a worker process died (out of memory?): {error}") from error
    finally:
        for future in futures:
            future.cancel()


@dataclass(frozen=True)
class FigureRequest:
    """The inputs of a figure.

    Attributes
    ----------
    setting : Setting
    seeds : tuple of int
        Seeds of the runs that are shown.
    tune_seeds : tuple of int
        Seeds that configurations are chosen on; none of `seeds`.
    delays : tuple of int or None
        Delays s, for the figures that vary it (several) or hold it (the first); the figure's own
        if None.
    epsilons : tuple of float or None
        Budgets of the figure that varies them.
    executor : concurrent.futures.Executor or None
        Where runs are made; the result does not depend on it.
    store : ResultStore or None
        Keeps tuned runs; what it holds is not run again.
    progress : callable or None
        Called with what is going on, the runs done and the runs in all.
    """

    setting: Setting
    seeds: tuple[int, ...] = tuple(range(SEEDS))
    tune_seeds: tuple[int, ...] = field(default_factory=lambda: tuning_seeds(TUNE_SEEDS))
    delays: tuple[int, ...] | None = None
    epsilons: tuple[float, ...] | None = None
    executor: Executor | None = None
    store: ResultStore | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        steps = self.setting.run_steps
        whole_numbers("seeds", self.seeds, minimum=0)
        whole_numbers("tune_seeds", self.tune_seeds, minimum=0)
        if self.delays is not None:
            whole_numbers("delays", self.delays)
        if self.epsilons is not None:
            if not isinstance(self.epsilons, Iterable):
                raise ValueError(f"epsilons={self.epsilons!r} must be numbers > 0")
            for epsilon in self.epsilons:
                positive_real("epsilons", epsilon)
        for name, values in (("delays", self.delays), ("epsilons", self.epsilons)):
            if values is not None and (not values or len(set(values)) < len(values)):
                raise ValueError(f"{name}={values!r} must hold one or more distinct values")
        for delay in self.delays or ():
            if whole_number("delays", delay) > steps - 1:
                raise ValueError(
                    f"delays={delay!r} must be below the {steps} steps of a run: no adaptive phase "
                    "would begin"
                )

    def bench(self) -> Bench:
        """Where tuned methods are compared."""
        return Bench(
            self.setting, self.seeds, self.tune_seeds, self.executor, self.store, self.progress
        )

    def on(self, **changes: Any) -> FigureRequest:
        """This request on a setting with some fields changed."""
        return replace(self, setting=replace(self.setting, **changes))

    def delay_or_default(self) -> int:
        """The first delay that was given, or T // 40."""
        return self.delays[0] if self.delays else default_delay(self.setting.run_steps)

    def delays_or(self, default: Sequence[int]) -> list[int]:
        """The delays that were given, or those of `default` that leave an adaptive step.

        Raises
        ------
        ValueError
            When none does.
        """
        steps = self.setting.run_steps
        delays = sorted({delay for delay in self.delays or default if delay < steps})
        if not delays:
            raise ValueError(f"steps={steps!r}: must be at least 2, or no adaptive phase begins")
        return delays

    def map(self, description: str, function: Callable[..., T], items: Sequence[Any]) -> list[T]:
        """`function(*item)` for each item, in their order, on the executor.

        Parameters
        ----------
        description : str
            What is going on.
        function : callable
            At the top of a module, so that a process can be told of it.
        items : sequence of tuple

        Raises
        ------
        WorkerError
            When a worker process died.
        """
        return mapped(self.executor, self.progress, description, function, items)

    def result(
        self,
        figure: str,
        title: str,
        verdict: Verdict,
        data: Data,
        notes: Sequence[str],
        *,
        tuned: bool,
    ) -> FigureResult:
        """Put a result together.

        Parameters
        ----------
        figure, title : str
        verdict : Verdict
        data : Data
        notes : sequence of str
        tuned : bool
            Whether the tuning seeds were used.
        """
        problem = self.setting.load()
        return FigureResult(
            figure=figure,
            title=title,
            problem={
                "name": self.setting.problem,
                "dataset_size": problem.dataset_size,
                "dimension": problem.dimension,
                "unit_of_privacy": unit_of(problem),
                "steps": self.setting.run_steps,
                "delta": self.setting.delta,
                "relation": self.setting.resolved_relation,
            },
            setting=self.setting.to_json(),
            seeds={
                "evaluation": list(self.seeds),
                "tuning": list(self.tune_seeds) if tuned else [],
            },
            verdict=verdict,
            data=data,
            notes=tuple(notes),
        )
