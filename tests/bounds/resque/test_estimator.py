"""The reweighted estimator: closed forms, reference numbers, sharpness of the constant."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bounds.catalogue import theorem
from bounds.evaluate import evaluate
from bounds.resque.estimator_moments import difference_moment

#: ||a||^2 = 1/10, ||b||^2 = 29/400, <a, b> = -1/200 for a = (.3, .1), b = (-.1, .25).
A, B, AB = math.sqrt(0.1), math.sqrt(29 / 400), -0.005


def kappa(order: float, radius: float | Fraction) -> float:
    value = theorem("resque.E6").evaluate("kappa", norm_order=order, relative_radius=radius)
    return float(value)


@pytest.mark.parametrize(
    ("order", "value"), [(2, 1.28402541669), (3, 2.11700001661), (4, 4.48168907034)]
)
def test_moments_of_the_weight(order: int, value: float) -> None:
    """||a||^2 = 1/4."""
    assert theorem("resque.E2").evaluate(moment=order, shift=0.5) == pytest.approx(value, rel=1e-11)


def test_moments_of_the_weight_against_quadrature() -> None:
    z, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    for order in (-1.5, 0.5, 1.0, 2.5, 4.0):
        for shift in (0.0, 0.3, 0.9):
            mean = weights @ np.exp(order * (shift * z - shift**2 / 2))
            value = theorem("resque.E2").evaluate(moment=order, shift=shift)
            assert value == pytest.approx(mean, rel=1e-12)


def test_difference_moments() -> None:
    difference = theorem("resque.E3.difference")
    given: dict[str, Any] = {"shift": A, "second_shift": B, "inner_product": AB}
    assert difference.evaluate(**given) == pytest.approx(0.19033876578044, rel=1e-13)
    assert float(difference_moment(2, **given)) == pytest.approx(0.19033876578044, rel=1e-13)
    assert float(difference_moment(4, **given)) == pytest.approx(0.138648178936, rel=1e-11)


def test_joint_moments_against_quadrature_in_the_plane() -> None:
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    first, second = np.meshgrid(z, z)
    both = np.outer(weights, weights)
    a, b = np.array([0.3, 0.1]), np.array([-0.1, 0.25])
    w_a = np.exp(a[0] * first + a[1] * second - a @ a / 2)
    w_b = np.exp(b[0] * first + b[1] * second - b @ b / 2)
    for j, k in ((1, 1), (2, 1), (0.5, 3), (-1, 2)):
        value = theorem("resque.E3").evaluate(
            first_order=j, second_order=k, shift=A, second_shift=B, inner_product=AB
        )
        assert value == pytest.approx((both * w_a**j * w_b**k).sum(), rel=1e-12)


def test_double_precision_has_no_correct_digit_at_order_16() -> None:
    shift, second = Fraction(1, 16), Fraction(9, 160)
    exact = difference_moment(16, shift=shift, second_shift=second, inner_product=shift * second)
    assert float(exact) == pytest.approx(2.5786355661700698e-28, rel=1e-14)
    a, b = float(shift), float(second)
    naive = sum(
        (-1) ** k
        * math.comb(16, k)
        * math.exp(((16 - k) * (15 - k) * a * a + k * (k - 1) * b * b) / 2 + (16 - k) * k * a * b)
        for k in range(17)
    )
    assert abs(naive - float(exact)) > 1e10 * float(exact)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"order": 3}, "order = 3 is not allowed: even integer >= 2"),
        ({"order": 0}, "order = 0"),
        ({"shift": -1}, "shift = -1 is not allowed: >= 0"),
        ({"inner_product": 1}, "inner_product = 1 is not allowed"),
        ({"digits": 0}, "digits = 0 is not allowed"),
        ({"shift": math.nan}, "shift = nan"),
    ],
)
def test_difference_moment_refuses(arguments: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {
        "order": 2,
        "shift": 0.5,
        "second_shift": 0.5,
        "inner_product": 0,
        **arguments,
    }
    with pytest.raises(ValueError, match=words):
        difference_moment(given.pop("order"), **given)


def test_equal_weights_do_not_differ() -> None:
    half = Fraction(1, 2)
    assert difference_moment(4, shift=half, second_shift=half, inner_product=half**2) == 0


def test_second_moment_on_the_ball_is_below_three() -> None:
    four = theorem("resque.E4")
    assert four.evaluate("on the ball", lipschitz=1) == pytest.approx(math.e)
    assert four.evaluate(lipschitz=2, shift=0.5) == pytest.approx(4 * math.exp(0.25))
    # Second moments at the shifts of a Monte Carlo run: 1, 1.0645, 1.2840, 2.718, 9.488.
    values = four.evaluate(lipschitz=1, shift=np.array([0, 0.25, 0.5, 1, 1.5]))
    assert values == pytest.approx([1, 1.0645, 1.2840, 2.718, 9.488], rel=2e-4)


def test_moment_factors() -> None:
    five = theorem("resque.E5")
    assert five.evaluate("within rho/p", lipschitz=1) == pytest.approx(
        1.1331484530668263, rel=1e-15
    )
    assert five.evaluate("within rho/sqrt(p)", lipschitz=1) == pytest.approx(1.6487212707, rel=1e-9)
    for order in (1.0, 1.5, 2.0, 3.0, 8.0, 50.0):
        near = five.evaluate(lipschitz=1, norm_order=order, shift=1 / order)
        far = five.evaluate(lipschitz=1, norm_order=order, shift=order**-0.5)
        assert near <= math.exp(1 / 8) + 1e-15
        assert far < math.exp(1 / 2)
    assert five.evaluate(lipschitz=1, norm_order=2, shift=0.5) == pytest.approx(math.exp(1 / 8))


@pytest.mark.parametrize(
    ("order", "radius", "value"),
    [
        (2, Fraction(1, 2), 1.26689848483),
        (4, Fraction(1, 4), 1.76642196772),
        (8, Fraction(1, 8), 2.3308944136),
        (16, Fraction(1, 16), 3.05960516148),
        (2, 1, 2.3316439816),
        (4, 3**-0.5, 3.85858040619),
        (8, 7**-0.5, 5.85629664363),
        (16, 15**-0.5, 8.55260831766),
        (2, Fraction(1, 8), 1.01568635244),
        (4, Fraction(1, 8), 1.43524062786),
        (16, Fraction(1, 8), 4.07987904454),
        (16, 1, 2.8e4),
    ],
)
def test_kappa(order: int, radius: Any, value: float) -> None:
    assert kappa(order, radius) == pytest.approx(value, rel=0.02 if value > 1e3 else 1e-11)
    even = theorem("resque.E6").evaluate(
        "kappa of even order", half_order=order // 2, relative_radius=radius
    )
    assert even == pytest.approx(kappa(order, radius), rel=1e-13)


@pytest.mark.parametrize(
    ("order", "value"), [(4, 1.31607401295), (8, 1.78915786697), (16, 2.47844162321)]
)
def test_kappa_at_the_centre_is_the_norm_of_a_gaussian(order: int, value: float) -> None:
    assert kappa(order, 1e-9) == pytest.approx(value, rel=1e-7)


def test_kappa_at_real_orders_against_quadrature() -> None:
    """E|m + Z|^p, the integral split at -m, where the power has its kink."""
    x, weights = np.polynomial.legendre.leggauss(200)
    for order in (1.0, 1.3, 2.5, 5.7):
        for radius in (0.2, 0.7):
            m = (order - 1) * radius
            total = 0.0
            for low, high in ((-m - 14, -m), (-m, -m + 14)):
                z = (low + high) / 2 + (high - low) / 2 * x
                density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
                total += (high - low) / 2 * float(weights @ (np.abs(m + z) ** order * density))
            value = math.exp((order - 1) * radius**2 / 2) * total ** (1 / order)
            assert kappa(order, radius) == pytest.approx(value, rel=1e-6)


def test_kappa_two_in_closed_form() -> None:
    for radius in (0.1, 0.5, 1.0, 2.0):
        closed = math.exp(radius**2 / 2) * math.sqrt(1 + radius**2)
        assert kappa(2, radius) == pytest.approx(closed, rel=1e-13)


def test_the_three_backends_agree_on_kappa() -> None:
    expression = theorem("resque.E6").evaluations["kappa"]
    for order in (1, Fraction(3, 2), 4, 11):
        for radius in (Fraction(1, 100), Fraction(1, 3), 1):
            given: dict[str, Any] = {"norm_order": order, "relative_radius": radius}
            digits = evaluate(expression, backend="mpmath", **given)
            assert evaluate(expression, **given) == pytest.approx(float(digits), rel=1e-13)
            ball = evaluate(expression, backend="ball", **given)
            assert float(ball.mid()) == pytest.approx(float(digits), rel=1e-13)
            assert ball.rad() < 1e-10 * ball.mid()


def test_wide_ball_bound_and_the_recalled_constant() -> None:
    six = theorem("resque.E6")
    assert six.evaluate("within rho/sqrt(p - 1)", norm_order=2) == pytest.approx(
        3.2974425414002563, rel=1e-15
    )
    for order in (2, 3, 4, 8, 16, 33):
        wide = six.evaluate("within rho/sqrt(p - 1)", norm_order=order)
        assert kappa(order, (order - 1) ** -0.5) <= wide
        assert kappa(order, 1 / order) <= math.exp(1 / 8) * (1 + math.sqrt(order - 1))
        assert kappa(order, 1 / order) < 24 * order


@pytest.mark.parametrize("order", [2, 4, 6, 8, 12, 16])
@pytest.mark.parametrize("radius", ["1/p", "1/sqrt(p-1)", "1"])
def test_bound_holds_and_is_attained_on_a_radius(order: int, radius: str) -> None:
    """Exact moments of nearby collinear pairs at the rim: ratio to the bound at least 0.999."""
    t = {
        "1/p": Fraction(1, order),
        "1/sqrt(p-1)": Fraction((order - 1) ** -0.5).limit_denominator(10**6),
        "1": Fraction(1),
    }[radius]
    best = 0.0
    for step in (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**5)):
        b = t * (1 - step)
        moment = difference_moment(order, shift=t, second_shift=b, inner_product=t * b)
        norm = float(moment) ** (1 / order)
        bound = theorem("resque.E6").evaluate(
            lipschitz=1, separation=t - b, norm_order=order, relative_radius=t
        )
        assert norm <= bound * (1 + 1e-12)
        best = max(best, norm / bound)
    assert best >= 0.999


def test_bound_holds_on_random_pairs() -> None:
    rng = np.random.default_rng(5)
    for order in (2, 4, 8):
        for _ in range(10):
            a, b = rng.normal(size=(2, 3))
            t = max(np.linalg.norm(a), np.linalg.norm(b)) * math.sqrt(order)
            a, b = a / t, b / t
            lengths = [float(np.linalg.norm(v)) for v in (a, b)]
            moment = difference_moment(
                order, shift=lengths[0], second_shift=lengths[1], inner_product=float(a @ b)
            )
            bound = theorem("resque.E6").evaluate(
                lipschitz=1,
                separation=float(np.linalg.norm(a - b)),
                norm_order=order,
                relative_radius=max(lengths),
            )
            assert float(moment) ** (1 / order) <= bound * (1 + 1e-9)


def test_sharpness_theorems_give_kappa() -> None:
    for order in (2, 4):
        value = theorem(f"resque.E6.sharp-{order}").evaluate(relative_radius=0.3)
        assert value == pytest.approx(kappa(order, 0.3), rel=1e-13)


def test_law_of_the_weight() -> None:
    seven = theorem("resque.E7")
    rng = np.random.default_rng(7)
    log_w = 0.8 * rng.normal(size=200_000) - 0.32
    for level in (0.3, 1.0, 2.5):
        share = float((log_w > math.log(level)).mean())
        value = seven.evaluate(positive_shift=0.8, weight_threshold=level)
        assert abs(value - share) < 4 * math.sqrt(0.25 / 200_000)
    assert 0 < seven.evaluate(positive_shift=0.3, weight_threshold=100) < 1e-50
    middle = seven.evaluate(positive_shift=0.8, weight_threshold=math.exp(-0.32))
    assert middle == pytest.approx(0.5)


def test_estimator_is_unbiased_on_the_test_loss() -> None:
    """f = |<a, x> - b| in three dimensions: quadrature along a, exact; shifts of 0 to 1 rho."""
    truth = float(theorem("resque.F5").evaluate("slope", offset=0.1, smoothing_std=0.5))
    x, weights = np.polynomial.legendre.leggauss(400)
    a = np.array([1.0, 2.0, 2.0]) / 3
    point = np.array([0.3, -0.1, 0.4])
    assert a @ point - 0.2 == pytest.approx(0.1)
    for shift in (0.0, 0.25, 0.5, 1.0):
        u = 0.5 * shift * a
        m = float(a @ (point - u)) - 0.2
        total = 0.0
        for low, high in ((-12.0, -m / 0.5), (-m / 0.5, 12.0)):
            z = (low + high) / 2 + (high - low) / 2 * x
            density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
            weight = np.exp(shift * z - shift**2 / 2)
            total += (high - low) / 2 * float(weights @ (weight * np.sign(m + 0.5 * z) * density))
        assert total == pytest.approx(truth, abs=1e-12)
