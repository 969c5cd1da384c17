"""Whole-line moments against ball arithmetic: never below, at most 1e-10 above."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants.renyi.lines import Mixture, Order
from accountants.renyi.quadrature import divergences
from tests.renyi import oracle

ORDERS = (1.00001, 1.001, 1.1, 1.5, 2.0, 3.7, 8.0, 20.5, 40.0, 100.0)
PAIRS = {
    "usual": ((0.99, 0.01), 1.0),
    "large noise": ((1 - 0.001, 0.001), 0.01),
    "small noise": ((0.999, 0.001), 1 / 0.3),
    "rare": ((1 - 1e-6, 1e-6), 1.0),
    "half": ((0.5, 0.5), 0.7),
    "frequent": ((0.05, 0.95), 0.4),
    "copies": ((0.9, 0.09, 0.01), 0.5),
    "rare copies": ((1 - 5.120022e-3, 5.107e-3, 1.3e-5, 2.2e-8), 1.0),
}


def close(values: np.ndarray, truth: list[float], above: float = 1e-10) -> None:
    ratio = np.array(values) / np.array(truth) - 1
    assert ratio.min() >= -2e-16, ratio
    assert ratio.max() <= above, ratio


@pytest.mark.parametrize(
    ("name", "order"),
    [(name, o) for name in PAIRS for o in Order if o is not Order.REPLACE or "copies" not in name],
)
def test_moments_agree_with_ball_arithmetic(name: str, order: Order) -> None:
    law, gap = PAIRS[name]
    orders = np.array(ORDERS[:-2] if gap > 2 or len(law) > 2 else ORDERS)
    truth = [oracle.line(law, gap, order.value, a) for a in orders]
    close(divergences(Mixture(law, gap), order, orders), truth)


@settings(max_examples=50, deadline=None)
@given(
    log_q=st.floats(math.log(1e-9), math.log(0.99999)),
    log_gap=st.floats(math.log(0.01), math.log(3.0)),
    log_b=st.floats(math.log(1e-5), math.log(60.0)),
    order=st.sampled_from(list(Order)),
)
def test_random_settings(log_q: float, log_gap: float, log_b: float, order: Order) -> None:
    q, gap, a = math.exp(log_q), math.exp(log_gap), 1 + math.exp(log_b)
    value = divergences(Mixture((1 - q, q), gap), order, np.array([a]))
    close(value, [oracle.line((1 - q, q), gap, order.value, a)])


def test_reference_values() -> None:
    """Derived references for q = 256/50000, shift 2, noise multiplier 2 (20 and 10 digits)."""
    q = 256 / 50000
    orders = np.array([1.5, 2.0, 8.0, 32.0])
    truth = [
        3.3558389577552428401e-5,
        4.5042712725740989396e-5,
        1.9833500163611036285e-4,
        10.555250745884870739,
    ]
    close(divergences(Mixture((1 - q, q), 1.0), Order.REMOVE, orders), truth, 1e-12)
    orders = np.array([1.0001, 100.0, 1000.0, 1e4])
    rough = [2.222918911e-5, 44.67212036371, 494.7201192793, 4994.724871647]
    value = divergences(Mixture((1 - q, q), 1.0), Order.REMOVE, orders)
    np.testing.assert_allclose(value, rough, rtol=3e-10)
    tiny = divergences(Mixture((1 - 1e-9, 1e-9), 1.0), Order.REMOVE, np.array([2.0]))
    assert tiny[0] == pytest.approx(1.718281828459045235e-18, rel=1e-12)


@pytest.mark.parametrize("gap", [0.01, 0.1, 1.0])
def test_large_orders(gap: float) -> None:
    """Up to order 1e4, against a sum over all outputs in 40 digits."""
    import mpmath

    law = (0.99, 0.01)
    for a in (300.0, 1000.0, 1e4):
        with mpmath.workdps(40):
            step = mpmath.mpf(1) / 4
            c, q = mpmath.mpf(gap), mpmath.mpf(law[1])
            top = int(4 * (a * gap + 16))
            peak = mpmath.mpf(0)
            for j in range(max(-64, top - 20000), top):
                u = j * step
                r = 1 + q * mpmath.expm1(c * u - c * c / 2)
                peak += mpmath.exp(-u * u / 2) * r ** mpmath.mpf(a)
            moment = peak * step / mpmath.sqrt(2 * mpmath.pi)
            truth = float(mpmath.log(moment) / (mpmath.mpf(a) - 1))
        value = divergences(Mixture(law, gap), Order.REMOVE, np.array([a]))
        assert value[0] == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize(("q", "sigma"), [(0.01, 1), (256 / 50000, 0.8), (0.001, 0.7), (0.05, 2)])
def test_whole_orders_agree_with_dp_accounting(q: float, sigma: float) -> None:
    orders = np.concatenate((np.arange(2.0, 64), [128.0, 256, 512, 1024]))
    event = dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma))
    theirs = np.array(RdpAccountant(orders=orders.tolist()).compose(event)._rdp)
    ours = divergences(Mixture((1 - q, q), 1 / sigma), Order.REMOVE, orders)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_gaussian_is_the_limit() -> None:
    """The record is (nearly) always there: order * gap^2 / 2."""
    orders = np.array([1.5, 2.0, 10.0])
    value = divergences(Mixture((1e-12, 1 - 1e-12), 0.3), Order.REMOVE, orders)
    np.testing.assert_allclose(value, 0.045 * orders, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    log_q=st.floats(math.log(1e-6), math.log(0.9)),
    gap=st.floats(0.02, 4.0),
    order=st.sampled_from(list(Order)),
)
def test_laws_of_the_curve(log_q: float, gap: float, order: Order) -> None:
    """Positive, non-decreasing, (order-1) D convex; at every order larger to remove."""
    mixture = Mixture((-math.expm1(log_q), math.exp(log_q)), gap)
    orders = 1 + np.geomspace(1e-4, 2e3, 60)
    value = divergences(mixture, order, orders)
    assert (value > 0).all()
    assert np.isfinite(value).all()
    assert (np.diff(value) >= -1e-11 * value[1:]).all()
    cumulant = (orders - 1) * value
    slopes = np.diff(cumulant) / np.diff(orders)
    assert (np.diff(slopes) >= -1e-9 * np.abs(slopes[1:])).all()
    if order is Order.ADD:
        removed = divergences(mixture, Order.REMOVE, orders)
        assert (value <= removed * (1 + 1e-11)).all()
        assert (value <= -math.log1p(-math.exp(log_q)) * (1 + 1e-12)).all()


def test_where_no_nodes_are_affordable_a_closed_bound_takes_their_place() -> None:
    mixture = Mixture((0.99, 0.01), 5000.0)
    orders = np.array([1 + 1e-7, 1 + 1e-6])
    value = divergences(mixture, Order.REMOVE, orders)
    # ||r|| <= p_0 + q exp(b gap^2 / 2) in L^order (Minkowski)
    b = orders - 1
    closed = orders / b * np.log(0.99 + 0.01 * np.exp(b * 5000.0**2 / 2))
    assert np.isfinite(value).all()
    np.testing.assert_allclose(value, closed, rtol=1e-9)
