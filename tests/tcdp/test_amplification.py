"""Closed and mechanism-agnostic amplification: table values, regions, brute force."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from accountants.copies import CopyLaw
from accountants.tcdp import agnostic
from accountants.tcdp.amplification import (
    OutsideRegionError,
    with_replacement_closed,
    without_replacement_published,
)
from accountants.tcdp.curve import TruncatedCdp
from tests.tcdp import checks, truth

# n, m, rho, kappa | formula, agnostic sum, exact Gaussian attained, in units s^2 rho | omega', δ0.
# Derived reference, integer orders only.
TABLE = (
    (50_000, 256, 0.01, 1, 4.929, 4.513, 1.001, 11.2, 1.3e-5),
    (50_000, 256, 0.01, 2, 5.977, 4.573, 1.011, 11.2, 2.2e-8),
    (50_000, 256, 0.01, 3, 5.866, 4.278, 1.011, 6.7, 2.8e-11),
    (50_000, 256, 0.002, 4, 5.639, 4.530, 1.002, 11.2, 2.8e-14),
    (50_000, 50, 0.01, 1, 6.565, 4.708, 1.009, 61.5, 4.9e-7),
    (10_000, 10, 0.02, 2, 4.936, 4.139, 1.020, 7.66, 1.2e-10),
)


def formula(s: float, rho: float, kappa: int, order: int) -> float:
    """Slope of the theorem before its region is used, in units s^2 rho."""
    grown = math.exp(order * kappa**2 * rho)
    bracket = 4 * math.exp(2 * kappa**2 * rho)
    bracket += 16 / 3 * grown * math.expm1(2 * order * s * grown)
    return (1 + s) * math.exp(s) * bracket


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}-{row[3]}")
def test_table(row: tuple[float, ...]) -> None:
    n, m, kappa = int(row[0]), int(row[1]), int(row[3])
    rho, from_formula, from_sum, from_pair, omega, failure = row[2], *row[4:]
    base, s = TruncatedCdp(rho), m / (n - 1)
    unit = s * s * rho
    stated = with_replacement_closed(base, dataset_size=n, batch_size=m, largest_copies=kappa)
    assert stated.curve.rho == pytest.approx(11 * unit, rel=1e-12)
    assert stated.curve.omega == pytest.approx(omega, abs=0.05)
    assert stated.failure_probability == pytest.approx(failure, rel=0.05)
    orders = range(2, int(stated.curve.omega) + 1)
    assert max(formula(s, rho, kappa, a) for a in orders) == pytest.approx(from_formula, abs=6e-4)
    law = CopyLaw.of(m, 1 / n, largest=kappa)
    bounds = agnostic.renyi_upper(law, base, list(orders)) / np.array(orders) / unit
    assert bounds.max() == pytest.approx(from_sum, abs=6e-4)
    mixture = (truth.binomial(m, 1 / n, kappa), math.sqrt(2 * rho) * np.arange(kappa + 1))
    pair = max(truth.renyi(mixture, ([1.0], [0.0]), a) / a for a in orders) / unit
    assert pair == pytest.approx(from_pair, abs=6e-4)
    # Over real orders the slope that is used is a little larger than over integers.
    best = float(agnostic.best_rho(law, base, stated.curve.omega)[0]) / unit
    assert from_sum - 6e-4 <= best <= from_sum * 1.02


def test_closed_form() -> None:
    checks.check_closed(with_replacement_closed)


def test_published() -> None:
    checks.check_published(without_replacement_published)


def test_closed_form_leaves_room_in_its_region() -> None:
    """The proof's own chain stays below 11 on the whole region; its worst corner gives 10.4."""
    low = high = 0.0
    for s in np.linspace(1e-4, 1 / 32, 25):
        for grouped in np.linspace(0.001, 0.1, 25):
            omega = min(math.log(2) / grouped, 1 / (16 * s)) - 1
            # 1 < a <= 2: D_a <= D_2, for which the sum has its first term only.
            low = max(low, 8 * math.exp(2 * grouped) * (1 + s) * math.exp(s))
            if omega > 2:
                # Integers, then the chord of a(a-1) between them.
                orders = range(2, math.ceil(omega) + 1)
                high = max(high, 1.072 * max(formula(s, grouped, 1, a) for a in orders))
    assert 10.3 < low < 10.41
    assert 8.0 < high < 9.4


