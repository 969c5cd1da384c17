"""Damage: bytes and documents that were once good, and the clock that ends a hang."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

#: CPU seconds after which one example counts as a hang; the slowest honest one takes about 15.
PATIENCE = 60

#: Few examples on every run, many in `make slow`.
LIGHT_AND_HEAVY = [
    pytest.param(1, id="light"),
    pytest.param(40, id="heavy", marks=pytest.mark.slow),
]


class HangError(BaseException):
    """The example took longer than any honest one."""


@contextmanager
def clock(seconds: float = PATIENCE) -> Iterator[None]:
    """Raise `HangError` after so many seconds of this process's CPU."""

    def ring(_number: int, _frame: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def fuzz(strategy: st.SearchStrategy[Any], check: Callable[[Any], None], examples: int) -> None:
    """Run `check` on that many examples; the same ones every time."""

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),  # examples are short; shrinking them would take minutes
    )
    @given(strategy)
    def run(example: Any) -> None:
        with clock():
            check(example.content if isinstance(example, Damaged) else example)

    run()


def refusal(path: Path, read: Callable[[Path], Any]) -> str | None:
    """What `read` says against the file; None when it takes it.

    Any exception but a ValueError, or an OSError of the file itself, passes through.
    """
    caught: OSError | ValueError
    try:
        read(path)
    except (OSError, ValueError) as error:
        caught = error
    else:
        return None
    said = str(caught)
    assert path.name in said, f"names no file: {said[:300]}"
    assert len(said) < 3000, f"floods the screen: {said[:300]}"
    return said


class Damaged:
    """Bytes of any length that are shown in one line; what was read last stays in its folder."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __repr__(self) -> str:
        return f"<{len(self.content)} bytes: {self.content[:200]!r}>"


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> Damaged:
    """Bytes cut off, flipped, inserted, deleted or repeated, once to three times."""
    content = good
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        to = min(at + draw(st.sampled_from((1, 1, 2, 4, 30, 300))), len(content))
        kind = draw(st.sampled_from(("cut", "set", "insert", "delete", "repeat", "digits")))
        if kind == "cut":
            content = content[:at]
        elif kind == "set":
            content = content[:at] + draw(st.binary(min_size=1, max_size=3)) + content[at + 1 :]
        elif kind == "insert":
            content = content[:at] + draw(st.binary(min_size=1, max_size=8)) + content[at:]
        elif kind == "delete":
            content = content[:at] + content[to:]
        elif kind == "repeat":
            content = content[:to] + content[at:to] + content[to:]
        else:  # a number that no machine has
            content = content[:at] + b"9" * draw(st.sampled_from((20, 400, 5000))) + content[at:]
    return Damaged(content)


#: Stand-ins for texts that `json.dumps` cannot write.
_RAW = {
    '"@digits"': "9" * 5000,
    '"@deep"': "[" * 100_000 + "]" * 100_000,
    '"@deepish"': "[" * 960 + "]" * 960,
    '"@deep objects"': '{"a":' * 950 + "1" + "}" * 950,
    '"@exponent"': "1e999",
}
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), "inf", "",
    "x" * 400, "é\x00", 10**18, 10**30, -(10**400), [], {}, [[]], [0], {"a": 1}, ["a", "b", "c"],
    *(raw.strip('"') for raw in _RAW),
)  # fmt: skip


def text_of(document: Any) -> str:
    """The document as JSON, with what stands in it for unwritable texts written out."""
    text = json.dumps(document)
    for raw, meant in _RAW.items():
        text = text.replace(raw, meant)
    return text


def places(document: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values of a document."""
    found = [here]
    pairs: list[tuple[Any, Any]] = []
    if isinstance(document, dict):
        pairs = list(document.items())
    elif isinstance(document, list):
        pairs = list(enumerate(document))
    for key, value in pairs:
        found += places(value, (*here, key))
    return found


def replaced(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The document with another value in one place."""
    if not place:
        return value
    key, rest = place[0], place[1:]
    if isinstance(document, dict):
        return {**document, key: replaced(document[key], rest, value)}
    return [replaced(one, rest, value) if i == key else one for i, one in enumerate(document)]


def removed(document: Any, place: tuple[Any, ...]) -> Any:
    """The document without what stands in one place."""
    key, rest = place[0], place[1:]
    if rest:
        return replaced(document, (key,), removed(document[key], rest))
    if isinstance(document, dict):
        return {name: value for name, value in document.items() if name != key}
    return [one for i, one in enumerate(document) if i != key]


@st.composite
def altered(draw: st.DrawFn, good: Any, junk: tuple[Any, ...] = JUNK) -> Any:
    """The document with one to three values replaced, removed, added or exchanged."""
    document = good
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(document)))
        kind = draw(st.sampled_from(("replace", "replace", "remove", "swap", "add")))
        if kind == "remove" and place:
            document = removed(document, place)
        elif kind == "swap":
            other = draw(st.sampled_from(places(good)))
            value: Any = good
            for key in other:
                value = value[key]
            document = replaced(document, place, value)
        elif kind == "add":
            document = replaced(document, place, {"more": draw(st.sampled_from(junk))})
        else:
            document = replaced(document, place, draw(st.sampled_from(junk)))
    return document
