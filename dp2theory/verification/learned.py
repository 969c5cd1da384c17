"""A test that is learned: logistic regression on summaries of releases.

It knows nothing of what went wrong, and so finds what no model of a fault describes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from dp2theory.problems.protocol import Array

# Newton steps and penalty of a fit on standardised features.
_ROUNDS, _PENALTY = 25, 1e-3


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted score: larger means more like the first class.

    Attributes
    ----------
    centre, spread : ndarray, shape (F,)
        Means and standard deviations that features are scaled by.
    weights : ndarray, shape (F,)
        Of the scaled features.
    intercept : float
        Added to their sum.
    """

    centre: Array
    spread: Array
    weights: Array
    intercept: float

    def score(self, features: Array) -> Array:
        """Return the scores of rows of features."""
        return _standardised(features, self.centre, self.spread) @ self.weights + self.intercept


def fit_logistic(first: Array, second: Array) -> Logistic:
    """Fit a ridge logistic regression that tells rows of `first` from rows of `second`.

    Parameters
    ----------
    first, second : ndarray, shape (runs, features)
        Finite; features that do not vary are given no weight.

    Returns
    -------
    Logistic
    """
    features = np.vstack([first, second])
    labels = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
    centre, spread = features.mean(axis=0), features.std(axis=0)
    steady = spread <= 1e-12 * np.maximum(1.0, np.abs(centre))
    spread = np.where(steady, np.inf, spread)
    design = np.column_stack([_standardised(features, centre, spread), np.ones(len(labels))])
    penalty = np.full(design.shape[1], _PENALTY * len(labels))
    penalty[-1] = 1e-9
    weights = np.zeros(design.shape[1])
    for _ in range(_ROUNDS):
        chance = special.expit(design @ weights)
        curvature = design.T @ (design * np.maximum(chance * (1 - chance), 1e-9)[:, None])
        slope = design.T @ (labels - chance) - penalty * weights
        move = np.linalg.solve(curvature + np.diag(penalty), slope)
        weights = weights + move
        if np.abs(move).max() < 1e-6:
            break
    return Logistic(centre, spread, weights[:-1], float(weights[-1]))


def _standardised(features: Array, centre: Array, spread: Array) -> Array:
    # Far outliers of one feature must not decide alone.
    return np.clip((features - centre) / spread, -8.0, 8.0)
