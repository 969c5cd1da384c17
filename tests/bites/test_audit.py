"""Faulty private optimizers that an audit has to find."""

from __future__ import annotations

from functools import partial

import pytest

from accountants.sampling import Poisson
from dp2theory.verification.audit import TRIALS, AuditResult, audit_optimizer
from tests.bites.audit_faults import FAULTS, Fault

# Found from few runs; the others take the default number.
QUICK = 150
FAINT = {"divisor is the size of the batch", "ablation 1 accounted as DP-SGD"}
SAMPLED = {"every record in every batch", "one noise for all steps"}
EASY = [fault for fault in FAULTS if fault.name not in FAINT]


def _audit(
    fault: Fault, relation: str, trials: int, seed: int, probability: float = 0.5
) -> AuditResult:
    sigma = 2.0 if relation == "replace-one" else 1.0
    with fault.inject():
        return audit_optimizer(
            partial(fault.make, noise_multiplier=sigma),
            sampling=Poisson(probability),
            dataset_size=4,
            steps=4,
            relation=relation,
            trials=trials,
            seed=seed,
        )


@pytest.mark.parametrize("fault", EASY, ids=lambda fault: fault.name)
def test_faults_are_found_in_few_runs(fault: Fault) -> None:
    # Without sampling the accountant answers at once; two faults show where there is sampling.
    sampled = fault.name in SAMPLED
    trials, probability = (500, 0.5) if sampled else (QUICK, 1.0)
    assert _audit(fault, "add-or-remove-one", trials, 0, probability).violated


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_faults_are_found_with_the_default_budget(fault: Fault) -> None:
    for relation in fault.relations:
        assert _audit(fault, relation, TRIALS, 0).violated


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_faults_are_found_with_other_seeds(fault: Fault, seed: int) -> None:
    trials = TRIALS if fault.name in FAINT else 1000
    for relation in fault.relations:
        assert _audit(fault, relation, trials, seed).violated
