"""The certified delay of a plan: what the theorems say, beside what the pilot measured.

The bound (`bounds.dp2.certified`) needs the mean gradient of a phase, a promise on staleness and
the size of the box. None of them is known before a run. Two answers are given:

* *a priori*: mean gradients as large as the clip norm allows, and no promise on staleness. These
  are theorems for convex losses on a box;
* *estimate*: the same bound with what the pilot's released gradients show. This is
  post-processing and costs no privacy, but no theorem: the run's true means may be larger.

The side R of the box and the clip norm C are units: every value is proportional to R C, and the
delay does not depend on R.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from bounds.dp2.certified import Optimum, bound, optimum
from bounds.dp2.certified_inputs import Inputs
from bounds.dp2.phi import Tradeoff
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.problems.validation import positive_real, real_in, whole_number

if TYPE_CHECKING:
    from dp2theory.planning.blocks import Array, BlockMeans, BlockStatistic
    from dp2theory.planning.budget import Budget

DAMPING, EMA = Dp2RmsProp.damping, Dp2RmsProp.ema
#: Dampings further from the clip norm than this are refused: their squares leave doubles.
FAR, TINY = 1e110, 1e-100
#: Standard errors that are added to the estimated size of a gradient.
ERRORS = 2.0
THEOREMS = {
    "value": "dp2.CTV",
    "shape": "dp2.S2",
    "saturated": "dp2.S2.saturated",
    "variation": "dp2.CTV.chi",
    "staleness": "dp2.h.linear",
    "dp_sgd": "dp2.dp-sgd",
    "same_knowledge": "dp2.S2.same-knowledge",
    "phi": "dp2.phi.minimiser",
    "schedule": "dp2.closed",
}
BRANCH_THEOREMS = {
    "staleness": "dp2.gamma.staleness",
    "gradient-bound": "dp2.gamma.damping",
    "clip": "dp2.gamma.clip",
}
NOTES = (
    "The certified delay is no advice: worst-case bounds are loose, and this one charges a damped "
    "preconditioner from the first step on. What to run is the advice above, which was measured.",
    "The certified values hold for convex losses, iterates kept in a box, batches of fixed size "
    "and adaptive steps that do not clip (clip norm C/damping there), and for the variant of DP² "
    "that divides by the preconditioner in its SGD phases too (Theorem C-TV). With the Poisson "
    "batches of this run E||g||^2 <= C^2 (1 + (1 - q)/b) takes the place of C^2.",
    "Certified values are in units of R C, the box's side times the clip norm; the certified delay "
    "does not depend on R.",
)
ESTIMATE_NOTE = (
    "The values marked as an estimate put figures from the pilot's released noisy gradients into "
    "the bound. That is post-processing and costs no privacy, but it is no guarantee: they bound "
    "the run's error only if they dominate its true means."
)


@dataclass(frozen=True)
class Certified:
    """One answer: the bound's inputs, its optimum, and phi.

    Attributes
    ----------
    kind : str
        ``"a-priori"`` or ``"estimate"``.
    inputs : Inputs
        In units of R and of the clip norm.
    origin : dict
        Where each input comes from, in words.
    optimum : Optimum
    at_recommended : float or None
        The bound at the delay that the gate recommends.
    tradeoff : Tradeoff
        The constants of the paper's phi, with c2 per unit of u = s/T.
    recommended : int or None
    """

    kind: str
    inputs: Inputs
    origin: dict[str, str]
    optimum: Optimum
    at_recommended: float | None
    tradeoff: Tradeoff
    recommended: int | None

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the theorem behind each figure."""
        best = self.optimum
        return {
            "kind": self.kind,
            "delay": best.delay,
            "value": best.value,
            "flat_range": {"shortest": best.flat[0], "longest": best.flat[1],
                           "delays": best.flat_count},
            "active_branch": best.branch,
            "updates": best.updates,
            "at_recommended_delay": self.at_recommended,
            "dp_sgd": best.dp_sgd,
            "dp_sgd_with_same_knowledge": best.dp_sgd_with_staleness,
            "trivial": best.trivial,
            "vacuous": best.vacuous,
            "prefers_dp_sgd": best.prefers_dp_sgd,
            "smooth_delay": best.smooth_delay,
            "verdict": self.verdict,
            "phi": self._phi(),
            "schedule": self._schedule(),
            "inputs": self.inputs.to_json(),
            "origin": self.origin,
            "theorems": THEOREMS | {"active_branch": BRANCH_THEOREMS[best.branch]},
        }  # fmt: skip

    @property
    def verdict(self) -> str:
        """What the bound says, in a sentence."""
        best, steps = self.optimum, self.inputs.steps
        words = [f"s = {best.delay}"]
        if best.delay == steps:
            words.append("the whole run: one phase, in which nothing is averaged yet")
        if best.vacuous:
            words.append(
                "vacuous: too loose to choose a delay, no less than the trivial R C sqrt(d)"
            )
        elif best.prefers_dp_sgd:
            words.append("above the bound of DP-SGD, the better guarantee")
        else:  # dp2.S2.same-knowledge
            words.append("below the bound of DP-SGD, but not below it given the same knowledge")
        return ", ".join(words)

    def _phi(self) -> dict[str, Any]:
        phi = self.tradeoff
        try:
            found = phi.minimiser()
        except ValueError:  # the infimum is approached at u = 0
            found = None
        informative = phi.informative and found is not None
        return {
            "base": phi.base(),
            "informative": informative,
            "relative_delay": found.relative_delay if found and informative else None,
            "delay": phi.best_delay(self.inputs.steps)[0] if informative else None,
            "message": "" if informative else "bound uninformative for s",
        }

    def _schedule(self) -> dict[str, Any]:
        """The factor of the paper's own schedule, alpha^-(K - 1), at the delays in question."""
        base, eps = self.tradeoff.base(), self.tradeoff.damping
        decay = min(eps, 1 / base, 1.0)
        delay = self.recommended or self.optimum.delay
        phases = -(-self.inputs.steps // delay)
        return {"decay": decay, "delay": delay, "log10_factor": (phases - 1) * -log10(decay)}


def check_damping(damping: float, clip_norm: float) -> None:
    """Refuse a damping that is not positive, or too far from the clip norm for doubles."""
    positive_real("damping", damping)
    positive_real("clip_norm", clip_norm)
    if not 1 / FAR <= damping / clip_norm <= FAR:
        raise ValueError(
            f"damping={damping!r}: must be within {FAR:g} times the clip norm {clip_norm!r}, "
            "up or down"
        )


def certify(
    budget: Budget,
    *,
    dimension: int | None,
    noise_multiplier: float,
    clip_norm: float,
    blocks: BlockMeans | None = None,
    statistics: tuple[BlockStatistic, ...] = (),
    recommended: int | None = None,
    damping: float = DAMPING,
    ema: float = EMA,
) -> tuple[Certified, ...]:
    """The answers that the known figures allow.

    Parameters
    ----------
    budget : Budget
    dimension : int or None
        Nothing can be said without it.
    noise_multiplier, clip_norm : float
    blocks, statistics
        Of the pilot's released gradients; without them there is no estimate.
    recommended : int, optional
        The gate's delay, at which the bound is evaluated too.
    damping, ema : float
        Of DP².

    Returns
    -------
    tuple of Certified
        A priori first; empty without a dimension.
    """
    check_damping(damping, clip_norm)
    if dimension is None:
        return ()
    whole_number("dimension", dimension)
    positive_real("noise_multiplier", noise_multiplier)
    real_in("ema", ema, 0.0, 1.0, open_high=True)
    if recommended is not None:
        whole_number("recommended", recommended)
    known = _Known(budget, dimension, noise_multiplier, clip_norm, damping, ema, recommended)
    answers = [known.a_priori()]
    if blocks is not None and statistics:
        answers.append(known.estimate(blocks, statistics))
    return tuple(answers)


@dataclass(frozen=True)
class _Known:
    budget: Budget
    dimension: int
    noise_multiplier: float
    clip_norm: float
    damping: float
    ema: float
    recommended: int | None

    # Lengths of gradients are in units of the clip norm from here on.

    @property
    def small(self) -> float:
        return self.damping / self.clip_norm

    @property
    def noise_std(self) -> float:
        return self.noise_multiplier / self.budget.batch_size

    @property
    def gradient_bound(self) -> float:
        """Root mean square of ||g_t||: Poisson batches vary in size, the divisor does not."""
        share = self.budget.batch_size / self.budget.dataset_size
        return sqrt(1 + (1 - share) / self.budget.batch_size)

    def _inputs(
        self, means: Array, line: tuple[float, float] | None, *, repeats: int = 1
    ) -> Inputs:
        return Inputs(
            steps=self.budget.steps,
            mean_gradient=means,
            noise_std=self.noise_std,
            preconditioned_noise_std=self.noise_std / self.small,
            gradient_bound=self.gradient_bound,
            preconditioned_clip_norm=self.gradient_bound / self.small,
            damping=self.small,
            variation_ratio=sqrt(1 - self.ema),
            staleness_intercept=None if line is None else line[0],
            staleness_slope=None if line is None else line[1],
            repeats=repeats,
        )

    def _answer(
        self,
        kind: str,
        inputs: Inputs,
        line: tuple[float, float],
        floor: float,
        words: dict[str, str],
    ) -> Certified:
        at = None if self.recommended is None else float(bound(inputs, self.recommended))
        shared = {
            "diameter": "a unit: every value is proportional to it",
            "damping": "the default of DP²-RMSProp" if self.damping == DAMPING else "as given",
            "gradient_bound": "C sqrt(1 + (1 - q)/b), for Poisson batches",
            "preconditioned_clip_norm": "C/damping, which no record exceeds, times the same root",
            "variation_ratio": "sqrt(1 - ema), proved",
        }
        return Certified(
            kind=kind,
            inputs=inputs,
            origin=shared | words,
            optimum=optimum(inputs),
            at_recommended=at,
            tradeoff=Tradeoff(
                staleness_intercept=line[0],
                staleness_slope=line[1] * inputs.steps,
                second_moment_floor=floor * self.clip_norm**2,
                second_moment_noise=(self.noise_std * self.clip_norm) ** 2 / inputs.steps,
                damping=self.damping,
            ),
            recommended=self.recommended,
        )

    def a_priori(self) -> Certified:
        """By Cauchy-Schwarz the norm D1 is largest where all m_j are C/sqrt(d)."""
        size = self.gradient_bound
        means = np.array([size / sqrt(self.dimension)])
        saturation = size / (self.small * sqrt(self.dimension))
        return self._answer(
            "a-priori",
            self._inputs(means, None, repeats=self.dimension),
            (saturation, 0.0),
            size**2,
            {
                "mean_gradient": "C/sqrt(d) in each coordinate, the largest D1 that ||m|| <= C "
                "allows",
                "staleness": "no promise: h <= C/(damping sqrt(d)) never beats C^2/damping",
            },
        )

    def estimate(self, blocks: BlockMeans, statistics: tuple[BlockStatistic, ...]) -> Certified:
        """Means from the longest block of released gradients, staleness from all lengths."""
        length, means = blocks.latest()
        means = means / self.clip_norm
        size = gradient_l1(statistics[0], self.dimension, self.gradient_bound, self.clip_norm)
        ratios = []
        for each in statistics:
            norm = float(np.abs(blocks.latest(each.length)[1]).sum()) / self.clip_norm
            ratios.append((each.length, size / (norm + self.dimension * self.small)))
        line = dominating_line(ratios)
        plural = "s" if length > 1 else ""
        return self._answer(
            "estimate",
            self._inputs(np.abs(means), line),
            line,
            max(float(np.max(means**2)), TINY),
            {
                "mean_gradient": f"estimate: size of the mean of {length} released gradient"
                f"{plural}, noise included",
                "staleness": "estimate: a line above h at block lengths "
                f"{', '.join(str(m) for m, _ in ratios)}, continued to T",
            },
        )


def gradient_l1(
    shortest: BlockStatistic, dimension: int, gradient_bound: float, clip_norm: float = 1.0
) -> float:
    """Estimated upper end of E||g_t||_1 in clip norms, from single released gradients.

    The mean squared norm of a released gradient less its noise is S(1) + drift(1)/2; two standard
    errors of the noise's own squared norm are added. ||g||_1 <= sqrt(d) ||g||_2.
    """
    square = (shortest.signal + shortest.drift / 2) / clip_norm**2
    error = shortest.noise / clip_norm**2 * sqrt(2 / (dimension * shortest.blocks))
    size = min(max(square, 0.0) + ERRORS * error, gradient_bound**2)
    return sqrt(dimension * size)


def dominating_line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """c1, c2 >= 0 with c1 + c2 s above all points: least squares, then raised."""
    s, h = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    slope = 0.0
    if s.size > 1:
        centred = s - s.mean()
        slope = max(float(centred @ h / (centred @ centred)), 0.0)
    intercept = float(h.mean() - slope * s.mean())
    if intercept < 0:
        intercept, slope = 0.0, float(s @ h / (s @ s))
    return intercept + max(float((h - intercept - slope * s).max()), 0.0), slope
