"""Exact worst cases of deterministic sub-statements, by PEPit, when it is installed.

PEPit solves a semidefinite program whose value is the worst case of a method over all functions of
a class, in any dimension. Without noise DP-SGD on a ball is projected subgradient descent, and the
nonconvex method without noise and in its first phase is gradient descent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bounds.theorem import Theorem
from dp2theory.verification.verify_report import Test

#: How a worst case is counted in a test.
PROGRAMS = "worst cases"
#: Relative error that is left to the solver of the program; hand-chosen.
SOLVED = 1e-4


def missing() -> tuple[str, ...]:
    """A note when PEPit is not installed."""
    if find_spec("PEPit") is not None:
        return ()
    return ("PEPit is not installed (extra `pep`): no exact worst cases of deterministic methods",)


def try_worst_case(theorem: Theorem, *, full: bool) -> tuple[Test, ...]:
    """The bound of a theorem against the exact worst case of the method without noise.

    Nothing when PEPit is not installed, in a quick call, or for another theorem.
    """
    if not full or theorem.id not in WORST_CASES or find_spec("PEPit") is None:
        return ()
    worst, instances = WORST_CASES[theorem.id]
    return tuple(worst(theorem, **each) for each in instances)


def _subgradients(theorem: Theorem, *, steps: int, size: float | None = None) -> Test:
    """Mean gap of subgradient descent on convex functions of slope 1, from distance 1."""
    known: dict[str, Any] = {"diameter": 1.0, "dimension": 1, "steps": steps, "gradient_bound": 1.0,
             "noise_std": 0.0}  # fmt: skip
    if size is None:
        size = float(theorem.evaluate("learning_rate", **known))
    else:
        known["learning_rate"] = size
    problem, function = _declared("ConvexLipschitzFunction", M=1.0)
    best, point = function.stationary_point(), problem.set_initial_point()
    problem.set_initial_condition((point - best) ** 2 <= 1)
    total = 0
    for _ in range(steps):
        slope, value = function.oracle(point)
        total = total + value - function(best)
        point = point - size * slope
    problem.set_performance_metric(total / steps)
    what = f"subgradient descent, {steps} steps of {size:.3g}"
    return _against(theorem, problem, float(theorem.evaluate(**known)), what)


def _gradients(theorem: Theorem, *, steps: int, size: float) -> Test:
    """Mean squared gradient of gradient descent on 1-smooth functions, from a gap of 1."""
    problem, function = _declared("SmoothFunction", L=1.0)
    point = problem.set_initial_point()
    first, total = function(point), 0
    for _ in range(steps):
        slope = function.gradient(point)
        total = total + slope**2
        point = point - size * slope
        # PEPit's class has no least value of its own.
        problem.set_initial_condition(first - function(point) <= 1)
    problem.set_performance_metric(total / steps)
    known: dict[str, Any] = {"dimension": 1, "steps": steps, "delay": steps, "learning_rate": size,
             "smoothness": 1.0, "initial_gap": 1.0, "gradient_std": 0.0, "noise_std": 0.0,
             "preconditioned_noise_std": 0.0, "batch_size": 1, "damping": 1.0}  # fmt: skip
    what = f"gradient descent, {steps} steps of {size:.3g}"
    return _against(theorem, problem, float(theorem.evaluate(**known)), what)


def _declared(kind: str, **constants: float) -> tuple[Any, Any]:
    """A program, and a function of a class."""
    problem = import_module("PEPit").PEP()
    functions = import_module("PEPit.functions")
    return problem, problem.declare_function(getattr(functions, kind), **constants)


def _against(theorem: Theorem, problem: Any, bound: float, what: str) -> Test:
    worst = float(problem.solve(verbose=0))
    slack = bound / worst
    violation = "" if slack >= 1 - SOLVED else f"{theorem.id}: PEPit's worst case {worst} > {bound}"
    what = f"{what}, solved to {SOLVED:g}"
    return Test(PROGRAMS, what, 1, slack if violation else max(slack, 1.0), None, violation)


#: The theorems that it can be asked about, how, and on which instances.
WORST_CASES: Mapping[str, tuple[Callable[..., Test], Sequence[Mapping[str, Any]]]] = {
    "dp2.dp-sgd.any-step": (_subgradients, ({"steps": 4, "size": 0.4}, {"steps": 6, "size": 0.1})),
    "dp2.dp-sgd": (_subgradients, ({"steps": 4}, {"steps": 9})),
    "dp2.nonconvex": (_gradients, ({"steps": 4, "size": 0.5}, {"steps": 3, "size": 1.0})),
}
