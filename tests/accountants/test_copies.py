"""The law of the number of copies of a record in a batch drawn with replacement."""

import math
from fractions import Fraction

import pytest

from accountants import AccuracyError
from accountants.copies import CopyLaw, copies_for_tail

SETTINGS = [
    (5, Fraction(1, 10)),
    (40, Fraction(1, 7)),
    (256, Fraction(1, 50_000)),
    (3, Fraction(1, 3)),
]


def exact(draws: int, probability: Fraction) -> list[Fraction]:
    return [
        math.comb(draws, k) * probability**k * (1 - probability) ** (draws - k)
        for k in range(draws + 1)
    ]


@pytest.mark.parametrize(("draws", "probability"), SETTINGS)
@pytest.mark.parametrize("largest", [1, 2, 3, 50])
def test_law_against_rational_arithmetic(draws: int, probability: Fraction, largest: int) -> None:
    law = CopyLaw.of(draws, float(probability), largest=largest)
    truth = exact(draws, probability)
    kept = min(largest, draws)
    mass = sum(truth[: kept + 1])
    assert law.largest <= kept
    for found, true in zip(law.probabilities, truth, strict=False):
        assert found == pytest.approx(float(true / mass), rel=1e-12)
    tail = float(1 - sum(truth[: law.largest + 1]))
    assert tail <= law.tail <= tail * (1 + 1e-8) + 1e-300
    assert math.fsum(law.probabilities) == pytest.approx(1, abs=1e-14)
    assert law.present == pytest.approx(1 - law.absent, abs=1e-14)


@pytest.mark.parametrize(("draws", "probability"), SETTINGS)
@pytest.mark.parametrize("tail", [0.3, 1e-3, 1e-9, 1e-30])
def test_smallest_truncation(draws: int, probability: Fraction, tail: float) -> None:
    kappa = copies_for_tail(draws, float(probability), tail)
    truth = exact(draws, probability)
    assert sum(truth[kappa + 1 :]) <= tail * (1 + 1e-8)
    assert kappa == 1 or sum(truth[kappa:]) > tail * (1 - 1e-8)


def test_lumped_keeps_the_mass() -> None:
    law = CopyLaw.of(40, 0.2, largest=4)
    lumped = law.lumped()
    truth = exact(40, Fraction(1, 5))
    assert lumped.tail == 0
    assert lumped.probabilities[-1] == pytest.approx(float(sum(truth[4:])), rel=1e-8)
    assert lumped.probabilities[1] == pytest.approx(float(truth[1]), rel=1e-7)


def test_too_many_copies_are_refused() -> None:
    with pytest.raises(AccuracyError, match="400"):
        copies_for_tail(100_000, 0.5, 1e-9)


@pytest.mark.parametrize(
    ("draws", "probability", "largest", "name"),
    [
        (0, 0.1, 1, "draws"),
        (2.5, 0.1, 1, "draws"),
        (3, 0.0, 1, "probability"),
        (3, 1.0, 1, "probability"),
        (3, math.nan, 1, "probability"),
        (3, 0.1, 0, "largest"),
    ],
)
def test_domains(draws: int, probability: float, largest: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}="):
        CopyLaw.of(draws, probability, largest=largest)
