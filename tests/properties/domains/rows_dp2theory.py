"""What is said of the callables of `dp2theory` one by one, but for `dp2theory.resque`."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from accountants import Bracket
from accountants.calibration import Calibration
from dp2theory.experiments.settings import Setting
from dp2theory.experiments.study_scenes import CHECKS
from dp2theory.experiments.tuned import Tuned
from dp2theory.optimizers.grids import GRIDS
from dp2theory.optimizers.registry import METHODS
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.planning.budget import Budget
from dp2theory.problems.convex import least_absolute_deviations, quadratic
from tests.problems.small import PROBLEMS
from tests.properties.domains.calls import Row
from tests.properties.domains.kinds import (
    BELOW_ONE,
    CLOSED_UNIT,
    COUNT,
    FREE,
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INF,
    OPEN_UNIT,
    POSITIVE,
    POSITIVE_OR_INF,
    REAL,
    REAL_OR_INF,
    Kind,
    indices,
    name_of,
    names_of,
    numbers,
    vector,
    whole,
)
from tests.properties.domains.names import D, N
from tests.properties.domains.objects import blocks

FINITE_CLIP: dict[str, Kind] = {"clip_norm": POSITIVE, "preconditioned_clip_norm": POSITIVE}
METHOD = {"method": name_of("dp-sgd", *METHODS)}
RELATIONS = name_of("add-or-remove-one", "replace-one", "replace-special")
SCHEMES = name_of("poisson", "without-replacement", "with-replacement")


def two() -> int:
    """A delay."""
    return 2


# Of DP² and its relatives: a delay, or both lengths.
PHASED = Row(given={"delay": two}, kinds=FINITE_CLIP, elsewhere=("sgd_steps", "adaptive_steps"))
PLAIN = Row(kinds=FINITE_CLIP)
SECOND = Row(kinds={**FINITE_CLIP, "initial_second_moment": POSITIVE})
OPTIMIZERS: dict[str, Row] = {
    "adagrad.DpAdaGrad": PLAIN,
    "adagrad.DelayedAdaGrad": PHASED,
    "adagrad.Dp2AdaGrad": PHASED,
    "adam.DpAdam": PLAIN,
    "adam.DelayedAdam": PHASED,
    "adam.Dp2Adam": PHASED,
    "batched.run_batched": Row(
        given={"optimizers": lambda: [DpSgd(0.1, 1.0, 1.0)] * 2}, kinds={"steps": whole(0, 6)}
    ),
    "batched.grid_losses": Row(
        given={"grid": lambda: [DpSgd(0.1, 1.0, 1.0)]}, kinds={"steps": whole(0, 6)}
    ),
    "dp2.Dp2RmsProp": PHASED,
    "dp2.DelayedRmsProp": PHASED,
    "grids.grid_size": Row(kinds={"method": name_of("dp-sgd", *GRIDS)}, elsewhere=("method",)),
    "grids.grid_of": Row(kinds={"method": name_of("dp-sgd", *GRIDS)}),
    "ledger.joint_noise_multiplier": Row(
        kinds={"multipliers": numbers(NOT_NEGATIVE_OR_INF, usual=(1.0, 2.0))}
    ),
    "ledger.Ledger.event": Row(kinds={"noise_multiplier": NOT_NEGATIVE_OR_INF}),
    "ledger.planned_event": Row(kinds={"steps": whole(0, 6)}),
    "mirror_descent.PdaDpmd": PLAIN,
    "modifiers.LearningRateDecay": Row(
        kinds={"schedule": name_of("linear", "cosine", "inverse-sqrt")}
    ),
    "noise_aware.DpRmsPropNoiseAware": PLAIN,
    "noise_aware.Dp2RmsPropNoiseAware": PHASED,
    "phases.resolve_phases": Row(
        given={"delay": lambda: None}, elsewhere=("delay", "sgd_steps", "adaptive_steps")
    ),
    "projected.DpAdaGradProjected": PLAIN,
    "protocol.run": Row(kinds={"start_step": whole(0, 0), "steps": whole(0, 6)}),
    "registry.method_class": Row(kinds=METHOD),
    "registry.is_private": Row(kinds=METHOD),
    "registry.needs_public_data": Row(kinds=METHOD),
    "registry.has_setting": Row(kinds=METHOD),
    "registry.check_words": Row(kinds=METHOD),
    "registry.build": Row(
        kinds={"method": name_of("sgd", *METHODS), "steps": whole(0, 6)},
        given={"values": lambda: {"learning_rate": 0.1}},
        elsewhere=("method",),
    ),
    "rmsprop.DpRmsProp": PLAIN,
    "sgd.DpSgd": PLAIN,
    "side_information.AdaDps": PLAIN,
    "side_information.AdaDpsStatistics": Row(
        kinds={**FINITE_CLIP, "floor": POSITIVE, "exponent": CLOSED_UNIT}
    ),
    "snapshot.Snapshot": Row(
        given={"statistic_clip_norm": lambda: 1.0},
        kinds={**FINITE_CLIP, "floor": POSITIVE, "exponent": CLOSED_UNIT},
        elsewhere=("histogram_noise_multiplier", "refreshes", "period"),
    ),
    "statistics.statistic_named": Row(
        kinds={"name": name_of("gradient", "squared-gradient", "squared-norm-histogram")},
        called={"name": "statistic"},
    ),
    "tuning.tuning_seeds": Row(kinds={"count": whole(1, 3)}),
    "tuning.tune": Row(
        kinds={"method": name_of("dp-sgd", *METHODS)}, long=True, elsewhere=("method",)
    ),
    "variants.Dp2RmsPropExtraNoise": PLAIN,
    "variants.Dp2RmsPropNoiseFirst": PHASED,
    "variants.Dp2RmsPropDebiased": Row(
        given={"delay": two},
        kinds={**FINITE_CLIP, "clamp": name_of("accumulator", "ema")},
        elsewhere=("sgd_steps", "adaptive_steps"),
    ),
    "yogi.Yogi": SECOND,
    "yogi.DpYogi": SECOND,
    "yogi.DelayedYogi": Row(given=PHASED.given, kinds=SECOND.kinds, elsewhere=PHASED.elsewhere),
    "yogi.Dp2Yogi": Row(given=PHASED.given, kinds=SECOND.kinds, elsewhere=PHASED.elsewhere),
}


def calibration() -> Calibration:
    """What a budget answered."""
    return Calibration(1.0, Bracket(1.0, 2.0))


def budget() -> Budget:
    """Of 64 steps: long enough for a pilot."""
    return Budget(N, 4, 64, 3.0, 1e-3)


MEANS = Row(owner=blocks, kinds={**FINITE_CLIP, "batch_size": POSITIVE.at(4.0)})
PLANNING: dict[str, Row] = {
    "blocks.BlockMeans": MEANS,
    "blocks.BlockMeans.statistics": Row(kinds=MEANS.kinds),
    "blocks.BlockMeans.add": Row(kinds={"vector": vector(D, wild=True)}),
    "budget.Budget": Row(
        kinds={
            "relation": RELATIONS,
            "sampling_scheme": SCHEMES,
            "target_epsilon": POSITIVE_OR_INF.at(3.0),
            "target_delta": OPEN_UNIT.at(1e-3),
        },
        given={"batch_size": lambda: 1},
    ),
    "budget.Budget.event": Row(
        kinds={"noise_multiplier": NOT_NEGATIVE_OR_INF, "steps": whole(0, 6)}
    ),
    "certified.check_damping": Row(kinds=FINITE_CLIP),
    "certified.certify": Row(
        kinds={**FINITE_CLIP, "recommended": whole(1, 2)}, given={"dimension": lambda: D}
    ),
    "paired.compare_pairs": Row(
        kinds={
            "losses": numbers(REAL, usual=(0.5, 1.0)),
            "baseline": numbers(REAL, usual=(1.0, 1.5)),
        },
    ),
    "pilot.check_step_sizes": Row(kinds=FINITE_CLIP),
    "pilot.run_pilot": Row(given={"budget": budget}, kinds=FINITE_CLIP),
    "plan.make_plan": Row(given={"calibration": calibration}, kinds=FINITE_CLIP),
    "plan.resolve_step_sizes": Row(kinds=FINITE_CLIP),
    "snapshot.plan_snapshot": Row(long=True),
}


# A class that is a part of a problem's maker is exempt; its methods are called on a small one.
PROBLEMS_ROWS: dict[str, Row] = {
    "convex.QuadraticProblem": Row(owner=lambda: quadratic(N, D)),
    "factorization.MatrixFactorization": Row(owner=PROBLEMS["ratings"]),
    "linear.LinearProblem": Row(owner=lambda: least_absolute_deviations(N, D)),
    "multi_output.MultiOutputProblem": Row(owner=PROBLEMS["softmax"]),
    "convex.QuadraticProblem.subset": Row(kinds={"records": indices(N)}),
    "linear.LinearProblem.subset": Row(kinds={"records": indices(N)}),
    "convex.quadratic": Row(
        kinds={"smoothness": POSITIVE}, elsewhere=("strong_convexity", "smoothness")
    ),
    "synthetic.het": Row(
        kinds={"amin": POSITIVE.at(0.1), "avg": POSITIVE.at(3.0), "d": whole(1, 12, 12)},
        elsewhere=("amin", "avg", "n"),
    ),
    "synthetic.syn": Row(
        given={"n": lambda: N, "d": lambda: 12, "active": lambda: 3},
        kinds={"active": whole(1, 3), "d": whole(1, 12, 12)},
    ),
    "synthetic.tags": Row(
        given={"n": lambda: N, "d": lambda: 12, "active": lambda: 3, "outputs": lambda: 2},
        kinds={"active": whole(1, 3), "outputs": whole(1, 2), "d": whole(1, 12, 12)},
    ),
    "protocol.Constants": Row(
        kinds={
            "lipschitz": NOT_NEGATIVE,
            "smoothness": NOT_NEGATIVE,
            "strong_convexity": NOT_NEGATIVE,
            "diameter": NOT_NEGATIVE,
        }
    ),
    # real data: read once more for each end
    "text.text": Row(elsewhere=("dimension", "seed")),
    "movielens.movielens_small": Row(elsewhere=("seed", "factors")),
    "public.split_public": Row(elsewhere=("share",)),
    "public.PublicData.gradient": Row(kinds={"step": whole(0, 0)}),
    "registry.get_problem": Row(kinds={"name": name_of("quadratic")}, called={"name": "problem"}),
    "registry.takes_option": Row(
        kinds={"name": name_of("quadratic")},
        given={"option": lambda: "path"},
        called={"name": "problem"},
    ),
}
NO_LOSSES = st.sampled_from((None, 0.5, "ab", (), ["a", 1.0], [1j], [[1.0]], [[1.0], []], {}))
TUNED: dict[str, Kind] = {
    "method": name_of("dp-sgd", *GRIDS),
    "noise_multiplier": NOT_NEGATIVE,
    "finalists": COUNT,
}
EXECUTOR = name_of("serial", "process", "process:2", "dask:localhost:8786")
PURPOSE = Kind(
    "a text", lambda: "tuning", ("x",), st.sampled_from((None, "", 1, 0.5, b"a", (), ["a"], True))
)


def setting() -> Setting:
    """Six steps on forty records."""
    return Setting("least-absolute-deviations", 4, steps=6, problem_options={"n": N, "d": D})


def tuned() -> Tuned:
    """DP-SGD, tuned on one seed."""
    return Tuned(setting(), "dp-sgd", {"learning_rate": 0.1}, 1.0, None, (), (5,))


def results() -> list[Any]:
    """Two runs, of which the losses are read."""
    return [SimpleNamespace(final_loss=loss) for loss in (0.5, 1.0)]


EXPERIMENTS: dict[str, Row] = {
    "early.early_losses": Row(
        given={"setting": setting},
        kinds={"cycles": numbers(COUNT, usual=(1,), empty=True)},
        long=True,
    ),
    "figures.request.FigureRequest": Row(
        given={"setting": setting},
        kinds={
            "delays": numbers(whole(1, 2), usual=(1, 2)),
            "epsilons": numbers(POSITIVE, usual=(1.0,)),
        },
        elsewhere=("seeds", "tune_seeds"),
    ),
    "figures.statistics.mean_over_seeds": Row(
        kinds={"values": Kind("numbers", lambda: [0.5, 1.0], ([1.0], [inf, 1.0]), NO_LOSSES, False)}
    ),
    "study_scenes.check_names": Row(
        kinds={"names": names_of(*CHECKS).but([], ())}, called={"names": "check"}
    ),
    "study_checks.median_ratio": Row(
        kinds={
            "ours": numbers(REAL_OR_INF, usual=(0.5, 1.0)),
            "theirs": numbers(POSITIVE, usual=(1.0, 1.5)),
        }
    ),
    "resque.accounting.account": Row(
        given={"dataset_size": lambda: 4000},
        kinds={"noise_over_sensitivity": NOT_NEGATIVE},
        long=True,
    ),
    "resque.request.ResqueRequest": Row(kinds={"dimension": whole(2, 4)}),
    "settings.setting_for": Row(
        given={"problem": lambda: "text"},
        kinds={"problem": FREE},
        keywords={
            "batch_size": COUNT.or_none(),
            "steps": COUNT.or_none(),
            "target_epsilon": POSITIVE_OR_INF.or_none(),
            "target_delta": OPEN_UNIT.or_none(),
            "sampling": SCHEMES.or_none(),
            "public_share": BELOW_ONE.or_none(),
        },
    ),
    "task_data.Task": Row(
        given={"setting": setting, "settings": lambda: {"learning_rate": 0.1}},
        kinds={**METHOD, "noise_multiplier": NOT_NEGATIVE},
    ),
    "tuned.delay_grid": Row(kinds={"divisors": numbers(COUNT, usual=(2, 3))}),
    "tuned.evaluate": Row(given={"setting": setting, "tuned": tuned}, long=True),
    "tuned.paired": Row(given={"ours": results, "theirs": results}),
    "tuned.tune_delays": Row(
        given={"setting": setting},
        kinds={**TUNED, "delays": numbers(COUNT.or_none(), usual=(1,)).but((), [])},
        called={"delays": "delay"},
        long=True,
    ),
    "tuned.tune_setting": Row(given={"setting": setting}, kinds=TUNED, long=True),
    "executors.check_executor": Row(kinds={"spec": EXECUTOR}, called={"spec": "executor"}),
    "executors.Processes": Row(kinds={"workers": whole(1, 2, 1, 1024)}),
    "seeds.derived_seeds": Row(kinds={"purpose": PURPOSE, "text": PURPOSE, "count": whole(1, 3)}),
    "settings.Setting": Row(
        given={"steps": lambda: 6},
        kinds={
            "problem": FREE,
            "target_epsilon": POSITIVE_OR_INF,
            "target_delta": OPEN_UNIT,
            "sampling": SCHEMES,
            "relation": RELATIONS,
            "public_share": BELOW_ONE,
            "epochs": COUNT,
        },
        owner=setting,
        elsewhere=("epochs",),
    ),
}
ROWS = {
    **{f"dp2theory.experiments.{name}": row for name, row in EXPERIMENTS.items()},
    **{f"dp2theory.optimizers.{name}": row for name, row in OPTIMIZERS.items()},
    **{f"dp2theory.planning.{name}": row for name, row in PLANNING.items()},
    **{f"dp2theory.problems.{name}": row for name, row in PROBLEMS_ROWS.items()},
}
