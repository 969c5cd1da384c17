"""Seeds that nobody picked: numbers read off the SHA-256 of a text, by default the version.

Whoever wants other seeds gives another text. Each purpose has a hash of its own, so that asking
for more seeds of one kind changes none of another.
"""

from __future__ import annotations

import hashlib
from typing import Any

from accountants.validation import shown
from dp2theory import __version__
from dp2theory.problems.validation import whole_number

#: Seeds stay below this: exact as doubles, and so in JSON everywhere.
SEED_LIMIT = 2**53


def derived_seeds(purpose: str, count: int, *, text: str | None = None) -> tuple[int, ...]:
    """Return `count` distinct seeds for a purpose.

    Parameters
    ----------
    purpose : str
        What they are for: "tuning", "evaluation", …
    count : int
        How many, >= 1. Fewer are the first of more.
    text : str, optional
        Text they are derived from; the version of the package if None.

    Returns
    -------
    tuple of int
        In [0, 2^53): seed k is read off sha256("text/purpose/k"), skipping repeats.
    """
    count = whole_number("count", count)
    source = __version__ if text is None else text
    given: dict[str, Any] = {"text": source, "purpose": purpose}
    for name, value in given.items():
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name}={shown(value)} must be a text that is not empty")
    seeds: dict[int, None] = {}
    k = 0
    while len(seeds) < count:
        digest = hashlib.sha256(f"{source}/{purpose}/{k}".encode()).digest()
        seeds[int.from_bytes(digest[:8], "big") % SEED_LIMIT] = None
        k += 1
    return tuple(seeds)
