"""What the certified delay is computed from, checked."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds.dp2.phi import check_number, check_steps, check_whole

Array = NDArray[np.float64]

#: Whether collection steps move in the metric of adaptive ones, or not at all.
MODES = ("common", "freeze")


@dataclass(frozen=True)
class Inputs:
    """What the bound needs to know.

    Attributes
    ----------
    steps : int
        T.
    mean_gradient : ndarray, shape (d,)
        m_j: bounds on the mean gradients of a phase. Phi is a bound only if they dominate the
        run's: E(G/s)_j^2 <= m_j^2 + nu1^2/s.
    noise_std, preconditioned_noise_std : float
        nu1 = sigma C1/b and nu2 = sigma C2/b.
    gradient_bound : float
        C >= ||g_t||_2.
    preconditioned_clip_norm : float
        C2. Adaptive steps are assumed not to clip, which C2 = C/eps guarantees.
    damping : float
        eps.
    variation_ratio : float
        chi: up-variation of D per update over D1; sqrt(1 - ema) is proved.
    staleness_intercept, staleness_slope : float or None
        c1, c2 with E||g_t||_1 <= (c1 + c2 s) D1(s) at every step; None where nothing is known.
    diameter : float
        R, the side of the box. Phi, DP-SGD's value and the trivial bound are proportional to it.
    repeats : int
        How many coordinates each entry of `mean_gradient` stands for: a billion equal means need
        no vector of a billion.
    mode : str
        ``"common"``: collection steps move in the metric D too; ``"freeze"``: they do not move.
        The latter counts r(T) updates, one more than `dp2.CTV.freeze` needs.
    sizes, counts : ndarray
        Made from `mean_gradient`: its distinct absolute values, and how many coordinates have each.
    """

    steps: int
    mean_gradient: Array
    noise_std: float
    preconditioned_noise_std: float
    gradient_bound: float
    preconditioned_clip_norm: float
    damping: float
    variation_ratio: float
    staleness_intercept: float | None = None
    staleness_slope: float | None = None
    diameter: float = 1.0
    mode: str = "common"
    repeats: int = 1
    sizes: Array = field(init=False, repr=False, compare=False)
    counts: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_steps(self.steps)
        try:
            means = np.asarray(self.mean_gradient)
        except ValueError:  # rows of different lengths
            means = np.asarray(None)
        numeric = means.dtype.kind in "iuf" and means.ndim == 1 and means.size > 0
        if not numeric or not np.isfinite(means).all():
            raise ValueError(
                "mean_gradient: must be a vector of finite numbers, one per coordinate"
            )
        means = means.astype(np.float64)
        object.__setattr__(self, "mean_gradient", means)
        for name in ("gradient_bound", "preconditioned_clip_norm", "damping", "diameter"):
            check_number(name, getattr(self, name))
        for name in ("noise_std", "preconditioned_noise_std", "variation_ratio"):
            check_number(name, getattr(self, name), zero=True)
        known = [self.staleness_intercept is None, self.staleness_slope is None]
        if any(known) != all(known):
            raise ValueError("staleness_intercept and staleness_slope: give both or neither")
        for name in ("staleness_intercept", "staleness_slope"):
            value = getattr(self, name)
            if value is not None:
                check_number(name, value, zero=True)
        if self.mode not in MODES:
            raise ValueError(f"mode={self.mode!r}: must be one of {', '.join(MODES)}")
        check_whole("repeats", self.repeats)
        # Equal means need one square root: a-priori means are all the same.
        sizes, counts = np.unique(np.abs(means), return_counts=True)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "counts", counts * float(self.repeats))

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.mean_gradient.size) * self.repeats

    def to_json(self) -> dict[str, Any]:
        """The numbers; the mean gradient by its l1 norm."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        each_l1 = float(np.abs(given.pop("mean_gradient")).sum())
        given["mean_gradient_l1"] = each_l1 * given.pop("repeats")
        return given | {"dimension": self.dimension}
