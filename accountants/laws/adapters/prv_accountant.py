"""Microsoft's prv_accountant: numerical composition with a lower and an upper end."""

from __future__ import annotations

from functools import partial
from typing import Any

import dp_accounting as dp
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws.adapters._base import Ends, Part, PartsAdapter, from_numbers
from accountants.laws.candidate import Candidate

#: It has no defaults for these. eps_error is the example value of its README; δ errors are "around
#: 10^-3 δ" in its docstrings, and where no δ is given the README's example has 1e-10.
EPS_ERROR, DELTA_ERROR_PER_DELTA, DELTA_ERROR = 0.1, 1e-3, 1e-10


def _prv(relation: NeighboringRelation, part: Part) -> Any:
    import prv_accountant as package

    if isinstance(part.mechanism, dp.LaplaceDpEvent) and part.sampling is None:
        return package.LaplaceMechanism(mu=1 / part.mechanism.noise_multiplier)
    sigma, q = part.sampled_gaussian()
    if part.sampling is None:
        return package.GaussianMechanism(sigma)
    return package.PoissonSubsampledGaussianMechanism(q, sigma)


class _Adapter(PartsAdapter):
    def _accountant(self, delta_error: float) -> Any:
        from prv_accountant import PRVAccountant

        return PRVAccountant(self.translated, EPS_ERROR, delta_error, self.counts)

    def epsilon_bracket(self, target_delta: float) -> Ends:
        accountant = self._accountant(DELTA_ERROR_PER_DELTA * target_delta)
        lower, _, upper = accountant.compute_epsilon(target_delta, self.counts)
        return Ends(lower, upper)

    def get_epsilon(self, target_delta: float) -> float:
        return self.epsilon_bracket(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        return float(self._accountant(DELTA_ERROR).compute_delta(target_epsilon, self.counts)[2])


def _solve(q: float, steps: int, epsilon: float, delta: float) -> float:
    from prv_accountant.dpsgd import find_noise_multiplier

    # It halves this error: like that it works with the error of the answers above.
    return float(find_noise_multiplier(q, steps, epsilon, delta, eps_error=2 * EPS_ERROR))


#: What its candidate has besides name and constructor.
ABOUT = ((NeighboringRelation.ADD_OR_REMOVE_ONE,), "prv-accountant", from_numbers(_solve))
#: The candidates of this module.
CANDIDATES = (Candidate("prv-accountant", partial(_Adapter, _prv), *ABOUT),)
