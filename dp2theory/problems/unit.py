"""The unit of privacy: what a single record is, in words.

An ε protects one unit. Where a person has several records it does not protect the person, and
every output says so (docs/privacy-model.md).
"""

from __future__ import annotations

#: What a record is where a problem does not say.
DEFAULT_UNIT = "a record"


def unit_of(problem: object | None) -> str:
    """Return a problem's ``unit``, for example "a rating, not a user"; "a record" without one.

    Parameters
    ----------
    problem : Problem or None
        Also problems of others, which may know nothing of units.

    Raises
    ------
    ValueError
        If the problem's unit is not a text, or an empty one.
    """
    unit = getattr(problem, "unit", DEFAULT_UNIT)
    if not isinstance(unit, str) or not unit.strip():
        raise ValueError(
            f"unit={unit!r} of {problem!r:.60} must be a text such as {DEFAULT_UNIT!r}"
        )
    return unit
