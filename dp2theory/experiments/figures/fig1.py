"""Figure 1: how slowly second moments move without noise, and what noise makes of them.

RMSProp's second moment v is read at checkpoints of non-private runs, and one delay before each of
them; the same for DP-RMSProp at the setting's budget. How v moves is measured run by run and
averaged over seeds. The run of the first seed is shown, coordinates sorted by its v at the first
checkpoint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.experiments.figures.result import NOT_COVERED, FigureResult, Verdict
from dp2theory.experiments.figures.statistics import rank_correlation
from dp2theory.optimizers.protocol import make_generator, run
from dp2theory.planning.methods import Settings, make_optimizer
from dp2theory.problems.protocol import Array

if TYPE_CHECKING:
    from dp2theory.experiments.figures.request import FigureRequest
    from dp2theory.experiments.settings import Setting
    from dp2theory.optimizers.steps import Optimizer

#: Its heading.
TITLE = "Second moments along a run, without noise and with it"
#: The paper's claim, in our words.
CLAIM = (
    "Without noise second moments change slowly, so that an old preconditioner is nearly as good "
    "as a new one; with noise at every step they are mostly noise."
)
#: Checkpoints, as shares of the run.
SHARES = (0.125, 0.25, 0.5, 0.75, 1.0)
#: Points drawn of each curve.
POINTS = 400
#: "Slowly": within one delay the typical coordinate changes by less than this factor …
FACTOR = 2.0
#: … and the order of coordinates is kept to this rank correlation.
ORDER = 0.8
#: What is said of it besides.
NOTES = (
    "Both methods run with their documented default step sizes, untuned: the gradients are not "
    "clipped without noise, and clipped with it.",
    "v is a moving average (ema 0.9) over some ten batches. Factors, correlations and shares are "
    "those of single runs, averaged over seeds; the picture shows the run of the first seed.",
)


@dataclass(frozen=True)
class Drift:
    """How v moved between two steps.

    Attributes
    ----------
    start, stop : int
        Steps.
    factor : float
        Median over coordinates of max(v/v', v'/v), averaged over runs.
    order : float or None
        Rank correlation of v and v', averaged over runs; None where one of them is constant.
    """

    start: int
    stop: int
    factor: float
    order: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        factor: float | str = self.factor if math.isfinite(self.factor) else "inf"
        return {
            "start": self.start,
            "stop": self.stop,
            "median_factor": factor,
            "rank_correlation": self.order,
        }


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """v at the checkpoints.

    Attributes
    ----------
    delay : int
        Steps between the two looks of `within`.
    checkpoints : tuple of int
    plain, noisy : ndarray, shape (checkpoints, dimension)
        v without and with noise in the run of the first seed, coordinates sorted by the first row
        of `plain`.
    noise_variance : float
        What noise alone adds to v.
    noise_multiplier : float
    epsilon : dict
        Bracket of one DP-RMSProp run.
    within : tuple of Drift
        Without noise, over one delay, ending at each checkpoint.
    between : tuple of Drift
        Without noise, from checkpoint to checkpoint, and from the first to the last.
    noise_share : float
        Share of the coordinates in whose v, at the last checkpoint with noise, more than half is
        noise: v averaged over seeds is below twice the noise's variance.
    noisy_order : float or None
        Rank correlation of v with and without noise at the last checkpoint, averaged over runs.
    """

    delay: int
    checkpoints: tuple[int, ...]
    plain: Array
    noisy: Array
    noise_variance: float
    noise_multiplier: float
    epsilon: dict[str, float]
    within: tuple[Drift, ...]
    between: tuple[Drift, ...]
    noise_share: float
    noisy_order: float | None

    @property
    def spread(self) -> float:
        """Ratio of the 90th to the 10th percentile of v over coordinates, at the last checkpoint.

        inf where a tenth of the coordinates had no gradient.
        """
        low, high = np.quantile(self.plain[-1], [0.1, 0.9])
        return float(high / low) if low > 0 else math.inf

    def to_json(self) -> dict[str, Any]:
        """Plain values; curves are thinned to `POINTS` coordinates."""
        size = self.plain.shape[1]
        ranks = np.unique(np.linspace(0, size - 1, min(size, POINTS)).round().astype(int))
        return {
            "delay": self.delay,
            "checkpoints": list(self.checkpoints),
            "ranks": [int(rank) for rank in ranks],
            "plain": self.plain[:, ranks].tolist(),
            "noisy": self.noisy[:, ranks].tolist(),
            "noise_variance": self.noise_variance,
            "noise_multiplier": self.noise_multiplier,
            "epsilon": self.epsilon,
            "within_delay": [drift.to_json() for drift in self.within],
            "between_checkpoints": [drift.to_json() for drift in self.between],
            "spread": self.spread if math.isfinite(self.spread) else "inf",
            "noise_share": self.noise_share,
            "noisy_rank_correlation": self.noisy_order,
        }


def moments_along(setting: Setting, optimizer: Optimizer, seed: int, steps: list[int]) -> Array:
    """v after each of the given numbers of steps, shape (len(steps), dimension).

    The run is made in pieces that draw on from one generator, and is that of one piece.
    """
    generator, _ = make_generator(seed)
    problem = setting.load()
    parameters = problem.initial_parameters(generator)
    state, done, rows = optimizer.initial_state(problem.dimension), 0, []
    for step in steps:
        made = run(
            optimizer,
            problem,
            sampling=setting.description(),
            steps=step - done,
            rng=generator,
            initial_parameters=parameters,
            initial_state=state,
        )
        parameters, state, done = made.parameters, made.state, step
        rows.append(state.arrays["second_moment"])
    return np.array(rows)


def drift(start: int, stop: int, before: Array, after: Array) -> Drift:
    """How v moved from `before` to `after`, both of shape (runs, dimension).

    Coordinates that are 0 in both did not move.
    """
    factors = []
    for old, new in zip(before, after, strict=True):
        alive = (old > 0) | (new > 0)
        with np.errstate(divide="ignore"):
            moved = np.maximum(old, new)[alive] / np.minimum(old, new)[alive]
        factors.append(float(np.median(moved)) if moved.size else 1.0)
    return Drift(start, stop, float(np.mean(factors)), mean_correlation(before, after))


def mean_correlation(first: Array, second: Array) -> float | None:
    """Rank correlation of two sets of runs, shape (runs, dimension), averaged over the runs."""
    found = [rank_correlation(one, two) for one, two in zip(first, second, strict=True)]
    kept = [one for one in found if one is not None]
    return float(np.mean(kept)) if kept else None


def compute(request: FigureRequest) -> FigureResult:
    """Read v along runs of RMSProp and DP-RMSProp."""
    setting, steps = request.setting, request.setting.run_steps
    delay = request.delay_or_default()
    checkpoints = sorted({max(1, round(share * steps)) for share in SHARES})
    looks = sorted({step for one in checkpoints for step in (one, max(1, one - delay))})
    calibration = setting.budget().calibrate()
    sigma = calibration.noise_multiplier
    plain, noisy = (
        make_optimizer(method, Settings(), noise_multiplier=sigma, steps=steps)
        for method in ("rmsprop", "dp-rmsprop")
    )
    items = [(setting, one, seed, looks) for one in (plain, noisy) for seed in request.seeds]
    rows = np.array(request.map("reading second moments", moments_along, items))
    count = len(request.seeds)
    place = {step: one for one, step in enumerate(looks)}
    clean = {step: rows[:count, place[step]] for step in looks}
    private = {step: rows[count:, place[step]] for step in looks}
    first, last = checkpoints[0], checkpoints[-1]
    order = np.argsort(clean[first][0], kind="stable")
    pairs = [*pairwise(checkpoints), *([(first, last)] if len(checkpoints) > 2 else [])]
    clip_norm: float = noisy.clip_norm  # type: ignore[attr-defined]
    variance = (sigma * clip_norm / setting.batch_size) ** 2
    data = SecondMoments(
        delay=delay,
        checkpoints=tuple(checkpoints),
        plain=np.array([clean[step][0][order] for step in checkpoints]),
        noisy=np.array([private[step][0][order] for step in checkpoints]),
        noise_variance=variance,
        noise_multiplier=sigma,
        epsilon=calibration.epsilon.to_json(),
        within=tuple(
            drift(one - delay, one, clean[one - delay], clean[one])
            for one in checkpoints
            if one - delay >= 1
        ),
        between=tuple(drift(one, two, clean[one], clean[two]) for one, two in pairs),
        noise_share=float((private[last].mean(axis=0) < 2 * variance).mean()),
        noisy_order=mean_correlation(clean[last], private[last]),
    )
    return request.result("fig1", TITLE, judge(data), data, (*NOTES, NOT_COVERED), tuned=False)


def judge(data: SecondMoments) -> Verdict:
    """Slow within a delay, order kept, and noise drowning it: all three, or it is not so."""
    looks = data.within or data.between
    factor = max(one.factor for one in looks)
    orders = [one.order for one in looks]
    kept = min((one for one in orders if one is not None), default=None)
    slow = factor <= FACTOR and kept is not None and kept >= ORDER
    drowned = data.noise_share > 0.5
    over = f"within s = {data.delay} steps" if data.within else "between checkpoints"
    spread = f"{data.spread:.3g}-fold" if math.isfinite(data.spread) else "without bound"
    text = (
        f"Second moments {'move slowly' if slow else 'do not move slowly'}: {over} the median "
        f"coordinate changes by a factor of at most {factor:.3g} (between the "
        f"lowest and the highest tenth of the coordinates v differs {spread}), rank correlation at "
        f"least {_figure(kept)}; with noise more than half of v is noise in {data.noise_share:.0%} "
        f"of the coordinates (rank correlation with v without noise: {_figure(data.noisy_order)})."
    )
    return Verdict(CLAIM, slow and drowned, text)


def _figure(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"
