"""The rates of Tables 1 and 2 as curves, with the points where they cross.

The paper's own picture is not reproduced: what is drawn are our evaluations of the theorems
resque.table1 and resque.table2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bounds.resque.tables import DEPTH, QUERIES, ROWS
from bounds.resque.tables_private import EXPONENTS
from bounds.resque.tables_private import QUERIES as GRADIENTS
from bounds.resque.tables_private import VALUES as FUNCTION_VALUES
from dp2theory.experiments.resque.rates import (
    RateRow,
    by_method,
    crossing,
    parallel_rates,
    private_exponents,
    value_at,
)
from dp2theory.experiments.resque.request import ResqueRequest
from dp2theory.experiments.resque.result import Gate, ResqueResult, ResqueVerdict

#: Its heading.
TITLE = "Rates of parallel and of private stochastic convex optimization"
#: What is checked.
CLAIM = (
    "For accuracies ε from 1/d to d^(-1/4) ReSQue has the least query depth at SGD's number of "
    "queries; for privacy it needs the fewest gradients while d << n^(4/3), and about n while "
    "d <= n^(1/2)."
)
#: What stands below the picture.
CAPTION = (
    "Our drawing of the rates in Tables 1 and 2 (theorems resque.table1 and resque.table2), "
    "without constants and logarithms, in units with Lipschitz constant and radius 1; the paper's "
    "own picture is not reproduced. For losses that need not be smooth FKT20 is read as at least "
    "quadratic, and drawn as 2. Recalled, not the paper's statement (* where it is a part): the "
    "row AFKT21, KLL21's powers of the privacy ε, the rate behind DBW12, and of what only the "
    "data hold BJL+19's computational depth and n^(9/2) of BFTT19."
)
#: What is said of it besides.
NOTES = (
    "Constants and logarithms are left out: where two methods are within a constant of each other, "
    "these curves do not say which is better.",
    "GLL22 asks for function values, not gradients: another oracle.",
)
#: Sizes of the runs, where no others are asked for.
SIZES: dict[str, Any] = {"points": 49, "thetas": tuple(Fraction(k, 12) for k in range(25))}
#: A crossing is where it should be when its logarithm is this near.
NEAR = 1e-9
#: The window's curves are drawn this many powers of ten beyond its ends.
BEYOND = 1.0
#: The row of ReSQue among parallel methods.
PARALLEL = "Theorem 1"
#: The row of ReSQue among private ones.
PRIVATE = "Theorem 4"
#: d is n to this power where its gradients meet those of another method.
MEET = Fraction(4, 3)
#: d is at most n to this power while it takes about n gradients.
LINEAR_UNTIL = Fraction(1, 2)


@dataclass(frozen=True)
class Crossing:
    """Where two rates meet.

    Attributes
    ----------
    what : str
    at : float or None
        Accuracy ε, or power theta of the dimension; None where they never do.
    expected : float
    expected_words : str
    """

    what: str
    at: float | None
    expected: float
    expected_words: str

    @property
    def holds(self) -> bool:
        """Whether they meet where they should."""
        return self.at is not None and abs(self.at / self.expected - 1) <= NEAR

    @property
    def text(self) -> str:
        """As in "SGD's depth and ReSQue's at 0.1 = d^(-1/4)"."""
        if self.at is None:
            return f"{self.what} nowhere"
        equal = "=" if self.holds else "instead of"
        return f"{self.what} at {self.at:.6g} {equal} {self.expected_words}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "what": self.what, "at": self.at, "expected": self.expected,
            "expected_words": self.expected_words,
        }  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """The curves of both pictures.

    Attributes
    ----------
    dimension : int
        d of the parallel rates.
    accuracies : tuple of float
        Values of ε, in decreasing order.
    parallel : tuple of RateRow
    crossings : tuple of Crossing
    thetas : tuple of Fraction
        Powers: d = n^theta.
    private : tuple of RateRow
    meetings : tuple of Crossing
    """

    dimension: int
    accuracies: tuple[float, ...]
    parallel: tuple[RateRow, ...]
    crossings: tuple[Crossing, ...]
    thetas: tuple[Fraction, ...]
    private: tuple[RateRow, ...]
    meetings: tuple[Crossing, ...]

    @property
    def window(self) -> tuple[float, float]:
        """The accuracies for which ReSQue is best: 1/d and d^(-1/4)."""
        return 1 / self.dimension, self.dimension**-0.25

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        low, high = self.window
        return {
            "dimension": self.dimension,
            "window": {"lower": low, "upper": high},
            "accuracies": list(self.accuracies),
            "parallel": [row.to_json() for row in self.parallel],
            "crossings": [one.to_json() for one in self.crossings],
            "thetas": [float(theta) for theta in self.thetas],
            "private": [row.to_json() for row in self.private],
            "meetings": [one.to_json() for one in self.meetings],
        }


def compute(request: ResqueRequest) -> ResqueResult:
    """Evaluate the rates of both tables and find where they cross."""
    sizes = request.sized(SIZES)
    accuracies = around_window(request.dimension, sizes["points"])
    data = Rates(
        request.dimension,
        accuracies,
        parallel_rates(request.dimension, accuracies),
        parallel_crossings(request.dimension),
        tuple(sizes["thetas"]),
        private_exponents(sizes["thetas"]),
        meetings(),
    )
    return ResqueResult("resque-fig1", TITLE, judge(data), data, CAPTION, notes=NOTES)


def around_window(dimension: int, points: int) -> tuple[float, ...]:
    """Accuracies evenly spread in the logarithm, from beyond d^(-1/4) to beyond 1/d.

    Both ends of the window are among them, up to rounding.
    """
    import numpy as np

    high = float(dimension) ** -0.25 * 10**BEYOND
    low = 10**-BEYOND / dimension
    grid = np.geomspace(min(1.0, high), low, points)
    ends = [dimension**-0.25, 1 / dimension]
    return tuple(float(each) for each in np.unique(np.concatenate([grid, ends]))[::-1])


def parallel_crossings(dimension: int) -> tuple[Crossing, ...]:
    """Where depths and totals of the parallel methods meet, by bisection on the rates."""
    rates = {row.name: row.values for row in ROWS}

    def meet(first: tuple[str, str], second: tuple[str, str]) -> float | None:
        def at(which: tuple[str, str], accuracy: float) -> float:
            method, column = which
            return value_at(rates[method][column], dimension=dimension, accuracy=accuracy)

        return crossing(lambda x: at(first, x), lambda x: at(second, x), 1e-3 / dimension**2, 1.0)

    upper, lower = dimension**-0.25, 1 / dimension
    return (
        Crossing(
            "query depths of ReSQue and SGD", meet((PARALLEL, DEPTH), ("SGD", DEPTH)), upper,
            "d^(-1/4)",
        ),
        Crossing(
            "query depths of ReSQue and DBW12", meet((PARALLEL, DEPTH), ("DBW12", DEPTH)), upper,
            "d^(-1/4)",
        ),
        Crossing(
            "total queries of BJL+19 and SGD", meet(("BJL+19", QUERIES), ("SGD", QUERIES)), lower,
            "1/d",
        ),
    )  # fmt: skip


def meetings() -> tuple[Crossing, ...]:
    """Where Theorem 4's exponent meets those of AFKT21 and KLL21 beyond d = n."""

    def at(key: str) -> Callable[[float], float]:
        return lambda theta: value_at(EXPONENTS[key], dimension_exponent=theta)

    return tuple(
        Crossing(
            f"exponents of Theorem 4 and {name}",
            crossing(at("theorem4"), at(key), 1.0, 2.0),
            float(MEET),
            "4/3",
        )
        for key, name in (("afkt21", "AFKT21"), ("kll21", "KLL21"))
    )


