"""The Rényi accountant: a dp_accounting ``PrivacyAccountant`` over real orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike, NDArray

from accountants import validation
from accountants.counting import CountingAccountant
from accountants.extremes import moderate
from accountants.renyi import conversion
from accountants.renyi.approximate import ApproximateRenyi
from accountants.renyi.composition import Composition, truncations
from accountants.renyi.curves import untruncated
from accountants.rounding import above, exp_bracket
from accountants.sampling import Repeating
from accountants.walk import Release

Array = NDArray[np.float64]

_ENOUGH = -1e4  # log δ, far below what a double δ can be


class RenyiAccountant(CountingAccountant):
    """Upper bounds on (ε, δ) from Rényi divergences, with the best order among all real ones.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation
        Default ADD_OR_REMOVE_ONE.  Noise multipliers are relative to the clip norm under every
        relation: replacing a record moves the sum by up to twice that norm.
    orders : sequence of float, optional
        Finite orders > 1.  None: the infimum over all real orders, found by a search; otherwise
        exactly these are used.
    largest_copies : int, optional
        Truncation of the number of copies of a record in one batch drawn with replacement.
        None: the best one for the (ε, δ) that is asked for.  The chance of more copies is
        carried in δ (approximate Rényi differential privacy, ``approximate.py``).

    Raises
    ------
    ValueError
        If an argument is outside its domain.

    References
    ----------
    Curves, and the conversion: derived in docs/proofs/renyi.md.

    Examples
    --------
    >>> import dp_accounting
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    >>> accountant = RenyiAccountant().compose(step, 1000)
    >>> round(accountant.get_epsilon(1e-6), 6)
    2.436324
    """

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        orders: Sequence[float] | None = None,
        largest_copies: int | None = None,
    ) -> None:
        super().__init__(neighboring_relation)
        self._orders = None if orders is None else np.unique(_orders(orders))
        if largest_copies is not None:
            largest_copies = validation.whole(largest_copies, "largest_copies", 1)
        self._largest_copies = largest_copies

    def settings(self) -> dict[str, Any]:
        """Constructor arguments as JSON-able values."""
        return {
            "neighboring_relation": self.neighboring_relation.name,
            "orders": None if self._orders is None else self._orders.tolist(),
            "largest_copies": self._largest_copies,
        }

    def _moderated(self, release: Release) -> Release | None:
        return moderate(release)

    def _compositions(self, log_delta: float | None) -> Iterator[Composition]:
        for laws in truncations(self._counts, self._largest_copies, log_delta):
            yield Composition(self._counts, self.neighboring_relation, laws)

    def epsilon_and_order(self, target_delta: float) -> tuple[float, float]:
        """Smallest ε for ``target_delta``, and the order that gave it (NaN where none did).

        Parameters
        ----------
        target_delta : float
            δ in [0, 1].

        Returns
        -------
        (float, float)

        Raises
        ------
        ValueError
            If ``target_delta`` is outside [0, 1].
        """
        delta = validation.target_delta(target_delta)
        if self._non_private:
            return math.inf, math.nan
        if not self._counts or delta == 1:
            return 0.0, math.nan
        if delta == 0:
            return math.inf, math.nan
        log_delta = math.log(delta)

        def solve(composition: Composition) -> tuple[float, float]:
            log_rest = composition.log_rest(log_delta)
            if log_rest == -math.inf:
                return math.inf, math.nan
            return self._best(
                composition, lambda orders, d: conversion.epsilons(orders, d, log_rest)
            )

        epsilon, order = _least(map(solve, self._compositions(log_delta)))
        return epsilon * conversion.APART, order

    def log_delta(self, target_epsilon: float) -> float:
        """Natural logarithm of ``get_delta``, for δ below the range of floats."""
        epsilon = validation.target_epsilon(target_epsilon)
        if self._non_private:
            return 0.0
        if not self._counts or epsilon == math.inf:
            return -math.inf

        def solve(composition: Composition) -> tuple[float, float]:
            value, order = self._best(
                composition, lambda orders, d: conversion.log_deltas(orders, d, epsilon)
            )
            return composition.log_total(value), order

        return min(0.0, _least(map(solve, self._compositions(None)))[0])

    def _best(
        self, composition: Composition, value: Callable[[Array, Array], Array]
    ) -> tuple[float, float]:
        if self._orders is None:
            return conversion.best_order(composition.divergence, value, _ENOUGH)
        found = value(self._orders, composition.divergence(self._orders))
        best = int(np.argmin(found))
        return float(found[best]), float(self._orders[best])

    def get_epsilon(self, target_delta: float) -> float:
        """Smallest ε that the curve proves for ``target_delta``; see ``PrivacyAccountant``."""
        return self.epsilon_and_order(target_delta)[0]

    def get_delta(self, target_epsilon: float) -> float:
        """Smallest δ that the curve proves for ``target_epsilon``; see ``PrivacyAccountant``."""
        return exp_bracket(-math.inf, self.log_delta(target_epsilon)).upper

    def rdp(self, orders: ArrayLike) -> Array:
        """Rényi divergence of the composition: the larger of both directions.

        Parameters
        ----------
        orders : array_like
            Finite orders > 1, any shape.

        Returns
        -------
        ndarray
            Same shape; upper bounds, in nats.  Where batches may be cut or copies are truncated
            they are conditional, with the chance ``truncation_delta`` of the complement.

        Raises
        ------
        ValueError
            If an order is outside its domain, or records may repeat and ``largest_copies`` is
            None: then the divergence is useless, and the message says how large it is.
        """
        asked = validation.reals("orders", orders, "finite numbers > 1")
        flat = _orders(asked.ravel()) if asked.size else asked.ravel()
        if self._non_private:
            return np.full(asked.shape, math.inf)
        composition = self._given()
        if (flat[1:] > flat[:-1]).all():
            return composition.divergence(flat).reshape(asked.shape)
        unique, where = np.unique(flat, return_inverse=True)
        return composition.divergence(unique)[where].reshape(asked.shape)

    @property
    def truncation_delta(self) -> float:
        """δ that the curve of ``rdp`` carries.

        Raises
        ------
        ValueError
            As ``rdp``.
        """
        if self._non_private:
            return 1.0
        log_kept = self._given().log_kept
        return above(-math.expm1(log_kept)) if log_kept else 0.0

    def approximate(self, orders: ArrayLike) -> ApproximateRenyi:
        """The curve at increasing ``orders`` with the δ that it carries; raises as ``rdp``."""
        asked = validation.reals("orders", orders, "finite numbers > 1, at least one")
        flat = np.unique(_orders(asked.ravel()))
        values = self.rdp(flat)
        return ApproximateRenyi(tuple(flat.tolist()), tuple(values.tolist()), self.truncation_delta)

    def _given(self) -> Composition:
        if self._largest_copies is None:
            for release in self._counts:
                if isinstance(release.sampling, Repeating):
                    raise ValueError(
                        f"largest_copies=None: must be a number for a curve, since "
                        f"{untruncated(release.sampling, release.noise_multiplier)}"
                    )
        return next(self._compositions(None))


def _least(answers: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The smallest answer; more copies stop being tried when two in a row did not help."""
    best, worse = (math.inf, math.nan), 0
    for answer in answers:
        better = answer[0] < best[0]
        worse = 0 if better or best[0] == math.inf else worse + 1
        best = answer if better else best
        if worse == 2:
            break
    return best


def _orders(values: ArrayLike) -> Array:
    allowed = "finite numbers > 1, at least one"
    orders = validation.reals("orders", values, allowed)
    good = orders.ndim == 1 and orders.size > 0
    good = good and bool(np.isfinite(orders).all()) and bool((orders > 1).all())
    validation.require(good, "orders", values, allowed)
    return orders
