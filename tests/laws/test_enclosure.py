"""Enclosures of δ against reference values, closed forms and the exact accountant."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import dp_accounting as dp
import flint
import mpmath
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants import ExactAccountant
from accountants.events import WeightedWithReplacementDpEvent
from accountants.laws import ball_lattice, ball_rounding, ball_runs, enclosure
from accountants.laws.ball_pairs import LocationPair, Product, ball
from accountants.laws.ball_runs import Run, Target, closed_form, gathered
from tests.reference.closed_forms import gaussian_delta
from tests.reference.rows import Row, rows

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
RELATIONS = (ADD, REPLACE, SPECIAL)
FAR = math.inf


def gaussian(sigma: float) -> Any:
    return dp.GaussianDpEvent(sigma)


def poisson(q: float, sigma: float, steps: int = 1) -> Any:
    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(q, gaussian(sigma)), steps)


def ends(
    pairs: list[tuple[LocationPair, int]], epsilon: Fraction, log_delta: float, fineness: float
) -> tuple[Any, Any]:
    """(lower, upper) balls of δ for a product of pairs."""
    parts = gathered(Product("", tuple(pairs), True))
    with flint.ctx.workprec(160):
        target = Target(flint.arb(float(epsilon)).mid(), log_delta)
        found = closed_form(parts, target)
        if found is not None:
            return found
        run = Run(parts, target)
        spacing = run.first_spacing / fineness
        return tuple(make(spacing, FAR).delta(target.epsilon) for make in (run.lower, run.upper))


DIRECTIONS = {"remove": (1, 0), "add": (0, 1), "replace": (1, -1)}


def pairs_of(row: Row) -> list[tuple[LocationPair, int]]:
    u, v = DIRECTIONS[row.direction]
    return [
        (LocationPair("normal", 1, q, Fraction(u), Fraction(v), sigma**2), count)
        for q, sigma, count in row.steps
    ]


def cheap(row: Row) -> bool:
    if row.quantity != "epsilon" or row.delta is None or row.number == 0:
        return False
    return 1e-40 < row.delta < 0.5 and sum(count for *_, count in row.steps) < 20_000


CHOSEN = [
    row
    for table, every in (("public_reports", 5), ("neighbours", 8), ("mixed", 6), ("random", 9))
    for row in [r for r in rows(table) if cheap(r) and sum(n for *_, n in r.steps) < 20_000][
        ::every
    ]
]


@pytest.mark.parametrize("row", CHOSEN, ids=str)
def test_reference_values_lie_inside(row: Row) -> None:
    assert row.delta is not None
    # ε is rounded to a float: its own error moves δ by a relative 1e-12 at most.
    epsilon, delta = Fraction(row.number), float(row.delta)
    for fineness in (2.0, 6.0, 18.0):
        low, high = ends(pairs_of(row), epsilon, math.log(delta), fineness)
        assert low <= delta * (1 + 1e-9)
        assert high >= delta * (1 - 1e-9)
        if high <= delta * 3:
            break
    assert high <= delta * 30  # the ends say something, though these spacings are coarse


def test_the_chosen_rows_cover_every_direction() -> None:
    assert {row.direction for row in CHOSEN} == set(DIRECTIONS)
    assert len(CHOSEN) > 15


PAIR = [(LocationPair("normal", 1, Fraction(1, 100), Fraction(1), Fraction(0), Fraction(1)), 100)]


def truth_of_pair() -> float:
    accountant = ExactAccountant(ADD, direction="remove").compose(poisson(0.01, 1.0, 100))
    return accountant.delta_bracket(0.5).lower


@pytest.mark.parametrize("direction", ["remove", "add", "replace"])
def test_both_ends_tighten_like_the_square_of_the_spacing(direction: str) -> None:
    u, v = DIRECTIONS[direction]
    pair = [(LocationPair("normal", 1, Fraction(1, 20), Fraction(u), Fraction(v), Fraction(1)), 64)]
    found = [ends(pair, Fraction(1, 2), -8.0, fineness) for fineness in (3.0, 9.0, 27.0)]
    widths = [float(high / low) - 1 for low, high in found]
    assert widths[1] < widths[0] / 4
    assert widths[2] < widths[1] / 4
    assert widths[2] < 5e-3
    for (low, high), (lower, upper) in itertools.pairwise(found):
        assert not high < lower
        assert not upper < low


@pytest.mark.parametrize("bits", [64, 128])
def test_more_bits_keep_the_ends(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = ends(PAIR, Fraction(1, 2), -9.0, 8.0)
    monkeypatch.setattr(ball_runs, "LATTICE_BITS", bits)
    other = ends(PAIR, Fraction(1, 2), -9.0, 8.0)
    assert other[0] <= high
    assert low <= other[1]


# ------------------------------------------------------------------------- what must be caught


def _up_instead_of_down(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ball_rounding.merged

    def wrong(cells: Any, lattice: Any) -> Any:
        law = right(cells, lattice)
        shift = (lattice.tilt * lattice.step).exp()
        return ball_lattice.LatticeLaw(law.start + 1, [mass * shift for mass in law.masses])

    monkeypatch.setattr(ball_runs, "merged", wrong)


def _dropped_mass_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ball_lattice, "_WINDOW", 1.0)
    monkeypatch.setattr(ball_runs, "tilted_total", lambda laws: flint.arb(0))


def _tail_of_outputs_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ball_rounding.spread

    def wrong(cells: Any, lattice: Any) -> Any:
        total, kept = 0.0, []
        for cell in cells:
            total += float(cell.first)
            if total < 0.999:
                kept.append(cell)
        law, _ = right(kept, lattice)
        return law, flint.arb(0)

    monkeypatch.setattr(ball_runs, "spread", wrong)


def _down_instead_of_up(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ball_rounding.spread

    def wrong(cells: Any, lattice: Any) -> Any:
        law, lost = right(cells, lattice)
        shift = (-lattice.tilt * lattice.step).exp()
        return ball_lattice.LatticeLaw(law.start - 1, [mass * shift for mass in law.masses]), lost

    monkeypatch.setattr(ball_runs, "spread", wrong)


def _losses_of_other_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ball_rounding.Lattice, "loss", lambda self, k: (k - 1) * self.step)


def inside(fineness: float) -> bool:
    low, high = ends(PAIR, Fraction(1, 2), -9.0, fineness)
    true = truth_of_pair()
    return bool(low <= true * (1 + 1e-9)) and bool(high >= true * (1 - 1e-9))


@pytest.mark.parametrize(
    "wrong",
    [
        _up_instead_of_down,
        _dropped_mass_forgotten,
        _tail_of_outputs_forgotten,
        _down_instead_of_up,
        _losses_of_other_points,
    ],
)
def test_wrong_enclosures_miss_the_truth(
    wrong: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert inside(6.0)
    wrong(monkeypatch)
    assert not inside(6.0)


def test_halved_sensitivities_miss_the_truth() -> None:
    half = [
        (LocationPair("normal", 1, p.share, p.first / 2, p.second, p.variance), n) for p, n in PAIR
    ]
    assert ends(half, Fraction(1, 2), -9.0, 6.0)[1] < truth_of_pair()
    double = [
        (LocationPair("normal", 1, p.share, p.first * 2, p.second, p.variance), n) for p, n in PAIR
    ]
    assert ends(double, Fraction(1, 2), -9.0, 6.0)[0] > truth_of_pair()


# ------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("sigma", "steps", "epsilon"),
    [(1.0, 1, 0.0), (2.5, 100, 9.0), (1e4, 10**8, 3.0), (0.02, 1, 1400.0), (1.0, 1, 38.0)],
)
def test_plain_gaussians(relation: Any, sigma: float, steps: int, epsilon: float) -> None:
    event = dp.SelfComposedDpEvent(gaussian(sigma), steps)
    found = enclosure.delta_enclosure(event, relation, epsilon)
    move = 2 if relation is REPLACE else 1
    with mpmath.mp.workdps(60):
        gap = move * mpmath.sqrt(steps) / mpmath.mpf(sigma)
        point = mpmath.mpf(epsilon)
        true = mpmath.ncdf(gap / 2 - point / gap) - mpmath.exp(point) * mpmath.ncdf(
            -gap / 2 - point / gap
        )
        assert found.lower <= true <= found.upper
        assert found.upper <= found.lower * (1 + 1e-14) + 1e-323


def hockey_stick(p: Any, q: Any, epsilon: float, around: list[float]) -> Any:
    """∫ (p - e^ε q)+ by quadrature between the points where it changes sign."""
    factor = mpmath.exp(mpmath.mpf(epsilon))

    def excess(x: Any) -> Any:
        return p(x) - factor * q(x)

    grid = [mpmath.mpf(-40) + mpmath.mpf(k) / 4 for k in range(321)]
    total, edges = mpmath.mpf(0), [mpmath.mpf(-40)]
    for a, b in itertools.pairwise(grid):
        if (excess(a) > 0) != (excess(b) > 0):
            edges.append(mpmath.findroot(excess, (a, b), solver="anderson"))
    edges.append(mpmath.mpf(40))
    for a, b in itertools.pairwise(edges):
        if excess((a + b) / 2) > 0:
            cuts = sorted({a, b, *(mpmath.mpf(c) for c in around if a < c < b)})
            total += mpmath.quad(excess, cuts)
    return total


def mixture(chances: list[Any], shifts: list[float], sigma: float) -> Callable[[Any], Any]:
    return lambda x: mpmath.fsum(
        c * mpmath.npdf(x, s, sigma) for c, s in zip(chances, shifts, strict=True)
    )


ONCE = [0.75, 0.25]
TWICE = [0.5625, 0.375, 0.0625]
COIN = dp.PoissonSampledDpEvent(0.25, gaussian(1.5))
SUBSET = dp.SampledWithoutReplacementDpEvent(8, 2, gaussian(1.5))
DRAWS = dp.SampledWithReplacementDpEvent(4, 2, gaussian(1.5))
WEIGHTS = WeightedWithReplacementDpEvent(0.25, 2, gaussian(1.5))
ONE_STEP = [
    (COIN, ADD, (ONCE, [0, 1]), ([1], [0])),
    (COIN, REPLACE, (ONCE, [0, 1]), (ONCE, [0, -1])),
    (SUBSET, ADD, (ONCE, [0, 2]), ([1], [0])),
    (SUBSET, REPLACE, (ONCE, [0, 2]), ([1], [0])),
    (SUBSET, SPECIAL, (ONCE, [0, 2]), (ONCE, [0, 1])),
    (DRAWS, ADD, (TWICE, [0, 2, 4]), ([1], [0])),
    (WEIGHTS, SPECIAL, (TWICE, [0, 2, 4]), (TWICE, [0, 1, 2])),
]


@pytest.mark.parametrize(("event", "relation", "p", "q"), ONE_STEP)
@pytest.mark.parametrize("epsilon", [0.125, 1.0])
def test_one_step_against_quadrature(
    event: Any, relation: Any, p: Any, q: Any, epsilon: float
) -> None:
    found = enclosure.delta_enclosure(event, relation, epsilon)
    with mpmath.mp.workdps(25):
        first, second = mixture(*p, 1.5), mixture(*q, 1.5)
        pieces = [-10.0, -3.0, 0.0, 3.0, 10.0]
        both = [hockey_stick(a, b, epsilon, pieces) for a, b in ((first, second), (second, first))]
    assert found.lower >= float(max(both)) * (1 - 1e-12)  # other pairs may be ahead
    exact = relation is ADD or isinstance(event, dp.PoissonSampledDpEvent)
    if exact:
        assert found.lower <= float(max(both)) * (1 + 1e-12)
        assert found.upper == pytest.approx(float(max(both)), rel=1e-12)
    else:
        assert found.upper == 1.0


def test_constant_others_that_are_not_opposite_may_be_worst() -> None:
    """Three draws out of three: 0.45735 with the others at 0, 0.43661 with them at -1."""
    event = dp.SampledWithReplacementDpEvent(3, 3, gaussian(1.4))
    found = enclosure.delta_enclosure(event, REPLACE, 0.0)
    assert found.lower == pytest.approx(0.45735, abs=1e-5)
    assert enclosure.too_small(event, REPLACE, 0.0, 0.4573) is not None
    assert enclosure.too_small(event, REPLACE, 0.0, 0.4574) is None


def test_the_masses_of_copies_sum_to_one() -> None:
    from accountants.laws.ball_masses import Masses

    with flint.ctx.workprec(96):
        pair = LocationPair(
            "normal", 10**6, Fraction(1, 10**6), Fraction(2), Fraction(0), Fraction(1)
        )
        masses = Masses(pair, -60.0)
        total = sum(masses.weights, masses.tail)
        assert total.overlaps(flint.arb(1))
        assert masses.tail.upper() < flint.arb(-60).exp()
        first, second = masses.between(None, None)
        assert first.overlaps(flint.arb(1))
        assert second.overlaps(flint.arb(1))
        cut = masses.at(0.7)
        left, right = masses.between(None, cut), masses.between(cut, None)
        assert (left[0] + right[0]).overlaps(flint.arb(1))
        assert (left[1] + right[1]).overlaps(flint.arb(1))


def test_reference_gaussian_agrees() -> None:
    with mpmath.mp.workdps(40):
        true = gaussian_delta(mpmath.mpf(1), mpmath.mpf(2))
    with flint.ctx.workprec(120):
        from accountants.laws.ball_single import gaussian as closed

        assert abs(float(closed(Fraction(1), ball(Fraction(2)))) - float(true)) < 1e-15