def judge(data: Rates) -> ResqueVerdict:
    """Gate by gate: where rates cross, who is least in the window, who is least for privacy."""
    return ResqueVerdict(
        CLAIM,
        (
            _crossings("the window's ends are where rates cross", data.crossings),
            depth_gate(data),
            total_gate(data),
            meeting_gate(data.meetings),
            fewest_gate(data.thetas, data.private),
            linear_gate(data.thetas, data.private),
            other_oracle_gate(data.thetas, data.private),
        ),
    )


def _crossings(name: str, found: Sequence[Crossing]) -> Gate:
    return Gate(name, all(one.holds for one in found), ", ".join(one.text for one in found))


def meeting_gate(found: Sequence[Crossing]) -> Gate:
    """Theorem 4, AFKT21 and KLL21 meet at d = n^(4/3)."""
    return _crossings("the private rates meet in one point", found)


def _in_window(data: Rates) -> list[int]:
    low, high = data.window
    return [
        place
        for place, each in enumerate(data.accuracies)
        if low * (1 - NEAR) <= each <= high * (1 + NEAR)
    ]


def depth_gate(data: Rates) -> Gate:
    """In the window no method has less query depth than ReSQue."""
    rows, places = by_method(data.parallel), _in_window(data)
    ours = rows[PARALLEL].values[DEPTH]
    worst = max(ours[place] / row.values[DEPTH][place] for row in data.parallel for place in places)
    return Gate(
        "least query depth in the window", worst <= 1 + NEAR,
        f"at most {worst:.4g} times the least of the others at {len(places)} accuracies",
    )  # fmt: skip


