"""Three arithmetics that agree, exact floors, logs, and domains that are checked."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb, ctx

from bounds import evaluate as module
from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import C1, K, X, alpha, beta, c1, c2, c3, c4, eps, h, m, nu1, rho, s, u
from bounds.evaluate import BACKENDS, compile, evaluate, exact_fraction
from bounds.operators import E, Variable
from bounds.symbols import T, d, j, k, n, t

PHASE = sympy.floor((t - 1) / s)
PHI = (c1 + c2 * u) * (sympy.sqrt(c3 + c4 / u) + eps) ** ((2 + u) / (2 * u))
SCHEDULE = alpha ** (1 - sympy.ceiling(T / s)) + sympy.Sum(alpha**PHASE / sympy.sqrt(t), (t, 1, T))
FOLDED = sympy.Sum(
    nu1 * sympy.sqrt(2 / sympy.pi) * sympy.exp(-(m(j) ** 2) / (2 * nu1**2))
    + m(j) * sympy.erf(m(j) / (nu1 * sympy.sqrt(2))),
    (j, 1, d),
)
CASES = [
    (PHI, [{"relative_delay": x, "damping": 0.01} for x in (1, 0.5, 0.1, Fraction(1, 37))]),
    (
        SCHEDULE,
        [
            {"decay": 0.5, "steps": T_, "delay": s_}
            for T_ in (1, 12, 13)
            for s_ in (1, 3, 4, 12, 99)
        ],
    ),
    (
        FOLDED,
        [
            {"mean_gradient": np.array([0.3, -0.02, 0.0]), "dimension": 3, "noise_std": tau}
            for tau in (1e-3, 0.05, 2.0)
        ],
    ),
    (
        sympy.Max(h, sympy.Min(C1, rho)) + sympy.Abs(h - rho) + sympy.binomial(n, K),
        [
            {
                "staleness_ratio": a,
                "clip_norm": 2,
                "rate_ratio": 1.5,
                "dataset_size": 9,
                "phases": b,
            }
            for a in (0, 1.75, 3)
            for b in (1, 4, 11)
        ],
    ),
    (
        sympy.Piecewise((eps**beta, s < 3), (sympy.log(eps) / s, True)) * sympy.Mod(K, 2),
        [{"damping": 0.3, "ema": 0.9, "delay": s_, "phases": K_} for s_ in (2, 3) for K_ in (4, 5)],
    ),
    (
        sympy.Sum(sympy.Sum(beta ** (k - j) * m(j), (j, 1, k)), (k, 1, K)),
        [{"ema": b, "phases": 3, "mean_gradient": np.array([1.0, -2.0, 0.5])} for b in (0, 0.9)],
    ),
    (
        sympy.hyper((-rho / 2,), (sympy.Rational(1, 2),), -(h**2) / 2),
        [{"rate_ratio": a, "staleness_ratio": b} for a in (0.7, 2, 9.5) for b in (0, 1.5, 12)],
    ),
    (
        sympy.exp(-(eps**2)) * sympy.erfc(eps) + sympy.gamma(eps) / sympy.tanh(eps) + 0**beta,
        [{"damping": e, "ema": b} for e in (0.25, 3, 10) for b in (0, 0.5)],
    ),
]
STALENESS = {"staleness_intercept": 1, "staleness_slope": 50.0}
FLOOR = {"second_moment_floor": 0.98, "second_moment_noise": 0.002}


def _filled(expression: sympy.Expr, point: dict) -> dict:
    return {**point, **STALENESS, **FLOOR} if expression == PHI else point


@pytest.mark.parametrize(("expression", "points"), CASES)
def test_the_three_agree(expression: sympy.Expr, points: list[dict]) -> None:
    for point in points:
        point = _filled(expression, point)
        fast = evaluate(expression, **point)
        digits = evaluate(expression, backend="mpmath", **point)
        ball = evaluate(expression, backend="ball", **point)
        assert isinstance(ball, arb)
        assert fast == pytest.approx(float(digits), rel=1e-13, abs=1e-14)
        with ctx.workprec(200):
            assert ball.overlaps(arb(str(digits), abs(float(digits)) * 1e-48 + 1e-60))
        assert float(ball.rad()) <= 1e-40 * max(1.0, abs(float(digits)))


@pytest.mark.parametrize(("expression", "points"), CASES)
def test_logs_agree_with_values(expression: sympy.Expr, points: list[dict]) -> None:
    for point in points:
        point = _filled(expression, point)
        plain = evaluate(expression, backend="mpmath", **point)
        if plain < 0:
            with pytest.raises(ValueError, match="log"):
                evaluate(expression, log=True, **point)
            continue
        for backend in ("numpy", "mpmath"):
            got = evaluate(expression, backend=backend, log=True, **point)
            assert float(got) == pytest.approx(math.log(plain) if plain else -math.inf, abs=1e-12)


def test_arrays_broadcast_like_single_values() -> None:
    steps, delays = np.arange(1, 31)[:, None], np.array([1, 2, 7, 30])
    table = evaluate(SCHEDULE, decay=0.7, steps=steps, delay=delays)
    assert table.shape == (30, 4)
    for (a, b), value in np.ndenumerate(table):
        single = evaluate(SCHEDULE, decay=0.7, steps=int(steps[a, 0]), delay=int(delays[b]))
        assert value == pytest.approx(single, rel=1e-14)


def test_a_sum_in_several_blocks_is_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = evaluate(SCHEDULE, decay=0.9, steps=np.array([5, 100]), delay=np.array([3, 11]))
    monkeypatch.setattr("bounds.evaluate_numpy._BLOCK", 20)
    parts = evaluate(SCHEDULE, decay=0.9, steps=np.array([5, 100]), delay=np.array([3, 11]))
    np.testing.assert_allclose(parts, whole, rtol=1e-14)


def test_floors_at_every_reciprocal() -> None:
    sizes = np.arange(1, 2001)
    hermite = sympy.floor(1 / (2 * u)) + sympy.floor((1 + u) / (2 * u))
    for exponent in (sympy.floor(1 / u), sympy.ceiling(1 / u), hermite):
        np.testing.assert_array_equal(evaluate(exponent, relative_delay=1 / sizes), sizes)
        assert all(
            evaluate(exponent, backend=backend, relative_delay=1 / size) == size
            for backend in ("numpy", "mpmath")
            for size in range(1, 2001, 23)
        )
    # The trap: in floats the floor of the second form is wrong somewhere.
    floats = np.floor((1 + 1 / sizes) / (2 / sizes)) + np.floor(1 / (2 / sizes))
    assert (floats != sizes).any()


def test_floors_of_integers_are_integer_divisions() -> None:
    steps, delays = np.meshgrid(np.arange(1, 400), np.arange(1, 60))
    got = evaluate(sympy.ceiling(T / s) - 1, steps=steps, delay=delays)
    np.testing.assert_array_equal(got, -(-steps // delays) - 1)
    big = 10**17 + 1
    assert evaluate(sympy.floor(T / s), backend="mpmath", steps=big, delay=10) == big // 10
    assert evaluate(sympy.floor(T / s), steps=3 * 10**16 - 1, delay=3) == float(10**16 - 1)


@pytest.mark.parametrize("size", range(1, 60))
def test_a_float_stands_for_the_fraction_it_rounds(size: int) -> None:
    for top in range(1, 3 * size, 5):
        assert exact_fraction(top / size) == Fraction(top, size)
    assert exact_fraction(np.float64(1 / size)) == Fraction(1, size)


def test_other_numbers_are_read_exactly() -> None:
    assert exact_fraction(Fraction(3, 7)) == exact_fraction((3, 7)) == Fraction(3, 7)
    assert exact_fraction(sympy.Rational(-3, 7)) == Fraction(-3, 7)
    assert exact_fraction(math.pi) == Fraction(math.pi)
    assert exact_fraction(1 / 999_983) == Fraction(1, 999_983)
    assert exact_fraction(-0.1) == Fraction(-1, 10)
    assert exact_fraction(0.0) == 0
    for wrong in (math.nan, math.inf, "1/2", None, True, (1, 0), 1j):
        with pytest.raises(ValueError, match="not allowed"):
            exact_fraction(wrong)


def test_large_exponents_overflow_nothing_in_logs() -> None:
    power = alpha ** (1 - sympy.ceiling(T / s)) * sympy.sqrt(T)
    point = {"decay": 1e-3, "steps": 10**6, "delay": 1}
    right = (10**6 - 1) * math.log(1e3) + 0.5 * math.log(10**6)
    for backend in BACKENDS:
        assert float(evaluate(power, backend=backend, log=True, **point)) == pytest.approx(right)
    assert evaluate(power, **point) == math.inf
    assert evaluate(power, backend="mpmath", **point) > 0
    # A ratio of two numbers that overflow is repaired.
    ratio = alpha**-T / (alpha**-T + 1)
    assert evaluate(ratio, decay=0.001, steps=np.array([1, 500])) == pytest.approx(
        [1000 / 1001, 1.0], rel=1e-15
    )
    difference = alpha**-T - alpha ** -(T - 1)
    assert evaluate(difference, log=True, decay=0.5, steps=5000) == pytest.approx(
        4999 * math.log(2), rel=1e-12
    )
    assert evaluate(sympy.erfc(h), log=True, staleness_ratio=100) == pytest.approx(
        -(100**2) - math.log(100 * math.sqrt(math.pi)) + math.log1p(-1 / (2 * 100**2)), abs=1e-7
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decay": 2}, "decay = 2 is not allowed: in (0, 1]"),
        ({"decay": 0}, "decay = 0 is not allowed: in (0, 1]"),
        ({"decay": -0.5}, "decay = -0.5 is not allowed: in (0, 1]"),
        ({"decay": math.nan}, "decay = nan is not allowed"),
        ({"decay": math.inf}, "decay = inf is not allowed"),
        ({"decay": "a"}, "decay = 'a' is not allowed"),
        ({"decay": None}, "decay = None is not allowed"),
        ({"delay": 0}, "delay = 0 is not allowed: integer >= 1"),
        ({"delay": 2.5}, "delay = 2.5 is not allowed: integer >= 1"),
        ({"delay": True}, "delay = True is not allowed: integer >= 1"),
        ({"other": 1}, "other = 1 is no parameter here: decay, delay, mean_gradient, steps"),
        ({"mean_gradient": 1.0}, "mean_gradient = 1.0 is not allowed: an array by index"),
        ({"mean_gradient": [1.0]}, "m "),
        ({"mean_gradient": [1.0, math.nan]}, "mean_gradient[1] = nan is not allowed: real"),
        ({"mean_gradient": []}, "mean_gradient = [] is not allowed"),
    ],
)
def test_values_outside_a_domain_are_refused(backend: str, change: dict, message: str) -> None:
    expression = SCHEDULE + sympy.Sum(m(j), (j, 1, 2))
    point = {"decay": 0.5, "steps": 4, "delay": 2, "mean_gradient": [1.0, 2.0]}
    evaluate(expression, backend=backend, **point)
    with pytest.raises(ValueError) as caught:
        evaluate(expression, backend=backend, **{**point, **change})
    assert message in str(caught.value)


def test_what_is_missing_or_misshapen_is_named() -> None:
    with pytest.raises(ValueError, match="steps is missing: integer >= 1"):
        evaluate(SCHEDULE, decay=0.5, delay=2)
    with pytest.raises(ValueError, match="do not broadcast"):
        evaluate(SCHEDULE, decay=0.5, delay=np.array([1, 2]), steps=np.array([1, 2, 3]))
    with pytest.raises(ValueError, match=r"delay\[1\] = 0 is not allowed"):
        evaluate(SCHEDULE, decay=0.5, delay=np.array([1, 0]), steps=4)
    with pytest.raises(ValueError, match="delay is an array"):
        evaluate(SCHEDULE, backend="ball", decay=0.5, delay=np.array([1, 2]), steps=4)
    with pytest.raises(ValueError, match="backend = 'excel' is not allowed"):
        evaluate(SCHEDULE, backend="excel", decay=0.5, delay=2, steps=4)
    with pytest.raises(ValueError, match="backend = 'excel' is not allowed"):
        compile(SCHEDULE, "excel")
    with pytest.raises(ValueError, match="cannot be evaluated"):
        evaluate(E(X(1, 1)), averaged_gradient=[[1.0]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sequence_with_entries_left_over_is_refused(backend: str) -> None:
    total = sympy.Sum(m(j) ** 2, (j, 1, d))
    assert float(evaluate(total, backend=backend, mean_gradient=[1, 2], dimension=2)) == 5
    with pytest.raises(ValueError, match="mean_gradient has 3 entries, and dimension = 2"):
        evaluate(total, backend=backend, mean_gradient=[1, 2, 3], dimension=2)
    shifted = sympy.Sum(m(j + 1), (j, 1, d))
    assert float(evaluate(shifted, backend=backend, mean_gradient=[1, 2, 3], dimension=2)) == 5


@pytest.mark.parametrize("backend", BACKENDS)
def test_undefined_values_are_refused(backend: str) -> None:
    for expression in (1 / h, sympy.log(h), h / h**2, (h - 1) ** sympy.Rational(1, 3)):
        with pytest.raises(ValueError, match=r"not defined|log of|broken power"):
            evaluate(expression, backend=backend, staleness_ratio=0)


def test_what_overflows_on_the_way_is_right_or_refused() -> None:
    # In a denominator, where the result is finite and wrong by itself.
    ratio = rho / sympy.sqrt(h**2 + eps**2)
    point = {"rate_ratio": 1e200, "staleness_ratio": 1e200, "damping": 1e200}
    for expression, right in ((ratio, 0.5**0.5), (2 + ratio, 2 + 0.5**0.5)):
        for backend in BACKENDS:
            got = evaluate(expression, backend=backend, **point)
            assert float(got) == pytest.approx(right, rel=1e-14)
    tiny = evaluate(h * rho * eps, staleness_ratio=1e-200, rate_ratio=1e-200, damping=1e300)
    assert tiny == pytest.approx(1e-100, rel=1e-12)
    with pytest.raises(ValueError, match="too large"):
        evaluate(sympy.exp(h**2), log=True, staleness_ratio=1e200)
    with pytest.raises(ValueError, match="no double"):
        evaluate(T / s, steps=10**400, delay=1)
    assert evaluate(T / s, backend="mpmath", steps=10**400, delay=1) > 1


def test_what_cancels_keeps_its_digits() -> None:
    points = np.array([1e-9, 1e-3, 2.0, 9.0])
    for expression in (
        1 - (1 - eps) * (1 - 2 * eps),
        sympy.Rational(1, 2) - sympy.erf(eps) / 2,
        sympy.log(1 + eps * (sympy.exp(eps) - 1)),
        sympy.loggamma(rho + eps) - sympy.loggamma(rho),
        sympy.Sum(sympy.exp(eps * k) - 1, (k, 1, 3)) / eps,
    ):
        rest = {"rate_ratio": 1e8} if rho in expression.free_symbols else {}
        fast = evaluate(expression, damping=points, **rest)
        for value, point in zip(fast, points, strict=True):
            exact = float(evaluate(expression, backend="mpmath", damping=point, **rest))
            assert value == pytest.approx(exact, rel=1e-11)
            if exact > 0:
                logs = evaluate(expression, log=True, damping=point, **rest)
                assert logs == pytest.approx(math.log(exact), rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_log_of_zero_is_minus_infinity(backend: str) -> None:
    assert float(evaluate(h * eps, backend=backend, log=True, staleness_ratio=0, damping=1)) == (
        -math.inf
    )
    far = sympy.erfc(h) + eps
    assert float(evaluate(far, backend=backend, staleness_ratio=1e300, damping=2)) == 2.0


def test_the_hypergeometric_function_of_large_numbers() -> None:
    expression = sympy.hyper((-rho / 2,), (sympy.Rational(1, 2),), -(h**2) / 2)
    point = {"rate_ratio": 1e6, "staleness_ratio": 10.0}
    logs = [float(evaluate(expression, backend=each, log=True, **point)) for each in BACKENDS]
    assert logs == pytest.approx([logs[2]] * 3, rel=1e-13)


def test_assumptions_on_the_parameters_are_checked() -> None:
    x = Variable("x")
    cap = Assumption("cap", alpha <= sympy.Min(eps, 1), "alpha is at most the damping", CODE)
    other = Assumption("other", x**2 >= 0, "says nothing about the parameters")
    bound = alpha * eps
    assert evaluate(bound, assuming=[cap, other], decay=0.1, damping=0.1) == pytest.approx(0.01)
    with pytest.raises(ValueError, match=r"decay = 0.2.*alpha is at most the damping"):
        evaluate(bound, assuming=[cap], decay=0.2, damping=0.1)
    with pytest.raises(ValueError, match=r"damping = 0\.15"):
        evaluate(bound, assuming=[cap], decay=0.2, damping=np.array([0.3, 0.15]))


def test_compiled_functions_are_evaluate() -> None:
    for backend in BACKENDS:
        function = compile(alpha**-T, backend, log=True)
        assert float(function(decay=0.5, steps=3)) == pytest.approx(3 * math.log(2))
    assert "decay" in (compile(alpha**-T).__doc__ or "")


def test_roots_that_are_exact_give_exact_floors() -> None:
    calls = sympy.ceiling(T ** sympy.Rational(1, 3) * s ** sympy.Rational(2, 3))
    ball = evaluate(calls, backend="ball", steps=10**6, delay=10**3)
    assert ball.is_exact()
    assert ball == 10**4
    assert evaluate(calls, steps=10**6, delay=10**3) == 10**4


def test_fifty_digits_are_right() -> None:
    got = evaluate(sympy.sqrt(2) * eps, backend="mpmath", damping=1)
    assert str(got)[:51] == "1.4142135623730950488016887242096980785696718753769"
    assert set(module.__all__) >= {"evaluate", "compile", "exact_fraction"}