@pytest.mark.parametrize(
    ("n", "m", "rho", "omega", "kappa", "message"),
    [
        (1000, 60, 0.01, math.inf, 1, r"s <= 1/20 \(is 0\.06006"),
        (1000, 40, 0.01, math.inf, 1, r"1/\(16 s\) - 1 > 1 \(is 0\.56"),
        (1000, 10, 0.2, math.inf, 1, r"kappa\^2 rho <= 1/10 \(is 0\.2\)"),
        (1000, 10, 0.02, math.inf, 3, r"kappa\^2 rho <= 1/10 \(is 0\.18\)"),
        (1000, 10, 0.02, 3.9, 2, r"omega/kappa - 1 > 1 \(is 0\.95\)"),
    ],
)
def test_closed_form_is_refused_outside(
    n: int, m: int, rho: float, omega: float, kappa: int, message: str
) -> None:
    with pytest.raises(OutsideRegionError, match=message):
        with_replacement_closed(
            TruncatedCdp(rho, omega), dataset_size=n, batch_size=m, largest_copies=kappa
        )


@pytest.mark.parametrize(
    ("n", "m", "rho", "omega", "message"),
    [
        (1000, 200, 0.01, math.inf, r"s <= 0\.1 \(is 0\.2\)"),
        (1000, 10, 0.2, math.inf, r"rho <= 0\.1 \(is 0\.2\)"),
        (1000, 90, 0.1, 3.0, r"omega=3 >= log\(1/s\)/\(2 rho\)=12\.0"),
        (1000, 100, 0.1, 20.0, None),
    ],
)
def test_published_is_refused_outside(
    n: int, m: int, rho: float, omega: float, message: str | None
) -> None:
    base = TruncatedCdp(rho, omega)
    if message is None:
        curve = without_replacement_published(base, dataset_size=n, batch_size=m)
        assert curve.rho == pytest.approx(13 * 0.01 * rho, rel=1e-13)
        assert curve.omega == pytest.approx(math.log(10) / (4 * rho), rel=1e-13)
        return
    with pytest.raises(OutsideRegionError, match=message):
        without_replacement_published(base, dataset_size=n, batch_size=m)


def test_nothing_costs_nothing() -> None:
    free = TruncatedCdp(0.0)
    assert without_replacement_published(free, dataset_size=9, batch_size=9) == free
    closed = with_replacement_closed(free, dataset_size=9, batch_size=9, largest_copies=2)
    assert closed.curve == free
    assert closed.failure_probability == 0.0
    law = CopyLaw.of(9, 0.1, largest=2)
    assert agnostic.best_rho(law, free, 3.0).tolist() == [0.0]
    assert agnostic.best_rho(law, TruncatedCdp(math.inf), 3.0).tolist() == [math.inf]


def test_all_copies_counted_means_no_failure() -> None:
    closed = with_replacement_closed(
        TruncatedCdp(0.001), dataset_size=1000, batch_size=5, largest_copies=7
    )
    assert closed.failure_probability == 0.0


def moments(p: np.ndarray, rho: float, order: int) -> list[mpmath.mpf]:
    """The bounds m_j, written out."""
    eta = mpmath.fsum(p[1:])
    result = [mpmath.mpf(0)] * (order + 1)
    for j in range(2, order + 1):
        for k in range(1, len(p)):
            e2 = mpmath.expm1(2 * k * k * rho)
            ej = mpmath.exp(mpmath.mpf(j) * (j - 1) * k * k * rho)
            b = min(4 * e2, 2 * (e2 + 1)) if j == 2 else min(2 * ej, 2**j * (e2 + ej - 1))
            result[j] += eta ** (j - 1) * p[k] * b
    return result


