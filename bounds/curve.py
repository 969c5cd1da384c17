"""The points of the picture on a theorem's page."""

from __future__ import annotations

from typing import Any

from bounds import glossary
from bounds.describe import parameters_of, plain_numbers
from bounds.theorem import Theorem


def curve_points(theorem: Theorem) -> dict[str, Any]:
    """Evaluate what a theorem's `curve` draws.

    Parameters
    ----------
    theorem : Theorem

    Returns
    -------
    dict
        ``id``, ``title``, ``kind``, ``along`` (a parameter's name), ``along_unit``, ``values``,
        ``series`` (name to list), ``fixed`` (parameter to value), ``log_x``, ``log_y``.

    Raises
    ------
    ValueError
        If the theorem has no curve, or one that names a parameter or an evaluation which is not
        there.
    """
    curve = theorem.curve
    if curve is None:
        raise ValueError(f"theorem {theorem.id} has no curve")
    if curve.along in curve.fixed:
        raise ValueError(f"along = {curve.along!r} of {theorem.id} is fixed as well")
    parameters = {each.parameter: each for each in glossary.entries().values()}
    if curve.along not in parameters:
        raise ValueError(f"along = {curve.along!r} of {theorem.id} is no parameter of the glossary")
    taken = {name: set(parameters_of(theorem.evaluations.get(name, 0))) for name in curve.names}
    unused = {curve.along, *curve.fixed} - set().union(*taken.values())
    if unused:
        raise ValueError(f"fixed = {sorted(unused)} of {theorem.id} is taken by no evaluation here")
    series = {}
    for name in curve.names:
        # An evaluation that does not take the parameter is a level to compare with.
        given = {key: value for key, value in curve.fixed.items() if key in taken[name]}
        series[name] = [
            float(theorem.evaluate(name, **{**given, curve.along: each}))
            if curve.along in taken[name]
            else float(theorem.evaluate(name, **given))
            for each in curve.values
        ]
    return {
        "id": theorem.id,
        "title": theorem.title,
        "kind": str(theorem.kind),
        "along": curve.along,
        "along_unit": parameters[curve.along].unit,
        "values": plain_numbers(curve.values),
        "series": series,
        "fixed": {name: plain_numbers(value) for name, value in curve.fixed.items()},
        "log_x": curve.log_x,
        "log_y": curve.log_y,
    }
