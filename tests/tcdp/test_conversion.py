"""Budgets of concentrated privacy, curves and their files."""

from __future__ import annotations

import csv
import math
import stat
from pathlib import Path

import dp_accounting
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import Bracket, ExactAccountant, files
from accountants import conversion as cv
from accountants.tcdp.accountant import TruncatedCdpAccountant
from accountants.tcdp.curve import TruncatedCdp

REPLACE = NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-4])
@pytest.mark.parametrize("omega", [1.5, 20.0, math.inf])
def test_largest_rho_is_on_the_private_side(epsilon: float, delta: float, omega: float) -> None:
    rho = cv.largest_rho(epsilon, delta, omega)
    assert rho > 0
    assert TruncatedCdp(rho, omega).epsilon(delta) <= epsilon
    assert TruncatedCdp(rho * (1 + 1e-10), omega).epsilon(delta) > epsilon


def test_noise_for_a_budget() -> None:
    """The way round: budget, rho, noise, and what that noise really costs."""
    for relation in NeighboringRelation:
        rho = cv.largest_rho(2.0, 1e-6)
        sigma = cv.noise_for_rho(rho, relation)
        assert TruncatedCdp.from_gaussian(sigma, relation).rho <= rho
        assert TruncatedCdp.from_gaussian(sigma * (1 - 1e-12), relation).rho > rho
        event = dp_accounting.GaussianDpEvent(sigma)
        exact = ExactAccountant(relation).compose(event).get_epsilon(1e-6)
        assert 1.5 < exact < 2.0
    assert cv.zcdp_to_epsilon(rho, 1e-6) == TruncatedCdp(rho).epsilon(1e-6)
    assert cv.zcdp_to_delta(rho, 2.0) == TruncatedCdp(rho).delta(2.0)
    assert cv.noise_for_rho(math.inf) == 0.0


def accountant() -> ExactAccountant:
    step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    return ExactAccountant().compose(step, 2000)


def test_several_deltas() -> None:
    exact = accountant()
    found = cv.epsilon_brackets(exact, (1e-6, 1e-4))
    assert found == (exact.epsilon_bracket(1e-6), exact.epsilon_bracket(1e-4))
    upper_only = TruncatedCdpAccountant(REPLACE).compose(dp_accounting.GaussianDpEvent(2.0))
    expected = Bracket(0.0, upper_only.get_epsilon(1e-6))
    assert cv.epsilon_brackets(upper_only, [1e-6]) == (expected,)
    assert cv.delta_bracket(upper_only, 1.0) == Bracket(0.0, upper_only.get_delta(1.0))


def test_grid_reaches_small_deltas() -> None:
    exact = accountant()
    grid = cv.epsilon_grid(exact, 5)
    assert len(grid) == 5
    assert grid[0] == 0.0
    assert exact.get_delta(grid[-1]) <= 1e-12 * (1 + 1e-9)
    assert cv.epsilon_grid(ExactAccountant(), 3) == (0.0, 0.5, 1.0)
    assert cv.epsilon_grid(ExactAccountant().compose(dp_accounting.NonPrivateDpEvent())) == (0.0,)
    cut = dp_accounting.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 35, 2.0)
    failing = TruncatedCdpAccountant().compose(cut, 10)
    assert failing.get_epsilon(1e-12) == math.inf
    assert cv.epsilon_grid(failing, 2)[1] == failing.get_epsilon(1e-6)
    with pytest.raises(ValueError, match="points=1"):
        cv.epsilon_grid(exact, 1)


def test_csv(tmp_path: Path) -> None:
    curve = cv.DeltaCurve.of(accountant(), [0.0, 0.5, 2.0, math.inf])
    path = tmp_path / "curve.csv"
    path.write_text("old")
    curve.to_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["epsilon", "delta_lower", "delta_upper"]
    for name in rows[0]:
        assert tuple(float(row[name]) for row in rows) == getattr(curve, name)  # to the last bit
    assert all(low <= high for low, high in zip(curve.delta_lower, curve.delta_upper, strict=True))
    assert rows[3]["epsilon"] == "inf"
    assert [p.name for p in tmp_path.iterdir()] == ["curve.csv"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_csv_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "curve.csv"
    path.write_text("old")
    curve = cv.DeltaCurve((0.0, 1.0), (0.0, 0.0), (0.1, 0.01))

    class Broken(Exception):
        pass

    def refuse(*_: object) -> None:
        raise Broken

    monkeypatch.setattr(files.os, "replace", refuse)
    with pytest.raises(Broken):
        curve.to_csv(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["curve.csv"]
    with pytest.raises(OSError, match="missing"):
        curve.to_csv(tmp_path / "missing" / "curve.csv")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cv.largest_rho(0.0, 1e-6), r"target_epsilon=0\.0: must be a finite number > 0"),
        (lambda: cv.largest_rho(1.0, 0.0), r"target_delta=0\.0: must be a number in \(0, 1\)"),
        (lambda: cv.largest_rho(1.0, 1e-6, 1.0), r"omega=1\.0"),
        (lambda: cv.noise_for_rho(0.0), r"rho=0\.0: must be a number > 0"),
        (lambda: cv.levels([0.5, -1.0]), "alpha="),
    ],
)
def test_bad_values_are_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
