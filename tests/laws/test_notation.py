"""Events as plain JSON, as a line, as code: nothing is lost, broken documents are refused."""

from __future__ import annotations

import json
import math

import dp_accounting
import numpy as np
import pytest
from hypothesis import given, settings

import accountants.events as own
from accountants.laws import corners
from accountants.laws.notation import KINDS, code, describe, event_from_plain, event_to_plain
from accountants.laws.strategies import events
from accountants.ledger_trees import known_classes

EVERY = [event for family in corners.EVENTS.values() for event in family]
EVERY += [event for _, event, _ in corners.LIMITS]
EVERY += [e for found in corners.INVALID.values() for _, e in found if hasattr(e, "to_named_tuple")]
OTHERS = [
    own.ShuffledEpochDpEvent(100, 10, corners.gaussian(1.0)),
    own.WeightedWithReplacementDpEvent(0.1, 3, corners.gaussian(1.0)),
    own.ResqueOracleDpEvent(100, 10, 4.0, 1e-9),
    dp_accounting.TruncatedSubsampledGaussianDpEvent(100, 0.1, 20, 1.0),
    dp_accounting.dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.5]),
    dp_accounting.SingleEpochTreeAggregationDpEvent(1.0, 8),
    dp_accounting.SingleEpochTreeAggregationDpEvent(1.0, [8, 4]),
    dp_accounting.dp_event.RepeatAndSelectDpEvent(corners.gaussian(1.0), 3.0, math.inf),
    dp_accounting.dp_event.DiscreteLaplaceDpEvent(0.5, 1),
    dp_accounting.UnsupportedDpEvent(),
    dp_accounting.ZCDpEvent(0.1),
]


def there_and_back(event):
    text = json.dumps(event_to_plain(event), allow_nan=False)
    return event_from_plain(json.loads(text))


@pytest.mark.parametrize("event", EVERY + OTHERS, ids=str)
def test_plain_form_and_code_give_the_event_back(event):
    # repr, because NaN is no NaN
    assert repr(there_and_back(event)) == repr(event)
    found = eval(code(event), {"dp": dp_accounting, "events": own})
    assert repr(found) == repr(event)


@settings(max_examples=100)
@given(events())
def test_any_event_survives(event):
    assert there_and_back(event) == event
    assert eval(code(event), {"dp": dp_accounting}) == event
    assert "\n" not in describe(event)


def test_every_known_event_has_a_kind():
    assert set(known_classes()) <= set(KINDS.values())


def test_the_documented_forms():
    step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    run = dp_accounting.SelfComposedDpEvent(step, 1000)
    gaussian = {"kind": "gaussian", "noise_multiplier": 1.0}
    sampled = {"kind": "poisson-sampled", "sampling_probability": 0.01, "event": gaussian}
    plain = event_to_plain(run)
    assert plain == {"kind": "self-composed", "count": 1000, "event": sampled}
    assert list(plain) == ["kind", "count", "event"]
    assert describe(run) == "1000 x Poisson(q=0.01) Gaussian(sigma=1)"
    assert code(run) == (
        "dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000)"
    )


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (corners.gaussian(1e-5), "Gaussian(sigma=1e-5)"),
        (corners.gaussian(math.nan), "Gaussian(sigma=nan)"),
        (corners.times(10**8, corners.laplace(0.1)), "1e8 x Laplace(scale=0.1)"),
        (corners.times(-1, corners.gaussian(1.0)), "-1 x Gaussian(sigma=1)"),
        (corners.times(0, corners.gaussian(1.0)), "0 x Gaussian(sigma=1)"),
        (corners.times(100_001, corners.gaussian(1.0)), "100001 x Gaussian(sigma=1)"),
        (
            corners.times(2, corners.both(corners.gaussian(1.0), corners.response(0.5, 2))),
            "2 x (Gaussian(sigma=1) + RandomizedResponse(p=0.5, buckets=2))",
        ),
        (
            dp_accounting.PoissonSampledDpEvent(0.1, corners.times(3, corners.gaussian(1.0))),
            "Poisson(q=0.1) (3 x Gaussian(sigma=1))",
        ),
        (corners.both(), "nothing composed"),
        (dp_accounting.NoOpDpEvent(), "no-op"),
    ],
)
def test_a_line(event, text):
    assert describe(event) == text


def test_whole_numbers_become_what_the_field_holds():
    sigma = event_from_plain({"kind": "gaussian", "noise_multiplier": 1}).noise_multiplier
    assert isinstance(sigma, float)
    gaussian = {"kind": "gaussian", "noise_multiplier": 1}
    count = event_from_plain({"kind": "self-composed", "count": 3, "event": gaussian}).count
    assert isinstance(count, int)


def test_numpy_scalars_are_written():
    event = corners.times(np.int64(3), corners.gaussian(np.float64(1.5)))
    assert there_and_back(event) == corners.times(3, corners.gaussian(1.5))
    assert code(event) == "dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.5), 3)"


GAUSSIAN = {"kind": "gaussian", "noise_multiplier": 1.0}


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ([], r"\$: \[\]: must be an object with a kind"),
        ({}, r"\$\.kind: None: must be one of no-op, "),
        ({"kind": "gauss"}, r"\$\.kind: 'gauss': must be one of no-op, "),
        ({"kind": ["gaussian"]}, r"\$\.kind: \['gaussian'\]: must be one of"),
        ({"kind": "gaussian"}, r"\$\.noise_multiplier: None: must be given"),
        ({**GAUSSIAN, "sigma": 1}, r"\$\.sigma: 1: must be left out: a gaussian has noise_mul"),
        ({**GAUSSIAN, "noise_multiplier": "1.0"}, r"\$\.noise_multiplier: '1\.0': must be a num"),
        ({**GAUSSIAN, "noise_multiplier": 10**400}, r"must be at most the largest double"),
        ({"kind": "composed", "events": GAUSSIAN}, r"\$\.events: .*: must be a list"),
        ({"kind": "composed", "events": [GAUSSIAN, 3]}, r"\$\.events\[1\]: 3: must be an obj"),
        ({"kind": "self-composed", "count": 1, "event": 1.0}, r"\$\.event: 1\.0: must be an"),
    ],
)
def test_what_is_no_event_is_refused(plain, message):
    with pytest.raises(ValueError, match=message):
        event_from_plain(plain)


@pytest.mark.parametrize("value", [None, "1", 1j])
def test_what_has_no_plain_form_is_refused(value):
    with pytest.raises(ValueError, match=r"\$\.noise_multiplier"):
        event_to_plain(corners.gaussian(value))
    with pytest.raises(ValueError, match=r"\$: "):
        event_to_plain(value)


def test_depth_is_limited():
    event, plain = corners.gaussian(1.0), GAUSSIAN
    for _ in range(200):
        event = corners.times(1, event)
        plain = {"kind": "self-composed", "count": 1, "event": plain}
    with pytest.raises(ValueError, match="at most 100 deep"):
        event_to_plain(event)
    with pytest.raises(ValueError, match="at most 100 deep"):
        event_from_plain(plain)
