"""Alternating phases: plain steps that learn a preconditioner, then steps that use it."""

from __future__ import annotations

from dataclasses import dataclass

from dp2theory.problems.validation import whole_number


@dataclass(frozen=True)
class Phases:
    """Lengths of the alternating phases, in steps; the SGD phase comes first.

    Attributes
    ----------
    sgd_steps, adaptive_steps : int
        At least 1 each.
    """

    sgd_steps: int
    adaptive_steps: int

    def __post_init__(self) -> None:
        whole_number("sgd_steps", self.sgd_steps)
        whole_number("adaptive_steps", self.adaptive_steps)

    @property
    def cycle(self) -> int:
        """Steps of both phases together."""
        return self.sgd_steps + self.adaptive_steps

    def is_sgd(self, step: int) -> bool:
        """Whether step number `step` (from 0) belongs to an SGD phase."""
        return step % self.cycle < self.sgd_steps

    def ends_sgd(self, step: int) -> bool:
        """Whether `step` is the last step of an SGD phase."""
        return step % self.cycle == self.sgd_steps - 1

    def adaptive_position(self, step: int) -> int:
        """Number of adaptive steps of its phase up to and including `step`; 0 in SGD phases."""
        return max(0, step % self.cycle - self.sgd_steps + 1)


def resolve_phases(delay: int | None, sgd_steps: int | None, adaptive_steps: int | None) -> Phases:
    """Return phase lengths from either `delay` (both equal) or the two lengths.

    Raises
    ------
    ValueError
        Unless exactly one of the two forms is given, with integers >= 1.
    """
    if delay is not None:
        if sgd_steps is not None or adaptive_steps is not None:
            raise ValueError(
                f"delay={delay!r} excludes sgd_steps={sgd_steps!r} and "
                f"adaptive_steps={adaptive_steps!r}: give delay, or both lengths"
            )
        length = whole_number("delay", delay)
        return Phases(length, length)
    if sgd_steps is None or adaptive_steps is None:
        raise ValueError(
            f"delay=None with sgd_steps={sgd_steps!r} and adaptive_steps={adaptive_steps!r}: "
            "give delay, or both lengths, as integers >= 1"
        )
    return Phases(sgd_steps, adaptive_steps)
