"""Audits of right optimizers: below the accounted epsilon, and not far below."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.ledger import planned_event
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.verification.attacks import attacks_on
from dp2theory.verification.audit import _Same, audit_optimizer, runs_of_audit
from dp2theory.verification.audited import audited_method, loaded_optimizer, private_methods
from dp2theory.verification.decision import choose_test
from dp2theory.verification.learned import fit_logistic
from dp2theory.verification.neighbours import neighbouring_data_sets, smallest_shift
from dp2theory.verification.trials import observe

SAMPLINGS: list[Any] = [Poisson(0.5), WithoutReplacement(4, 2), WithReplacement(4, 2)]
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")
DP2 = Dp2RmsProp(0.1, 1.0, 0.1, 4.0, 1.0, delay=1)
TINY: dict[str, Any] = {
    "sampling": Poisson(1.0), "dataset_size": 4, "steps": 2, "relation": "add-or-remove-one",
    "trials": 100,
}  # fmt: skip


def _audit(method: str, sampling: Any, relation: str, trials: int, **more: Any) -> Any:
    optimizer = audited_method(
        method,
        {},
        noise_multiplier=smallest_shift(sampling, relation),
        steps=4,
        expected_batch_size=2.0,
    )
    return audit_optimizer(
        optimizer,
        sampling=sampling,
        dataset_size=4,
        steps=4,
        relation=relation,
        trials=trials,
        **more,
    )


@pytest.mark.parametrize("method", private_methods())
def test_every_private_method_is_seen_whole(method: str) -> None:
    """All releases are kept, scored by finite numbers, and are those of the ledger."""
    optimizer = audited_method(method, {}, noise_multiplier=1.0, steps=4, expected_batch_size=2.0)
    pair = neighbouring_data_sets(Poisson(0.5), 4, "add-or-remove-one")[0]
    seed = np.random.SeedSequence(0)
    seen = [observe(_Same(optimizer), pair, side, steps=4, runs=30, seed=seed) for side in (0, 1)]
    assert seen[0].event == planned_event(optimizer, Poisson(0.5), 4, 4)
    for trials in seen:
        assert not trials.strays.any()
        assert not trials.drifts.any()
        for release in trials.releases:
            assert release.values.shape[0] == 30
            assert release.untouched.any()
        for attack in attacks_on(trials):
            assert np.all(np.isfinite(attack.fit(*seen)(trials)))


def test_most_of_epsilon_is_shown() -> None:
    found = _audit("dp2-rmsprop", Poisson(1.0), "add-or-remove-one", 800)
    assert not found.violated
    assert found.power > 0.3
    assert found.chosen.attack.startswith("likelihood ratio")


@pytest.mark.slow
@pytest.mark.parametrize("method", private_methods())
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_nothing_is_found_in_right_optimizers(method: str, sampling: Any, relation: str) -> None:
    found = _audit(method, sampling, relation, 1000, seed=1)
    assert not found.violated
    assert found.epsilon.lower <= found.epsilon.accounted.upper


@pytest.mark.slow
def test_the_power_that_is_stated() -> None:
    """docs/how-to/audit-an-optimizer.md."""
    for seed in range(3):
        found = _audit("dp2-rmsprop", Poisson(0.5), "add-or-remove-one", 10_000, seed=seed)
        assert 0.65 < found.power < 1


def test_the_outcome_does_not_depend_on_the_executor() -> None:
    settings = TINY | {"trials": 300}
    alone = audit_optimizer(DP2, **settings)
    with ThreadPoolExecutor(2) as executor:
        assert audit_optimizer(DP2, **settings, executor=executor) == alone
    assert audit_optimizer(DP2, **settings, seed=1) != alone


def test_runs_are_counted() -> None:
    done: list[int] = []
    audit_optimizer(DP2, **TINY, on_runs=done.append)
    assert sum(done) == runs_of_audit(Poisson(1.0), 4, "add-or-remove-one", 100)


def test_a_claim_is_judged_in_the_place_of_the_ledger() -> None:
    loud = DpSgd(0.1, 1.0, 0.3)
    assert not audit_optimizer(loud, **TINY).violated
    found = audit_optimizer(loud, **TINY, claimed_epsilon=0.1, delta=1e-5)
    assert found.violated
    assert found.claimed
    assert found.worst == found.epsilon
    assert found.epsilon.accounted.upper == 0.1


def test_an_optimizer_may_be_made_from_the_problem() -> None:
    assert audit_optimizer(lambda problem: DpSgd(0.1, 1.0, 1.0), **TINY) == audit_optimizer(
        DpSgd(0.1, 1.0, 1.0), **TINY
    )


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"trials": 99}, "trials"),
        ({"steps": 0}, "steps"),
        ({"delta": 0.0}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"error": 1.0}, "error"),
        ({"seed": -1}, "seed"),
        ({"claimed_epsilon": -1.0}, "claimed_epsilon"),
        ({"relation": "other"}, "relation"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=f"{word}="):
        audit_optimizer(DP2, **(TINY | change))


def test_what_is_no_optimizer_is_refused() -> None:
    with pytest.raises(ValueError, match="optimizer="):
        audit_optimizer(3, **TINY)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "given", "word"),
    [("sgd", {}, "no noise"), ("nothing", {}, "method="), ("dp-sgd", {"delay": 2}, "delay=")],
)
def test_bad_methods_are_refused(method: str, given: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        audited_method(method, given, noise_multiplier=1.0, steps=4, expected_batch_size=2.0)


def test_phases_may_be_given_by_their_lengths() -> None:
    made = audited_method(
        "dp2-rmsprop",
        {"sgd_steps": 2, "adaptive_steps": 1},
        noise_multiplier=1.0,
        steps=4,
        expected_batch_size=2.0,
    )
    assert made.phases.sgd_steps == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "location", ["", "numpy", "numpy:", "no_such_module:x", "numpy:nothing", "math:pi"]
)
def test_bad_locations_are_refused(location: str) -> None:
    with pytest.raises(ValueError, match="optimizer="):
        loaded_optimizer(location)


def test_a_location_is_imported() -> None:
    found: object = loaded_optimizer("dp2theory.optimizers.sgd:DpSgd")
    assert found is DpSgd


def test_a_threshold_is_put_where_it_promises_most() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal(4000) + 1, rng.standard_normal(4000)
    test = choose_test(first, second, delta=0.05, trials=10_000, error=1e-3)
    # The promise of a threshold t is log((1 - cdf(t - 1) - 0.05) / (1 - cdf(t))), ends aside.
    assert abs(test.threshold) > 0.5
    assert 0.8 < test.promise < 1.6
    fresh = rng.standard_normal(10_000) + 1, rng.standard_normal(10_000)
    shown = test.evidence(*fresh, 1e-3).epsilon_lower(0.05)
    assert abs(shown - test.promise) < 0.3


def test_a_threshold_may_speak_for_the_second_data_set() -> None:
    """Only on the second can a score of -1 happen."""
    rng = np.random.default_rng(1)
    first, second = np.ones(1000), np.where(rng.random(1000) < 0.3, -1.0, 1.0)
    test = choose_test(first, second, delta=1e-3, trials=1000, error=1e-3)
    assert not test.says_first
    evidence = test.evidence(first, second, 1e-3)
    assert evidence.hits == np.count_nonzero(second < 0)
    assert evidence.false_alarms == 0


def test_what_is_learned_tells_what_can_be_told() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.standard_normal((500, 4)), rng.standard_normal((500, 4))
    first[:, 2] += 2
    first[:, 3] = second[:, 3] = 5.0  # tells nothing, and does not vary
    fitted = fit_logistic(first, second)
    assert fitted.weights[3] == 0
    assert np.argmax(np.abs(fitted.weights)) == 2
    assert fitted.score(first).mean() > fitted.score(second).mean() + 1
