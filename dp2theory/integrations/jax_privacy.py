"""The exact accountant inside jax_privacy's training analysis and calibration.

jax_privacy asks a *training accountant* for ε and calibrates with it.  Its own describes batches
of fixed size by Poisson sampling with doubled sensitivity, which under composition is no upper
bound for replacing one record (docs/integrations/README.md).  `training_accountant`
describes what the loader does:

    from jax_privacy.accounting import calibrate_noise_multiplier
    from dp2theory.integrations.jax_privacy import training_accountant

    calibrate_noise_multiplier(
        accountant=training_accountant("without-replacement"), target_epsilon=2.0, …)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting
from jax_privacy.accounting import DpAccountantConfig, DpParams, DpTrainingAccountant

from accountants import ExactAccountant, NeighboringRelation
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, Sampling, WithoutReplacement, WithReplacement

__all__ = ["ExactAccountantConfig", "SampledTrainingAccountant", "training_accountant"]

_ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
_SAMPLINGS: dict[str, Callable[[int, int], Sampling]] = {
    "poisson": lambda n, b: Poisson(b / n),
    "without-replacement": WithoutReplacement,
    "with-replacement": WithReplacement,
}


@dataclass(frozen=True, kw_only=True)
class ExactAccountantConfig(DpAccountantConfig):
    """Makes exact accountants for jax_privacy.

    Attributes
    ----------
    neighboring_relation : NeighboringRelation
        Noise multipliers are relative to the clip norm under every relation.
    tightness : {"fast", "tight"}
        Of the upper end, see `accountants.ExactAccountant`.
    """

    neighboring_relation: NeighboringRelation = _ADD_OR_REMOVE
    tightness: str = "fast"

    def create_accountant(self) -> ExactAccountant:
        """A new accountant to which nothing was composed."""
        return ExactAccountant(self.neighboring_relation, tightness=self.tightness)


class SampledTrainingAccountant(DpTrainingAccountant):
    """DP-SGD with batches drawn by a named sampling, for jax_privacy's analysis.

    Parameters
    ----------
    config : ExactAccountantConfig
    sampling : {"poisson", "without-replacement", "with-replacement"}
        How the loader draws batches; ``DpParams.sampling_method`` is not read, since
        jax_privacy's calibration never sets it.

    Raises
    ------
    ValueError
        If the sampling is unknown.
    """

    def __init__(self, config: ExactAccountantConfig, sampling: str) -> None:
        if sampling not in _SAMPLINGS:
            raise ValueError(f"sampling={sampling!r}: must be one of {', '.join(_SAMPLINGS)}")
        super().__init__(config)
        self._config = config
        self._sampling = sampling

    def can_calibrate_steps(self) -> bool:
        """True: ε grows with the steps."""
        return True

    def can_calibrate_batch_size(self) -> bool:
        """True: at a fixed number of steps ε grows with the batch size."""
        return True

    def can_calibrate_noise_multipliers(self) -> bool:
        """True: ε falls with the noise."""
        return True

    def _validate_dp_params(self, dp_params: DpParams) -> None:
        super()._validate_dp_params(dp_params)
        for name, allowed in (
            ("examples_per_user", (None, 1)),
            ("cycle_length", (None, 1)),
            ("truncated_batch_size", (None,)),
        ):
            value = getattr(dp_params, name)
            if value not in allowed:
                raise ValueError(
                    f"{name}={value!r}: must be {' or '.join(map(repr, allowed))} with "
                    "SampledTrainingAccountant"
                )

    def event(self, num_updates: int, dp_params: DpParams) -> dp_accounting.DpEvent:
        """What ``num_updates`` steps with these parameters are, as an event tree."""
        make = _SAMPLINGS[self._sampling]
        return dp_accounting.ComposedDpEvent(
            [
                dp_sgd_event(
                    sampling=make(int(dp_params.num_samples), batch_size),
                    noise_multiplier=noise,
                    steps=steps,
                )
                for steps, noise, batch_size in _stretches(num_updates, dp_params)
            ]
        )

    def _compute_epsilon(self, num_updates: Any, dp_params: DpParams) -> float:
        accountant = self._config.create_accountant()
        accountant.compose(self.event(int(num_updates), dp_params))
        return accountant.get_epsilon(dp_params.delta)


def _stretches(num_updates: int, dp_params: DpParams) -> Iterator[tuple[int, float, int]]:
    """(steps, noise multiplier, batch size) of each stretch in which both stay the same."""
    noises = _schedule(dp_params.noise_multipliers, "noise_multipliers")
    batches = _schedule(dp_params.batch_sizes, "batch_sizes")
    starts = sorted({start for start, _ in [*noises, *batches] if start < num_updates})
    for start, end in zip(starts, [*starts[1:], num_updates], strict=True):
        yield end - start, float(_at(noises, start)), round(_at(batches, start))


def _schedule(value: Any, name: str) -> list[tuple[int, float]]:
    if not isinstance(value, Sequence):
        return [(0, float(value))]
    found = sorted((int(start), float(each)) for start, each in value)
    if not found or found[0][0] != 0:
        raise ValueError(f"{name}={value!r}: must have an entry for step 0")
    return found


def _at(schedule: list[tuple[int, float]], step: int) -> float:
    return [value for start, value in schedule if start <= step][-1]


def training_accountant(
    sampling: str = "poisson",
    *,
    neighboring_relation: NeighboringRelation | None = None,
    tightness: str = "fast",
) -> SampledTrainingAccountant:
    """An exact training accountant for jax_privacy.

    Parameters
    ----------
    sampling : {"poisson", "without-replacement", "with-replacement"}
    neighboring_relation : NeighboringRelation, optional
        By default ADD_OR_REMOVE_ONE for Poisson batches and REPLACE_ONE for fixed sizes.
    tightness : {"fast", "tight"}
        Of the upper end, see `accountants.ExactAccountant`.

    Returns
    -------
    SampledTrainingAccountant

    Raises
    ------
    ValueError
        If the sampling or the tightness is unknown.
    """
    usual = _ADD_OR_REMOVE if sampling == "poisson" else NeighboringRelation.REPLACE_ONE
    relation = usual if neighboring_relation is None else neighboring_relation
    config = ExactAccountantConfig(neighboring_relation=relation, tightness=tightness)
    config.create_accountant()  # refuses what no accountant takes now
    return SampledTrainingAccountant(config, sampling)