def total_gate(data: Rates) -> Gate:
    """In the window ReSQue makes at most twice SGD's queries, and BJL+19 at least SGD's."""
    rows, places = by_method(data.parallel), _in_window(data)
    ours, theirs, smooth = (rows[method].values[QUERIES] for method in (PARALLEL, "SGD", "BJL+19"))
    most = max(ours[place] / theirs[place] for place in places)
    least = min(smooth[place] / theirs[place] for place in places)
    holds = most <= 2 * (1 + NEAR) and least >= 1 - NEAR
    text = f"at most {most:.4g} times SGD's, where BJL+19 makes {least:.4g} times or more"
    return Gate("SGD's total queries in the window", holds, text)


def fewest_gate(thetas: Sequence[Fraction], rows: Sequence[RateRow]) -> Gate:
    """Theorem 4 has the smallest exponent of gradients below n^(4/3), and not beyond."""
    ours, others = _gradients(rows)
    below = [place for place, theta in enumerate(thetas) if theta < MEET]
    beyond = [place for place, theta in enumerate(thetas) if theta > MEET]
    margin = min(min(other[p] for other in others) - ours[p] for p in below)
    excess = min((ours[p] - min(other[p] for other in others) for p in beyond), default=0.0)
    holds = margin > 0 and (excess > 0 or not beyond)
    text = f"the exponent is at least {margin:.3g} below every other's while d < n^(4/3)"
    if beyond:
        text += f", and at least {excess:.3g} above the least beyond (AFKT21 as recalled)"
    return Gate("fewest gradients while d < n^(4/3)", holds, text)


def linear_gate(thetas: Sequence[Fraction], rows: Sequence[RateRow]) -> Gate:
    """Theorem 4 is near-linear exactly while d <= n^(1/2)."""
    ours, _ = _gradients(rows)
    linear = [theta for theta, power in zip(thetas, ours, strict=True) if power <= 1 + NEAR]
    wanted = [theta for theta in thetas if theta <= LINEAR_UNTIL]
    text = f"exponent 1 up to theta = {max(linear, default='no value')}, more beyond"
    return Gate("near-linear while d <= n^(1/2)", bool(wanted) and linear == wanted, text)


def other_oracle_gate(thetas: Sequence[Fraction], rows: Sequence[RateRow]) -> Gate:
    """GLL22, which asks for function values, has the larger exponent for every theta > 0."""
    ours, _ = _gradients(rows)
    theirs = by_method(rows)["GLL22"].values[FUNCTION_VALUES]
    places = [place for place, theta in enumerate(thetas) if theta > 0]
    margin = min(theirs[p] - ours[p] for p in places)
    first = min(thetas[p] for p in places)
    text = f"its exponent is at least {margin:.3g} larger for theta >= {first}"
    return Gate("fewer than GLL22's function values", margin > 0, text)


def _gradients(rows: Sequence[RateRow]) -> tuple[tuple[float, ...], list[tuple[float, ...]]]:
    """Exponents of Theorem 4, and of the other methods that ask for gradients."""
    ours = by_method(rows)[PRIVATE].values[GRADIENTS]
    others = [
        row.values[GRADIENTS] for row in rows if row.method != PRIVATE and GRADIENTS in row.values
    ]
    return ours, others
