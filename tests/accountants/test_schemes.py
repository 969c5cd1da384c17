"""Every sampling scheme is handled by every accountant or refused with a reason; none is forgotten.

mypy holds the first half (``assert_never``), these tests the second: what a scheme that nobody
knows meets where the types are not checked.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, get_args

import numpy as np
import pytest
from dp_accounting import UnsupportedEventError

from accountants import (
    AccuracyError,
    AdvancedCompositionAccountant,
    ExactAccountant,
    GroupAccountant,
    NeighboringRelation,
    RenyiAccountant,
    TruncatedCdpAccountant,
)
from accountants.events import dp_sgd_event, resque_event, sampled_gaussian_event
from accountants.exact.domination import lower_runs, upper_run
from accountants.group_chain import dearest_hop, group_move
from accountants.relations import Direction, rule
from accountants.renyi.curves import divergence
from accountants.sampling import (
    GroupedPoisson,
    OracleDraws,
    Poisson,
    Repeating,
    Sampling,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from accountants.tcdp.families import copy_law
from accountants.tight.steps import step_of
from accountants.walk import Release

REPLACE = NeighboringRelation.REPLACE_ONE
ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
EXAMPLES = [
    Poisson(0.01),
    GroupedPoisson(0.01, 3),
    WithoutReplacement(500, 5),
    WithReplacement(500, 5),
    WeightedWithReplacement(1 / 500, 5),
    ShuffledEpochs(500, 5),
    TruncatedPoisson(500, 0.01, 40),
    OracleDraws(500, 5, 1e-9),
]
ACCOUNTANTS = [
    ExactAccountant,
    partial(GroupAccountant, group_size=2),
    RenyiAccountant,
    TruncatedCdpAccountant,
    AdvancedCompositionAccountant,
]


def event_of(sampling: Sampling) -> Any:
    if isinstance(sampling, OracleDraws):
        return resque_event(
            dataset_size=sampling.dataset_size,
            draws=sampling.batch_size,
            noise_multiplier=1.0,
            failure_probability=sampling.failure_probability,
            calls=1,
        )
    steps = sampling.batches if isinstance(sampling, ShuffledEpochs) else 1
    return dp_sgd_event(sampling=sampling, noise_multiplier=1.0, steps=steps)


def test_there_is_an_example_of_every_scheme() -> None:
    assert {type(each) for each in EXAMPLES} == set(get_args(Sampling))
    assert set(get_args(Repeating)) < set(get_args(Sampling))
    assert all(hasattr(kind, "draw_probability") for kind in get_args(Repeating))
    others = set(get_args(Sampling)) - set(get_args(Repeating))
    assert not any(hasattr(kind, "draw_probability") for kind in others)


@pytest.mark.parametrize("sampling", EXAMPLES, ids=lambda each: each.scheme)
@pytest.mark.parametrize("relation", NeighboringRelation, ids=lambda each: each.name)
@pytest.mark.parametrize("make", ACCOUNTANTS, ids=["exact", "group", "renyi", "tcdp", "classical"])
def test_every_accountant_answers_or_says_why(
    make: Any, relation: NeighboringRelation, sampling: Sampling
) -> None:
    if isinstance(sampling, GroupedPoisson):
        # no loader draws so, and there is no event of it
        with pytest.raises(ValueError, match="must be a description"):
            event_of(sampling)
        return
    event = event_of(sampling)
    try:
        rule(sampling.scheme, relation)
    except ValueError:
        with pytest.raises(UnsupportedEventError, match="no theorem for sampling="):
            make(relation).compose(event)
        return
    accountant = make(relation)
    if accountant.supports(event):
        assert 0 < accountant.compose(event).get_delta(1.0) < 1
    else:
        with pytest.raises(UnsupportedEventError, match=r"\w+ \w+ \w+"):
            accountant.compose(event)


@dataclass(frozen=True)
class Novel:
    """A scheme that nobody added anywhere; under the name of one that the table has."""

    sampling_probability: float = 0.01
    dataset_size: int = 500
    batch_size: int = 5
    scheme: ClassVar[str] = "poisson"


NOVEL: Any = Release(Novel(), 8.0)  # type: ignore[arg-type]
QUESTIONS = {
    "chance": lambda: NOVEL.chance,
    "log_absent": lambda: NOVEL.log_absent,
    "most_copies": lambda: NOVEL.most_copies,
    "upper": lambda: upper_run({NOVEL: 1}, REPLACE, Direction.SYMMETRIC, 1e-12),
    "lower": lambda: lower_runs({NOVEL: 1}, REPLACE, Direction.SYMMETRIC, 1e-12),
    "renyi": lambda: divergence(NOVEL, REPLACE, Direction.SYMMETRIC, np.array([2.0])),
    "tcdp": lambda: copy_law(NOVEL, 1e-12),
    "tight": lambda: step_of(NOVEL, 1e-12),
    "hop": lambda: dearest_hop(NOVEL, 2, ADD_OR_REMOVE),
    "move": lambda: group_move(NOVEL, 2, ADD_OR_REMOVE),
    "event": lambda: sampled_gaussian_event(sampling=NOVEL.sampling, noise_multiplier=8.0),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_unknown_scheme_is_refused_everywhere(name: str) -> None:
    with pytest.raises((AssertionError, AccuracyError, ValueError), match="Novel"):
        QUESTIONS[name]()


def test_the_questions_have_answers_for_known_schemes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "NOVEL", Release(WithoutReplacement(500, 5), 8.0))
    assert all(ask() is not None for ask in QUESTIONS.values())
