"""Finite models of the estimator's theorems: Gaussians by quadrature, and what breaks a statement.

A rule with equal steps integrates a Gaussian times an exponential to all digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bounds.model import Model
from bounds.resque.symbols import (
    H_sep,
    L_lip,
    a_len,
    a_pos,
    ab,
    b_len,
    j_ord,
    k_ord,
    p,
    p_norm,
    t_rel,
    w_cut,
)

__all__ = ["e2", "e3", "e4", "e5", "e6", "e7", "kernel", "normal", "panels", "ratio"]

#: Values on scenarios, or one number.
Array = Any
#: What a generator of models yields.
Models = Iterator[Model]


def normal(step: float = 0.5) -> tuple[Array, Array]:
    """Nodes and weights of N(0, 1)."""
    z = np.arange(-round(9 / step), round(9 / step) + 1) * step
    weights = np.exp(-(z**2) / 2)
    return z, weights / weights.sum()


def panels(*kinks: float) -> tuple[Array, Array]:
    """The same by Gauss's rule between points at which a function may jump."""
    x, w = np.polynomial.legendre.leggauss(60)
    ends = (-9.0, *sorted(kinks), 9.0)
    z = np.concatenate([(b + a) / 2 + (b - a) / 2 * x for a, b in itertools.pairwise(ends)])
    width = np.concatenate([(b - a) / 2 * w for a, b in itertools.pairwise(ends)])
    weights = width * np.exp(-(z**2) / 2)
    return z, weights / weights.sum()


def coin(size: float = 2.0) -> tuple[Array, Array]:
    """A law that is not Gaussian."""
    return np.array([-size, size]), np.array([0.5, 0.5])


def kernel(*spaces: tuple[Array, Array]) -> tuple[list[Array], Array]:
    """Independent variables on one space: their values, and the weights."""
    values = np.meshgrid(*(space[0] for space in spaces), indexing="ij")
    weights = np.ones(1)
    for space in spaces:
        weights = np.multiply.outer(weights, space[1])
    return [each.reshape(-1) for each in values], weights.reshape(-1)


def _weight(z: Array, shift: float) -> Array:
    return np.exp(shift * z - shift**2 / 2)


def e2(rng: np.random.Generator) -> Models:
    """Moments of the weight."""

    def model(law: tuple[Array, Array], note: str, order: float, shift: float, off: float) -> Model:
        z, weights = law
        w = _weight(z, shift) * off
        return Model({p: order, a_len: shift}, {"Z1": z, "w_a": w}, weights, note=note)

    for order, shift in ((2, 0.5), (3, 0.4), (-1, 0.6), (0.5, 1.0), (1, 0.0)):
        yield model(normal(), "holds", order, shift, 1.0)
    yield model(normal(), "holds", float(rng.uniform(-2, 3)), float(rng.uniform(0, 1)), 1.0)
    yield model(coin(), "not Gaussian", 2, 0.5, 1.0)
    yield model(normal(), "not normalised", 2, 0.5, 1.2)


def e7(rng: np.random.Generator) -> Models:
    """Law of the weight."""

    def model(law: tuple[Array, Array], note: str, shift: float, level: float, off: float) -> Model:
        z, weights = law
        log_w = shift * z - shift**2 / 2 + off
        return Model({a_pos: shift, w_cut: level}, {"Z1": z, "log_w": log_w}, weights, note=note)

    def jump(shift: float, level: float) -> tuple[Array, Array]:
        return panels((math.log(level) + shift**2 / 2) / shift)

    for shift, level in ((0.5, 1.0), (1.0, 0.4), (0.8, float(rng.uniform(0.5, 2)))):
        yield model(jump(shift, level), "holds", shift, level, 0.0)
    yield model(coin(), "not Gaussian", 0.5, 1.5, 0.0)
    yield model(jump(1.0, 1.0), "weight without its mean", 1.0, 1.0, 0.5)


def e3(rng: np.random.Generator) -> Models:
    """Joint moments of two weights, and moments of their difference."""

    def model(note: str, change: Callable[[dict[str, Any]], None] | None = None) -> Model:
        case: dict[str, Any] = {
            "first": normal(),
            "second": normal(),
            "a": 0.5,
            "par": 0.3,
            "perp": -0.4,
            "ab": 0.15,
            "b": 0.5,
            "off_a": 1.0,
            "off_b": 1.0,
            "same": False,
        }
        if change is not None:
            change(case)
        (z1, z2), weights = kernel(case["first"], case["second"])
        if case["same"]:
            z1, weights = normal()
            z2 = z1
        w_b = case["off_b"] * np.exp(case["par"] * z1 + case["perp"] * z2 - case["b"] ** 2 / 2)
        values = {
            j_ord: 1.0,
            k_ord: 2.0,
            a_len: case["a"],
            b_len: case["b"],
            ab: case["ab"],
            "b_par": case["par"],
            "b_perp": case["perp"],
        }
        processes = {
            "Z1": z1,
            "Z2": z2,
            "w_a": case["off_a"] * _weight(z1, case["a"]),
            "w_b": w_b,
        }
        return Model(values, processes, weights, note=note)

    yield model("holds")
    shift, par, perp = (float(each) for each in rng.uniform(0.1, 0.6, size=3))

    def drawn(case: dict[str, Any]) -> None:
        case.update(a=shift, par=par, perp=perp, ab=shift * par, b=math.hypot(par, perp))

    yield model("holds", drawn)
    for note, change in (
        ("first weight not normalised", {"off_a": 1.3}),
        ("second weight not normalised", {"off_b": 1.3}),
        ("wrong inner product", {"ab": 0.4}),
        ("wrong length", {"b": 0.8}),
        ("not Gaussian along a", {"first": coin()}),
        ("not Gaussian across a", {"second": coin()}),
        ("one noise for both components", {"same": True}),
    ):
        yield model(note, lambda case, change=change: case.update(change))  # type: ignore[misc]


