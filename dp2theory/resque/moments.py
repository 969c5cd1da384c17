"""Exact moments of the weights of reweighted queries, and of differences of two weights.

With a = (x - center)/rho and z = xi/rho, the weight is w_a = exp(<a, z> - ||a||^2/2).  Moments of
one weight and of products are closed forms of `bounds`.  The moment of a difference is an
alternating sum in which nearly everything cancels (it has no correct digit in doubles from order
8 on), so it is not used: with m = (a + b)/2 and h = (a - b)/2,

    w_a - w_b = 2 exp(-||h||^2/2) w_m sinh(<h, z - m>),

and w_m^p turns the law of z into N(p m, I).  Therefore

    E|w_a - w_b|^p
        = 2^p exp((p (p - 1) ||m||^2 - p ||h||^2)/2) E|sinh((p - 1) <h, m> + ||h|| Z)|^p

for every real p >= 1: one integral of one variable, with nothing that cancels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bounds.catalogue import theorem
from bounds.evaluate import evaluate
from dp2theory.problems.validation import positive_real, whole_number
from dp2theory.resque.functions import Array, check_numbers

#: Points of the trapezoidal rule, and how far the logarithm of the integrand falls to its ends.
#: Both hand-chosen: errors are below 1e-13 (tests compare with mpmath at 250 digits).
_NODES = 801
_DROP = 45.0
_HALVINGS = 80
#: Distance of the two points of a sharp pair, over what the order and the ball leave.
_CLOSE = 1e-4
#: Stands for a radius of 0: the theorem wants one > 0, and no double can tell the two apart.
_NO_RADIUS = 1e-200


def log_weight_moment(order: ArrayLike, shift: ArrayLike) -> Array:
    """Logarithm of E w^p (theorem resque.E2).

    Parameters
    ----------
    order : array_like
        p, any real number.
    shift : array_like
        ||a|| >= 0; broadcasts with `order`.
    """
    bound = theorem("resque.E2").evaluations["bound"]
    order, shift = _reals("order", order), _lengths("shift", shift)
    return np.asarray(evaluate(bound, log=True, moment=order, shift=shift))


def log_joint_moment(first_order: ArrayLike, second_order: ArrayLike, a: Any, b: Any) -> Array:
    """Logarithm of E w_a^j w_b^k (theorem resque.E3).

    Parameters
    ----------
    first_order, second_order : array_like
        j and k, any real numbers.
    a, b : array_like, shape (..., d)
        Shifts; orders broadcast with their leading shape.
    """
    a, b = _pair(a, b)
    first_order, second_order = (
        _reals("first_order", first_order), _reals("second_order", second_order)
    )  # fmt: skip
    return np.asarray(
        evaluate(
            theorem("resque.E3").evaluations["bound"],
            log=True,
            first_order=first_order,
            second_order=second_order,
            shift=np.linalg.norm(a, axis=-1),
            second_shift=np.linalg.norm(b, axis=-1),
            inner_product=(a * b).sum(axis=-1),
        )
    )


def log_difference_norm(order: ArrayLike, a: Any, b: Any) -> Array:
    """Logarithm of (E|w_a - w_b|^p)^(1/p), accurate to about 1e-13.

    Parameters
    ----------
    order : array_like
        p >= 1, real.
    a, b : array_like, shape (..., d)
        Shifts of the two points; `order` broadcasts with their leading shape.

    Returns
    -------
    ndarray
        -inf where a = b.

    Raises
    ------
    ValueError
        For an order below 1, shapes that do not match, or entries that are not finite.
    """
    p = _orders(order)
    a, b = _pair(a, b)
    half = (a - b) / 2
    middle = (a + b) / 2
    p, size, along, square = np.broadcast_arrays(
        p,
        np.linalg.norm(half, axis=-1),
        (half * middle).sum(axis=-1),
        np.square(middle).sum(axis=-1),
    )
    result = np.full(p.shape, -np.inf)
    apart = size > 0
    p, size, along, square = p[apart], size[apart], along[apart], square[apart]
    sinh = np.logaddexp(
        _log_half_moment(p, (p - 1) * along, size), _log_half_moment(p, (1 - p) * along, size)
    )
    result[apart] = math.log(2) + ((p - 1) * square - size**2) / 2 + sinh / p
    return result


def log_kappa(order: ArrayLike, relative_radius: ArrayLike) -> Array:
    """Logarithm of the sharp constant kappa_p(t) of theorem resque.E6.

    Parameters
    ----------
    order : array_like
        p >= 1, real.
    relative_radius : array_like
        t = r/rho >= 0, the radius of the ball in units of the smoothing; 0 is the limit ||Z||_p.
    """
    t = np.maximum(_lengths("relative_radius", relative_radius), _NO_RADIUS)
    sharp = theorem("resque.E6").evaluations["kappa"]
    return np.asarray(evaluate(sharp, log=True, norm_order=_orders(order), relative_radius=t))


def kappa(order: ArrayLike, relative_radius: ArrayLike) -> Array:
    """kappa_p(t): ||e(x) - e(x')||_p <= L ||x - x'||/rho kappa_p(t), see `log_kappa`."""
    return np.exp(log_kappa(order, relative_radius))


def log_sharpness(order: ArrayLike, a: Any, b: Any) -> Array:
    """Logarithm of (E|w_a - w_b|^p)^(1/p) over its bound ||a - b|| kappa_p(t); at most 0.

    t is the larger of ||a|| and ||b||; the estimates of a linear function attain the ratio.
    """
    a, b = _pair(a, b)
    distance = np.linalg.norm(a - b, axis=-1)
    if not np.all(distance > 0):
        raise ValueError("a and b are the same somewhere, must differ: the ratio is 0/0")
    largest = np.maximum(np.linalg.norm(a, axis=-1), np.linalg.norm(b, axis=-1))
    difference = log_difference_norm(order, a, b)
    result: Array = difference - np.log(distance) - log_kappa(order, largest)
    return result


def sharpest_pair(order: float, relative_radius: float, dimension: int = 1) -> tuple[Array, Array]:
    """Two shifts, on one line through the centre, whose ratio to the bound is above .999.

    Parameters
    ----------
    order : float
        p >= 1.
    relative_radius : float
        t > 0; the first shift has this length.
    dimension : int
        d.

    Returns
    -------
    (ndarray, ndarray)
        Each of shape (d,).  The bound is attained in the limit of two points that meet at the rim
        (theorems resque.E6.sharp-2 and -4), so they lie `1e-4` of the scale apart on which the
        integrand of the moment changes.
    """
    if np.ndim(order):
        raise ValueError(f"order={order!r} must be one number")
    p = float(_orders(order))
    t = positive_real("relative_radius", relative_radius)
    direction = np.zeros(whole_number("dimension", dimension))
    direction[0] = 1.0
    gap = min(_CLOSE / (1 + p * (1 + t)), t / 2)
    return t * direction, (t - gap) * direction


def log_kappa_simple(order: ArrayLike, relative_radius: ArrayLike) -> Array:
    """Logarithm of an upper bound on kappa_p(t) for p >= 2 without special functions.

    exp((p - 1) t^2/2) ((p - 1) t + sqrt(p - 1)): Minkowski's inequality for (p - 1) t + Z, and
    ||Z||_p <= sqrt(p - 1).
    """
    p, t = _orders(order, least=2.0), _lengths("relative_radius", relative_radius)
    result: Array = (p - 1) * t**2 / 2 + np.log((p - 1) * t + np.sqrt(p - 1))
    return result


def kappa_within(order: ArrayLike, ball: str) -> Array:
    """Upper bound on kappa_p on a ball that shrinks with the order p >= 2.

    Parameters
    ----------
    order : array_like
    ball : str
        "1/p": radius rho/p, the constant is e^(1/8) (1 + sqrt(p - 1));
        "1/sqrt(p-1)": radius rho/sqrt(p - 1), the constant is 2 e^(1/2) sqrt(p - 1).
    """
    p = _orders(order, least=2.0)
    if ball == "1/p":
        factor = theorem("resque.E5").evaluate("within rho/p", lipschitz=1)
        return np.asarray(factor * (1 + np.sqrt(p - 1)))
    if ball == "1/sqrt(p-1)":
        return np.asarray(theorem("resque.E6").evaluate("within rho/sqrt(p - 1)", norm_order=p))
    raise ValueError(f"ball={ball!r} must be '1/p' or '1/sqrt(p-1)'")


def weight_exceeds(threshold: ArrayLike, shift: ArrayLike) -> Array:
    """P(w > s) for a shift of length > 0 (theorem resque.E7: w is log-normal with mean 1)."""
    law = theorem("resque.E7")
    return np.asarray(
        law.evaluate(
            weight_threshold=check_numbers("threshold", threshold),
            positive_shift=check_numbers("shift", shift),
        )
    )


def weight_quantile(probability: ArrayLike, shift: ArrayLike) -> Array:
    """The value that a weight exceeds with the probability 1 - `probability`, in (0, 1)."""
    q = check_numbers("probability", probability)
    if not np.all((q > 0) & (q < 1)):
        raise ValueError(f"probability={probability!r} must be within (0, 1)")
    length = _lengths("shift", shift)
    result: Array = np.exp(length * special.ndtri(q) - length**2 / 2)
    return result


def _log_half_moment(p: Array, mean: Array, deviation: Array) -> Array:
    """Logarithm of E[sinh(X)^p; X > 0] for X ~ N(mean, deviation^2); arrays of one shape.

    In y = log X the integrand is analytic in a strip, so that the trapezoidal rule converges
    exponentially.  It has one peak: it is log-concave in X, with curvature >= 1/deviation^2.
    """
    peak = _peak(p, mean, deviation)
    top = _log_integrand(peak, p, mean, deviation)
    far = peak + math.sqrt(2 * _DROP) * deviation
    near = np.full_like(peak, -1000.0)  # in y; there the integrand is nothing
    high = np.log(peak)
    for _ in range(_HALVINGS):
        centre = (near + high) / 2
        low = _log_integrand(np.exp(centre), p, mean, deviation) < top - _DROP
        near, high = np.where(low, centre, near), np.where(low, high, centre)
    grid = np.linspace(0.0, 1.0, _NODES)
    width = np.log(far) - near
    points = np.exp(near[..., None] + width[..., None] * grid)
    values = np.exp(
        _log_integrand(points, p[..., None], mean[..., None], deviation[..., None]) - top[..., None]
    )
    total = values.sum(axis=-1) * width / (_NODES - 1)
    result: Array = top + np.log(total) - np.log(deviation) - math.log(2 * math.pi) / 2
    return result


def _peak(p: Array, mean: Array, deviation: Array) -> Array:
    """Where p coth(x) + 1/x = (x - mean)/deviation^2: the left side falls, the right one rises."""
    low = np.full_like(p, -700.0)
    # At this x the right side is at least p + (p + 1)/x, an upper bound on the left one.
    room = np.maximum(mean, 0.0) + p * deviation**2 + np.sqrt(p + 1) * deviation
    high = np.log(room)
    for _ in range(_HALVINGS):
        centre = (low + high) / 2
        x = np.exp(centre)
        rising = deviation**2 * (p * x / np.tanh(x) + 1) > x * (x - mean)
        low, high = np.where(rising, centre, low), np.where(rising, high, centre)
    peak: Array = np.exp((low + high) / 2)
    return peak


def _log_integrand(x: Array, p: Array, mean: Array, deviation: Array) -> Array:
    """p log sinh(x) + log(x) - (x - mean)^2/(2 deviation^2), the density in y = log x."""
    log_sinh = x + np.log(-np.expm1(-2 * x)) - math.log(2)
    result: Array = p * log_sinh + np.log(x) - np.square((x - mean) / deviation) / 2
    return result


def _reals(name: str, value: ArrayLike) -> Array:
    numbers = check_numbers(name, value)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name}={value!r} must be finite")
    return numbers


def _orders(order: ArrayLike, least: float = 1.0) -> Array:
    p = check_numbers("order", order)
    if not np.all((p >= least) & np.isfinite(p)):
        raise ValueError(f"order={order!r} must be finite and >= {least:g}")
    return p


def _lengths(name: str, value: ArrayLike) -> Array:
    lengths = check_numbers(name, value)
    if not np.all((lengths >= 0) & np.isfinite(lengths)):
        raise ValueError(f"{name}={value!r} must be finite and >= 0")
    return lengths


def _pair(a: Any, b: Any) -> tuple[Array, Array]:
    first, second = check_numbers("a", a), check_numbers("b", b)
    if first.ndim < 1 or second.ndim < 1 or first.shape[-1] != second.shape[-1]:
        raise ValueError(
            f"a and b have shapes {first.shape!r} and {second.shape!r}, must be (..., d)"
        )
    for name, vector in (("a", first), ("b", second)):
        if not np.isfinite(vector).all():
            raise ValueError(f"{name} has entries that are not finite, must have none")
    return first, second
