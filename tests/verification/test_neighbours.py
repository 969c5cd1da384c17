"""The data sets of an audit, and the likelihoods on them, against the accountants' pairs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from accountants.pairs import MixturePair, SampledGaussianPair
from accountants.relations import Direction
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement
from dp2theory.optimizers.batches import make_sampler
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.variants import Dp2RmsPropExtraNoise
from dp2theory.verification.joint import joint_scores, measured_covariance
from dp2theory.verification.likelihood import Model, step_scores
from dp2theory.verification.neighbours import neighbouring_data_sets, smallest_shift
from dp2theory.verification.trials import Trials, observe

SAMPLINGS: list[Any] = [Poisson(0.3), WithoutReplacement(5, 2), WithReplacement(5, 3)]
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_batches_have_the_law_of_the_sampler(sampling: Any, relation: str) -> None:
    rng = np.random.default_rng(0)
    for side in neighbouring_data_sets(sampling, 5, relation)[0].sides:
        copies, others, logs = side.batches()
        assert np.exp(logs).sum() == pytest.approx(1)
        size, sampler = (
            side.problem.dataset_size,
            make_sampler(side.sampling, side.problem.dataset_size),
        )
        seen: Counter[tuple[int, int]] = Counter()
        for _ in range(4000):
            batch = sampler.sample(rng)
            mine = int(np.count_nonzero(batch == 0)) if side.present else 0
            seen[mine, batch.size - mine] += 1
        assert size == 5 - (not side.present)
        for k, j, log in zip(copies, others, logs, strict=True):
            share, chance = seen[int(k), int(j)] / 4000, np.exp(log)
            assert abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / 4000) + 1e-9
        assert set(seen) <= {(int(k), int(j)) for k, j in zip(copies, others, strict=True)}


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_two_data_sets_are_neighbours_and_share_the_divisor(
    sampling: Any, relation: str
) -> None:
    for pair in neighbouring_data_sets(sampling, 5, relation):
        first, second = (side.problem for side in pair.sides)
        at = np.zeros(first.dimension)

        def gradient(problem: Any, record: int, at: Any = at) -> Any:
            return problem.clipped_gradient_sum(at, np.array([record]), clip_norm=np.inf)

        shift = 1 if relation == "add-or-remove-one" else 0
        assert second.dataset_size == first.dataset_size - shift
        for record in range(1, 5):
            same = gradient(second, record - shift)
            np.testing.assert_array_equal(gradient(first, record), same)
        assert np.any(gradient(first, 0))
        assert pair.expected_batch_size == {Poisson: 1.5}.get(
            type(sampling), getattr(sampling, "batch_size", None)
        )


def _seen(
    optimizer: Any, sampling: Any, relation: str, size: int = 5, steps: int = 3, runs: int = 12
) -> Trials:
    pair = neighbouring_data_sets(sampling, size, relation)[0]
    seed = np.random.SeedSequence(7)
    return observe(lambda problem: optimizer, pair, 0, steps=steps, runs=runs, seed=seed)


def _projected(trials: Trials, offset: float) -> Any:
    """Released sums along the record's gradient, in noise standard deviations, less an offset."""
    return np.column_stack(
        [release.values[:, 0] / release.scales[0] - offset for release in trials.releases]
    )


def _dp2(sigma: float) -> Dp2RmsProp:
    return Dp2RmsProp(0.1, 1.5, 0.1, 4.0, sigma, delay=1)


@pytest.mark.parametrize("relation", RELATIONS)
def test_poisson_scores_are_losses_of_the_attained_pair(relation: str) -> None:
    direction = Direction.SYMMETRIC if relation == "replace-one" else Direction.REMOVE
    for sigma in (0.7, 2.0):
        trials = _seen(_dp2(sigma), Poisson(0.3), relation)
        loss = SampledGaussianPair(0.3, sigma, direction).nodes(_projected(trials, 0.0).ravel())
        scores = step_scores(trials, Model()).ravel()
        np.testing.assert_allclose(scores, loss.loss, rtol=1e-8, atol=1e-10)


