"""The proof of the master inequality, for noise after the preconditioner and for mixed noise."""

from __future__ import annotations

from typing import Any

from sympy import And, Implies, Sum

from bounds.dp2.relations import Eq, Le
from bounds.dp2.setting import OVER_J, OVER_T, Field, metric
from bounds.dp2.symbols import D, Rj, a, g, gap, grad, lower, mode, nu, omega, w, wstar
from bounds.operators import E, Index, Max, Min, Variable
from bounds.proof.methods import Linearity, Tower, ZeroMean
from bounds.proof.step import Induction, Step, at, expectation, identity, inequality
from bounds.symbols import T, j, t


def _lemmas() -> tuple[Step, ...]:
    y, low, side, best, p, q, x = (
        Variable(name) for name in ("y", "low", "side", "best", "p", "q", "x")
    )
    b = Variable("b", positive=True)
    return (
        inequality(
            "clip",
            Implies(
                And(low <= best, best <= low + side),
                (Min(Max(y, low), low + side) - best) ** 2 <= (y - best) ** 2,
            ),
            note="clipping to an interval moves no point away from a point of it",
        ),
        inequality("scale", Implies(p <= q, b * p <= b * q), note="b is positive"),
        inequality(
            "near",
            Implies(
                And(low <= best, best <= low + side, low <= x, x <= low + side),
                (x - best) ** 2 <= side**2,
            ),
            note="two points of an interval are no further apart than its ends",
        ),
        inequality(
            "positive-part",
            Implies(And(x >= 0, x <= side**2), p * x <= side**2 * Max(p, 0)),
        ),
    )


def _one_step(noise: Field, moment: Any, modes: tuple[str, ...]) -> tuple[Step, ...]:
    """From the update to the progress of one step in one coordinate, in expectation."""
    y, low, side, best, p, q = (Variable(name) for name in ("y", "low", "side", "best", "p", "q"))
    b = Variable("b", positive=True)
    away, after = w(t, j) - wstar(j), w(t + 1, j) - wstar(j)
    z = noise(t, j)
    moved = w(t, j) - a(t) * (g(t, j) / D(t, j) + z)
    B = metric(t, j)
    size = E(D(t, j) * z**2)
    return (
        inequality(
            "closer",
            Le(after**2, (moved - wstar(j)) ** 2),
            at("clip", {y: moved, low: lower(j), side: Rj(j), best: wstar(j)}),
            "update",
            "optimum",
        ),
        inequality(
            "weighted",
            Le(B * after**2, B * (moved - wstar(j)) ** 2),
            at("scale", {b: B, p: after**2, q: (moved - wstar(j)) ** 2}),
            "closer",
        ),
        identity(
            "square",
            Eq(
                B * (moved - wstar(j)) ** 2,
                B * away**2
                - 2 * omega(t) * (g(t, j) + D(t, j) * z) * away
                + omega(t) * a(t) * (g(t, j) ** 2 / D(t, j) + 2 * g(t, j) * z + D(t, j) * z**2),
            ),
        ),
        inequality(
            "paid",
            Le(
                B * after**2,
                B * away**2
                - 2 * omega(t) * (g(t, j) + D(t, j) * z) * away
                + omega(t) * a(t) * (g(t, j) ** 2 / D(t, j) + 2 * g(t, j) * z + D(t, j) * z**2),
            ),
            "weighted",
            "square",
        ),
        expectation(
            "averaged",
            Le(
                E(B * after**2),
                E(B * away**2)
                - 2 * omega(t) * (E(g(t, j) * away) + E(D(t, j) * z * away))
                + omega(t) * a(t) * (E(g(t, j) ** 2 / D(t, j)) + 2 * E(g(t, j) * z) + size),
            ),
            "paid",
            by=Linearity(over=(E,)),
        ),
        expectation(
            "unbiased-move", Eq(E(g(t, j) * away), E(grad(t, j) * away)), "unbiased", by=Tower()
        ),
        expectation("noise-move", Eq(E(D(t, j) * z * away), 0), "fresh", "mean", by=ZeroMean()),
        expectation("noise-batch", Eq(E(g(t, j) * z), 0), "fresh", "mean", by=ZeroMean()),
        *_noise_size(size, modes),
        inequality(
            "step",
            Le(
                2 * omega(t) * E(grad(t, j) * away),
                E(B * away**2) - E(B * after**2) + omega(t) * a(t) * moment,
            ),
            "averaged",
            "unbiased-move",
            "noise-move",
            "noise-batch",
            "noise-size",
        ),
    )


