"""Checks of truncated privacy that take what they check, so that broken variants can be tried."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dp_accounting
import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import ExactAccountant
from accountants.copies import CopyLaw
from accountants.events import sampled_gaussian_event
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from accountants.tcdp import agnostic, sampled_gaussian
from accountants.tcdp.curve import ApproximateTruncatedCdp, TruncatedCdp
from tests.tcdp import truth

# n, m, rho of one position, kappa
CLOSED_SETTINGS = (
    (50_000, 256, 0.01, 1),
    (50_000, 256, 0.01, 3),
    (50_000, 50, 0.1, 1),
    (20_001, 600, 0.0125, 2),
    (20_001, 600, 0.1 / 9, 3),
    (20_001, 600, 0.004, 5),
    (1_000, 10, 0.02, 2),
)


def check_group(make: Callable[[float, float], Any]) -> None:
    """A group of k Gaussian changes is k times the shift: rho k^2 exactly, orders below omega/k."""
    for k in (2, 3, 7):
        curve = make(0.3, 20.0).group(k)
        shift = k * math.sqrt(2 * 0.3)
        for order in (1.5, 0.999 * 20 / k):
            true = truth.renyi(([1.0], [shift]), ([1.0], [0.0]), order)
            stated = float(curve.divergence(order)[0])
            assert true <= stated * (1 + 1e-9) <= true * (1 + 1e-7)
        assert curve.omega <= 20 / k, "a group keeps orders below omega/k only"


def check_failure_is_carried(delta: Callable[[TruncatedCdp, float, float], float]) -> None:
    """P has its failure outside Q's support: δ is at least δ0 at every ε."""
    for failure in (1e-9, 1e-5, 0.1):
        for epsilon in (0.5, 30.0, math.inf):
            curve = TruncatedCdp(0.02)
            stated = delta(curve, failure, epsilon)
            assert stated >= failure + (1 - failure) * _gaussian_delta(0.2, epsilon)
            assert stated <= failure + (1 - failure) * curve.delta(epsilon) + 1e-15


def _gaussian_delta(mu: float, epsilon: float) -> float:
    if epsilon == math.inf:
        return 0.0
    normal = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))  # noqa: E731
    return normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)


def check_closed(closed: Callable[..., ApproximateTruncatedCdp]) -> None:
    """The closed form is above the finite sum it bounds, and above attained divergences."""
    for n, m, rho, kappa in CLOSED_SETTINGS:
        base = TruncatedCdp(rho)
        stated = closed(base, dataset_size=n, batch_size=m, largest_copies=kappa)
        omega = stated.curve.omega
        law = CopyLaw.of(m, 1 / n, largest=kappa)
        best = float(agnostic.best_rho(law, base, omega)[0])
        assert best <= stated.curve.rho, (n, m, rho, kappa)
        tail = truth.binomial_tail(m, 1 / n, kappa)
        assert tail * (1 - 1e-9) <= stated.failure_probability <= tail * (1 + 1e-6) + 1e-300
        for order in np.linspace(1.01, omega, 4).tolist():
            assert attained(n, m, kappa, math.sqrt(2 * rho), order) <= stated.curve.rho * order


def attained(n: int, m: int, kappa: int, gap: float, order: float) -> float:
    """The larger order of the pair that two data sets attain, given K <= kappa.

    Gradients 1 and -1, all others -1: sum p_k N(k gap) against N(0).
    """
    mixture = (truth.binomial(m, 1 / n, kappa), gap * np.arange(kappa + 1))
    return max(
        truth.renyi(mixture, ([1.0], [0.0]), order), truth.renyi(([1.0], [0.0]), mixture, order)
    )


def check_published(published: Callable[..., TruncatedCdp]) -> None:
    """Above attained divergences inside its region; refused outside."""
    for n, m, rho in ((1_000, 100, 0.1), (1_000, 10, 0.05), (1_000, 1, 0.005)):
        curve = published(TruncatedCdp(rho), dataset_size=n, batch_size=m)
        q = m / n
        for order in np.linspace(1.01, curve.omega, 5).tolist():
            pair = ([1 - q, q], [0.0, math.sqrt(2 * rho)])
            for one, other in ((pair, ([1.0], [0.0])), (([1.0], [0.0]), pair)):
                assert truth.renyi(one, other, order) <= curve.rho * order
        assert curve.omega <= math.log(n / m) / (4 * rho), "orders beyond the theorem"


