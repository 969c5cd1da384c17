"""What is said of the callables of `bounds` one by one."""

from __future__ import annotations

import numpy as np
import sympy

from bounds.catalogue import theorem, theorems
from bounds.dp2.certified import BRANCHES
from bounds.dp2.certified_inputs import MODES, Inputs
from bounds.dp2.phi import EXPONENTS, Tradeoff
from bounds.evaluate import BACKENDS
from bounds.theorem import Theorem
from tests.properties.domains.calls import Row
from tests.properties.domains.kinds import (
    BEYOND,
    FREE,
    NOT_NEGATIVE,
    POSITIVE,
    REAL,
    Kind,
    name_of,
    numbers,
    vector,
    whole,
)
from tests.properties.domains.names import D

TRADEOFF: dict[str, Kind] = {
    "staleness_intercept": NOT_NEGATIVE,
    "staleness_slope": NOT_NEGATIVE,
    "second_moment_floor": NOT_NEGATIVE,
    "second_moment_noise": NOT_NEGATIVE,
    "damping": POSITIVE,
}
ID = {"id": name_of(next(iter(theorems())))}


def tradeoff() -> Tradeoff:
    """All constants 1."""
    return Tradeoff(1.0, 1.0, 1.0, 1.0, 1.0)


def moment() -> Theorem:
    """The moments of a weight."""
    return theorem("resque.E2")


def inputs() -> Inputs:
    """Of six steps, all constants 1."""
    return Inputs(6, np.ones(D), 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


INPUTS = {"inputs": inputs}
SEARCH = Row(given={"theorem": moment})
DELAY = {"delay": numbers(whole(1, 2, 1, 6), usual=(1, 2), one=True)}
REAL_DELAY = {"delay": numbers(POSITIVE, usual=(1.0, 2.0), one=True)}
ROWS = {
    "bounds.catalogue.theorem": Row(kinds=ID),
    "bounds.catalogue.file_of": Row(kinds=ID),
    "bounds.counterexample.satisfying": SEARCH,
    "bounds.counterexample.search": SEARCH,
    "bounds.dp2.certified.updates": Row(kinds=DELAY),
    "bounds.dp2.certified.adaptive_steps": Row(kinds=DELAY),
    "bounds.dp2.certified.preconditioner_norm": Row(given=INPUTS, kinds=REAL_DELAY),
    "bounds.dp2.certified.gradient_moments": Row(given=INPUTS, kinds={**REAL_DELAY, "norm": FREE}),
    "bounds.dp2.certified.bound": Row(given=INPUTS, kinds={**DELAY, "branch": name_of(*BRANCHES)}),
    "bounds.dp2.certified.dp_sgd_with_staleness": Row(
        given=INPUTS, kinds={"delay": whole(1, 2, 1, 2)}
    ),
    "bounds.dp2.exponent.last_phase": Row(),
    "bounds.dp2.certified_inputs.Inputs": Row(
        given={"staleness_intercept": lambda: 1.0, "staleness_slope": lambda: 1.0},
        kinds={
            "mean_gradient": vector(D).but_shape((D + 1,)),
            "preconditioned_noise_std": NOT_NEGATIVE,
            "gradient_bound": POSITIVE,
            "preconditioned_clip_norm": POSITIVE,
            "diameter": POSITIVE,
            "variation_ratio": NOT_NEGATIVE,
            "mode": name_of(*MODES),
            "staleness_intercept": NOT_NEGATIVE,
            "staleness_slope": NOT_NEGATIVE,
            "repeats": whole(1, 1),
        },
        elsewhere=("staleness_intercept", "staleness_slope"),
    ),
    "bounds.dp2.phi.Tradeoff": Row(kinds=TRADEOFF, owner=tradeoff),
    "bounds.dp2.phi.Tradeoff.base": Row(kinds={"relative_delay": POSITIVE}),
    "bounds.dp2.phi.Tradeoff.log_phi": Row(
        kinds={"relative_delay": numbers(POSITIVE, usual=(0.5,), one=True, empty=True)}
    ),
    "bounds.dp2.phi.Tradeoff.slope": Row(kinds={"x": POSITIVE}),
    "bounds.dp2.phi.Tradeoff.best_delay": Row(kinds={"exponent": name_of(*EXPONENTS)}),
    "bounds.dp2.phi.Tradeoff.log_over_delays": Row(kinds={"exponent": name_of(*EXPONENTS)}),
    "bounds.evaluate.compile": Row(
        given={"expression": lambda: sympy.Symbol("x")},
        kinds={"expression": FREE, "backend": name_of(*BACKENDS)},
    ),
    "bounds.theorem.Theorem.counterexample": Row(owner=moment),
    "bounds.theorem.Theorem.evaluate": Row(
        owner=moment,
        kinds={"name": name_of("bound"), "backend": name_of(*BACKENDS)},
        # a list is an array, and an integer that is no double a number
        keywords={
            "moment": REAL.but([0.5], BEYOND, -BEYOND).but_shape((2,)),
            "shift": NOT_NEGATIVE.but([0.5], BEYOND).but_shape((2,)),
        },
        elsewhere=("moment", "shift"),
    ),
    "bounds.theorem.Theorem.without_assumption": Row(
        owner=moment,
        kinds={"id": name_of(*(each.id for each in moment().assumptions))},
        called={"id": "assumption"},
    ),
    "bounds.theorem.Theorem.without_step": Row(
        owner=moment,
        kinds={"id": name_of(*(each.id for each in moment().steps))},
        called={"id": "step"},
    ),
}
