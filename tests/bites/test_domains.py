"""A check that is gone, that clips, or that names nothing is caught by the tests of domains."""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import Any

import pytest

from accountants import ExactAccountant, validation
from dp2theory.optimizers.phases import Phases
from dp2theory.problems import validation as numbers
from tests.properties.domains import checks
from tests.properties.domains.calls import Row
from tests.properties.domains.exempt import exempt
from tests.properties.domains.kinds import OPEN_UNIT, POSITIVE, name_of, vector
from tests.properties.domains.listing import Public, callables_of, public_callables
from tests.properties.domains.rows import ROWS

EXAMPLES = 40


def made(function: Any) -> Public:
    """The one public callable of a module that is made here."""
    module = ModuleType("tests_of_domains")
    function.__module__ = module.__name__
    setattr(module, function.__name__, function)
    sys.modules[module.__name__] = module
    return next(callables_of(module, [function.__name__]))


def complaints(function: Any, row: Row | None = None) -> list[str]:
    public = made(function)
    rows = {} if row is None else {public.key: row}
    assert checks.accepted(public, rows) == []
    return checks.refusals(public, rows, examples=EXAMPLES)


def right(delta: float) -> float:
    """As it is to be."""
    return numbers.open_unit("delta", delta)


def unchecked(delta: float) -> float:
    """Any value is computed with."""
    return delta


def clipped(delta: float) -> float:
    """A value outside is moved inside in silence."""
    return min(max(float(numbers.real_in("delta", delta, -math.inf, math.inf)), 1e-12), 0.5)


def converting(delta: float) -> float:
    """What looks like a number is taken for one."""
    return numbers.open_unit("delta", float(delta))


def closed(delta: float) -> float:
    """The ends are let in."""
    return numbers.real_in("delta", delta, 0.0, 1.0)


def nameless(delta: float) -> float:
    """A refusal that says not what it refuses."""
    try:
        return numbers.open_unit("delta", delta)
    except ValueError:
        raise ValueError("must be in (0, 1)") from None


def shows_nothing(delta: float) -> float:
    """A refusal without the value."""
    try:
        return numbers.open_unit("delta", delta)
    except ValueError:
        raise ValueError("delta must be in (0, 1)") from None


def other_type(delta: float) -> float:
    """A wrong type is another error."""
    if not isinstance(delta, float):
        raise TypeError(f"delta={delta!r} must be a float")
    return numbers.open_unit("delta", delta)


@pytest.mark.parametrize(
    "wrong", [unchecked, clipped, converting, closed, nameless, shows_nothing, other_type]
)
def test_wrong_checks_are_caught(wrong):
    assert complaints(right) == []
    assert complaints(wrong) != []


def test_a_vector_that_is_cut_or_holds_nan_is_caught():
    def sums(parameters: Any) -> float:
        return float(validation.reals("parameters", parameters, "numbers").ravel()[:5].sum())

    row = Row(kinds={"parameters": vector(5)})
    found = complaints(sums, row)
    assert any("accepted" in each for each in found)


def test_a_name_that_is_not_known_is_caught():
    def pick(direction: str) -> str:
        return direction if direction in ("both", "remove", "add") else "both"

    assert complaints(pick, Row(kinds={"direction": name_of("both", "remove", "add")}))


@pytest.mark.parametrize(
    ("key", "argument", "home", "check"),
    [
        (
            "accountants.exact.accountant.ExactAccountant.get_epsilon",
            "target_delta",
            validation,
            "target_delta",
        ),
        ("accountants.sampling.Poisson", "sampling_probability", validation, "probability"),
    ],
)
def test_a_check_that_is_removed_is_caught(monkeypatch, key, argument, home, check):
    public = next(each for each in public_callables() if each.key == key)
    assert checks.refusals(public, ROWS, examples=EXAMPLES) == []
    monkeypatch.setattr(home, check, lambda value, *rest, **more: min(max(value, 1e-9), 0.5))
    found = checks.refusals(public, ROWS, examples=EXAMPLES)
    assert any(f"{argument}=" in each for each in found)


def test_a_class_without_its_check_is_caught(monkeypatch):
    public = next(each for each in public_callables() if each.get() is Phases)
    assert checks.refusals(public, ROWS, examples=EXAMPLES) == []
    monkeypatch.setattr(Phases, "__post_init__", lambda self: None)
    assert len(checks.refusals(public, ROWS, examples=EXAMPLES)) > 1


def test_a_new_callable_is_looked_at_or_asks_to_be():
    """One with known names is called at once; one without is undecided until somebody says."""

    def known(noise_multiplier: float, steps: int) -> float:
        return noise_multiplier * steps

    def unknown(wobble: float) -> float:
        return wobble

    assert made(known).key not in exempt()
    assert checks.undecided(made(known), Row()) == []
    assert checks.refusals(made(known), {}, examples=EXAMPLES) != []
    assert checks.undecided(made(unknown), Row()) != []
    assert checks.undecided(made(unknown), Row(kinds={"wobble": POSITIVE})) == []


def test_answers_at_the_ends_bite():
    def warns(delta: float) -> float:
        return math.log(delta - 1e-12)  # nothing at the lower end

    def not_a_number(delta: float) -> float:
        return math.nan if delta < 1e-6 else 1.0

    row = Row(kinds={"delta": OPEN_UNIT})
    for wrong in (warns, not_a_number):
        public = made(wrong)
        assert checks.answers(public, {public.key: row}) != []
    public = made(right)
    assert checks.answers(public, {public.key: row}) == []


def test_methods_are_called_on_an_object_of_their_own():
    public = next(
        each
        for each in public_callables()
        if each.key == "accountants.exact.accountant.ExactAccountant.get_delta"
    )
    assert checks.accepted(public, ROWS) == []
    assert public.get() is ExactAccountant.get_delta
