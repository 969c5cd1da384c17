"""A posteriori: what the master inequality says of runs that were made, beside what they did.

Its right side is an expectation of what the runs show (preconditioners, batch gradients), so that
the mean over S runs is an unbiased estimate of it. It is an estimate and no guarantee, and it reads
raw gradients: neither it nor anything computed from it is for release.

Both sides are the theorems' own statements, evaluated on the traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from accountants import Bracket
from accountants.sampling import Poisson
from bounds import theorems
from bounds.model import Model
from dp2theory.planning.intervals import student_interval

if TYPE_CHECKING:
    from accountants.sampling import Sampling
    from dp2theory.problems.protocol import Array, Problem
    from dp2theory.verification.certify_trace import Trace

#: Coverage of the intervals, over the randomness of the runs.
CONFIDENCE = 0.95
#: What a bound may be below a gap by rounding, relative.
_ROUNDING = 1e-9
#: Theorems on DP² that do not speak of the runs, and why.
_DECAYING = "it is about step sizes that decay from phase to phase"
_COMMON = "it is about the variant whose SGD phases divide by the preconditioner, too"
#: By theorem, why it says nothing of runs in two modes.
NOT_APPLICABLE = {"dp2.A": _DECAYING, "dp2.C": _COMMON, "dp2.CTV": _COMMON}


@dataclass(frozen=True)
class CertifiedBound:
    """One theorem on the runs.

    Attributes
    ----------
    theorem : str
    gap_of : str
        What is bounded, in words.
    reads : str
        What the bound is computed from.
    kind : str
        "estimate" of a bound that reads the traces; "upper", a proved upper end, of one that is
        computed from known constants alone.
    bound, gap : float
        Means over the runs, in units of the loss.
    bound_interval, gap_interval : Bracket or None
        Student intervals of these means; None for a bound with one value for all runs together.
        That of the best step is optimistic: which step it is was chosen by the same runs.
    runs_above : int
        Runs whose own gap is above their own side of the bound; the theorem is about means, and
        allows for that.
    holds : bool
        Whether the bound is not told apart from something at or above the gap.
    """

    theorem: str
    gap_of: str
    reads: str
    kind: str
    bound: float
    gap: float
    bound_interval: Bracket | None
    gap_interval: Bracket
    runs_above: int
    holds: bool

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "theorem": self.theorem,
            "gap_of": self.gap_of,
            "reads": self.reads,
            "kind": self.kind,
            "bound": self.bound,
            "bound_interval": self.bound_interval and self.bound_interval.to_json(),
            "gap": self.gap,
            "gap_interval": self.gap_interval.to_json(),
            "runs_above": self.runs_above,
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Certificate:
    """What the theorems say of S runs of one method.

    Attributes
    ----------
    runs, steps, dimension : int
    low, high : float
        The box, the same in every coordinate.
    bounds : tuple of CertifiedBound
    optimal_value : float
        Minimum of the train loss on the box: gaps are above it.
    trivial : float
        What bounds the gap of any point of the box: Lipschitz constant times diameter.
    not_applicable : dict
        Theorems that do not speak of these runs, and why.
    """

    runs: int
    steps: int
    dimension: int
    low: float
    high: float
    bounds: tuple[CertifiedBound, ...]
    optimal_value: float
    trivial: float
    not_applicable: dict[str, str]

    @property
    def statement(self) -> str:
        """What this is, in words."""
        return f"an estimate over {self.runs} runs, not for release: it reads raw gradients"

    @property
    def violated(self) -> bool:
        """Whether a bound lies below what it bounds, beyond the noise of the runs."""
        return not all(each.holds for each in self.bounds)

    @property
    def vacuous(self) -> bool:
        """Whether the smallest bound says no more than that the iterates are in the box."""
        return min(each.bound for each in self.bounds) >= self.trivial

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "statement": self.statement,
            "runs": self.runs,
            "box": {"low": self.low, "high": self.high, "dimension": self.dimension},
            "optimal_value": self.optimal_value,
            "bounds": [each.to_json() for each in self.bounds],
            "trivial": self.trivial,
            "vacuous": self.vacuous,
            "violated": self.violated,
            "confidence": CONFIDENCE,
            "not_applicable": dict(self.not_applicable),
        }


def certify(problem: Problem, sampling: Sampling, traces: Sequence[Trace]) -> Certificate:
    """Evaluate the theorems on the traces of some runs of one method.

    Parameters
    ----------
    problem : Problem
        What was run on.
    sampling : Sampling
        How batches were drawn.
    traces : sequence of Trace
        At least two, of runs that differ in their seed only (`certify_trace.record_run`).

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        Too few traces, a trace that does not obey the update rule, traces of different methods, or
        runs in which gradients were clipped.
    """
    if len(traces) < 2:
        raise ValueError(f"{len(traces)} runs: expectations are estimated from at least 2")
    first = traces[0]
    for each in traces:
        each.check()
        if not (np.array_equal(each.a, first.a) and np.array_equal(each.nu, first.nu)):
            raise ValueError("traces: step sizes or noise differ, they are not of one method")
    known = problem.constants
    assert known.lipschitz is not None
    assert known.diameter is not None
    assert known.optimal_value is not None
    steps, dimension = first.g.shape
    return Certificate(
        runs=len(traces),
        steps=steps,
        dimension=dimension,
        low=first.low,
        high=first.high,
        bounds=tuple(_bounds(traces, _moment(problem, sampling))),
        optimal_value=known.optimal_value,
        trivial=known.lipschitz * known.diameter,
        not_applicable=NOT_APPLICABLE if _two_modes(first) else {},
    )


def _moment(problem: Problem, sampling: Sampling) -> float:
    """Root mean square of a batch's mean gradient, at most."""
    largest = float(problem.constants.lipschitz or 0.0)
    if not isinstance(sampling, Poisson):
        return largest
    # Poisson batches vary in size and the divisor does not.
    q = sampling.sampling_probability
    return largest * sqrt(1 + (1 - q) / (q * problem.dataset_size))


