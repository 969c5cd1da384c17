"""Ten wrong theorems in a catalogue: `verify` catches each, by its proof and by its tests."""

from dataclasses import replace

import pytest
import sympy

from bounds import theorems
from bounds.mutants import mutants
from bounds.resque.symbols import a_len, ab
from dp2theory.verification import bounds_pep
from dp2theory.verification.bounds_draws import Pool
from dp2theory.verification.bounds_families import Job, perform
from dp2theory.verification.bounds_setting import Setting
from dp2theory.verification.verify import verify
from dp2theory.verification.verify_report import DRAWS, RUNS, VIOLATED
from tests.bites.verify_variants import fates

RIGHT = theorems()


def mutant(id, start, *, doubled=False):
    """One of the mutants that the catalogue's own hunt makes."""
    found = next(each for each in mutants(RIGHT[id]) if each.id.startswith(start))
    return found.other if doubled else found.theorem


def changed(id, change):
    """The statement changed by hand, under the same proof."""
    statement = change(RIGHT[id].statement)
    assert statement != RIGHT[id].statement
    return replace(RIGHT[id], statement=statement)


def without_variation(statement):
    """The bound without what the changes of the metric cost."""
    kept = [each for each in statement.rhs.args if "nu(t)" in str(each)]
    return sympy.Le(statement.lhs, sympy.Add(*kept), evaluate=False)


def swapped(statement):
    """The sign of the inner product turned."""
    return statement.subs(ab, -ab)


def dropped(statement):
    """The first term of the bound of DP-SGD left out: only the smaller one is kept."""
    _, *others = sympy.Add.make_args(statement.rhs)
    return sympy.Le(statement.lhs, sympy.Add(*others), evaluate=False)


#: Of 60 wrong variants (tests/bites/verify_variants.py), those that are caught, at the least.
CAUGHT = 51

WRONG = {
    # constants halved
    "dp2.B": lambda: mutant("dp2.B", "halved 1/2 in Sum("),
    "dp2.dp-sgd": lambda: mutant("dp2.dp-sgd", "halved 2 in C**2"),
    "dp2.noise.average": lambda: mutant("dp2.noise.average", "halved -2 in s"),
    "resque.E2": lambda: mutant("resque.E2", "halved 1/2"),
    "resque.F4": lambda: mutant("resque.F4", "halved 2 in 2*L_lip"),
    "resque.ball.sum": lambda: mutant("resque.ball.sum", "halved 1/2 in R_dom"),
    "resque.drift": lambda: mutant("resque.drift", "halved 4 in 4*L_lip"),
    # terms dropped
    "dp2.master": lambda: changed("dp2.master", without_variation),
    "dp2.dp-sgd.any-step": lambda: changed("dp2.dp-sgd.any-step", dropped),
    # a sign swapped
    "resque.E3": lambda: changed("resque.E3", swapped),
}


def test_ten_wrong_theorems_are_caught():
    wrong = {id: make() for id, make in WRONG.items()}
    report = verify(wrong, catalogue={**RIGHT, **wrong})
    assert set(report.violated) == set(wrong)
    for each in report.verdicts:
        assert each.verdict == VIOLATED
        assert each.proof == "failed", each.id
        caught = {test.on for test in each.tested if test.violation}
        assert caught & {RUNS, DRAWS}, each.id  # without the proof as well
        assert each.id in each.violation


def test_an_unbiased_estimate_has_the_weight_of_the_theorem():
    """The sign of the square in the exponent turned."""
    right = RIGHT["resque.E1"]
    wrong = replace(right, statement=right.statement.xreplace({-(a_len**2) / 2: a_len**2 / 2}))
    assert wrong.statement != right.statement
    job = Job("estimator", Pool(size=2000))
    (fine,), (broken,) = (perform(job, {right.id: each})[0][right.id] for each in (right, wrong))
    assert not fine.violation
    assert "the code's estimates are off" in broken.violation


def test_a_constant_of_a_limit_is_noticed_on_draws():
    right = RIGHT["resque.E6.sharp-2"]
    wrong = replace(right, statement=sympy.Eq(right.statement.lhs, right.statement.rhs / 2))
    (test,) = perform(Job("estimator", Pool()), {right.id: wrong})[0][right.id]
    assert test.violation


@pytest.mark.parametrize("id", bounds_pep.WORST_CASES)
def test_an_exact_worst_case_refutes_a_smaller_bound(id):
    """One tenth less, where PEPit is installed; on one instance of each the bound is attained."""
    pytest.importorskip("PEPit")
    right = RIGHT[id]
    less = sympy.Rational(9, 10) * right.evaluations["bound"]
    wrong = replace(right, evaluations={**right.evaluations, "bound": less})
    tests = bounds_pep.try_worst_case(right, full=True)
    assert not any(each.violation for each in tests)
    assert min(each.slack for each in tests) < 1 + bounds_pep.SOLVED
    assert any(each.violation for each in bounds_pep.try_worst_case(wrong, full=True))


@pytest.mark.slow
def test_wrong_variants_are_caught_without_proofs():
    """The documentation quotes how many; none that a longer hunt refutes is missed."""
    found = [each.by for each in fates(60)]
    assert found.count("missed") == 0
    assert found.count("runs") + found.count("models") >= CAUGHT


@pytest.mark.slow
def test_the_right_ones_pass():
    report = verify(WRONG, catalogue=dict(RIGHT))
    assert report.violated == ()


def test_a_broken_proof_alone_is_a_violation():
    right = RIGHT["dp2.hermite"]
    report = verify(["dp2.hermite"], catalogue={right.id: right.without_step(right.steps[0].id)})
    assert report.violated == ("dp2.hermite",)
    assert "the statement fails" not in report.verdicts[0].violation
    assert report.verdicts[0].failed


def test_runs_that_break_an_assumption_are_no_test():
    """Sides of the box that are said to be a quarter of what they are."""
    right = RIGHT["dp2.A"]
    other = [
        replace(each, formula=sympy.Le(4 * each.formula.lhs, each.formula.rhs))
        if each.id == "sides"
        else each
        for each in right.assumptions
    ]
    job = Job("decaying", Setting(runs=2, steps=6, delay=3))
    tests, _ = perform(job, {"dp2.A": replace(right, assumptions=tuple(other))})
    (test,) = tests["dp2.A"]
    assert test.count == 0
    assert "not a model of sides" in test.what
