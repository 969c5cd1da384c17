"""An attack on one private ball subproblem without subsampling, against its accounted epsilon.

Every record is asked once, in a fixed order, in one phase with drift factor 1: what is left is a
Gaussian release whose clean value a replaced record moves by 2 L eta, the Gaussian pair of shift
2/noise_multiplier. An attacker who knows everything but the record sees the noisy mean and projects
it on the direction in which the record moves it. The tests of `decision` and the ends of
`clopper_pearson` turn scores into a lower end of epsilon that is wrong with a stated probability.
With drift factor 1 there is no proof that copies never drift further than 2 L eta; the audit looks
whether an attacker can make something of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.problems.validation import open_unit, positive_real, whole_number
from dp2theory.resque.constants import PrivateConstants
from dp2theory.resque.functions import Array
from dp2theory.resque.localization import PrivateBallOracle, Release
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.verification.audit import AtDelta, telling_deltas
from dp2theory.verification.clopper_pearson import Evidence, largest_provable
from dp2theory.verification.decision import Test, choose_test

if TYPE_CHECKING:
    from dp_accounting import DpEvent

#: Runs on each data set that the test is put to.
TRIALS = 4000
#: δ of an audit where none is given.
DELTA = 0.05
#: Chance that what an audit shows is wrong, where none is given.
ERROR = 1e-3
#: Runs that share one stream of random numbers.
CHUNK = 250
_ONCE = PrivateConstants(drift_factor=1.0, restarts=1, phases=1)
# A kink this far away is never reached in a ball of radius 1.
_FAR = 100.0
_TILT = 1e-4
_MARGIN = 0.15


@dataclass(frozen=True, eq=False)
class Pair:
    """Two data sets that differ in one record.

    Attributes
    ----------
    name : str
    sides : tuple of AbsoluteLoss
    """

    name: str
    sides: tuple[AbsoluteLoss, AbsoluteLoss]


@dataclass(frozen=True)
class BallSetting:
    """What is audited.

    Attributes
    ----------
    noise_multiplier : float
    radius, smoothing, multiplier : float
        r, rho, and the multiplier of the call.
    """

    noise_multiplier: float
    radius: float
    smoothing: float
    multiplier: float


@dataclass(frozen=True)
class BallAudit:
    """The outcome.

    Attributes
    ----------
    epsilon : AtDelta
        What is shown, and what is accounted for the Gaussian pair.
    profile : tuple of AtDelta
        The same evidence at other deltas.
    evidence : Evidence
    data_sets : str
        The pair that promised most.
    promises : dict of str to float
        What each pair promised before the test.
    setting : BallSetting
    """

    epsilon: AtDelta
    profile: tuple[AtDelta, ...]
    evidence: Evidence
    data_sets: str
    promises: dict[str, float]
    setting: BallSetting

    @property
    def violated(self) -> bool:
        """Whether more is shown than is accounted, at any delta."""
        return any(point.violated for point in (self.epsilon, *self.profile))

    @property
    def power(self) -> float:
        """What is shown over what is accounted, at the delta that was asked for."""
        return self.epsilon.lower / self.epsilon.accounted.upper

    def to_json(self) -> dict[str, Any]:
        """Plain values; brackets as {lower, upper}."""
        return {
            "violated": self.violated,
            "epsilon": _point(self.epsilon),
            "power": self.power,
            "profile": [_point(point) for point in self.profile],
            "confidence": 1 - self.evidence.error,
            "evidence": {
                "trials": self.evidence.trials,
                "hits": self.evidence.hits,
                "false_alarms": self.evidence.false_alarms,
                "largest_provable": largest_provable(self.evidence.trials, self.evidence.error),
            },
            "data_sets": self.data_sets,
            "promises": dict(self.promises),
            "noise_multiplier": self.setting.noise_multiplier,
        }


def audited_pairs(records: int) -> tuple[Pair, ...]:
    """Neighbouring data sets that give away as much as is possible.

    Parameters
    ----------
    records : int
        n >= 3, odd ones too.

    Returns
    -------
    tuple of Pair
        ``steep``: record 0, asked first, pulls along the first axis to one side or the other,
        and every other record along an axis of its own. ``kinked``: the others have their kinks
        between the points that record 0 parted, in directions of their own: without shared
        offsets and weights they would carry the points apart. ``last``: the differing record is
        the one before the last.
    """
    n = whole_number("records", records, minimum=3)
    steep = np.eye(n)
    kinked = np.sqrt(1 - _TILT**2) * np.eye(n)
    kinked[:, 0] = _TILT
    kinked[0] = steep[0]
    kinks = np.where(np.arange(n) == 0, _FAR, 0.0)
    return (
        _differing("steep", steep, np.full(n, _FAR), 0),
        _differing("kinked", kinked, kinks, 0),
        _differing("last", steep, np.full(n, _FAR), n - 2),
    )


def audit_ball(
    *,
    noise_multiplier: float = 2.0,
    records: int = 4,
    pairs: Sequence[Pair] | None = None,
    trials: int = TRIALS,
    delta: float = DELTA,
    error: float = ERROR,
    seed: int = 0,
    executor: Executor | None = None,
) -> BallAudit:
    """Attack one subproblem and compare what is shown with what is accounted.

    Parameters
    ----------
    noise_multiplier : float
        > 0.
    records : int
        n >= 3; each is asked once.
    pairs : sequence of Pair, optional
        Default: `audited_pairs`.
    trials : int
        Fresh runs on each data set for the test, at least 100; choosing it takes a quarter more
        for each pair.
    delta, error : float
        In (0, 1).
    seed : int
    executor : concurrent.futures.Executor, optional
        Makes runs side by side; the outcome does not depend on it.

    Returns
    -------
    BallAudit

    Raises
    ------
    ValueError
        For values outside their domain.
    """
    trials = whole_number("trials", trials, minimum=100)
    delta, error = open_unit("delta", delta), open_unit("error", error)
    radius = 0.1
    # The regulariser pulls by less than a ten-thousandth of a step.
    setting = BallSetting(
        positive_real("noise_multiplier", noise_multiplier), radius, 64 * radius, 1e-4 / radius
    )
    chosen = tuple(audited_pairs(records) if pairs is None else pairs)
    root = np.random.SeedSequence(whole_number("seed", seed, minimum=0))
    streams = iter(root.spawn(2 * len(chosen) + 1))

    def see(pair: Pair, runs: int) -> list[Array]:
        parts = next(streams).spawn(2)
        sides = zip(pair.sides, parts, strict=True)
        return [_releases(side, setting, runs, part, executor) for side, part in sides]

    candidates: list[tuple[float, Pair, Array, Test]] = []
    for pair in chosen:
        first, second = see(pair, max(50, trials // 8))
        direction = _direction(first, second)
        scores = [side @ direction for side in see(pair, max(50, trials // 8))]
        test = choose_test(*scores, delta=delta, trials=trials, error=error)
        candidates.append((test.promise, pair, direction, test))
    # The others have to promise more by a margin than the first, or luck would choose.
    _, pair, direction, test = max(
        candidates, key=lambda made: made[0] + _MARGIN * (made is candidates[0])
    )
    fresh = [side @ direction for side in see(pair, trials)]
    evidence = test.evidence(fresh[0], fresh[1], error)
    account = _account(setting.noise_multiplier)
    deltas = (delta, *telling_deltas(evidence))
    points = [AtDelta(each, evidence.epsilon_lower(each), account(each)) for each in deltas]
    return BallAudit(
        points[0],
        tuple(points[1:]),
        evidence,
        pair.name,
        {each.name: promise for promise, each, _, _ in candidates},
        setting,
    )


def _differing(name: str, rows: Array, targets: Array, record: int) -> Pair:
    # A little below 1, so that rounding makes no row longer than the public bound.
    rows = rows / (1 + 1e-12)
    targets = np.where(np.arange(len(rows)) == record, _FAR, targets)
    first = AbsoluteLoss(rows, targets, lipschitz=1.0)
    changed = rows.copy()
    changed[record] *= -1
    return Pair(name, (first, replace(first, features=changed)))


def _releases(
    loss: AbsoluteLoss,
    setting: BallSetting,
    runs: int,
    seed: np.random.SeedSequence,
    executor: Executor | None,
) -> Array:
    """What `runs` calls release, shape (runs, d)."""
    sizes = [min(CHUNK, runs - start) for start in range(0, runs, CHUNK)]
    parts = zip(sizes, seed.spawn(len(sizes)), strict=True)
    tasks = [(loss, setting, size, part) for size, part in parts]
    places = zip(*tasks, strict=True)
    made = map(_chunk, *places) if executor is None else executor.map(_chunk, *places)
    return np.concatenate(list(made))


def _chunk(
    loss: AbsoluteLoss, setting: BallSetting, runs: int, seed: np.random.SeedSequence
) -> Array:
    kept: list[Release] = []
    oracle = PrivateBallOracle(
        loss,
        setting.radius,
        setting.smoothing,
        loss.sample_size,
        setting.noise_multiplier,
        np.random.default_rng(seed),
        constants=_ONCE,
        samples=np.arange(loss.sample_size),
        observe=kept.append,
    )
    for _ in range(runs):
        oracle.solve(loss.start, setting.multiplier)
    return np.array([release.released for release in kept])


def _direction(first: Array, second: Array) -> Array:
    """Where the record moves the mean: the best linear score if noise is alike everywhere."""
    difference = first.mean(axis=0) - second.mean(axis=0)
    result: Array = difference / np.linalg.norm(difference)
    return result


def _account(noise_multiplier: float) -> Any:
    import dp_accounting

    from accountants import ExactAccountant, NeighboringRelation

    event: DpEvent = dp_accounting.GaussianDpEvent(noise_multiplier)
    accountant = ExactAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    return accountant.compose(event).epsilon_bracket


def _point(point: AtDelta) -> dict[str, Any]:
    return {
        "delta": point.delta,
        "shown_lower": point.lower,
        "accounted": point.accounted.to_json(),
    }
