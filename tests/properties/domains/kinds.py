"""Kinds of arguments: what is allowed in words, a usual value, values at the ends, values outside.

Values outside are refused with a ``ValueError`` that names the argument and, unless it is an array,
the value. Wrong types are outside too: NumPy and Python would turn ``"1"``, ``True`` or ``[1.0]``
into numbers, and an answer would come of a slip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

NAN, INF = math.nan, math.inf
BEYOND = 10**400  # an integer that is no double
NO_NUMBERS: tuple[Any, ...] = (
    NAN, "1", "", b"1", True, False, None, 1j, [0.5], (), {}, object(), np.array([0.5, 0.5]),
)  # fmt: skip
NO_NAMES: tuple[Any, ...] = ("", "nonsense", " poisson", None, 1, 0.5, True, (), b"a")


@dataclass(frozen=True)
class Kind:
    """What an argument may be.

    Attributes
    ----------
    words : str
        The domain in words.
    usual : callable
        Gives a value inside: a new one for each call, since calls may change it.
    inside : tuple
        Values at the ends of the domain and far within.
    outside : strategy, optional
        Draws values outside; None where there are none.
    shows : bool
        Whether a refusal shows the value; of an array it shows what is wrong with it.
    several : bool
        Whether it is a sequence: a refusal may speak of one entry, in the singular.
    """

    words: str
    usual: Callable[[], Any]
    inside: tuple[Any, ...] = ()
    outside: st.SearchStrategy[Any] | None = None
    shows: bool = True
    several: bool = False

    def at(self, usual: Any) -> Kind:
        """The same kind with another usual value."""
        return replace(self, usual=lambda: usual)

    def or_none(self) -> Kind:
        """The same kind where None has a meaning of its own."""
        outside = None if self.outside is None else self.outside.filter(lambda x: x is not None)
        return replace(self, outside=outside, words=f"{self.words}, or None")

    def but_shape(self, shape: tuple[int, ...]) -> Kind:
        """The same kind where arrays of this shape are allowed."""
        assert self.outside is not None
        return replace(
            self, outside=self.outside.filter(lambda x: getattr(x, "shape", None) != shape)
        )

    def but(self, *values: Any) -> Kind:
        """The same kind where these values, though they look foreign, are allowed."""
        assert self.outside is not None

        def foreign(drawn: Any) -> bool:
            return not any(type(drawn) is type(value) and drawn == value for value in values)

        return replace(self, outside=self.outside.filter(foreign))


def _number(
    words: str,
    usual: float,
    inside: Sequence[Any],
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
    infinite: bool = False,
) -> Kind:
    """A real number in an interval; `infinite` says whether inf is allowed."""
    outside: list[st.SearchStrategy[Any]] = [st.sampled_from(NO_NUMBERS)]
    if low > -INF:
        under = st.floats(max_value=low, exclude_max=not open_low)
        outside += [under, st.just(-INF), st.integers(max_value=-1)]
        if open_low:
            outside += [st.sampled_from([low, int(low)])]
    if high < INF:
        over = st.floats(min_value=high, exclude_min=not open_high)
        outside += [over, st.just(INF), st.just(BEYOND)]
        if open_high:
            outside += [st.sampled_from([high, int(high)])]
    elif not infinite:
        outside += [st.sampled_from([INF, -INF, BEYOND])]
    return Kind(words, lambda: usual, tuple(inside), st.one_of(outside))


TINY, HUGE = 5e-324, 1.7976931348623157e308
POSITIVE = _number("finite, > 0", 1.0, (1e-12, 1, 1e12), 0.0, INF, open_low=True)
POSITIVE_OR_INF = _number(
    "> 0, inf is allowed", 1.0, (1e-12, 1, 1e12, INF), 0.0, INF, open_low=True, infinite=True
)
NOT_NEGATIVE = _number("finite, >= 0", 1.0, (0, 0.0, TINY, 1e-12, 1e12), 0.0, INF)
NOT_NEGATIVE_OR_INF = _number(
    ">= 0, inf is allowed", 1.0, (0, 0.0, TINY, 1e-12, 1e12, INF), 0.0, INF, infinite=True
)
REAL = _number("finite", 0.5, (0, -1, 1e-300, -1e12), -INF, INF)
REAL_OR_INF = _number("a number", 0.5, (0, -1, INF, -INF, 1e-300), -INF, INF, infinite=True)
CLOSED_UNIT = _number("in [0, 1]", 0.5, (0, 0.0, TINY, 0.5, 1, 1.0), 0.0, 1.0)
OPEN_UNIT = _number(
    "in (0, 1)", 0.5, (1e-12, 0.5, 1 - 1e-12), 0.0, 1.0, open_low=True, open_high=True
)
POSITIVE_UNIT = _number("in (0, 1]", 0.5, (1e-12, 0.5, 1, 1.0), 0.0, 1.0, open_low=True)
BELOW_ONE = _number("in [0, 1)", 0.5, (0, 0.0, 0.5, 1 - 1e-12), 0.0, 1.0, open_high=True)
ABOVE_ONE = _number("finite, > 1", 2.0, (1 + 1e-9, 2, 1e6), 1.0, INF, open_low=True)
ABOVE_ONE_OR_INF = _number(
    "> 1, inf is allowed", 2.0, (1 + 1e-9, 2, 1e6, INF), 1.0, INF, open_low=True, infinite=True
)
AT_LEAST_ONE = _number("finite, >= 1", 2.0, (1, 1.0, 2, 1e6), 1.0, INF)


def whole(minimum: int, usual: int, *inside: int) -> Kind:
    """A whole number of at least `minimum`, of Python or NumPy; 2.0 is none."""
    outside = st.one_of(
        st.sampled_from((*NO_NUMBERS, INF, -INF, 1.0, 2.0, 2.5, 1e3, -BEYOND)),
        st.integers(max_value=minimum - 1),
        st.floats(),
    )
    ends = inside or (minimum, np.int64(max(minimum, usual)), usual)
    return Kind(f"a whole number >= {minimum}", lambda: usual, ends, outside)


COUNT = whole(1, 5)
COUNT_OR_ZERO = whole(0, 5)
SEED = whole(0, 3, 0, 10**18)


def name_of(*names: str) -> Kind:
    """A name out of a set."""
    texts = st.text(max_size=8).filter(lambda text: text not in names)
    outside = st.one_of(st.sampled_from(NO_NAMES), st.sampled_from(names).map(str.swapcase), texts)
    return Kind(f"one of {', '.join(names)}", lambda: names[0], names, outside)


def vector(length: int, *, fill: float = 0.5, positive: bool = False, wild: bool = False) -> Kind:
    """A finite vector of one length."""
    good = np.full(length, fill)

    def with_entry(value: Any) -> Any:
        return np.concatenate([good[:-1], [value]])

    wrong: list[Any] = [
        np.empty(0), np.full(length + 1, fill), np.full((length, 1), fill),
        np.full((1, length), fill), fill, np.array(fill), with_entry(NAN), with_entry(INF),
        with_entry(-INF), good.astype(complex), good.astype(str), good > 0, None, "vector",
        [["a"], [1, 2]], {}, object(),
    ]  # fmt: skip
    if wild:  # iterates of a run that diverges: its loss says so

        def wild_entries(each: Any) -> bool:
            floats = isinstance(each, np.ndarray) and each.dtype.kind == "f"
            return floats and each.shape == (length,)

        wrong = [each for each in wrong if not wild_entries(each)]
    if positive:
        wrong += [with_entry(0.0), with_entry(-1.0), with_entry(NAN)]
    words = f"a finite vector of length {length}" + (", > 0" if positive else "")
    return Kind(words, good.copy, (good.copy(), good.tolist()), st.sampled_from(wrong), shows=False)


def indices(size: int, *, empty: bool = False) -> Kind:
    """Indices of records, all in [0, size)."""
    good = np.arange(3)
    wrong: list[Any] = [
        np.array([0, size]), np.array([-1]), np.array([0.0, 1.0]), np.array([[0, 1]]), 0, "01",
        np.array([True, False]), np.array([1j]), None, {}, np.array(["0"]), [[0], [0, 1]],
        np.array([2**62]),
    ]  # fmt: skip
    if not empty:
        wrong += [np.array([], dtype=int)]
    return Kind(f"indices in [0, {size})", good.copy, (good, np.array([size - 1])),
                st.sampled_from(wrong), shows=False)  # fmt: skip


RNG = Kind(
    "a Generator, or a seed: a whole number >= 0",
    lambda: np.random.default_rng(5),
    (0, 2**63, np.int64(7), np.random.default_rng(1)),
    st.one_of(
        st.sampled_from([NAN, "1", 1.0, True, None, [1], {}, object(), np.random.RandomState(0)]),
        st.integers(max_value=-1),
    ),
)


def numbers(of: Kind, *, usual: Sequence[Any], empty: bool = False, one: bool = False) -> Kind:
    """Several numbers of a kind; `empty` allows none, `one` a number by itself."""
    assert of.outside is not None
    # Of truth values among numbers NumPy makes numbers before anybody sees them.
    foreign = of.outside.filter(lambda bad: not isinstance(bad, bool))
    wrong: st.SearchStrategy[Any] = foreign.map(lambda bad: [*usual[:1], bad])
    extra: list[Any] = [None, object(), *([] if empty else [[], ()]), *([] if one else [0.5])]
    outside = st.one_of(wrong, st.sampled_from(extra))
    return Kind(
        f"several, each {of.words}", lambda: list(usual), (tuple(usual),), outside, False, True
    )


def names_of(*names: str) -> Kind:
    """Several names out of a set, at least one."""
    wrong = (None, 0.5, names[0], (), [], ["nonsense"], [*names, "nonsense"], [None], [0.5])
    outside = st.sampled_from(wrong)
    return Kind(f"of {', '.join(names)}", lambda: [names[0]], (names,), outside, False, True)


BAND = Kind(
    "two numbers 0 < low < high < 1",
    lambda: (0.5, 0.93),
    ((0.5, 0.93), (1e-3, 0.999)),
    st.sampled_from(
        [None, 0.5, "ab", (), (0.5,), (0.9, 0.5), (0.0, 0.5), (0.5, 1.5), (NAN, 0.5), (0.5, 0.5),
         (0.5, INF), ("a", "b"), object()]
    ),
    shows=False,
)  # fmt: skip

FREE = Kind("anything: a word of its own, or a choice that Python reads as true or false", str)
