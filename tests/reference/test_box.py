"""The exact accountant on random settings of the whole box, against references computed before.

q 1e-6..1, sigma .3..100, T 1..1e6, delta 1e-30..1e-2; Poisson, without and with replacement; three
relations.  Where the two ends are proved exact they agree to 1e-9; elsewhere the lower end is what
the best attained pair gives, and the upper end is above it (without replacement: the symmetrised
pair to 1e-7).
"""

from __future__ import annotations

import math

import pytest

from accountants import AccuracyError, ExactAccountant, NeighboringRelation
from tests.reference import box
from tests.reference.box import ADD_REMOVE, REPLACE, SPECIAL, Row
from tests.reference.random_fixed import setting

SAMPLINGS = ("poisson", "without", "with")
RELATIONS = (ADD_REMOVE, REPLACE, SPECIAL)
FEW = 25  # of each table; `make slow` takes all
FEWEST = 50


def make(relation: NeighboringRelation, direction: str) -> ExactAccountant:
    return ExactAccountant(relation, direction)


def usable(sampling: str, relation: NeighboringRelation) -> list[Row]:
    """Rows that say something, and that the relation covers."""

    def covered(row: Row) -> bool:
        whole = sampling == "without" and row.q == 1 and relation is ADD_REMOVE
        return not whole and not box.unresolved(row, relation)

    return [row for row in box.rows(sampling) if covered(row)]


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda r: r.name)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_some_settings(sampling: str, relation: NeighboringRelation) -> None:
    """The first settings that the fast engine takes."""
    chosen = [row for row in usable(sampling, relation) if not row.takes_long][:FEW]
    assert len(chosen) >= 0.6 * FEW
    wrong = {str(row): found for row in chosen if (found := box.check(make, row, relation))}
    assert not wrong, "\n".join(f"{row}: {found}" for row, found in wrong.items())


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda r: r.name)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_all_settings(sampling: str, relation: NeighboringRelation) -> None:
    """All of them; refusing is allowed in one of fifty, a wrong answer in none."""
    chosen, refused, wrong = usable(sampling, relation), [], {}
    for row in chosen:
        try:
            if found := box.check(make, row, relation):
                wrong[str(row)] = found
        except AccuracyError as error:
            refused.append(f"{row}: {error}")
    assert not wrong, "\n".join(f"{row}: {found}" for row, found in wrong.items())
    assert len(refused) <= max(1, len(chosen) / 50), "\n".join(refused)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda r: r.name)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_few_references_are_unresolved(sampling: str, relation: NeighboringRelation) -> None:
    """At most one of fifty; they are in the table, with the value null."""
    rows = box.rows(sampling)
    missing = [str(row) for row in rows if box.unresolved(row, relation)]
    assert len(rows) >= FEWEST
    assert len(missing) <= len(rows) / 50, "\n".join(missing)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_settings_are_the_drawn_ones_and_fill_the_box(sampling: str) -> None:
    """No row was left out or changed, and the rows reach into all corners."""
    rows = box.rows(sampling)
    for number, row in enumerate(rows):
        drawn = setting(sampling, number)
        assert (row.number, row.count, row.delta) == (
            number,
            drawn["count"],
            float(drawn["delta"]),
        )
        assert row.dataset_size == drawn.get("dataset_size", 0)
    for low, high, values in (
        (1e-6, 1.0, [row.q for row in rows]),
        (0.3, 100.0, [row.sigma for row in rows]),
        (1.0, 1e6, [float(row.count) for row in rows]),
        (1e-30, 1e-2, [row.delta for row in rows]),
    ):
        shares = [math.log(v / low) / math.log(high / low) for v in values]
        assert min(shares) > -0.1
        assert max(shares) < 1.1  # n and m are whole: q is near its draw
        for quarter in range(4):
            inside = sum(quarter / 4 <= share <= (quarter + 1) / 4 for share in shares)
            assert inside >= 0.12 * len(rows)


def test_bounds_are_ordered() -> None:
    """Within a row: attained pairs below the bound; the order that the theory states."""
    for sampling in ("without", "with"):
        for row in box.rows(sampling):
            known = {name: value for name, value in row.answers.items() if value is not None}
            bound = known.get("symmetrised") or known["above symmetrised"]
            for name, (value, error) in known.items():
                assert value * (1 - error - bound[1]) <= bound[0], (str(row), name)
            if "QP" in known and row.q < 1:  # the loss of this order is bounded
                absent = math.log1p(-row.q)
                if sampling == "with":
                    absent = row.batch_size * math.log1p(-1 / row.dataset_size)
                assert known["QP"][0] <= -row.count * absent * (1 + 1e-9), str(row)
            if "QP" in known and "PQ" in known and row.q < 1:
                assert known["QP"][0] <= known["PQ"][0] * (1 + 1e-6), str(row)
