"""Checks and defaults that commands share: sizes, steps, budgets, sampling and relation.

Every check raises `ValueError` with the option as the user typed it, its value and what is allowed.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._output import Input

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import NeighboringRelation
    from accountants.sampling import Sampling

SAMPLINGS = ("poisson", "without-replacement", "with-replacement", "shuffled-epochs")
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")
DEFAULT_DELTA_EXPONENT = -1.1
SMALLEST_NOISE = 1e-100
MAX_COUNT = 10**18  # of records, steps, …: what is larger is a slip, and may be no double at all


def option(name: str) -> str:
    """The option as typed: `noise_multiplier` -> `--noise-multiplier`."""
    return "--" + name.replace("_", "-")


def positive_integer(name: str, value: int) -> int:
    """`value`, when it is at least 1 and at most `MAX_COUNT`."""
    if value < 1:
        raise ValueError(f"{option(name)} {value}: must be an integer of at least 1")
    if value > MAX_COUNT:
        raise ValueError(f"{option(name)} {_short(value)}: must be at most 10^18")
    return value


def _short(value: int) -> str:
    digits = str(value)
    return digits if len(digits) <= 40 else f"{digits[:10]}… ({len(digits)} digits)"


def positive(name: str, value: float) -> float:
    """`value`, when it is finite and greater than 0."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{option(name)} {value}: must be finite and greater than 0")
    return value


def noise(name: str, value: float) -> float:
    """`value`, a noise multiplier, when it is finite and not below what can be squared."""
    if positive(name, value) < SMALLEST_NOISE:
        raise ValueError(f"{option(name)} {value}: must be at least {SMALLEST_NOISE:g}")
    return value


def step_size(name: str, value: float) -> float:
    """`value`, a clip norm or learning rate, when it lies in the range that is computed with."""
    from dp2theory.planning.pilot import STEP_SIZES

    low, high = STEP_SIZES
    if not low <= value <= high:  # true for NaN, so NaN is refused
        raise ValueError(f"{option(name)} {value}: must be in [{low:g}, {high:g}]")
    return value


