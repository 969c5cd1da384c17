"""What is said of the callables of `dp2theory.resque` and of verification one by one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dp2theory.optimizers.sgd import DpSgd
from dp2theory.resque.ball_oracle import ExactBallOracle, RegularisedBallOracle
from dp2theory.resque.distances import MaxDistance, WeightedDistance
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.noisy_sgd import NoisySgdPlan, plan_noisy_sgd
from dp2theory.resque.parallel import METHODS as PARALLEL_METHODS
from dp2theory.resque.phased_plan import PhasedPlan, plan_phased
from dp2theory.resque.private_plan import PrivatePlan, plan_private
from dp2theory.resque.smoothing import GaussianSmoothing
from tests.properties.domains.calls import Row
from tests.properties.domains.kinds import (
    ABOVE_ONE,
    AT_LEAST_ONE,
    BAND,
    CLOSED_UNIT,
    COUNT,
    FREE,
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INF,
    OPEN_UNIT,
    POSITIVE,
    POSITIVE_UNIT,
    REAL,
    Kind,
    name_of,
    names_of,
    numbers,
    vector,
    whole,
)
from tests.properties.domains.names import D, N
from tests.properties.domains.objects import loss

BALL: dict[str, Any] = {"radius": lambda: 0.1}
ENDS = ("*",)  # what is asked for at an end of one domain does not fit the others, or takes long
BUDGET: dict[str, Kind] = {"target_epsilon": POSITIVE, "target_delta": OPEN_UNIT.at(1e-3)}
FACTOR = {"factor": POSITIVE}
# Here a vector says how long vectors are.
ANY_LENGTH = vector(D).but_shape((D + 1,))
CENTER = {"center": ANY_LENGTH, "optimal_value": REAL.at(0.0).or_none()}
TABLE = {"features": lambda: np.eye(N, D), "targets": lambda: np.zeros(N)}
COLUMN = {"features": POSITIVE, "targets": vector(N, fill=0.0)}
METHOD = name_of("resque-1", "resque-2", "sgd", "randomized-smoothing")
# Sums of exponents are the logarithms of moments: far out there is no double any more.
REALS = numbers(REAL, usual=(2.0,), one=True, empty=True)
LENGTHS = numbers(NOT_NEGATIVE, usual=(0.5,), one=True, empty=True)
ORDERS = numbers(AT_LEAST_ONE, usual=(2.0,), one=True, empty=True)
SHIFT, OTHER = vector(D).but_shape((1, D)), vector(D, fill=0.1).but_shape((1, D))
CONSTANTS: dict[str, Kind] = {
    **dict.fromkeys(
        [
            "drift_factor", "phase_shrink", "step_shrink", "radius_shrink", "radius_margin",
            "mean_calls_per_step", "draws_factor", "full_noise", "part_shrink", "part_step_shrink",
            "statistical_step", "private_step", "accuracy_share", "accuracy_shrink",
        ],
        POSITIVE,
    ),
    "radius_over_smoothing": POSITIVE_UNIT,
    "smoothing_share": OPEN_UNIT,
    "restarts": COUNT,
    "band": BAND,
    "calls_per_step": whole(2, 8),
}  # fmt: skip
LEMMA = name_of("powers")


def distance() -> Any:
    """With a proximal map."""
    return MaxDistance(np.full(D, 0.1))


@cache
def noisy_sgd_plan() -> NoisySgdPlan:
    """For the loss."""
    return plan_noisy_sgd(loss(), target_epsilon=1.0, target_delta=1e-3)


@cache
def phased_plan() -> PhasedPlan:
    """For the loss."""
    return plan_phased(loss(), target_epsilon=1.0, target_delta=1e-3)


@cache
def private_plan() -> PrivatePlan:
    """A rough one, for the loss."""
    return plan_private(loss(), accuracy=1.0, target_epsilon=4.0, target_delta=1e-2)


RESQUE: dict[str, Row] = {
    "ball_acceleration.accelerate": Row(
        given={
            "oracle": lambda: RegularisedBallOracle(distance(), 0.1),
            "accuracy": lambda: 0.1,
            "max_calls": lambda: 64,
            "band": lambda: (0.5, 0.93),
        },
        kinds={
            "band": BAND,
            "max_calls": whole(0, 64),
            "max_accepted": whole(0, 64),
            "floor": POSITIVE,
            "largest": POSITIVE,
            "calls_per_step": whole(2, 8),
        },
        elsewhere=ENDS,
        called={"start": "center"},
    ),
    "ball_oracle.solve_ball": Row(kinds={"multiplier": NOT_NEGATIVE}),
    "ball_solvers.ParallelConstants": Row(
        kinds={
            "band": BAND,
            "pool_factor": POSITIVE,
            "rounds_factor": POSITIVE,
            "radius_over_smoothing": POSITIVE_UNIT,
            "calls_per_step": whole(2, 8),
        }
    ),
    "ball_solvers.pool_size": Row(kinds=FACTOR, elsewhere=ENDS),
    "ball_solvers.accelerated_steps": Row(kinds=FACTOR, elsewhere=ENDS),
    "ball_solvers.weighted_excess": Row(kinds={"radius": CLOSED_UNIT}, elsewhere=ENDS),
    "ball_solvers.accelerated_excess": Row(kinds={"radius": CLOSED_UNIT}, elsewhere=ENDS),
    "ball_solvers.WeightedBallOracle": Row(given=BALL, elsewhere=("radius", "smoothing")),
    "ball_solvers.AcceleratedBallOracle": Row(given=BALL, elsewhere=("radius", "smoothing")),
    "baselines.run_private_baseline": Row(
        kinds={
            "name": name_of("noisy-sgd", "phased-localization", "phased-localization-raw"),
            **BUDGET,
        },
        given={"function": loss},
        elsewhere=ENDS,
    ),
    "bisection_free.accelerate_without_bisection": Row(
        given={
            "oracle": lambda: ExactBallOracle(distance(), 0.1),
            "max_calls": lambda: 64,
        },
        kinds={"guess": POSITIVE, "max_calls": whole(0, 64)},
        called={"start": "center"},
        elsewhere=ENDS,
    ),
    "distances.project_l1": Row(kinds={"vector": ANY_LENGTH}),
    "distances.MaxDistance": Row(kinds={**CENTER, "sample_size": whole(1, 1)}, owner=distance),
    "distances.WeightedDistance": Row(
        kinds={**CENTER, "weights": vector(D, positive=True), "sample_size": whole(1, 1)},
        owner=lambda: WeightedDistance(np.full(D, 0.1), np.full(D, 0.4)),
        elsewhere=ENDS,
    ),
    "distances.PositiveMax": Row(
        kinds={
            "offset": REAL.at(0.0),
            "optimal_value": REAL.at(0.0).or_none(),
            "sample_size": whole(1, 1),
        },
        elsewhere=ENDS,
    ),
    "failure.phase_failure": Row(kinds={"lemma": LEMMA}, given={"draws": lambda: 4}),
    "failure.smallest_drift_factor": Row(
        kinds={"lemma": LEMMA, "probability": OPEN_UNIT.at(1e-3)}, elsewhere=ENDS
    ),
    "losses.LinearLoss": Row(owner=loss),
    "losses.AbsoluteLoss": Row(
        owner=lambda: AbsoluteLoss(np.eye(N, D), np.zeros(N)),
        given={"features": lambda: np.eye(N, D)},
        kinds={"targets": vector(N, fill=0.0), "features": numbers(REAL, usual=(0.5,))},
        elsewhere=ENDS,
    ),
    "losses.HingeLoss": Row(
        given={"features": lambda: np.eye(N, D), "targets": lambda: np.ones(N)},
        kinds={"targets": vector(N, fill=1.0), "features": numbers(REAL, usual=(0.5,))},
        elsewhere=ENDS,
    ),
    "named_functions.positive_max": Row(kinds={"offset": REAL.at(0.0)}, elsewhere=ENDS),
    "named_functions.absolute": Row(kinds={"noise": NOT_NEGATIVE}, elsewhere=ENDS),
    "named_functions.hinge": Row(kinds={"margin": NOT_NEGATIVE}, elsewhere=ENDS),
    "named_functions.function_named": Row(kinds={"name": name_of("max")}),
    "drift.drift_table": Row(
        given={"horizons": lambda: [2]},
        kinds={
            "kind": name_of("linear"),
            "horizons": numbers(COUNT, usual=(2,)),
            "ratios": numbers(POSITIVE, usual=(0.1,)),
            "orders": numbers(AT_LEAST_ONE, usual=(2.0,)),
            "paths": whole(2, 8),
            "methods": names_of("estimator"),
        },
        elsewhere=ENDS,
    ),
    "constants.PrivateConstants": Row(kinds=CONSTANTS, elsewhere=ENDS),
    "localization.PrivateBallOracle": Row(
        given={**BALL, "noise_multiplier": lambda: 0.5},
        kinds={
            "noise_multiplier": NOT_NEGATIVE,
            "regularisation": NOT_NEGATIVE,
            "anchor": vector(D),
        },
        elsewhere=("radius", "smoothing", "samples"),
    ),
    "moments.log_weight_moment": Row(kinds={"order": REALS, "shift": LENGTHS}, elsewhere=ENDS),
    "moments.log_joint_moment": Row(
        kinds={"first_order": REALS, "second_order": REALS, "a": SHIFT, "b": OTHER},
        elsewhere=("first_order", "second_order"),
    ),
    "moments.log_difference_norm": Row(kinds={"order": ORDERS, "a": SHIFT, "b": OTHER}),
    "moments.log_kappa": Row(kinds={"order": ORDERS, "relative_radius": LENGTHS}, elsewhere=ENDS),
    "moments.kappa": Row(kinds={"order": ORDERS, "relative_radius": LENGTHS}, elsewhere=ENDS),
    "moments.log_sharpness": Row(kinds={"order": ORDERS, "a": SHIFT, "b": OTHER}),
    "moments.sharpest_pair": Row(kinds={"relative_radius": POSITIVE}),
    "moments.log_kappa_simple": Row(kinds={"order": ORDERS, "relative_radius": LENGTHS}),
    "moments.kappa_within": Row(kinds={"order": ORDERS, "ball": name_of("1/p", "1/sqrt(p-1)")}),
    "moments.weight_exceeds": Row(
        kinds={
            "threshold": numbers(POSITIVE, usual=(1.0,), one=True),
            "shift": numbers(POSITIVE, usual=(1.0,), one=True),
        },
        elsewhere=ENDS,
    ),
    "moments.weight_quantile": Row(
        kinds={
            "probability": numbers(OPEN_UNIT, usual=(0.5,), one=True, empty=True),
            "shift": LENGTHS,
        },
        elsewhere=("shift",),
    ),
    "naive.iterate_oracle": Row(
        given={"oracle": lambda: ExactBallOracle(distance(), 0.1)},
        kinds={"max_calls": whole(0, 50)},
        called={"start": "center"},
    ),
    "noisy_sgd.run_noisy_sgd": Row(given={"function": loss, "plan": noisy_sgd_plan}),
    "parallel_study.parallel_study": Row(
        kinds={
            "methods": names_of(*PARALLEL_METHODS),
            "functions": names_of("max").but([], ()),
            "accuracies": numbers(POSITIVE, usual=(0.1,), empty=True),
            "dimensions": numbers(COUNT, usual=(4,), empty=True),
            "dimension_accuracy": POSITIVE,
        },
        called={"dimension_accuracy": "accuracy", "accuracies": "accuracy"},
        long=True,
    ),
    "phased_localization.run_phased": Row(given={"function": loss, "plan": phased_plan}),
    "phased_plan.PhasedConstants": Row(
        kinds={
            "variant": name_of("smoothed", "raw"),
            "records_shrink": ABOVE_ONE,
            "step_shrink": ABOVE_ONE,
        }
    ),
    "private.run_private": Row(given={"function": loss, "plan": private_plan}, long=True),
    "private_ledger.epsilon_by_accountant": Row(elsewhere=ENDS),
    "private_study.accuracy_for": Row(
        given={"function": loss},
        kinds={**BUDGET, "factor": POSITIVE},
        elsewhere=ENDS,
    ),
    "private_study.private_study": Row(
        kinds={
            **BUDGET,
            "settings": FREE,
            "methods": names_of("resque"),
            "seeds": whole(2, 3),
            "accuracy_factor": POSITIVE,
        },
        long=True,
    ),
    "slopes.slope_study": Row(
        kinds={
            "function_names": names_of("max"),
            "ratios": numbers(AT_LEAST_ONE, usual=(2.0,)),
            "relative_accuracy": OPEN_UNIT.at(0.1),
            "naive_up_to": NOT_NEGATIVE_OR_INF,
        },
        long=True,
    ),
    "needed_size.needed_size": Row(kinds=BUDGET, elsewhere=ENDS),
    "noisy_sgd.NoisySgdConstants": Row(
        kinds={
            "sampling": name_of("poisson", "with-replacement"),
            "batch_factor": POSITIVE,
            "privacy_factor": POSITIVE,
            "steps_per_record": POSITIVE,
        }
    ),
    "noisy_sgd.plan_noisy_sgd": Row(given={"function": loss}, kinds=BUDGET, elsewhere=ENDS),
    "parallel.solve_parallel": Row(kinds={"method": METHOD}, long=True),
    "parallel_run.make_target": Row(given={"optimal_value": lambda: 0.0}),
    "phased_plan.plan_phased": Row(given={"function": loss}, kinds=BUDGET, elsewhere=ENDS),
    "private_plan.plan_private": Row(given={"function": loss}, kinds=BUDGET, long=True),
    "randomized_smoothing.plan_smoothing": Row(
        kinds={"smoothing_share": OPEN_UNIT, "noise_share": OPEN_UNIT.at(0.25)}, elsewhere=ENDS
    ),
    "randomized_smoothing.solve_randomized_smoothing": Row(
        kinds={"smoothing_share": OPEN_UNIT, "noise_share": OPEN_UNIT.at(0.25)}, long=True
    ),
    "reference.reference_optimum": Row(
        given={"function": loss}, kinds={"halvings": whole(1, 12)}, long=True
    ),
    "smoothing.GaussianSmoothing": Row(
        owner=lambda: GaussianSmoothing(WeightedDistance(np.full(D, 0.1), np.full(D, 0.4)), 0.5)
    ),
    "subgradient.subgradient_steps": Row(elsewhere=ENDS),
    "smoothing.gradient_change": Row(
        kinds={"distance": numbers(NOT_NEGATIVE, usual=(0.5,), one=True)}
    ),
    "subgradient.solve_subgradient": Row(long=True),
}
VERIFICATION: dict[str, Row] = {
    "audit.audit_optimizer": Row(
        given={"optimizer": lambda: DpSgd(0.1, 1.0, 1.0)},
        kinds={
            "relation": name_of("add-or-remove-one"),
            "claimed_epsilon": NOT_NEGATIVE_OR_INF,
            "trials": whole(1, 4000),
        },
        long=True,
    ),
    "clopper_pearson.epsilon_lower": Row(
        kinds={
            "power": numbers(CLOSED_UNIT, usual=(0.5,), one=True, empty=True),
            "level": numbers(POSITIVE_UNIT, usual=(0.1,), one=True, empty=True),
            "delta": CLOSED_UNIT.at(1e-3),
        }
    ),
    "clopper_pearson.Evidence": Row(
        kinds={"hits": whole(0, 50), "false_alarms": whole(0, 3), "trials": whole(1, 200, 200)}
    ),
    "clopper_pearson.Evidence.epsilon_lower": Row(kinds={"delta": CLOSED_UNIT.at(1e-3)}),
    "resque_utility.utility_study": Row(
        kinds={
            "sizes": numbers(COUNT, usual=(2, 4, 8)),
            "seeds": whole(2, 3),
            "noise_multipliers": numbers(NOT_NEGATIVE, usual=(1.0,)),
        },
        long=True,
    ),
    "clopper_pearson.lower_chance": Row(
        kinds={"successes": numbers(NOT_NEGATIVE, usual=(3.0,), one=True, empty=True)}
    ),
    "clopper_pearson.upper_chance": Row(
        kinds={"successes": numbers(NOT_NEGATIVE, usual=(3.0,), one=True, empty=True)}
    ),
    "resque_audit.audit_ball": Row(kinds={"records": whole(2, 4)}, long=True),
    "verify.verify": Row(kinds={"level": name_of("quick", "full"), "ids": FREE}, long=True),
}
ROWS = {
    **{f"dp2theory.resque.{name}": row for name, row in RESQUE.items()},
    **{f"dp2theory.verification.{name}": row for name, row in VERIFICATION.items()},
}
