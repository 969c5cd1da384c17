"""The exact accountant for Opacus.

Opacus looks accountants up by the name of their mechanism and makes them without arguments, so
that what an accountant needs to know (how batches are drawn, from how many records) is bound to
a class, and the class is registered:

    from opacus import PrivacyEngine
    from dp2theory.integrations import opacus as exact

    exact.register()
    engine = PrivacyEngine(accountant="exact")

`PrivacyEngine(accountant="exact")` with `poisson_sampling=True` (its default) draws Poisson
batches.  With `poisson_sampling=False` batches come from a shuffled loader: register that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import dp_accounting
from opacus.accountants import IAccountant
from opacus.accountants.registry import register_accountant

from accountants import Bracket, ExactAccountant, NeighboringRelation
from accountants.events import sampled_gaussian_event
from accountants.sampling import (
    Poisson,
    Repeating,
    Sampling,
    ShuffledEpochs,
)

__all__ = ["ExactOpacusAccountant", "accountant_class", "register"]

#: The name that is registered unless another is given.
MECHANISM = "exact"
_ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE


class ExactOpacusAccountant(IAccountant):
    """Opacus' interface over `accountants.ExactAccountant`: Poisson batches, add or remove one.

    `accountant_class` makes classes for other samplings and relations. ``history`` is Opacus'
    own list of ``(noise_multiplier, sample_rate, num_steps)``, so that saved states of Opacus
    mean the same here.  Noise multipliers are relative to the clip norm under every relation.
    """

    #: How batches are drawn; None: Poisson, at the sample rate of each step.
    sampling: Sampling | None = None
    relation: NeighboringRelation = _ADD_OR_REMOVE
    tightness: str = "fast"
    _mechanism = MECHANISM
    history: list[tuple[float, float, int]]

    def __init__(self) -> None:
        super().__init__()

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one step of the optimizer.

        Raises
        ------
        ValueError
            If an argument is outside its domain, or the rate is not that of the sampling.
        """
        self._event(noise_multiplier, sample_rate)
        if self.history and tuple(self.history[-1][:2]) == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """The guarantee: upper end of `epsilon_bracket`.

        Other arguments, which Opacus passes on to accountants of its own, are refused.
        """
        if args or kwargs:
            extra = ", ".join([*map(repr, args), *kwargs])
            raise ValueError(f"{extra}: must be left out: the exact accountant takes delta only")
        return self.epsilon_bracket(delta).upper

    def epsilon_bracket(self, delta: float) -> Bracket:
        """ε at ``delta`` between its two ends.

        Raises
        ------
        ValueError
            If ``delta`` is outside [0, 1] or the history holds values outside their domains.
        """
        accountant = ExactAccountant(self.relation, tightness=self.tightness)
        accountant.compose(self.event())
        return accountant.epsilon_bracket(delta)

    def event(self) -> dp_accounting.DpEvent:
        """The history as an event tree.

        An epoch of shuffled batches that has begun counts as a whole one: what it released can
        be computed from what the whole one releases.
        """
        if isinstance(self.sampling, ShuffledEpochs):
            return self._epochs(self.sampling)
        return dp_accounting.ComposedDpEvent(
            [
                dp_accounting.SelfComposedDpEvent(self._event(noise, rate), int(steps))
                for noise, rate, steps in self.history
            ]
        )

    def _epochs(self, sampling: ShuffledEpochs) -> dp_accounting.DpEvent:
        # In one epoch every batch counts with the least noise that the epoch saw.
        events, left, least = [], sampling.batches, math.inf
        for noise, rate, steps in self.history:
            self._event(noise, rate)
            remaining = int(steps)
            while remaining:
                if left == sampling.batches and remaining >= left:
                    epochs, remaining = divmod(remaining, left)
                    event = sampled_gaussian_event(sampling=sampling, noise_multiplier=noise)
                    events.append(dp_accounting.SelfComposedDpEvent(event, epochs))
                    continue
                taken = min(left, remaining)
                left, remaining, least = left - taken, remaining - taken, min(least, noise)
                if left == 0:
                    events.append(sampled_gaussian_event(sampling=sampling, noise_multiplier=least))
                    left, least = sampling.batches, math.inf
        if left < sampling.batches:
            events.append(sampled_gaussian_event(sampling=sampling, noise_multiplier=least))
        return dp_accounting.ComposedDpEvent(events)

    def _event(self, noise_multiplier: float, sample_rate: float) -> dp_accounting.DpEvent:
        sampling = self.sampling
        if sampling is None:
            sampling = Poisson(float(sample_rate))
        else:
            rate = _rate(sampling)
            if not math.isclose(rate, sample_rate, rel_tol=1e-9):
                raise ValueError(
                    f"sample_rate={sample_rate!r}: must be {rate!r}, that of {sampling} "
                    "(batches per step of the loader that this accountant was registered for)"
                )
        return sampled_gaussian_event(sampling=sampling, noise_multiplier=float(noise_multiplier))

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a history that `state_dict` gave; JSON's lists are as good as tuples.

        Raises
        ------
        ValueError
            If it is of another mechanism or not such a state.
        """
        super().load_state_dict(state_dict)
        self.history = [(noise, rate, steps) for noise, rate, steps in self.history]

    def __len__(self) -> int:
        return sum(int(steps) for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name in Opacus' registry."""
        return cls._mechanism


