"""Events in three notations: plain JSON types that any language reads, one line, Python code.

The plain form names what an event *is* and no class of a library::

    {"kind": "self-composed", "count": 1000,
     "event": {"kind": "poisson-sampled", "sampling_probability": 0.01,
               "event": {"kind": "gaussian", "noise_multiplier": 1.0}}}

Parameters are written as they are, also those that no mechanism has (NaN, a probability of 1.5, a
count below 0): a case that shows a fault must survive being written down.
"""

from __future__ import annotations

import collections.abc
import functools
import math
import numbers
import typing
from typing import Any

import attr
import dp_accounting
from dp_accounting import dp_event

from accountants.ledger_trees import Malformed, known_classes

__all__ = ["KINDS", "code", "describe", "event_from_plain", "event_to_plain", "number"]

_DEEPEST = 100
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

#: Event classes of dp_accounting by the names that the notation has for them.
KINDS = {
    "no-op": "NoOpDpEvent",
    "non-private": "NonPrivateDpEvent",
    "unsupported": "UnsupportedDpEvent",
    "gaussian": "GaussianDpEvent",
    "laplace": "LaplaceDpEvent",
    "discrete-laplace": "DiscreteLaplaceDpEvent",
    "randomized-response": "RandomizedResponseDpEvent",
    "zcdp": "ZCDpEvent",
    "mixture-of-gaussians": "MixtureOfGaussiansDpEvent",
    "tree-aggregation": "SingleEpochTreeAggregationDpEvent",
    "poisson-sampled": "PoissonSampledDpEvent",
    "sampled-without-replacement": "SampledWithoutReplacementDpEvent",
    "sampled-with-replacement": "SampledWithReplacementDpEvent",
    "weighted-with-replacement": "WeightedWithReplacementDpEvent",
    "shuffled-epoch": "ShuffledEpochDpEvent",
    "resque-oracle": "ResqueOracleDpEvent",
    "truncated-poisson-gaussian": "TruncatedSubsampledGaussianDpEvent",
    "repeat-and-select": "RepeatAndSelectDpEvent",
    "self-composed": "SelfComposedDpEvent",
    "composed": "ComposedDpEvent",
}

_SHORT = {  # kind: (name, how each field is called); fields are shown in this order
    "gaussian": ("Gaussian", {"noise_multiplier": "sigma"}),
    "laplace": ("Laplace", {"noise_multiplier": "scale"}),
    "randomized-response": (
        "RandomizedResponse",
        {"noise_parameter": "p", "num_buckets": "buckets"},
    ),
    "poisson-sampled": ("Poisson", {"sampling_probability": "q"}),
    "sampled-without-replacement": (
        "WithoutReplacement",
        {"source_dataset_size": "n", "sample_size": "m"},
    ),
    "sampled-with-replacement": (
        "WithReplacement",
        {"source_dataset_size": "n", "sample_size": "m"},
    ),
}


@functools.cache
def _tables() -> tuple[dict[str, type[Any]], dict[type[Any], str]]:
    """Classes by kind and kinds by class; an older dp_accounting may lack some."""
    classes = known_classes()
    by_kind = {kind: classes[name] for kind, name in KINDS.items() if name in classes}
    return by_kind, {cls: kind for kind, cls in by_kind.items()}


def event_to_plain(event: dp_accounting.DpEvent) -> dict[str, Any]:
    """``event`` in plain JSON types, whatever its parameters are.

    Parameters
    ----------
    event : dp_accounting.DpEvent
        A tree of events of dp_accounting or of ``accountants.events``.

    Returns
    -------
    dict
        ``kind`` and the parameters by name; NaN and the infinities are the strings ``"nan"``,
        ``"inf"`` and ``"-inf"``.

    Raises
    ------
    ValueError
        If the tree holds an event of another class or a parameter that is no number.

    Examples
    --------
    >>> event_to_plain(dp_accounting.GaussianDpEvent(1.5))
    {'kind': 'gaussian', 'noise_multiplier': 1.5}
    """
    return _write(event, "$", 0)


def _write(event: Any, place: str, depth: int) -> dict[str, Any]:
    kind = _tables()[1].get(type(event))
    if kind is None:
        raise Malformed(place, event, "an event of dp_accounting or of accountants.events")
    if depth > _DEEPEST:
        raise Malformed(place, event, f"nested at most {_DEEPEST} deep")
    fields = {
        field.name: _write_value(getattr(event, field.name), f"{place}.{field.name}", depth)
        for field in attr.fields(type(event))
    }
    scalars = {name: value for name, value in fields.items() if not _holds_events(value)}
    return {"kind": kind, **scalars, **fields}


def _holds_events(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(item, dict) for item in value)
    )


def _write_value(value: Any, place: str, depth: int) -> Any:
    if isinstance(value, dp_accounting.DpEvent):
        return _write(value, place, depth + 1)
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_write_value(v, f"{place}[{i}]", depth) for i, v in enumerate(value)]
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    raise Malformed(place, value, "a number, an event, or a list of them")


def event_from_plain(plain: Any, place: str = "$") -> dp_accounting.DpEvent:
    """The event that `event_to_plain` wrote.

    Parameters
    ----------
    plain : dict
        ``kind`` and every parameter of that kind; parameters outside their domains are kept.
    place : str
        Where it stands, for messages.

    Returns
    -------
    dp_accounting.DpEvent

    Raises
    ------
    ValueError
        Naming the place, what stands there and what is allowed, for what is no event.
    """
    return _read(plain, place, 0)


