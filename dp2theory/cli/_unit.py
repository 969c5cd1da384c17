"""The unit of privacy as commands print it: a record, or a group of them."""

from typing import TYPE_CHECKING

from dp2theory.cli._output import Input

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket, NeighboringRelation

LARGEST_GROUP = 10**6
RECORD = "a record"


def check_group_size(value: int) -> int:
    """`value`, a number of records of one person, when it is in its range."""
    if not 1 <= value <= LARGEST_GROUP:
        raise ValueError(f"--group-size {value}: must be an integer from 1 to {LARGEST_GROUP}")
    return value


def unit_inputs(group_size: int = 1, problem: object | None = None) -> dict[str, Input]:
    """The unit for the output envelope.

    Parameters
    ----------
    group_size : int
        Records that belong together.
    problem : Problem or None
        What a record is, where a problem says so.
    """
    unit = RECORD
    if problem is not None:
        from dp2theory.problems.unit import unit_of

        unit = unit_of(problem)
    if group_size == 1:
        return {"unit_of_privacy": Input(unit, default=True)}
    of_group = f"a group of at most {group_size} records"
    if unit != RECORD:
        of_group += f" (each is {unit})"
    return {
        "unit_of_privacy": Input(of_group, default=True),
        "group_size": Input(group_size, unit="records"),
    }


def beside_inputs(group_size: int) -> dict[str, Input]:
    """The group that is accounted beside a run whose budget is one record's."""
    return {} if group_size == 1 else {"group_size": Input(group_size, unit="records")}


def group_epsilon(
    event: "DpEvent",
    *,
    group_size: int,
    delta: float,
    relation: "NeighboringRelation",
) -> "Bracket":
    """ε at `delta` of a run for groups of `group_size` records; an end that fails is infinite."""
    import math

    from accountants import AccuracyError, Bracket
    from accountants.group import group_accountant

    accountant = group_accountant(relation, group_size=group_size).compose(event)
    try:
        return accountant.epsilon_bracket(delta)
    except AccuracyError:
        return Bracket(0.0, math.inf)
