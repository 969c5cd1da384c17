"""Exact worst cases of deterministic sub-statements, by PEPit, when it is installed.

PEPit solves a semidefinite program whose value is the worst case of a method over all functions of
a class. Without noise DP-SGD on a ball is projected subgradient descent; its worst case is what
the bound of `dp2.dp-sgd.any-step` can be held against in any dimension.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from bounds.theorem import Theorem
from dp2theory.verification.verify_report import Test

#: The theorems that it can be asked about.
WORST_CASES = ("dp2.dp-sgd.any-step",)
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
    return (_subgradient(theorem),)


def _subgradient(theorem: Theorem) -> Test:
    pepit = import_module("PEPit")
    functions = import_module("PEPit.functions")
    steps, size, radius, lipschitz = 4, 0.4, 1.0, 1.0
    problem = pepit.PEP()
    function = problem.declare_function(functions.ConvexLipschitzFunction, M=lipschitz)
    best = function.stationary_point()
    point = problem.set_initial_point()
    problem.set_initial_condition((point - best) ** 2 <= radius**2)
    total = 0
    for _ in range(steps):
        slope, value = function.oracle(point)
        total = total + value - function(best)
        point = point - size * slope
    problem.set_performance_metric(total / steps)
    worst = float(problem.solve(verbose=0))
    bound = float(
        theorem.evaluate(
            diameter=radius, dimension=1, steps=steps, learning_rate=size,
            gradient_bound=lipschitz, noise_std=0.0,
        )
    )  # fmt: skip
    slack = bound / worst
    violation = "" if slack >= 1 - SOLVED else f"{theorem.id}: PEPit's worst case {worst} > {bound}"
    what = f"subgradient descent, {steps} steps, solved to {SOLVED:g}"
    return Test(PROGRAMS, what, 1, slack if violation else max(slack, 1.0), None, violation)
