"""Finite models of the distances between laws and of approximate privacy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bounds.model import Model
from bounds.resque.estimator_models import coin, normal
from bounds.resque.symbols import (
    a_len,
    delta_far,
    eta_b,
    order,
    tau_1,
    tau_2,
    zeta,
    zeta_2,
)
from bounds.symbols import eps_dp

__all__ = [
    "approximate",
    "approximate_composition",
    "composition",
    "conditioning",
    "coupling",
    "definitions",
    "quasi_convexity",
    "renyi",
    "renyi_order",
    "sampling",
    "tv",
]

#: What a generator of models yields.
Models = Iterator[Model]
#: Two laws on three outcomes.
P = np.array([0.5, 0.3, 0.2])
#: The second of them.
Q = np.array([0.1, 0.3, 0.6])


def _laws(rng: np.random.Generator, count: int) -> Any:
    return rng.dirichlet(np.ones(3), size=count) * 0.94 + 0.02


def tv(rng: np.random.Generator) -> Models:
    """Total variation of two laws on three outcomes."""
    for note, p, q in (
        ("holds", P, Q),
        ("holds", *_laws(rng, 2)),
        ("equal laws", P, P),
        ("P is no law", 2 * P, Q),
        ("Q is no law", P, 2 * Q),
    ):
        yield Model({"outcomes": 3}, {"prob_p": p, "prob_q": q}, note=note)


def conditioning(rng: np.random.Generator) -> Models:
    """A law and the same given an event."""
    event = np.array([1.0, 0.0, 1.0])
    for note, p, happens, mass in (
        ("holds", P, event, 0.7),
        ("holds", Q, np.array([1.0, 1.0, 0.0]), 0.4),
        ("P is no law", P + np.array([0.0, 0.5, 0.0]), event, 0.7),
        ("no event", P, np.array([0.5, 0.0, 2.25]), 0.7),
        ("wrong mass", P, event, 0.9),
    ):
        yield Model({"outcomes": 3, "mass": mass}, {"prob_p": p, "event": happens}, note=note)


def _drawn_together(joint: Any, p: Any, q: Any, note: str, size: float = 1.0) -> Model:
    rows, columns = np.meshgrid(range(3), range(3), indexing="ij")
    at_p = size * np.array([(rows == k).reshape(-1) for k in range(3)], dtype=float)
    at_q = size * np.array([(columns == k).reshape(-1) for k in range(3)], dtype=float)
    processes = {"prob_p": p, "prob_q": q, "at_p": at_p, "at_q": at_q}
    weights = np.asarray(joint).reshape(-1)
    return Model({"outcomes": 3}, processes, weights / weights.sum(), note=note)


def coupling(rng: np.random.Generator) -> Models:
    """Two laws drawn together: independently, maximally, and with wrong marginals."""
    common = np.minimum(P, Q)
    maximal = np.diag(common) + np.outer(P - common, Q - common) / (P - common).sum()
    yield _drawn_together(np.outer(P, Q), P, Q, "independent")
    yield _drawn_together(maximal, P, Q, "maximal: attained")
    yield _drawn_together(np.diag(P), P, P, "equal laws")
    yield _drawn_together(np.diag(P), P, Q, "x' has the wrong law")
    yield _drawn_together(np.diag(Q), P, Q, "x has the wrong law")
    many = np.full(3, 0.9)
    at_q = np.repeat(np.eye(3), 2, axis=1)
    at_p = np.tile([0.0, 1.0], (3, 3))
    weights = np.repeat(Q, 2) * np.tile([0.1, 0.9], 3)
    for note, p, q, x, y in (
        ("P is no law", many, Q, at_p, at_q),
        ("Q is no law", Q, many, at_q, at_p),
    ):
        processes = {"prob_p": p, "prob_q": q, "at_p": x, "at_q": y}
        yield Model({"outcomes": 3}, processes, weights, note=note)
    late = np.array([0.0, 0.0, 0.0, 10.0])
    processes = {"prob_p": P, "prob_q": Q, "at_p": np.outer(P, late), "at_q": np.outer(Q, late)}
    rare = np.array([0.3, 0.3, 0.3, 0.1])
    yield Model({"outcomes": 3}, processes, rare, note="more than one outcome at a time")


def quasi_convexity(rng: np.random.Generator) -> Models:
    """Mixtures of two pairs of laws."""

    def model(note: str, a: float, p: Any, q: Any, mix_p: float = 1.0, mix_q: float = 1.0) -> Model:
        share = np.array([0.3, 0.7])
        processes = {
            "member": share,
            "dens_p": p,
            "dens_q": q,
            "mix_p": mix_p * (share @ p),
            "mix_q": mix_q * (share @ q),
        }
        return Model({"outcomes": 3, "members": 2, order: a}, processes, note=note)

    p, q = np.array([P, Q]), np.array([Q, P])
    yield model("holds", 2.0, p, q)
    yield model("equal members: attained", 3.0, np.array([P, P]), np.array([Q, Q]))
    yield model("holds", 1.5, _laws(rng, 2), _laws(rng, 2))
    yield model("P is another mixture", 2.0, np.array([P, P]), np.array([Q, Q]), mix_p=2.0)
    yield model("Q is another mixture", 2.0, np.array([P, P]), np.array([Q, Q]), mix_q=0.5)
    yield model("order below 1", 0.5, p, q)


def renyi(rng: np.random.Generator) -> Models:
    """Two Gaussians."""

    def model(law: tuple[Any, Any], note: str, a: float, shift: float, off: float = 1.0) -> Model:
        z, weights = law
        w = off * np.exp(shift * z - shift**2 / 2)
        return Model({order: a, a_len: shift}, {"Z1": z, "w_a": w}, weights, note=note)

    for a, shift in ((2.0, 0.5), (3.0, 0.3), (1.5, float(rng.uniform(0, 1)))):
        yield model(normal(), "holds", a, shift)
    yield model(coin(), "not Gaussian", 2.0, 0.5)
    yield model(normal(), "not normalised", 2.0, 0.5, 1.3)


def definitions(rng: np.random.Generator) -> Models:
    """All together."""

    def model(note: str, **change: Any) -> Model:
        case: dict[str, Any] = {
            "law": normal(),
            "p": P,
            "q": Q,
            "event": np.array([1.0, 0.0, 1.0]),
            "mass": 0.7,
            "off": 1.0,
        }
        case.update(change)
        z, weights = case["law"]
        processes = {
            "prob_p": case["p"],
            "prob_q": case["q"],
            "event": case["event"],
            "Z1": z,
            "w_a": case["off"] * np.exp(0.5 * z - 0.125),
        }
        values = {"outcomes": 3, "mass": case["mass"], order: 2.0, a_len: 0.5}
        return Model(values, processes, weights, note=note)

    yield model("holds")
    yield model("P is no law", p=P + np.array([0.0, 0.5, 0.0]))
    yield model("Q is no law", q=2 * Q)
    yield model("no event", event=np.array([0.5, 0.0, 2.25]))
    yield model("wrong mass", mass=0.9)
    yield model("not normalised", off=1.3)
    yield model("not Gaussian", law=coin())


def renyi_order(rng: np.random.Generator) -> Models:
    """A random density ratio."""
    for note, one, two, ratio in (
        ("holds", 1.0, 2.0, P / Q),
        ("constant ratio: attained", 1.0, 2.0, np.ones(3)),
        ("holds", 0.3, 4.0, rng.uniform(0.1, 3, size=3)),
        ("smaller second order", 2.0, 1.0, P / Q),
    ):
        yield Model({"excess": one, "excess_2": two}, {"ratio": ratio}, P, note=note)


def composition(rng: np.random.Generator) -> Models:
    """Two ratios, the second with a law that depends on the first output."""

    def model(note: str, bound_1: float, bound_2: float, depends: float, given: float) -> Model:
        first = np.repeat(P / Q, 2)
        second = np.tile([0.5, 1.5], 3) * (1 + depends * (first > 1))
        mean = np.full(6, 0.5 * (0.5**2 + 1.5**2)) * (1 + depends * (first > 1)) ** 2
        processes = {"ratio_1": first, "ratio_2": second, "given_1": given * mean}
        weights = np.repeat(Q, 2) / 2
        values = {order: 2.0, tau_1: bound_1, tau_2: bound_2}
        return Model(values, processes, weights, note=note)

    one = float(np.log((P**2 / Q).sum()))
    two = float(np.log(1.25))
    yield model("attained", one, two, 0.0, 1.0)
    yield model("a second mechanism that depends", one, two + 2 * float(np.log(1.2)), 0.2, 1.0)
    yield model("first divergence larger", 0.0, two, 0.0, 1.0)
    yield model("second divergence larger", one, 0.0, 0.0, 1.0)
    yield model("a mean that is not the mean", one, 0.0, 0.0, 0.8)


def approximate(rng: np.random.Generator) -> Models:
    """Laws with a part cut off."""

    def model(note: str, **change: Any) -> Model:
        case: dict[str, Any] = {
            "zeta": 0.1,
            "order": 3.0,
            "eps": 0.5,
            "p": P,
            "q": Q,
            "bad": np.array([0.0, 0.0, 1.0]),
            "add_p": 0.0,
            "cut_q": 1.0,
            "loss": None,
            "tau": None,
        }
        case.update(change)
        p, q, z, a = case["p"], case["q"], case["zeta"], case["order"]
        bad_q = np.array([1.0, 0.0, 0.0])
        loss = np.log(p / q) if case["loss"] is None else case["loss"]
        tau = float(np.log((q * np.exp(a * loss)).sum()) / (a - 1))
        processes = {
            "good_p": p,
            "good_q": q,
            "bad_p": case["bad"],
            "bad_q": bad_q,
            "law_p": (1 - z) * p + z * case["bad"] + case["add_p"],
            "law_q": case["cut_q"] * ((1 - z) * q + z * bad_q),
            "loss": loss,
        }
        values = {
            "outcomes": 3,
            zeta: z,
            order: a,
            eps_dp: case["eps"],
            tau_1: max(tau, 0.0) if case["tau"] is None else case["tau"],
        }
        return Model(values, processes, note=note)

    yield model("holds")
    yield model("nothing cut off", zeta=0.0)
    p, q = _laws(rng, 2)
    yield model("holds", p=p, q=q, eps=1.0, order=6.0)
    yield model("P is something else", add_p=2.0)
    yield model("Q is something else", q=P, cut_q=0.0, order=8.0, eps=1.5)
    yield model("the part cut off is no law", q=P, bad=np.array([0.0, 0.0, 40.0]), eps=1.5)
    # Both laws are the same but for the part cut off, and that is seen nowhere else: delta = zeta.
    same = np.array([0.5, 0.5 - 1e-12, 1e-12])
    yield model("nothing counts but the part cut off", p=same, q=same, eps=10.0)
    far: dict[str, Any] = {"p": np.array([0.98, 0.01, 0.01]), "q": np.array([0.01, 0.01, 0.98])}
    yield model("a loss that is not the loss", loss=np.full(3, -2.0), tau=0.0, **far)
    yield model("a divergence that is not the bound", tau=0.0, **far)
    yield model("order below 1", order=0.5, **far)


def approximate_composition(rng: np.random.Generator) -> Models:
    """Two mechanisms with parts that are kept."""

    def model(note: str, **change: Any) -> Model:
        case: dict[str, Any] = {"z1": 0.1, "z2": 0.2, "size": (1.0, 1.0, 1.0, 1.0), "swap": ""}
        case.update(change)
        bad = np.array([0.0, 0.2, 0.8])
        kept, kept_2 = P * case["size"][2], np.array([P, Q, P]) * case["size"][3]
        first = ((1 - case["z1"]) * P + case["z1"] * bad) * case["size"][0]
        second = ((1 - case["z2"]) * np.array([P, Q, P]) + case["z2"] * bad) * case["size"][1]
        if case["swap"] == "first":
            first = bad
        if case["swap"] == "second":
            second = np.array([bad, bad, bad])
        processes = {"first": first, "second": second, "kept": kept, "kept_2": kept_2}
        values = {"outcomes": 3, "outcomes_2": 3, zeta: case["z1"], zeta_2: case["z2"]}
        return Model(values, processes, note=note)

    yield model("holds")
    yield model("nothing cut off", z1=0.0, z2=0.0)
    yield model("the first law does not hold its part", swap="first")
    yield model("the second law does not hold its part", swap="second")
    yield model("the first output has no law", size=(2.0, 1.0, 1.0, 1.0))
    yield model("the second output has no law", size=(1.0, 2.0, 1.0, 1.0))
    yield model("the first part is no law", size=(1.0, 1.0, 0.5, 1.0))
    yield model("the second part is no law", size=(1.0, 1.0, 1.0, 0.5))


def sampling(rng: np.random.Generator) -> Models:
    """Output laws given that the record is drawn, and not."""

    def model(note: str, laws: Any, eta: float, cut: float, far: tuple[bool, bool]) -> Model:
        untouched, p, q = laws
        epsilon = 0.4
        exceeds = [
            float(np.maximum(p - np.exp(epsilon) * other, 0).sum()) for other in (q, untouched)
        ]
        worst = max(each for each, counts in zip(exceeds, far, strict=True) if counts)
        failure = cut * worst
        values = {
            "outcomes": 3,
            eta_b: eta,
            zeta: failure,
            eps_dp: epsilon,
            delta_far: (worst - failure) / (1 - failure),
        }
        return Model(values, {"untouched": untouched, "touched_p": p, "touched_q": q}, note=note)

    yield model("attained", (Q, P, Q), 0.3, 0.0, (True, True))
    yield model("attained, with failures", (Q, P, Q), 0.3, 0.5, (True, True))
    yield model("holds", _laws(rng, 3), 0.6, 0.3, (True, True))
    yield model("neighbours further apart", (P, P, Q), 0.9, 0.2, (False, True))
    p, q = np.array([0.58, 0.3, 0.12]), np.array([0.4, 0.5, 0.1])
    elsewhere = np.array([0.01, 0.01, 0.98])
    yield model("replaced copies further apart", (elsewhere, p, q), 0.1, 0.2, (True, False))
    near, same = np.array([0.38, 0.31, 0.31]), np.array([0.1, 0.45, 0.45])
    yield model("no probability", (near, same, same), 1.5, 0.0, (True, True))
