"""Event trees as JSON: the named tuples of dp_accounting, by field name or by position.

``event.to_named_tuple()`` gives ``module_name``, ``class_name`` and the fields of an event; saved
as JSON that is an object (``_asdict()``) or, by ``json.dumps`` alone, a list in the same order.
Both are read.  A file never decides which module is imported: only event classes of
dp_accounting and of this package are built.
"""

from __future__ import annotations

import collections.abc
import math
import typing
from typing import Any

import attr
import dp_accounting
from dp_accounting import dp_event

from accountants import events, validation
from accountants import sampling as schemes

__all__ = ["Malformed", "event_from_json", "event_to_json", "is_tree", "known_classes"]

_DEEPEST = 100
_CLASS_KEYS = ("module_name", "class_name")


class Malformed(ValueError):
    """A document that is no ledger: where, what stands there, and what is allowed.

    Parameters
    ----------
    place : str
        Path inside the document, ``$`` for its root.
    found : object
        What stands there.
    allowed : str
        What may stand there.
    """

    def __init__(self, place: str, found: Any, allowed: str) -> None:
        # A key of the file's own may be of any length.
        where = place if len(place) <= 400 else f"{place[:200]}…{place[-200:]}"
        super().__init__(f"{where}: {_short(found)}: must be {allowed}")
        self.place = place


def _short(value: Any) -> str:
    try:
        text = validation.shown(value)
    except ValueError:  # an integer of too many digits somewhere inside
        text = type(value).__name__
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


def known_classes() -> dict[str, type[dp_accounting.DpEvent]]:
    """Event classes by name: those of dp_accounting and those of ``accountants.events``."""
    found: dict[str, type[dp_accounting.DpEvent]] = {}
    for module in (dp_event, events):
        for name, item in vars(module).items():
            if (
                isinstance(item, type)
                and issubclass(item, dp_accounting.DpEvent)
                and item is not dp_accounting.DpEvent
            ):
                found[name] = item
    return found


def event_to_json(event: dp_accounting.DpEvent) -> dict[str, Any]:
    """``event`` as plain JSON types, every float kept to the last bit.

    Parameters
    ----------
    event : dp_accounting.DpEvent
        A tree of events of dp_accounting or of ``accountants.events``.

    Returns
    -------
    dict
        ``module_name``, ``class_name`` and the fields by name, as dp_accounting's
        ``to_named_tuple`` has them; infinities are the string ``"inf"``.

    Raises
    ------
    ValueError
        If the tree holds an event of another class, or a field without a JSON form.

    Examples
    --------
    >>> import dp_accounting
    >>> event_to_json(dp_accounting.GaussianDpEvent(1.5))
    {'module_name': 'dp_accounting.dp_event', 'class_name': 'GaussianDpEvent', \
'noise_multiplier': 1.5}
    """
    return _write(event, "$", 0)


def _write(event: Any, place: str, depth: int) -> dict[str, Any]:
    kind = type(event)
    if known_classes().get(kind.__name__) is not kind:
        raise Malformed(place, event, "an event of dp_accounting or of accountants.events")
    if depth > _DEEPEST:
        raise Malformed(place, event, f"nested at most {_DEEPEST} deep")
    document: dict[str, Any] = dict(zip(_CLASS_KEYS, (kind.__module__, kind.__name__), strict=True))
    for field in attr.fields(kind):
        here = f"{place}.{field.name}"
        document[field.name] = _write_value(getattr(event, field.name), here, depth)
    return document


def _write_value(value: Any, place: str, depth: int) -> Any:
    if isinstance(value, dp_accounting.DpEvent):
        return _write(value, place, depth + 1)
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        items = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(items, (list, tuple)):
            return [_write_value(v, f"{place}[{i}]", depth) for i, v in enumerate(items)]
        value = items
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise Malformed(place, value, "a number, an event, or a list of them")
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return int(value)


def is_tree(document: Any) -> bool:
    """Whether ``document`` looks like an event, in either form."""
    if isinstance(document, dict):
        return "class_name" in document
    return (
        isinstance(document, list)
        and len(document) >= len(_CLASS_KEYS)
        and all(isinstance(item, str) for item in document[: len(_CLASS_KEYS)])
    )


def event_from_json(document: Any, place: str = "$") -> dp_accounting.DpEvent:
    """The event that `event_to_json`, or dp_accounting's named tuples, wrote.

    Parameters
    ----------
    document : dict or list
        An event by field names, or by position.
    place : str
        Where it stands, for messages.

    Returns
    -------
    dp_accounting.DpEvent

    Raises
    ------
    Malformed
        A ``ValueError`` that names the place, what stands there and what is allowed.
    """
    return _read(document, place, 0)


