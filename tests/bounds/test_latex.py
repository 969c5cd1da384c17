"""Formulas as LaTeX: letters of the glossary, indices as subscripts, sentences on laws."""

import pytest
from sympy import Eq, Function, Symbol

from bounds.dp2.symbols import C, D, N, eps, g, nu, nu1, w, wstar
from bounds.latex import to_latex
from bounds.operators import (
    Conditional,
    E,
    Independent,
    RandomVariable,
    StandardNormal,
    Variable,
)
from bounds.symbols import j, t

Z = RandomVariable("Z")


@pytest.mark.parametrize(
    ("formula", "latex"),
    [
        (g(t, j), "g_{t,j}"),
        (g(t + 1, j) ** 2, "g_{t + 1,j}^{2}"),
        (nu(t), r"\nu_{t}"),
        (wstar(j), "w^*_{j}"),
        (wstar(j) ** 2, r"\left(w^*_{j}\right)^{2}"),
        (nu1 * eps, r"\epsilon \nu_1"),
        (1 / D(t, j), r"\frac{1}{D_{t,j}}"),
        (E(g(t, j)) ** 2, r"\mathbb{E}\left[g_{t,j}\right]^{2}"),
        (E(g(t, j) ** 2) <= C**2, r"\mathbb{E}\left[g_{t,j}^{2}\right] \leq C^{2}"),
        (Variable("eps_"), r"{\epsilon}'".replace("epsilon", "mathrm{eps}")),
        (Variable("x_") ** 2, "{x}'^{2}"),
        (Variable("best"), r"\mathrm{best}"),
        (Variable("rho_1"), r"\rho_{1}"),
        (Variable("low_1"), r"\mathrm{low}_{1}"),
        (Symbol("other"), "other"),
        (Function("f")(t), "f_{t}"),
        (Eq(Z, 0), "Z = 0"),
        (Independent(N(t, j), w(t, j), g(t, j)), r"N_{t,j} \perp \left(w_{t,j}, g_{t,j}\right)"),
        (
            Conditional(g(t, j), wstar(j), w(t, j)),
            r"\mathbb{E}\left[g_{t,j} \mid w_{t,j}\right] = w^*_{j}",
        ),
        (StandardNormal(Z), r"Z \sim \mathcal{N}\left(0, 1\right)"),
    ],
)
def test_latex(formula, latex):
    assert to_latex(formula) == latex