def _read(plain: Any, place: str, depth: int) -> dp_accounting.DpEvent:
    if not isinstance(plain, dict):
        raise Malformed(place, plain, "an object with a kind")
    if depth > _DEEPEST:
        raise Malformed(place, "…", f"nested at most {_DEEPEST} deep")
    kind, by_kind = plain.get("kind"), _tables()[0]
    if not isinstance(kind, str) or kind not in by_kind:
        raise Malformed(f"{place}.kind", kind, f"one of {', '.join(by_kind)}")
    cls = by_kind[kind]
    fields = {field.name: field for field in attr.fields(cls)}
    for name in plain:
        if name not in fields and name != "kind":
            allowed = f"left out: a {kind} has {', '.join(fields) or 'no parameters'}"
            raise Malformed(f"{place}.{name}", plain[name], allowed)
    values = {}
    hints = typing.get_type_hints(cls)
    for name, field in fields.items():
        here = f"{place}.{name}"
        if name in plain:
            values[name] = _read_value(plain[name], hints[name], here, depth)
        elif field.default is attr.NOTHING:
            raise Malformed(here, None, "given: the parameter is missing")
    return cls(**values)


def _read_value(value: Any, hint: Any, place: str, depth: int) -> Any:
    """``value`` in the type of its field; a whole number that is none stays as it is."""
    origin = typing.get_origin(hint)
    if origin is typing.Union:
        wants_list = isinstance(value, list)
        choices = typing.get_args(hint)
        hint = next(h for h in choices if (typing.get_origin(h) is not None) is wants_list)
        return _read_value(value, hint, place, depth)
    if origin in (list, tuple, collections.abc.Sequence):
        if not isinstance(value, list):
            raise Malformed(place, value, "a list")
        (inner, *_) = typing.get_args(hint)
        return [_read_value(v, inner, f"{place}[{i}]", depth) for i, v in enumerate(value)]
    if isinstance(hint, type) and issubclass(hint, dp_accounting.DpEvent):
        return _read(value, place, depth + 1)
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if not isinstance(value, (bool, int, float)):
        raise Malformed(place, value, 'a number, "nan", "inf" or "-inf"')
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise Malformed(place, value, "at most the largest double") from None
    return value


def number(value: Any) -> str:
    """A number as briefly as it can be read back: ``1``, ``0.01``, ``1e-5``, ``1e8``, ``nan``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, int):
        if value.bit_length() > 128:
            return f"about {'-' if value < 0 else ''}1e{int(value.bit_length() * math.log10(2))}"
        digits = str(value).rstrip("0") if value else "0"
        zeros = len(str(value)) - len(digits)
        return f"{digits}e{zeros}" if zeros >= 5 else str(value)
    text = repr(value).removesuffix(".0")
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else text


def describe(event: dp_accounting.DpEvent) -> str:
    """One line for people.

    Examples
    --------
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    >>> describe(dp_accounting.SelfComposedDpEvent(step, 1000))
    '1000 x Poisson(q=0.01) Gaussian(sigma=1)'
    """
    if isinstance(event, dp_accounting.SelfComposedDpEvent):
        return f"{number(event.count)} x {_inside(event.event)}"
    if isinstance(event, dp_accounting.ComposedDpEvent):
        parts = list(event.events)
        return " + ".join(_inside(e) for e in parts) if parts else "nothing composed"
    kind = _tables()[1].get(type(event))
    if kind is None:
        return repr(event)
    name, called = _SHORT.get(kind, (kind, {}))
    shown, inner = [], ""
    for field in attr.fields(type(event)):
        value = getattr(event, field.name)
        if isinstance(value, dp_accounting.DpEvent):
            inner = f" {_inside(value, also=dp_accounting.SelfComposedDpEvent)}"
        elif isinstance(value, (list, tuple)):
            shown.append(f"{field.name}=[{', '.join(number(v) for v in value)}]")
        else:
            shown.append(f"{called.get(field.name, field.name)}={number(value)}")
    return (f"{name}({', '.join(shown)})" if shown else name) + inner


def _inside(event: dp_accounting.DpEvent, also: type[Any] | None = None) -> str:
    text = describe(event)
    grouped = (dp_accounting.ComposedDpEvent, *([also] if also else []))
    return f"({text})" if isinstance(event, grouped) else text


def code(event: dp_accounting.DpEvent) -> str:
    """Python source of the event, for ``eval`` with ``dp`` = dp_accounting.

    Events of this project are named ``events.…``, with ``events`` = ``accountants.events``.

    Examples
    --------
    >>> code(dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.0), 10))
    'dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.0), 10)'
    """
    cls = type(event)
    if cls.__module__ == dp_event.__name__:
        name = f"dp.{'' if hasattr(dp_accounting, cls.__name__) else 'dp_event.'}{cls.__name__}"
    else:
        name = f"events.{cls.__name__}"
    values = [getattr(event, field.name) for field in attr.fields(cls)]
    return f"{name}({', '.join(_code_value(value) for value in values)})"


def _code_value(value: Any) -> str:
    if isinstance(value, dp_accounting.DpEvent):
        return code(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_code_value(v) for v in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)
