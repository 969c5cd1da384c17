"""Curves beside an answer: δ against ε as CSV, ε against steps as a picture.

Curves come from the fast ends throughout, ε against steps from rough ones (a lower end is that of
one pair of data sets); a tight end stands at the last step only.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.cli._answers import Question

if TYPE_CHECKING:
    from dp_accounting import DpEvent

PICTURES = (".png", ".svg")
CURVE_POINTS = 41
STEP_POINTS = 10
RANGE = 200  # the picture begins at this fraction of the run: its first steps are slow to account
#: The CSV goes as far as the ε that belongs to this δ, or to the δ asked for if smaller.
SMALLEST_DELTA = 1e-12


def check_picture(path: Path | None) -> None:
    """Refuse a name that says no kind of picture."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise ValueError(f"--plot {path}: must end in {' or '.join(PICTURES)}")


def write_curve(path: Path, event: "DpEvent", question: Question) -> None:
    """The (ε, δ) curve as CSV: 41 equally spaced ε from 0, with both ends of δ.

    Parameters
    ----------
    path : Path
    event : DpEvent
    question : Question
        Its relation, and its δ where that is below 1e-12.

    Raises
    ------
    ValueError
        If the run has no finite ε.
    """
    import numpy as np

    from accountants.conversion import DeltaCurve
    from accountants.group import group_accountant

    accountant = group_accountant(question.relation, group_size=question.group_size)
    accountant.compose(event)
    last = accountant.get_epsilon(min(question.delta or 1.0, SMALLEST_DELTA))
    if not math.isfinite(last):
        raise ValueError("--curve: the run has no finite ε, so there is no curve to write")
    DeltaCurve.of(accountant, np.linspace(0.0, last, CURVE_POINTS).tolist()).to_csv(path)


def pieces(event: "DpEvent") -> "Iterator[tuple[DpEvent, int]]":
    """The parts of a tree in order, each with how often it is repeated."""
    if hasattr(event, "events"):
        for child in event.events:
            yield from pieces(child)
    elif hasattr(event, "count") and hasattr(event, "event"):
        if event.count:
            yield event.event, event.count
    else:
        yield event, 1


def prefixes(event: "DpEvent", points: int = STEP_POINTS) -> "list[DpEvent]":
    """Beginnings of a run, ever longer ones; the last is the whole run."""
    from dp_accounting import ComposedDpEvent, SelfComposedDpEvent

    parts = list(pieces(event))
    total = sum(count for _, count in parts)
    if total == 0:
        return []
    first = max(1, total // RANGE)
    ratio = total / first
    wanted = sorted({round(first * ratio ** (k / (points - 1))) for k in range(points)})
    wanted[-1] = total
    made = []
    for units in wanted:
        left, beginning = units, []
        for part, count in parts:
            taken = min(count, left)
            if taken:
                beginning.append(SelfComposedDpEvent(part, taken))
            left -= taken
        made.append(ComposedDpEvent(beginning))
    return made


def against_steps(
    event: "DpEvent",
    question: Question,
    names: tuple[str, ...],
    on_point: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """ε at the δ of the question after ever more steps, per accountant.

    Returns
    -------
    dict
        ``steps``: numbers of releases; ``exact``: lists ``lower`` and ``upper``; per one-sided
        accountant of `names` that covers the run a list ``upper``.
    """
    from accountants import ExactAccountant

    assert question.delta is not None
    series: dict[str, Any] = {"steps": [], "exact": {"lower": [], "upper": []}}
    others = [name for name in names if name != "exact"]
    for beginning in prefixes(event):
        accountant = ExactAccountant(question.relation)
        accountant.compose(beginning)
        bracket = accountant.rough_epsilon_bracket(question.delta)
        series["steps"].append(accountant.steps)
        series["exact"]["lower"].append(bracket.lower)
        series["exact"]["upper"].append(bracket.upper)
        for name in others:
            upper = _upper(name, beginning, question)
            if upper is not None:
                series.setdefault(name, {"upper": []})["upper"].append(upper)
        on_point()
    return series


def _upper(name: str, event: "DpEvent", question: Question) -> float | None:
    from dp_accounting.privacy_accountant import UnsupportedEventError

    from dp2theory.cli._answers import answers

    try:
        (answer,) = answers(event, question, accountant=name, tightness="fast")
    except UnsupportedEventError:
        return None
    upper: float = answer["epsilon"].upper
    return upper
