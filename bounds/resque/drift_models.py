"""Finite models of the drift of coupled runs above order 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bounds.model import Model
from bounds.resque.estimator_models import coin, kernel, normal
from bounds.resque.symbols import L_lip, a_len, eta_step, h_step, n_ord, t_rel
from bounds.symbols import T

__all__ = ["drift_orders", "drift_powers"]

_USUAL: dict[str, Any] = {
    "off": 1.0,
    "shift": 0.3,
    "radius": 0.3,
    "start": 1.0,
    "far": 1.0,
    "lost": 1.0,
    "towards": None,
    "claimed": 0.0,
    "length": 1.0,
    "length_claimed": 1.0,
    "across": 0.8,
    "h": 0.1,
}


def drift_orders(rng: np.random.Generator) -> Iterator[Model]:
    """Two steps at order 4; a step goes a fair sign times its length along the distance."""

    def of_order(h: float, claimed: list[Any]) -> tuple[dict[Any, Any], dict[str, Any]]:
        means = np.array([length**4 for length in claimed])
        return {h_step: h, "half_excess": 1.0}, {"length_mean": means}

    return _runs(of_order, "a p-th power that is not the mean")


def drift_powers(rng: np.random.Generator) -> Iterator[Model]:
    """The same at order 3, with the mean of every power of a step."""

    def of_order(h: float, claimed: list[Any]) -> tuple[dict[Any, Any], dict[str, Any]]:
        means = np.array([[length**2, length**3] for length in claimed])
        return {n_ord: 1}, {"power_mean": means, "h_order": np.array([h, h, h])}

    return _runs(of_order, "a power that is not the mean")


def _runs(
    of_order: Callable[[float, list[Any]], tuple[dict[Any, Any], dict[str, Any]]], not_the_mean: str
) -> Iterator[Model]:
    """Runs of two steps; ``of_order`` gives what belongs to the order, from h and the lengths."""

    def model(note: str, **change: Any) -> Model:
        case = {"law": normal(), **_USUAL, **change}
        fair = (np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
        (z, *signs), weights = kernel(case["law"], fair, fair)
        eta, lip, h = 0.1, 1.0, case["h"]
        w = case["off"] * np.exp(case["shift"] * z - case["shift"] ** 2 / 2)
        size = [case["start"] * 2 * eta * lip * w]
        rest = 0.01 * size[0] ** 2
        dist, along, across, length, claimed, along_mean = [], [], [], [], [], []
        for step, sign in enumerate(signs):
            far = case["far"] if step else 1.0
            dist.append(far * np.sqrt(np.maximum(size[-1] ** 2 - rest, 0)))
            length.append(case["length"] * h * size[-1])
            claimed.append(case["length_claimed"] * h * size[-1])
            towards = 0.6 * sign if case["towards"] is None else case["towards"]
            along.append(towards * length[-1] + 0 * z)
            across.append(case["across"] * length[-1])
            along_mean.append(case["claimed"] * length[-1] * dist[-1])
            after = (dist[-1] - along[-1]) ** 2 + across[-1] ** 2 + rest
            size.append(case["lost"] * np.sqrt(after))
        own_values, own_processes = of_order(h, claimed)
        values = {
            L_lip: lip,
            a_len: case["shift"],
            t_rel: case["radius"],
            eta_step: eta,
            T: 2,
            **own_values,
        }
        processes = {
            "Z1": z,
            "w_a": w,
            "apart_rest": rest,
            "apart_norm": np.array(dist),
            "apart_size": np.array(size),
            "step_along": np.array(along),
            "step_across": np.array(across),
            "step_length": np.array(length),
            "along_mean": np.array(along_mean),
            **own_processes,
        }
        return Model(values, processes, weights, note=note)

    yield model("holds")
    yield model("short steps: nearly attained", h=0.01)
    yield model("runs that attract each other", towards=0.5, claimed=0.5)
    yield model("weight not normalised", off=2.0)
    yield model("not Gaussian", law=coin(4.0), shift=0.6, radius=0.6)
    yield model("outside the ball", shift=0.8)
    yield model("a distance that is not in the size", far=3.0)
    yield model("a parting that is too large", start=2.0)
    yield model("a map that moves points apart", lost=1.5)
    yield model("a step longer than its length", across=6.0)
    yield model("a mean that is not the mean", towards=-1.0, across=0.0)
    yield model("gradients that are not monotone", towards=-1.0, across=0.0, claimed=-1.0)
    yield model(not_the_mean, length=8.0)
    yield model("estimates that differ too much", length=8.0, length_claimed=8.0)
