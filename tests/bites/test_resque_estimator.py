"""The estimator, its moments and its drift, known to be wrong, and the checks that catch it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dp2theory.resque import counters, distances, drift, estimator, failure, losses, moments
from dp2theory.resque import smoothing as smoothing_module
from dp2theory.resque.failure import PhaseFailure
from tests.resque import test_counters as counter_tests
from tests.resque import test_drift as drift_tests
from tests.resque import test_estimator as estimator_tests
from tests.resque import test_failure as failure_tests
from tests.resque import test_functions as function_tests
from tests.resque import test_moments as moment_tests
from tests.resque import test_smoothing as smoothing_tests

Patch = pytest.MonkeyPatch


def caught(check: Callable[..., None], *arguments: Any) -> None:
    failure._solved.cache_clear()
    try:
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            check(*arguments)
    finally:
        failure._solved.cache_clear()


right_log_weights = estimator.log_weights


def no_normaliser(displacement: Any, offsets: Any, smoothing: float) -> Any:
    u = np.asarray(displacement) / smoothing
    return right_log_weights(displacement, offsets, smoothing) + np.square(u).sum(axis=-1) / 2


def doubled_normaliser(displacement: Any, offsets: Any, smoothing: float) -> Any:
    u = np.asarray(displacement) / smoothing
    return right_log_weights(displacement, offsets, smoothing) - np.square(u).sum(axis=-1) / 2


def wrong_sign(displacement: Any, offsets: Any, smoothing: float) -> Any:
    return right_log_weights(-np.asarray(displacement), offsets, smoothing)


def variance_for_deviation(displacement: Any, offsets: Any, smoothing: float) -> Any:
    return right_log_weights(displacement, offsets, math.sqrt(smoothing))


def no_weight(displacement: Any, offsets: Any, smoothing: float) -> Any:
    return 0 * right_log_weights(displacement, offsets, smoothing)


@pytest.mark.parametrize(
    "broken", [no_normaliser, doubled_normaliser, wrong_sign, variance_for_deviation, no_weight]
)
def test_wrong_weights_are_biased(monkeypatch: Patch, broken: Callable[..., Any]) -> None:
    monkeypatch.setattr(estimator, "log_weights", broken)
    monkeypatch.setattr(estimator_tests, "log_weights", broken)
    caught(estimator_tests.test_estimates_are_unbiased_with_the_second_moment_of_the_theorem, 1.0)
    caught(estimator_tests.test_weights_are_the_ratio_of_the_densities)


def test_blocks_that_share_a_seed_repeat_each_other(monkeypatch: Patch) -> None:
    right = estimator._ask
    seed = np.random.SeedSequence(0)
    monkeypatch.setattr(
        estimator, "_ask", lambda f, c, s, size, _, samples: right(f, c, s, size, seed, samples)
    )
    caught(estimator_tests.test_a_pool_does_not_depend_on_who_draws_it)


def test_samples_of_the_first_half_only(monkeypatch: Patch) -> None:
    right = estimator._ask

    def half(function: Any, center: Any, s: float, size: int, seed: Any, samples: Any) -> Any:
        offsets, drawn, _ = right(function, center, s, size, seed, samples)
        drawn = drawn // 2
        return offsets, drawn, function.subgradients(center + offsets, drawn)

    monkeypatch.setattr(estimator, "_ask", half)
    caught(estimator_tests.test_random_samples_average_to_the_gradient_of_the_mean)


class LenientCounter(counters.Counter):
    """Counts a second round of a subproblem and says nothing."""

    def round(self, queries: int) -> None:
        self._inside = None if self._inside is None else 0
        super().round(queries)


def test_a_counter_that_lets_a_second_round_pass(monkeypatch: Patch) -> None:
    monkeypatch.setattr(counter_tests, "Counter", LenientCounter)
    caught(counter_tests.test_a_subproblem_has_exactly_one_round)
    monkeypatch.setattr(estimator_tests, "Counter", LenientCounter)
    caught(estimator_tests.test_a_pool_is_one_round)


def test_a_subgradient_of_the_other_sign(monkeypatch: Patch) -> None:
    right = losses.HingeLoss.subgradients
    monkeypatch.setattr(losses.HingeLoss, "subgradients", lambda *a: -right(*a))
    caught(
        function_tests.test_subgradients_lie_below_their_function_and_within_its_constant, "hinge"
    )


def test_smoothing_that_forgets_the_length_of_the_row(monkeypatch: Patch) -> None:
    right = losses.smoothed_absolute
    monkeypatch.setattr(losses, "smoothed_absolute", lambda m, s: right(m, 2 * np.asarray(s)))
    caught(function_tests.test_reference_point_of_the_smoothed_absolute_value)
    caught(smoothing_tests.test_sampling_agrees_with_the_closed_forms, "absolute")


def test_a_prox_with_half_the_multiplier(monkeypatch: Patch) -> None:
    right = distances.MaxDistance.prox
    monkeypatch.setattr(distances.MaxDistance, "prox", lambda f, y, m: right(f, y, m / 2))
    caught(
        function_tests.test_prox_has_the_smallest_value_and_solves_the_optimality_condition, "max"
    )


def test_a_standard_error_of_one_block(monkeypatch: Patch) -> None:
    right = smoothing_module._estimate
    monkeypatch.setattr(
        smoothing_module, "_estimate", lambda total, squares, n: right(total, squares * 25, n)
    )
    caught(smoothing_tests.test_sampling_agrees_with_the_closed_forms, "l1")
    caught(smoothing_tests.test_standard_errors_are_those_of_all_draws_together)


right_kappa = moments.log_kappa


def p_for_p_minus_1(order: Any, radius: Any) -> Any:
    """exp(p t^2/2) ||p t + Z||_p."""
    p, t = np.asarray(order, dtype=float), np.asarray(radius)
    return (
        right_kappa(p, p * t / np.maximum(p - 1, 1e-9))
        + (p * t**2 - (p * t) ** 2 / np.maximum(p - 1, 1e-9)) / 2
    )


def without_tilt(order: Any, radius: Any) -> Any:
    """||(p - 1) t + Z||_p without the exponential."""
    return right_kappa(order, radius) - (np.asarray(order) - 1) * np.asarray(radius) ** 2 / 2


@pytest.mark.parametrize("broken", [p_for_p_minus_1, without_tilt])
def test_a_wrong_kappa_is_not_sharp_or_is_exceeded(
    monkeypatch: Patch, broken: Callable[..., Any]
) -> None:
    monkeypatch.setattr(moments, "log_kappa", broken)
    caught(moment_tests.test_the_constant_is_sharp_and_never_exceeded, 4.0)
    monkeypatch.setattr(moment_tests, "kappa", lambda p, t: np.exp(broken(p, t)))
    caught(moment_tests.test_reference_values_of_kappa, 4, 1 / 4, 1.76642196772)


def test_a_moment_integrated_over_one_side_only(monkeypatch: Patch) -> None:
    right = moments._log_half_moment
    calls: list[int] = []

    def first_side(*arguments: Any) -> Any:
        calls.append(1)
        return right(*arguments) if len(calls) % 2 else np.full_like(arguments[0], -np.inf)

    monkeypatch.setattr(moments, "_log_half_moment", first_side)
    caught(moment_tests.test_reference_moments_of_a_difference)


def test_too_few_nodes(monkeypatch: Patch) -> None:
    monkeypatch.setattr(moments, "_NODES", 25)
    caught(moment_tests.test_real_orders_against_quadrature_of_the_definition, 5.5, 0.7, -0.4)


def test_independent_noise_in_place_of_shared_noise(monkeypatch: Patch) -> None:
    right = drift._pairs

    def independent(
        instance: Any, steps: int, ratio: float, method: str, paths: int, rng: Any
    ) -> Any:
        swapped = "independent" if method == "shared" else method
        return right(instance, steps, ratio, swapped, paths, rng)

    monkeypatch.setattr(drift, "_pairs", independent)
    caught(drift_tests.test_shared_reweighted_queries_on_the_hard_losses_hardly_drift)
    caught(drift_tests.test_shared_noise_stays_below_both_bounds_at_every_order)


def test_runs_without_a_normaliser_drift(monkeypatch: Patch) -> None:
    monkeypatch.setattr(drift, "log_weights", no_normaliser)
    caught(drift_tests.test_one_step_of_linear_losses_by_hand)


def test_hard_losses_that_do_not_set_the_runs_apart(monkeypatch: Patch) -> None:
    # Above the offset in neither run: raw subgradients do nothing, and the drift is 1.
    monkeypatch.setattr(drift, "PositiveMax", lambda steps: distances.PositiveMax(steps, 1.0))
    caught(drift_tests.test_raw_drift_on_the_hard_losses_is_exact)


right_terms = failure._log_terms


def no_second_power(phase: Any, orders: Any) -> Any:
    """The sum from q = 3 on."""
    square = 2 * math.log(phase.step_size * phase.lipschitz / phase.smoothing)
    second = np.log(orders * (orders - 1) / 2) + square
    second = second + 2 * float(right_kappa(2, phase.relative_radius))
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.expm1(np.maximum(right_terms(phase, orders) - second, 0.0))
        return second + np.log(rest)


def first_power_of_the_order(phase: Any, orders: Any) -> Any:
    """p in place of p (p - 1)/2."""
    return right_terms(phase, orders) - np.log(np.maximum((orders - 1) / 2, 0.5))


@pytest.mark.parametrize("broken", [no_second_power, first_power_of_the_order])
def test_a_lemma_that_claims_too_little_growth(
    monkeypatch: Patch, broken: Callable[..., Any]
) -> None:
    monkeypatch.setattr(failure, "_log_terms", broken)
    caught(failure_tests.test_one_step_of_a_linear_loss_grows_no_more_than_the_lemma_says, 6)
    caught(failure_tests.test_the_table_of_the_lemma, 1 / 16, -12.86)


def test_a_failure_without_the_differing_step(monkeypatch: Patch) -> None:
    right = failure.log_drift

    def later_steps_only(phase: Any, orders: Any, *, lemma: str = "powers") -> Any:
        start = (np.asarray(orders) - 1) * phase.relative_radius**2 / 2
        return right(phase, orders, lemma=lemma) - start

    monkeypatch.setattr(failure, "log_drift", later_steps_only)
    caught(failure_tests.test_the_table_of_the_theorem, 2.0)
    caught(failure_tests.test_the_table_of_the_lemma, 1 / 16, -12.86)


def test_a_factor_that_is_squared(monkeypatch: Patch) -> None:
    right = failure.log_failure
    monkeypatch.setattr(
        failure,
        "log_failure",
        lambda phase, orders, **more: (
            right(phase, orders, **more) - np.asarray(orders) * math.log(phase.drift_factor)
        ),
    )
    caught(failure_tests.test_simulated_runs_fail_less_often_than_claimed)
    caught(failure_tests.test_the_table_of_the_lemma, 1 / 16, -12.86)


def test_a_call_that_fails_like_its_worst_phase(monkeypatch: Patch) -> None:
    def worst(phases: Any, *, lemma: str = "powers") -> float:
        return max(
            (
                each.probability
                if isinstance(each, PhaseFailure)
                else failure._solved(each, lemma).probability
                for each in phases
            ),
            default=0.0,
        )

    monkeypatch.setattr(failure_tests, "call_failure", worst)
    caught(failure_tests.test_a_call_adds_its_phases_up)


def test_a_growth_cut_off_where_doubles_end(monkeypatch: Patch) -> None:
    right = failure._log_terms
    monkeypatch.setattr(failure, "_log_terms", lambda *a: np.minimum(right(*a), -20.0))
    caught(failure_tests.test_probabilities_stay_probabilities)
