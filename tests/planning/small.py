"""A small problem and budget that the tests of this folder share."""

from functools import lru_cache

from dp2theory.planning.budget import Budget
from dp2theory.problems.synthetic import het


@lru_cache(maxsize=1)
def small_problem():
    return het(1500, 20, 1 / 10, 4, 7, name="small")


def small_budget(**changes):
    fields = {
        "dataset_size": 1500,
        "batch_size": 100,
        "steps": 160,
        "target_epsilon": 3.0,
        "target_delta": 1e-4,
    }
    return Budget(**(fields | changes))


SIGMA = 1.3  # of the order of what `small_budget` allows; most tests need no calibrated one
