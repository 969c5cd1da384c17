"""Every public callable refuses what is outside its domains, and answers at their ends."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

import pytest

from tests.properties.domains import checks
from tests.properties.domains.calls import Row
from tests.properties.domains.exempt import exempt
from tests.properties.domains.listing import Public, public_callables
from tests.properties.domains.rows import ROWS

FEW, MANY = 4, 150


def looked_at() -> dict[str, list[Public]]:
    """The callables that are called here, by module."""
    found = defaultdict(list)
    for public in public_callables():
        row = ROWS.get(public.key, Row())
        if public.key not in exempt() and checks.has_domains(public, row):
            found[public.module].append(public)
    return dict(found)


MODULES = looked_at()
BY_MODULE = pytest.mark.parametrize("module", MODULES)


def _called() -> set[str]:
    return {key for key, row in ROWS.items() if not row.only_makes}


def test_every_callable_has_its_domains_or_a_reason():
    """A new public callable is called here by itself if its arguments have known names."""
    every = {public.key for public in public_callables()}
    complaints = [f"{key}: there is no such callable" for key in {*ROWS, *exempt()} - every]
    complaints += [f"{key}: has a row, and is exempt" for key in _called() & {*exempt()}]
    for publics in MODULES.values():
        for public in publics:
            complaints += checks.undecided(public, ROWS.get(public.key, Row()))
    assert sorted(complaints) == []


def test_reasons_are_given_where_there_is_something_to_check():
    idle = [
        public.key
        for public in public_callables()
        if public.key in exempt() and not checks.has_domains(public, Row())
    ]
    assert idle == []
    assert all(len(reason) > 20 for reason in exempt().values())


@BY_MODULE
def test_usual_values_go_through(module):
    assert [each for public in MODULES[module] for each in checks.accepted(public, ROWS)] == []


@BY_MODULE
def test_values_outside_are_refused_by_name(module):
    found = (checks.refusals(public, ROWS, examples=FEW) for public in MODULES[module])
    assert [*chain.from_iterable(found)] == []


@pytest.mark.slow
@BY_MODULE
def test_many_values_outside_are_refused_by_name(module):
    found = (checks.refusals(public, ROWS, examples=MANY, random=1) for public in MODULES[module])
    assert [*chain.from_iterable(found)] == []


@BY_MODULE
def test_there_is_an_answer_at_the_ends(module):
    found = (checks.answers(public, ROWS) for public in MODULES[module])
    assert [*chain.from_iterable(found)] == []
