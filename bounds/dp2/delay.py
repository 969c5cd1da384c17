"""h(s): how large gradients are against the averaged gradient that the preconditioner is made of.

Phases alternate. Update k closes the DP-SGD phase with steps 2(k-1)s + 1, …, (2k-1)s and releases
X(k) = G/s, the average of its noisy gradients; the adaptive phase that looks back on it has steps
(2k-1)s + i, i = 1, …, s. The first phase has nothing to look back on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sympy import Abs, And, Eq, Expr, Implies, Le, Sum, sqrt

from bounds.assumptions import CODE, Assumption
from bounds.dp2.symbols import C, X, eps, g, h, i0, k0, s
from bounds.operators import E, Variable
from bounds.proof.methods import CauchySchwarz
from bounds.proof.step import at, expectation, inequality
from bounds.symbols import T, d, i, j, k, t
from bounds.theorem import Curve, Kind, Source, Status, Theorem

if TYPE_CHECKING:
    import numpy as np

    from bounds.model import Model


def adaptive(update: Any, step: Any) -> Any:
    """The step number of step `step` of the adaptive phase after update `update`."""
    return (2 * update - 1) * s + step


def numerator(update: Any, step: Any) -> Expr:
    """E||g_t||_1 at such a step."""
    return Sum(E(Abs(g(adaptive(update, step), j))), (j, 1, d))


def averaged(update: Any) -> Expr:
    """E||G/s||_1 of the update."""
    return Sum(E(Abs(X(update, j))), (j, 1, d))


def denominator(update: Any) -> Expr:
    """E||G/s||_1 + d eps."""
    return averaged(update) + d * eps


_y = Variable("y")
_GUARD = And(Le(i, s), Le(adaptive(k, i), T))

_MAXIMUM = Assumption(
    "maximum",
    Implies(_GUARD, Le(numerator(k, i) / denominator(k), h)),
    "h is at least the ratio of every adaptive step of the run",
    CODE,
)
ATTAINED = Assumption(
    "attained",
    And(
        Eq(h, numerator(k0, i0) / denominator(k0)),
        Le(i0, s),
        Le(adaptive(k0, i0), T),
    ),
    "h is the ratio of one of them, step i0 of the phase after update k0",
    CODE,
)

_DEFINITION = And(
    Implies(_GUARD, Le(numerator(k, i), h * denominator(k))),
    Implies(Le(numerator(k0, i0), _y * denominator(k0)), Le(h, _y)),
    Le(i0, s),
    Le(adaptive(k0, i0), T),
)


def _models(rng: np.random.Generator) -> Iterator[Model]:
    """Gradients and averages drawn at random, h their largest ratio; then h moved away from it."""
    import numpy as np

    from bounds.model import Model

    for delay, dimension in ((1, 1), (2, 2), (3, 1)):
        steps, runs = 4 * delay, 3
        gradient = rng.normal(size=(steps, dimension, runs))
        average = rng.normal(size=(2, dimension, runs)) * rng.choice([0.0, 1.0])
        damping = rng.uniform(0.1, 1)
        top = np.abs(gradient).mean(axis=2).sum(axis=1)
        below = np.abs(average).mean(axis=2).sum(axis=1) + dimension * damping
        ratios = {
            (update, step): top[(2 * update - 1) * delay + step - 1] / below[update - 1]
            for update in (1, 2)
            for step in range(1, delay + 1)
        }
        place = max(ratios, key=lambda each: ratios[each])
        bound = np.sqrt((gradient**2).sum(axis=1).mean(axis=1).max())
        for claimed in (1.0, 0.5, 2.0):
            yield Model(
                {
                    d: dimension,
                    s: delay,
                    T: steps,
                    eps: damping,
                    h: claimed * ratios[place],
                    k0: place[0],
                    i0: place[1],
                    C: bound,
                },
                {"g": gradient, "X": average},
            )


def _saturation_models(rng: np.random.Generator) -> Iterator[Model]:
    """The tight instance: all coordinates alike, nothing in the average; then it is broken."""
    import numpy as np

    from bounds.model import Model

    yield from _models(rng)
    for dimension in (1, 2, 4):
        bound, damping = rng.uniform(0.5, 2, size=2)
        for size, claimed in ((1.0, 1.0), (1.5, 1.0), (1.0, 1.5)):
            gradient = np.full((4, dimension, 1), size * bound / np.sqrt(dimension))
            ratio = size * bound / (damping * np.sqrt(dimension))
            yield Model(
                {
                    d: dimension,
                    s: 1,
                    T: 4,
                    eps: damping,
                    h: claimed * ratio,
                    k0: 1,
                    i0: 1,
                    C: bound,
                },
                {"g": gradient, "X": np.zeros((2, dimension, 1))},
            )


DEFINITION = Theorem(
    id="dp2.h.definition",
    title="What h(s) is: the least factor between a gradient and the average it is scaled by",
    statement=_DEFINITION,
    kind=Kind.TIGHT,
    source=Source(
        "li2023dp2",
        "h(s)",
        Status.RECALLED,
        note="the display is recalled; that only adaptive steps count is our convention",
    ),
    assumptions=(_MAXIMUM, ATTAINED),
    steps=(inequality("definition", _DEFINITION, "maximum", "attained"),),
    explanation=(
        "In an adaptive phase the gradients of today are scaled by an average of yesterday. h(s) "
        "is the largest ratio, over the adaptive steps, of the expected norm E||g_t||_1 to the "
        "expected norm of the averaged noisy gradient of the phase before plus d eps. Said "
        "otherwise, it is the least number with E||g_t||_1 <= h (E||G/s||_1 + d eps) in all these "
        "steps. Expectations are over runs, separately above and below."
    ),
    models=_models,
    caveats=(
        "Steps of the first phase have no average before them and do not count; counting them with "
        "G = 0 would force h >= E||g_1||_1/(d eps).",
        "h(s) need not grow with s: the first adaptive step comes later when s is larger, and "
        "gradients are smaller then. Only with much noise and gradients that stay large does the "
        "denominator, which averages the noise away, make h grow.",
        "The largest of measured ratios overestimates h(s) when few runs are averaged.",
    ),
)

_SATURATION = Le(h, C / (eps * sqrt(d)))
BOUNDED = Assumption(
    "bounded",
    Le(Sum(E(g(t, j) ** 2), (j, 1, d)), C**2),
    "the mean square of the norm of g_t is at most C^2",
)

SATURATION = Theorem(
    id="dp2.h.saturation",
    title="h(s) is at most C/(eps sqrt(d)), however stale the average",
    statement=_SATURATION,
    kind=Kind.TIGHT,
    source=Source("li2023dp2", "h(s)", Status.DERIVED),
    assumptions=(ATTAINED, BOUNDED),
    steps=(
        expectation(
            "norms",
            Le(Sum(E(Abs(g(t, j))), (j, 1, d)) ** 2, d * Sum(E(g(t, j) ** 2), (j, 1, d))),
            by=CauchySchwarz(Abs(g(t, j)), 1, over=((j, 1, d), E)),
        ),
        inequality(
            "gradient",
            Le(Sum(E(Abs(g(t, j))), (j, 1, d)), C * sqrt(d)),
            "norms",
            "bounded",
        ),
        inequality(
            "saturation",
            _SATURATION,
            "attained",
            at("gradient", {t: adaptive(k0, i0)}),
        ),
    ),
    explanation=(
        "A gradient of norm at most C has l1 norm at most sqrt(d) C, and the denominator of h(s) "
        "is at least d eps. So h(s) cannot grow without end with the delay: c1 + c2 s is of use "
        "only below this value."
    ),
    evaluations={"bound": C / (eps * sqrt(d))},
    models=_saturation_models,
    curve=Curve(
        along="damping",
        values=tuple(10.0 ** (step / 4 - 4) for step in range(17)),
        fixed={"gradient_bound": 1.0, "dimension": 10},
        log_x=True,
        log_y=True,
    ),
    caveats=(
        "Batches of a fixed size of clipped gradients have norm at most C. Under Poisson sampling "
        "with the fixed divisor b only E||g_t||^2 <= C^2 (1 + (1 - q)/b) holds: put C times the "
        "root of that factor for C.",
    ),
)

THEOREMS: tuple[Theorem, ...] = (DEFINITION, SATURATION)
