"""Sizes of the figures on ReSQue that take less than a second."""

from fractions import Fraction

from dp2theory.experiments.resque.accounting import SETTINGS

SMALL = {
    "fig1": {"points": 5},
    "ball_slope": {"functions": ("max",), "ratios": (32.0, 128.0), "dimension": 100},
    "drift": {
        "hard": {"horizons": (50, 100), "ratios": (0.25,), "paths": 30,
                 "methods": ("shared", "raw")},
        "independent": {"horizons": (40, 120), "ratios": (0.1,), "paths": 100,
                        "methods": ("shared", "independent")},
        "linear": {"horizons": (50,), "ratios": (0.1,), "orders": (2.0, 4.0), "paths": 500,
                   "methods": ("shared",)},
        "absolute": {"horizons": (50,), "ratios": (0.1,), "orders": (2.0,), "paths": 50,
                     "methods": ("shared",)},
    },
    "table1": {"rate_accuracies": (0.1, 0.001), "functions": ("max",), "accuracies": (0.1, 0.025),
               "dimensions": (4, 32), "data": {}},
    "table2": {"accounted": SETTINGS[1:2], "settings": ((400, 2),), "target_epsilon": 4.0,
               "methods": ("noisy-sgd", "phased-localization"),
               "thetas": tuple(Fraction(k, 2) for k in range(5))},
}  # fmt: skip


def made(name, **request):
    """The result of a figure at its small sizes."""
    from dp2theory.experiments.resque.registry import FIGURES, compute
    from dp2theory.experiments.resque.request import ResqueRequest

    asked = {"seeds": (0, 1), "sizes": SMALL[FIGURES[name].module]} | request
    return compute(name, ResqueRequest(**asked))


def failed(verdict):
    """Names of the gates that do not hold."""
    return [gate.name for gate in verdict.gates if not gate.holds]
