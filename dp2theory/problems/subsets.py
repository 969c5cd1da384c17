"""Some of a problem's train records as a problem of their own, for models on fixed rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from dp2theory.problems.protocol import Constants, IndexArray, check_subset

if TYPE_CHECKING:
    from dp2theory.problems.linear import LinearProblem
    from dp2theory.problems.multi_output import MultiOutputProblem

#: Problems on rows, of which a subset is one of the same kind.
ProblemT = TypeVar("ProblemT", "LinearProblem", "MultiOutputProblem")


def subset_of_rows(problem: ProblemT, records: IndexArray, *, with_test: bool) -> ProblemT:
    """Return the problem of these train records alone (see `public.Divisible`).

    Parameters
    ----------
    problem : LinearProblem or MultiOutputProblem
    records : ndarray of int
        Train records that stay, in this order.
    with_test : bool
        Whether the test split stays.
    """
    chosen = check_subset(records, problem.dataset_size)
    others = [split for split in problem.rows if split != "train" and with_test]
    return replace(
        problem,
        rows={"train": problem.rows["train"].subset(chosen)}
        | {split: problem.rows[split] for split in others},
        targets={"train": problem.targets["train"][chosen]}
        | {split: problem.targets[split] for split in others},
        # The others belong to the whole set: its minimiser, its mean.
        constants=Constants(lipschitz=problem.constants.lipschitz),
    )
