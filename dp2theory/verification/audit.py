"""An empirical lower bound on the epsilon of an optimizer, against the accounted one.

The optimizer runs many times on each of two neighbouring data sets that give away as much as is
possible (`neighbours`), through the real `run`. Attacks that see every release (`attacks`) are
trained, compared and given a threshold on some of these runs; the best one is put to the test on
fresh runs. Its hits and false alarms bound epsilon from below at every delta at once
(`clopper_pearson`). If the bound exceeds what is accounted, then, except with the stated error
probability, the optimizer is not what its ledger says.

The reverse does not hold: no finding is no proof. Jagielski, Ullman and Oprea (2020) audited
DP-SGD so; Nasr et al. (2021, 2023) with the attacker inside the run.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dp2theory.optimizers.steps import Optimizer
from dp2theory.problems.protocol import Problem
from dp2theory.problems.validation import open_unit, real_in, whole_number
from dp2theory.verification.attacks import Score, attacks_on
from dp2theory.verification.clopper_pearson import Evidence, largest_provable
from dp2theory.verification.decision import Test, choose_test
from dp2theory.verification.neighbours import Neighbours, neighbouring_data_sets
from dp2theory.verification.replay import MakeOptimizer
from dp2theory.verification.trials import Trials, observe

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import Bracket
    from accountants.sampling import Sampling

#: Runs on each data set that the test is put to.
TRIALS = 10_000
#: Probability that the lower end is wrong.
ERROR = 1e-3
#: A delta at which so many runs can tell epsilon; they say nothing of events rarer than 1/runs.
DELTA = 0.05
#: Fresh runs on each data set times steps, at most: some 3 kB are kept for each.
MOST_STEPS = 400_000
_FEWEST_TRIALS = 100
_MARGIN = 0.15


@dataclass(frozen=True)
class Attempt:
    """One attack on one pair of data sets, and what it promised before the test.

    Attributes
    ----------
    data_sets, attack : str
    promise : float
        Lower end of epsilon to be expected of the test.
    """

    data_sets: str
    attack: str
    promise: float


@dataclass(frozen=True)
class AtDelta:
    """What is shown and what is accounted at one delta.

    Attributes
    ----------
    delta : float
        Where both are compared.
    lower : float
        ε that the attack shows, up to its chance of error.
    accounted : Bracket
        ε of the accountant.
    """

    delta: float
    lower: float
    accounted: Bracket

    @property
    def violated(self) -> bool:
        """Whether more is shown than is accounted."""
        return self.lower > self.accounted.upper


@dataclass(frozen=True)
class AuditResult:
    """The outcome of an audit.

    Attributes
    ----------
    optimizer : str
    epsilon : AtDelta
        At the delta that was asked for.
    profile : tuple of AtDelta
        The same evidence at other deltas: it holds for all at once.
    evidence : Evidence
    chosen : Attempt
        The attack that was put to the test.
    direction : str
        "remove" where the test says that the record is there, "add" where it says that it is
        not.
    attempts : tuple of Attempt
        All attacks, the most promising first.
    claimed : bool
        Whether epsilon was claimed by the user, and not accounted from the ledger.
    event : DpEvent
        What one run released, by its ledger.
    """

    optimizer: str
    epsilon: AtDelta
    profile: tuple[AtDelta, ...]
    evidence: Evidence
    chosen: Attempt
    direction: str
    attempts: tuple[Attempt, ...]
    claimed: bool
    event: DpEvent

    @property
    def violated(self) -> bool:
        """Whether the evidence contradicts what is accounted, at any delta."""
        return any(point.violated for point in (self.epsilon, *self.profile))

    @property
    def worst(self) -> AtDelta:
        """The delta at which the most is shown beyond what is accounted."""
        points = (self.epsilon, *self.profile)
        return max(points, key=lambda point: (point.violated, point.lower - point.accounted.upper))

    @property
    def power(self) -> float:
        """Lower end over what is accounted, at the delta that was asked for."""
        accounted = self.epsilon.accounted.upper
        return self.epsilon.lower / accounted if accounted > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain values; brackets as {lower, upper}."""
        return {
            "optimizer": self.optimizer,
            "violated": self.violated,
            "epsilon": _point(self.epsilon),
            "power": self.power,
            "worst": _point(self.worst),
            "profile": [_point(point) for point in self.profile],
            "confidence": 1 - self.evidence.error,
            "evidence": {
                "trials": self.evidence.trials,
                "hits": self.evidence.hits,
                "false_alarms": self.evidence.false_alarms,
                "hit_chance_lower": self.evidence.power,
                "false_alarm_chance_upper": self.evidence.level,
                "largest_provable": largest_provable(self.evidence.trials, self.evidence.error),
            },
            "data_sets": self.chosen.data_sets,
            "attack": self.chosen.attack,
            "direction": self.direction,
            "attempts": [
                {"data_sets": a.data_sets, "attack": a.attack, "promise": a.promise}
                for a in self.attempts
            ],
            "claimed": self.claimed,
        }


