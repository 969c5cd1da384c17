"""The points of the picture on a theorem's page."""

from __future__ import annotations

from typing import Any

import numpy as np

from bounds import glossary
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
    values = np.asarray(curve.values)
    series = {
        name: [
            float(theorem.evaluate(name, **{**curve.fixed, curve.along: value.item()}))
            for value in values
        ]
        for name in curve.names
    }
    return {
        "id": theorem.id,
        "title": theorem.title,
        "kind": str(theorem.kind),
        "along": curve.along,
        "along_unit": parameters[curve.along].unit,
        "values": values.tolist(),
        "series": series,
        "fixed": {name: np.asarray(value).tolist() for name, value in curve.fixed.items()},
        "log_x": curve.log_x,
        "log_y": curve.log_y,
    }
