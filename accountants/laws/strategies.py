"""Hypothesis strategies for events, their parameters and relations.

A number is a mantissa of at most two digits times a power of ten, both drawn from lists that begin
with what is simple: every printed case is short, and a failing one shrinks to numbers such as
``1.0``, ``0.01`` and ``1e-5``.  About half of the draws are corners: powers of ten, the ends of a
range, or an event of ``corners``.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation
from hypothesis import strategies as st

from accountants.laws import corners

__all__ = [
    "FAMILIES",
    "LEAVES",
    "deltas",
    "epsilons",
    "events",
    "noise_multipliers",
    "probabilities",
    "relations",
    "steps",
]

#: Kinds of single mechanisms that are drawn.
LEAVES = (
    "gaussian",
    "poisson",
    "without-replacement",
    "with-replacement",
    "laplace",
    "randomized-response",
)
#: The same, and compositions of them.
FAMILIES = (*LEAVES, "composition")

# A number has one of these forms; the simpler it is, the more often it is drawn.
_POWER, _ONE_DIGIT, _TWO_DIGITS, _ZERO = range(4)  # 1e-5, 5e-5, 5.1e-5, 0
_FORMS = (*[_POWER] * 4, *[_ONE_DIGIT] * 3, *[_TWO_DIGITS] * 2)
_FIRST = (5, 2, 1, 3, 4, 6, 7, 8, 9)
_SECOND = (5, 1, 2, 3, 4, 6, 7, 8, 9)
_LARGEST_SIZE = 10**9

_HOW = ("once", "repeated", "repeated", "corner", "corner", "corner")


@st.composite
def _rounds(draw: st.DrawFn, low: float, high: float, first: int, with_zero: bool) -> float:
    """Short decimals in [low, high]; exponents nearest to ``first`` are the simplest.

    What a simpler form needs is chosen before what only the others need, and 0 takes as many
    choices as a power of ten: a case shrinks to fewer choices first, then to earlier ones.
    """
    digits = _digits(low, high)
    forms = _FORMS if 1 in digits else _FORMS[_FORMS.index(_ONE_DIGIT) :]
    form = draw(st.sampled_from((*forms, _ZERO) if with_zero else forms))
    digit = draw(st.sampled_from(digits)) if form in (_ONE_DIGIT, _TWO_DIGITS) else 1
    known = digit if digit in digits else digits[0]  # for 0 where no power of ten fits
    exponent = draw(st.sampled_from(_exponents(known, low, high, first)))
    if form == _ZERO:
        return 0.0
    value = float(f"{digit}e{exponent}")  # the double nearest to what is printed
    if form == _TWO_DIGITS:
        finer = float(f"{digit}{draw(st.sampled_from(_SECOND))}e{exponent - 1}")
        return finer if finer <= high else value
    return value


@functools.cache
def _digits(low: float, high: float) -> tuple[int, ...]:
    return tuple(digit for digit in _FIRST if _exponents(digit, low, high, 0))


@functools.cache
def _exponents(digit: int, low: float, high: float, first: int) -> tuple[int, ...]:
    fit = [e for e in range(-330, 310) if low <= float(f"{digit}e{e}") <= high]
    return tuple(sorted(fit, key=lambda e: (abs(e - first), e > first)))


def _numbers(
    low: float, high: float, first: int, with_zero: bool = False
) -> st.SearchStrategy[float]:
    if not 0 < low <= high:
        raise ValueError(f"low={low!r}, high={high!r}: must be positive, and in order")
    if not _digits(low, high):
        allowed = "must have a number of one digit between them"
        raise ValueError(f"low={low!r}, high={high!r}: {allowed}")
    return _rounds(low, high, first, with_zero)


def _below_one(low: float, high: float, first: int) -> st.SearchStrategy[float]:
    if not 0 < low <= high <= 1:
        raise ValueError(f"low={low!r}, high={high!r}: must lie in (0, 1], and in order")
    return _numbers(low, high, first)


def noise_multipliers(low: float = 0.01, high: float = 1e4) -> st.SearchStrategy[float]:
    """Noise std on the sum over clip norm; simplest 1.0."""
    return _numbers(low, high, 0)


def probabilities(low: float = 1e-9, high: float = 1.0) -> st.SearchStrategy[float]:
    """Sampling probabilities; simplest 0.01."""
    return _below_one(low, high, -2)


def deltas(low: float = 1e-30, high: float = 1.0) -> st.SearchStrategy[float]:
    """δ; simplest 1e-5."""
    return _below_one(low, high, -5)


def epsilons(low: float = 1e-30, high: float = 100.0) -> st.SearchStrategy[float]:
    """ε; simplest 1.0."""
    return _numbers(low, high, 0)


def steps(most: int = 10**8) -> st.SearchStrategy[int]:
    """Counts from 0 to ``most``; simplest 1, and 0 comes last."""
    if most < 1:
        raise ValueError(f"most={most!r}: must be at least 1")
    return _numbers(1, most, 0, with_zero=True).map(int)


def relations() -> st.SearchStrategy[NeighboringRelation]:
    """Neighbouring relations, adding or removing one record first."""
    return st.sampled_from(
        [
            NeighboringRelation.ADD_OR_REMOVE_ONE,
            NeighboringRelation.REPLACE_ONE,
            NeighboringRelation.REPLACE_SPECIAL,
        ]
    )


def _sizes(draw: st.DrawFn, most_draws: int | None) -> tuple[int, int]:
    """(records, records in a batch); ``most_draws`` None: without replacement."""
    n = int(draw(_numbers(2, _LARGEST_SIZE, 1)))
    shares = [1, n // 100, n // 10, n // 2, 2, 3, n - 1, n]
    if most_draws is not None:
        shares.append(2 * n)
    most = n if most_draws is None else most_draws
    return n, draw(st.sampled_from(list(dict.fromkeys(m for m in shares if 1 <= m <= most))))


def _leaf(draw: st.DrawFn, family: str) -> dp_accounting.DpEvent:
    """One use of the mechanism of a family."""
    if family == "laplace":
        return corners.laplace(draw(noise_multipliers()))
    if family == "randomized-response":
        p = draw(_below_one(1e-9, 1.0, -1))
        return corners.response(p, draw(st.sampled_from((2, 3, 10, 100, 1000))))
    sigma = draw(noise_multipliers())
    if family == "gaussian":
        return corners.gaussian(sigma)
    if family == "poisson":
        return corners.poisson(draw(probabilities()), sigma)
    if family == "without-replacement":
        return corners.without(*_sizes(draw, None), sigma)
    return corners.replaced(*_sizes(draw, 1000), sigma)


def _uses(draw: st.DrawFn, family: str, repeated: bool, most_steps: int) -> dp_accounting.DpEvent:
    """One use, or repetitions of it."""
    leaf = _leaf(draw, family)
    return corners.times(draw(steps(most_steps)), leaf) if repeated else leaf


def _composed(
    draw: st.DrawFn, families: tuple[str, ...], repeated: bool, most_steps: int
) -> dp_accounting.DpEvent:
    """Two or three parts, now and then repeated as a whole."""
    again = draw(st.sampled_from((1, 1, 1, 2, 10))) if repeated else 1
    parts = [
        _uses(draw, draw(st.sampled_from(families)), draw(st.booleans()), most_steps // (3 * again))
        for _ in range(draw(st.sampled_from((2, 2, 3))))
    ]
    return corners.both(*parts) if again == 1 else corners.times(again, corners.both(*parts))


def events(
    families: Collection[str] = FAMILIES, *, most_steps: int = 10**8
) -> st.SearchStrategy[dp_accounting.DpEvent]:
    """Events of the named families: single uses, repetitions, compositions, corners.

    Parameters
    ----------
    families : collection of str
        Some of ``FAMILIES``.  Compositions are made of the other families named, or of all of
        them when only ``"composition"`` is.
    most_steps : int
        Largest number of steps in all, at least 100; corners beyond it are left out.

    Returns
    -------
    SearchStrategy

    Raises
    ------
    ValueError
        If a family is unknown, none is named, or ``most_steps`` is too small.

    Examples
    --------
    >>> import hypothesis
    >>> hypothesis.find(events(["gaussian"]), lambda event: True)
    GaussianDpEvent(noise_multiplier=1.0)
    """
    chosen = tuple(f for f in FAMILIES if f in families)
    if set(families) - set(FAMILIES) or not chosen:
        raise ValueError(f"families={families!r}: must be some of {', '.join(FAMILIES)}")
    if most_steps < 100:
        raise ValueError(f"most_steps={most_steps!r}: must be at least 100")
    return _events(chosen, most_steps)


@st.composite
def _events(draw: st.DrawFn, chosen: tuple[str, ...], most_steps: int) -> dp_accounting.DpEvent:
    family = draw(st.sampled_from(chosen))
    form = draw(st.sampled_from(_HOW))
    parts = tuple(f for f in chosen if f != "composition") or LEAVES
    if form == "corner":
        found = draw(st.sampled_from(_corners(family, parts, most_steps)))
        _ = [draw(st.booleans()) for _ in range(3)]  # no simpler than a case with fewer choices
        return found
    if family == "composition":
        return _composed(draw, parts, form == "repeated", most_steps)
    return _uses(draw, family, form == "repeated", most_steps)


@functools.cache
def _corners(
    family: str, parts: tuple[str, ...], most_steps: int
) -> tuple[dp_accounting.DpEvent, ...]:
    """Those with few enough steps; of compositions, those made of ``parts``."""
    composed = family == "composition"
    return tuple(
        event
        for event in corners.EVENTS[family]
        if total_steps(event) <= most_steps and (not composed or _made_of(event, parts))
    )


def total_steps(event: dp_accounting.DpEvent) -> int:
    """How many leaves an event has, repetitions counted."""
    if isinstance(event, dp_accounting.SelfComposedDpEvent):
        return int(event.count) * total_steps(event.event)
    if isinstance(event, dp_accounting.ComposedDpEvent):
        return sum(total_steps(e) for e in event.events)
    return 1


_FAMILY_OF = {
    dp_accounting.GaussianDpEvent: "gaussian",
    dp_accounting.PoissonSampledDpEvent: "poisson",
    dp_accounting.SampledWithoutReplacementDpEvent: "without-replacement",
    dp_accounting.SampledWithReplacementDpEvent: "with-replacement",
    dp_accounting.LaplaceDpEvent: "laplace",
    dp_accounting.RandomizedResponseDpEvent: "randomized-response",
}


def _made_of(event: dp_accounting.DpEvent, parts: Collection[str]) -> bool:
    if isinstance(event, dp_accounting.SelfComposedDpEvent):
        return _made_of(event.event, parts)
    if isinstance(event, dp_accounting.ComposedDpEvent):
        return all(_made_of(e, parts) for e in event.events)
    return type(event) is dp_accounting.NoOpDpEvent or _FAMILY_OF.get(type(event)) in parts