def test_fixed_size_scores_are_losses_of_the_attained_pair() -> None:
    sigma = 1.6
    trials = _seen(_dp2(sigma), WithoutReplacement(5, 2), "add-or-remove-one")
    pair = MixturePair(((0.4, 2 / sigma),), (), 0.6)
    loss = pair.nodes(_projected(trials, -2 / sigma).ravel()).loss
    np.testing.assert_allclose(step_scores(trials, Model()).ravel(), loss, rtol=1e-8, atol=1e-10)
    drawn = WithReplacement(5, 2)
    trials = _seen(_dp2(sigma), drawn, "replace-one")
    copies = ((0.32, 1.0), (0.04, 2.0))
    pair = MixturePair(
        tuple((p, 2 * k / sigma) for p, k in copies), (), 0.64
    )  # the replaced record is like the others
    loss = pair.nodes(_projected(trials, -2 / sigma).ravel()).loss
    np.testing.assert_allclose(step_scores(trials, Model()).ravel(), loss, rtol=1e-8, atol=1e-10)


def test_two_releases_on_one_batch_are_one_with_joint_noise() -> None:
    sigma, q = 1.3, 0.3
    optimizer = Dp2RmsPropExtraNoise(0.1, 1.0, 0.1, 4.0, sigma, delay=1)
    trials = _seen(optimizer, Poisson(q), "add-or-remove-one", steps=2)
    assert [release.kind.records for release in trials.releases] == [
        "new-batch", "new-batch", "same-batch",
    ]  # fmt: skip
    first, second, third = _projected(trials, 0.0).T
    alone = SampledGaussianPair(q, sigma, Direction.REMOVE).nodes(first).loss
    joint = SampledGaussianPair(q, sigma / np.sqrt(2), Direction.REMOVE)
    together = joint.nodes((second + third) / np.sqrt(2)).loss
    scores = step_scores(trials, Model())
    np.testing.assert_allclose(scores, np.column_stack([alone, together]), rtol=1e-8, atol=1e-10)


def test_shifts() -> None:
    assert smallest_shift(Poisson(0.5), "add-or-remove-one") == 1
    assert smallest_shift(Poisson(0.5), "replace-one") == 2
    assert smallest_shift(WithReplacement(4, 2), "add-or-remove-one") == 2


@pytest.mark.parametrize(
    ("sampling", "size", "relation", "word"),
    [
        (Poisson(0.5), 1, "replace-one", "dataset_size"),
        (Poisson(0.5), 4, "replace", "relation"),
        ("poisson", 4, "replace-one", "sampling"),
        (WithoutReplacement(4, 4), 4, "add-or-remove-one", "batch_size"),
    ],
)
def test_bad_pairs_are_refused(sampling: Any, size: int, relation: str, word: str) -> None:
    with pytest.raises(ValueError, match=f"{word}="):
        neighbouring_data_sets(sampling, size, relation)


def test_queries_that_vary_from_run_to_run_are_refused() -> None:
    class Fickle(DpSgd):
        """Adds more noise when the last release was large: no ledger can foretell that."""

        def query(self, state: Any) -> Any:
            from dataclasses import replace

            query = super().query(state)
            large = state.arrays.get("last", np.zeros(1))[0] > 0
            return replace(query, noise_multiplier=query.noise_multiplier * (2 if large else 1))

        def apply(self, parameters: Any, state: Any, released: Any) -> Any:
            from dataclasses import replace

            moved, new = super().apply(parameters, state, released)
            return moved, replace(new, arrays={"last": released})

    with pytest.raises(ValueError, match="differ from run to run"):
        _seen(Fickle(0.1, 1.0, 1.0), Poisson(0.5), "add-or-remove-one", runs=30)


def test_the_likelihood_of_whole_runs_is_the_product_where_noise_is_fresh() -> None:
    for sampling in SAMPLINGS:
        trials = _seen(_dp2(1.3), sampling, "replace-one")
        np.testing.assert_allclose(
            joint_scores(trials, np.eye(3)),
            step_scores(trials, Model()).sum(axis=1),
            rtol=1e-8,
            atol=1e-9,
        )


def test_noise_is_measured_between_releases() -> None:
    covariance = measured_covariance(_seen(_dp2(1.3), SAMPLINGS[0], "replace-one", runs=300))
    assert covariance is not None
    np.testing.assert_allclose(covariance, np.eye(3), atol=0.06)
