"""What is asked for with a ReSQue figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dp2theory.experiments.figures.bench import Progress
from dp2theory.experiments.figures.request import mapped
from dp2theory.problems.validation import whole_number, whole_numbers

#: What a piece of work gives.
T = TypeVar("T")

#: d of the rates, where no other is given.
DIMENSION = 10_000


@dataclass(frozen=True)
class ResqueRequest:
    """The inputs of a figure.

    Attributes
    ----------
    seeds : tuple of int
        Seeds of the runs, where a figure makes runs with random numbers.
    dimension : int
        d at which rates are evaluated; runs have dimensions of their own.
    executor : concurrent.futures.Executor or None
        Where runs are made; the result does not depend on it.
    progress : callable or None
        Called with what is going on, what is done and how much there is in all.
    sizes : mapping
        Sizes of the runs in place of the figure's own (its module's ``SIZES``).
    """

    seeds: tuple[int, ...] = (0,)
    dimension: int = DIMENSION
    executor: Executor | None = None
    progress: Progress | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole_numbers("seeds", self.seeds, minimum=0)
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds={self.seeds!r} must hold one or more distinct values")
        if whole_number("dimension", self.dimension) < 2:
            raise ValueError(
                f"dimension={self.dimension!r}: must be at least 2, or there is no window "
                "[1/d, d^(-1/4)]"
            )

    def sized(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """The figure's own sizes, with those that were given in their place."""
        unknown = sorted(set(self.sizes) - set(own))
        if unknown:
            raise ValueError(f"sizes={unknown!r}: must be among {', '.join(own)}")
        return {**own, **self.sizes}

    def counting(self, description: str) -> Callable[[int, int], None] | None:
        """A callback that tells how much of one kind of work is done."""
        tell = self.progress
        return None if tell is None else lambda done, total: tell(description, done, total)

    def map(self, description: str, function: Callable[..., T], items: Sequence[Any]) -> list[T]:
        """`function(*item)` for each item, in their order, on the executor.

        Parameters
        ----------
        description : str
            What is going on.
        function : callable
            At the top of a module, so that a process can be told of it.
        items : sequence of tuple
        """
        return mapped(self.executor, self.progress, description, function, items)
