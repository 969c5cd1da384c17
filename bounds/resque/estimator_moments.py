"""Moments of the difference of two weights, at even orders.

They are alternating sums of joint moments. For two weights close to each other nearly everything
cancels: at p = 16 and b = 0.9 a, ||a|| = 1/16, double precision gives 1.9e-12 where the moment is
2.6e-28. `difference_moment` therefore adds digits until enough of them are certain.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import And, Eq, binomial, exp

from bounds.evaluate_exact import to_fraction
from bounds.operators import E
from bounds.proof.step import Premise, cite, inequality
from bounds.resque import estimator_models
from bounds.resque.estimator_weight import PAIR, w_a, w_b
from bounds.resque.symbols import a_len, ab, b_len, j_ord, k_ord
from bounds.theorem import Kind, Source, Status, Theorem

__all__ = ["THEOREMS", "difference_moment"]


def _joint(first: int, second: int) -> sympy.Expr:
    """E(w_a^first w_b^second) in closed form (resque.E3)."""
    return exp(
        (first * (first - 1) * a_len**2 + second * (second - 1) * b_len**2) / 2
        + first * second * ab
    )


def _closed(order: int) -> sympy.Expr:
    return sympy.Add(
        *((-1) ** k * binomial(order, k) * _joint(order - k, k) for k in range(order + 1))
    )


def _claim(order: int) -> Any:
    return Eq(E((w_a - w_b) ** order), _closed(order))


def _joints(order: int) -> list[Premise]:
    return [
        cite("resque.E3", {j_ord: sympy.Integer(order - k), k_ord: sympy.Integer(k)})
        for k in range(order + 1)
    ]


DIFFERENCE = Theorem(
    id="resque.E3.difference",
    title="Second and fourth moment of the difference of two weights",
    statement=And(_claim(2), _claim(4)),
    kind=Kind.IDENTITY,
    source=Source("carmon2023resque", "moments of the density ratio", Status.DERIVED),
    assumptions=PAIR,
    steps=(
        inequality("order-2", _claim(2), *_joints(2), note="the binomial theorem and resque.E3"),
        inequality("order-4", _claim(4), *_joints(4), note="the same at order 4"),
        inequality("both", And(_claim(2), _claim(4)), "order-2", "order-4"),
    ),
    models=estimator_models.e3,
    explanation=(
        "The moments of w_a - w_b at even orders are alternating sums of joint moments: "
        "e^(||a||^2) + e^(||b||^2) - 2 e^(<a, b>) at order 2, five terms at order 4, and so on. "
        "They are the exact values that the bound of resque.E6 is compared with."
    ),
    evaluations={"bound": _closed(2)},
    caveats=(
        "Every order is in resque.E3.orders; `difference_moment` computes it.",
        "At high orders and for weights close to each other the sum cancels: in double precision "
        "it has no correct digit from order 8 on. "
        "`bounds.resque.estimator_moments.difference_moment` adds digits as needed.",
    ),
)


def difference_moment(
    order: int, *, shift: Any, second_shift: Any, inner_product: Any, digits: int = 30
) -> Any:
    """E(w_a - w_b)^order for an even order, with as many digits as the cancellation asks for.

    Parameters
    ----------
    order : int
        Even, >= 2.
    shift, second_shift : number
        ||a|| and ||b||; a float stands for itself, exactly. Fractions are exact.
    inner_product : number
        <a, b>, at most ||a|| ||b|| in absolute value.
    digits : int
        Correct significant digits of the result.

    Returns
    -------
    mpmath.mpf

    Raises
    ------
    ValueError
        For an odd order, a negative length, or an inner product that no two vectors have.
    """
    from mpmath import MPContext

    if isinstance(order, bool) or order != int(order) or order < 2 or order % 2:
        raise ValueError(f"order = {order!r} is not allowed: even integer >= 2")
    if isinstance(digits, bool) or digits != int(digits) or digits < 1:
        raise ValueError(f"digits = {digits!r} is not allowed: integer >= 1")
    a = to_fraction(shift, "shift")
    b = to_fraction(second_shift, "second_shift")
    both = to_fraction(inner_product, "inner_product")
    for name, value in (("shift", a), ("second_shift", b)):
        if value < 0:
            raise ValueError(f"{name} = {value} is not allowed: >= 0")
    if both**2 > (a * b) ** 2:
        raise ValueError(
            f"inner_product = {inner_product!r} is not allowed: at most shift * second_shift"
        )
    if both == a * b and a == b:
        return MPContext().mpf(0)
    mp = MPContext()
    mp.dps = digits + 20
    while True:
        terms = []
        for k in range(order + 1):
            j = order - k
            exponent = (j * (j - 1) * a**2 + k * (k - 1) * b**2) / 2 + j * k * both
            value = mp.exp(mp.mpf(exponent.numerator) / exponent.denominator)
            terms.append((-1) ** k * mp.binomial(order, k) * value)
        total = mp.fsum(terms)
        error = mp.fsum(abs(term) for term in terms) * (order + 8) * mp.mpf(10) ** (2 - mp.dps)
        if error <= abs(total) * mp.mpf(10) ** (-digits):
            return +total
        mp.dps *= 2


THEOREMS: tuple[Theorem, ...] = (DIFFERENCE,)