def _two_modes(trace: Trace) -> bool:
    return not bool((trace.D == 1).all())


def _bounds(traces: Sequence[Trace], moment: float) -> list[CertifiedBound]:
    first, reads = traces[0], "raw gradients and preconditioners of the runs"
    steps = len(first.a)
    equal = np.ones(steps)
    ends = [_sides("dp2.master", _model([each], equal)) for each in traces]
    bound = np.array([right for _, right in ends]) / steps
    mean = np.array([left for left, _ in ends]) / steps
    gaps = np.array([each.gap for each in traces])
    best = int(gaps.mean(axis=0).argmin())
    found = [
        _row("dp2.master", "mean over the steps", reads, bound, mean),
        _row("dp2.master.best", f"best step ({best + 1})", reads, bound, gaps[:, best]),
        _row(
            "dp2.master.average",
            "average of the iterates",
            reads,
            bound,
            np.array([each.average_gap for each in traces]),
        ),
    ]
    if _two_modes(first):
        if len(set(first.a)) > 1:
            ends = [_sides("dp2.master", _model([each], first.a)) for each in traces]
            left, right = (np.array(side) / first.a.sum() for side in zip(*ends, strict=True))
            found.append(_row("dp2.master", "mean, weighted by step size", reads, right, left))
        _, rates = _sides("dp2.B", _rates_model(traces, moment))
        words = "largest means of ||g||^2/D and of tr D over the runs, and the Lipschitz constant"
        found.append(_row("dp2.B", "mean over the steps", words, np.array([rates]), mean))
    elif len(set(first.a)) == 1:
        prior = theorems()["dp2.dp-sgd.any-step"].evaluate(
            steps=steps,
            dimension=first.g.shape[1],
            diameter=first.high - first.low,
            gradient_bound=moment,
            noise_std=float(first.nu[0]),
            learning_rate=float(first.a[0]),
        )
        name, words = "dp2.dp-sgd.any-step", "Lipschitz constant, box and noise: before the run"
        # Up by more than the rounding of a dozen operations: no bound is below its own value.
        known = np.array([float(prior) * (1 + 1e-14)])
        found.append(_row(name, "mean over the steps", words, known, mean, "upper"))
    return found


def _row(
    theorem: str, gap_of: str, reads: str, bound: Array, gap: Array, kind: str = "estimate"
) -> CertifiedBound:
    """Means of both sides over the runs, and whether their difference may be positive."""
    common = bound.size == 1
    difference = bound - gap
    slip = _ROUNDING * max(abs(float(bound.mean())), abs(float(gap.mean())))
    return CertifiedBound(
        theorem=theorem,
        gap_of=gap_of,
        reads=reads,
        kind=kind,
        bound=float(bound.mean()),
        gap=float(gap.mean()),
        bound_interval=None if common else student_interval(bound, CONFIDENCE),
        gap_interval=student_interval(gap, CONFIDENCE),
        runs_above=int((difference < -slip).sum()),
        holds=student_interval(difference, CONFIDENCE).upper >= -slip,
    )


def _sides(theorem: str, model: Model) -> tuple[float, float]:
    """Left and right side of a theorem's statement on a model."""
    left, right = theorems()[theorem].statement.args
    return float(model.value(left).item()), float(model.value(right).item())


def _model(traces: Sequence[Trace], weights: Array, **values: float) -> Model:
    """The runs as a model of the theorems: scenarios are the runs."""
    first = traces[0]
    steps, dimension = first.g.shape
    processes = {
        name: np.stack([getattr(each, name) for each in traces], axis=-1)
        for name in ("w", "g", "N", "D", "gap")
    }
    processes |= {
        "a": first.a,
        "nu": first.nu,
        "omega": weights,
        "mode": (~(first.D == 1).all(axis=1)).astype(float),
        "Rj": np.full(dimension, first.high - first.low),
        "lower": np.full(dimension, first.low),
    }
    return Model({"T": steps, "d": dimension, **values}, processes)


def _rates_model(traces: Sequence[Trace], moment: float) -> Model:
    """The runs as a model of theorem B: its two constants are the largest means of the runs."""
    first = traces[0]
    adaptive = ~(first.D == 1).all(axis=1)
    D = np.mean([each.D.sum(axis=1) for each in traces], axis=0)
    scaled = np.mean([(each.g**2 / each.D).sum(axis=1) for each in traces], axis=0)
    eta = float(first.a[~adaptive][0])
    return _model(
        traces,
        np.ones(len(first.a)),
        eta=eta,
        rho=float(first.a[adaptive][0]) / eta,
        C=moment,
        nu1=float(first.nu[~adaptive][0]),
        nu2=float(first.nu[adaptive][0]),
        D1=float(D[adaptive].max()),
        Gam=float(scaled[adaptive].max()),
    )
