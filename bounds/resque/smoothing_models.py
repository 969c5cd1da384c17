"""Finite models of the facts on smoothing and of the drift of coupled runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from bounds.model import Model
from bounds.resque.estimator_models import coin, kernel, normal, panels
from bounds.resque.symbols import L_lip, a_len, dist_xy, eta_step, offset, rho_s, t_rel
from bounds.symbols import T, d

__all__ = ["drift", "f1", "f2", "f4_tight", "f5"]

#: What a generator of models yields.
Models = Iterator[Model]
#: Standard deviation of the smoothing, and Lipschitz constant, of all models.
RHO, LIP = 0.5, 2.0


def f1(rng: np.random.Generator) -> Models:
    """Two coordinates of noise +-1; the cone L ||x|| and a linear loss, both at x = 0."""

    def model(note: str, size: float, mean: float, slope: Any, loss: str, extra: float) -> Model:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=2))).T
        noise = mean + size * signs
        length = np.sqrt((noise**2).sum(axis=0))
        slopes = np.asarray(slope, dtype=float)
        f_near = {
            "cone": LIP * RHO * length,
            "linear": RHO * slopes @ noise,
            "cap": -LIP * RHO * length,
        }[loss]
        return Model(
            {d: 2, L_lip: LIP, rho_s: RHO, "f_here": 1.0},
            {"noise": noise, "slope_here": slopes, "f_near": 1.0 + f_near + extra},
            note=note,
        )

    yield model("a cone attains the upper end", 1, 0, (0, 0), "cone", 0.0)
    yield model("a linear loss attains the lower end", 1, 0, (1.2, -1.0), "linear", 0.0)
    turn = float(rng.uniform(0, 6))
    yield model("a linear loss", 1, 0, (np.cos(turn), np.sin(turn)), "linear", 0.0)
    yield model("a concave loss", 1, 0, (0, 0), "cap", 0.0)
    yield model("a loss with a jump", 1, 0, (0, 0), "cone", 1.0)
    yield model("noise with a mean", 0.6, 0.8, (-1.0, -1.0), "linear", 0.0)
    yield model("noise of variance 4", 2, 0, (0, 0), "cone", 0.0)


def f2(rng: np.random.Generator) -> Models:
    """The absolute value at x = 0.2 and y = -0.6, with share 1/4, under noise +-0.5."""

    def model(note: str, sign: float, jump: float) -> Model:
        noise = np.array([-0.5, 0.5, float(rng.uniform(-1, 1))])
        x, y, share = 0.2, -0.6, 0.25

        def loss(point: Any) -> Any:
            return sign * np.abs(point + noise)

        values = {L_lip: 1.0, dist_xy: x - y, "share": share}
        processes = {
            "f_x": loss(x) + jump,
            "f_y": loss(y),
            "f_mix": loss(share * x + (1 - share) * y) + share * jump,
        }
        return Model(values, processes, note=note)

    yield model("holds", 1.0, 0.0)
    yield Model(
        {L_lip: 1.0, dist_xy: 0.8, "share": 0.25},
        {"f_x": np.array([0.2]), "f_y": np.array([-0.6]), "f_mix": np.array([-0.4])},
        note="a linear loss attains both",
    )
    yield model("a concave loss", -1.0, 0.0)
    yield model("a loss with a jump", 1.0, 2.0)


def f5(rng: np.random.Generator) -> Models:
    """The smoothed absolute value."""

    def model(law: tuple[Any, Any], note: str, m: float) -> Model:
        return Model({offset: m, rho_s: RHO}, {"Z": law[0]}, law[1], note=note)

    for m in (0.1, -0.7, float(rng.uniform(0.3, 1))):
        yield model(panels(-m / RHO), "holds", m)
    yield model(coin(), "not Gaussian", 0.3)


def f4_tight(rng: np.random.Generator) -> Models:
    """Gradients of the smoothed absolute value on both sides of the kink."""

    def model(law: tuple[Any, Any], note: str, distance: float) -> Model:
        return Model({dist_xy: distance, rho_s: RHO}, {"Z": law[0]}, law[1], note=note)

    for distance in (0.3, 1.0, float(rng.uniform(0.1, 2))):
        kink = distance / (2 * RHO)
        yield model(panels(-kink, kink), "holds", distance)
    yield model(coin(), "not Gaussian", 0.5)


def drift(rng: np.random.Generator) -> Models:
    """Two steps after the parting; the first-order term is a fair sign times the largest value."""

    def model(note: str, **change: Any) -> Model:
        case: dict[str, Any] = {
            "law": normal(),
            "off": 1.0,
            "shift": 0.3,
            "radius": 0.3,
            "start": 1.0,
            "lost": 0.0,
            "mean": 0.0,
            "claimed": 0.0,
            "jump": 1.0,
            "jump_claimed": 1.0,
            "eta": 0.1,
        }
        case.update(change)
        fair = (np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
        (z, *signs), weights = kernel(case["law"], fair, fair)
        eta, lip, rho = case["eta"], 1.0, 1.0
        w = case["off"] * np.exp(case["shift"] * z - case["shift"] ** 2 / 2)
        growth = (eta * lip / rho) ** 2 * np.exp(case["radius"] ** 2) * (1 + case["radius"] ** 2)
        apart = [case["start"] * (2 * eta * lip * w) ** 2]
        inner, inner_mean, jump, jump_mean = [], [], [], []
        for sign in (*signs, signs[0]):
            here = apart[-1]
            jump_mean.append(case["jump_claimed"] * growth * here / eta**2)
            jump.append(case["jump"] * growth * here / eta**2)
            inner_mean.append(case["claimed"] * here)
            # |<Phi, Delta>| <= ||Phi|| ||Delta||
            spread = 0.5 * np.sqrt(here * jump[-1])
            inner.append(case["mean"] * here + sign * spread)
            apart.append(
                np.maximum(here - 2 * eta * inner[-1] + eta**2 * jump[-1] + case["lost"], 0)
            )
        values = {
            L_lip: lip,
            rho_s: rho,
            a_len: case["shift"],
            t_rel: case["radius"],
            eta_step: eta,
            T: 2,
        }
        processes = {
            "Z1": z,
            "w_a": w,
            "apart": np.array(apart[:3]),
            "inner": np.array(inner[:2]),
            "inner_mean": np.array(inner_mean[:2]),
            "jump": np.array(jump[:2]),
            "jump_mean": np.array(jump_mean[:2]),
        }
        return Model(values, processes, weights, note=note)

    yield model("attains the bound")
    yield model("runs that attract each other", mean=0.5, claimed=0.5)
    yield model("a larger ball", radius=0.5)
    yield model("weight not normalised", off=2.0)
    yield model("not Gaussian", law=coin(4.0), shift=0.6, radius=0.6)
    yield model("outside the ball", shift=0.8)
    yield model("a parting that is too large", start=2.0)
    yield model("a map that moves points apart", lost=0.1)
    yield model("a mean that is not the mean", mean=-3.0)
    yield model("gradients that are not monotone", mean=-3.0, claimed=-3.0)
    yield model("a second moment that is not the mean", jump=40.0)
    yield model("estimates that differ too much", jump=40.0, jump_claimed=40.0)
