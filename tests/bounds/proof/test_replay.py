"""Replaying a proof: what must be there, and what each missing or misused piece does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sympy import Abs, Eq, Implies, Lambda, Le, Rational, Sum

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import C, D, N, alpha, eps, eta, g, m, nu1, tau_g, w
from bounds.operators import E, Independent, Variable, deterministic
from bounds.proof import replay as module
from bounds.proof.methods import Linearity, ZeroMean
from bounds.proof.replay import replay, replay_all
from bounds.proof.step import assumed, at, cite, expectation, inequality
from bounds.proof.tools import MissingTool
from bounds.symbols import T, d, i, j, t
from bounds.theorem import Kind, Source, Theorem

x, y = Variable("x"), Variable("y")
CLIPPED = Assumption("clipped", Le(Abs(g(t, j)), C), "every coordinate is at most C", CODE)
DAMPED = Assumption("damped", D(t, j) >= eps, "the preconditioner is at least eps", CODE)
SOURCE = Source("li2023dp2", "an example")
STATEMENT = Le(Sum(E(g(t, j) ** 2 / D(t, j)), (j, 1, d)), C**2 * d / eps)
LEMMA = inequality(
    "lemma", Implies((Abs(x) <= C) & (y >= eps), x**2 / y <= C**2 / eps), note="for numbers"
)
POINT = inequality(
    "point",
    Le(g(t, j) ** 2 / D(t, j), C**2 / eps),
    "clipped",
    "damped",
    at("lemma", {x: g(t, j), y: D(t, j)}),
)
TOTAL = expectation("total", STATEMENT, "point", by=Linearity(over=((j, 1, d), E)))
SMALL = Theorem(
    "test.small",
    "an example",
    STATEMENT,
    Kind.UPPER,
    SOURCE,
    assumptions=(CLIPPED, DAMPED),
    steps=(LEMMA, POINT, TOTAL),
)


def test_a_proof_replays():
    report = SMALL.replay()
    assert report.ok, report.describe()
    assert [each.rule for each in report.steps] == ["z3", "z3", "expectation"]
    assert all(each.ok and each.seconds >= 0 for each in report.steps)
    assert report.steps[1].premises == ("clipped", "damped", "lemma")
    assert (report.problems, report.unused_assumptions, report.unused_steps) == ((), (), ())
    assert report.to_json()["steps"][2]["ok"] is True
    assert "test.small: proved" in report.describe()


def failing(theorem, says):
    report = theorem.replay()
    assert not report.ok
    assert says in report.describe()
    return report


@pytest.mark.parametrize("id", ["lemma", "point", "total"])
def test_every_step_carries(id):
    failing(SMALL.without_step(id), "the statement" if id == "total" else "does not exist")


@pytest.mark.parametrize("id", ["clipped", "damped"])
def test_every_assumption_carries(id):
    failing(SMALL.without_assumption(id), f"premise {id} does not exist")


def test_the_last_conclusion_is_the_statement():
    half = STATEMENT.func(STATEMENT.lhs, STATEMENT.rhs / 2)
    failing(SMALL.with_statement(half), "the last conclusion is not the statement")
    failing(SMALL.with_claim(half), "what follows is")
    weaker = STATEMENT.func(STATEMENT.lhs, STATEMENT.rhs * 2)
    failing(SMALL.with_statement(weaker), "the last conclusion is not the statement")


def test_names_that_do_not_exist():
    with pytest.raises(ValueError, match="step = 'none' is not one of: lemma, point, total"):
        SMALL.without_step("none")
    with pytest.raises(ValueError, match="assumption = 'none' is not one of: clipped, damped"):
        SMALL.without_assumption("none")


def test_a_premise_comes_earlier():
    failing(replace(SMALL, steps=(POINT, LEMMA, TOTAL)), "premise lemma is no earlier step")
    circle = replace(POINT, premises=("clipped", "damped", "total"))
    failing(replace(SMALL, steps=(LEMMA, circle, TOTAL)), "premise total is no earlier step")


def test_an_id_stands_once():
    twice = replace(LEMMA, id="clipped")
    failing(replace(SMALL, steps=(twice, LEMMA, POINT, TOTAL)), "stands twice")


def test_a_theorem_without_proof_is_not_proved():
    failing(replace(SMALL, steps=()), "there is no proof")


def test_what_nothing_uses_is_reported():
    spare = Assumption("spare", Le(tau_g, C), "not needed")
    aside = inequality("aside", Le(0, x**2))
    report = replace(
        SMALL, assumptions=(*SMALL.assumptions, spare), steps=(LEMMA, aside, POINT, TOTAL)
    ).replay()
    assert report.ok
    assert report.unused_assumptions == ("spare",)
    assert report.unused_steps == ("aside",)


def test_an_assumed_step_shows_and_names_its_source():
    step = assumed("total", STATEMENT, "point", note="somebody 2020, Lemma 3")
    report = replace(SMALL, steps=(LEMMA, POINT, step)).replay()
    assert report.ok
    assert report.assumed == ("total",)
    silent = replace(step, note=" ")
    failing(replace(SMALL, steps=(LEMMA, POINT, silent)), "names its source")


def test_a_fixed_number_is_not_replaced():
    step = replace(POINT, premises=("clipped", "damped", at("lemma", {C: 1})))
    failing(replace(SMALL, steps=(LEMMA, step, TOTAL)), "C is a fixed number here")


def test_an_instance_keeps_the_signs():
    positive = Variable("p", positive=True)
    lemma = inequality("lemma", Le(0, positive**3))
    good = inequality("use", Le(0, eps**3), at("lemma", {positive: eps}))
    bad = inequality("use", Le(0, (eps - C) ** 3), at("lemma", {positive: eps - C}))
    claim = Theorem("test.sign", "", good.conclusion, Kind.UPPER, SOURCE, (), (lemma, good))
    assert claim.replay().ok
    failing(replace(claim, statement=bad.conclusion, steps=(lemma, bad)), "is not known to be")


def test_a_number_inside_an_expectation_is_not_random():
    fresh = Assumption("fresh", Independent(N(t, j), w(t, i)), "fresh noise", CODE)
    lemma = expectation("lemma", Eq(E(x * N(t, j)), x * E(N(t, j))), by=Linearity())
    cheat = inequality(
        "cheat",
        Eq(E(w(t + 1, j) * N(t, j)), w(t + 1, j) * E(N(t, j))),
        at("lemma", {x: w(t + 1, j)}),
    )
    theorem = Theorem("test.cheat", "", cheat.conclusion, Kind.IDENTITY, SOURCE, (fresh,))
    failing(replace(theorem, steps=(lemma, cheat)), "stands for fixed numbers")


def test_an_index_is_a_positive_integer():
    late = Assumption("late", Le(E(w(t + 1, j)), 1), "from step 2 on")
    early = inequality("early", Le(E(w(t, j)), 1), at("late", {t: t - 1}))
    theorem = Theorem("test.index", "", early.conclusion, Kind.UPPER, SOURCE, (late,), (early,))
    failing(theorem, "counter-model")  # nothing is known of t = 1
    guarded = inequality("early", Implies(t >= 2, Le(E(w(t, j)), 1)), at("late", {t: t - 1}))
    assert replace(theorem, statement=guarded.conclusion, steps=(guarded,)).replay().ok


def test_an_assumption_does_not_claim_something_of_every_number():
    careless = Assumption("range", Le(t, T), "steps of the run")
    failing(replace(SMALL, assumptions=(*SMALL.assumptions, careless)), "state it as a condition")


# --- citations


FRESH = Assumption("fresh", Independent(N(t, j), w(t, i)), "fresh noise", CODE)
MEAN = Assumption("mean", Eq(E(N(t, j)), 0), "mean zero", CODE)
CROSS = expectation("cross", Eq(E(w(t, j) * N(t, j)), 0), "fresh", "mean", by=ZeroMean())
CITED = Theorem("test.cross", "", CROSS.conclusion, Kind.IDENTITY, SOURCE, (FRESH, MEAN), (CROSS,))
USE = inequality("use", Eq(2 * E(w(t, j) * N(t, j)), 0), cite("test.cross"))
CITING = Theorem("test.use", "", USE.conclusion, Kind.IDENTITY, SOURCE, (FRESH, MEAN), (USE,))
BOTH = {each.id: each for each in (CITED, CITING)}


def test_a_cited_theorem_is_replayed_and_its_assumptions_are_needed():
    assert replay(CITING, theorems=BOTH).ok
    assert replay(CITING, theorems=BOTH).cited == ("test.cross",)
    for id in ("fresh", "mean"):
        report = replay(CITING.without_assumption(id), theorems=BOTH)
        assert not report.ok
        assert f"test.cross assumes {id}" in report.describe()
    broken = {**BOTH, "test.cross": CITED.without_step("cross")}
    assert "the proof of test.cross fails" in replay(CITING, theorems=broken).describe()
    missing = {"test.use": CITING}
    assert "there is no theorem test.cross" in replay(CITING, theorems=missing).describe()


def test_citations_do_not_go_round():
    back = inequality("cross", CROSS.conclusion, cite("test.use"))
    circle = {**BOTH, "test.cross": replace(CITED, steps=(back,))}
    assert "circle" in replay(CITING, theorems=circle).describe()


def test_a_citation_replaces_parameters_and_processes():
    scale = deterministic("test_scale")
    general = inequality("root", Implies(Le(0, m(t)), Le(0, eta * m(t))))
    cited = Theorem("test.scaled", "", general.conclusion, Kind.UPPER, SOURCE, (), (general,))

    def citing(values, conclusion):
        step = inequality("use", conclusion, cite("test.scaled", values))
        theorem = Theorem("test.t", "", conclusion, Kind.UPPER, SOURCE, (), (step,))
        return replay(theorem, theorems={"test.scaled": cited})

    good = Implies(Le(0, scale(t)), Le(0, alpha * scale(t)))
    assert citing({eta: alpha, m: Lambda(t, scale(t))}, good).ok
    random = Implies(Le(0, w(t, 1)), Le(0, w(t, 1)))
    assert "is random" in citing({m: Lambda(t, w(t, 1))}, random).describe()
    assert "is not known to be" in citing({eta: -alpha}, good).describe()


def test_a_catalogue_is_replayed_once_each(monkeypatch):
    seen = []
    reports = replay_all(BOTH, on_theorem=lambda report: seen.append(report.theorem))
    assert list(reports) == ["test.cross", "test.use"] == seen
    assert all(report.ok for report in reports.values())


def test_remembered_outcomes_are_asked_for(monkeypatch):
    asked = []
    counted = {
        rule: (
            lambda step, premises, check=check: (asked.append(step.id), check(step, premises))[1]
        )
        for rule, check in module.CHECKERS.items()
    }
    monkeypatch.setattr(module, "CHECKERS", counted)
    outcomes = {}
    assert replay(SMALL, outcomes=outcomes).ok
    assert replay(SMALL, outcomes=outcomes).ok
    assert asked == ["lemma", "point", "total"]
    assert not replay(SMALL.without_assumption("damped"), outcomes=outcomes).ok
    assert asked == ["lemma", "point", "total"]
    half = SMALL.with_claim(STATEMENT.func(STATEMENT.lhs, STATEMENT.rhs / 2))
    assert not replay(half, outcomes=outcomes).ok
    assert asked == ["lemma", "point", "total", "total"]
    assert SMALL.replay().ok
    assert asked[4:] == ["lemma", "point", "total"]


def test_a_missing_tool_is_no_proof(monkeypatch):
    def missing(name):
        raise MissingTool(f"{name} is not installed")

    monkeypatch.setattr("bounds.proof.rational.load", missing)
    with pytest.raises(MissingTool, match="z3 is not installed"):
        SMALL.replay()


def test_a_rule_that_stumbles_has_proved_nothing(monkeypatch):
    def stumble(step, premises):
        raise RecursionError("deep")

    monkeypatch.setattr(module, "CHECKERS", {**module.CHECKERS, "z3": stumble})
    failing(SMALL, "RecursionError: deep")


def test_noise_variance_is_not_halved():
    second = Assumption("second", Eq(E(N(t, j) ** 2), nu1**2), "variance", CODE)
    claim = Eq(E(w(t, j) ** 2 * N(t, j) ** 2), nu1**2 * E(w(t, j) ** 2))
    step = expectation("s", claim, "fresh", "second", by=ZeroMean())
    theorem = Theorem("test.v", "", claim, Kind.IDENTITY, SOURCE, (FRESH, second), (step,))
    assert theorem.replay().ok
    failing(theorem.with_claim(Eq(claim.lhs, claim.rhs * Rational(1, 2))), "is not 0")
