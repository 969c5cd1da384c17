"""autodp: mechanisms with amplification by sampling, composed through their Rényi curves."""

from __future__ import annotations

from functools import partial
from typing import Any

import dp_accounting as dp
from dp_accounting.privacy_accountant import NeighboringRelation

from accountants.laws.adapters._base import Part, PartsAdapter
from accountants.laws.candidate import Candidate

RELATIONS = (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE)


def _mechanism(relation: NeighboringRelation, part: Part) -> Any:
    from autodp import mechanism_zoo, transformer_zoo

    replace, event, sampling = relation is RELATIONS[1], part.mechanism, part.sampling
    # Its noise is relative to the sensitivity: replacing moves a sum by two clip norms.
    sensitivity = 2 if replace else 1
    if isinstance(event, dp.GaussianDpEvent):
        mechanism = mechanism_zoo.GaussianMechanism(event.noise_multiplier / sensitivity)
    elif isinstance(event, dp.LaplaceDpEvent):
        mechanism = mechanism_zoo.LaplaceMechanism(event.noise_multiplier / sensitivity)
    elif isinstance(event, dp.RandomizedResponseDpEvent) and event.num_buckets == 2 and replace:
        # Its p is the chance of the true answer, which half of the random answers are too.
        mechanism = mechanism_zoo.RandresponseMechanism(1 - event.noise_parameter / 2)
    else:
        part.refuse()
    mechanism.neighboring = "replace_one" if replace else "add_remove"
    if isinstance(sampling, dp.PoissonSampledDpEvent):
        # Its examples use the improved bound for the Gaussian, which meets the condition.
        flags = {"improved_bound_flag": isinstance(event, dp.GaussianDpEvent)}
        return transformer_zoo.AmplificationBySampling(PoissonSampling=True)(
            mechanism, sampling.sampling_probability, **flags
        )
    if isinstance(sampling, dp.SampledWithoutReplacementDpEvent):
        share = sampling.sample_size / sampling.source_dataset_size
        return transformer_zoo.AmplificationBySampling(PoissonSampling=False)(mechanism, share)
    return mechanism if sampling is None else part.refuse()


class _Adapter(PartsAdapter):
    def _composed(self) -> Any:
        from autodp.transformer_zoo import Composition

        alone = self.counts == [1]
        return self.translated[0] if alone else Composition()(self.translated, self.counts)

    def get_epsilon(self, target_delta: float) -> Any:
        return self._composed().get_approxDP(target_delta)

    def get_delta(self, target_epsilon: float) -> Any:
        return self._composed().get_approx_delta(target_epsilon)


CANDIDATES = (Candidate("autodp", lambda r: _Adapter(partial(_mechanism, r)), RELATIONS, "autodp"),)
