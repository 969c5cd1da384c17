"""Finite models of a DP-SGD phase: noise of plus or minus nu1, all outcomes listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from bounds.dp2.symbols import C1, L, eta, nu1, s
from bounds.model import Model
from bounds.symbols import b, d, sigma

#: Values on scenarios, the last axis.
Array = np.ndarray[Any, np.dtype[np.float64]]
#: From iterates to gradients of the loss.
Gradient = Callable[[Array], Array]


def outcomes(count: int) -> Array:
    """All 2^count columns of signs, as an array of shape (count, 2^count)."""
    return np.array(list(product((-1.0, 1.0), repeat=count))).T.reshape(count, -1)


def run(gradient: Gradient, start: Array, noise: Array, step_size: float) -> tuple[Array, Array]:
    """Iterates (one more than steps) and gradients of DP-SGD; scenarios on the last axis."""
    iterate = np.broadcast_to(start, noise.shape[1:]).copy()
    iterates, gradients = [iterate], []
    for each in noise:
        gradients.append(gradient(iterate))
        iterate = iterate - step_size * (gradients[-1] + each)
        iterates.append(iterate)
    return np.array(iterates), np.array(gradients)


def phase(
    gradient: Gradient,
    start: Array,
    *,
    steps: int,
    std: float,
    step_size: float,
    smoothness: float,
    claimed: float = 1.0,
    second: float = 1.0,
) -> Model:
    """A phase of DP-SGD, and for every step and coordinate the run with that noise drawn anew.

    The signs of all noise and of all second draws are independent. `claimed` multiplies sigma
    without changing the noise; `second` multiplies the second draws.
    """
    dimension = start.shape[0]
    count = steps * dimension
    signs = outcomes(2 * count).reshape(2, steps, dimension, -1)
    noise, again = std * signs[0], second * std * signs[1]
    iterates, gradients = run(gradient, start, noise, step_size)
    total = np.concatenate([np.zeros_like(noise[:1]), np.cumsum(noise, axis=0)])
    shape = (steps, dimension, steps, dimension, noise.shape[-1])
    other, slope = np.full(shape, np.nan), np.full(shape, np.nan)
    for step in range(steps):
        for place in range(dimension):
            changed = noise.copy()
            changed[step, place] = again[step, place]
            path, slopes = run(gradient, start, changed, step_size)
            kept = steps - step
            other[step, place, :kept] = path[step + 1 :]
            slope[step, place, : kept - 1] = slopes[step + 1 :]
    values = {
        s: steps,
        d: dimension,
        nu1: std,
        sigma: claimed * std * 2,
        C1: 1.0,
        b: 2,
        eta: step_size,
        L: smoothness,
    }
    processes = {"w": iterates, "g": gradients, "N": noise, "S": total}
    return Model(values, {**processes, "Nc": again, "wc": other, "gc": slope})


def phases(rng: np.random.Generator) -> Iterator[Model]:
    """Linear, quadratic, log-cosh and Huber losses; then a concave one, and too long a step."""
    for dimension, steps in ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2)):
        start = rng.normal(size=(dimension, 1))

        def made(
            gradient: Gradient,
            step_size: float,
            smoothness: float = 1.0,
            start: Array = start,
            steps: int = steps,
            **changed: float,
        ) -> Model:
            return phase(
                gradient,
                start,
                steps=steps,
                std=0.75,  # sums of its multiples are exact
                step_size=step_size,
                smoothness=smoothness,
                **changed,
            )

        half = rng.normal(size=(dimension, dimension))
        curvature = half @ half.T / dimension
        top = float(np.linalg.eigvalsh(curvature).max())
        slope = rng.normal(size=(dimension, 1))
        for part in (2.0, 0.7):
            yield made(partial(_affine, slope, 0 * curvature), part)
            yield made(partial(_affine, 0 * slope, curvature), part / top, top)
            yield made(np.tanh, part)
            yield made(_huber, part)
        flat, bowl = np.zeros_like(slope), np.eye(dimension)
        yield made(partial(_affine, flat, -bowl), 0.5)  # concave
        yield made(partial(_affine, flat, bowl), 4.0)  # a step above 2/L
        yield made(partial(_affine, flat, 0 * bowl), 1.0, claimed=0.5)
        yield made(partial(_affine, flat, bowl), 1.0, second=2.0)


def _affine(offset: Array, matrix: Array, iterate: Array) -> Array:
    return np.asarray(offset + matrix @ iterate)


def _huber(iterate: Array) -> Array:
    return np.clip(iterate, -1, 1)
