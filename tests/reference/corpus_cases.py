"""The inputs of the corpus: what is asked, never what is answered.  Append only.

Numbers from reports are inputs here.  Every float is meant as the double nearest to its decimal.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Plain = dict[str, Any]
ADD_REMOVE, REPLACE, SPECIAL = "add-or-remove-one", "replace-one", "replace-special"
BOTH = (ADD_REMOVE, REPLACE)


@dataclass(frozen=True)
class Case:
    """epsilon of ``event`` at ``delta`` under ``relation``; ``report``: where it was reported."""

    family: str
    event: Plain
    relation: str
    delta: float
    report: str | None = None


def gaussian(sigma: float) -> Plain:
    return {"kind": "gaussian", "noise_multiplier": float(sigma)}


def poisson(q: float, sigma: float) -> Plain:
    return {
        "kind": "poisson-sampled",
        "sampling_probability": float(q),
        "event": gaussian(sigma),
    }


def _sized(kind: str, n: int, m: int, sigma: float) -> Plain:
    return {
        "kind": kind,
        "source_dataset_size": n,
        "sample_size": m,
        "event": gaussian(sigma),
    }


def without(n: int, m: int, sigma: float) -> Plain:
    return _sized("sampled-without-replacement", n, m, sigma)


def replaced(n: int, m: int, sigma: float) -> Plain:
    return _sized("sampled-with-replacement", n, m, sigma)


def laplace(scale: float) -> Plain:
    return {"kind": "laplace", "noise_multiplier": float(scale)}


def response(p: float, buckets: int) -> Plain:
    return {"kind": "randomized-response", "noise_parameter": float(p), "num_buckets": buckets}


def times(count: int, event: Plain) -> Plain:
    return {"kind": "self-composed", "count": count, "event": event}


def composed(*events: Plain) -> Plain:
    return {"kind": "composed", "events": list(events)}


def repeated(count: int, event: Plain) -> Plain:
    """``count`` uses, written as a bare event when it is one."""
    return event if count == 1 else times(count, event)


def cases() -> Iterator[Case]:
    """All of them, in the order of the file."""
    yield from _reports()
    yield from _gaussian()
    yield from _poisson_single()
    yield from _poisson_many()
    yield from _without_replacement()
    yield from _with_replacement()
    yield from _laplace()
    yield from _responses()
    yield from _compositions()
    yield from _limits()
    yield from _one_sample()


def _reports() -> Iterator[Case]:
    gdp, opacus = "google/differential-privacy", "pytorch/opacus"
    for count, (sigma, relation) in itertools.product((1, 100), ((1, REPLACE), (1, ADD_REMOVE))):
        event = repeated(count, gaussian(sigma))
        yield Case("gaussian", event, relation, 1e-5, f"{gdp}#378")
    for sigma in (2, 1):
        event = times(1000, without(100, 1, sigma))
        yield Case("without-replacement", event, REPLACE, 1e-5, "yuxiangw/autodp#3")
    sampled = [
        (f"{opacus}#715", 1000, 0.01, 0.6, 1e-5),
        (f"{opacus}#643", 10_000, 0.001, 0.7, 1e-6),
        (f"{opacus}#384", 50, 0.2, 3, 1 / 48000),
        *(
            ("microsoft/prv_accountant#17", 10_000, 0.00033, 4, d)
            for d in (1.13e-18, 1.1e-18, 1e-10, 1e-30)
        ),
        (f"{opacus}#585", 10, 0.01, 1, 0.5),
        (f"{opacus}#585", 10, 0.01, 1, 0.9),
        (f"{opacus}#670", 10, 0.001, 20, 1e-9),
        (f"{opacus}#670", 10, 0.01, 10, 1e-5),
        ("google-deepmind/jax_privacy#384", 10, 1, 1, 1e-5),
        *(("tensorflow/privacy#166", 1, 0.00105, 1, d) for d in (1e-3, 1e-4, 1e-5)),
        ("microsoft/prv_accountant#36", 1000, 0.125, 0.8, 1e-6),
        (f"{opacus}#601", 10, 0.2, 1, 1e-5),
        (f"{opacus}#601", 500, 0.2, 1, 1e-5),
        (f"{opacus}#834", 100, 0.01, 1, 1e-5),
    ]
    for report, count, q, sigma, delta in sampled:
        for relation in BOTH:
            event = repeated(count, poisson(q, sigma))
            yield Case("poisson", event, relation, delta, report)
    for delta in (1e-16, 1e-18, 1e-30):
        yield Case("gaussian", gaussian(1), ADD_REMOVE, delta, "microsoft/prv_accountant#17")
    yield Case("gaussian", gaussian(0.02), ADD_REMOVE, 1e-5, f"{opacus}#604")
    event = times(5, response(0.5, 2))
    yield Case("randomized-response", event, REPLACE, 1e-5, f"{gdp} 0.6.0")


def _gaussian() -> Iterator[Case]:
    sigmas = (0.02, 0.05, 0.1, 0.3, 0.5, 1, 2, 5, 10, 100, 1e4)
    for sigma, delta in itertools.product(sigmas, (0.1, 1e-5, 1e-10, 1e-30, 1e-300)):
        yield Case("gaussian", gaussian(sigma), ADD_REMOVE, delta)
    for sigma, delta in itertools.product((1, 3), (1e-3, 1e-6, 1e-16, 1e-100)):
        yield Case("gaussian", gaussian(sigma), ADD_REMOVE, delta)
    for sigma, delta in itertools.product((0.1, 1, 10, 1e4), (1e-5, 1e-10, 1e-300)):
        yield Case("gaussian", gaussian(sigma), REPLACE, delta)
    for delta in (1e-5, 1e-30):
        yield Case("gaussian", gaussian(1), SPECIAL, delta)
    for count, delta in itertools.product((2, 10, 1000, 10**5, 10**8), (1e-5, 1e-10)):
        yield Case("gaussian", times(count, gaussian(1)), ADD_REMOVE, delta)
    for count, sigma, delta in itertools.product((100, 10**8), (100, 1e4), (1e-5, 1e-30)):
        for relation in BOTH:
            yield Case("gaussian", times(count, gaussian(sigma)), relation, delta)
    nested = times(10, times(10, gaussian(10)))
    yield Case("gaussian", nested, ADD_REMOVE, 1e-5)
    yield Case("gaussian", times(10**8, gaussian(0.01)), ADD_REMOVE, 1e-5)


def _poisson_single() -> Iterator[Case]:
    probabilities = (1e-9, 1e-5, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99)
    for q, (sigma, delta) in itertools.product(
        probabilities, ((1, 1e-6), (0.5, 1e-12), (1, 1e-30))
    ):
        for relation in BOTH:
            yield Case("poisson", poisson(q, sigma), relation, delta)
    for sigma, delta in itertools.product((0.1, 5, 100), (1e-4, 1e-9)):
        yield Case("poisson", poisson(0.01, sigma), ADD_REMOVE, delta)
    for delta in (1e-100, 1e-300):
        yield Case("poisson", poisson(0.1, 2), ADD_REMOVE, delta)
        yield Case("poisson", poisson(0.1, 2), REPLACE, delta)
    yield Case("poisson", poisson(0.1, 2), SPECIAL, 1e-5)


def _poisson_many() -> Iterator[Case]:
    runs = (
        *((0.01, 1, t) for t in (1000, 10**5)),
        (0.001, 0.7, 10**5),
        *((0.05, 2, t) for t in (1000, 10**5)),
        *((0.5, 10, t) for t in (1000, 10**5)),
        (0.2, 0.8, 100),
        (1e-5, 1, 10**8),
    )
    for (q, sigma, count), delta in itertools.product(runs, (1e-5, 1e-10)):
        for relation in BOTH:
            yield Case("poisson", times(count, poisson(q, sigma)), relation, delta)
    for q, sigma in ((0.01, 1), (0.05, 2), (0.5, 10)):
        for relation in BOTH:
            yield Case("poisson", times(10, poisson(q, sigma)), relation, 1e-5)
    for delta in (1e-3, 1e-20, 1e-30):
        yield Case("poisson", times(1000, poisson(0.01, 1)), ADD_REMOVE, delta)
    for count, (q, sigma), delta in (
        (39000, (0.00256, 1), 1.4530012585117147e-5),
        (62500, (0.0008, 0.5), 4.04204379110848e-6),
        (20000, (0.00512, 0.8), 1e-6),
        (10**6, (0.5, 100), 1e-6),
    ):
        yield Case("poisson", times(count, poisson(q, sigma)), ADD_REMOVE, delta)
    yield Case("poisson", times(10, times(100, poisson(0.01, 1))), ADD_REMOVE, 1e-6)
    yield Case("poisson", times(1000, poisson(0.01, 1)), SPECIAL, 1e-5)


def _without_replacement() -> Iterator[Case]:
    family = "without-replacement"
    for n, m, sigma in ((100, 1, 1), (2, 1, 1), (10, 9, 2), (1000, 10, 0.5), (10**9, 1, 1)):
        for relation, delta in itertools.product(BOTH, (1e-5, 1e-12)):
            yield Case(family, without(n, m, sigma), relation, delta)
    runs = (
        *((50_000, 256, s, t) for s, t in ((1, 2000), (2, 1000), (2, 20_000))),
        *((100, 1, s, t) for s, t in ((2, 100), (2, 1000), (4, 10**5))),
        (1000, 1, 0.8, 20_000),
        (10, 1, 1, 100),
        (10, 3, 2, 100),
    )
    for (n, m, sigma, count), delta in itertools.product(runs, (1e-5, 1e-8)):
        for relation in BOTH:
            yield Case(family, times(count, without(n, m, sigma)), relation, delta)


def _with_replacement() -> Iterator[Case]:
    family = "with-replacement"
    for n, m, sigma in (
        (3, 3, 1.4),
        (2, 4, 1.4),
        (2, 1, 1),
        (100, 1, 1),
        (100, 10, 1),
        (10, 10, 5),
    ):
        for relation, delta in itertools.product(BOTH, (1e-5, 1e-12)):
            yield Case(family, replaced(n, m, sigma), relation, delta)
    yield Case(family, times(10, replaced(3, 3, 1.4)), ADD_REMOVE, 1e-5)
    runs = (
        (3, 3, 14.0, 1000),
        (2, 4, 10.0, 10),
        (100, 10, 10.0, 1000),
        (1000, 10, 4.0, 1000),
    )
    for n, m, sigma, count in runs:
        for relation in BOTH:
            yield Case(family, times(count, replaced(n, m, sigma)), relation, 1e-5)
    for sigma, count in ((1, 5000), (1, 20_000), (1.5, 1000), (1.5, 5000), (1.5, 20_000)):
        yield Case(family, times(count, replaced(50_000, 256, sigma)), REPLACE, 1e-6)


def _laplace() -> Iterator[Case]:
    for scale, delta in itertools.product((0.01, 0.1, 1, 10, 100, 1e4), (0.0, 1e-10, 1e-5)):
        yield Case("laplace", laplace(scale), ADD_REMOVE, delta)
    for delta in (0.1, 0.5, 1e-300):
        yield Case("laplace", laplace(1), ADD_REMOVE, delta)
    for scale, delta in itertools.product((1, 10), (0.0, 1e-5)):
        yield Case("laplace", laplace(scale), REPLACE, delta)
    runs = ((2, 1), (5, 1), (10, 1), (5, 10), (50, 10), (100, 10), (100, 100))
    for (count, scale), delta in itertools.product(runs, (1e-5, 1e-10)):
        yield Case("laplace", times(count, laplace(scale)), ADD_REMOVE, delta)
    for count in (10, 10**5):
        yield Case("laplace", times(count, laplace(10)), ADD_REMOVE, 0.0)
    yield Case("laplace", times(10, laplace(10)), REPLACE, 1e-5)
    yield Case("laplace", times(10, laplace(10)), SPECIAL, 1e-5)


def _responses() -> Iterator[Case]:
    family = "randomized-response"
    for p, buckets in ((0.5, 2), (0.1, 2), (0.9, 2), (0.01, 2), (0.5, 10), (0.1, 1000), (1e-9, 2)):
        for delta in (0.0, 1e-5, 0.1):
            yield Case(family, response(p, buckets), REPLACE, delta)
    runs = (
        *((t, 0.5, 2) for t in (2, 5, 10, 100, 1000)),
        *((t, 0.9, 2) for t in (5, 100)),
        *((t, 0.1, 10) for t in (5, 50)),
        (10, 0.5, 3),
        (1000, 0.99, 4),
        (1000, 0.999, 2),
    )
    for (count, p, buckets), delta in itertools.product(runs, (0.0, 1e-5, 1e-10)):
        yield Case(family, times(count, response(p, buckets)), REPLACE, delta)
    five = composed(*(response(0.5, 2) for _ in range(5)))
    yield Case(family, five, REPLACE, 1e-5)
    yield Case(family, response(0.5, 2), REPLACE, 1e-300)


def _compositions() -> Iterator[Case]:
    family = "composition"
    gaussians = (
        composed(gaussian(1), gaussian(1)),
        composed(gaussian(1), gaussian(10)),
        composed(times(10, gaussian(10)), times(1000, gaussian(100))),
        times(10, composed(gaussian(10), gaussian(20))),
    )
    for event, delta in itertools.product(gaussians, (1e-5, 1e-12)):
        yield Case(family, event, ADD_REMOVE, delta)
    mixes = (
        (composed(times(500, poisson(0.01, 1)), times(300, poisson(0.02, 2))), 1e-6),
        (composed(times(2000, poisson(0.001, 0.8)), times(10, gaussian(50))), 1e-7),
        (
            composed(times(50, poisson(0.2, 3)), times(100, poisson(0.01, 1)), gaussian(20)),
            1e-5,
        ),
        (composed(times(1000, poisson(0.05, 2)), gaussian(8)), 1e-10),
        (composed(times(10, gaussian(10)), times(1000, poisson(0.01, 1))), 1e-5),
    )
    for (event, delta), relation in itertools.product(mixes, BOTH):
        yield Case(family, event, relation, delta)
    sized = (
        composed(times(1000, without(100, 1, 2)), gaussian(10)),
        composed(times(1000, without(100, 1, 2)), times(1000, poisson(0.01, 1))),
    )
    for event in sized:
        yield Case(family, event, ADD_REMOVE, 1e-5)
    others = (
        composed(gaussian(1), laplace(1)),
        composed(gaussian(10), laplace(10)),
        composed(times(10, gaussian(10)), laplace(1)),
    )
    for event, delta in itertools.product(others, (1e-5, 1e-10)):
        yield Case(family, event, ADD_REMOVE, delta)
    answers = (
        composed(gaussian(1), response(0.5, 2)),
        composed(laplace(1), response(0.5, 2)),
        composed(times(10, gaussian(10)), times(5, response(0.9, 3))),
        composed(times(5, response(0.5, 2)), times(5, response(0.9, 10))),
        composed(gaussian(10), laplace(10), response(0.9, 2)),
    )
    for event, delta in itertools.product(answers, (1e-5, 1e-10)):
        yield Case(family, event, REPLACE, delta)


def _limits() -> Iterator[Case]:
    for event in (gaussian(0), poisson(0.5, 0), times(10, gaussian(0))):
        yield Case("limit", event, ADD_REMOVE, 1e-5)
    for event in (
        times(0, gaussian(1)),
        times(0, poisson(0.01, 1)),
        poisson(0, 1),
        times(1000, poisson(0, 1)),
        composed(),
    ):
        yield Case("limit", event, ADD_REMOVE, 1e-5)
    for event in (gaussian(1), poisson(0.01, 1), times(10, poisson(0.01, 1))):
        yield Case("limit", event, ADD_REMOVE, 0.0)
    for event in (poisson(1, 1), times(10, poisson(1, 1))):
        for relation in BOTH:
            yield Case("limit", event, relation, 1e-5)
    yield Case("limit", composed(gaussian(1), {"kind": "no-op"}), ADD_REMOVE, 1e-5)
    yield Case("limit", laplace(0), ADD_REMOVE, 1e-5)
    yield Case("limit", response(0, 2), REPLACE, 1e-5)
    yield Case("limit", response(1, 2), REPLACE, 1e-5)


def _one_sample() -> Iterator[Case]:
    """Several releases on one sample, which are no releases on several samples."""
    for q, count, sigma in ((0.5, 4, 4), (0.01, 4, 2), (0.1, 100, 10)):
        for delta in (1e-5, 1e-10):
            event = {
                "kind": "poisson-sampled",
                "sampling_probability": q,
                "event": times(count, gaussian(sigma)),
            }
            yield Case("poisson", event, ADD_REMOVE, delta)
