"""Finite models: values, expectations, facts on laws, and what is not covered."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sympy import And, Eq, Implies, Le, Lt, Not, Or, Rational, Sum

from bounds.dp2.symbols import D, N, X, a, alpha, g, grad, nu1, s, w
from bounds.model import Model
from bounds.operators import (
    Conditional,
    E,
    Independent,
    Max,
    RandomVariable,
    StandardNormal,
    Variable,
)
from bounds.symbols import T, d, i, j, t

STEPS = 3
SIGNS = np.array(list(product((-1.0, 1.0), repeat=STEPS))).T[:, None, :]


def walk(*, kept: float = 1.0, drift: float = 0.0) -> Model:
    """w(t + 1) = w(t) + N(t), from 0; N = nu1 times independent signs."""
    noise = 0.5 * SIGNS + drift
    path = np.concatenate([np.zeros_like(noise[:1]), kept * np.cumsum(noise, axis=0)])
    return Model({nu1: 0.5, T: STEPS, d: 1}, {"N": noise, "w": path, "a": [1.0, 2.0, 3.0]})


def test_values_have_axes_for_indices_and_scenarios() -> None:
    model = walk()
    assert model.value(E(N(t, j) ** 2)).shape == (1, 3, 1)  # j, t, then one scenario
    np.testing.assert_allclose(model.value(E(N(t, j) ** 2)), 0.25)
    np.testing.assert_allclose(model.value(E(w(t, 1) ** 2))[:, 0], [0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(model.value(Sum(a(t), (t, 1, T))), 6)
    assert model.value(N(1, 1)).shape == (8,)


def test_sentences_hold_or_fail_for_every_index() -> None:
    model = walk()
    assert model.holds(Eq(E(N(t, j)), 0))
    assert model.holds(Eq(w(t + 1, j), w(t, j) + N(t, j)))
    assert model.holds(Eq(E(w(t, j) ** 2), (t - 1) * nu1**2))
    assert not model.holds(Eq(E(w(t, j) ** 2), t * nu1**2))
    assert not walk(kept=0.5).holds(Eq(w(t + 1, j), w(t, j) + N(t, j)))
    assert not walk(drift=0.1).holds(Eq(E(N(t, j)), 0))
    assert model.holds(Implies(t <= 2, a(t) <= 2))
    assert not model.holds(Implies(t <= 3, a(t) <= 2))
    assert model.holds(And(a(t) >= 1, Or(Eq(a(t), 1), a(t) >= 2)))
    assert model.holds(Not(And(Lt(a(t), 1), Lt(nu1, 1))))
    assert not model.holds(Not(Le(a(t), 2)))


def test_what_is_not_covered_does_not_count() -> None:
    model = walk()
    assert np.isnan(model.margin(Eq(w(t + 5, j), 7))).all()
    assert model.holds(Eq(w(t + 5, j), 7))
    assert not model.violates(Eq(w(t + 5, j), 7))
    assert model.violates(Eq(w(t + 3, j), 7))


def test_margins_are_relative_to_the_terms() -> None:
    model = Model({nu1: 1.0, alpha: 0.5})
    assert float(model.margin(Le(alpha, nu1)).item()) == pytest.approx(1 / 3)
    assert float(model.margin(Le(4 * alpha, nu1)).item()) == pytest.approx(-1 / 3)
    assert not model.violates(Lt(nu1, 1))  # touching is no violation by a margin
    assert not model.violates(Eq(nu1 + Rational(1, 10**11), 1))
    # Large terms that cancel: what is left over of them is no violation.
    noise = Model({nu1: 1e9})
    assert not noise.violates(Le(nu1 - (10**9 - Rational(1, 10**4)), 0))


def test_what_cancels_in_a_mean_counts_before_it_cancels() -> None:
    noise = np.array([[[0.1, 0.2, -0.3 - 1e-16, 0.0]]])
    path = np.full((1, 1, 4), 3.0)
    model = Model({d: 1}, {"N": noise, "w": path})
    assert float(model.value(E(N(1, 1) * w(1, 1))).item()) != 0
    assert model.holds(Eq(E(N(t, j) * w(t, j)), 0))
    assert not model.violates(Le(Sum(E(N(1, j) * w(1, j)), (j, 1, d)), 0))
    assert not Model({}, {"N": noise + 1e-6, "w": path}).holds(Eq(E(N(t, j) * w(t, j)), 0))


def test_where_it_fails_is_told() -> None:
    worst = walk().worst(Implies(t >= 2, And(a(t) <= 2, a(t) >= 0)))
    assert worst.at == {"t": 3.0}
    assert (worst.left, worst.right) == (3.0, 2.0)
    assert str(worst.relation) == "a(t) <= 2"
    assert worst.margin == pytest.approx(-0.2)
    random = walk().worst(N(t, j) <= 0)
    assert set(random.at) == {"t", "j", "scenario"}
    assert random.left == 0.5


def test_variables_are_drawn() -> None:
    x, p = Variable("x"), Variable("p", positive=True)
    model = Model({alpha: 0.5})
    assert model.holds(And(x**2 >= 0, p > 0, Max(x, 0) <= abs(x)))
    assert not model.holds(x >= 0)
    assert not model.holds(p >= alpha)
    assert model.worst(p >= alpha).at["p"] < 0.5


def test_independence_is_that_of_the_whole_past() -> None:
    model = walk()
    assert model.holds(Implies(i <= t, Independent(N(t, j), w(i, j))))
    assert model.holds(Independent(N(t, j), w(1, j)))
    assert not model.holds(Independent(N(t, j), w(t, j), w(i, j)))  # i runs past t
    # Pairwise independent, and not independent together.
    first, second = (np.repeat([[-1.0, 1.0]], 2, axis=0).ravel(), np.repeat([-1.0, 1.0], 2))
    pairs = np.stack([first, second])[:, None, :]
    trap = Model({}, {"N": (first * second)[None, None, :], "w": pairs})
    assert trap.holds(Independent(N(1, j), w(1, j)))
    assert trap.holds(Independent(N(1, j), w(2, j)))
    assert not trap.holds(Independent(N(1, j), w(t, j)))
    weighted = Model({}, {"N": [[[-1.0, 1.0]]], "w": [[[3.0, 3.0]]]}, [0.3, 0.7])
    assert weighted.holds(Independent(N(t, j), w(t, j)))
    assert weighted.holds(Eq(E(N(1, 1)), Rational(2, 5)))


def test_conditional_means_are_taken_on_the_atoms() -> None:
    past = np.array([[[-1.0, -1.0, 1.0, 1.0]]])
    gradient = past * 2 + np.array([[[-1.0, 1.0, -3.0, 3.0]]])
    model = Model({}, {"g": gradient, "grad": 2 * past, "w": past})
    assert model.holds(Conditional(g(t, j), grad(t, j), w(t, i)))
    wrong = Model({}, {"g": gradient, "grad": past, "w": past})
    assert not wrong.holds(Conditional(g(t, j), grad(t, j), w(t, i)))
    # A mean that is no function of the past.
    random = Model({}, {"g": gradient, "grad": gradient, "w": past})
    assert not random.holds(Conditional(g(t, j), grad(t, j), w(t, i)))


def test_a_normal_variable_by_quadrature() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    Z = RandomVariable("Z")
    weights = weights / weights.sum()
    assert Model({}, {"Z": nodes}, weights).holds(StandardNormal(Z))
    assert not Model({}, {"Z": nodes + 0.1}, weights).holds(StandardNormal(Z))
    assert not Model({}, {"Z": [-1.0, 1.0]}, [0.5, 0.5]).holds(StandardNormal(Z))
    assert float(Model({}, {"Z": nodes}, weights).value(E(Z**6)).item()) == pytest.approx(15)


def test_what_a_model_lacks_is_named() -> None:
    with pytest.raises(ValueError, match="no value for s"):
        walk().holds(Eq(s, 1))
    with pytest.raises(ValueError, match="X is missing"):
        walk().holds(Eq(X(t, j), 1))
    with pytest.raises(ValueError, match="weights = "):
        Model({}, {}, [0.5, 0.6])
    with pytest.raises(ValueError, match=r"processes\['D'\] has shape"):
        Model({}, {"D": np.ones((2, 3, 4, 5))}).holds(Eq(D(t, j), 1))
    assert "alpha = 0.5" in repr(Model({alpha: 0.5}, note="half"))
