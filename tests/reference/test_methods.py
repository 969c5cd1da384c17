"""The reference methods agree with each other: four methods, no shared formula."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tests.reference import closed_forms, contour, convolution, oracle
from tests.reference.oracle import laws
from tests.reference.pairs import DIRECTIONS, step
from tests.reference.rows import rows
from tests.reference.settings import tables


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("q", "sigma", "epsilon"), [("0.01", "1", "0.004"), ("0.3", "0.7", "0.2"), ("0.001", "3", "0")]
)
def test_one_step_closed_form_against_convolution_table(
    q: str, sigma: str, epsilon: str, direction: str
) -> None:
    one = step(q, sigma, 1)
    exact = float(mpmath.log(closed_forms.single_delta(one, direction, mpmath.mpf(epsilon))))
    found, _ = convolution.delta_reference(laws([one], direction), float(epsilon))
    assert found == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_step_closed_form_against_quadrature(direction: str) -> None:
    """The closed form is the integral of (P - e^eps Q)+."""
    one = step("0.2", "0.8", 1)
    eps = mpmath.mpf("0.1")
    s = 1 / closed_forms.number(one.sigma)
    q = closed_forms.number(one.q)

    def mixture(u: mpmath.mpf, at: mpmath.mpf) -> mpmath.mpf:
        return (1 - q) * mpmath.npdf(u) + q * mpmath.npdf(u - at)

    plain = mpmath.npdf
    pairs = {
        "remove": (lambda u: mixture(u, s), plain),
        "add": (plain, lambda u: mixture(u, s)),
        "replace": (lambda u: mixture(u, s), lambda u: mixture(u, -s)),
    }
    p, other = pairs[direction]
    u = np.linspace(-12, 14, 400_001)
    values = [
        float(max(p(mpmath.mpf(x)) - mpmath.exp(eps) * other(mpmath.mpf(x)), 0)) for x in u[::400]
    ]
    coarse = float(np.trapezoid(values, u[::400]))
    exact = float(closed_forms.single_delta(one, direction, eps))
    assert exact == pytest.approx(coarse, rel=2e-4)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_two_steps_nested_quadrature_against_convolution(direction: str) -> None:
    one = step("0.3", "0.7", 2)
    exact = closed_forms.nested_delta(one, direction, Fraction("0.5"))
    found, _ = convolution.delta_reference(laws([one], direction), 0.5)
    assert found == pytest.approx(float(mpmath.log(exact)), abs=1e-11)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_contour_against_convolution(direction: str) -> None:
    """Inversion and convolution agree although neither knows of the other."""
    parts = [step("0.2", 2, 64)]
    ball, digits = contour.delta_reference(laws(parts, direction), Fraction(2), 3e7)
    found, _ = convolution.delta_reference(laws(parts, direction), 2.0)
    assert digits > 20
    assert found == pytest.approx(float(ball.log()), abs=1e-10)


def test_contour_on_unsampled_steps_is_the_closed_form() -> None:
    one = step(1, 3, 20)
    for direction in DIRECTIONS:
        ball, _ = contour.delta_reference(laws([one], direction), Fraction(2), 3e7)
        with mpmath.workdps(closed_forms.DIGITS):
            mu = closed_forms.unsampled_mu(one, direction)
            exact = closed_forms.gaussian_delta(mu, mpmath.mpf(2))
            found = mpmath.mpf(ball.mid().str(30, radius=False))
            assert abs(found / exact - 1) < mpmath.mpf(10) ** -22


def test_a_method_out_of_its_depth_says_so() -> None:
    """Inversion of three slowly decaying steps gives up; it does not answer."""
    with pytest.raises((contour.ReferenceTooSlow, ArithmeticError)):
        contour.delta_reference(laws([step("0.001", 1, 3)], "remove"), Fraction("0.1"), 1e6)


def test_too_coarse_a_grid_is_seen() -> None:
    """Two resolutions disagree when they are too low for the setting."""
    one = step("0.05", "1", 2)
    rough = [
        convolution.Profile(laws([one], "remove"), convolution.Steps(h, h, 200.0)).log_delta(1.0)
        for h in (0.3, 0.2)
    ]
    fine = [
        convolution.Profile(laws([one], "remove"), steps).log_delta(1.0)
        for steps in (convolution.COARSE, convolution.FINE)
    ]
    assert abs(rough[0] - rough[1]) > 1e-4
    assert abs(fine[0] - fine[1]) < 1e-11


def test_tables_are_complete_and_have_the_inputs_of_the_settings() -> None:
    """Every setting has its row, or is one of a few that took too long."""
    for name, wanted in tables().items():
        found = {str(row).partition(" ")[2]: row for row in rows(name)}
        assert len(rows(name)) >= 0.9 * len(wanted), name
        assert len(found) >= 1
        for row in rows(name):
            assert any(
                tuple((s.q, s.sigma, s.count) for s in setting.parts) == row.steps
                and setting.direction == row.direction
                and setting.quantity == row.quantity
                and (setting.delta, setting.epsilon) == (row.delta, row.epsilon)
                for setting in wanted
            ), f"{name}: {row}"


@pytest.mark.parametrize("table", ["issue", "neighbours"])
def test_rows_can_be_computed_again(table: str) -> None:
    """The first epsilon row of a table, from its inputs."""
    row = next(r for r in rows(table) if r.quantity == "epsilon")
    assert row.delta is not None
    parts = [step(q, s, t) for q, s, t in row.steps]
    value = oracle.epsilon(parts, row.direction, row.delta)
    assert math.isclose(float(value.text), row.number, rel_tol=1e-15)
