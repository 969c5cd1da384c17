"""A few calls on a fresh accountant, and what each of them answered."""

from __future__ import annotations

import enum
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws.candidate import Candidate


class Call(enum.Enum):
    """What is called."""

    COMPOSE = "compose"
    EPSILON = "epsilon"
    DELTA = "delta"
    BRACKET = "bracket"
    LENGTH = "length"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Step:
    """One call: ``compose(event, count)``, or a question at ``at``.

    ``ELSEWHERE`` composes on another accountant, made for it, which stays alive.
    """

    call: Call
    event: dp_accounting.DpEvent | None = None
    count: int = 1
    at: float = 0.0


@dataclass(frozen=True)
class Program:
    """Calls on one fresh accountant under ``relation`` (with ``orders`` where they are given).

    Attributes
    ----------
    steps : tuple of Step
        The calls, in order.
    """

    relation: NeighboringRelation
    steps: tuple[Step, ...]
    orders: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Calibration:
    """Asks for the noise multiplier of ``template`` (see ``calibrated``).

    Attributes
    ----------
    relation : NeighboringRelation
        Which data sets are neighbours.
    template : DpEvent
        The run, with 1.0 for the noise multiplier.
    epsilon, delta : float
        What it may cost.
    """

    relation: NeighboringRelation
    template: dp_accounting.DpEvent
    epsilon: float
    delta: float


@dataclass(frozen=True)
class RenyiQuestion:
    """Asks for Rényi divergences.

    Attributes
    ----------
    relation : NeighboringRelation
        Which data sets are neighbours.
    event : DpEvent
        The run.
    orders : tuple of float
        Finite, > 1.
    """

    relation: NeighboringRelation
    event: dp_accounting.DpEvent
    orders: tuple[float, ...]


#: What a candidate is asked in one process.
Request = Program | Calibration | RenyiQuestion


@dataclass(frozen=True)
class Reply:
    """The answer to one call.

    Attributes
    ----------
    value : float or None
        None where there is none.
    upper : float or None
        The other end, for a bracket; the number of steps beside a length, where it has both.
    text : str
        What was answered if it is no number.
    refusal : str
        The exception that was raised instead ("" where none was).
    exhausted : str
        The limit that was passed ("" where none was).
    """

    value: float | None = None
    upper: float | None = None
    text: str = ""
    refusal: str = ""
    exhausted: str = ""

    @property
    def answered(self) -> bool:
        """Whether there is any answer, sensible or not."""
        return not self.refusal and not self.exhausted


def compose(event: dp_accounting.DpEvent, count: int = 1) -> Step:
    """The call ``compose(event, count)``."""
    return Step(Call.COMPOSE, event, count)


def epsilon_at(delta: float) -> Step:
    """The call ``get_epsilon(delta)``."""
    return Step(Call.EPSILON, at=delta)


def delta_at(epsilon: float) -> Step:
    """The call ``get_delta(epsilon)``."""
    return Step(Call.DELTA, at=epsilon)


def bracket_at(delta: float) -> Step:
    """The call ``epsilon_bracket(delta)``."""
    return Step(Call.BRACKET, at=delta)


def elsewhere(event: dp_accounting.DpEvent) -> Step:
    """``compose(event)`` on another accountant."""
    return Step(Call.ELSEWHERE, event)


#: Asks how many releases were composed.
LENGTH = Step(Call.LENGTH)


def calibrated(template: dp_accounting.DpEvent, noise_multiplier: float) -> dp_accounting.DpEvent:
    """``template`` with ``noise_multiplier`` times that of every Gaussian in it."""
    import attr

    if isinstance(template, dp_accounting.GaussianDpEvent):
        return dp_accounting.GaussianDpEvent(template.noise_multiplier * noise_multiplier)
    if isinstance(template, dp_accounting.ComposedDpEvent):
        return dp_accounting.ComposedDpEvent(
            [calibrated(event, noise_multiplier) for event in template.events]
        )
    return attr.evolve(template, event=calibrated(template.event, noise_multiplier))


