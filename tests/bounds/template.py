"""The second moment of a clipped gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import Abs, Le

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import C, g
from bounds.operators import E
from bounds.proof.methods import Linearity
from bounds.proof.step import expectation, inequality
from bounds.symbols import j, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model

STATEMENT = Le(E(g(t, j) ** 2), C**2)  # for all t and j; C is fixed


def models(rng: np.random.Generator) -> Iterator[Model]:
    """Gradients that attain the bound, and such as break the assumption."""
    from bounds.model import Model

    signs = rng.choice((-1.0, 1.0), size=(3, 2, 8))  # steps, coordinates, scenarios
    bound = rng.uniform(0.5, 2)
    yield Model({C: bound}, {"g": bound * signs})
    yield Model({C: bound}, {"g": 2 * bound * signs})


THEOREMS = (
    Theorem(
        id="dp2.example",
        title="Second moment of a clipped gradient",
        statement=STATEMENT,
        kind=Kind.TIGHT,
        source=Source("li2023dp2", "assumption on gradients", Status.DERIVED),
        assumptions=(
            Assumption("clipped", Le(Abs(g(t, j)), C), "no coordinate is larger than C", CODE),
        ),
        steps=(
            inequality("square", Le(g(t, j) ** 2, C**2), "clipped", note="both are at least 0"),
            expectation("mean", STATEMENT, "square", by=Linearity(over=(E,))),
        ),
        explanation="The mean square of a coordinate is at most the square of its bound.",
        evaluations={"bound": C**2},
        models=models,
        curve=Curve(along="gradient_bound", values=(0.25, 0.5, 1.0, 2.0), fixed={}),
        caveats=("It says nothing of the gradient's other coordinates.",),
    ),
)
