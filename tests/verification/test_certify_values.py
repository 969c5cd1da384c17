"""Every number of a certificate against a second computation of it, with broken ones noticed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

import dp2theory.verification.certify as module
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.problems.convex import least_absolute_deviations
from dp2theory.verification.certify import certify
from dp2theory.verification.certify_trace import record_run

PROBLEM = least_absolute_deviations(n=64, d=3)
POISSON, FIXED = Poisson(0.25), WithoutReplacement(64, 16)
#: Steps of 2 and much noise: iterates hit the box.
DP_SGD = DpSgd(2.0, 1.0, 4.0)
DP2 = Dp2RmsProp(0.3, 1.0, 0.05, 20.0, 2.0, sgd_steps=3, adaptive_steps=4, damping=0.2)


@dataclass(frozen=True)
class Second:
    """A certificate computed anew: the bounds, the gaps of each run, by name and gap."""

    bounds: dict[tuple[str, str], float]
    gaps: dict[tuple[str, str], np.ndarray]
    intervals: dict[tuple[str, str], tuple[float, float]]


def student(values):
    return stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))


def weighted(trace, weights):
    """Master inequality of one run, sides over the sum of the weights; the box is [-1, 1]."""
    metric = weights[:, None] * trace.D / trace.a[:, None]
    rises = np.maximum(np.diff(metric, axis=0), 0).sum()
    added = ((trace.g**2 / trace.D).sum(axis=1) + trace.nu**2 * trace.D.sum(axis=1)) * trace.a
    right = 2.0 * (metric[0].sum() + rises) + 0.5 * (weights * added).sum()
    return right / weights.sum(), (weights * trace.gap).sum() / weights.sum()


def two_rates(traces, moment):
    """Theorem B as the theory states it, phase by phase."""
    first, D = traces[0], np.array([each.D for each in traces])
    steps, dimension = first.g.shape
    adaptive = (first.D != 1).any(axis=1)
    eta, later = first.a[~adaptive][0], first.a[adaptive][0]
    rho = later / eta
    changes = 4.0 * dimension
    for step in range(1, steps):
        if adaptive[step] and not adaptive[step - 1]:
            changes += 4.0 * np.maximum(D[:, step] / rho - 1, 0).mean(axis=0).sum()
        if adaptive[step - 1] and not adaptive[step]:
            changes += 4.0 * np.maximum(1 - D[:, step - 1] / rho, 0).mean(axis=0).sum()
    squares = np.mean([(each.g**2 / each.D).sum(axis=1) for each in traces], axis=0)
    largest = squares[adaptive].max()
    largest_trace = D.sum(axis=2).mean(axis=0)[adaptive].max()
    paid = (~adaptive).sum() * (moment**2 + dimension * first.nu[~adaptive][0] ** 2)
    paid += rho * adaptive.sum() * (largest + first.nu[adaptive][0] ** 2 * largest_trace)
    return changes / (2 * eta * steps) + eta * paid / (2 * steps)


def second(traces, sampling):
    first = traces[0]
    steps, dimension = first.g.shape
    ends = np.array([weighted(each, np.ones(steps)) for each in traces])
    gaps = np.array([each.gap for each in traces])
    best = int(gaps.mean(axis=0).argmin())
    optimum = PROBLEM.constants.optimal_value
    averages = [PROBLEM.loss(each.w[:-1].mean(axis=0)) - optimum for each in traces]
    moment = 1.0
    if sampling is POISSON:
        moment = np.sqrt(1 + 0.75 / 16)
    gap = {
        ("dp2.master", "mean over the steps"): ends[:, 1],
        ("dp2.master.best", f"best step ({best + 1})"): gaps[:, best],
        ("dp2.master.average", "average of the iterates"): np.array(averages),
    }
    bound = dict.fromkeys(gap, ends[:, 0])
    if len(set(first.a)) > 1:
        sized = np.array([weighted(each, first.a) for each in traces])
        name = ("dp2.master", "mean, weighted by step size")
        bound[name], gap[name] = sized.T
        name = ("dp2.B", "mean over the steps")
        bound[name], gap[name] = np.array([two_rates(traces, moment)]), ends[:, 1]
    else:
        eta = first.a[0]
        paid = moment**2 + dimension * first.nu[0] ** 2
        name = ("dp2.dp-sgd.any-step", "mean over the steps")
        bound[name] = np.array([4 * dimension / (2 * eta * steps) + eta * paid / 2])
        gap[name] = ends[:, 1]
    return Second(
        {name: values.mean() for name, values in bound.items()},
        gap,
        {name: student(values) for name, values in bound.items() if values.size > 1},
    )


def agrees(found, again):
    """Whether a certificate is the second computation of it."""
    rows = {(row.theorem, row.gap_of): row for row in found.bounds}
    if rows.keys() != again.bounds.keys():
        return False

    def close(some, others):
        return np.allclose(some, others, rtol=1e-9, atol=1e-13)

    return all(
        close(row.bound, again.bounds[name])
        and close(row.gap, again.gaps[name].mean())
        and close((row.gap_interval.lower, row.gap_interval.upper), student(again.gaps[name]))
        and (row.bound_interval is None) == (name not in again.intervals)
        and (
            row.bound_interval is None
            or close((row.bound_interval.lower, row.bound_interval.upper), again.intervals[name])
        )
        for name, row in rows.items()
    )


def recorded(optimizer, sampling, runs=3):
    return [
        record_run(optimizer, PROBLEM, sampling=sampling, steps=30, seed=seed)[1]
        for seed in range(runs)
    ]


@pytest.mark.parametrize("runs", [2, 5])
@pytest.mark.parametrize(
    "sampling", [POISSON, FIXED, WithReplacement(64, 16)], ids=lambda each: each.scheme
)
@pytest.mark.parametrize("optimizer", [DP_SGD, DP2], ids=lambda each: each.name)
def test_every_number_is_that_of_a_second_computation(optimizer, sampling, runs):
    traces = recorded(optimizer, sampling, runs)
    found = certify(PROBLEM, sampling, traces)
    assert agrees(found, second(traces, sampling))
    kinds = {row.theorem: row.kind for row in found.bounds}
    assert kinds.pop("dp2.dp-sgd.any-step", "upper") == "upper"
    assert set(kinds.values()) == {"estimate"}  # dp2.B reads traces, too
    if optimizer is DP_SGD:
        assert max(np.abs(each.w).max() for each in traces) == 1  # the box is reached


def _model(**changed):
    """`certify._model` with a process or a value changed."""
    whole = module._model

    def broken(traces, weights, **values):
        model = whole(traces, weights, **values)
        for name, change in changed.items():
            place = model.processes if name in model.processes else model.values
            if name in place:
                place[name] = change(place[name])
        return model

    return "_model", broken


def _interval(confidence):
    return "student_interval", lambda values, _: Interval(values, confidence)


class Interval:
    def __init__(self, values, confidence):
        half = stats.norm.ppf((1 + confidence) / 2) * stats.sem(values)
        self.lower, self.upper = values.mean() - half, values.mean() + half


def _always_largest(problem, sampling):
    return problem.constants.lipschitz


def _never_less(problem, sampling):
    return problem.constants.lipschitz * np.sqrt(1 + 0.75 / 16)


@pytest.mark.parametrize(
    ("optimizer", "sampling", "broken"),
    [
        (DP2, POISSON, _model(nu=lambda nu: 0 * nu)),  # noise is free
        (DP2, POISSON, _model(Rj=lambda side: side / 2)),  # radius for diameter
        (DP2, POISSON, _model(D=lambda D: np.roll(D, 1, axis=0))),  # of the step before
        (DP2, POISSON, _model(D1=lambda one: 0.9 * one)),
        (DP2, POISSON, _model(Gam=lambda one: 0.9 * one)),
        (DP2, POISSON, _model(nu2=lambda one: 0 * one)),
        (DP2, POISSON, _model(rho=lambda one: 1 / one)),
        (DP2, POISSON, ("_moment", _always_largest)),  # no word of Poisson's sizes
        (DP2, FIXED, ("_moment", _never_less)),  # Poisson's sizes where there are none
        (DP_SGD, POISSON, ("_moment", _always_largest)),
        (DP_SGD, POISSON, _interval(0.95)),  # normal, not Student
    ],
)
def test_a_broken_bound_is_noticed(optimizer, sampling, broken, monkeypatch):
    traces = recorded(optimizer, sampling)
    again = second(traces, sampling)
    assert agrees(certify(PROBLEM, sampling, traces), again)
    monkeypatch.setattr(module, *broken)
    assert not agrees(certify(PROBLEM, sampling, traces), again)


def test_a_bound_below_by_chance_is_no_violation_and_one_beyond_it_is():
    one = np.array([0.0, 0.1, -0.1, 0.05])
    row = module._row("x", "y", "z", 1 + one, 1.02 + 0 * one)  # a hair below, well within
    assert row.bound < row.gap
    assert row.holds
    assert row.runs_above == 2
    assert not module._row("x", "y", "z", 1 + one, 1.3 + 0 * one).holds


def test_noise_that_the_bound_does_not_pay_for_is_refused():
    traces = recorded(DP2, POISSON, 2)
    for factor in (0.0, 0.5, 2.0):
        wrong = [replace(each, nu=factor * each.nu) for each in traces]
        with pytest.raises(ValueError, match="not of the standard deviation nu"):
            certify(PROBLEM, POISSON, wrong)


def test_noise_below_the_rounding_of_a_gradient_is_no_contradiction():
    faint = replace(DP2, noise_multiplier=1e-30)
    assert not certify(PROBLEM, POISSON, recorded(faint, POISSON, 2)).violated


def test_vacuous_is_what_says_no_more_than_the_box():
    traces = recorded(DP2, POISSON)
    found = certify(PROBLEM, POISSON, traces)
    assert found.trivial == pytest.approx(2 * np.sqrt(3))
    smallest = min(row.bound for row in found.bounds)
    for trivial, vacuous in ((smallest * 0.99, True), (smallest * 1.01, False)):
        assert replace(found, trivial=trivial).vacuous is vacuous
