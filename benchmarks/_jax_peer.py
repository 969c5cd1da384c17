"""DP² in JAX with ``vmap`` over records, as `benchmarks.dp2_loop` runs it beside this project.

Two programs. The *loop* is what DP-SGD code in JAX looks like: ``vmap`` over a function that
returns one record's clipped gradient, in one jitted step (batch drawn and gathered inside it),
called from a Python loop. The *one program* is the same arithmetic by an expert: nested scans
over the whole run, norms for the whole batch at once, nothing from Python in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from dp2theory.optimizers.dp2 import Dp2RmsProp

VERSION = jax.__version__
if jnp.zeros(0, dtype="float64").dtype != np.float64:  # float32 can be asked for all the same
    raise RuntimeError("JAX_ENABLE_X64 must be set to 1 before jax is imported")


@dataclass(frozen=True)
class Peer:
    """What a peer runs on.

    Attributes
    ----------
    optimizer : Dp2RmsProp
        With a `delay` that divides half of `steps`.
    columns, values, targets : ndarray
        Rows with equally many entries each; `dense` rows are made from them.
    dimension, batch_size, steps : int
    dense : bool
        Whether rows are held dense.
    precision : str
        "float32" or "float64".
    """

    optimizer: Dp2RmsProp
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    targets: NDArray[np.float64]
    dimension: int
    batch_size: int
    steps: int
    dense: bool
    precision: str

    @property
    def _delay(self) -> int:
        assert self.optimizer.delay is not None
        return self.optimizer.delay

    def _records(self) -> tuple[Any, ...]:
        targets = jnp.asarray(self.targets, dtype=self.precision)
        if not self.dense:
            values = jnp.asarray(self.values, dtype=self.precision)
            return values, targets, jnp.asarray(self.columns, dtype="int32")
        rows = np.zeros((self.targets.size, self.dimension), dtype=self.precision)
        np.put_along_axis(rows, self.columns, self.values, axis=1)
        return jnp.asarray(rows), targets

    def _gradient(self, w: Any, record: Any) -> Any:
        def loss(at: Any) -> Any:
            z = record[0] @ (at if self.dense else at[record[2]])
            return jnp.logaddexp(0.0, z) - record[1] * z

        return jax.grad(loss)(w)

    def _batch(self, key: Any, records: Any) -> Any:
        chosen = jax.random.randint(key, (self.batch_size,), 0, self.targets.size)
        return tuple(part[chosen] for part in records)

    def _noisy_mean(self, key: Any, total: Any, clip_norm: float) -> Any:
        deviation = self.optimizer.noise_multiplier * clip_norm
        normals = jax.random.normal(key, (self.dimension,), dtype=self.precision)
        return (total + deviation * normals) / self.batch_size

    def loop(self) -> Callable[[], None]:
        """The jitted step in a Python loop."""
        records, o = self._records(), self.optimizer
        delay = self._delay

        def clipped(w: Any, record: Any, clip_norm: float, divisor: Any) -> Any:
            gradient = self._gradient(w, record) / divisor
            norm = jnp.linalg.norm(gradient)
            return gradient * jnp.minimum(1.0, clip_norm / jnp.maximum(norm, 1e-30))

        def step(w: Any, key: Any, clip_norm: float, divisor: Any, held: Any) -> Any:
            key, drawn, noise = jax.random.split(key, 3)
            batch = self._batch(drawn, held)
            each = jax.vmap(clipped, in_axes=(None, 0, None, None))(w, batch, clip_norm, divisor)
            return self._noisy_mean(noise, each.sum(axis=0), clip_norm), key

        def plain(w: Any, total: Any, key: Any, ones: Any, held: Any) -> Any:
            mean, key = step(w, key, o.clip_norm, ones, held)
            return w - o.learning_rate * mean, total + mean, key

        def adaptive(w: Any, key: Any, divisor: Any, held: Any) -> Any:
            mean, key = step(w, key, o.preconditioned_clip_norm, divisor, held)
            return w - o.adaptive_learning_rate * mean, key

        plain, adaptive = jax.jit(plain), jax.jit(adaptive)
        zeros = jnp.zeros(self.dimension, dtype=self.precision)
        seeds = iter(range(10**6))

        def work() -> None:
            w, second, total, key = zeros, zeros, zeros, jax.random.key(next(seeds))
            for _ in range(self.steps // (2 * delay)):
                total = zeros
                for _ in range(delay):
                    w, total, key = plain(w, total, key, zeros + 1, records)
                second = o.ema * second + (1 - o.ema) * (total / delay) ** 2
                divisor = jnp.sqrt(second) + o.damping
                for _ in range(delay):
                    w, key = adaptive(w, key, divisor, records)
            w.block_until_ready()

        return work

    def one_program(self) -> Callable[[], None]:
        """Nested scans over the whole run, compiled together."""
        records, o = self._records(), self.optimizer
        delay = self._delay
        per_record = jax.vmap(self._gradient, in_axes=(None, 0))
        zeros = jnp.zeros(self.dimension, dtype=self.precision)

        def release(w: Any, key: Any, clip_norm: float, divisor: Any) -> Any:
            drawn, noise = jax.random.split(key)
            gradients = per_record(w, self._batch(drawn, records))
            if divisor is not None:
                gradients = gradients / divisor
            norms = jnp.linalg.norm(gradients, axis=1)
            factors = jnp.minimum(1.0, clip_norm / jnp.maximum(norms, 1e-30))
            return self._noisy_mean(noise, factors @ gradients, clip_norm)

        def plain(state: Any, key: Any) -> Any:
            w, total = state
            mean = release(w, key, o.clip_norm, None)
            return (w - o.learning_rate * mean, total + mean), None

        def cycle(state: Any, key: Any) -> Any:
            w, second = state
            first, later = jax.random.split(key)
            (w, total), _ = jax.lax.scan(plain, (w, zeros), jax.random.split(first, delay))
            second = o.ema * second + (1 - o.ema) * (total / delay) ** 2
            divisor = jnp.sqrt(second) + o.damping

            def adaptive(at: Any, one: Any) -> Any:
                mean = release(at, one, o.preconditioned_clip_norm, divisor)
                return at - o.adaptive_learning_rate * mean, None

            w, _ = jax.lax.scan(adaptive, w, jax.random.split(later, delay))
            return (w, second), None

        def whole(key: Any) -> Any:
            keys = jax.random.split(key, self.steps // (2 * delay))
            return jax.lax.scan(cycle, (zeros, zeros), keys)[0][0]

        compiled = jax.jit(whole)
        seeds = iter(range(10**6))

        def work() -> None:
            compiled(jax.random.key(next(seeds))).block_until_ready()

        return work
