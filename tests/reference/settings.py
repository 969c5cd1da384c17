"""The inputs of the reference tables.  Numbers from reports are inputs here, never answers."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from .pairs import Step, step

Q_SMALL = "256/50000"


@dataclass(frozen=True)
class Setting:
    """One question: epsilon at ``delta``, delta at ``epsilon``, or sigma for both."""

    source: str
    parts: tuple[Step, ...]
    direction: str
    delta: Fraction | None = None
    epsilon: Fraction | None = None
    quantity: str = "epsilon"


def _epsilon(source: str, parts: tuple[Step, ...] | Step, direction: str, delta: str) -> Setting:
    steps = parts if isinstance(parts, tuple) else (parts,)
    return Setting(source, steps, direction, delta=Fraction(delta))


def _delta(source: str, parts: tuple[Step, ...] | Step, direction: str, epsilon: str) -> Setting:
    steps = parts if isinstance(parts, tuple) else (parts,)
    return Setting(source, steps, direction, epsilon=Fraction(epsilon), quantity="delta")


def tables() -> dict[str, list[Setting]]:
    """File name -> settings."""
    return {
        "hand_picked": list(_hand_picked()),
        "public_reports": list(_reports()),
        "issue": list(_issue()),
        "neighbours": list(_neighbours()),
        "random": list(_random(60, 20260801)),
        "slow_decay": list(_slow_decay()),
        "mixed": list(_mixed()),
        "nested": list(_nested()),
        "deep": list(_deep()),
    }


def _hand_picked() -> Iterator[Setting]:
    """Rows D1 ... D13, chosen by hand; sigma is in units of the shift."""
    rows = [
        ("D1", step("0.01", 1, 1000), "2", True),
        ("D2", step(Q_SMALL, "0.5", 2000), "8", True),
        ("D3", step(Q_SMALL, 1, 20000), "6", True),
        ("D5", step("0.5", 100, 10**6), "20", True),
        ("D6", step("0.1", "0.5", 500), "100", False),
        ("D8", step("1e-5", 1, 10**8), "1", True),
        ("D12", step("0.01", "0.3", 1000), "80", False),
        ("D13", step("1e-6", 1, 10**8), "0.05", False),
    ]
    for name, one, epsilon, both in rows:
        for direction in ("remove", "add") if both else ("remove",):
            yield _delta(f"{name} {direction}", one, direction, epsilon)
            yield _delta(f"{name} replace", one, "replace", epsilon)


def _reports() -> Iterator[Setting]:
    """Inputs of public bug reports about other accountants."""
    gdp, opacus = "google/differential-privacy", "opacus"
    one = step(1, 1, 1)
    for count in (1, 100):
        yield _epsilon(f"{gdp}#378", step(1, 1, count), "replace", "1e-5")
        yield _epsilon(f"{gdp}#378", step(1, 1, count), "remove", "1e-5")
    sampled = [
        (f"{opacus}#715", step("0.01", "0.6", 1000), "1e-5"),
        (f"{opacus}#643", step("0.001", "0.7", 10**4), "1e-6"),
        (f"{opacus}#384", step("0.2", 3, 50), "1/48000"),
        *(
            ("microsoft/prv_accountant#17", step("0.00033", 4, 10**4), d)
            for d in ("1.13e-18", "1.1e-18", "1e-10", "1e-30")
        ),
        (f"{opacus}#585", step("0.01", 1, 10), "0.5"),
        (f"{opacus}#585", step("0.01", 1, 10), "0.9"),
        (f"{opacus}#670", step("0.001", 20, 10), "1e-9"),
        (f"{opacus}#670", step("0.01", 10, 10), "1e-5"),
        ("jax_privacy#384", step(1, 1, 10), "1e-5"),
        *(("tensorflow/privacy#166", step("0.00105", 1, 1), d) for d in ("1e-3", "1e-4", "1e-5")),
        ("microsoft/prv_accountant#36", step("0.125", "0.8", 1000), "1e-6"),
        (f"{opacus}#601", step("0.2", 1, 10), "1e-5"),
        (f"{opacus}#601", step("0.2", 1, 500), "1e-5"),
    ]
    for source, steps, delta in sampled:
        for direction in ("remove", "add", "replace"):
            yield _epsilon(source, steps, direction, delta)
    yield _delta("tensorflow/privacy#166", step("0.00105", 1, 1), "remove", "0")
    for delta in ("1e-16", "1e-18", "1e-30"):
        yield _epsilon("microsoft/prv_accountant#17", one, "remove", delta)
    yield _epsilon(f"{opacus}#604", step(1, "0.02", 1), "remove", "1e-5")
    for epsilon in ("0.01", "100", "1000"):
        yield Setting(
            f"{opacus}#604", (one,), "remove", Fraction("1e-5"), Fraction(epsilon), "sigma"
        )


def _issue() -> Iterator[Setting]:
    """Runs that the project states results for."""
    for steps, delta in (
        (step("64/25000", 1, 39000), "1.4530012585117147e-5"),
        (step("64/80000", "0.5", 62500), "4.04204379110848e-6"),
    ):
        for direction in ("remove", "add", "replace"):
            yield _epsilon("account", steps, direction, delta)
    for epsilon, delta in (("2", "1e-6"), ("0.01", "1e-6"), ("100", "1e-6"), ("2", "1e-30")):
        for direction in ("remove", "replace"):
            yield Setting(
                "calibrate",
                (step("0.01", 1, 1000),),
                direction,
                Fraction(delta),
                Fraction(epsilon),
                "sigma",
            )
    for q, count, epsilon, delta in (
        ("256/18235", 2130, "2.8", "2.0559079010967298e-05"),  # text, delta = n^-1.1
        ("1024/40000", 624, "2.8", "8.664310539439323e-06"),  # hetM
        ("256/8000", 620, "1", "5.0886316442113006e-05"),  # hetC
    ):
        yield Setting(
            "plan",
            (step(q, 1, count),),
            "remove",
            Fraction(delta),
            Fraction(epsilon),
            "sigma",
        )
    for steps, delta in BENCHMARKS:
        for direction in ("remove", "add", "replace"):
            yield _epsilon("benchmark", steps, direction, delta)
    for steps, delta in BENCHMARKS:
        yield Setting("benchmark", (steps,), "remove", Fraction(delta), Fraction(2), "sigma")


BENCHMARKS = (
    (step("0.01", 1, 1000), "1e-6"),
    (step(Q_SMALL, "0.8", 20000), "1e-6"),
    (step("0.001", "0.7", 10**5), "1e-7"),
    (step("0.05", 2, 5000), "1e-5"),
)


def _neighbours() -> Iterator[Setting]:
    """q, T and delta of known settings moved by 3 %, both ways."""
    known = [
        (step("64/25000", 1, 39000), "1.4530012585117147e-5"),
        (step("64/80000", "0.5", 62500), "4.04204379110848e-6"),
        *BENCHMARKS,
        (step("0.01", "0.6", 1000), "1e-5"),
        (step("0.125", "0.8", 1000), "1e-6"),
    ]
    for index, (one, delta) in enumerate(known):
        for factor in (Fraction("0.97"), Fraction("1.03")):
            moved = [
                ("q", Step(one.q * factor, one.sigma, one.count), Fraction(delta)),
                ("T", Step(one.q, one.sigma, int(one.count * factor)), Fraction(delta)),
                ("delta", one, Fraction(delta) * factor),
            ]
            for k, (what, steps, target) in enumerate(moved):
                direction = ("remove", "add", "replace")[(index + k) % 3]
                for each in dict.fromkeys(("remove", direction)):
                    source = f"known {index}, {what} times {float(factor)}"
                    yield Setting(source, (steps,), each, delta=target)


def _log_uniform(rng: random.Random, low: float, high: float, digits: int) -> Fraction:
    x = math.exp(rng.uniform(math.log(low), math.log(high)))
    return Fraction(f"{x:.{digits - 1}e}")


def _random(count: int, seed: int) -> Iterator[Setting]:
    """Log-uniform settings over the whole range of the accountant."""
    rng = random.Random(seed)
    for _ in range(count):
        q = Fraction(1) if rng.random() < 0.08 else _log_uniform(rng, 1e-6, 1, 5)
        sigma = _log_uniform(rng, 0.3, 100, 4)
        steps = int(_log_uniform(rng, 1, 1e6, 12))
        delta = _log_uniform(rng, 1e-30, 1e-2, 4)
        direction = rng.choice(("remove", "add", "replace"))
        yield Setting("random", (Step(q, sigma, steps),), direction, delta=delta)


def _slow_decay() -> Iterator[Setting]:
    """Few steps or tiny q: inversion converges slowly, convolution does not."""
    rng = random.Random(77)
    for _ in range(30):
        if rng.random() < 0.6:
            q, steps = _log_uniform(rng, 1e-7, 1e-2, 5), int(_log_uniform(rng, 2, 2000, 12))
        else:
            q, steps = _log_uniform(rng, 1e-2, 0.9, 5), int(_log_uniform(rng, 2, 40, 12))
        sigma = _log_uniform(rng, 0.4, 50, 4)
        delta = _log_uniform(rng, 1e-30, 1e-2, 4)
        direction = rng.choice(("remove", "add", "replace"))
        yield Setting("slow decay", (Step(q, sigma, steps),), direction, delta=delta)


def _mixed() -> Iterator[Setting]:
    """Compositions of different events."""
    mixes = [
        ((step("0.01", 1, 500), step("0.02", 2, 300)), "1e-6"),
        ((step("0.001", "0.8", 2000), step(1, 50, 10)), "1e-7"),
        ((step("0.2", 3, 50), step("0.01", 1, 100), step(1, 20, 1)), "1e-5"),
        ((step("0.001391", "0.3586", 11205), step("0.006401", "9.083", 3177)), "3.12e-8"),
        ((step("0.05", 2, 1000), step(1, 8, 1)), "1e-10"),
    ]
    for parts, delta in mixes:
        for direction in ("remove", "add", "replace"):
            yield _epsilon("mixed", parts, direction, delta)
            yield _delta("mixed", parts, direction, "1")


def _nested() -> Iterator[Setting]:
    """Two and three steps, by quadrature of the closed form of one."""
    two = [
        ("0.01", "1", "0.3", "0.01"),
        ("0.3", "0.7", "0.5", "0.5"),
        ("0.001", "2", "0.001", "0.001"),
    ]
    for q, sigma, epsilon, add_epsilon in two:
        for direction in ("remove", "add", "replace"):
            eps = add_epsilon if direction == "add" else epsilon
            yield _delta("nested quadrature", step(q, sigma, 2), direction, eps)
    for q, sigma, epsilon, direction in (
        ("0.01", "1", "0.3", "remove"),
        ("0.3", "0.7", "0.5", "remove"),
        ("0.3", "0.7", "0.5", "add"),
        ("0.1", "2", "0.2", "replace"),
    ):
        yield _delta("nested quadrature", step(q, sigma, 3), direction, epsilon)


def _deep() -> Iterator[Setting]:
    """delta far below the range of floats' comfort, and epsilon = 0."""
    rows = [
        (step("0.01", 1, 1000), ("0", "0.5", "5", "20", "60", "100")),
        (step("0.001", "0.7", 10**5), ("0", "1", "10", "40", "80")),
        (step("0.05", 2, 5000), ("0", "5", "30", "80")),
        (step(1, 1, 10), ("0", "1", "50", "120")),
        (step("0.1", 4, 1), ("0", "0.1", "2", "8")),
    ]
    for one, epsilons in rows:
        for epsilon in epsilons:
            for direction in ("remove", "replace"):
                yield _delta("deep", one, direction, epsilon)
        yield _delta("deep", one, "add", "0")
