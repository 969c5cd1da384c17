"""jax_privacy's accountants of DP-SGD: one sampling, a schedule of the noise (`CANDIDATES`)."""

from __future__ import annotations

from functools import partial
from typing import Any

import dp_accounting as dp

from accountants.laws.adapters._base import Part, PartsAdapter, from_numbers
from accountants.laws.candidate import Candidate


def _training(engine: str) -> Any:
    from jax_privacy import accounting as jp

    config = {"rdp": jp.RdpAccountantConfig, "pld": jp.PldAccountantConfig}[engine]
    return jp.DpsgdTrainingAccountant(dp_accountant_config=config())


def _batches(relation: dp.NeighboringRelation, part: Part) -> tuple[float, tuple[str, int, int]]:
    if isinstance(part.sampling, dp.SampledWithoutReplacementDpEvent):
        fixed = ("FIXED_BATCH_SIZE", part.sampling.sample_size, part.sampling.source_dataset_size)
        return part._replace(sampling=None).sampled_gaussian()[0], fixed
    if relation is dp.NeighboringRelation.REPLACE_ONE:
        part.refuse()  # Poisson batches are stated for the other two relations
    sigma, q = part.sampled_gaussian()
    return sigma, ("POISSON", *q.as_integer_ratio())  # it takes batch size / samples, whole


class _Adapter(PartsAdapter):
    def __init__(self, engine: str, relation: dp.NeighboringRelation) -> None:
        super().__init__(_batches, relation)
        self._training = _training(engine)

    def get_epsilon(self, target_delta: float) -> Any:
        from jax_privacy import accounting as jp

        noise = list(zip(self.starts, (sigma for sigma, _ in self.translated), strict=True))
        ((method, size, samples),) = {b for _, b in self.translated} or {("POISSON", 1, 1)}
        sampling = {"sampling_method": jp.SamplingMethod[method], "num_samples": samples}
        run = jp.DpParams(noise_multipliers=noise, delta=target_delta, batch_size=size, **sampling)
        return self._training.compute_epsilon(sum(self.counts), run)


def _solve(engine: str, q: float, steps: int, epsilon: float, delta: float) -> float:
    from jax_privacy import accounting as jp

    goal = {"target_epsilon": epsilon, "target_delta": delta, "num_updates": steps}
    goal["batch_sizes"], goal["num_samples"] = q.as_integer_ratio()
    return float(jp.calibrate_noise_multiplier(accountant=_training(engine), **goal))


def _candidate(engine: str) -> Candidate:
    about: Any = {"package": "jax-privacy", "calibrate": from_numbers(partial(_solve, engine))}
    return Candidate(f"jax-privacy-{engine}", partial(_Adapter, engine), **about)


CANDIDATES = (_candidate("rdp"), _candidate("pld"))
