"""What is asked of a public callable; each check gives complaints, none if all is well."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from accountants import AccuracyError, InfeasibleBudgetError
from tests.properties.domains.calls import NoUsualValue, Row, bound, kinds_of, usual_arguments
from tests.properties.domains.kinds import Kind
from tests.properties.domains.listing import Argument, Public
from tests.properties.domains.names import is_plain, kind_of


def decidable(argument: Argument) -> bool:
    """Whether an argument is a number, a word or an array: something that has a domain."""
    return is_plain(argument.annotation) and argument.annotation != "np.random.Generator"


def undecided(public: Public, row: Row) -> list[str]:
    """Arguments of which nobody has said what they may be."""
    return [
        f"{public.key}: what may {each.name} ({each.annotation}) be?"
        for each in public.arguments
        if decidable(each) and kind_of(each, dict(row.kinds)) is None
    ]


def has_domains(public: Public, row: Row) -> bool:
    """Whether a callable takes more than objects, choices and words of the caller's."""
    return bool(kinds_of(public, row) or undecided(public, row))


def accepted(public: Public, rows: Mapping[str, Row]) -> list[str]:
    """The call with usual values goes through."""
    row = rows.get(public.key, Row())
    try:
        if row.long:
            usual_arguments(public, row)
            return []
        outcome(public, rows, {})
    except NoUsualValue as error:
        return [f"no usual value: {error}"]
    except Exception as error:  # whatever it is, it is a complaint
        return [f"{public.key}: usual values: {type(error).__name__}: {error}"]
    return []


def outcome(public: Public, rows: Mapping[str, Row], changes: Mapping[str, Any]) -> Any:
    """What a call gives; a warning is an error."""
    arguments = usual_arguments(public, rows.get(public.key, Row()))
    call = bound(public, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(**{**arguments, **changes})


def _shown(value: Any) -> Iterable[str]:
    """How a message may show a value: long ones are cut."""
    yield repr(value)[:12]
    if isinstance(value, int) and abs(value) < 1e300:
        yield repr(float(value))
    if isinstance(value, int):
        yield "(about 10^"


def refusal(kind: Kind, names: tuple[str, ...], value: Any, call: Callable[[], Any]) -> str | None:
    """What is wrong with how a value outside is met; None if it is refused as it has to be."""
    try:
        result = call()
    except ValueError as error:
        words = str(error)
        # of several numbers a refusal may speak of one, in the singular
        stems = [name[:-1] if kind.several else name for name in names]
        if not any(stem in words for stem in stems):
            return f"not named: {type(error).__name__}: {words}"
        if kind.shows and not any(part in words for part in _shown(value)):
            return f"not shown: {words}"
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"accepted, gives {result!r:.60}"


def refusals(
    public: Public, rows: Mapping[str, Row], *, examples: int, random: int | None = None
) -> list[str]:
    """Values outside of each domain are refused by a ValueError that names them.

    Parameters
    ----------
    public : Public
    rows : mapping of str to Row
    examples : int
        Of each argument.
    random : int, optional
        Seed of the search; the same examples every time if None.
    """
    kinds = kinds_of(public, rows.get(public.key, Row()))
    return [
        complaint
        for name, kind in kinds.items()
        for complaint in _search(public, rows, name, kind, examples, random)
    ]


def _search(
    public: Public,
    rows: Mapping[str, Row],
    name: str,
    kind: Kind,
    examples: int,
    random: int | None,
) -> list[str]:
    """Of each way to be wrong the first value that shows it."""
    found: dict[str, str] = {}
    called = (name, rows.get(public.key, Row()).called.get(name, name))

    def look(value: Any) -> None:
        wrong = refusal(kind, called, value, lambda: outcome(public, rows, {name: value}))
        if wrong is not None:
            found.setdefault(wrong[:40], f"{public.key}: {name}={value!r:.60}: {wrong:.200}")

    search = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        derandomize=random is None,
        suppress_health_check=list(HealthCheck),
    )(given(kind.outside)(look))
    (search if random is None else seed(random)(search))()
    return list(found.values())


def _numbers(result: Any) -> Iterable[float]:
    if isinstance(result, (float, np.floating)):
        yield float(result)
    elif isinstance(result, np.ndarray) and result.dtype.kind == "f":
        yield from result.ravel().tolist()
    elif isinstance(result, (tuple, list)):
        for part in result:
            yield from _numbers(part)


def answers(public: Public, rows: Mapping[str, Row]) -> list[str]:
    """At the ends of each domain there is an answer, without a warning and without NaN."""
    complaints = []
    row = rows.get(public.key, Row())
    for name, kind in () if row.long else kinds_of(public, row).items():
        for value in () if {name, "*"} & {*row.elsewhere} else kind.inside:
            where = f"{public.key}: {name}={value!r:.60}"
            try:
                result = outcome(public, rows, {name: value})
            except (AccuracyError, InfeasibleBudgetError):
                continue  # a refusal that says why
            except Exception as error:
                complaints.append(f"{where}: {type(error).__name__}: {error!s:.200}")
                continue
            if not row.nan and any(map(math.isnan, _numbers(result))):
                complaints.append(f"{where}: NaN in {result!r:.60}")
    return complaints
