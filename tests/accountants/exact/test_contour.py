"""The contour sum: published values, its bar, and the bounds it rests on.

The reference values were computed in ball arithmetic at 50 to 60 digits by two independent
runs with different contours, steps and node sets; the digits given are those that agreed.
"""

import math

import numpy as np
import pytest

from accountants.exact import contour, cumulants, estimates, inversion
from accountants.exact.composition import Composition
from accountants.exact.contour import Contour, Placement, absolute_bound, place
from accountants.exact.inversion import delta_value, epsilon_bracket
from accountants.pairs import SampledGaussianPair
from tests.accountants.exact.settings import ADD, REMOVE, composition

# (q, sigma, steps, direction, ε, δ); shifts other than 1 are folded into sigma
TABLE = {
    "D1": (0.01, 1, 1000, REMOVE, 2, 2.66557192476179025241729e-6),
    "D1 reversed": (0.01, 1, 1000, ADD, 2, 1.06716202136867733330767e-9),
    "D2": (256 / 50000, 0.5, 2000, REMOVE, 8, 1.73108628375860610015977e-4),
    "D2 reversed": (256 / 50000, 0.5, 2000, ADD, 8, 2.736664306199648882e-86),
    "D3": (256 / 50000, 1, 20000, REMOVE, 6, 1.36821771907024697318029e-9),
    "D3 reversed": (256 / 50000, 1, 20000, ADD, 6, 3.15888465667546519814571e-11),
    "D5": (0.5, 100, 1_000_000, REMOVE, 20, 4.73294401713347645265707e-2),
    "D5 reversed": (0.5, 100, 1_000_000, ADD, 20, 4.73164886276321696154669e-2),
    "D6": (0.1, 0.5, 500, REMOVE, 100, 4.84013335266085650962222e-9),
    "D8": (1e-5, 1, 10**8, REMOVE, 1, 3.4000325803038683859029e-16),
    "D8 reversed": (1e-5, 1, 10**8, ADD, 1, 3.0885397223359175225227e-16),
    "D12": (0.01, 0.3, 1000, REMOVE, 80, 5.87768973582807871691361e-7),
    "D13": (1e-6, 1, 10**8, REMOVE, 0.05, 2.16688880530679062253087e-7),
}


@pytest.mark.parametrize("name", TABLE)
def test_published_values(name):
    q, sigma, steps, direction, epsilon, delta = TABLE[name]
    run = composition(q, sigma, steps, direction)
    found = delta_value(run, epsilon)
    assert found.lower - 1e-15 <= math.log(delta) <= found.upper + 1e-15
    assert abs(math.expm1(0.5 * (found.lower + found.upper) - math.log(delta))) < 1e-9
    inverse = epsilon_bracket(run, math.log(delta))
    assert inverse.lower <= epsilon <= inverse.upper
    assert inverse.width < 1e-8


def test_short_periods_add_images_and_the_bound_sees_them():
    """A period too short overstates δ, by what the sum over images says, within the bound."""
    q, sigma, steps, direction, epsilon, delta = TABLE["D1"]
    run = composition(q, sigma, steps, direction)
    tilt = 4.0821
    for period, error in ((3.0, 3.0374802839e-06), (4.0, 7.0069074007e-08)):
        table, _ = estimates.table_for_epsilon(run, epsilon)
        one = Contour(
            run, Placement(tilt, period), table, log_delta=math.log(delta), epsilon=epsilon
        )
        scale, total, _ = one.raw(epsilon)
        excess = math.exp(scale) * total - delta
        assert excess == pytest.approx(error, rel=1e-6)
        assert excess <= math.exp(one.images(epsilon))


def test_a_bound_blind_to_the_right_tail_is_caught():
    """The rule that looks at the width of the loss only leaves a relative error of 1e-5."""
    q, sigma, steps, direction, epsilon, delta = TABLE["D1"]
    run = composition(q, sigma, steps, direction)
    table, _ = estimates.table_for_epsilon(run, epsilon)
    right = place(table, epsilon, math.log(delta))
    deviation = math.sqrt(float(np.interp(right.tilt, table.c, table.curvature)))
    blind = Contour(
        run,
        Placement(right.tilt, 12 * deviation),
        table,
        log_delta=math.log(delta),
        epsilon=epsilon,
    )
    value = blind.evaluate(epsilon)
    assert math.expm1(value.log_value - math.log(delta)) > 1e-6
    assert value.log_lower <= math.log(delta) <= value.log_upper  # the bar covers it all the same
    assert value.relative_error > 1e-6


