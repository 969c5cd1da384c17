"""Finite models of DP² on smooth losses of one variable: all outcomes of noise and sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bounds.dp2.noise_models import Array, outcomes
from bounds.dp2.symbols import (
    C,
    L,
    Tad,
    alpha0,
    c_s,
    c_T,
    eps,
    eta,
    gap1,
    nu1,
    nu2,
    tau_g,
)
from bounds.model import Model
from bounds.symbols import T, b, d, delta, eps_dp, n, sigma


@dataclass(frozen=True)
class Loss:
    """F - inf F and its gradient, with smoothness constant 1.

    Attributes
    ----------
    value, slope : callable
        From iterates to F - inf F and to its gradient.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]


#: w^2/2.
BOWL = Loss(lambda w: w**2 / 2, lambda w: w)
#: 1 - cos w, which is not convex.
WAVE = Loss(lambda w: 1 - np.cos(w), np.sin)
#: 0: only the noise is left.
FLAT = Loss(lambda w: 0 * w, lambda w: 0 * w)


@dataclass(frozen=True)
class Case:
    """A run, and by what factors the claims about it are off.

    Attributes
    ----------
    loss : Loss
        What is minimised.
    modes : tuple of float
        0 for a DP-SGD step, 1 for an adaptive one, by step.
    start : float
        First iterate.
    step : float
        Step size in units of min(1, damping)/L.
    damping : float
        eps.
    noise, ratio : float
        nu1, and nu2/nu1.
    spread : float
        Size of the sampling error of a gradient.
    metric : float
        D over the damping in adaptive steps.
    claims : tuple of (symbol, float)
        Letters whose values are multiplied by a factor.
    """

    loss: Loss
    modes: tuple[float, ...]
    start: float = 0.0
    step: float = 1.0  # in units of min(1, eps)/L
    damping: float = 0.5
    noise: float = 0.5
    ratio: float = 1.0  # nu2/nu1
    spread: float = 0.5
    metric: float = 1.0  # D over eps in adaptive steps
    claims: tuple[tuple[Any, float], ...] = ()


def run(case: Case) -> Model:
    """All outcomes of the noise and of the sampling error, each of two values."""
    count, modes = len(case.modes), np.array(case.modes)
    signs = outcomes(2 * count).reshape(2, count, 1, -1)
    std = np.where(modes > 0, case.ratio, 1.0) * case.noise
    noise, error = std[:, None, None] * signs[0], case.spread * signs[1]
    step_size = case.step * min(1.0, case.damping)
    iterate = np.full(signs.shape[2:], case.start)
    iterates, slopes, metrics = [iterate], [], []
    for at, mode in enumerate(case.modes):
        slopes.append(case.loss.slope(iterate))
        scale = case.metric * case.damping * (1 + (case.metric > 1) * np.abs(iterate))
        metrics.append(scale if mode else np.ones_like(iterate))
        iterate = iterate - step_size * ((slopes[-1] + error[at]) / metrics[-1] + noise[at])
        iterates.append(iterate)
    gaps = np.array([case.loss.value(each)[0] for each in iterates])
    long = np.log(10.0)
    values: dict[Any, float] = {
        L: 1.0,
        d: 1,
        T: count,
        Tad: float(modes.sum()),
        eta: step_size,
        eps: case.damping,
        b: 1,
        tau_g: case.spread,
        nu1: case.noise,
        nu2: case.ratio * case.noise,
        gap1: float(gaps[0].mean()),
        # the budget: what makes the choices of the rate true
        n: 2,
        eps_dp: 1.0,
        delta: 0.1,
        C: 1.0,
        sigma: case.noise,
        alpha0: step_size,
        c_T: count * long / 2,
        c_s: case.noise**2 * 4 / (count * long),
    }
    for symbol, factor in case.claims:
        values[symbol] *= factor
    processes = {
        "w": np.array(iterates),
        "g": np.array(slopes) + error,
        "grad": np.array(slopes),
        "D": np.array(metrics),
        "N": noise,
        "gap": gaps,
        "mode": modes,
        "nu": std,
    }
    return Model(values, processes)


def short(case: Case) -> Case:
    """The same with as many steps as dp2.nonconvex.rate.short has."""
    root = float(np.sqrt(np.log(10.0)))
    return replace(case, claims=(*case.claims, (c_T, 1 / root)))


def models(rng: np.random.Generator) -> Iterator[Model]:
    """Tight cases first (quadratics with the largest step), then others, then false claims."""
    for case in cases(rng):
        yield run(case)


def short_models(rng: np.random.Generator) -> Iterator[Model]:
    """Those of `models` with the other number of steps."""
    for case in cases(rng):
        yield run(short(case))


def _still(case: Case) -> Case:
    return replace(case, noise=0.0, spread=0.0)


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Runs of one to four steps."""
    yield _still(Case(BOWL, (0.0,), start=1.0, damping=2.0))
    yield _still(Case(BOWL, (0.0, 0.0, 0.0), start=1.0, damping=2.0))
    yield _still(Case(BOWL, (1.0, 1.0), start=1.0, damping=0.5))
    yield Case(BOWL, (0.0,) * 4, damping=2.0, spread=0.0)
    yield Case(BOWL, (0.0,) * 4, damping=2.0, noise=0.0)
    yield Case(BOWL, (1.0,) * 4, damping=0.25, noise=0.0)
    yield Case(BOWL, (1.0,) * 4, damping=1.0, spread=0.0, ratio=3.0)
    for modes in ((0.0, 1.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)):
        for loss in (BOWL, WAVE):
            yield Case(loss, modes, start=float(rng.normal()), metric=1.5)
            yield Case(loss, modes, start=float(rng.normal()), damping=3.0, step=0.5)
    wrong: tuple[tuple[Any, float], ...] = (
        (L, 0.1),
        (gap1, 0.1),
        (Tad, 0.0),
        (tau_g, 0.1),
        (nu1, 0.1),
        (nu2, 0.1),
        (eta, 10.0),
        (sigma, 0.1),
        (alpha0, 4.0),
        (c_T, 4.0),
        (c_T, 0.25),
        (c_s, 0.1),
    )
    for symbol, factor in wrong:
        claims = ((symbol, factor),)
        yield _still(Case(BOWL, (0.0,) * 4, start=1.0, damping=2.0, claims=claims))
        yield Case(BOWL, (0.0,) * 4, damping=2.0, spread=0.0, claims=claims)
        yield Case(BOWL, (1.0,) * 4, damping=0.25, noise=0.0, claims=claims)
        yield Case(BOWL, (1.0,) * 4, damping=1.0, spread=0.0, claims=claims)
    yield _still(Case(BOWL, (1.0,) * 4, start=1.0, damping=0.5, metric=0.1))
    yield _still(Case(BOWL, (0.0,) * 4, start=1.0, step=3.0, damping=2.0))
