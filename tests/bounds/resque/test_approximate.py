"""Rényi divergence, total variation, couplings, and what is cut off, on random finite laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bounds.catalogue import theorem

Law = np.ndarray[Any, np.dtype[np.float64]]


def delta(p: Law, q: Law, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def moment(p: Law, q: Law, order: float) -> float:
    """exp((a - 1) D_a)."""
    return float((p**order * q ** (1 - order)).sum())


def laws(rng: np.random.Generator, count: int, outcomes: int = 5) -> Law:
    return rng.dirichlet(np.full(outcomes, 0.7), size=count) * 0.999 + 0.001 / outcomes


def test_total_variation_three_ways_and_conditioning() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        p, q = laws(rng, 2)
        apart = np.abs(p - q).sum() / 2
        assert apart == pytest.approx(1 - np.minimum(p, q).sum())
        assert apart == pytest.approx(delta(p, q, 0.0))
        event = rng.random(5) < 0.6
        event[0] = True
        mass = p[event].sum()
        given = np.where(event, p / mass, 0)
        assert np.abs(given - p).sum() / 2 == pytest.approx(1 - mass)


def test_maximal_coupling_by_sampling() -> None:
    """Draw from min(P, Q), otherwise from the two surpluses: right marginals, agreement 1 - TV."""
    rng = np.random.default_rng(2)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    common = np.minimum(p, q)
    size = 200_000
    agree = rng.random(size) < common.sum()
    both = rng.choice(3, size=size, p=common / common.sum())
    x = np.where(agree, both, rng.choice(3, size=size, p=(p - common) / (p - common).sum()))
    y = np.where(agree, both, rng.choice(3, size=size, p=(q - common) / (q - common).sum()))
    apart = np.abs(p - q).sum() / 2
    assert (x != y).mean() == pytest.approx(apart, abs=0.006)
    assert np.bincount(x) / size == pytest.approx(p, abs=0.006)
    assert np.bincount(y) / size == pytest.approx(q, abs=0.006)


def test_mixtures_do_not_exceed_their_members() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        order = float(rng.choice([1.1, 2.0, 5.0, 20.0]))
        ps, qs = laws(rng, 3), laws(rng, 3)
        share = rng.dirichlet(np.ones(3))
        mean = sum(s * moment(p, q, order) for s, p, q in zip(share, ps, qs, strict=True))
        assert moment(share @ ps, share @ qs, order) <= mean * (1 + 1e-12)


def test_gaussian_divergence() -> None:
    value = theorem("resque.definitions.renyi").evaluate(order=3, shift=0.8)
    assert value == pytest.approx(3 * 0.64 / 2)
    x = np.linspace(-15, 15, 20_001)
    p, q = (np.exp(-((x - m) ** 2) / 2) for m in (0.8, 0.0))
    p, q = p / p.sum(), q / q.sum()
    assert math.log(moment(p, q, 3)) / 2 == pytest.approx(value, rel=1e-9)


def test_divergence_grows_with_its_order_and_adds_up() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        p, q = laws(rng, 2)
        orders = np.sort(rng.uniform(1.05, 15, size=2))
        small, large = (math.log(moment(p, q, a)) / (a - 1) for a in orders)
        assert small <= large + 1e-12
        # The second mechanism depends on the first output.
        ps, qs = laws(rng, 5), laws(rng, 5)
        worst = max(math.log(moment(a, b, 2)) for a, b in zip(ps, qs, strict=True))
        joint_p, joint_q = p[:, None] * ps, q[:, None] * qs
        total = math.log(moment(joint_p, joint_q, 2))
        assert total <= math.log(moment(p, q, 2)) + worst + 1e-12


def test_conversion_holds_on_random_laws_with_a_part_cut_off() -> None:
    rng = np.random.default_rng(5)
    convert = theorem("resque.approximate")
    for _ in range(200):
        good_p, good_q, bad_p, bad_q = laws(rng, 4)
        zeta = float(rng.uniform(0, 0.2))
        p, q = (1 - zeta) * good_p + zeta * bad_p, (1 - zeta) * good_q + zeta * bad_q
        order, epsilon = float(rng.uniform(1.2, 12)), float(rng.uniform(0.05, 3))
        bound = convert.evaluate(
            failure_probability=zeta,
            order=order,
            divergence=max(0.0, math.log(moment(good_p, good_q, order)) / (order - 1)),
            target_epsilon=epsilon,
        )
        assert delta(p, q, epsilon) <= bound + 1e-12


def test_epsilon_of_the_conversion_gives_back_delta() -> None:
    convert = theorem("resque.approximate")
    given: dict[str, Any] = {"failure_probability": 1e-7, "order": 12, "divergence": 0.3}
    epsilon = convert.evaluate("epsilon", target_delta=1e-6, **given)
    assert convert.evaluate(target_epsilon=epsilon, **given) == pytest.approx(1e-6)


def test_sampling_costs_the_failure_only_where_the_record_is_drawn() -> None:
    """Random laws: eta zeta is enough, and the amplified profile is exact joint convexity."""
    rng = np.random.default_rng(6)
    sampling = theorem("resque.approximate.sampling")
    for _ in range(40):
        untouched, p, q = laws(rng, 3)
        eta, epsilon = float(rng.uniform(0, 1)), float(rng.uniform(0.05, 2))
        worst = max(delta(p, q, epsilon), delta(p, untouched, epsilon))
        zeta = float(rng.uniform(0, worst))
        rest = (worst - zeta) / (1 - zeta)
        amplified = sampling.evaluate(
            "amplified epsilon", touch_probability=eta, target_epsilon=epsilon
        )
        bound = sampling.evaluate(
            touch_probability=eta, failure_probability=zeta, touched_delta=max(rest, 0.0)
        )
        whole_p, whole_q = ((1 - eta) * untouched + eta * law for law in (p, q))
        assert delta(whole_p, whole_q, amplified) <= bound + 1e-12
        assert bound == pytest.approx(eta * worst)


def test_composition_of_what_is_cut_off() -> None:
    value = theorem("resque.approximate.composition").evaluate(
        failure_probability=0.1, second_failure_probability=0.2
    )
    assert value == pytest.approx(0.28)
