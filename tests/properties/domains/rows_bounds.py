"""What is said of the callables of `bounds` one by one."""

from __future__ import annotations

from bounds.catalogue import theorems
from bounds.dp2.certified_inputs import MODES
from bounds.dp2.phi import EXPONENTS, Tradeoff
from tests.properties.domains.calls import Row
from tests.properties.domains.kinds import (
    NOT_NEGATIVE,
    POSITIVE,
    Kind,
    name_of,
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


ROWS = {
    "bounds.catalogue.theorem": Row(kinds=ID),
    "bounds.catalogue.file_of": Row(kinds=ID),
    "bounds.dp2.certified_inputs.Inputs": Row(
        given={"staleness_intercept": lambda: 1.0, "staleness_slope": lambda: 1.0},
        kinds={
            "mean_gradient": vector(D),
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
    "bounds.dp2.phi.Tradeoff.best_delay": Row(kinds={"exponent": name_of(*EXPONENTS)}),
    "bounds.dp2.phi.Tradeoff.log_over_delays": Row(kinds={"exponent": name_of(*EXPONENTS)}),
}
