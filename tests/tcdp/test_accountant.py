"""The accountant: interface, every scheme against exact lower ends, refusals, a whole example."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Collection
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting import privacy_accountant_test as shipped
from dp_accounting.privacy_accountant import (
    NeighboringRelation,
    PrivacyAccountant,
    UnsupportedEventError,
)

from accountants import ExactAccountant
from accountants.copies import CopyLaw
from accountants.events import dp_sgd_event, sampled_gaussian_event
from accountants.profiles import log_gaussian_delta
from accountants.sampling import (
    Poisson,
    Sampling,
    ShuffledEpochs,
    TruncatedPoisson,
    WeightedWithReplacement,
    WithoutReplacement,
    WithReplacement,
)
from accountants.tcdp import sampled_gaussian as sg
from accountants.tcdp.accountant import TruncatedCdpAccountant
from accountants.tcdp.advanced import Steps, dwork_rothblum_vadhan, optimal_epsilon
from accountants.tcdp.amplification import OutsideRegionError
from accountants.tcdp.families import METHODS
from tests.tcdp import checks, truth

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
GAUSSIAN = dp_accounting.GaussianDpEvent

SCHEMES: tuple[Sampling, ...] = (
    Poisson(1.0),
    Poisson(0.01),
    WithoutReplacement(1000, 10),
    WithReplacement(1000, 10),
    WeightedWithReplacement(0.002, 10),
)


class TruncatedCdpAccountantTest(shipped.PrivacyAccountantTest):  # type: ignore[misc]
    """The class that dp_accounting ships."""

    def _make_test_accountants(self) -> Collection[PrivacyAccountant]:
        return [TruncatedCdpAccountant(relation) for relation in NeighboringRelation]


def of(
    sampling: Sampling,
    sigma: float,
    steps: int,
    relation: NeighboringRelation,
    method: str = "gaussian",
) -> TruncatedCdpAccountant:
    event = dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=steps)
    return TruncatedCdpAccountant(relation, method).compose(event)


@pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda r: r.name)
@pytest.mark.parametrize("sampling", SCHEMES, ids=lambda s: s.scheme)
def test_never_below_the_exact_lower_end(sampling: Sampling, relation: NeighboringRelation) -> None:
    sigma, steps, delta = 4.0, 1000, 1e-6
    event = dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=steps)
    lower = ExactAccountant(relation).compose(event).epsilon_bracket(delta).lower
    for method in ("gaussian", "gaussian-closed", "agnostic"):
        upper = of(sampling, sigma, steps, relation, method).get_epsilon(delta)
        assert lower < upper < 20 * lower, method


def test_above_the_exact_lower_end_where_copies_abound() -> None:
    checks.check_accountant(TruncatedCdpAccountant)


def test_how_loose_it_is() -> None:
    """Derived reference: without replacement the curve is as good as Rényi orders are, 1.6158."""
    value = of(WithoutReplacement(50_000, 256), 2.0, 1000, REPLACE).get_epsilon(1e-6)
    assert value == pytest.approx(1.6158, abs=2e-4)


@pytest.mark.parametrize("method", ["gaussian", "gaussian-closed", "agnostic"])
@pytest.mark.parametrize("sampling", SCHEMES[1:4], ids=lambda s: s.scheme)
def test_delta_and_epsilon_agree(sampling: Sampling, method: str) -> None:
    accountant = of(sampling, 4.0, 500, REPLACE, method)
    for delta in (1e-9, 1e-4):
        epsilon = accountant.get_epsilon(delta)
        assert accountant.get_delta(epsilon) == pytest.approx(delta, rel=1e-6)


def test_unsampled_releases_add_up() -> None:
    """sigma 3 four times and sigma 1.5 once are one release of sigma 3/sqrt(8)."""
    one = TruncatedCdpAccountant(REPLACE).compose(GAUSSIAN(3.0), 4).compose(GAUSSIAN(1.5))
    other = TruncatedCdpAccountant(REPLACE).compose(GAUSSIAN(3 / math.sqrt(8)))
    assert one.get_epsilon(1e-6) == pytest.approx(other.get_epsilon(1e-6), rel=1e-12)
    assert one.curve().curve.rho == pytest.approx(2 * 8 / 9, rel=1e-13)
    assert one.curve().curve.omega == math.inf
    assert len(one) == one.steps == 5


def test_mixed_run() -> None:
    """Order does not matter, parts cost less than the whole, a curve is what it says."""
    parts = [
        dp_sgd_event(sampling=sampling, noise_multiplier=8.0, steps=20) for sampling in SCHEMES[:4]
    ]
    forward, backward = TruncatedCdpAccountant(REPLACE), TruncatedCdpAccountant(REPLACE)
    for part in parts:
        before = forward.get_epsilon(1e-5)
        forward.compose(part)
        assert forward.get_epsilon(1e-5) > before
    backward.compose(dp_accounting.ComposedDpEvent(parts[::-1]))
    assert forward.get_epsilon(1e-5) == pytest.approx(backward.get_epsilon(1e-5), rel=1e-9)
    curve = forward.curve(6.0)
    assert 0 < curve.failure_probability < 20 * 1e-12
    assert curve.epsilon(1e-5) >= forward.get_epsilon(1e-5) * (1 - 1e-6)


def test_truncated_poisson() -> None:
    """The chance of a cut batch is carried: δ never falls below it; without it, plain Poisson."""
    rare = of(TruncatedPoisson(1000, 0.01, 40), 4.0, 100, ADD_REMOVE)
    plain = of(Poisson(0.01), 4.0, 100, ADD_REMOVE)
    assert rare.get_epsilon(1e-5) == pytest.approx(plain.get_epsilon(1e-5), rel=1e-4)
    often = of(TruncatedPoisson(1000, 0.01, 12), 4.0, 100, ADD_REMOVE)
    assert often.get_epsilon(1e-5) == math.inf
    assert often.get_delta(50.0) > 0.9
    none = of(TruncatedPoisson(10, 0.01, 11), 4.0, 100, ADD_REMOVE)
    assert none.get_epsilon(1e-5) == plain.get_epsilon(1e-5)


def test_shuffled_epochs() -> None:
    """One full release for each epoch; nothing is saved by the shuffle."""
    epochs = of(ShuffledEpochs(1000, 100), 4.0, 30, REPLACE)
    assert epochs.steps == 30
    three = TruncatedCdpAccountant(REPLACE).compose(GAUSSIAN(4.0), 3)
    assert epochs.get_epsilon(1e-6) == three.get_epsilon(1e-6)


@pytest.mark.parametrize("relation", list(NeighboringRelation), ids=lambda r: r.name)
@pytest.mark.parametrize("method", METHODS)
def test_ends_of_the_domain(method: str, relation: NeighboringRelation) -> None:
    empty = TruncatedCdpAccountant(relation, method)
    assert empty.get_epsilon(0.0) == empty.get_delta(0.0) == 0.0
    assert bool(empty)
    open_ = TruncatedCdpAccountant(relation, method).compose(dp_accounting.NonPrivateDpEvent())
    assert open_.get_epsilon(0.5) == math.inf
    assert open_.get_delta(1e300) == 1.0
    bare = TruncatedCdpAccountant(relation, method).compose(GAUSSIAN(0.0))
    assert bare.get_epsilon(0.5) == math.inf
    silent = TruncatedCdpAccountant(relation, method).compose(GAUSSIAN(math.inf))
    assert silent.get_epsilon(0.0) == 0.0
    plain = TruncatedCdpAccountant(relation, method).compose(GAUSSIAN(1.0))
    assert plain.get_epsilon(0.0) == math.inf
    assert plain.get_epsilon(1.0) == 0.0
    assert plain.get_delta(math.inf) <= 5e-324
    assert 0 < plain.get_delta(0.0) <= 1


def test_failures_do_not_vanish_at_infinite_epsilon() -> None:
    accountant = of(WithReplacement(100, 10), 3.0, 10, REPLACE)
    assert accountant.get_delta(math.inf) == 0.0  # ten draws: all copies can be counted
    assert accountant.get_epsilon(1e-13) < math.inf
    cut = of(TruncatedPoisson(1000, 0.01, 30), 3.0, 10, REPLACE)
    tail = truth.binomial_tail(1000, 0.01, 29)
    assert cut.get_delta(math.inf) == pytest.approx(-math.expm1(10 * math.log1p(-tail)), rel=1e-6)


def test_records_drawn_many_times() -> None:
    some = of(WithReplacement(10, 20), 1e3, 10, REPLACE)
    assert 0 < some.get_epsilon(1e-6) < 1
    many = of(WithReplacement(10, 10_000), 1e4, 10, REPLACE)
    assert many.get_epsilon(1e-6) == math.inf  # more copies than are counted
    assert many.get_delta(1.0) == 1.0
    # Some 50 copies for sure: sampling is not used, the copies are one shift of up to 100.
    often = of(WithReplacement(10, 500), 300.0, 1, REPLACE)
    exact = ExactAccountant(REPLACE).compose(GAUSSIAN(300.0 / 50))
    assert exact.get_epsilon(1e-6) < often.get_epsilon(1e-6) < 3 * exact.get_epsilon(1e-6)


@pytest.mark.parametrize("sigma", [1e-3, 0.05, 0.3, 300.0, 1e6])
@pytest.mark.parametrize("sampling", SCHEMES[1:4], ids=lambda s: s.scheme)
def test_extreme_noise(sampling: Sampling, sigma: float) -> None:
    accountant = of(sampling, sigma, 3, REPLACE)
    epsilon = accountant.get_epsilon(1e-6)
    assert 0 <= epsilon < math.inf
    assert accountant.get_delta(epsilon) <= 1e-6 * (1 + 1e-5)


def test_counts() -> None:
    step = sampled_gaussian_event(sampling=WithoutReplacement(1000, 10), noise_multiplier=2.0)
    one = TruncatedCdpAccountant().compose(step, 6)
    two = TruncatedCdpAccountant().compose(dp_accounting.SelfComposedDpEvent(step, 3), 2)
    three = TruncatedCdpAccountant().compose(step, 5).compose(step).compose(step, 0)
    assert one.get_epsilon(1e-6) == two.get_epsilon(1e-6) == three.get_epsilon(1e-6)
    assert len(two) == 6
    zero = TruncatedCdpAccountant().compose(step, 0)
    assert zero.get_epsilon(1e-6) == 0.0


def test_copies_are_deep() -> None:
    one = of(Poisson(0.1), 2.0, 10, ADD_REMOVE)
    two = copy.copy(one)
    before = one.get_epsilon(1e-5)
    two.compose(GAUSSIAN(1.0))
    assert one.get_epsilon(1e-5) == before < two.get_epsilon(1e-5)
    assert len(one) == 10


def test_settings_are_json() -> None:
    one = TruncatedCdpAccountant(REPLACE, "agnostic")
    settings = json.loads(json.dumps(one.settings()))
    assert settings == {"neighboring_relation": "REPLACE_ONE", "method": "agnostic"}
    settings["neighboring_relation"] = NeighboringRelation[settings["neighboring_relation"]]
    assert TruncatedCdpAccountant(**settings).settings() == one.settings()


def test_closed_theorems() -> None:
    """Cited without replacement, constant 11 with; both above the numerical ones."""
    for sampling in (WithoutReplacement(50_000, 256), WithReplacement(50_000, 256)):
        closed = of(sampling, 16.0, 1000, REPLACE, "agnostic-closed").get_epsilon(1e-6)
        numeric = of(sampling, 16.0, 1000, REPLACE, "agnostic").get_epsilon(1e-6)
        gaussian = of(sampling, 16.0, 1000, REPLACE).get_epsilon(1e-6)
        assert gaussian < numeric < closed
    curve = of(WithoutReplacement(50_000, 256), 16.0, 1000, REPLACE, "agnostic-closed").curve(9.0)
    assert curve.curve.rho == pytest.approx(1000 * 13 * 0.00512**2 * 2 / 256, rel=1e-12)


@pytest.mark.parametrize(
    ("sampling", "relation", "message"),
    [
        (Poisson(0.1), REPLACE, "no closed mechanism-agnostic theorem for poisson sampling; use"),
        (WithoutReplacement(90, 9), ADD_REMOVE, "is for replacing a record, not for ADD_OR"),
        (WeightedWithReplacement(0.1, 9), REPLACE, "for weighted-with-replacement sampling"),
        (ShuffledEpochs(90, 9), ADD_REMOVE, "shuffled-epochs"),
    ],
)
def test_refused_by_the_method(
    sampling: Sampling, relation: NeighboringRelation, message: str
) -> None:
    accountant = TruncatedCdpAccountant(relation, "agnostic-closed")
    event = sampled_gaussian_event(sampling=sampling, noise_multiplier=9.0)
    assert not accountant.supports(event)
    with pytest.raises(UnsupportedEventError, match=message):
        accountant.compose(event)
    assert len(accountant) == 0


def test_refused_outside_the_region() -> None:
    accountant = of(WithoutReplacement(50_000, 256), 2.0, 10, REPLACE, "agnostic-closed")
    with pytest.raises(OutsideRegionError, match=r"rho=0\.5, .* needs rho <= 0\.1 \(is 0\.5\)"):
        accountant.get_epsilon(1e-6)
    with pytest.raises(OutsideRegionError):
        accountant.get_delta(1.0)
    narrow = of(WithReplacement(50_000, 256), 16.0, 10, REPLACE, "agnostic-closed")
    with pytest.raises(OutsideRegionError, match=r"omega=40\.0: method 'agnostic-closed' does not"):
        narrow.curve(40.0, tail=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.get_epsilon(1.5), r"target_delta=1\.5"),
        (lambda a: a.get_delta(-1.0), r"target_epsilon=-1\.0"),
        (lambda a: a.compose(GAUSSIAN(1.0), -1), "count=-1"),
        (lambda a: a.compose(GAUSSIAN(-1.0)), r"noise_multiplier=-1\.0"),
        (lambda a: a.curve(math.inf), "omega=inf: must be a finite order > 1"),
        (lambda a: a.curve(3.0, tail=0.0), r"tail=0\.0"),
        (lambda a: a.compose(dp_accounting.NonPrivateDpEvent()).curve(3.0), "has no curve"),
        (lambda _: TruncatedCdpAccountant("replace"), "neighboring_relation='replace'"),
        (lambda _: TruncatedCdpAccountant(REPLACE, "best"), "method='best': must be one of gau"),
    ],
)
def test_bad_values_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(of(Poisson(0.1), 1.0, 1, REPLACE))


# n, draws, kappa, s | closed curve, no amplification; derived reference, δ = 1e-6, 216 calls.
EXAMPLE = (
    (100_000, 678, 3, 2.0, 2.6205, 61.16, 33.96),
    (100_000, 678, 3, 4.0, 0.9129, 23.58, 2.442),
    (100_000, 678, 3, 8.0, 0.3432, 9.929, 0.618),
    (10_000, 261, 4, 4.0, 1.8415, 23.58, 23.42),
    (10_000, 261, 4, 8.0, 0.7843, 9.929, 3.846),
)
CALLS = 216


def one_step(law: CopyLaw, gap: float, delta: float) -> float:
    """ε of one sampled release at δ, from sum_k p_k delta_k."""
    p = np.array(law.probabilities[1:])
    k = np.arange(1, p.size + 1)

    def at(inner: float) -> float:
        logs = [float(log_gaussian_delta(inner, float(c * gap))) for c in k]
        return float(p @ np.exp(logs))

    low, high = 0.0, 200.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if at(middle) <= delta else (middle, high)
    return math.log1p(law.present * math.expm1(high))


@pytest.mark.parametrize("row", EXAMPLE, ids=lambda row: f"{row[0]}-{row[3]:g}")
def test_private_oracle_example(row: tuple[float, ...]) -> None:
    n, draws, kappa, noise, closed, plain, advanced = row
    law, gap = CopyLaw.of(int(draws), 1 / n, largest=int(kappa)), 1 / noise
    omegas = np.geomspace(2.0, 60.0, 4000)
    rho = sg.closed_rho(law, gap, omegas)
    from_closed, from_curve = math.inf, math.inf
    for omega, slope in zip(omegas.tolist(), rho.tolist(), strict=True):
        curve = sg.TruncatedCdp(slope, omega)
        part = sg.ApproximateTruncatedCdp(curve, law.tail).repeated(CALLS)
        from_closed = min(from_closed, part.epsilon(1e-6))
    for omega in np.geomspace(3.0, 75.0, 40).tolist():
        part = sg.gaussian_curve(law, gap, omega).repeated(CALLS)
        from_curve = min(from_curve, part.epsilon(1e-6))
    assert from_closed == pytest.approx(closed, abs=6e-5)

    # No amplification: 216 releases with one copy each.
    exact = ExactAccountant().compose(GAUSSIAN(noise), CALLS).get_epsilon(1e-6)
    assert exact == pytest.approx(plain, rel=2e-4)

    # Six sevenths of δ go to the steps, one to the slack.
    step = one_step(law, gap, 6e-6 / 7 / CALLS)
    steps = Steps(step, 6e-6 / 7 / CALLS, CALLS)
    classical, total = dwork_rothblum_vadhan(steps, 1e-6 / 7)
    assert total <= 1e-6 * (1 + 1e-12)
    assert classical == pytest.approx(advanced, rel=1e-3)

    orders = np.linspace(1.2, 90.0, 600)
    spent = 1 - (1 - law.tail) ** CALLS
    left = math.log((1e-6 - spent) / (1 - spent))
    divergence = CALLS * sg.renyi_upper(law, gap, orders)
    renyi = np.min(divergence + np.log1p(-1 / orders) - (left + np.log(orders)) / (orders - 1))
    distribution = privacy_loss_epsilon(law, gap)
    assert distribution < renyi < from_curve < from_closed < min(classical, exact)
    assert optimal_epsilon([steps], 1e-6) < classical


def privacy_loss_epsilon(law: CopyLaw, gap: float) -> float:
    """dp_accounting's privacy loss distribution of the profile, on a coarse grid, pessimistic."""
    from dp_accounting.pld import pld_pmf

    p = np.array(law.probabilities[1:])
    step = 5e-3
    index = np.arange(-700, 701)
    positive = index[index >= 0] * step
    inner = np.log1p(np.expm1(positive) / law.present)
    profile = sum(
        weight * np.exp(log_gaussian_delta(inner, float(k * gap)))
        for k, weight in enumerate(p, start=1)
    )
    # The other half by reversal: δ(-ε) = 1 - exp(-ε) + exp(-ε) δ(ε).
    back = -np.expm1(-positive[1:]) + np.exp(-positive[1:]) * profile[1:]
    deltas = np.concatenate([back[::-1], profile])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, index, deltas)
    spent = 1 - (1 - law.tail) ** CALLS
    value: float = pmf.self_compose(CALLS).get_epsilon_for_delta((1e-6 - spent) / (1 - spent))
    return value
