"""What an argument may be, by its name: the same everywhere, with exceptions by callable."""

from __future__ import annotations

import re

from tests.properties.domains.kinds import (
    ABOVE_ONE_OR_INF,
    AT_LEAST_ONE,
    BELOW_ONE,
    CLOSED_UNIT,
    COUNT,
    COUNT_OR_ZERO,
    FREE,
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INF,
    OPEN_UNIT,
    POSITIVE,
    POSITIVE_OR_INF,
    REAL,
    RNG,
    SEED,
    Kind,
    indices,
    name_of,
    numbers,
    vector,
    whole,
)  # fmt: skip
from tests.properties.domains.listing import Argument

D = 5  # of every vector
N = 40  # records of the small problems

# Of numbers, names and arrays; the usual values fit each other.
NAMES: dict[str, Kind] = {
    # privacy
    "target_epsilon": NOT_NEGATIVE_OR_INF,
    "target_delta": CLOSED_UNIT.at(1e-3),
    "delta": OPEN_UNIT.at(1e-3),
    "epsilon": NOT_NEGATIVE,
    "noise_multiplier": POSITIVE,
    "sampling_probability": CLOSED_UNIT.at(0.1),
    "largest_probability": CLOSED_UNIT.at(0.1),
    "failure_probability": CLOSED_UNIT.at(0.0),
    "largest_copies": COUNT,
    "group_size": whole(1, 1, 1),
    "direction": name_of("both", "remove", "add"),
    "tightness": name_of("fast", "tight"),
    "rho": NOT_NEGATIVE,
    "omega": ABOVE_ONE_OR_INF.at(8.0),
    "confidence": OPEN_UNIT.at(0.95),
    "claimed_epsilon": NOT_NEGATIVE,
    # sizes
    "dataset_size": whole(1, N),
    "batch_size": whole(1, 4),
    "truncated_batch_size": whole(1, 8),
    "draws": whole(1, 64, 64),
    "steps": whole(1, 6, 6),
    "calls": COUNT,
    "count": COUNT_OR_ZERO,
    "delay": whole(1, 2, 1, 2),
    "sgd_steps": whole(1, 2, 1, 2),
    "adaptive_steps": whole(1, 2, 1, 2),
    "dimension": whole(1, D, D),
    "records": whole(1, N, N),
    "n": whole(1, N, N),
    "d": whole(1, D, D),
    "expected_batch_size": POSITIVE.at(4.0),
    "public_batch_size": whole(1, 4),
    "record_every": whole(1, 2),
    "runs": whole(1, 4, 4),
    "trials": whole(1, 200, 200),
    "paths": whole(1, 8, 8),
    "tries": whole(1, 1, 1),
    "parts": whole(1, 2, 1, 2),
    "phases": whole(1, 2, 1, 2),
    "max_calls": whole(1, 50, 50),
    "max_rounds": whole(1, 50, 50),
    "max_accepted": whole(1, 50, 50),
    "calls_per_step": whole(1, 8, 8),
    "refreshes": whole(1, 1, 1),
    "period": whole(1, 3, 3),
    "rank": whole(1, 2, 1, 2),
    "factors": whole(1, 2, 1, 2),
    "schedule_steps": whole(1, 6),
    # runs
    "learning_rate": POSITIVE.at(0.1),
    "adaptive_learning_rate": POSITIVE.at(0.1),
    "clip_norm": POSITIVE_OR_INF,
    "preconditioned_clip_norm": POSITIVE_OR_INF,
    "statistic_clip_norm": POSITIVE,
    "snapshot_noise_multiplier": POSITIVE,
    "histogram_noise_multiplier": POSITIVE,
    "ema": BELOW_ONE.at(0.9),
    "gradient_ema": BELOW_ONE.at(0.9),
    "momentum": BELOW_ONE.at(0.9),
    "damping": POSITIVE.at(1e-3),
    "noise_floor": POSITIVE,
    "exponent": POSITIVE.at(0.5),
    "quantile": OPEN_UNIT.at(0.9),
    "initial_second_moment": NOT_NEGATIVE,
    "noise_variance": NOT_NEGATIVE,
    "noise_std": NOT_NEGATIVE,
    "public_share": OPEN_UNIT.at(0.2),
    # problems
    "threshold": POSITIVE.at(0.1),
    "smoothness": POSITIVE,
    "strong_convexity": POSITIVE.at(0.1),
    "split": name_of("train"),
    # ReSQue
    "accuracy": POSITIVE.at(0.1),
    "relative_accuracy": POSITIVE.at(0.1),
    "radius": POSITIVE,
    "domain_radius": POSITIVE,
    "ball_radius": POSITIVE.at(0.5),
    "smoothing": POSITIVE,
    "lipschitz": POSITIVE,
    "multiplier": POSITIVE,
    "step_size": POSITIVE.at(0.1),
    "drift_factor": POSITIVE.at(1.1),
    "queries": whole(1, 16, 16),
    "order": AT_LEAST_ONE,
    "optimal_value": REAL.at(0.0),
    # randomness
    "seed": SEED,
    "first_seed": SEED,
    "seeds": numbers(SEED, usual=(0, 1)),
    "tune_seeds": numbers(SEED, usual=(2, 3)),
    "rng": RNG,
    # arrays
    "parameters": vector(D, wild=True),
    "preconditioner": vector(D, positive=True, wild=True),
    "x": vector(D),
    "center": vector(D, fill=0.0),
    "start": vector(D, fill=0.0),
    "point": vector(D, fill=0.1),
    "initial_parameters": vector(D),
    "batch": indices(N, empty=True),
    "samples": indices(N),
    # words
    "message": FREE,
    "name": FREE,
    "nearest": FREE,
    "path": FREE,
    "option": FREE,
    "source": FREE,
    "text": FREE,
    "error": OPEN_UNIT.at(1e-3),
    "share": OPEN_UNIT.at(0.2),
}

_PLAIN = re.compile(r"(float|int|str|Any|Array|ArrayLike|IndexArray|None|np\.random\.Generator"
                    r"|Sequence|Iterable|tuple|Literal\[.*\]|\.\.\.|[\[\], |])+")  # fmt: skip
_FREE = ("bool", "bool | None")


def is_plain(annotation: str) -> bool:
    """Whether an argument is made of numbers, words and arrays, not of own objects."""
    return not annotation or bool(_PLAIN.fullmatch(annotation))


def kind_of(argument: Argument, exceptions: dict[str, Kind]) -> Kind | None:
    """The kind of an argument; None if it is an object, or a number that nobody has decided on."""
    found = exceptions.get(argument.name)
    if found is None and argument.annotation in _FREE:
        found = FREE
    if found is None and is_plain(argument.annotation):
        found = NAMES.get(argument.name)
        if argument.annotation == "np.random.Generator":
            found = None
    if found is None:
        return None
    optional = "None" in argument.annotation or argument.default is None
    return found.or_none() if optional and found.outside is not None else found