def run(candidate: Candidate, request: Request) -> tuple[Reply, ...]:
    """Carry out ``request`` here and now; what the candidate raises becomes a refusal."""
    if isinstance(request, Calibration):
        return (_calibrate(candidate, request),)
    if isinstance(request, RenyiQuestion):
        return _renyi(candidate, request)
    try:
        accountant = _make(candidate, request)
    except Exception as error:
        return (Reply(refusal=_reason(error)),) * len(request.steps)
    replies: list[Reply] = []
    others: list[Any] = []
    for step in request.steps:
        try:
            if step.call is Call.ELSEWHERE:
                others.append(_make(candidate, request))
                others[-1].compose(step.event)
                reply = Reply()
            else:
                reply, accountant = _carry_out(accountant, step)
        except MemoryError:
            reply = Reply(exhausted="memory")
        except Exception as error:  # a refusal, whatever its type: it names no ε
            reply = Reply(refusal=_reason(error))
        replies.append(reply)
        if step.call is Call.COMPOSE and not reply.answered:
            break
    return (*replies, *(replies[-1],) * (len(request.steps) - len(replies)))


def _make(candidate: Candidate, request: Program) -> Any:
    if request.orders is None:
        return candidate.make(request.relation)
    if candidate.make_with_orders is None:
        raise ValueError("takes no orders")
    return candidate.make_with_orders(request.relation, request.orders)


def _carry_out(accountant: Any, step: Step) -> tuple[Reply, Any]:
    """The reply, and the accountant to go on with."""
    if step.call is not Call.COMPOSE:
        return _answer(accountant, step), accountant
    if step.count == 1:
        composed = accountant.compose(step.event)
    else:
        composed = accountant.compose(step.event, step.count)
    # Some change themselves, some return another one and stay as they are.
    return Reply(), composed if hasattr(composed, "get_epsilon") else accountant


def _answer(accountant: Any, step: Step) -> Reply:
    if step.call is Call.EPSILON:
        return _number(accountant.get_epsilon(step.at))
    if step.call is Call.DELTA:
        return _number(accountant.get_delta(step.at))
    if step.call is Call.BRACKET:
        ends = accountant.epsilon_bracket(step.at)
        lower, upper = (ends.lower, ends.upper) if hasattr(ends, "lower") else ends
        return Reply(float(lower), float(upper))
    return _length(accountant)


def _length(accountant: Any) -> Reply:
    """Its length, and what it calls its steps; a list of steps is no number of them."""
    steps: Any = getattr(accountant, "steps", None)
    counted = not isinstance(steps, bool) and isinstance(steps, numbers.Real)
    if not hasattr(accountant, "__len__"):
        if not counted:
            raise TypeError("has no length")
        return _number(steps)
    return Reply(float(len(accountant)), float(steps) if counted else None)


def _number(answer: Any) -> Reply:
    try:
        return Reply(float(answer))
    except (TypeError, ValueError, OverflowError):
        return Reply(text=repr(answer)[:80])


def _calibrate(candidate: Candidate, request: Calibration) -> Reply:
    def make_event(noise_multiplier: float) -> dp_accounting.DpEvent:
        return calibrated(request.template, noise_multiplier)

    if candidate.calibrate is None:
        return Reply(refusal="has no calibration")
    try:
        return _number(
            candidate.calibrate(make_event, request.relation, request.epsilon, request.delta)
        )
    except MemoryError:
        return Reply(exhausted="memory")
    except Exception as error:
        return Reply(refusal=_reason(error))


def _renyi(candidate: Candidate, request: RenyiQuestion) -> tuple[Reply, ...]:
    if candidate.renyi is None:
        return (Reply(refusal="gives no Rényi divergences"),) * len(request.orders)
    try:
        values: Sequence[Any] = candidate.renyi(request.event, request.relation, request.orders)
        return tuple(_number(value) for value in values)
    except Exception as error:
        return (Reply(refusal=_reason(error)),) * len(request.orders)


def _reason(error: BaseException) -> str:
    shown = "".join(letter if letter.isprintable() else " " for letter in str(error))
    text = " ".join(shown.split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__