def _read(document: Any, place: str, depth: int) -> dp_accounting.DpEvent:
    if depth > _DEEPEST:
        raise Malformed(place, "…", f"nested at most {_DEEPEST} deep")
    if not is_tree(document):
        raise Malformed(place, document, "an event: an object with module_name and class_name")
    if isinstance(document, list):
        module, name = document[:2]
    else:
        module, name = (document.get(key) for key in _CLASS_KEYS)
    kind = _class_of(module, name, place)
    fields = [field.name for field in attr.fields(kind)]
    given = _fields_given(document, fields, attr.fields(kind), place)
    hints = typing.get_type_hints(kind)
    values = {}
    for key, value in given.items():
        here = f"{place}.{key}"
        values[key] = _checked(key, _decode(value, hints[key], here, depth), here)
    event = kind(**values)
    _check_sizes(event, place)
    return event


def _check_sizes(event: dp_accounting.DpEvent, place: str) -> None:
    """Refuse a sampling that no loader has, such as more records in a batch than there are."""
    try:
        if isinstance(event, dp_accounting.SampledWithoutReplacementDpEvent):
            schemes.WithoutReplacement(event.source_dataset_size, event.sample_size)
        elif isinstance(event, dp_accounting.SampledWithReplacementDpEvent):
            schemes.WithReplacement(event.source_dataset_size, event.sample_size)
        elif isinstance(event, events.WeightedWithReplacementDpEvent):
            schemes.WeightedWithReplacement(event.largest_probability, event.sample_size)
        elif isinstance(event, events.ShuffledEpochDpEvent):
            schemes.ShuffledEpochs(event.dataset_size, event.batch_size)
        elif isinstance(event, events.ResqueOracleDpEvent):
            schemes.OracleDraws(event.dataset_size, event.draws, event.failure_probability)
            validation.oracle_noise(event.noise_multiplier, event.failure_probability)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _class_of(module: Any, name: Any, place: str) -> type[dp_accounting.DpEvent]:
    kind = known_classes().get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(sorted(known_classes()))
        raise Malformed(f"{place}.class_name", name, f"one of {known}")
    homes = {kind.__module__, kind.__module__.split(".", maxsplit=1)[0]}
    if not isinstance(module, str) or module not in homes:
        raise Malformed(f"{place}.module_name", module, f"{kind.__module__} for a {name}")
    return kind


def _fields_given(document: Any, fields: list[str], attributes: Any, place: str) -> dict[str, Any]:
    if isinstance(document, list):
        rest = document[len(_CLASS_KEYS) :]
        if len(rest) > len(fields):
            raise Malformed(place, document, f"at most {', '.join(fields)} after the class name")
        given = dict(zip(fields, rest, strict=False))
    else:
        given = {key: value for key, value in document.items() if key not in _CLASS_KEYS}
    for key in given:
        if key not in fields:
            raise Malformed(f"{place}.{key}", given[key], f"left out: fields are {fields}")
    for attribute in attributes:
        if attribute.name not in given and attribute.default is attr.NOTHING:
            raise Malformed(f"{place}.{attribute.name}", None, "given: the field is missing")
    return given


def _decode(value: Any, hint: Any, place: str, depth: int) -> Any:
    """``value`` as what the field's type asks for."""
    origin = typing.get_origin(hint)
    if origin is typing.Union:
        if isinstance(value, list):
            hint = next(h for h in typing.get_args(hint) if typing.get_origin(h) is not None)
        else:
            hint = next(h for h in typing.get_args(hint) if typing.get_origin(h) is None)
        return _decode(value, hint, place, depth)
    if origin in (list, tuple, collections.abc.Sequence):
        if not isinstance(value, list) or (hint_is_event(hint) and is_tree(value)):
            raise Malformed(place, value, "a list")
        (inner, *_) = typing.get_args(hint)
        return [_decode(v, inner, f"{place}[{i}]", depth) for i, v in enumerate(value)]
    if isinstance(hint, type) and issubclass(hint, dp_accounting.DpEvent):
        return _read(value, place, depth + 1)
    if hint is int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Malformed(place, value, "a whole number")
        return value
    return number(value, place)


def hint_is_event(hint: Any) -> bool:
    """Whether a list's items are events (a list of strings first would then be one event)."""
    (inner, *_) = typing.get_args(hint)
    return isinstance(inner, type) and issubclass(inner, dp_accounting.DpEvent)


def number(value: Any, place: str) -> float:
    """A float of JSON: a number, or an infinity as text."""
    if value in ("inf", "-inf") and isinstance(value, str):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise Malformed(place, value, 'a number, or "inf"')
    try:
        return float(value)
    except OverflowError:
        raise Malformed(place, value, "at most the largest double") from None


def _checked(name: str, value: Any, place: str) -> Any:
    """``value``, when the domain that every event gives to a field of this name has it."""
    try:
        if name in ("noise_multiplier", "standard_deviation", "rho"):
            validation.noise_multiplier(value, name)
        elif name in ("sampling_probability", "largest_probability", "failure_probability"):
            validation.probability(value, name)
        elif name == "count":
            validation.whole(value, name)
        elif name in ("source_dataset_size", "dataset_size", "batch_size", "draws"):
            validation.whole(value, name, 1)
        elif name in ("sample_size", "truncated_batch_size"):
            validation.whole(value, name)
    except ValueError as error:
        raise Malformed(place, value, str(error).split(": must be ", 1)[-1]) from None
    return value
