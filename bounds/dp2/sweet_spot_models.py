"""Parameters to try the theorems on the sweet spot with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bounds.dp2.symbols import C2, C, R, c1, c2, chi, eps, nu1, nu2
from bounds.model import Model
from bounds.symbols import T, d

_TRIES = 100


def certified_models(rng: np.random.Generator) -> Iterator[Model]:
    """Parameters of the certified bound over several decades, for two coordinates.

    Terms of very different size are what makes a wrong exponent or factor show.
    """
    for seed in range(_TRIES):
        sizes = 10.0 ** rng.uniform(-3, 3, 9)
        values = dict(zip((chi, nu1, nu2, C, C2, eps, c1, c2, R), sizes, strict=True))
        values |= {T: int(rng.integers(1, 2000)), d: 2}
        yield Model(values, {"m": 10.0 ** rng.uniform(-3, 1, 2)}, seed=seed)
