"""What is said of the callables of `accountants` one by one."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting
import numpy as np

from accountants import ExactAccountant, GroupAccountant, RenyiAccountant, TruncatedCdpAccountant
from accountants.advanced_composition import AdvancedCompositionAccountant
from accountants.renyi.approximate import ApproximateRenyi
from accountants.tcdp.advanced import Steps
from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp
from tests.properties.domains.calls import Row
from tests.properties.domains.kinds import (
    ABOVE_ONE,
    ABOVE_ONE_OR_INF,
    BELOW_ONE,
    CLOSED_UNIT,
    FREE,
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INF,
    OPEN_UNIT,
    POSITIVE,
    POSITIVE_OR_INF,
    REAL_OR_INF,
    Kind,
    name_of,
    numbers,
    whole,
)

BUDGET: dict[str, Kind] = {
    "target_epsilon": POSITIVE,
    "target_delta": OPEN_UNIT.at(1e-3),
    "group_size": whole(1, 1, 1),
}
SIGMA = {"noise_multiplier": NOT_NEGATIVE_OR_INF}
LEVELS = numbers(CLOSED_UNIT, usual=(0.0, 0.3, 1.0), empty=True, one=True)
ORDERS = numbers(ABOVE_ONE, usual=(2.0, 4.0))


def step() -> Any:
    """One release on a sample, with much noise."""
    return dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(4.0))


def steps(count: int) -> Any:
    """Some of them."""
    return dp_accounting.SelfComposedDpEvent(step(), count)


def weak(size: int) -> Any:
    """A release on more and more of 40 records."""
    gaussian = dp_accounting.GaussianDpEvent(4.0)
    return dp_accounting.PoissonSampledDpEvent(size / 40, gaussian)


def curve() -> TruncatedCdp:
    """A small one, for which every theorem holds."""
    return TruncatedCdp(1e-4)


ROWS: dict[str, Row] = {
    "advanced_composition.AdvancedCompositionAccountant": Row(
        kinds={"shares": numbers(BELOW_ONE, usual=(0.0, 0.5))},
        owner=lambda: AdvancedCompositionAccountant().compose(step()),
    ),
    # NaN is the share, or the order, where none gave the answer.
    "advanced_composition.AdvancedCompositionAccountant.epsilon_and_share": Row(nan=True),
    "renyi.accountant.RenyiAccountant.epsilon_and_order": Row(nan=True),
    # some seconds for each end
    "advanced_composition.AdvancedCompositionAccountant.get_delta": Row(
        elsewhere=("target_epsilon",)
    ),
    "bracket.Bracket": Row(
        kinds={"lower": REAL_OR_INF.at(0.5), "upper": REAL_OR_INF.at(2.0)},
        given={"lower": lambda: -math.inf, "upper": lambda: math.inf},
    ),
    # whole numbers of steps: seconds at the ends of what may be asked for
    "budget.calibrate_steps": Row(
        kinds=BUDGET,
        given={"make_event": lambda: steps},
        elsewhere=("target_epsilon", "target_delta"),
    ),
    "budget.calibrate_batch_size": Row(kinds=BUDGET, given={"make_event": lambda: weak}),
    "budget.remaining_steps": Row(
        kinds=BUDGET,
        given={"event_so_far": step, "step_event": step},
        elsewhere=("target_epsilon", "target_delta"),
    ),
    "calibration.calibrate_noise_multiplier": Row(
        kinds=BUDGET, given={"make_event": lambda: dp_accounting.GaussianDpEvent}
    ),
    "conversion.zcdp_to_epsilon": Row(kinds={"rho": NOT_NEGATIVE_OR_INF}),
    "conversion.zcdp_to_delta": Row(kinds={"rho": NOT_NEGATIVE_OR_INF}),
    "conversion.largest_rho": Row(kinds=BUDGET),
    "conversion.noise_for_rho": Row(kinds={"rho": POSITIVE_OR_INF}),
    "conversion.epsilon_brackets": Row(
        kinds={"target_deltas": numbers(CLOSED_UNIT, usual=(0.1,), empty=True)}
    ),
    "conversion.epsilon_grid": Row(kinds={"points": whole(2, 3)}),
    "conversion.DeltaCurve.of": Row(
        kinds={"epsilons": numbers(NOT_NEGATIVE_OR_INF, usual=(0.0, 1.0), empty=True)}
    ),
    "conversion.epsilon_points": Row(
        kinds={"epsilons": numbers(NOT_NEGATIVE_OR_INF, usual=(0.0, 1.0), empty=True)}
    ),
    "conversion.levels": Row(kinds={"alpha": LEVELS}),
    "copies.CopyLaw.of": Row(
        kinds={"probability": OPEN_UNIT.at(0.1), "largest": whole(1, 5), "draws": whole(1, 10)}
    ),
    "copies.copies_for_tail": Row(
        kinds={
            "probability": OPEN_UNIT.at(0.1),
            "tail": POSITIVE_OR_INF.at(0.1),
            "draws": whole(1, 10),
        }
    ),
    "events.resque_event": Row(kinds={**SIGMA, "calls": whole(0, 5), "dataset_size": whole(2, 40)}),
    "events.sampled_gaussian_event": Row(kinds=SIGMA),
    "events.dp_sgd_event": Row(kinds={**SIGMA, "steps": whole(0, 6)}),
    "events.dp2_event": Row(kinds={**SIGMA, "steps": whole(0, 6)}),
    "exact.accountant.ExactAccountant": Row(owner=lambda: ExactAccountant().compose(step())),
    "counting.CountingAccountant.compose": Row(owner=ExactAccountant),
    "gaussian_dp.GaussianDp": Row(kinds={"mu": NOT_NEGATIVE_OR_INF}),
    "gaussian_dp.GaussianDp.from_gaussian": Row(kinds=SIGMA),
    "gaussian_dp.GaussianDp.trade_off": Row(kinds={"alpha": LEVELS}),
    "gaussian_dp.GaussianDpEstimate": Row(kinds={"mu_estimate": NOT_NEGATIVE_OR_INF}),
    "gaussian_dp.GaussianDpEstimate.trade_off_estimate": Row(kinds={"alpha": LEVELS}),
    "gaussian_dp.central_limit_estimate": Row(
        kinds={"noise_multiplier": POSITIVE_OR_INF, "steps": whole(0, 6)}
    ),
    "group.GroupAccountant": Row(owner=lambda: GroupAccountant(group_size=2).compose(step())),
    "laws.check.check_accountant": Row(
        given={
            "make_accountant": lambda: ExactAccountant,
            "laws": lambda: "L10",
            "max_examples": lambda: 0,
            "cpu_budget": lambda: 0.0,
        },
        elsewhere=("max_examples", "seed", "cpu_budget"),
        kinds={
            "max_examples": whole(0, 0),
            "cpu_budget": NOT_NEGATIVE_OR_INF.at(1.0),
            "laws": FREE,
        },
    ),
    "relations.rule": Row(
        kinds={"sampling": name_of("poisson", "without-replacement", "with-replacement")}
    ),
    "renyi.accountant.RenyiAccountant": Row(
        kinds={"orders": ORDERS}, owner=lambda: RenyiAccountant().compose(step())
    ),
    "renyi.accountant.RenyiAccountant.rdp": Row(
        kinds={"orders": numbers(ABOVE_ONE, usual=(2.0, 4.0), empty=True, one=True)}
    ),
    "renyi.accountant.RenyiAccountant.approximate": Row(
        kinds={"orders": numbers(ABOVE_ONE, usual=(2.0, 4.0), one=True)}
    ),
    "renyi.approximate.ApproximateRenyi": Row(
        kinds={
            "orders": ORDERS,
            "divergences": numbers(NOT_NEGATIVE_OR_INF, usual=(0.1, 0.2)),
            "delta": CLOSED_UNIT.at(0.0),
        },
        owner=lambda: ApproximateRenyi((2.0, 4.0), (0.1, 0.2)),
    ),
    "sampling.WithoutReplacement": Row(given={"batch_size": lambda: 1}),
    "sampling.ShuffledEpochs": Row(given={"batch_size": lambda: 1}),
    "sampling.WeightedWithReplacement": Row(kinds={"largest_probability": OPEN_UNIT.at(0.1)}),
    "sampling.OracleDraws": Row(kinds={"dataset_size": whole(2, 40)}),
    "sampling.GroupedPoisson": Row(kinds={"group_size": whole(2, 2)}),
    "sampling.TruncatedPoisson": Row(kinds={"sampling_probability": CLOSED_UNIT.at(0.1)}),
    "sampling.weighted_sampling": Row(
        given={"weights_depend_on_data": lambda: False},
        kinds={"weights": numbers(POSITIVE, usual=(1.0, 2.0))},
    ),
    "tcdp.accountant.TruncatedCdpAccountant": Row(
        kinds={"method": name_of("gaussian", "gaussian-closed", "agnostic", "agnostic-closed")},
        owner=lambda: TruncatedCdpAccountant().compose(step()),
    ),
    "tcdp.accountant.TruncatedCdpAccountant.curve": Row(
        given={"omega": lambda: 2.0},
        kinds={"tail": OPEN_UNIT.at(1e-6), "omega": ABOVE_ONE.at(2.0)},
    ),
    "tcdp.advanced.Steps": Row(kinds={"epsilon": NOT_NEGATIVE, "delta": CLOSED_UNIT.at(0.0)}),
    "tcdp.advanced.dwork_rothblum_vadhan": Row(
        given={"steps": lambda: Steps(0.1, 1e-6, 5)}, kinds={"slack": OPEN_UNIT.at(0.1)}
    ),
    "tcdp.advanced.dwork_rothblum_vadhan_mixed": Row(
        given={"parts": lambda: [Steps(0.1, 1e-6, 5)]}, kinds={"slack": OPEN_UNIT.at(0.1)}
    ),
    "tcdp.advanced.heterogeneous": Row(
        given={"parts": lambda: [Steps(0.1, 1e-6, 5)]}, kinds={"slack": OPEN_UNIT.at(0.1)}
    ),
    "tcdp.advanced.optimal_delta": Row(given={"parts": lambda: [Steps(0.1, 1e-6, 5)]}),
    "tcdp.advanced.optimal_epsilon": Row(given={"parts": lambda: [Steps(0.1, 1e-6, 5)]}),
    "tcdp.amplification.without_replacement_published": Row(
        given={"base": curve, "batch_size": lambda: 1}, elsewhere=("dataset_size",)
    ),
    "tcdp.amplification.with_replacement_closed": Row(
        given={"base": curve, "dataset_size": lambda: 400},
        kinds={"dataset_size": whole(2, 400, 400)},
    ),
    "tcdp.curve.TruncatedCdp": Row(
        kinds={"rho": NOT_NEGATIVE_OR_INF.at(0.5)}, owner=lambda: TruncatedCdp(0.5, 8.0)
    ),
    "tcdp.curve.TruncatedCdp.from_gaussian": Row(kinds=SIGMA),
    "tcdp.curve.TruncatedCdp.from_pure": Row(kinds={"epsilon": NOT_NEGATIVE_OR_INF}),
    "tcdp.curve.TruncatedCdp.divergence": Row(
        kinds={"order": numbers(ABOVE_ONE_OR_INF, usual=(2.0, np.inf), empty=True, one=True)}
    ),
    "tcdp.curve.TruncatedCdp.group": Row(kinds={"size": whole(1, 2)}),
    "tcdp.curve.ApproximateTruncatedCdp": Row(
        owner=lambda: ApproximateTruncatedCdp(TruncatedCdp(0.5, 8.0), 1e-6)
    ),
    "trade_off.trade_off": Row(
        kinds={"alpha": LEVELS, "epsilons": numbers(NOT_NEGATIVE_OR_INF, usual=(0.0, 1.0))}
    ),
}
ROWS = {f"accountants.{name}": row for name, row in ROWS.items()}
