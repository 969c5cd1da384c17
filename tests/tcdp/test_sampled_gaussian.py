"""The curve of a sampled Gaussian: quadrature against mpmath, slopes against brute force."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from accountants.copies import CopyLaw
from accountants.tcdp import sampled_gaussian as sg
from accountants.tcdp.amplification import OutsideRegionError, without_replacement_published
from accountants.tcdp.curve import TruncatedCdp
from accountants.tcdp.slopes import best_slope
from tests.tcdp import checks, truth

LARGE = CopyLaw.of(678, 1e-5, largest=3)
SMALL = CopyLaw.of(261, 1e-4, largest=4)


@pytest.mark.parametrize(
    ("noise", "value"),
    [
        (1, 2.9245872868),
        (2, 1.5752892726),
        (4, 1.2361427729),
        (8, 1.1081759421),
        (16, 1.0518965863),
        (64, 1.0125901680),
    ],
)
def test_leading_constant(noise: float, value: float) -> None:
    assert sg.leading_constant(noise) == pytest.approx(value, abs=6e-11)
    with mpmath.workdps(40):
        t = 1 / mpmath.mpf(noise)
        square = mpmath.exp(t * t) * mpmath.ncdf(1.5 * t) - 2 * mpmath.ncdf(t / 2)
        exact = 2 / t**2 * (square + mpmath.ncdf(-t / 2))
    assert sg.leading_constant(noise) == pytest.approx(float(exact), rel=1e-14)


def test_leading_constant_is_the_limit() -> None:
    rare = CopyLaw((1 - 1e-9, 1e-9), 0.0)
    for noise in (1.0, 4.0):
        ratio = math.exp(sg.log_integrals(rare, 1 / noise, 1.0)[0]) / (1e-18 / (2 * noise**2))
        assert ratio == pytest.approx(sg.leading_constant(noise), rel=1e-7)


@pytest.mark.parametrize(
    ("law", "q", "noise", "order", "ratio", "digits"),
    [
        (LARGE, 678e-5, 2, 4.0, 1.59, 6e-3),
        (LARGE, 678e-5, 2, 6.0, 3.5, 6e-2),
        (LARGE, 678e-5, 4, 16.0, 1.243, 6e-4),
        (LARGE, 678e-5, 8, 24.0, 1.113, 6e-4),
        (SMALL, 261e-4, 4, 8.0, 1.26, 6e-3),
        (SMALL, 261e-4, 8, 24.0, 1.13, 6e-3),
    ],
)
def test_measured_ratios(
    law: CopyLaw, q: float, noise: float, order: float, ratio: float, digits: float
) -> None:
    """I/(q^2 rho); derived reference."""
    value = math.exp(sg.log_integrals(law, 1 / noise, order)[0])
    assert value / (q * q / (2 * noise**2)) == pytest.approx(ratio, abs=digits)


@pytest.mark.parametrize(
    ("law", "q", "noise", "omega", "ratio"),
    [
        (LARGE, 678e-5, 2, 4.0, 4.27),
        (LARGE, 678e-5, 4, 8.0, 3.86),
        (LARGE, 678e-5, 8, 24.0, 3.76),
        (SMALL, 261e-4, 4, 4.0, 3.9),
        (SMALL, 261e-4, 8, 8.0, 3.8),
    ],
)
def test_closed_ratios(law: CopyLaw, q: float, noise: float, omega: float, ratio: float) -> None:
    value = float(sg.closed_rho(law, 1 / noise, omega)[0])
    assert value / (q * q / (2 * noise**2)) == pytest.approx(
        ratio, abs=0.06 if omega < 8 else 0.006
    )


def test_divergence_bound_of_order_four() -> None:
    """Derived reference: n = 1e5, 678 draws, s = 4, K <= 3; and the attained value below it."""
    bound = float(sg.renyi_upper(LARGE, 0.25, 4.0)[0])
    assert bound == pytest.approx(7.13998e-6, rel=1e-6)
    attained = checks.attained(100_000, 678, 3, 0.25, 4.0)
    assert attained == pytest.approx(5.94e-6, rel=1e-3)


def test_quadrature_against_the_profile_form() -> None:
    checks.check_log_integrals(sg.log_integrals)


def test_error_bounds_are_small() -> None:
    """The proved bounds on quadrature and tail are far below the value they are added to."""
    for t, eta in ((0.01, 0.01), (0.5, 0.005), (2.0, 0.2), (8.0, 1e-4), (1.0, 1e-12)):
        for a in (1.0, 3.0, 0.8 * math.log(1 / eta) / t**2 + 1):
            half = min(0.35, 0.15 / t, 1.8 / (t * math.sqrt(a)), 8 / (t * a * eta))
            panels = np.arange(
                math.ceil((a * t + math.sqrt(120 - 2 * a * math.log(eta))) / half / 2)
            )
            centre = half * (2 * panels + 1) + t / 2
            orders = np.array([a])
            value = sg._one_number_of_copies(t, eta, orders)
            error = sg._quadrature_error(t, eta, orders, centre, half)
            tail = sg._tail(t, orders, float(centre[-1] + half))
            assert error < value - 18, (t, eta, a)
            assert tail < value - 18, (t, eta, a)


def test_coarse_quadrature_shows_in_its_error_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 3 nodes a panel the value moves, and the bound covers how far."""
    orders = np.array([1.0, 5.0, 12.0])
    fine = sg._one_number_of_copies(0.5, 0.01, orders)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    monkeypatch.setattr(sg, "_POINTS", nodes)
    monkeypatch.setattr(sg, "_WEIGHTS", weights)
    lost = math.log(64 / 15 / (1 - sg._ELLIPSE**-2)) - 4 * math.log(sg._ELLIPSE)
    monkeypatch.setattr(sg, "_LOG_GAUSS_ERROR", lost)
    coarse = sg._one_number_of_copies(0.5, 0.01, orders)
    assert np.all(coarse >= fine)
    assert np.any(coarse > fine + 1e-6)


