"""Streaming block means of released noisy gradients, and the signal-to-noise ratio they show.

DP² squares an average of released gradients to build its preconditioner. Whether that average
says anything about the gradient can be read off the released gradients themselves: two
neighbouring blocks share the slowly moving gradient but not the noise, so the inner product of
their means estimates the signal while the noise energy is known exactly. Everything here is
post-processing of what was released anyway and costs no privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants import validation
from dp2theory.problems.validation import positive_real, whole_number

Array = NDArray[np.float64]

#: Fewer blocks than this give an inner product that is mostly noise, so no ratio is reported.
MINIMUM_BLOCKS = 4


@dataclass(frozen=True)
class BlockStatistic:
    """What the blocks of one length show.

    Attributes
    ----------
    length : int
        Block length m, in steps.
    blocks : int
        Number of complete blocks K.
    signal : float
        S(m), the mean of ``<A_k, A_{k+1}>`` over the K - 1 neighbouring pairs (may be negative).
    noise : float
        N(m) = d sigma^2 C^2 / (b^2 m), the expected squared norm of a block's mean noise.
    snr : float
        max(S(m), 0) / N(m).
    drift : float
        mean ``||A_k - A_{k+1}||^2`` minus 2 N(m): how far the gradient moves between blocks.
    """

    length: int
    blocks: int
    signal: float
    noise: float
    snr: float
    drift: float


def noise_energy(
    dimension: int, noise_multiplier: float, clip_norm: float, batch_size: float, length: int
) -> float:
    """Expected squared l2 norm of the noise in the mean of `length` released gradients.

    One released gradient is (sum of clipped gradients + N(0, (sigma C)^2 I)) / b, so its noise
    energy is d sigma^2 C^2 / b^2, and averaging m independent ones divides it by m.
    """
    return dimension * (noise_multiplier * clip_norm / batch_size) ** 2 / length


class BlockMeans:
    """Means of consecutive blocks of length 1, 2, 4, … of a stream of vectors.

    One vector is kept per block length: the mean of the last complete block. Two consecutive
    blocks of length m that start at an even block number make one block of length 2m, so a
    finished block is handed on to the next length like a carry in binary counting, and adding a
    vector costs two inner products on average.

    Parameters
    ----------
    dimension : int
        Length of the vectors.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = whole_number("dimension", dimension)
        self.steps = 0
        self._last: list[Array] = []
        self._counts: list[int] = []
        self._products: list[float] = []
        self._moves: list[float] = []

    def add(self, vector: ArrayLike) -> None:
        """Take the next vector of the stream, shape (dimension,).

        Raises
        ------
        ValueError
            If the shape is wrong or an entry is not finite (the run has diverged).
        """
        # a copy: optimizers may reuse their buffer
        mean = np.array(validation.reals("vector", vector, "finite numbers", nan=True))
        if mean.shape != (self.dimension,):
            raise ValueError(f"vector of shape {mean.shape}: must have shape ({self.dimension},)")
        if not np.isfinite(mean).all():
            raise ValueError(
                f"released gradient of step {self.steps} is not finite: "
                "the run has diverged, lower learning_rate"
            )
        self.steps += 1
        level = 0
        while True:
            if level == len(self._last):
                self._last.append(mean)
                self._counts.append(1)
                self._products.append(0.0)
                self._moves.append(0.0)
                return
            previous = self._last[level]
            self._products[level] += float(mean @ previous)
            move = mean - previous
            self._moves[level] += float(move @ move)
            self._last[level] = mean
            self._counts[level] += 1
            if self._counts[level] % 2:
                return
            mean = (mean + previous) / 2
            level += 1

    def statistics(
        self, *, noise_multiplier: float, clip_norm: float, batch_size: float
    ) -> tuple[BlockStatistic, ...]:
        """Signal, noise and their ratio for each block length with at least four blocks.

        Parameters
        ----------
        noise_multiplier, clip_norm, batch_size : float
            sigma, C and the public divisor b of the released gradients; all positive and finite.

        Returns
        -------
        tuple of BlockStatistic
            In increasing block length; empty when there were fewer than four steps.
        """
        positive_real("noise_multiplier", noise_multiplier)
        positive_real("clip_norm", clip_norm)
        positive_real("batch_size", batch_size)
        rows = []
        for level, blocks in enumerate(self._counts):
            if blocks < MINIMUM_BLOCKS:
                break
            length = 2**level
            noise = noise_energy(self.dimension, noise_multiplier, clip_norm, batch_size, length)
            signal = self._products[level] / (blocks - 1)
            move = self._moves[level] / (blocks - 1)
            rows.append(
                BlockStatistic(
                    length=length,
                    blocks=blocks,
                    signal=signal,
                    noise=noise,
                    snr=max(signal, 0.0) / noise,
                    drift=move - 2 * noise,
                )
            )
        return tuple(rows)

    def latest(self, length: int | None = None) -> tuple[int, Array]:
        """The mean of the last complete block of a length, by default of the longest.

        Parameters
        ----------
        length : int, optional
            A power of two that is at most the number of steps.

        Returns
        -------
        tuple of int and ndarray
            The length, and the mean with shape (dimension,).

        Raises
        ------
        ValueError
            When no block of that length is complete.
        """
        known = {2**level: mean for level, mean in enumerate(self._last)}
        chosen = max(known, default=0) if length is None else length
        if chosen not in known:
            raise ValueError(
                f"length={length!r}: {self.steps} steps hold complete blocks of "
                f"{', '.join(map(str, known)) or 'no length'}"
            )
        return chosen, known[chosen].copy()

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The whole state as plain arrays, for an ``.npz`` file."""
        return {
            "block_last": np.array(self._last).reshape(len(self._last), self.dimension),
            "block_counts": np.array(self._counts, dtype=np.int64),
            "block_products": np.array(self._products, dtype=np.float64),
            "block_moves": np.array(self._moves, dtype=np.float64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> BlockMeans:
        """Rebuild from `to_arrays`; inconsistent arrays are a ValueError."""
        try:
            last = np.asarray(arrays["block_last"], dtype=np.float64)
            counts = [int(count) for count in np.asarray(arrays["block_counts"])]
            products = np.asarray(arrays["block_products"], dtype=np.float64)
            moves = np.asarray(arrays["block_moves"], dtype=np.float64)
        except KeyError as error:
            raise ValueError(f"block state lacks the array {error}") from None
        if last.ndim != 2 or not len(last) == len(counts) == len(products) == len(moves):
            raise ValueError("block state is inconsistent: its arrays differ in length")
        steps = counts[0] if counts else 0
        # After t steps there are t // m complete blocks of length m, and no level without one.
        if counts != [steps >> level for level in range(steps.bit_length())]:
            raise ValueError(f"block state is inconsistent: block counts {counts}")
        if not all(np.isfinite(values).all() for values in (last, products, moves)):
            raise ValueError("block state is inconsistent: it holds values that are not finite")
        blocks = cls(last.shape[1])
        blocks.steps = steps
        blocks._last = [row.copy() for row in last]
        blocks._counts = counts
        blocks._products = products.tolist()
        blocks._moves = moves.tolist()
        return blocks