def not_negative(name: str, value: float) -> float:
    """`value`, when it is finite and at least 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{option(name)} {value}: must be finite and at least 0")
    return value


def open_probability(name: str, value: float) -> float:
    """`value`, when it lies strictly between 0 and 1."""
    if not 0 < value < 1:  # false for NaN, so NaN is refused
        raise ValueError(f"{option(name)} {value}: must lie strictly between 0 and 1")
    return value


def resolve_delta(delta: float | None, dataset_size: int) -> Input:
    """The target δ, by default n^-1.1 for n records."""
    if delta is not None:
        return Input(open_probability("delta", delta))
    value = float(dataset_size) ** DEFAULT_DELTA_EXPONENT
    if not 0 < value < 1:
        raise ValueError(
            f"{option('delta')} is missing: its default n^-1.1 is {value} at "
            f"{option('dataset_size')} {dataset_size}, which is not strictly between 0 and 1"
        )
    return Input(value, default=True)


def resolve_steps(
    *,
    dataset_size: int,
    batch_size: int,
    epochs: int | None,
    steps: int | None,
    sampling: str = "poisson",
) -> int:
    """The number of steps: as given, or floor(n/b) * epochs. Exactly one of the two is wanted.

    Shuffled epochs have ceil(n/b) batches each, and only whole epochs are covered.
    """
    if (epochs is None) == (steps is None):
        both = "both were given" if epochs is not None else "neither was given"
        raise ValueError(f"exactly one of --epochs and --steps is wanted: {both}")
    shuffled = sampling == "shuffled-epochs"
    batches = -(-dataset_size // batch_size) if shuffled else dataset_size // batch_size
    if steps is not None:
        positive_integer("steps", steps)
        if shuffled and steps % batches:
            raise ValueError(
                f"--steps {steps}: must be a multiple of the {batches} batches of an epoch with "
                "--sampling shuffled-epochs, where only whole epochs are covered"
            )
        return steps
    assert epochs is not None
    if epochs < 1:
        raise ValueError(f"--epochs {epochs}: gives no steps; must be an integer of at least 1")
    positive_integer("epochs", epochs)
    return positive_integer("steps", batches * epochs)


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """`value`, when it is one of the known names."""
    if value not in known:
        raise ValueError(f"{option(name)} {value!r}: must be one of {', '.join(known)}")
    return value


def default_relation(sampling: str) -> str:
    """The relation that a sampling is usually accounted under: its own, not a conversion."""
    return "add-or-remove-one" if sampling == "poisson" else "replace-one"


def relation_of(name: str) -> "NeighboringRelation":
    """The relation as the accountants name it."""
    from accountants import NeighboringRelation

    return NeighboringRelation[name.replace("-", "_").upper()]


@dataclass(frozen=True)
class RunInputs:
    """The parts of a run that its privacy depends on, noise aside; made by `resolve_run`."""

    dataset_size: int
    batch_size: int
    steps: int
    epochs: int | None
    sampling: str
    relation: str
    relation_is_default: bool

    @property
    def sampling_probability(self) -> float:
        """Chance of each record to be in the batch of each step."""
        return self.batch_size / self.dataset_size

    def description(self) -> "Sampling":
        """How batches are drawn, as the accountants describe it."""
        return describe_sampling(self.sampling, self.dataset_size, self.batch_size)

    def event(self, noise_multiplier: float) -> "DpEvent":
        """The run as an event tree for any accountant."""
        from accountants.events import dp_sgd_event

        return dp_sgd_event(
            sampling=self.description(), noise_multiplier=noise_multiplier, steps=self.steps
        )

    def neighboring_relation(self) -> "NeighboringRelation":
        """The relation as the accountants name it."""
        return relation_of(self.relation)

    def inputs(self) -> dict[str, Input]:
        """The resolved inputs for the output envelope."""
        resolved = size_inputs(self.sampling, self.dataset_size, self.batch_size)
        if self.epochs is not None:
            resolved["epochs"] = Input(self.epochs)
        resolved["steps"] = Input(self.steps, default=self.epochs is not None)
        resolved["sampling"] = Input(self.sampling)
        resolved["relation"] = Input(self.relation, default=self.relation_is_default)
        return resolved


def describe_sampling(sampling: str, dataset_size: int, batch_size: int) -> "Sampling":
    """The description of the accountants for a `--sampling` and its sizes."""
    from accountants import sampling as schemes

    if sampling == "poisson":
        return schemes.Poisson(batch_size / dataset_size)
    if sampling == "without-replacement":
        return schemes.WithoutReplacement(dataset_size, batch_size)
    if sampling == "with-replacement":
        return schemes.WithReplacement(dataset_size, batch_size)
    return schemes.ShuffledEpochs(dataset_size, batch_size)


def size_inputs(sampling: str, dataset_size: int, batch_size: int) -> dict[str, Input]:
    """The sizes, and the chance that the accounting rests on, as inputs of the envelope."""
    fixed = None if sampling == "poisson" else "records in every batch"
    inputs = {
        "dataset_size": Input(dataset_size),
        "batch_size": Input(batch_size, unit=fixed),
    }
    if sampling == "with-replacement":
        inputs["draw_probability"] = Input(1 / dataset_size, default=True)
    elif sampling != "shuffled-epochs":
        inputs["sampling_probability"] = Input(batch_size / dataset_size, default=True)
    return inputs


def check_sizes(sampling: str, dataset_size: int, batch_size: int) -> None:
    """Refuse sizes that no batches can have."""
    positive_integer("dataset_size", dataset_size)
    positive_integer("batch_size", batch_size)
    if batch_size > dataset_size and sampling != "with-replacement":
        raise ValueError(
            f"--batch-size {batch_size}: must be at most --dataset-size {dataset_size}"
        )


def _drawn(supported: tuple[str, ...]) -> str:
    if supported == ("poisson",):
        return "independent (poisson)"
    return " or ".join(supported)


def resolve_run(
    *,
    dataset_size: int,
    batch_size: int,
    epochs: int | None,
    steps: int | None,
    sampling: str,
    relation: str | None,
    supported: tuple[str, ...] = ("poisson",),
) -> RunInputs:
    """Check the inputs of a run and fill in its defaults.

    Parameters
    ----------
    supported
        Samplings that the command can do: no optimizer here walks through shuffled epochs.

    Raises
    ------
    ValueError
        For a value outside its domain; unknown names list the known ones.
    dp2theory.cli._exit.CommandError
        With the exit code 5 for a sampling that the command does not cover.
    """
    if relation is not None:
        one_of("relation", relation, RELATIONS)
    if one_of("sampling", sampling, SAMPLINGS) not in supported:
        fail(
            f"--sampling {sampling}: not supported: this command's batches are drawn by "
            f"{_drawn(supported)} sampling, and an account of another sampling would be no "
            "guarantee for them; `dp2theory account` and `calibrate` cover all samplings",
            ExitCode.UNSUPPORTED,
        )
    check_sizes(sampling, dataset_size, batch_size)
    return RunInputs(
        dataset_size=dataset_size,
        batch_size=batch_size,
        steps=resolve_steps(
            dataset_size=dataset_size,
            batch_size=batch_size,
            epochs=epochs,
            steps=steps,
            sampling=sampling,
        ),
        epochs=epochs,
        sampling=sampling,
        relation=relation or default_relation(sampling),
        relation_is_default=relation is None,
    )
