"""L5: more privacy parameters, more or less ε, in the right direction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation
from hypothesis import strategies as st

from accountants.laws import strategies
from accountants.laws.case import Case
from accountants.laws.catalogue import agreement, judging
from accountants.laws.law import Clause, Held, Law, Outcome, Scope

#: Relative, of ε: how far an answer may fall where it must not.
TOLERANCE = 0.01


@dataclass(frozen=True)
class Pair:
    """Two cases of which ``more`` costs at least what ``less`` costs."""

    less: Case
    more: Case


@dataclass(frozen=True)
class Steps:
    """Equal steps of DP-SGD, and the δ of the question.

    Attributes
    ----------
    sigma, q : float
        Noise multiplier and sampling probability.
    steps : int
        How many.
    delta : float
        δ at which ε is asked.
    """

    sigma: float
    q: float
    steps: int
    delta: float

    def case(self, relation: NeighboringRelation) -> Case:
        """As a question about ε."""
        event: dp_accounting.DpEvent = dp_accounting.GaussianDpEvent(self.sigma)
        if self.q < 1:
            event = dp_accounting.PoissonSampledDpEvent(self.q, event)
        return Case(dp_accounting.SelfComposedDpEvent(event, self.steps), relation, self.delta)


_BASES = (
    Steps(1.0, 0.01, 1000, 1e-5),
    Steps(1.0, 1.0, 10, 1e-5),
    Steps(4.0, 0.1, 100, 1e-8),
    Steps(0.7, 0.001, 10_000, 1e-6),
    Steps(1.0, 0.01, 1, 1e-5),
    Steps(2.0, 0.9, 10, 1e-5),
    Steps(20.0, 0.01, 1000, 1e-12),
    Steps(1.0, 0.5, 1000, 1e-5),
)


def _less(base: Steps, what: str, factor: float) -> Steps:
    """``base`` with less cost, by one of its numbers."""
    if what == "delta":
        return Steps(base.sigma, base.q, base.steps, min(1.0, base.delta * factor))
    if what == "sigma":
        return Steps(base.sigma * factor, base.q, base.steps, base.delta)
    if what == "q":
        return Steps(base.sigma, base.q / factor, base.steps, base.delta)
    return Steps(base.sigma, base.q, math.floor(base.steps / factor), base.delta)


def _clause(what: str) -> Clause:
    def corners(scope: Scope) -> list[Pair]:
        return [
            Pair(_less(base, what, factor).case(scope.relation), base.case(scope.relation))
            for base in _BASES
            for factor in (2.0, 1.1)
        ]

    def strategy(scope: Scope) -> st.SearchStrategy[Pair]:
        return st.builds(
            lambda sigma, q, steps, delta, factor: Pair(
                _less(Steps(sigma, q, steps, delta), what, factor).case(scope.relation),
                Steps(sigma, q, steps, delta).case(scope.relation),
            ),
            strategies.noise_multipliers(0.3, 100.0),
            strategies.probabilities(1e-5, 1.0),
            strategies.steps(10**6),
            strategies.deltas(1e-15, 0.1),
            st.sampled_from((2.0, 10.0, 1.1, 1.01)),
        )

    def check(scope: Scope, pair: Pair) -> Outcome:
        less, more = (judging.ask_epsilon(scope, case) for case in (pair.less, pair.more))
        missing = judging.unanswered(less) or judging.unanswered(more)
        if missing is not None:
            return missing
        for reply, case in ((less, pair.less), (more, pair.more)):
            if reply.value is None or math.isnan(reply.value):
                return judging.contract("L5", what, case, reply, "epsilon is no number")
        assert less.value is not None
        assert more.value is not None
        floor = max(less.value, 0.0) * (1 - TOLERANCE)  # a negative one is for L1
        if more.value >= floor - judging.NEGLIGIBLE:
            return Held()
        message = (
            f"epsilon falls from {less.value:.9g} to {more.value:.9g} although {what} changes to "
            f"more cost; less cost: {pair.less.describe()}"
        )
        truth = agreement.known(pair.more)
        if truth is not None and judging.too_low(more.value, truth):
            return judging.understated_epsilon("L5", what, pair.more, more.value, truth, message)
        return judging.contract(
            "L5",
            what,
            pair.more,
            more,
            message,
            confirmed_by="the accountant's own two answers",
            truth=truth,
        )

    return Clause(what, corners, check, strategy)


L5 = Law(
    id="L5",
    weight=2.0,
    title="monotone",
    statement="epsilon does not rise with delta or sigma and does not fall with q or T",
    needs="get_epsilon",
    tolerance=TOLERANCE,
    reason="answers on grids may waver by less; what is below the truth is found by L4",
    source="microsoft/prv_accountant#17",
    clauses=tuple(_clause(what) for what in ("delta", "sigma", "q", "steps")),
)
