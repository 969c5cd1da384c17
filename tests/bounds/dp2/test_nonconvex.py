"""The nonconvex bound and its rate: proofs, tight instances, variants that are false, a run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sympy import Le

from bounds.counterexample import satisfying
from bounds.dp2.nonconvex import AVERAGE, L1, NONCONVEX, right_side
from bounds.dp2.nonconvex_models import BOWL, Case, run
from bounds.dp2.nonconvex_rate import LONG_RATE, RATE, SHORT, SHORT_RATE
from bounds.evaluate import evaluate
from bounds.proof.replay import replay
from bounds.theorem import Theorem

ALL = {each.id: each for each in (NONCONVEX, L1, RATE, SHORT)}
#: What became of steps, so that the variants of a theorem check what they share once.
OUTCOMES: dict[Any, Any] = {}


@pytest.mark.parametrize("theorem", ALL.values(), ids=ALL.keys())
def test_proof_replays(theorem: Theorem) -> None:
    report = replay(theorem, theorems=ALL, outcomes=OUTCOMES)
    assert report.ok, report.describe()
    assert report.unused_assumptions == report.unused_steps == report.assumed == ()
    assert satisfying(theorem) is not None
    assert theorem.counterexample(tries=25) is None


@pytest.mark.parametrize(
    ("theorem", "id"),
    [(theorem, each.id) for theorem in (NONCONVEX, RATE) for each in theorem.assumptions],
    ids=lambda each: each if isinstance(each, str) else each.id,
)
def test_every_assumption_counts(theorem: Theorem, id: str) -> None:
    variant = theorem.without_assumption(id)
    assert not replay(variant, theorems=ALL, outcomes=OUTCOMES).ok


@pytest.mark.parametrize(
    "id", ["smooth", "start", "count", "sampling", "stds", "step_size", "metric"]
)
def test_false_without_it(id: str) -> None:
    assert NONCONVEX.without_assumption(id).counterexample() is not None


@pytest.mark.parametrize(
    "case",
    [
        Case(BOWL, (0.0,), start=1.0, damping=2.0, noise=0.0, spread=0.0),
        Case(BOWL, (0.0,) * 5, start=-3.0, damping=1.0, noise=0.0, spread=0.0),
        Case(BOWL, (1.0,) * 3, start=1.0, damping=0.25, noise=0.0, spread=0.0),
    ],
    ids=["one step", "five steps", "adaptive, D = eps"],
)
def test_tight_on_parabolas(case: Case) -> None:
    """One step of size min(1, eps)/L reaches the minimum: both sides are the first gradient."""
    model = run(case)
    left, right = (float(model.value(side).squeeze()) for side in NONCONVEX.statement.args)
    assert left == pytest.approx(right, rel=1e-14)


@pytest.mark.parametrize("noise", ["noise", "spread"])
def test_noise_terms_are_tight_up_to_the_first_step(noise: str) -> None:
    """From the minimum, each step after the first starts from the noise of the one before."""
    steps = 5
    still = {"noise": 0.0, "spread": 0.0} | {noise: 0.5}
    model = run(
        Case(BOWL, (0.0,) * steps, damping=2.0, noise=still["noise"], spread=still["spread"])
    )
    left, right = (float(model.value(side).squeeze()) for side in NONCONVEX.statement.args)
    assert left == pytest.approx(right * (steps - 1) / steps, rel=1e-12)


@pytest.mark.parametrize("theorem", ALL.values(), ids=ALL.keys())
def test_half_of_the_bound_is_refuted(theorem: Theorem) -> None:
    half = Le(theorem.statement.args[0], theorem.statement.args[1] / 2)
    false = theorem.with_claim(half)
    assert not replay(false, theorems=ALL, outcomes=OUTCOMES).ok
    assert false.counterexample() is not None


def test_adaptive_steps_are_counted_exactly() -> None:
    for steps in (1, 2, 7, 20, 31):
        for delay in range(1, 34):
            counted = sum((step // delay) % 2 for step in range(steps))
            assert NONCONVEX.evaluate("adaptive_steps", steps=steps, delay=delay) == counted


SETTING: dict[str, Any] = {
    "dimension": 1000, "dataset_size": 10_000, "target_epsilon": 2.0, "target_delta": 1e-5,
    "initial_gap": 0.7, "rate_constant": 0.1, "noise_constant": 1.3, "smoothness": 2.0,
    "gradient_bound": 1.5, "gradient_std": 0.4, "damping": 0.3, "batch_size": 64,
}  # fmt: skip


@pytest.mark.parametrize("power", [1.0, 0.5], ids=["log", "root of the log"])
def test_rate_is_the_bound_with_the_choices_put_in(power: float) -> None:
    """T = c_T n eps/log(1/delta)^power, all steps adaptive, nu2 = nu1 = sigma C/b."""
    long = math.log(1 / SETTING["target_delta"])
    steps = 2000
    budget = SETTING["dataset_size"] * SETTING["target_epsilon"]
    sigma = SETTING["batch_size"] * math.sqrt(SETTING["noise_constant"] * steps * long / budget**2)
    std = sigma * SETTING["gradient_bound"] / SETTING["batch_size"]
    shared = ("smoothness", "initial_gap", "gradient_std", "damping", "batch_size", "dimension")
    given: dict[str, Any] = {name: SETTING[name] for name in shared}
    bound = evaluate(
        right_side(),
        steps=steps,
        adaptive_step_count=steps,
        learning_rate=SETTING["rate_constant"] / math.sqrt(SETTING["dimension"]),
        noise_std=std,
        preconditioned_noise_std=std,
        **given,
    )
    rate = evaluate(
        LONG_RATE if power == 1 else SHORT_RATE,
        steps_constant=steps * long**power / budget,
        **SETTING,
    )
    assert rate == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("damping", [0.1, 0.3])
@pytest.mark.parametrize("delay", [1, 20, 200])
def test_bound_is_above_a_run(delay: int, damping: float) -> None:
    """Squared error of a sigmoid, d = 10, 20 runs: measured slack 4.3 to 7.7."""
    rng = np.random.default_rng(3)
    records, dimension, batch, steps, runs, rate = 400, 10, 32, 400, 20, 0.05
    x = rng.normal(size=(records, dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = (x @ rng.uniform(-3, 3, size=dimension) > 0).astype(float)
    noise_std = 1 / batch  # sigma = 1, C = 1; gradients have norm at most 0.15

    def gradients(rows: Any, iterate: Any) -> Any:
        p = 1 / (1 + np.exp(-np.einsum("rbd,rd->rb", x[rows], iterate)))
        return np.einsum("rb,rbd->rbd", (p - y[rows]) * p * (1 - p), x[rows])

    everything = np.broadcast_to(np.arange(records), (runs, records))
    iterate = np.zeros((runs, dimension))
    second, collected = np.zeros_like(iterate), np.zeros_like(iterate)
    local, spread, norms, sizes = [], 0.0, [], []
    for step in range(steps):
        late = (step // delay) % 2
        metric = np.sqrt(second) + damping if late else np.ones_like(iterate)
        each = gradients(everything, iterate)
        full = each.mean(axis=1)
        spread = max(spread, ((each - full[:, None]) ** 2).sum(axis=2).mean())
        local.append((full**2 / metric).sum(axis=1).mean())
        norms.append(np.abs(full).sum(axis=1).mean())
        sizes.append(metric.sum(axis=1).mean())
        rows = rng.integers(records, size=(runs, batch))
        gradient = gradients(rows, iterate).mean(axis=1)
        noise = noise_std * rng.normal(size=iterate.shape)
        if not late:
            collected += (gradient + noise) / delay
            if (step + 1) % delay == 0:
                second = 0.5 * second + 0.5 * collected**2
                collected = np.zeros_like(iterate)
        iterate = iterate - rate * (gradient / metric + noise)
    smoothness = 0.0771 * float(np.linalg.eigvalsh(x.T @ x / records).max())  # |f"| <= 0.0771
    assert rate * smoothness <= min(1, damping)
    bound = NONCONVEX.evaluate(
        backend="numpy",
        steps=steps,
        delay=delay,
        initial_gap=float(((0.5 - y) ** 2 / 2).mean()),
        learning_rate=rate,
        smoothness=smoothness,
        gradient_std=math.sqrt(spread),
        batch_size=batch,
        dimension=dimension,
        noise_std=noise_std,
        preconditioned_noise_std=noise_std,
        damping=damping,
    )
    assert 3 * np.mean(local) < bound < 10 * np.mean(local)
    assert np.mean(norms) ** 2 <= bound * np.mean(sizes)


def test_the_average_stands_on_the_left() -> None:
    assert all(theorem.statement.lhs == AVERAGE for theorem in (NONCONVEX, RATE, SHORT))
