"""Mutants: all kinds are made, wrong ones die, and what survives is listed with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from sympy import And, Eq, Implies, Le, Rational, Sum, exp, floor, pi, sqrt

import bounds
from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import C, M, N, R, a, alpha, eta, m, nu1, s
from bounds.model import Model
from bounds.mutants import (
    BUDGET,
    Change,
    hurried,
    judge,
    mutants,
    outcomes,
    reason,
    shifted,
    survivors,
    unexplained,
    without_step,
)
from bounds.mutants_constants import constants
from bounds.operators import E, Independent, Variable
from bounds.proof.replay import replay_all
from bounds.proof.step import inequality
from bounds.symbols import T, d, j, t
from bounds.theorem import Kind, Source, Theorem

x, y, z = Variable("x"), Variable("y"), Variable("z")
p = Variable("p", positive=True)
#: Named with their modules: building the whole catalogue takes longer than these.
SAMPLE = {
    "dp2.noise.average": "bounds.dp2.noise",
    "dp2.hermite": "bounds.dp2.exponent",
    "dp2.S1": "bounds.dp2.sweet_spot",
    "dp2.phi.stationary": "bounds.dp2.tradeoff_minimiser",
    "resque.ball.log": "bounds.resque.ball_log",
}


def made(statement, assumptions, steps, **more) -> Theorem:
    return Theorem(
        id="made.theorem",
        title="made",
        statement=statement,
        kind=Kind.UPPER,
        source=Source("li2023dp2", "none"),
        assumptions=tuple(Assumption(id, formula, id, CODE) for id, formula in assumptions.items()),
        steps=tuple(steps),
        **more,
    )


TIGHT = made(
    Implies(And(x <= p, y <= p), x + y <= 2 * p),
    {},
    [
        inequality("one", Implies(x <= p, x <= p)),
        inequality("square", (x - y) ** 2 >= 0),
        inequality("sum", Implies(And(x <= p, y <= p), x + y <= 2 * p), "one", "square"),
    ],
)
PRODUCT = made(
    2 * x * y <= x**2 + y**2,
    {},
    [
        inequality("square", (x - y) ** 2 >= 0),
        inequality("product", 2 * x * y <= x**2 + y**2, "square"),
    ],
)
SLACK = made(
    x * y <= x**2 + y**2,
    {},
    [inequality("product", x * y <= x**2 + y**2)],
)


def shown(statement) -> dict[str, str]:
    return {each.shown: str(each.halved) for each in constants(statement)}


def test_every_constant_is_found_where_it_stands() -> None:
    assert shown(2 * x * y <= 3 * p + 4) == {
        "4 in 3*p + 4": "2*x*y <= 3*p + 2",
        "3 in 3*p": "2*x*y <= 3*p/2 + 4",
        "2 in 2*x*y": "x*y <= 3*p + 4",
    }
    assert shown(Le(x, Rational(1, 3) * sqrt(2 / pi) * p)) == {
        "sqrt(2)/(3*sqrt(pi)) in sqrt(2)*p/(3*sqrt(pi))": "x <= sqrt(2)*p/(6*sqrt(pi))"
    }
    assert shown(Eq(exp(-(x**2) / 2), 1)) == {
        "1 in Eq(exp(-x**2/2), 1)": "Eq(exp(-x**2/2), 1/2)",
        "1/2 in -x**2/2": "Eq(exp(-x**2/4), 1)",
        "2 in x**2": "Eq(exp(-x/2), 1)",
    }
    # A division is no constant, a root is; a guard's numbers count.
    assert set(shown(Implies(p >= 5, 1 / p <= sqrt(p)))) == {"5 in p >= 5", "1/2 in sqrt(p)"}


def test_places_are_no_constants() -> None:
    schedule = Eq(a(t + 1), eta * alpha ** floor((t - 1) / s))
    assert shown(schedule) == {}
    assert shown(Le(Sum(m(j + 2) ** 2, (j, 2, d + 3)), x)) == {
        "2 in m(j + 2)**2": "Sum(m(j + 2), (j, 2, d + 3)) <= x"
    }
    assert shown(Independent(N(t, j), 2 * N(t + 1, j))) == {}


def test_the_same_constant_twice_is_two() -> None:
    assert set(shown(2 * x <= 2 * y)) == {"2 in 2*x", "2 in 2*y"} or shown(2 * x <= 2 * y)
    both = shown(And(2 * x + 1 <= y, 2 * x + 1 <= z))
    assert len(both) == 4
    assert sum(each.endswith("(2)") for each in both) == 2


def test_the_phase_jumps_one_step_early() -> None:
    phase = floor((t - 1) / s)
    assert shifted(Eq(a(t), alpha**phase)) == Eq(a(t), alpha ** floor(t / s))
    assert shifted(Eq(a(t), alpha ** floor((t + s - 1) / (2 * s)))) == Eq(
        a(t), alpha ** floor((t + s) / (2 * s))
    )
    assert shifted(floor(T / s)) == floor(T / s)
    assert shifted(floor((t - 2) / 3)) == floor((t - 2) / 3)


def test_a_tight_theorem_loses_with_every_constant() -> None:
    ends = {each.mutant.id: each for each in outcomes(PRODUCT)}
    assert ends["step square"].how == ""  # z3 finds it by itself
    halved = {id: each for id, each in ends.items() if each.mutant.change is Change.HALVED}
    assert set(halved) == {"halved 2 in 2*x*y", "halved 2 in x**2", "halved 2 in y**2"}
    assert all(each.killed for each in halved.values())
    # 1 instead of 2 on the left is weaker and true; 4 is false.
    assert halved["halved 2 in 2*x*y"].how == "doubled: counterexample"
    assert halved["halved 2 in x**2"].how == "counterexample"
    assert halved["halved 2 in x**2"].counterexample is not None
    assert unexplained(PRODUCT) == []


def test_what_is_not_needed_survives_and_explains_itself() -> None:
    alive = survivors(TIGHT)
    assert {each.id for each in alive} == {"step one", "step square"}
    assert all(reason(each, TIGHT) == "the proof goes through without it" for each in alive)
    assert unexplained(TIGHT) == []


def test_a_statement_with_slack_must_say_so() -> None:
    loose = made(
        Implies(And(x >= 0, y >= 0), x + y <= 3 * (x + y)),
        {},
        [inequality("sum", Implies(And(x >= 0, y >= 0), x + y <= 3 * (x + y)))],
    )
    alive = [each.id for each in survivors(loose)]
    assert alive == ["halved 3 in 3*x", "halved 3 in 3*y"]
    assert unexplained(loose) == alive
    told = replace(loose, slack={"3": "1 would do: by a factor 3"})
    assert unexplained(told) == []
    stale = replace(loose, slack={"3": "1 would do", "7": "old", alive[0]: "also"})
    assert unexplained(stale) == ["slack '7': no such survivor"]


def test_an_assumption_that_is_not_needed_is_found() -> None:
    spare = made(
        C * M <= R**2,
        {"left": C <= R, "right": M <= R, "spare": eta <= 7},
        [inequality("product", C * M <= R**2, "left", "right", "spare")],
    )
    ends = {each.mutant.id: each for each in outcomes(spare)}
    assert not ends["assumption spare"].killed
    assert ends["assumption left"].how == ends["assumption right"].how == "counterexample"
    assert unexplained(spare) == ["assumption spare"]


def test_a_changed_claim_gets_a_small_budget_if_the_theorem_needs_no_more() -> None:
    assert hurried(PRODUCT).steps[-1].by.budget == BUDGET
    assert hurried(PRODUCT).steps[0] == PRODUCT.steps[0]
    assert hurried(PRODUCT).replay().ok
    assert {each.mutant.theorem.steps[-1].by.budget for each in outcomes(PRODUCT)} == {BUDGET}


def test_deleting_a_step_deletes_its_mentions() -> None:
    less = without_step(TIGHT, "one")
    assert [step.id for step in less.steps] == ["square", "sum"]
    assert less.steps[-1].premises == ("square",)
    assert less.replay().ok


def two_draws(rng: np.random.Generator) -> Iterator[Model]:
    signs = np.array([[-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0]])[:, None, :]
    for noise in (signs, np.broadcast_to(signs[:1], signs.shape), 2 * signs, signs + 1):
        yield Model({nu1: 1.0}, {"N": noise})


def test_models_kill_what_a_proof_cannot_see() -> None:
    """A step taken on trust proves anything; a model does not."""
    from bounds.proof.step import assumed

    statement = Le(E((N(1, j) + N(2, j)) ** 2), 2 * nu1**2)
    trusted = made(
        statement,
        {"variance": Eq(E(N(t, j) ** 2), nu1**2), "fresh": Independent(N(2, j), N(1, j))},
        [assumed("known", statement, note="a citation")],
        models=two_draws,
    )
    ends = {each.mutant.id: each for each in outcomes(trusted)}
    assert ends["halved 2 in 2*nu1**2"].how == "counterexample"
    assert ends["assumption fresh"].how == "counterexample"
    assert ends["assumption variance"].how == "counterexample"
    blind = replace(trusted, models=None)
    assert "halved 2 in 2*nu1**2" in {each.id for each in survivors(blind)}


@pytest.mark.parametrize("id", SAMPLE)
def test_theorems_of_the_catalogue(id: str) -> None:
    theorem = {each.id: each for each in import_module(SAMPLE[id]).THEOREMS}[id]
    assert theorem.replay().ok
    assert any(True for _ in mutants(theorem))
    assert unexplained(theorem) == []


@pytest.mark.slow
def test_survivors_of_the_whole_catalogue_are_the_explained_ones() -> None:
    theorems = bounds.theorems()
    done = replay_all(theorems)
    assert [id for id, report in done.items() if not report.ok] == []
    wrong = {id: unexplained(each, theorems=theorems, done=done) for id, each in theorems.items()}
    assert {id: each for id, each in wrong.items() if each} == {}


def test_judging_is_not_changed_by_what_is_remembered() -> None:
    checked: dict = {}
    for mutant in mutants(PRODUCT):
        fresh, remembered = judge(mutant), judge(mutant, checked=checked)
        assert (fresh.killed, fresh.how) == (remembered.killed, remembered.how)
