"""Small accountants for tests of the machinery: quick, and only for Gaussian releases."""

from __future__ import annotations

import math
import os
import signal
from typing import Any

import dp_accounting

from accountants import ExactAccountant, NeighboringRelation
from accountants.sampling import Poisson
from accountants.walk import Release, leaves

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


class GaussiansOnly:
    """Right, for unsampled Gaussian releases under adding or removing."""

    def __init__(self) -> None:
        self.squares = 0.0

    def compose(self, event: Any, count: int = 1) -> None:
        for leaf, times in leaves(event, count, ADD_REMOVE):
            if not isinstance(leaf, Release) or leaf.sampling != Poisson(1.0):
                raise NotImplementedError(f"{type(event).__name__} is not covered")
            if leaf.noise_multiplier == 0 and times:
                self.squares = math.inf
            elif times:
                self.squares += times / leaf.noise_multiplier**2

    def _event(self) -> Any:
        return dp_accounting.GaussianDpEvent(1 / math.sqrt(self.squares))

    def get_epsilon(self, target_delta: float) -> float:
        exact = ExactAccountant()
        if 0 < self.squares < math.inf:
            exact.compose(self._event())
        elif self.squares:
            return math.inf if target_delta < 1 else 0.0
        return exact.get_epsilon(target_delta)


class Halved(GaussiansOnly):
    """Half of the right answer."""

    def get_epsilon(self, target_delta: float) -> float:
        return 0.5 * super().get_epsilon(target_delta)


class Doubled(GaussiansOnly):
    """Twice the right answer: sound."""

    def get_epsilon(self, target_delta: float) -> float:
        return 2.0 * super().get_epsilon(target_delta)


class Endless(GaussiansOnly):
    """Never answers for little noise."""

    def get_epsilon(self, target_delta: float) -> float:
        while self.squares > 10:
            pass
        return super().get_epsilon(target_delta)


class Greedy(GaussiansOnly):
    """Wants memory for little noise."""

    def get_epsilon(self, target_delta: float) -> float:
        if self.squares > 10:
            return float(len(bytearray(2**40)))
        return super().get_epsilon(target_delta)


class Suicidal(GaussiansOnly):
    """Takes its process down."""

    def get_epsilon(self, target_delta: float) -> float:
        os.kill(os.getpid(), signal.SIGSEGV)
        return 0.0