def _point(point: AtDelta) -> dict[str, Any]:
    return {
        "delta": point.delta,
        "shown_lower": point.lower,
        "accounted": {"lower": point.accounted.lower, "upper": point.accounted.upper},
    }


def audit_optimizer(
    optimizer: Optimizer | MakeOptimizer,
    *,
    sampling: Sampling,
    dataset_size: int,
    steps: int,
    relation: str,
    delta: float = DELTA,
    trials: int = TRIALS,
    error: float = ERROR,
    seed: int = 0,
    claimed_epsilon: float | None = None,
    executor: Executor | None = None,
    on_runs: Callable[[int], None] | None = None,
) -> AuditResult:
    """Attack an optimizer and compare what is shown with what is accounted.

    Parameters
    ----------
    optimizer : Optimizer, or callable(problem) -> Optimizer
        A callable is asked anew for each run: for optimizers that are made from a data set
        (which a private one must not be).
    sampling : Poisson, WithoutReplacement or WithReplacement
        Of the larger data set.
    dataset_size : int
        Records of the larger data set; few, at least 2.
    steps : int
        Steps of each run; few.
    relation : str
        ``add-or-remove-one``, ``replace-one`` or ``replace-special``.
    delta : float
        In (0, 1).
    trials : int
        Fresh runs on each data set for the test, at least 100; choosing the attack takes
        about a sixth more for each pair of data sets.
    error : float
        Probability that the lower end is wrong, everything together.
    seed : int
    claimed_epsilon : float, optional
        What somebody claims at `delta`, to be judged in the place of the ledger's epsilon.
    executor : concurrent.futures.Executor, optional
        Makes runs side by side; the outcome does not depend on it. `optimizer` must be picklable
        where it has processes.
    on_runs : callable, optional
        Called with the number of runs just done; `runs_of_audit` says how many there are.

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        For values outside their domain, or queries that differ from run to run.
    """
    trials = whole_number("trials", trials, minimum=_FEWEST_TRIALS)
    steps = whole_number("steps", steps)
    if trials * steps > MOST_STEPS:
        raise ValueError(
            f"trials={trials} with steps={steps}: their product must be at most {MOST_STEPS:,}, as "
            "every release is kept"
        )
    open_unit("delta", delta)
    open_unit("error", error)
    whole_number("seed", seed, minimum=0)
    if claimed_epsilon is not None:
        real_in("claimed_epsilon", claimed_epsilon, 0.0, float("inf"))
    make: MakeOptimizer = _maker(optimizer)
    pairs = neighbouring_data_sets(sampling, dataset_size, relation)
    name = _name_of(make(pairs[0].sides[0].problem))
    streams = iter(np.random.SeedSequence(seed).spawn(len(pairs) + 1))

    def see(pair: Neighbours, runs: int, stream: np.random.SeedSequence) -> list[Trials]:
        return [
            observe(
                make,
                pair,
                side,
                steps=steps,
                runs=runs,
                seed=part,
                executor=executor,
                on_runs=on_runs,
            )
            for side, part in enumerate(stream.spawn(2))
        ]

    candidates: list[tuple[Attempt, Neighbours, Score, Test]] = []
    event: DpEvent | None = None
    for pair in pairs:
        parts = next(streams).spawn(2)
        training = see(pair, _training_runs(trials), parts[0])
        choosing = see(pair, _choosing_runs(trials), parts[1])
        event = training[0].event if event is None else event
        for attack in attacks_on(choosing[0]):
            score = attack.fit(training[0], training[1])
            test = choose_test(
                *(score(side) for side in choosing), delta=delta, trials=trials, error=error
            )
            attempt = Attempt(pair.name, attack.name, test.promise)
            candidates.append((attempt, pair, score, test))
    # The first attack on the first pair is the best there is where nothing is wrong. The others
    # have to promise more by a margin, or luck would choose among them.
    best = candidates[0]
    candidates.sort(key=lambda made: made[0].promise + _MARGIN * (made is best), reverse=True)
    chosen, pair, score, test = candidates[0]
    fresh = see(pair, trials, next(streams))
    evidence = test.evidence(score(fresh[0]), score(fresh[1]), error)
    assert event is not None
    account = _account(event, relation, claimed_epsilon)
    deltas = [] if claimed_epsilon is not None else telling_deltas(evidence)
    points = [AtDelta(d, evidence.epsilon_lower(d), account(d)) for d in (delta, *deltas)]
    return AuditResult(
        optimizer=name,
        epsilon=points[0],
        profile=tuple(points[1:]),
        evidence=evidence,
        chosen=chosen,
        direction="remove" if test.says_first else "add",
        attempts=tuple(candidate[0] for candidate in candidates),
        claimed=claimed_epsilon is not None,
        event=event,
    )


