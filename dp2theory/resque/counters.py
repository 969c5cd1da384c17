"""What a run asks of its function: oracle calls, parallel rounds, steps in sequence, queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from dp2theory.problems.validation import whole_number


class RoundError(RuntimeError):
    """A subproblem asked for another number of parallel rounds than one."""


@dataclass(frozen=True)
class Counts:
    """Totals of a run.

    Attributes
    ----------
    oracle_calls : int
        Subproblems solved, those of a search that were thrown away included.
    query_depth : int
        Parallel rounds of gradient queries, one after the other.
    computational_depth : int
        Steps that need the one before, queries or none.
    queries : int
        Gradients asked for in all.
    """

    oracle_calls: int = 0
    query_depth: int = 0
    computational_depth: int = 0
    queries: int = 0

    def to_json(self) -> dict[str, int]:
        """The totals by name."""
        return asdict(self)


class Counter:
    """Counts while an algorithm runs, and holds every subproblem to one parallel round."""

    def __init__(self) -> None:
        self._oracle_calls = 0
        self._query_depth = 0
        self._computational_depth = 0
        self._queries = 0
        self._inside: int | None = None

    @property
    def oracle_calls(self) -> int:
        """Subproblems begun so far."""
        return self._oracle_calls

    @property
    def query_depth(self) -> int:
        """Parallel rounds so far."""
        return self._query_depth

    @property
    def computational_depth(self) -> int:
        """Sequential steps so far."""
        return self._computational_depth

    @property
    def queries(self) -> int:
        """Gradients asked for so far."""
        return self._queries

    def snapshot(self) -> Counts:
        """The totals as they stand."""
        return Counts(
            self._oracle_calls, self._query_depth, self._computational_depth, self._queries
        )

    def round(self, queries: int) -> None:
        """Count one parallel round of so many queries.

        Raises
        ------
        RoundError
            If it is the second one of a subproblem.
        ValueError
            If `queries` is not a whole number >= 0.
        """
        queries = whole_number("queries", queries, minimum=0)
        if self._inside is not None:
            self._inside += 1
            if self._inside > 1:
                raise RoundError("a subproblem asked for a second parallel round, must ask for one")
        self._query_depth += 1
        self._queries += queries

    def steps(self, number: int) -> None:
        """Count steps of computation of which each needs the one before."""
        self._computational_depth += whole_number("number", number, minimum=0)

    @contextmanager
    def subproblem(self) -> Iterator[None]:
        """One oracle call; inside it there must be exactly one parallel round.

        Raises
        ------
        RoundError
            If there is none, a second one, or a subproblem inside a subproblem.
        """
        if self._inside is not None:
            raise RoundError("a subproblem was begun inside another one")
        self._oracle_calls += 1
        self._inside = 0
        try:
            yield
            if self._inside != 1:
                raise RoundError("a subproblem ended without a parallel round, must ask for one")
        finally:
            self._inside = None

    def exact_call(self) -> None:
        """Count a call of an exact oracle: one round of one query, one step."""
        with self.subproblem():
            self.round(1)
        self.steps(1)
