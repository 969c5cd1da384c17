"""Two answers of one accountant that must be the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

from accountants.bracket import Bracket
from accountants.laws import oracle
from accountants.laws.case import Case
from accountants.laws.catalogue import judging
from accountants.laws.law import Held, Outcome
from accountants.laws.program import Reply
from accountants.laws.report import Kind

#: Relative, of ε: how far two ways to one answer may differ.
TOLERANCE = 0.01
#: Why it is that.
REASON = "two grids of one accountant may differ by that; what is below the truth is no tolerance"
#: What confirms a finding that rests on no truth.
OWN = "the accountant's own answers"


def agree(
    law: str,
    clause: str,
    case: Case,
    replies: Sequence[tuple[str, Reply]],
    *,
    kind: Kind = Kind.CONTRACT,
    tolerance: float = TOLERANCE,
) -> Outcome:
    """Compare answers to the same question, each with the words for how it was put.

    Parameters
    ----------
    law, clause : str
    case : Case
        The question.
    replies : sequence of (str, Reply)
    kind : Kind
        Of a disagreement of which no side is below the truth.
    tolerance : float
        Relative.
    """
    for _, reply in replies:
        missing = judging.unanswered(reply)
        if missing is not None:
            return missing
    for how, reply in replies:
        if reply.value is None or math.isnan(reply.value):
            return judging.contract(law, clause, case, reply, f"{how}: epsilon is no number")
    values = [(reply.value, how) for how, reply in replies if reply.value is not None]
    (low, low_how), (high, high_how) = min(values), max(values)
    if high == low or high - low <= tolerance * abs(high) + judging.NEGLIGIBLE:
        return Held()
    message = f"{low:.9g} ({low_how}) and {high:.9g} ({high_how}) for the same run"
    truth = known(case)
    if truth is not None and judging.too_low(low, truth):
        return judging.understated_epsilon(law, clause, case, low, truth, message)
    if kind is Kind.LOOSENESS:
        return judging.loose(law, clause, case, high, truth or Bracket(0.0, math.inf), message)
    return judging.contract(law, clause, case, low, message, confirmed_by=OWN, truth=truth)


def known(case: Case) -> Bracket | None:
    """The truth, or None where there is none."""
    try:
        return judging.true_epsilon(case)
    except oracle.NoOracle:
        return None