def test_far_copies_are_bounded_without_quadrature(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = np.array([1.0, 1.3, 2.0])
    near = sg._one_number_of_copies(9.9, 0.01, orders)
    monkeypatch.setattr(sg, "_FAR", 9.0)
    assert np.all(sg._one_number_of_copies(9.9, 0.01, orders) >= near)


def test_one_copy_is_the_symmetrised_pair() -> None:
    """K <= 1: log(1 + a(a-1) I)/(a-1) is the divergence of the symmetrised pair without
    replacement; q = 256/50000, sigma = 2 (shift 2).  Derived reference, 20 digits."""
    law = CopyLaw((1 - 256 / 50_000, 256 / 50_000), 0.0)
    for order, value in (
        (1.0001, 3.745434082e-5),
        (1.5, 5.6190745536383573034e-5),
        (2.0, 7.4954138189188634126e-5),
        (8.0, 3.0670997968705905349e-4),
        (32.0, 10.555250745884870739),
        (100.0, 44.67212036371),
    ):
        found = float(sg.renyi_upper(law, 1.0, order)[0])
        assert found == pytest.approx(value, rel=1e-9 if order in (1.0001, 100.0) else 1e-12)
        assert found >= value * (1 - 1e-9)


def test_all_copies_with_replacement() -> None:
    """n = 1000, m = 10, sigma = 4, nothing truncated; derived reference."""
    law = CopyLaw.of(10, 1e-3, largest=10)
    for order, value in ((1.5, 2.9862543264017638639e-5), (2.0, 3.9819979082570736132e-5)):
        assert float(sg.renyi_upper(law, 0.5, order)[0]) == pytest.approx(value, rel=1e-11)


def test_slopes() -> None:
    checks.check_rho(sg.rho_upper)


def test_slopes_by_pieces() -> None:
    checks.check_slope(best_slope)


def test_slope_is_never_above_no_sampling() -> None:
    assert sg.rho_upper(LARGE, 0.5, 1e3).tolist() == [pytest.approx(9 * 0.125, rel=1e-12)]
    assert sg.rho_upper(LARGE, 50.0, 2.0).tolist() == [pytest.approx(9 * 1250, rel=1e-12)]


def test_integral_is_convex_and_closed_form_above_it() -> None:
    for law in (LARGE, SMALL):
        for gap in (0.125, 0.25, 0.5):
            orders = np.linspace(1, 14, 27)
            values = np.exp(sg.log_integrals(law, gap, orders))
            assert np.all(np.diff(values, 2) >= -1e-12 * values[1:-1])
            omegas = orders[orders >= 2]
            assert np.all(sg.closed_rho(law, gap, omegas) >= sg.rho_upper(law, gap, omegas))


def test_attacks_in_the_plane() -> None:
    """Others at 0, the record at u or v, |u|, |v|, |u - v| at most one gap: the single mixture is
    beaten at 60 degrees, the bound is not."""
    q, gap = 0.05, 1.0
    law = CopyLaw((1 - q, q), 0.0)
    for order in (2.0, 4.0):
        bound = float(sg.renyi_upper(law, gap, order)[0])
        line = truth.renyi(([1 - q, q], [0.0, gap]), ([1.0], [0.0]), order)
        values = []
        for angle in (60, 180):
            u = (gap if angle == 60 else gap / 2, 0.0)
            v = tuple(u[0] * f(math.radians(angle)) for f in (math.cos, math.sin))
            pair = [((1 - q, q), ((0.0, 0.0), w)) for w in (u, v)]
            values.append(truth.renyi_plane(pair[0], pair[1], order))
        assert max(values) <= bound
        assert order > 2 or values[0] > line


@pytest.mark.parametrize("order", [0.5, math.nan])
def test_bad_orders(order: float) -> None:
    with pytest.raises(ValueError, match="order"):
        sg.log_integrals(LARGE, 0.5, order)
    with pytest.raises(ValueError, match="omega"):
        sg.closed_rho(LARGE, 0.5, order)


def test_certain_copies() -> None:
    """eta = 1 is no sampling: the exact divergence of the symmetrised Gaussian pair."""
    law = CopyLaw((0.0, 1.0), 0.0)
    assert float(sg.rho_upper(law, 0.5, 3.0)[0]) == pytest.approx(0.125, rel=1e-12)
    found = float(sg.renyi_upper(law, 0.5, 3.0)[0])
    assert 3 * 0.125 * (1 - 1e-12) <= found <= 3 * 0.125 * 1.01


def test_cited_theorem_is_never_better() -> None:
    """Without replacement, at the order where the published curve ends."""
    for rho in (0.1, 0.03, 0.005, 1e-4):
        for m in (100, 30, 3):
            try:
                cited = without_replacement_published(
                    TruncatedCdp(rho), dataset_size=1000, batch_size=m
                )
            except OutsideRegionError:
                continue
            law = CopyLaw((1 - m / 1000, m / 1000), 0.0)
            ours = float(best_slope(law, math.sqrt(2 * rho), cited.omega)[0])
            assert ours < cited.rho / 8
