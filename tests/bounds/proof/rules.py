"""Checking one step, as the tests of the rules do."""

from __future__ import annotations

from bounds.operators import RandomVariable, Variable
from bounds.proof import enclosure, expectation, identity, rational
from bounds.proof.step import Rule, Step

x, y = Variable("x"), Variable("y")
z = Variable("z", positive=True)
p = Variable("p", positive=True)
Z = RandomVariable("Z")
CHECK = {
    Rule.SYMPY: identity.check,
    Rule.Z3: rational.check,
    Rule.BALL: enclosure.check,
    Rule.EXPECTATION: expectation.check,
}


def check(step: Step, *premises):
    return CHECK[step.rule](step, list(premises))


def accepted(step, *premises):
    outcome = check(step, *premises)
    assert outcome.ok, outcome.message


def refused(step, *premises, says=""):
    outcome = check(step, *premises)
    assert not outcome.ok
    assert says in outcome.message
    return outcome.message