def runs_of_audit(sampling: Sampling, dataset_size: int, relation: str, trials: int) -> int:
    """Return how many runs an audit makes in all."""
    pairs = len(neighbouring_data_sets(sampling, dataset_size, relation))
    return 2 * (trials + pairs * (_training_runs(trials) + _choosing_runs(trials)))


def _training_runs(trials: int) -> int:
    return max(50, trials // 20)


def _choosing_runs(trials: int) -> int:
    return max(50, trials // 8)


@dataclass(frozen=True, eq=False)
class _Same:
    """The same optimizer on every data set; a class, so that it can be sent to a process."""

    optimizer: Any

    def __call__(self, problem: Problem) -> Optimizer:
        chosen: Optimizer = self.optimizer
        return chosen


def _maker(optimizer: Optimizer | MakeOptimizer) -> MakeOptimizer:
    if hasattr(optimizer, "query") and not isinstance(optimizer, type):
        return _Same(optimizer)
    if not callable(optimizer):
        raise ValueError(
            f"optimizer={optimizer!r} must be an optimizer (query, apply, initial_state), or "
            "make one from a problem"
        )
    make: MakeOptimizer = optimizer
    return make


def _name_of(made: Any) -> str:
    for part in ("name", "noise_multiplier", "initial_state", "query", "apply"):
        if not hasattr(made, part):
            raise ValueError(f"optimizer: what was made from a problem has no {part}: {made!r:.80}")
    return str(made.name)


def _account(event: DpEvent, relation: str, claimed: float | None) -> Callable[[float], Bracket]:
    from accountants import Bracket, ExactAccountant, NeighboringRelation

    if claimed is not None:
        return lambda delta: Bracket(claimed, claimed)
    accountant = ExactAccountant(
        neighboring_relation=NeighboringRelation[relation.replace("-", "_").upper()]
    )
    accountant.compose(event)
    return accountant.epsilon_bracket


def telling_deltas(evidence: Evidence) -> list[float]:
    """Deltas at which this evidence says something, all below the chance of a hit."""
    deltas = [share * evidence.power for share in (0.03, 0.2, 0.5, 0.8)]
    return [delta for delta in deltas if evidence.epsilon_lower(delta) > 0]
