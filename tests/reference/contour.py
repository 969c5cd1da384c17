"""delta(epsilon) by Laplace inversion in ball arithmetic (python-flint).

With M(z) = E_P[(dP/dQ)^z] and any abscissa c > 0,

    delta(eps) = 1/(2 pi) int prod_i M_i(c + it)^T_i e^(-(c + it) eps) / ((c + it)(c + it + 1)) dt.

Both integrals (over t, and the one inside M) are trapezoid sums.  The abscissa is the one that
needs the fewest nodes, found by a scan of the alias distance W = 2 pi / h_t and of the decay in t,
and not a fixed multiple of the saddle point.  M on the whole line is one matrix product: with
t_k = k h and k = B p + r,

    M(c + i t_k) = sum_j (a_j e^(c L_j) w_j^(B p)) (w_j^r),    w_j = e^(i h L_j).

A value is the digits on which two runs with different abscissa, steps and precision agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import numpy as np

from .laws import Law, to_arb

Composition = Sequence[tuple[Law, int]]


class ReferenceTooSlow(RuntimeError):
    """This method would need more work than its budget; use another one."""


@dataclass(frozen=True)
class Choice:
    """Numerical parameters of one run; two runs must differ in every field."""

    bits: int = 200  # working precision
    margin: float = 62.0  # alias images are below delta * exp(-margin)
    abscissa_factor: float = 1.0  # multiplies the abscissa found by the scan
    node_margin: float = 70.0  # sets the first step of the inner rule


FIRST = Choice()
SECOND = Choice(bits=233, margin=71.0, abscissa_factor=0.83, node_margin=84.0)
QUICK = Choice(bits=140, margin=30.0, abscissa_factor=1.0, node_margin=36.0)


@dataclass(frozen=True)
class Plan:
    """Abscissa, alias distance and the estimate of log delta they rest on."""

    abscissa: float
    alias_distance: float
    log_delta: float
    excess: float  # log of the largest term over delta: what cancels


@lru_cache(maxsize=4096)
def cumulant(law: Law, c: float) -> float:
    """log M(c) in double precision; only used to choose parameters."""
    _, weight = law.atoms(c)
    top = float(weight.max())
    return top + math.log(law.finish_double(c, float(np.exp(weight - top).sum()), top))


def _exponent(parts: Composition, c: float) -> float:
    return sum(count * cumulant(law, c) for law, count in parts)


def saddle(parts: Composition, epsilon: float) -> tuple[float, float]:
    """The minimiser over c of the log integrand at t = 0, and a crude log delta."""

    def psi(log_c: float) -> float:
        c = math.exp(log_c)
        return _exponent(parts, c) - c * epsilon - math.log(c * (c + 1))

    grid = np.linspace(math.log(1e-3), math.log(1e6), 76)
    values = []
    for point in grid:  # psi is convex in c: stop soon after it turns upwards
        values.append(psi(float(point)))
        if len(values) > 3 and values[-1] > min(values) + 50:
            break
    i = int(np.argmin(values))
    low, high = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, len(values) - 1)])
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(30):
        a, b = high - golden * (high - low), low + golden * (high - low)
        if psi(a) < psi(b):
            high = b
        else:
            low = a
    c = math.exp((low + high) / 2)
    return c, psi(math.log(c)) - math.log(4.0)


def _last_node(parts: Composition, c: float, level: float) -> float:
    """Roughly the t beyond which the integrand is below exp(-level) times its value at 0."""
    t = np.geomspace(0.05, 1e7, 90)
    decay = -2 * np.log(np.maximum(t / c, 1.0))
    for law, count in parts:
        loss, weight = law.atoms(c)
        top = float(weight.max())
        w = np.exp(weight - top)
        center = float(w @ loss / w.sum())
        ratio = np.exp(1j * np.outer(t, loss - center)) @ w
        moment = law.finish_double(c + 1j * t, ratio * np.exp(1j * t * center), top)
        moment = np.abs(moment) / law.finish_double(c, float(w.sum()), top)
        decay += count * np.log(np.clip(moment, 1e-300, 1.0))
    above = np.flatnonzero(decay > -level)
    return float(t[above[-1]]) if len(above) else float(t[0])


def make_plan(parts: Composition, epsilon: float, choice: Choice, log_delta: float | None) -> Plan:
    """The abscissa that needs the fewest nodes, (alias distance) x (last t), for these margins."""
    c_saddle, crude = saddle(parts, epsilon)
    target = crude if log_delta is None else log_delta
    tilts = c_saddle * np.geomspace(0.05, 400.0, 56)
    exponents = np.empty(0)
    for c in tilts:
        exponents = np.append(exponents, _exponent(parts, float(c)))
        if exponents[-1] - c * epsilon - target > 3e3:  # further tilts bound nothing
            break
    tilts = tilts[: len(exponents)]

    def distance(c: float) -> float:
        """W: the images at eps - kW are at most 1, those at eps + kW obey Chernoff."""
        right = tilts > c * 1.02
        if not right.any():
            return math.inf
        need = exponents[right] - tilts[right] * epsilon - target + choice.margin
        w_right = float(np.min(np.maximum(need, 0) / (tilts[right] - c)))
        return max((choice.margin - target) / c, w_right)

    best = (math.inf, c_saddle)
    for c in c_saddle * np.geomspace(0.06, 1.3, 14):
        front = _exponent(parts, float(c)) - c * epsilon - math.log(c * (c + 1))
        last = _last_node(parts, float(c), choice.margin + front - target)
        best = min(best, (distance(float(c)) * last, float(c)))
    c = best[1] * choice.abscissa_factor
    front = _exponent(parts, c) - c * epsilon - math.log(c * (c + 1))
    return Plan(c, distance(c), target, max(front - target, 0.0))


class Line:
    """prod_i M_i(c + i k h)^T_i for k = 0, 1, ..., extended on demand."""

    def __init__(
        self,
        parts: Composition,
        plan: Plan,
        choice: Choice,
        budget: float,
        node_scale: float = 1.0,
    ) -> None:
        self.parts, self.plan, self.choice = parts, plan, choice
        self.budget, self.spent = budget, 0.0
        self.block = 64
        self.values: list[Any] = []
        c = self.c = flint.arb(plan.abscissa)
        self.h = 2 * flint.arb.pi() / flint.arb(plan.alias_distance)
        self._rows: list[list[Any]] = []
        self._losses: list[list[Any]] = []
        self._right: list[Any] = []
        self.node_scale = node_scale
        for law, _ in parts:
            logs, weights = self._nodes(law, node_scale)
            rows = [w * (c * ell).exp() for w, ell in zip(weights, logs, strict=True)]
            unit = [flint.acb(0, self.h * ell).exp() for ell in logs]
            self._rows.append([flint.acb(x) for x in rows])
            self._losses.append(logs)
            self._right.append(flint.acb_mat([_powers(w, self.block) for w in unit]))

    def _nodes(self, law: Law, scale: float) -> tuple[list[Any], ...]:
        """(losses, weights) of the atoms that matter."""
        depth = self.choice.bits * math.log(2) + self.plan.excess
        margin = self.choice.node_margin + self.plan.excess
        return law.nodes(self.plan.abscissa, depth, margin, scale)

    def extend(self) -> None:
        """Append the next batch of nodes (each batch is as long as all before it)."""
        rows = max(2, min(len(self.values) // self.block, 256))
        product: list[Any] | None = None
        for i, (law, count) in enumerate(self.parts):
            work = float(rows * self.block * len(self._rows[i]))
            self.spent += work
            if self.spent > self.budget:
                raise ReferenceTooSlow(f"{len(self.values)} nodes were not enough")
            left = []
            for row in range(rows):
                t = self.h * (len(self.values) + row * self.block)
                turns = [flint.acb(0, t * x).exp() for x in self._losses[i]]
                left.append([a * w for a, w in zip(self._rows[i], turns, strict=True)])
            sums = (flint.acb_mat(left) * self._right[i]).entries()
            first = len(self.values)
            powers = [
                law.finish(flint.acb(self.c, self.h * (first + k)), total) ** count
                for k, total in enumerate(sums)
            ]
            if product is None:
                product = powers
            else:
                product = [x * y for x, y in zip(product, powers, strict=True)]
        assert product is not None
        self.values.extend(product)

    def inner_error(self, total: Any) -> float:
        """How much the sum moves, relatively, when the inner step is cut by 0.7 (an estimate)."""
        worst = 0.0
        for law, count in self.parts:
            coarse, fine = (self._nodes(law, f * self.node_scale) for f in (1.0, 0.7))
            for fraction in (0.0, 0.03, 0.1, 0.3, 0.6):
                k = int(fraction * len(self.values))
                z = flint.acb(self.c, self.h * k)
                a, b = (
                    law.finish(z, _sum(w * (z * x).exp() for x, w in zip(*nodes, strict=True)))
                    for nodes in (coarse, fine)
                )
                size = abs(self.values[k]) / abs(z * (z + 1)) * max(k, 10)
                worst = max(worst, float(count * abs(a / b - 1) * size / total))
        return worst

    def front(self, epsilon: Any) -> Any:
        """The factor in front of the sum over nodes."""
        return (-self.c * epsilon).exp() * self.h / (2 * flint.arb.pi())

    def integrals(self, epsilon: Any, tolerance: float) -> tuple[Any, Any]:
        """(delta, -d delta / d epsilon) at ``epsilon``, as balls."""
        turn = -self.h * epsilon
        turns = _powers(flint.acb(0, turn).exp(), self.block)
        front = self.front(epsilon)
        phase = flint.acb(1)
        delta, slope = flint.acb(0), flint.acb(0)
        done, peak = 0, flint.arb(0)
        while True:
            if done == len(self.values):
                self.extend()
            peak = flint.arb(0)
            for k in range(done, len(self.values)):
                z = flint.acb(self.c, self.h * k)
                if k % self.block == 0:
                    phase = flint.acb(0, turn * k).exp()
                inner = self.values[k] * phase * turns[k % self.block] / (z + 1)
                term = inner / z
                if k == 0:
                    inner, term = inner / 2, term / 2
                delta += term
                slope += inner
                if k >= (done + len(self.values)) // 2:
                    peak = peak.max(abs(term))
            done = len(self.values)
            # if |term| keeps falling at least like 1/t^2 the rest is below peak * done
            if float(peak * done / abs(delta.real)) < tolerance:
                return 2 * front * delta.real, 2 * front * slope.real


def _sum(terms: Any) -> Any:
    total = flint.acb(0)
    for term in terms:
        total += term
    return total


def _run(
    parts: Composition,
    epsilon: Any,
    choice: Choice,
    log_delta: float | None,
    budget: float,
) -> tuple[Any, Any, Line]:
    """One run at fixed epsilon, repeated until its own assumptions hold."""
    flint.ctx.prec = choice.bits
    tolerance = math.exp(-choice.margin)
    node_scale = 1.0
    for _ in range(6):
        plan = make_plan(parts, float(epsilon), choice, log_delta)
        flint.ctx.prec = choice.bits + int(plan.excess / math.log(2))
        line = Line(parts, plan, choice, budget, node_scale)
        delta, slope = line.integrals(flint.arb(epsilon), tolerance)
        if not delta > 0:
            raise ArithmeticError(f"delta={delta}: the two margins are too small")
        found = float(delta.log())
        if line.inner_error(delta / line.front(epsilon)) > tolerance * 100:
            node_scale *= 0.6
            log_delta = found
            continue
        if plan.log_delta > found + 6.0:  # the alias distance rested on a wrong estimate
            log_delta = found
            continue
        return delta, slope, line
    raise ArithmeticError("no plan satisfied its own checks")


def _powers(w: Any, count: int) -> list[Any]:
    """w^0 ... w^(count-1) by halving, so that the balls do not grow from factor to factor."""
    out = [flint.acb(1), w]
    for r in range(2, count):
        out.append(out[r // 2] * out[r - r // 2])
    return out


def digits_agreed(a: Any, b: Any) -> float:
    """-log10 of the relative difference, radii included."""
    gap = abs(a - b)
    if gap.upper() == 0:
        return 60.0
    return float(-(gap.upper() / abs(a).lower()).log() / flint.arb(10).log())


def delta_reference(
    parts: Composition,
    epsilon: Fraction,
    budget: float = 3e9,
    choices: tuple[Choice, Choice] = (FIRST, SECOND),
) -> tuple[Any, float]:
    """(delta as a ball, digits on which two runs agree)."""
    flint.ctx.prec = choices[1].bits
    eps = to_arb(epsilon)
    first, _, _ = _run(parts, eps, choices[0], None, budget)
    second, _, _ = _run(parts, eps, choices[1], float(first.log()), budget)
    return second, digits_agreed(first, second)


def _chernoff_epsilon(parts: Composition, log_delta: float) -> float:
    """An upper bound on epsilon that is close enough to start from."""
    best = math.inf
    for c in np.geomspace(1e-3, 1e6, 160):
        e = (_exponent(parts, float(c)) - log_delta - math.log1p(c)) / c
        e += math.log(c / (1 + c))
        best = min(best, e)
        if e > best + 50:
            break
    return best


def epsilon_reference(
    parts: Composition,
    delta: Fraction,
    budget: float = 3e9,
    choices: tuple[Choice, Choice] = (FIRST, SECOND),
    start: float | None = None,
) -> tuple[Any, float]:
    """(epsilon with delta(epsilon) = delta as a ball, digits agreed); may be negative."""
    flint.ctx.prec = choices[1].bits
    target = to_arb(delta)
    log_target = float(target.log())
    eps = flint.arb(_chernoff_epsilon(parts, log_target) if start is None else start)
    low, high = 0.0, math.inf
    for _ in range(14):  # coarse runs, each at its own contour, only to get near
        value, slope, _ = _run(parts, eps, QUICK, None, budget)
        gap = float(value.log() - target.log())
        at = float(eps)
        low, high = (max(low, at), high) if gap > 0 else (low, min(high, at))
        new = min(max(at + gap * float(value / slope), at / 1.5), at * 1.5 + 1e-12)
        if not low <= new <= high:  # log delta is not concave where losses are rare
            new = (low + high) / 2
        eps = flint.arb(new)
        if abs(new - at) < 1e-2 * max(1e-3, at) or high < 1e-6:
            break
    answers = []
    for choice in choices:
        value, slope, line = _run(parts, eps, choice, log_target, budget)
        current = eps
        for _ in range(12):
            move = (value.log() - target.log()) * value / slope
            current = flint.arb((current + move).mid())
            if abs(float(move)) < 1e-13 * max(1e-12, abs(float(current))):
                break
            value, slope = line.integrals(current, math.exp(-choice.margin))
        else:
            raise ArithmeticError("Newton's iteration for epsilon did not settle")
        answers.append(current)
    return answers[1], digits_agreed(answers[0], answers[1])