@pytest.mark.parametrize("name", ["D1", "D3", "D5", "D8", "D12", "D13"])
def test_coarse_nodes_are_covered_by_the_bar(name):
    """With too few nodes in u the value is off, and the bar says so."""
    q, sigma, steps, direction, epsilon, delta = TABLE[name]
    run = composition(q, sigma, steps, direction)
    table, _ = estimates.table_for_epsilon(run, epsilon)
    for refine in (3.0, 2.0, 1.5):
        one = Contour(
            run,
            place(table, epsilon, math.log(delta)),
            table,
            log_delta=math.log(delta),
            epsilon=epsilon,
            refine=refine,
        )
        value = one.evaluate(epsilon)
        assert value.log_lower <= math.log(delta) <= value.log_upper
    assert value.relative_error < 1e3


def test_the_bar_would_miss_without_its_quadrature_part(monkeypatch):
    q, sigma, steps, direction, epsilon, delta = TABLE["D1"]
    run = composition(q, sigma, steps, direction)
    table, _ = estimates.table_for_epsilon(run, epsilon)

    def build():
        return Contour(
            run,
            place(table, epsilon, math.log(delta)),
            table,
            log_delta=math.log(delta),
            epsilon=epsilon,
            refine=2.2,
        )

    assert build().evaluate(epsilon).log_lower <= math.log(delta)

    def blind(self):
        self._relative = np.full_like(self._t, 1e-15)
        self._size_moment = 0.0
        self._size_error = 0.0
        self._psi_bar = self._mean_bar = 0.0

    monkeypatch.setattr(contour.Contour, "_estimate_quadrature", blind)
    value = build().evaluate(epsilon)
    assert not value.log_lower <= math.log(delta) <= value.log_upper


@pytest.mark.parametrize("name", [n for n in TABLE if n != "D2 reversed"])
def test_estimates_and_bounds_stand_in_order(name):
    q, sigma, steps, direction, epsilon, delta = TABLE[name]
    run = composition(q, sigma, steps, direction)
    table, _ = estimates.table_for_epsilon(run, epsilon)
    assert math.log(delta) <= absolute_bound(run, table, epsilon)
    assert math.log(delta) <= table.log_chernoff(epsilon) + 1e-6


def test_plain_gaussian_releases_alone_match_the_closed_form():
    from accountants.profiles import gaussian_error, log_gaussian_delta

    for gap in (0.3, 1.0, 4.0):
        for epsilon in (0.1, 1.0, 10.0):
            exact = float(log_gaussian_delta(epsilon, gap))
            found = delta_value(Composition((), gap * gap), epsilon)
            error = gaussian_error(epsilon, gap)
            assert found.lower - error <= exact <= found.upper + error


FAR_RECORD = [  # the record's own law lies far out, and no tilt goes there
    (
        ((0.001391, 0.3586, 11205), (0.006401, 9.083, 3177)),
        3.12e-8,
        7.493900371655363,
    ),
    (((1.729e-6, 0.3189, 786143),), 1.89e-22, 0.3929326546487623540538333),
]


@pytest.mark.parametrize(("pairs", "delta", "epsilon"), FAR_RECORD)
def test_first_order_terms_vanish_over_the_whole_law_only(pairs, delta, epsilon, monkeypatch):
    """ε at 29 digits and more by ball arithmetic; a range that follows the tilt is caught."""
    run = Composition(tuple((SampledGaussianPair(q, s, ADD), t) for q, s, t in pairs))
    found = epsilon_bracket(run, math.log(delta))
    assert found.lower <= epsilon <= found.upper

    def narrow(at, tilt):
        tilted = at.log_base + at.log_upper + tilt * at.loss
        seen = (tilted > tilted.max() - 46) | (at.log_base + at.log_upper > -46)
        return int(np.flatnonzero(seen)[0]), int(np.flatnonzero(seen)[-1])

    monkeypatch.setattr(cumulants, "_span", narrow)
    table, guess = estimates.table_for_delta(run, math.log(delta))
    best = inversion._Best(inversion.EXACT)
    inversion._contour_epsilon(run, table, guess, math.log(delta), ((0, 0.25),), 10**7, best)
    assert best.bracket.upper < epsilon