def check_log_integrals(log_integrals: Callable[..., Any]) -> None:
    """Above the profile form computed by mpmath, and within 1e-12 of it."""
    law = CopyLaw.of(678, 1e-5, largest=3)
    for gap, order in ((0.25, 1.0), (0.25, 4.0), (0.5, 6.0), (1.0, 2.5)):
        true = truth.log_integral(law.probabilities, gap, order)
        found = float(log_integrals(law, gap, order)[0])
        assert true - 1e-15 <= found <= true + 1e-12, (gap, order, found - true)


def check_rho(rho_upper: Callable[..., Any]) -> None:
    """The slope is above I at both ends of the orders, and above D_a/a between."""
    law = CopyLaw.of(256, 1 / 50_000, largest=3)
    for gap, omega in ((0.25, 12.0), (0.5, 6.5), (1.0, 3.0)):
        rho = float(rho_upper(law, gap, omega)[0])
        logs = sampled_gaussian.log_integrals(law, gap, np.linspace(1, omega, 9))
        assert np.log(rho) >= logs.max() - 1e-12
        for order in (1.001, 0.5 * (1 + omega), omega):
            assert attained(50_000, 256, 3, gap, order) <= rho * order


def check_slope(best_slope: Callable[..., Any]) -> None:
    """Above D_a/a at every order of a fine grid, also where the moment of omega is large."""
    for q, gap, omega in (
        (0.1, 0.02, 4000.0),
        (0.1, 0.1, 150.0),
        (0.02, 1.0, 12.0),
        (0.3, 2.0, 4.0),
    ):
        law = CopyLaw((1 - q, q), 0.0)
        orders = np.linspace(1 + 1e-4 * (omega - 1), omega, 300)
        bounds = sampled_gaussian.renyi_upper(law, gap, orders) / orders
        slopes = best_slope(law, gap, np.array([0.4 * omega + 0.6, omega]))
        assert bounds[orders <= 0.4 * omega + 0.6].max() <= slopes[0] * (1 + 1e-12)
        assert bounds.max() <= slopes[1] * (1 + 1e-12)
        assert slopes[1] <= 1.1 * bounds.max()
        assert np.all(slopes <= sampled_gaussian.rho_upper(law, gap, omega)[0] * (1 + 1e-11))


def check_conversion(epsilon: Callable[[TruncatedCdp, float], float]) -> None:
    """Never below exact values: one Gaussian release, and a curve cut at a low order."""
    for mu in (0.01, 0.3, 1.0, 5.0):
        for delta in (1e-12, 1e-5, 1e-2):
            value = epsilon(TruncatedCdp(mu * mu / 2), delta)
            if value > 0:
                assert _gaussian_delta(mu, value) <= delta * (1 + 1e-9)
    # At order a alone nothing better than the maximum of its bound can be said.
    cut = epsilon(TruncatedCdp(0.01, 3.0), 1e-6)
    assert cut >= 0.03 + math.log(2 / 3) - (math.log(1e-6) + math.log(3)) / 2 - 1e-12


def check_units(from_gaussian: Callable[[float, NeighboringRelation], TruncatedCdp]) -> None:
    """Replacing a record moves the sum by two clip norms, adding or removing one by one."""
    for relation in NeighboringRelation:
        shift = 2 if relation is NeighboringRelation.REPLACE_ONE else 1
        for order in (1.5, 6.0):
            true = truth.renyi(([1.0], [shift / 3.0]), ([1.0], [0.0]), order)
            stated = float(from_gaussian(3.0, relation).divergence(order)[0])
            assert true <= stated * (1 + 1e-9) <= true * (1 + 1e-7), relation


def check_accountant(make: Callable[[NeighboringRelation], Any]) -> None:
    """Above the exact lower end also where records are drawn often and batches are cut."""
    for event, steps in (
        (_event(WithReplacement(20, 20), 20.0), 100),
        (_event(WithoutReplacement(100, 20), 8.0), 100),
        (_event(Poisson(0.05), 2.0), 300),
        (dp_accounting.GaussianDpEvent(3.0), 2),
    ):
        for relation in NeighboringRelation:
            exact = ExactAccountant(relation).compose(event, steps)
            upper = make(relation).compose(event, steps).get_epsilon(1e-5)
            assert exact.epsilon_bracket(1e-5).lower <= upper, (event, relation)


def _event(sampling: Any, sigma: float) -> dp_accounting.DpEvent:
    return sampled_gaussian_event(sampling=sampling, noise_multiplier=sigma)
