"""The noise of private ball subproblems is what their ledger says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dp2theory.resque.functions import Array
from dp2theory.resque.localization import Release
from dp2theory.resque.losses import AbsoluteLoss
from dp2theory.resque.phases import phase_sizes
from dp2theory.resque.private import run_private
from dp2theory.verification.resque_noise import ball_noise, ball_releases, noise_law
from tests.verification.resque_small import CONSTANTS, DRIFT, SIGMA, releases, whole_plan


@dataclass(frozen=True)
class Made:
    """A release of known noise."""

    released: Array
    clean: Array
    name: str = "made"


def made(scale: float, runs: int = 400, d: int = 50) -> list[Made]:
    rng = np.random.default_rng(0)
    return [Made(scale * rng.standard_normal(d) + 1, np.ones(d)) for _ in range(runs)]


def test_every_phase_has_the_noise_of_the_ledger() -> None:
    found = releases()
    law = noise_law(found, ball_noise(1.0, SIGMA, DRIFT))
    assert law.holds
    assert [row.name for row in law.rows] == [
        *(f"restart {i}, phase {j}" for i in (1, 2) for j in (1, 2)),
        "all",
    ]
    assert all(abs(row.ratio - 1) < 0.03 for row in law.rows)
    document = law.to_json()
    assert document["holds"] is True
    assert document["rows"][-1]["numbers"] == 80 * len(found)
    # What a phase says of itself is the same number.
    assert all(
        release.noise_std == pytest.approx(SIGMA * DRIFT * release.step) for release in found
    )


def test_every_release_of_a_whole_run_has_its_noise_and_is_in_the_ledger() -> None:
    loss, plan = whole_plan()
    seen: list[Release] = []
    run = run_private(loss, plan, rng=1, observe=seen.append)
    (part,) = run.parts
    constants = plan.constants
    law = noise_law(
        seen,
        ball_noise(1.0, part.plan.noise_multiplier, constants.drift_factor),
        names=lambda _: "run",
    )
    assert law.holds
    phases = constants.restarts * len(phase_sizes(part.plan.draws // 2, constants))
    assert len(seen) == phases * run.counts.oracle_calls == phases * part.calls
    (entry,) = run.ledger.parts
    assert entry.calls == part.calls <= part.plan.max_calls
    assert run.counts.queries == part.plan.draws * part.calls


def test_nothing_but_noise_is_added_where_gradients_vanish() -> None:
    # Rows of zeros: means of iterates are known without the program's own word for them.
    loss = AbsoluteLoss(np.zeros((10, 60)), np.zeros(10), lipschitz=3.0)
    found = ball_releases(
        loss,
        calls=300,
        radius=100.0,
        smoothing=6400.0,
        draws=2,
        noise_multiplier=0.01,
        multipliers=(1e-9,),
        rng=np.random.default_rng(1),
        constants=CONSTANTS,
    )
    first = [release for release in found if release.name == "restart 1, phase 1"]
    assert all(np.array_equal(release.clean, np.zeros(60)) for release in first)
    assert noise_law(first, ball_noise(3.0, 0.01, DRIFT)).holds


@pytest.mark.parametrize(
    ("scale", "holds"), [(1.0, True), (0.96, False), (1.04, False), (0.5, False), (2.0, False)]
)
def test_a_few_parts_in_a_hundred_are_seen(scale: float, holds: bool) -> None:
    law = noise_law(made(scale), lambda _: 1.0)
    assert law.resolved
    assert law.holds is holds
    assert law.rows[0].lower <= law.rows[0].ratio <= law.rows[0].upper


def test_too_few_numbers_prove_nothing() -> None:
    law = noise_law(made(1.0, runs=10), lambda _: 1.0)
    assert not law.resolved
    assert not law.holds


def test_noise_used_twice_is_seen() -> None:
    fresh = made(1.0)
    twice = [release for release in fresh for _ in range(2)]
    law = noise_law(twice, lambda _: 1.0)
    assert all(row.holds for row in law.rows)
    assert law.correlation > 0.4 > law.largest_correlation
    assert not law.holds
    assert noise_law(fresh, lambda _: 1.0).correlation < law.largest_correlation


def test_a_shifted_mean_is_seen() -> None:
    moved = [Made(release.released + 0.5, release.clean) for release in made(1.0)]
    assert not noise_law(moved, lambda _: 1.0).holds


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="releases is empty"):
        noise_law([], lambda _: 1.0)
    with pytest.raises(ValueError, match="wanted"):
        noise_law(made(1.0, runs=2), lambda _: 0.0)
    with pytest.raises(ValueError, match="tolerance"):
        noise_law(made(1.0, runs=2), lambda _: 1.0, tolerance=0.0)
    with pytest.raises(ValueError, match="error"):
        noise_law(made(1.0, runs=2), lambda _: 1.0, error=float("nan"))
    with pytest.raises(ValueError, match="calls"):
        releases(calls=0)
