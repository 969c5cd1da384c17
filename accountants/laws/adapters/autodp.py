"""autodp: amplification by sampling, composed through Rényi curves (`CANDIDATES`)."""

from __future__ import annotations

from functools import partial, partialmethod
from typing import Any

import dp_accounting as dp

from accountants.laws.adapters._base import Part, PartsAdapter, from_numbers
from accountants.laws.candidate import Candidate

_RELATIONS = (dp.NeighboringRelation.ADD_OR_REMOVE_ONE, dp.NeighboringRelation.REPLACE_ONE)


def _mechanism(relation: dp.NeighboringRelation, part: Part) -> Any:
    from autodp import mechanism_zoo as zoo
    from autodp.transformer_zoo import AmplificationBySampling as Sample

    event, drawn, replace = part.mechanism, part.sampling, relation is _RELATIONS[1]
    gaussian = isinstance(event, dp.GaussianDpEvent)
    if isinstance(event, dp.RandomizedResponseDpEvent) and event.num_buckets == 2 and replace:
        inner = zoo.RandresponseMechanism(1 - event.noise_parameter / 2)  # chance of the truth
    elif gaussian or isinstance(event, dp.LaplaceDpEvent):
        # Its noise is relative to the sensitivity: replacing moves a sum by two clip norms.
        noise = event.noise_multiplier / (2 if replace else 1)
        inner = zoo.GaussianMechanism(noise) if gaussian else zoo.LaplaceMechanism(noise)
    else:
        part.refuse()
    inner.neighboring = "replace_one" if replace else "add_remove"
    if isinstance(drawn, dp.PoissonSampledDpEvent):
        # Its examples use the improved bound for the Gaussian, which meets the condition.
        return Sample(True)(inner, drawn.sampling_probability, improved_bound_flag=gaussian)
    if isinstance(drawn, dp.SampledWithoutReplacementDpEvent):
        return Sample(PoissonSampling=False)(inner, drawn.sample_size / drawn.source_dataset_size)
    return inner if drawn is None else part.refuse()


class _Adapter(PartsAdapter):
    def _ask(self, question: str, at: float) -> Any:
        from autodp.transformer_zoo import Composition

        ones, times = self.translated, self.counts
        return getattr(ones[0] if times == [1] else Composition()(ones, times), question)(at)

    get_epsilon = partialmethod(_ask, "get_approxDP")
    get_delta = partialmethod(_ask, "get_approx_delta")


def _solve(q: float, steps: int, epsilon: float, delta: float) -> float:
    from autodp import calibrator_zoo, mechanism_zoo

    run, bounds = {"prob": q, "coeff": steps, "sigma": None}, [0, 1000]  # those of its examples
    asked = (mechanism_zoo.SubsampleGaussianMechanism, epsilon, delta, bounds, run, "sigma")
    return float(calibrator_zoo.generalized_eps_delta_calibrator()(*asked).params["sigma"])


_MORE = (_RELATIONS, "autodp", from_numbers(_solve))
CANDIDATES = (Candidate("autodp", partial(_Adapter, _mechanism), *_MORE),)