def _moments(order: float) -> Models:
    """Models of E4 (order 2) and E5."""
    names = {p_norm: order}

    def model(
        note: str, law: tuple[Array, Array], *, g: float = 1.0, given: float = 1.0, off: float = 1.0
    ) -> Model:
        # ||g|| takes two values whose mean p-th power is g.
        (z, power), weights = kernel(law, (np.array([0.5, 1.5]) * g, np.array([0.5, 0.5])))
        processes = {
            "Z1": z,
            "w_a": off * _weight(z, 0.5 / max(order, 2) * 2),
            "g_norm": power ** (1 / order),
            "moment_2": np.full(z.shape, given),
            "moment_p": np.full(z.shape, given),
        }
        return Model(
            {**names, a_len: 0.5 / max(order, 2) * 2, L_lip: 1.0}, processes, weights, note=note
        )

    yield model("attains the bound", normal())
    yield model("below the bound", normal(), g=0.6, given=0.6)
    yield model("weight too large", normal(), off=2.0)
    yield model("not Gaussian", coin(4.0))
    yield model("moment larger than its mean says", normal(), g=4.0)
    yield model("subgradients too long", normal(), g=4.0, given=4.0)


def e4(rng: np.random.Generator) -> Models:
    """Second moment of the estimator."""
    return _moments(2.0)


def e5(rng: np.random.Generator) -> Models:
    """Moments of the estimator."""
    for order in (2.0, 1.0, 3.5):
        yield from _moments(order)


def e6(rng: np.random.Generator) -> Models:
    """Difference of two estimates: two points on a radius of the ball."""

    def model(note: str, **change: Any) -> Model:
        case: dict[str, Any] = {
            "order": 2,
            "along": normal(),
            "across": normal(),
            "reference": None,
            "par": 0.4,
            "perp": 0.0,
            "gap": 0.1,
            "radius": 0.5,
            "g": 1.0,
            "given": 1.0,
            "off": (1.0, 1.0),
            "same": False,
        }
        case.update(change)
        (u, v, power), weights = kernel(
            case["along"],
            case["across"],
            (np.array([0.5, 1.5]) * case["g"], np.array([0.5, 0.5])),
        )
        if case["same"]:
            (u, power), weights = kernel(
                normal(), (np.array([0.5, 1.5]) * case["g"], np.array([0.5, 0.5]))
            )
            v = u
        weight = [
            case["off"][k] * np.exp(c * u + case["perp"] * v - (c**2 + case["perp"] ** 2) / 2)
            for k, c in enumerate((case["par"], case["par"] + case["gap"]))
        ]
        reference = u if case["reference"] is None else np.full(u.shape, case["reference"])
        if case["along"][0].size == 2:
            reference = v
        values = {
            p_norm: case["order"],
            t_rel: case["radius"],
            H_sep: case["gap"],
            L_lip: 1.0,
            "a_par": case["par"],
            "a_perp": case["perp"],
        }
        processes = {
            "U": u,
            "V": v,
            "Z": reference,
            "w_1": weight[0],
            "w_2": weight[1],
            "g_norm": power ** (1 / case["order"]),
            "moment_p": np.full(u.shape, case["given"]),
        }
        return Model(values, processes, weights, note=note)

    yield model("holds, on a radius")
    yield model("holds, nearly attained", par=0.499, gap=0.001)
    yield model("holds, order 4", order=4, par=0.2, perp=0.1, radius=0.35)
    yield model("first weight not normalised", off=(1.5, 1.0))
    yield model("second weight not normalised", off=(1.0, 1.5))
    yield model("not Gaussian along b - a", along=coin(4.0))
    yield model("not Gaussian across b - a", across=coin(4.0), perp=0.3, par=0.3)
    yield model("one noise for both components", same=True, perp=0.35, par=0.25, gap=0.05)
    yield model("reference not Gaussian", reference=0.0)
    yield model("x outside the ball", par=-1.5, gap=1.6)
    yield model("x' outside the ball", par=0.4, gap=1.1)
    yield model("moment larger than its mean says", g=9.0)
    yield model("subgradients too long", g=9.0, given=9.0)


def ratio(rng: np.random.Generator) -> Models:
    """A geometric sequence, and what is none."""
    for note, factor, sequence in (
        ("holds", 2.0, 2.0 ** np.arange(1, 6)),
        ("holds", -0.5, (-0.5) ** np.arange(1, 6)),
        ("another start", 2.0, 2.0 ** np.arange(6, 11)),
        ("another growth", 2.0, np.array([2.0, 4.0, 8.0, 17.0, 34.0])),
    ):
        yield Model({"ratio": factor}, {"ratio_sequence": sequence}, note=note)
