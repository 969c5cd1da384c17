"""Methods with side information: literal loops, settings, grids."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dp2theory.optimizers.grid_context import GridContext
from dp2theory.optimizers.grids import grid_of, grid_size
from dp2theory.optimizers.mirror_descent import PdaDpmd
from dp2theory.optimizers.projected import DpAdaGradProjected
from dp2theory.optimizers.results import describe_optimizer
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.optimizers.side_information import AdaDps, AdaDpsStatistics
from dp2theory.planning.methods import Settings, make_optimizer
from dp2theory.problems.public import PublicData
from tests.optimizers.public_checks import COMMON, KINDS, SETTINGS, check_literal, parts


@pytest.mark.parametrize("name", KINDS)
def test_it_is_the_literal_loop_and_costs_what_dp_sgd_costs(name: str) -> None:
    check_literal(name)


@pytest.mark.parametrize("name", KINDS)
def test_defaults_and_description(name: str) -> None:
    private, public = parts()
    optimizer = make_optimizer(name, Settings(), noise_multiplier=1.0, steps=12, public=public)
    described = describe_optimizer(optimizer)
    assert described["method"] == name
    assert described["public"]["records"] == public.dataset_size
    state = optimizer.initial_state(private.dimension)
    assert all(np.shape(array) == (private.dimension,) for array in state.arrays.values())
    with pytest.raises(ValueError, match="side information"):
        make_optimizer(name, Settings(), noise_multiplier=1.0, steps=12)


@pytest.mark.parametrize("name", KINDS)
def test_the_grid_has_at_most_15_configurations(name: str) -> None:
    public = parts()[1]
    context = GridContext(1.2, 40, DpSgd(2.0, 0.5, 1.0), public=public)
    grid = grid_of(name)(context)
    assert 5 <= len(grid) == grid_size(name, public) <= 15
    assert len({repr(optimizer) for optimizer in grid}) == len(grid)
    assert {optimizer.noise_multiplier for optimizer in grid} == {1.2}
    with pytest.raises(ValueError, match="public=None"):
        grid_of(name)(GridContext(1.2, 40, DpSgd(2.0, 0.5, 1.0)))


def test_coordinates_that_no_public_record_touches_get_finite_steps() -> None:
    private, public = parts()
    for optimizer in (
        AdaDps(**COMMON, public=public, **SETTINGS["adadps"]),
        AdaDpsStatistics(**COMMON, public=public),
    ):
        divisor = optimizer.initial_state(private.dimension).arrays["preconditioner"]
        assert np.all(divisor > 0)
        assert np.mean(1 / divisor) == pytest.approx(1.0)


def test_public_gradients_of_zero_leave_dp_sgd() -> None:
    _, public = parts()

    class Flat:
        name, dataset_size, dimension = "flat", 3, public.dimension

        def initial_parameters(self, rng: Any) -> Any:
            return np.zeros(self.dimension)

        def clipped_gradient_sum(self, *_: Any, **__: Any) -> Any:
            return np.zeros(self.dimension)

    flat = PublicData(Flat(), "made up")  # type: ignore[arg-type]
    for optimizer in (AdaDps(**COMMON, public=flat), AdaDpsStatistics(**COMMON, public=flat)):
        divisor = optimizer.initial_state(public.dimension).arrays["preconditioner"]
        np.testing.assert_array_equal(divisor, np.ones(public.dimension))


def test_the_private_share_falls_from_one_to_nothing() -> None:
    optimizer = PdaDpmd(**COMMON, public=parts()[1], schedule_steps=10)
    shares = [optimizer.private_share(t) for t in range(14)]
    assert shares[0] == 1.0
    assert shares[5] == pytest.approx(np.sqrt(0.5))
    assert shares[10:] == [0.0] * 4
    assert all(a >= b for a, b in itertools.pairwise(shares))


def test_the_projected_gradient_stays_in_the_public_subspace() -> None:
    private, public = parts()
    optimizer = DpAdaGradProjected(**COMMON, public=public, rank=3)
    rows = public.directions(3)
    released = np.random.default_rng(0).standard_normal(private.dimension)
    _, state = optimizer.apply(np.zeros(private.dimension), optimizer.initial_state(1), released)
    np.testing.assert_allclose(state.arrays["squares"], ((rows @ released) @ rows) ** 2)
    whole = DpAdaGradProjected(**COMMON, public=public)
    assert whole.rank is None


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("adadps", {"public_batch_size": 0}, "public_batch_size"),
        ("adadps", {"ema": 1.0}, "ema"),
        ("adadps", {"damping": 0.0}, "damping"),
        ("adadps", {"public": None}, "public=NoneType"),
        ("adadps-statistics", {"exponent": -0.1}, "exponent"),
        ("adadps-statistics", {"floor": 0.0}, "floor"),
        ("pda-dpmd", {"schedule_steps": 0}, "schedule_steps"),
        ("pda-dpmd", {"learning_rate": np.nan}, "learning_rate"),
        ("dp-adagrad-projected", {"rank": 10_000}, "rank=10000"),
        ("dp-adagrad-projected", {"rank": 0}, "rank"),
        ("dp-adagrad-projected", {"noise_multiplier": 0.0}, "noise_multiplier"),
    ],
)
def test_bad_settings_are_refused(name: str, changes: dict[str, Any], message: str) -> None:
    settings = {**COMMON, "public": parts()[1], **SETTINGS[name], **changes}
    with pytest.raises(ValueError, match=message):
        KINDS[name](**settings)
