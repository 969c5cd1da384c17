"""Broken ReSQue code is seen in the verdicts of its figures."""

import pytest
from sympy import Integer, Rational

from bounds.resque import tables_private
from dp2theory.experiments.resque import table2
from dp2theory.resque import drift, slopes
from tests.experiments.resque.small import failed, made


def test_noise_that_is_not_shared(monkeypatch):
    honest = drift._pairs

    def unshared(instance, steps, ratio, method, paths, rng):
        return honest(instance, steps, ratio, "independent", paths, rng)

    monkeypatch.setattr(drift, "_pairs", unshared)
    names = failed(made("drift", seeds=(0,)).verdict)
    assert "coupled drift within 2% of 1" in names
    assert "moments below their bounds" in names


def test_weights_without_their_normaliser(monkeypatch):
    honest = drift.log_weights

    def larger(points, offsets, smoothing):
        return honest(points, offsets, smoothing) + 0.7

    monkeypatch.setattr(drift, "log_weights", larger)
    assert failed(made("drift", seeds=(0,)).verdict)


def test_a_ball_oracle_that_goes_half_of_the_way(monkeypatch):
    honest = slopes.ProximalOracle.solve

    def halfway(self, center, multiplier):
        return (center + honest(self, center, multiplier)) / 2

    monkeypatch.setattr(slopes.ProximalOracle, "solve", halfway)
    assert "the potential falls in every step" in failed(made("ball-slope").verdict)


@pytest.mark.parametrize(("key", "power"), [("theorem4", Rational(3, 2)), ("kll21", Integer(1))])
def test_an_exponent_that_is_another(monkeypatch, key, power):
    monkeypatch.setitem(tables_private.EXPONENTS, key, power)
    names = failed(made("resque-fig1").verdict)
    assert "the private rates meet in one point" in names
    assert "fewest gradients while d < n^(4/3)" in names


def test_advanced_composition_shown_as_exact(monkeypatch):
    from dp2theory.experiments.resque.accounting import account

    def swapped(*setting):
        row = account(*setting)
        row.epsilon["exact"], row.epsilon["advanced"] = (
            row.epsilon["advanced"], row.epsilon["exact"],
        )  # fmt: skip
        return row

    monkeypatch.setattr(table2, "account", swapped)
    assert failed(made("resque-table2").verdict) == ["exact < Rényi < truncated CDP < advanced"]
