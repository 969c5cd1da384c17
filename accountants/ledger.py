"""Ledgers of existing runs, and the state of an accountant, to and from JSON.

Floats are written by their shortest exact text and events keep their order, so that an
accountant that is resumed gives the same answers to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dp_accounting
from dp_accounting.privacy_accountant import (
    NeighboringRelation,
    PrivacyAccountant,
    UnsupportedEventError,
)

from accountants.files import whole_file
from accountants.ledger_runs import history_from_json, runs_from_json
from accountants.ledger_trees import Malformed, event_from_json, event_to_json, is_tree

__all__ = [
    "Ledger",
    "Malformed",
    "event_from_json",
    "event_to_json",
    "ledger_from_json",
    "read_ledger",
    "read_state",
    "restore",
    "state_to_json",
    "write_ledger",
    "write_state",
]

#: What the states' ``format`` says.
STATE_FORMAT = "accountants/state/1"
#: What a ledger may be, for messages.
FORMS = (
    "an event tree of dp_accounting (named-tuple JSON), an Opacus history or state_dict, "
    "a list of runs {noise_multiplier, sampling, steps, …}, or the state of an accountant"
)
_HOMES = {
    "ExactAccountant": "accountants.exact.accountant",
    "RenyiAccountant": "accountants.renyi.accountant",
    "TruncatedCdpAccountant": "accountants.tcdp.accountant",
    "AdvancedCompositionAccountant": "accountants.advanced_composition",
}


@dataclass(frozen=True)
class Ledger:
    """What a file says has run.

    Attributes
    ----------
    event : dp_accounting.DpEvent
        Everything, composed in the order of the file.
    form : {"event tree", "opacus history", "runs", "state"}
        Which kind of file it was.
    """

    event: dp_accounting.DpEvent
    form: str


def ledger_from_json(document: Any) -> Ledger:
    """The ledger in a parsed JSON document, whichever of the known forms it has.

    Parameters
    ----------
    document : object
        An event tree by field names or by position; a list of event trees; an Opacus history
        ``[[noise_multiplier, sample_rate, num_steps], …]`` or state ``{"history": …}``; a list
        of runs (see `accountants.ledger_runs.runs_from_json`); or what `state_to_json` gave.

    Returns
    -------
    Ledger

    Raises
    ------
    ValueError
        Naming the place in the document, what stands there and what is allowed.

    Examples
    --------
    >>> ledger_from_json([[1.1, 0.01, 500]]).form
    'opacus history'
    """
    if is_tree(document):
        return Ledger(event_from_json(document), "event tree")
    if isinstance(document, dict):
        if document.get("format") == STATE_FORMAT:
            return Ledger(event_from_json(_of_state(document, "ledger"), "$.ledger"), "state")
        if "history" in document:
            events = history_from_json(document["history"], "$.history")
            return Ledger(_composed(events), "opacus history")
    if not isinstance(document, list):
        raise Malformed("$", document, FORMS)
    if any(is_tree(item) for item in document):
        events = [event_from_json(item, f"$[{i}]") for i, item in enumerate(document)]
        return Ledger(_composed(events), "event tree")
    if all(isinstance(item, list) for item in document):
        return Ledger(_composed(history_from_json(document)), "opacus history")
    return Ledger(_composed(runs_from_json(document)), "runs")


def _composed(events: list[dp_accounting.DpEvent]) -> dp_accounting.DpEvent:
    return events[0] if len(events) == 1 else dp_accounting.ComposedDpEvent(events)


def read_ledger(path: str | Path) -> Ledger:
    """The ledger in a JSON file; see `ledger_from_json`.

    Raises
    ------
    ValueError
        Naming the file, the place in it, and what is allowed there.
    OSError
        If the file cannot be read.
    """
    document = _load(path)
    with _naming(path):
        return ledger_from_json(document)


def write_ledger(path: str | Path, event: dp_accounting.DpEvent) -> None:
    """Write an event tree as JSON; the file is whole or not there.

    Raises
    ------
    ValueError
        If the tree holds an event that is not one of dp_accounting or ``accountants.events``.
    OSError
        If the file cannot be written.
    """
    _save(path, event_to_json(event))


def state_to_json(accountant: PrivacyAccountant) -> dict[str, Any]:
    """The whole state of an accountant of this package: its settings and its ledger.

    Parameters
    ----------
    accountant : PrivacyAccountant
        An ExactAccountant, RenyiAccountant, TruncatedCdpAccountant or
        AdvancedCompositionAccountant; one of groups has no state.

    Returns
    -------
    dict
        Plain JSON types; `restore` makes the accountant again.

    Raises
    ------
    ValueError
        If it is not an accountant of this package.

    Examples
    --------
    >>> import dp_accounting
    >>> from accountants import ExactAccountant
    >>> before = ExactAccountant().compose(dp_accounting.GaussianDpEvent(2.0), 3)
    >>> after = restore(state_to_json(before))
    >>> after.get_epsilon(1e-6) == before.get_epsilon(1e-6)
    True
    """
    name = type(accountant).__name__
    if name not in _HOMES or type(accountant) is not _class(name):
        raise ValueError(f"accountant={accountant!r}: must be one of {', '.join(_HOMES)}")
    return {
        "format": STATE_FORMAT,
        "accountant": name,
        "settings": accountant.settings(),
        "ledger": event_to_json(accountant.ledger),
    }


def restore(state: Mapping[str, Any] | str) -> Any:
    """The accountant that `state_to_json` described, with everything composed again in order.

    Parameters
    ----------
    state : mapping or str
        The document, or its JSON text.

    Returns
    -------
    PrivacyAccountant
        Gives the same answers as the one that was saved, to the last bit.

    Raises
    ------
    ValueError
        Naming the place in the document, what stands there and what is allowed.
    """
    if isinstance(state, str):
        state = _parse(state)
    if not isinstance(state, Mapping) or state.get("format") != STATE_FORMAT:
        raise Malformed("$", state, f'a state: an object with "format": "{STATE_FORMAT}"')
    name = _of_state(state, "accountant")
    if not isinstance(name, str) or name not in _HOMES:
        raise Malformed("$.accountant", name, f"one of {', '.join(_HOMES)}")
    settings = _of_state(state, "settings")
    if not isinstance(settings, Mapping):
        raise Malformed("$.settings", settings, "an object: the arguments of the accountant")
    arguments = dict(settings)
    if "neighboring_relation" in arguments:
        relation = arguments["neighboring_relation"]
        names = [known.name for known in NeighboringRelation]
        if relation not in names:
            raise Malformed("$.settings.neighboring_relation", relation, f"one of {names}")
        arguments["neighboring_relation"] = NeighboringRelation[relation]
    event = event_from_json(_of_state(state, "ledger"), "$.ledger")
    try:
        accountant = _class(name)(**arguments)
    except (TypeError, ValueError) as error:
        raise Malformed(
            "$.settings", dict(settings), f"arguments of {name}: {error!s:.300}"
        ) from None
    # Part by part, as it was composed, so that the ledger is the same tree again.
    parts = event.events if isinstance(event, dp_accounting.ComposedDpEvent) else [event]
    try:
        for part in parts:
            accountant.compose(part)
    except (ValueError, UnsupportedEventError) as error:  # no accountant saved what it refuses
        raise ValueError(f"$.ledger: {error}") from None
    return accountant


def _of_state(state: Mapping[str, Any], key: str) -> Any:
    if key not in state:
        raise Malformed(f"$.{key}", None, "given: the state has no such entry")
    return state[key]


def write_state(path: str | Path, accountant: PrivacyAccountant) -> None:
    """Write the state of an accountant as JSON; the file is whole or not there."""
    _save(path, state_to_json(accountant))


def read_state(path: str | Path) -> Any:
    """The accountant whose state `write_state` wrote.

    Raises
    ------
    ValueError
        Naming the file, the place in it, and what is allowed there.
    OSError
        If the file cannot be read.
    """
    document = _load(path)
    with _naming(path):
        return restore(document)


def _class(name: str) -> Any:
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


@contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Puts the name of the file before a ``ValueError`` from what was in it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _load(path: str | Path) -> Any:
    with _naming(path):
        try:
            return _parse(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"byte {error.start}: must be UTF-8 text") from None


def _parse(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"key {twice!r:.60}: must stand only once in its object")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"line {error.lineno} column {error.colno}: must be JSON ({error.msg})"
        ) from None
    except RecursionError:
        raise ValueError("$: nested too deeply: must be nested at most 100 deep") from None


def _save(path: str | Path, document: dict[str, Any]) -> None:
    text = json.dumps(document, allow_nan=False, indent=1) + "\n"
    with whole_file(Path(path)) as stream:
        stream.write(text)