def test_the_sum_by_mpmath() -> None:
    with mpmath.workdps(40):
        for rho, n, m, kappa in ((0.01, 1000, 10, 3), (0.3, 50, 5, 2)):
            p = truth.binomial(m, 1 / n, kappa)
            law = CopyLaw.of(m, 1 / n, largest=kappa)
            mj = moments(p, rho, 31)
            for a in (2, 3, 7, 30):
                total = mpmath.fsum(mpmath.binomial(a, j) * mj[j] for j in range(2, a + 1))
                true = float(mpmath.log1p(total) / (a - 1))
                true = min(true, kappa**2 * rho * a)
                found = float(agnostic.renyi_upper(law, TruncatedCdp(rho), a)[0])
                assert true * (1 - 1e-15) <= found <= true * (1 + 1e-9)


def test_real_orders() -> None:
    """Between integers: above the true divergence, not above what the next integer gives, and
    close to half the bound at 2 where a tends to 1."""
    base, kappa, n, m = TruncatedCdp(0.05), 3, 400, 8
    law = CopyLaw.of(m, 1 / n, largest=kappa)
    orders = np.linspace(1.0001, 9, 41)
    bounds = agnostic.renyi_upper(law, base, orders)
    nexts = agnostic.renyi_upper(law, base, np.ceil(orders))
    assert np.all(bounds <= nexts * (1 + 1e-12))
    for a, bound in zip(orders[::5].tolist(), bounds[::5].tolist(), strict=True):
        assert checks.attained(n, m, kappa, math.sqrt(0.1), a) <= bound
    assert bounds[0] < 0.57 * nexts[0]


def test_slope_covers_every_order_below() -> None:
    for rho, n, m, kappa in ((0.01, 50_000, 256, 3), (0.2, 400, 8, 2), (2.0, 50, 5, 1)):
        law, base = CopyLaw.of(m, 1 / n, largest=kappa), TruncatedCdp(rho)
        for omega in (1.5, 2.0, 3.3, 17.2):
            orders = np.linspace(1.00001, omega, 300)
            slope = float(agnostic.best_rho(law, base, omega)[0])
            # The reported slope covers the smaller of two bounds only piece by piece.
            assert np.all(agnostic.renyi_upper(law, base, orders) <= slope * orders * (1 + 1e-9))
            assert slope <= kappa**2 * rho * (1 + 1e-12)


def test_curve_of_a_truncated_base() -> None:
    law, base = CopyLaw.of(8, 1 / 400, largest=2), TruncatedCdp(0.05, 12.0)
    curve = agnostic.sampled_curve(law, base, 4.0)
    assert curve.failure_probability == law.tail
    assert curve.curve.rho == agnostic.best_rho(law, base, 4.0)[0]
    # Copies of one record reach omega/kappa only.
    with pytest.raises(OutsideRegionError, match="2 copies leave the base curve orders up to 6"):
        agnostic.sampled_curve(law, base, 6.5)
    assert agnostic.best_rho(law, base, 6.0)[0] <= 0.2 * (1 + 1e-12)


@pytest.mark.parametrize("omega", [1.0, 4000.0, math.nan])
def test_orders_outside_are_refused(omega: float) -> None:
    with pytest.raises(ValueError, match="orders in"):
        agnostic.best_rho(CopyLaw.of(8, 0.1, largest=2), TruncatedCdp(0.1), omega)


def test_attacks_stay_far_below_the_constant() -> None:
    """Random mixtures in the line that obey the coupling; the largest ratio found is reported
    by the assertion, the constant is 11."""
    rng = np.random.default_rng(7)
    worst = 0.0
    for n, m, rho, kappa in checks.CLOSED_SETTINGS:
        stated = with_replacement_closed(
            TruncatedCdp(rho), dataset_size=n, batch_size=m, largest_copies=kappa
        )
        gap, p = math.sqrt(2 * rho), truth.binomial(m, 1 / n, kappa)
        k = np.arange(kappa + 1)
        for _ in range(6):
            # Gradients g, g' and others z in [-1, 1] times half the shift.
            g, h, z = rng.choice([-1, 1, rng.uniform(-1, 1)], 3)
            order = rng.uniform(1.05, stated.curve.omega)
            one, other = k * (g - z) * gap / 2, k * (h - z) * gap / 2
            if np.allclose(one, other):
                continue
            value = truth.renyi((p, one), (p, other), float(order))
            worst = max(worst, value / order / (stated.curve.rho / 11))
    assert 0.5 < worst < 2.5
