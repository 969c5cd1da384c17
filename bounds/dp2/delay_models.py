"""Finite models of DP²: a DP-SGD phase and the adaptive phase after it, all outcomes listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bounds.dp2.noise_models import Array, outcomes
from bounds.dp2.symbols import C2, C, L, a1, a2, eps, h, i0, k0, nu1, nu2, s, tau_g
from bounds.model import Model
from bounds.symbols import T, b, d

#: From iterates to gradients of the loss.
Gradient = Callable[[Array], Array]
_RATES, _DAMPING = (0.3, 0.1), 0.2
_STDS = (0.5, 0.7)


def two_phases(
    gradient: Gradient,
    start: Array,
    *,
    delay: int,
    smoothness: float,
    spread: float = 0.3,
    claims: dict[Any, float] | None = None,
) -> Model:
    """2s steps from `start`: noise of each coordinate and the sampling error are signs."""
    dimension, steps = start.shape[0], 2 * delay
    signs = outcomes(steps * (dimension + 1))
    runs = signs.shape[-1]
    noise = signs[: steps * dimension].reshape(steps, dimension, runs)
    errors = spread * signs[steps * dimension :].reshape(steps, 1, runs)
    errors = errors * np.ones((steps, dimension, 1)) / np.sqrt(dimension)
    rates = np.repeat(_RATES, delay)
    stds = np.repeat(_STDS, delay)
    noise = noise * stds[:, None, None]
    iterate = np.broadcast_to(start, (dimension, runs)).copy()
    iterates, slopes, metrics = [iterate], [gradient(iterate)], []
    released = np.zeros((dimension, runs))
    for step in range(steps):
        used = slopes[-1] + errors[step]
        late = step >= delay
        released = released + (0 if late else 1) * (used + noise[step]) / delay
        metrics.append(np.abs(released) + _DAMPING if late else np.ones_like(released))
        iterate = iterate - rates[step] * (used / metrics[-1] + noise[step])
        iterates.append(iterate)
        slopes.append(gradient(iterate))
    grads = np.array(slopes)
    used_all, metric = grads[:-1] + errors, np.array(metrics)
    sizes = np.sqrt(((used_all / metric) ** 2).sum(axis=1).mean(axis=-1))
    top = np.abs(used_all).mean(axis=-1).sum(axis=1)[delay:]
    below = np.abs(released).mean(axis=-1).sum() + dimension * _DAMPING
    values: dict[Any, float] = {
        d: dimension,
        s: delay,
        b: 1,
        L: smoothness,
        tau_g: spread,
        eps: _DAMPING,
        a1: _RATES[0],
        a2: _RATES[1],
        nu1: _STDS[0],
        nu2: _STDS[1],
        C: float(sizes[:delay].max()),
        C2: float(sizes[delay:].max()),
        T: 2 * delay,
        k0: 1,
        i0: 1 + int(top.argmax()),
        h: float(top.max() / below),
    }
    for symbol, factor in (claims or {}).items():
        values[symbol] *= factor
    return Model(
        values,
        {
            "w": np.array(iterates),
            "grad": grads,
            "g": used_all,
            "N": noise,
            "D": metric,
            "X": released[None],
            "a": rates,
            "clip": sizes,
            "nu": stds,
        },
    )


def models(rng: np.random.Generator) -> Iterator[Model]:
    """Quadratic and log-cosh losses; then constants that are claimed too small."""
    for dimension, delay in ((1, 1), (1, 2), (2, 1)):
        start = rng.normal(size=(dimension, 1))
        yield two_phases(lambda w: w, start, delay=delay, smoothness=1.0)
        yield two_phases(np.tanh, start, delay=delay, smoothness=1.0)
        yield two_phases(lambda w: 0 * w, start, delay=delay, smoothness=0.5, spread=1.0)
    yield two_phases(lambda w: 3 + 0 * w, start[:1], delay=1, smoothness=1e-3, spread=0.0)
    # From a stationary point the noise moves the iterate, and the gradient it meets is steep.
    still = np.zeros((1, 1))
    yield two_phases(lambda w: 50 * w, still, delay=1, smoothness=50.0, spread=0.0)
    for symbol in (L, a1, tau_g, C, nu1, h):
        factor = 40.0 if symbol is h else 0.01
        yield two_phases(lambda w: 50 * w, still, delay=1, smoothness=50.0, claims={symbol: factor})
    yield two_phases(
        lambda w: 0 * w, still, delay=1, smoothness=0.01, spread=20.0, claims={tau_g: 0.001}
    )
