"""Both ends of epsilon for an event of the corpus, from its plain form.

==============================  ===================================================================
event                           method
==============================  ===================================================================
Gaussian, any number            ``ball_profiles``: every printed end is proved in ball arithmetic
one sampled step                the same
Laplace, randomized response    the same, also beside a Gaussian
sampled steps, many             ``contour``: two inversions whose agreement is counted in digits;
                                ``convolution`` where they converge slowly
==============================  ===================================================================

For batches of fixed size under REPLACE_ONE the lower end is that of an attained pair and the upper
one that of a symmetrised pair, which dominates.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

from . import ball_profiles as balls
from . import contour, fixed_oracle, oracle, rows
from .fixed_size import Run
from .laws import sampled, to_arb, without_replacement
from .oracle import Value
from .pairs import Step

PROVED = "closed form in ball arithmetic, both ends proved"
ROUNDED_DIGITS = 15.0  # where an input may be that decimal and not the double next to it
TRUNCATED_DIGITS = 13.0  # where the law of the copies is cut off far below delta
Plain = dict[str, Any]


class Unserved(ValueError):
    """No method here answers for the event."""


@dataclass(frozen=True)
class Ends:
    """Decimal ends and how they were obtained.

    ``digits``: each end is within 10^-digits, relatively, of the number that it bounds.
    ``exact``: both ends bound the same number.
    """

    lower: Decimal
    upper: Decimal
    digits: int
    source: str
    exact: bool = True

    def above(self, other: Ends) -> Ends:
        """Ends of the larger of two numbers."""
        sources = dict.fromkeys((self.source, other.source))
        lower, upper = max(self.lower, other.lower), max(self.upper, other.upper)
        return Ends(lower, upper, known(lower, upper), "; ".join(sources))


def known(lower: Decimal, upper: Decimal) -> int:
    """How many digits two ends of one number leave no doubt about."""
    if lower == upper:
        return balls.DIGITS
    return int(-((upper - lower) / upper).log10())


def ends(event: Plain, relation: str, delta: Fraction) -> Ends:
    """epsilon of ``event`` at ``delta`` under a relation, between two ends.

    Raises
    ------
    Unserved
        If no method here covers the event under the relation.
    """
    parts = list(flatten(event, 1))
    limit = _limit(parts)
    if limit is not None:
        return Ends(Decimal(limit), Decimal(limit), balls.DIGITS, "definition")
    if delta == 0:
        return _pure(parts, relation)
    kinds = {leaf["kind"] for leaf, _ in parts}
    shift = 2 if relation == "replace-one" else 1
    if kinds & {"laplace", "randomized-response"}:
        return proved(_beside(parts, relation, shift), delta)
    if all(
        leaf["kind"] == "gaussian" or leaf.get("sampling_probability") == 1 for leaf, _ in parts
    ):
        return proved(balls.gaussian(_square(parts, shift)), delta)
    if len(parts) == 1 and parts[0][1] == 1:
        return _single(parts[0][0], relation, delta)
    if kinds <= {"gaussian", "poisson-sampled"}:
        steps = [_step(leaf, count) for leaf, count in parts]
        names = ("replace",) if relation == "replace-one" else ("remove", "add")
        return _largest([_poisson(steps, name, delta) for name in names])
    if len(parts) == 1:
        return _fixed_size(_run(*parts[0]), relation, delta)
    return _mixed_sizes(parts, relation, delta)


def flatten(event: Plain, count: int) -> Iterator[tuple[Plain, int]]:
    """Leaves and how often each is used, equal ones together."""
    found: dict[str, list[Any]] = {}
    for leaf, times in _walk(event, count):
        found.setdefault(json.dumps(leaf), [leaf, 0])[1] += times
    yield from ((leaf, times) for leaf, times in found.values())


def _walk(event: Plain, count: int) -> Iterator[tuple[Plain, int]]:
    if event["kind"] == "self-composed":
        yield from _walk(event["event"], count * event["count"])
    elif event["kind"] == "composed":
        for part in event["events"]:
            yield from _walk(part, count)
    elif event["kind"] == "poisson-sampled" and event["event"]["kind"] == "self-composed":
        yield _one_sample(event), count
    elif event["kind"] != "no-op":
        yield event, count


def _one_sample(event: Plain) -> Plain:
    """k Gaussian releases on one sample: one release with the noise divided by sqrt(k).

    Adding or removing a record shifts k outputs or none of them; along the shift that is one
    output with k times the squared ratio (and by amplification that is the worst that adapts).
    """
    inner, count = event["event"]["event"], event["event"]["count"]
    root = math.isqrt(count)
    sigma = Fraction(inner["noise_multiplier"]) / root
    if inner["kind"] != "gaussian" or root * root != count or Fraction(float(sigma)) != sigma:
        raise Unserved("several releases on one sample")
    return {**event, "event": {"kind": "gaussian", "noise_multiplier": float(sigma)}}


def _limit(parts: list[tuple[Plain, int]]) -> str | None:
    """The answer where no arithmetic is needed: infinity or 0."""
    used = [leaf for leaf, count in parts if count and leaf.get("sampling_probability") != 0]
    if any(_sigma(leaf) == 0 or leaf.get("noise_parameter") == 0 for leaf in used):
        return "Infinity"
    return None if used else "0"


def _sigma(leaf: Plain) -> Fraction | None:
    value = leaf.get("event", leaf).get("noise_multiplier")
    return None if value is None else Fraction(value)


def _square(parts: list[tuple[Plain, int]], shift: int) -> Fraction:
    """Sum of (shift / sigma)^2 over unsampled Gaussian releases."""
    return sum((count * (shift / _sigma(leaf)) ** 2 for leaf, count in parts), Fraction(0))


def proved(profile: balls.Profile, delta: Fraction) -> Ends:
    """Ends of epsilon from a profile with a closed form."""
    lower, upper = balls.ends(profile, delta)
    return Ends(lower, upper, known(lower, upper), PROVED)


def _pure(parts: list[tuple[Plain, int]], relation: str) -> Ends:
    """delta = 0: the largest loss."""
    import flint

    flint.ctx.prec = 256
    total = flint.arb(0)
    for leaf, count in parts:
        if leaf["kind"] == "laplace":
            shift = 2 if relation == "replace-one" else 1
            total += count * to_arb(shift / Fraction(leaf["noise_multiplier"]))
        elif leaf["kind"] == "randomized-response":
            p, buckets = Fraction(leaf["noise_parameter"]), leaf["num_buckets"]
            total += count * to_arb((1 - p + p / buckets) / (p / buckets)).log()
        else:
            return Ends(Decimal("Infinity"), Decimal("Infinity"), balls.DIGITS, "definition")
    low, high = (Fraction(str(x)) for x in (_decimal(total.lower()), _decimal(total.upper())))
    lower = balls.rounded(low, ROUND_FLOOR)
    upper = balls.rounded(high, ROUND_CEILING)
    return Ends(lower, upper, known(lower, upper), "largest loss, in ball arithmetic")


def _decimal(x: Any) -> Fraction:
    mantissa, exponent = x.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _beside(parts: list[tuple[Plain, int]], relation: str, shift: int) -> balls.Profile:
    """Laplace or Gaussian parts first, randomized responses around them."""
    by_kind: dict[str, list[tuple[Plain, int]]] = {}
    for leaf, count in parts:
        by_kind.setdefault(leaf["kind"], []).append((leaf, count))
    base = balls.nothing
    gaussians = by_kind.pop("gaussian", [])
    if gaussians:
        base = balls.gaussian(_square(gaussians, shift))
    if releases := by_kind.pop("laplace", []):
        ((leaf, count),) = releases
        distance = shift / Fraction(leaf["noise_multiplier"])
        if gaussians and count > 1:
            raise Unserved("several Laplace releases beside a Gaussian one")
        alone = balls.laplace(distance, count)
        base = balls.beside_laplace(distance, base) if gaussians else alone
    for leaf, count in by_kind.pop("randomized-response", []):
        if relation != "replace-one":
            raise Unserved("randomized response changes a record's value")
        base = balls.responses(Fraction(leaf["noise_parameter"]), leaf["num_buckets"], count, base)
    if by_kind:
        raise Unserved(f"{', '.join(by_kind)} beside another kind")
    return base


def _step(leaf: Plain, count: int) -> Step:
    q = Fraction(leaf.get("sampling_probability", 1))
    return Step(q, Fraction(leaf.get("event", leaf)["noise_multiplier"]), count)


def _run(leaf: Plain, count: int) -> Run:
    sampling = leaf["kind"].removeprefix("sampled-").removesuffix("-replacement")
    sigma = Fraction(leaf["event"]["noise_multiplier"])
    return Run(sampling, leaf["source_dataset_size"], leaf["sample_size"], sigma, count)


def _single(leaf: Plain, relation: str, delta: Fraction) -> Ends:
    """One sampled step."""
    directions = ("remove", "add") if relation != "replace-one" else ("remove",)
    if leaf["kind"] == "poisson-sampled":
        names = ("replace",) if relation == "replace-one" else directions
        return _largest([proved(balls.poisson(_step(leaf, 1), name), delta) for name in names])
    run = _run(leaf, 1)
    if relation == "replace-special":
        raise Unserved("a null record in a batch of fixed size")
    if run.sampling == "without":  # a record takes the place of another: twice the shift; at
        moved = Step(run.q, run.sigma / 2, 1)  # epsilon >= 0 the two orders have this profile
        return _largest([proved(balls.poisson(moved, name), delta) for name in directions])
    drawn = run.batch_size, run.dataset_size, run.sigma
    attained = [proved(balls.copies(*drawn, name), delta) for name in ("remove", "add")]
    if relation == "add-or-remove-one":
        return _largest(attained)
    return between(_largest(attained), proved(balls.copies_symmetrised(*drawn), delta))


def _poisson(steps: list[Step], direction: str, delta: Fraction) -> Ends:
    """Many steps; slow values are taken from the tables, which were made by the same methods."""
    for name in ("public_reports", "random", "slow_decay", "mixed"):
        for row in rows.rows(name):
            if row.method == "positive convolution" and row.quantity == "epsilon":
                same = [(float(q), float(s), t) for q, s, t in row.steps] == [
                    (float(one.q), float(one.sigma), one.count) for one in steps
                ]
                if same and row.direction == direction and float(row.delta or 0) == float(delta):
                    return from_value(Value(row.value, row.digits, row.method))
    return from_value(oracle.epsilon(steps, direction, delta))


def _fixed_size(run: Run, relation: str, delta: Fraction) -> Ends:
    """Many steps on batches of fixed size."""
    if relation == "replace-special":
        raise Unserved("a null record in a batch of fixed size")
    attained = _pair(run, "PQ", delta)
    if relation == "add-or-remove-one":
        return attained.above(_pair(run, "QP", delta))
    return between(attained, _pair(run, "symmetrised", delta))


def _pair(run: Run, name: str, delta: Fraction) -> Ends:
    """epsilon of a named pair, from the table where it is there."""
    asked = (run.sampling, run.q, float(run.sigma), run.count, name, float(delta))
    found = _fixed_table().get(asked if run.sampling == "without" else (*asked, run.batch_size))
    choices = fixed_oracle.LIGHT
    value = found or fixed_oracle.epsilon(run, name, delta, choices=choices, enough=12.0)
    most = ROUNDED_DIGITS if run.sampling == "without" else TRUNCATED_DIGITS
    return from_value(Value(value.text, min(value.digits, most), value.method))


@functools.cache
def _fixed_table() -> dict[tuple[Any, ...], Value]:
    """Values of ``data/fixed_size.json`` by what they answer."""
    table: dict[tuple[Any, ...], Value] = {}
    for row in json.loads((rows.DATA / "fixed_size.json").read_text(encoding="utf-8")):
        if "delta" in row and row["value"] != "0":
            q = Fraction(row["batch_size"], row["dataset_size"])
            asked = (
                row["sampling"],
                q,
                float(Fraction(row["sigma"])),
                row["count"],
                row["pair"],
                float(row["delta"]),
            )
            sized = () if row["sampling"] == "without" else (row["batch_size"],)
            table[(*asked, *sized)] = Value(row["value"], row["digits"], row["method"])
    return table


def _mixed_sizes(parts: list[tuple[Plain, int]], relation: str, delta: Fraction) -> Ends:
    """Different samplings under adding or removing a record, all in one direction."""
    if relation != "add-or-remove-one":
        raise Unserved("different samplings under another relation")
    laws = []
    for leaf, count in parts:
        if leaf["kind"] in ("gaussian", "poisson-sampled"):
            laws.append((sampled(_step(leaf, count), "remove"), count))
        elif leaf["kind"] == "sampled-without-replacement":
            run = _run(leaf, count)
            laws.append((without_replacement(run.q, run.sigma), count))
        else:
            raise Unserved(f"{leaf['kind']} beside another kind")
    backward = [(law.reversed(), count) for law, count in laws]
    found = []
    for composition in (laws, backward):
        ball, digits = contour.epsilon_reference(composition, delta, 4e8, fixed_oracle.LIGHT)
        if not ball > 0:
            raise Unserved("epsilon is 0")
        text = str(ball.str(25, radius=False))
        found.append(from_value(Value(text, digits, "two contours, python-flint")))
    return _largest(found)


def from_value(value: Value) -> Ends:
    """Ends around a value that two computations agree on; one digit is given away."""
    digits = int(min(value.digits - 1, float(balls.DIGITS)))
    exact = Fraction(value.text)
    error = exact / Fraction(10) ** digits
    lower = balls.rounded(exact - error, ROUND_FLOOR, digits + 1)
    upper = balls.rounded(exact + error, ROUND_CEILING, digits + 1)
    return Ends(lower, upper, known(lower, upper), _METHODS[value.method])


_METHODS = {
    "contour, python-flint": "contour inversion in ball arithmetic, two runs",
    "two contours, python-flint": "contour inversion in ball arithmetic, two runs",
    "positive convolution": "repeated positive convolution on a lattice, extrapolated",
}


def _largest(found: list[Ends]) -> Ends:
    top = found[0]
    for other in found[1:]:
        top = top.above(other)
    return top


def between(lower: Ends, upper: Ends) -> Ends:
    """The lower end of one number and the upper one of another."""
    text = f"lower end attained: {lower.source}; upper end of a dominating pair: {upper.source}"
    return Ends(lower.lower, upper.upper, min(lower.digits, upper.digits), text, exact=False)
