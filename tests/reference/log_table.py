"""Logs of densities on uniform grids, interpolated to high degree."""

from __future__ import annotations

import numpy as np

DEGREE = 9
_OFFSETS = np.arange(DEGREE + 1) - DEGREE // 2
_FIT = np.linalg.inv(np.vander(_OFFSETS.astype(float), increasing=True))


class LogTable:
    """log of a density on a uniform grid, with local interpolation of degree 9."""

    def __init__(self, start: float, step: float, values: np.ndarray) -> None:
        self.start, self.step, self.values = start, step, values
        lead = DEGREE // 2
        count = len(values) - DEGREE
        windows = np.lib.stride_tricks.sliding_window_view(values, DEGREE + 1)
        # differences from the central value keep the digits of large logs
        centre = windows[:, lead]
        self._coefficients = (_FIT @ (windows - centre[:, None]).T).copy()
        self._coefficients[0] += centre
        self._lead, self._count = lead, count

    @property
    def grid(self) -> np.ndarray:
        return self.start + self.step * np.arange(len(self.values))

    def __call__(self, y: np.ndarray) -> np.ndarray:
        position = (y - self.start) / self.step - self._lead
        cell = np.floor(position).astype(np.int64)
        inside = (cell >= 0) & (cell < self._count)
        cell = np.clip(cell, 0, self._count - 1)
        x = position - cell
        value = self._coefficients[DEGREE].take(cell)
        for k in range(DEGREE - 1, -1, -1):
            value = value * x + self._coefficients[k].take(cell)
        return np.asarray(np.where(inside, value, -np.inf))


def trim(start: float, step: float, values: np.ndarray, floor: float) -> LogTable:
    """Keep the part above the floor (it is one interval: the densities are unimodal in logs)."""
    keep = np.flatnonzero(values > values.max() - floor)
    return LogTable(start + step * int(keep[0]), step, values[keep[0] : keep[-1] + 1])


def log_sum(exponents: np.ndarray) -> np.ndarray:
    """Row-wise log of the sum of exponentials; -inf for empty rows."""
    top = exponents.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(exponents - safe[:, None]).sum(axis=1)))
