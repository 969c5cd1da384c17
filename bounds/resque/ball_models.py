"""Small runs of ball acceleration on a line, where its statements can be tried and broken.

Linear losses make both subgradient inequalities equations, so that the potential is exact on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from bounds.model import Model
from bounds.resque.symbols import L_lip, R_dom, c_acc, eps_opt, r
from bounds.symbols import T, d

__all__ = ["count_models", "floor_models", "free_models", "potential_models", "sum_models"]

#: Values of the letters of a run, by name.
Arrays = dict[str, Any]
#: Spoils a run in place.
Change = Callable[[Arrays], None]


class Slope:
    """Runs on f(x) = slope * (x - minimiser) in one dimension.

    Parameters
    ----------
    steps : int
    multiplier : callable
        Step number -> multiplier of that step.
    slope : float or sequence of float
        A sequence has one slope a step: growing ones belong to no convex function.
    minimiser : float
        Where the suboptimality is 0; the iterates stay above it.
    weight : float
        Weight before the first step; 0 in a real run.
    oversize, shift, push, extra : float
        Ways to leave the rule: step sizes too large by a factor, centres and second iterates off
        by a distance, weights too large by an amount.
    """

    def __init__(
        self,
        steps: int,
        multiplier: Callable[[int], float],
        *,
        slope: float | tuple[float, ...] = 1.0,
        minimiser: float = -9.0,
        weight: float = 0.0,
        oversize: float = 1.0,
        shift: float = 0.0,
        push: float = 0.0,
        extra: float = 0.0,
    ) -> None:
        slopes = slope if isinstance(slope, tuple) else (slope,) * steps
        x, v, old = 0.0, 0.0, weight
        points, mirrors, gaps = [x], [v], [slopes[0] * (x - minimiser)]
        centres, weights, befores, sizes, multipliers = [], [], [], [], []
        for step in range(1, steps + 1):
            lam = multiplier(step)
            a = oversize * (1 / lam + np.sqrt(1 / lam**2 + 4 * old / lam)) / 2
            now = old + a + extra
            if extra:
                lam = now / a**2
            y = (old * x + a * v) / now + shift
            x = y - slopes[step - 1] / lam
            v = v - a * slopes[step - 1] + push
            befores.append(old)
            centres.append(y)
            weights.append(now)
            sizes.append(a)
            multipliers.append(lam)
            points.append(x)
            mirrors.append(v)
            gaps.append(slopes[step - 1] * (x - minimiser))
            old = now
        self.arrays: Arrays = {
            "x": np.array(points)[:, None],
            "v_ball": np.array(mirrors)[:, None],
            "y": np.array(centres)[:, None],
            "A": np.array(weights),
            "A_old": np.array(befores),
            "a_ball": np.array(sizes),
            "lam": np.array(multipliers),
            "x_opt": np.array([minimiser]),
            "gap_ball": np.array(gaps),
        }
        self.arrays["move"] = (self.arrays["x"][1:, 0] - self.arrays["y"][:, 0]) ** 2
        self.arrays["dist"] = (self.arrays["v_ball"][:, 0] - minimiser) ** 2


def _steps(rng: np.random.Generator) -> tuple[float, ...]:
    return tuple(float(value) for value in rng.uniform(0.5, 2.0, 4))


def _changed(arrays: Arrays, **changes: Any) -> Arrays:
    return {**arrays, **changes}


def _potential_arrays(rng: np.random.Generator) -> Iterator[tuple[str, Arrays]]:
    """What is wrong ("" for nothing), and the arrays."""
    sizes = _steps(rng)

    def multiplier(step: int) -> float:
        return sizes[step - 1]

    good = Slope(3, multiplier).arrays
    yield "", good
    yield "", Slope(1, multiplier, slope=0.5).arrays
    yield "weight", Slope(3, multiplier, extra=1.0).arrays
    yield "size", Slope(3, multiplier, oversize=1.5).arrays
    yield "centre", Slope(3, multiplier, shift=0.5).arrays
    yield "mirror", Slope(3, multiplier, push=0.5).arrays
    yield "convex-iterate", Slope(3, multiplier, slope=(0.1, 1.0, 1.0)).arrays
    yield "convex-minimiser", _changed(good, gap_ball=good["gap_ball"] + 5)


def potential_models(rng: np.random.Generator) -> Iterator[Model]:
    """Exact runs, and runs that break one assumption each."""
    for broken, arrays in _potential_arrays(rng):
        yield Model({d: 1}, arrays, note=_note(broken))


def _note(broken: str) -> str:
    return f"without {broken}" if broken else "the potential is exact"


def sum_models(rng: np.random.Generator) -> Iterator[Model]:
    """The same runs with their radius, and what is special of sums."""
    for broken, arrays in _potential_arrays(rng):
        yield Model({d: 1, R_dom: 9}, arrays, note=_note(broken))
    sizes = _steps(rng)
    good = Slope(3, lambda step: sizes[step - 1]).arrays
    yield Model({d: 1, R_dom: 8}, good, note="without start")
    started = Slope(3, lambda step: sizes[step - 1], weight=2.0).arrays
    yield Model({d: 1, R_dom: 9}, started, note="without first")
    jumped = _changed(good, A_old=good["A_old"] + [0, 1, 1])
    weights = jumped["A_old"] + good["a_ball"]
    jumped = _rebuilt(jumped, weights)
    yield Model({d: 1, R_dom: 9}, jumped, note="without carry")
    yield Model({d: 1, R_dom: 9}, _changed(good, move=2 * good["move"]), note="without move")
    yield Model(
        {d: 1, R_dom: 9},
        _changed(good, dist=good["dist"] + [0, 1, 1, 1]),
        note="without dist",
    )


def _rebuilt(arrays: Arrays, weights: Any) -> Arrays:
    """The run with given weights, whose multipliers and iterates follow."""
    sizes, befores = arrays["a_ball"], arrays["A_old"]
    lam = weights / sizes**2
    x, v, points, mirrors, centres = 0.0, 0.0, [0.0], [0.0], []
    for a, before, now, each in zip(sizes, befores, weights, lam, strict=True):
        y = (before * x + a * v) / now
        x, v = y - 1 / each, v - a
        centres.append(y)
        points.append(x)
        mirrors.append(v)
    minimiser = arrays["x_opt"][0]
    made = _changed(
        arrays,
        A=weights,
        lam=lam,
        x=np.array(points)[:, None],
        v_ball=np.array(mirrors)[:, None],
        y=np.array(centres)[:, None],
        gap_ball=np.array(points) - minimiser,
    )
    made["move"] = (made["x"][1:, 0] - made["y"][:, 0]) ** 2
    made["dist"] = (made["v_ball"][:, 0] - minimiser) ** 2
    return made


def _counted(
    numbers: Mapping[Any, Any], floor: Callable[[Mapping[Any, Any]], float]
) -> Iterator[Model]:
    """Runs that still go on after T + 1 steps, and longer ones that break an assumption."""
    lip, radius, ball, eps = (float(numbers[each]) for each in (L_lip, R_dom, r, eps_opt))
    # A run as it should be: the multiplier at which the step moves by r, where f has slope lip.
    good = Slope(2, lambda step: lip / ball, slope=lip, minimiser=-radius).arrays
    yield Model({**numbers, d: 1, T: 1}, good, note="a run")
    long = 24
    tiny = Slope(long, lambda step: 40 * lip / ball, slope=0.9, minimiser=-radius).arrays
    wide = {**numbers, L_lip: 40 * lip}
    yield Model({**wide, d: 1, T: long - 1}, tiny, note="without accepted")
    still = {name: np.zeros_like(array) for name, array in tiny.items()}
    at_floor = Slope(long, lambda step: floor(numbers), slope=0.0, minimiser=0.0).arrays
    yield Model(
        {**numbers, d: 1, T: long - 1},
        {**at_floor, "gap_ball": still["gap_ball"]},
        note="without running",
    )
    near = {**numbers, R_dom: min(radius, 0.1 * float(np.sqrt(eps * ball / lip)))}
    small = min(lip / ball, floor(near))
    far = Slope(long, lambda step: small, slope=1.0, minimiser=-1000.0).arrays
    yield Model({**near, d: 1, T: long - 1}, far, note="without start")


_NUMBERS = {L_lip: 2, R_dom: 1, r: 0.4, eps_opt: 0.05, c_acc: 1}


def count_models(rng: np.random.Generator) -> Iterator[Model]:
    """Runs of the method with the lowest floor."""
    yield from _counted(_NUMBERS, lambda of: 2 * of[eps_opt] / of[R_dom] ** 2)


def floor_models(rng: np.random.Generator) -> Iterator[Model]:
    """Runs of the method with a high floor."""
    yield from _counted(
        _NUMBERS, lambda of: of[eps_opt] * (of[R_dom] / of[r]) ** (4 / 3) / of[R_dom] ** 2
    )


class Free:
    """Runs without bisection on f(x) = slope * (x - minimiser): the ball oracle is exact there.

    Parameters
    ----------
    guesses : tuple of float
        Guess of the multiplier in each step.
    ball : float
        The radius that is claimed.
    reach : float
        The radius that is used.
    oversize, shift, push, extra, part : float
        Ways to leave the rule, as in `Slope`; `part` is added to the part that is taken.
    """

    def __init__(
        self,
        guesses: tuple[float, ...],
        *,
        ball: float = 0.5,
        reach: float = 0.5,
        minimiser: float = -9.0,
        oversize: float = 1.0,
        shift: float = 0.0,
        push: float = 0.0,
        extra: float = 0.0,
        part: float = 0.0,
    ) -> None:
        rows: dict[str, list[float]] = {name: [] for name in _FREE}
        x, v, old = 0.0, 0.0, 1.0
        rows["x"].append(x)
        rows["v_ball"].append(v)
        rows["gap_ball"].append(x - minimiser)
        for guess in guesses:
            lam = 1 / reach
            a = oversize * (1 / guess + np.sqrt(1 / guess**2 + 4 * old / guess)) / 2
            y = (old * x + a * v) / (old + a) + shift
            z = y - reach
            taken = min(1.0, guess / lam) + part
            now = old + taken * a
            x = ((1 - taken) * old * x + taken * (old + a) * z) / now
            v = v - taken * a + push
            for name, value in (
                ("guess", guess),
                ("lam", lam),
                ("part", taken),
                ("a_ball", a),
                ("A_old", old),
                ("A", now + extra),
                ("y", y),
                ("z", z),
                ("gap_z", z - minimiser),
                ("x", x),
                ("v_ball", v),
                ("gap_ball", x - minimiser),
            ):
                rows[name].append(value)
            old = now + extra
        self.arrays: Arrays = {name: np.array(values) for name, values in rows.items()}
        for name in ("x", "v_ball", "y", "z"):
            self.arrays[name] = self.arrays[name][:, None]
        self.arrays["x_opt"] = np.array([minimiser])


_FREE = (
    *("x", "v_ball", "gap_ball", "guess", "lam", "part"),
    *("a_ball", "A_old", "A", "y", "z", "gap_z"),
)


def free_models(rng: np.random.Generator) -> Iterator[Model]:
    """Exact runs without bisection, guesses above and below, and one broken assumption each."""
    guesses = (3.0, 1.0, float(rng.uniform(0.5, 4.0)))
    numbers = {d: 1, r: 0.5}
    good = Free(guesses).arrays
    yield Model(numbers, good, note="the potential is exact")
    yield Model(numbers, Free(guesses, oversize=1.5).arrays, note="without size")
    yield Model(numbers, Free(guesses, shift=0.5).arrays, note="without centre")
    yield Model(numbers, Free(guesses, part=0.3).arrays, note="without part")
    yield Model(numbers, Free(guesses, extra=0.5).arrays, note="without weight")
    yield Model(numbers, Free(guesses, push=0.5).arrays, note="without mirror")
    yield Model(numbers, Free(guesses, reach=0.3).arrays, note="without sphere")
    higher = good["gap_ball"] + [0, 1, 1, 1]
    yield Model(numbers, _changed(good, gap_ball=higher), note="without convex-mean")
    lower = good["gap_ball"] - [1, 0, 0, 0]
    yield Model(numbers, _changed(good, gap_ball=lower), note="without convex-iterate")
    lifted = _changed(good, gap_ball=good["gap_ball"] + 5, gap_z=good["gap_z"] + 5)
    yield Model(numbers, lifted, note="without convex-minimiser")