def _rate(sampling: Sampling) -> float:
    """Opacus' sample rate, 1 / len(loader), for a sampling that it does not model."""
    if isinstance(sampling, ShuffledEpochs):
        return 1 / sampling.batches
    if isinstance(sampling, Repeating):
        return sampling.batch_size * sampling.draw_probability
    return sampling.sampling_probability


def accountant_class(
    *,
    mechanism: str,
    sampling: Sampling | None = None,
    relation: NeighboringRelation | None = None,
    tightness: str = "fast",
) -> type[ExactOpacusAccountant]:
    """A class that Opacus can make without arguments.

    Parameters
    ----------
    mechanism : str
        Its name in the registry.
    sampling : Sampling, optional
        How the loader really draws batches; Poisson at each step's rate when None.
    relation : NeighboringRelation, optional
        By default ADD_OR_REMOVE_ONE for Poisson batches and REPLACE_ONE otherwise.
    tightness : {"fast", "tight"}
        Of the upper end, see `accountants.ExactAccountant`.

    Returns
    -------
    type

    Raises
    ------
    ValueError
        If an argument is outside its domain.
    UnsupportedEventError
        If no theorem covers the sampling under the relation.
    """
    poisson = sampling is None or isinstance(sampling, Poisson)
    usual = _ADD_OR_REMOVE if poisson else NeighboringRelation.REPLACE_ONE
    chosen = usual if relation is None else relation
    tried = ExactAccountant(chosen, tightness=tightness)
    if sampling is not None:
        tried.compose(sampled_gaussian_event(sampling=sampling, noise_multiplier=1.0), 0)
    return type(
        "ExactOpacusAccountant",
        (ExactOpacusAccountant,),
        {
            "__doc__": f"Exact accountant for {sampling or 'Poisson batches'}, {chosen.name}.",
            "sampling": sampling,
            "relation": chosen,
            "tightness": tightness,
            "_mechanism": mechanism,
        },
    )


def register(
    mechanism: str = MECHANISM,
    *,
    sampling: Sampling | None = None,
    relation: NeighboringRelation | None = None,
    tightness: str = "fast",
    force: bool = False,
) -> type[ExactOpacusAccountant]:
    """Put an exact accountant into Opacus' registry; parameters as for `accountant_class`.

    Parameters
    ----------
    mechanism : str
        The name to ask Opacus for: ``PrivacyEngine(accountant=mechanism)``.
    force : bool
        Replace a mechanism of that name.

    Returns
    -------
    type
        The class that was registered.

    Raises
    ------
    ValueError
        If the name is taken and ``force`` is False.
    """
    made = accountant_class(
        mechanism=mechanism, sampling=sampling, relation=relation, tightness=tightness
    )
    register_accountant(mechanism, made, force=force)
    return made