def _noise_size(size: Any, modes: tuple[str, ...]) -> tuple[Step, ...]:
    """The second moment of the noise in the metric D."""
    if not modes:
        return (
            expectation(
                "noise-size",
                Eq(size, nu(t) ** 2 * E(D(t, j))),
                "fresh",
                "variance",
                by=ZeroMean(),
            ),
        )
    mixed = nu(t) ** 2 * E(D(t, j) * (mode(t) + (1 - mode(t)) / D(t, j)) ** 2)
    inverse = E(1 / D(t, j))
    return (
        expectation("noise-any", Eq(size, mixed), "fresh", "variance", by=ZeroMean()),
        inequality(
            "noise-size",
            Eq(size, nu(t) ** 2 * (mode(t) * E(D(t, j)) + (1 - mode(t)) * inverse)),
            "noise-any",
            *modes,
        ),
    )


def _telescope(moment: Any) -> tuple[Step, ...]:
    """Summing over the steps: only the growth of the metric is left of the distances."""
    low, side, best, p, q, x = (Variable(name) for name in ("low", "side", "best", "p", "q", "x"))
    b = Variable("b", positive=True)
    until = Index("until")
    away, after = w(t, j) - wstar(j), w(t + 1, j) - wstar(j)
    B = metric
    change = B(t + 1, j) - B(t, j)

    def column(end: Any) -> Any:
        increases = Sum(E(Max(change, 0)), (t, 1, end - 1))
        return Rj(j) ** 2 * (E(B(1, j)) + increases) + Sum(omega(t) * a(t) * moment, (t, 1, end))

    moves = 2 * omega(t) * E(grad(t, j) * away)
    rest = E(B(until, j) * (w(until + 1, j) - wstar(j)) ** 2)
    return (
        inequality(
            "distance",
            Le(away**2, Rj(j) ** 2),
            at("near", {low: lower(j), side: Rj(j), best: wstar(j), x: w(t, j)}),
            "optimum",
            "inside",
        ),
        inequality(
            "first-path",
            Le(B(t, j) * away**2, B(t, j) * Rj(j) ** 2),
            at("scale", {b: B(t, j), p: away**2, q: Rj(j) ** 2}),
            "distance",
        ),
        expectation(
            "first",
            Le(E(B(t, j) * away**2), Rj(j) ** 2 * E(B(t, j))),
            "first-path",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "change-path",
            Le(change * after**2, Rj(j) ** 2 * Max(change, 0)),
            at("positive-part", {p: change, x: after**2, side: Rj(j)}),
            at("distance", {t: t + 1}),
        ),
        expectation(
            "change",
            Le(
                E(B(t + 1, j) * after**2) - E(B(t, j) * after**2),
                Rj(j) ** 2 * E(Max(change, 0)),
            ),
            "change-path",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "telescope",
            Le(Sum(moves, (t, 1, until)) + rest, column(until)),
            at("step", {t: until}),
            at("first", {t: 1}),
            at("change", {t: until}),
            induction=Induction(until),
        ),
        inequality(
            "square-of-difference",
            Le(2 * w(t + 1, j) * wstar(j), w(t + 1, j) ** 2 + wstar(j) ** 2),
        ),
        inequality(
            "remainder-path",
            Le(2 * B(t, j) * w(t + 1, j) * wstar(j), B(t, j) * (w(t + 1, j) ** 2 + wstar(j) ** 2)),
            at(
                "scale",
                {
                    b: B(t, j),
                    p: 2 * w(t + 1, j) * wstar(j),
                    q: w(t + 1, j) ** 2 + wstar(j) ** 2,
                },
            ),
            "square-of-difference",
        ),
        expectation(
            "remainder",
            Le(
                E(2 * B(t, j) * w(t + 1, j) * wstar(j)),
                E(B(t, j) * (w(t + 1, j) ** 2 + wstar(j) ** 2)),
            ),
            "remainder-path",
            by=Linearity(over=(E,)),
        ),
        inequality(
            "column",
            Le(Sum(moves, OVER_T), column(T)),
            at("telescope", {until: T}),
            at("remainder", {t: T}),
        ),
        expectation(
            "columns",
            Le(Sum(moves, OVER_T, OVER_J), Sum(column(T), OVER_J)),
            "column",
            by=Linearity(over=(OVER_J,)),
        ),
        inequality(
            "convex-weighted",
            Le(
                2 * omega(t) * gap(t),
                2 * omega(t) * Sum(grad(t, j) * away, OVER_J),
            ),
            at(
                "scale",
                {
                    b: 2 * omega(t),
                    p: gap(t),
                    q: Sum(grad(t, j) * away, OVER_J),
                },
            ),
            "convex",
        ),
        expectation(
            "gaps",
            Le(
                2 * Sum(omega(t) * E(gap(t)), OVER_T),
                Sum(moves, OVER_J, OVER_T),
            ),
            "convex-weighted",
            by=Linearity(over=(OVER_T, E)),
        ),
    )


def proof(noise: Field, moment: Any, statement: Any, *modes: str) -> tuple[Step, ...]:
    """The steps, for noise after the preconditioner (no `modes`) or mixed."""
    return (
        *_lemmas(),
        *_one_step(noise, moment, modes),
        *_telescope(moment),
        inequality("all", statement, "columns", "gaps"),
    )
