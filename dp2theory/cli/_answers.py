"""One question (ε at a δ, or δ at an ε) put to the accountants of this project."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dp2theory.cli._exit import reason

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket, NeighboringRelation

ACCOUNTANTS = ("exact", "renyi", "tcdp", "all")
TIGHTNESS = ("tight", "fast")
#: Beside an upper end of infinity.
NOT_FINITE = (
    "  no finite value is proved: there is none (no noise, or failures that alone weigh "
    "more than delta), or delta is below what double precision keeps (about 1e-305)"
)
#: How each accountant is named to a person.
NAMES = {"exact": "exact", "renyi": "Rényi", "tcdp": "truncated CDP"}


@dataclass(frozen=True)
class Question:
    """What is asked: ε at `delta`, or δ at `epsilon` (the other is None), for groups of records."""

    relation: "NeighboringRelation"
    delta: float | None = None
    epsilon: float | None = None
    group_size: int = 1

    @property
    def asked(self) -> str:
        """The name of what is asked for."""
        return "epsilon" if self.delta is not None else "delta"


def chosen(accountant: str) -> tuple[str, ...]:
    """The accountants that a `--accountant` names."""
    return ACCOUNTANTS[:-1] if accountant == "all" else (accountant,)


def answers(
    event: "DpEvent", question: Question, *, accountant: str, tightness: str
) -> list[dict[str, Any]]:
    """What each chosen accountant says, the exact one first.

    Returns
    -------
    list of dict
        ``accountant``, ``claim`` ("two-sided" or "upper"), the bracket ``epsilon`` or ``delta``,
        and what else belongs to it. Among several, one that has no theorem for the event has
        ``refused`` with its reason in place of the bracket.

    Raises
    ------
    dp_accounting.privacy_accountant.UnsupportedEventError
        If the only accountant that was asked has no theorem for the event.
    """
    from dp_accounting.privacy_accountant import UnsupportedEventError

    found: list[dict[str, Any]] = []
    for name in chosen(accountant):
        ask = _exact if name == "exact" else _one_sided
        try:
            found.append(ask(name, event, question, tightness))
        except UnsupportedEventError as error:
            # The exact accountant covers most: what it refuses is refused as a whole.
            if name in ("exact", accountant):
                raise
            found.append({"accountant": name, "claim": "none", "refused": reason(error)})
    return found


def _exact(name: str, event: "DpEvent", question: Question, tightness: str) -> dict[str, Any]:
    from accountants.group import group_accountant

    accountant = group_accountant(
        question.relation, tightness=tightness, group_size=question.group_size
    )
    accountant.compose(event)
    answer: dict[str, Any] = {
        "accountant": name,
        "claim": "two-sided",
        "tightness": tightness,
        "releases": accountant.steps,
    }
    if question.delta is not None:
        answer["epsilon"] = accountant.epsilon_bracket(question.delta)
    else:
        assert question.epsilon is not None
        answer["delta"] = accountant.delta_bracket(question.epsilon)
        # δ below the smallest double still has a logarithm.
        answer["log_delta"] = accountant.log_delta_bracket(question.epsilon)
    explanation = accountant.explain(event)
    answer["explanation"] = {
        "upper": explanation.upper,
        "lower": explanation.lower,
        "exact": explanation.exact,
        "source": explanation.source,
    }
    return answer


def _one_sided(name: str, event: "DpEvent", question: Question, _: str) -> dict[str, Any]:
    from accountants import Bracket
    from accountants.rounding import above

    accountant: Any
    if name == "renyi":
        from accountants.renyi.accountant import RenyiAccountant

        accountant = RenyiAccountant(neighboring_relation=question.relation)
    else:
        from accountants.tcdp.accountant import TruncatedCdpAccountant

        accountant = TruncatedCdpAccountant(neighboring_relation=question.relation)
    accountant.compose(event)
    answer: dict[str, Any] = {
        "accountant": name,
        "claim": "upper",
        "releases": accountant.steps,
    }
    if question.delta is not None:
        answer["epsilon"] = Bracket(0.0, float(accountant.get_epsilon(question.delta)))
    else:
        upper = float(accountant.get_delta(question.epsilon))
        answer["delta"] = Bracket(0.0, upper)
        log_upper = above(math.log(upper)) if upper > 0 else -math.inf
        answer["log_delta"] = Bracket(-math.inf, log_upper)
    return answer


def describe(found: list[dict[str, Any]], question: Question) -> str:
    """The answers as lines for a person; the first in full."""
    asked = question.asked
    first = found[0]
    lines = [f"{asked} <= {first[asked].upper!r}"]
    if first["claim"] == "two-sided":
        lines.append(f"{asked} >= {first[asked].lower!r}")
    if first[asked].upper == math.inf:
        lines.append(NOT_FINITE)
    if asked == "delta":
        log_delta: Bracket = first["log_delta"]
        low = "" if first["claim"] == "two-sided" else " (upper end only)"
        lines.append(f"log(delta) in [{log_delta.lower!r}, {log_delta.upper!r}]{low}")
    lines.append(f"accountant: {_title(first)}")
    if "explanation" in first:
        explained = first["explanation"]
        if explained["exact"]:
            lines.append("  both ends come from one pair and differ by rounding only")
        lines.append(f"  upper end: {explained['upper']}")
        lines.append(f"  lower end: {explained['lower']}")
        lines.append(f"  proofs: {explained['source']}")
    for answer in found[1:]:
        if "refused" in answer:
            lines.append(f"{_title(answer)}: not supported: {answer['refused']}")
        else:
            lines.append(f"{_title(answer)}: {asked} <= {answer[asked].upper!r}")
    return "\n".join(lines)


def _title(answer: dict[str, Any]) -> str:
    name = NAMES[answer["accountant"]]
    if answer["claim"] == "two-sided":
        return f"{name}, {answer['tightness']}"
    return f"{name} (upper end only)" if answer["claim"] == "upper" else name
