"""What has run, from `--event FILE`, and what runs on top of it, from the options."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dp2theory.cli._inputs import (
    RELATIONS,
    SAMPLINGS,
    RunInputs,
    check_sizes,
    default_relation,
    describe_sampling,
    noise,
    one_of,
    option,
    positive_integer,
    relation_of,
    resolve_run,
    size_inputs,
)
from dp2theory.cli._output import Input

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from accountants import NeighboringRelation


@dataclass(frozen=True)
class Described:
    """What the options describe and the file holds, resolved.

    Attributes
    ----------
    spent : DpEvent or None
        What the file says has run.
    run : RunInputs or None
        The run that the options describe.
    step : DpEvent or None
        One step of what the options describe (one epoch, where epochs are shuffled).
    steps_per_unit : int
        Steps in that one.
    relation : str
        Neighbouring relation, by the name of the command line.
    inputs : dict
        Everything for the output envelope.
    notes : tuple of str
        What a reader of the answer must know about the file.
    """

    spent: "DpEvent | None"
    run: RunInputs | None
    step: "DpEvent | None"
    steps_per_unit: int
    noise_multiplier: float | None
    relation: str
    inputs: dict[str, Input]
    notes: tuple[str, ...]

    def neighboring_relation(self) -> "NeighboringRelation":
        """The relation as the accountants name it."""
        return relation_of(self.relation)

    def event(self) -> "DpEvent":
        """Everything: the file's, then the described run."""
        from dp_accounting import ComposedDpEvent, NoOpDpEvent

        parts = [] if self.spent is None else [self.spent]
        if self.run is not None:
            assert self.noise_multiplier is not None
            parts.append(self.run.event(self.noise_multiplier))
        if not parts:
            return NoOpDpEvent()
        return parts[0] if len(parts) == 1 else ComposedDpEvent(parts)


def describe(
    *,
    event: Path | None,
    dataset_size: int | None,
    batch_size: int | None,
    noise_multiplier: float | None,
    epochs: int | None,
    steps: int | None,
    sampling: str | None,
    relation: str | None,
    one_step: bool,
) -> Described:
    """Resolve the options of a run and the ledger before it.

    Parameters
    ----------
    sampling
        As given; poisson where the options describe a run without it.
    one_step
        The options describe one further step and not a run, so that no steps are wanted.

    Raises
    ------
    ValueError
        Naming the option, or the file and the place in it.
    OSError
        If the file cannot be read.
    """
    if relation is not None:
        one_of("relation", relation, RELATIONS)
    if sampling is not None:
        one_of("sampling", sampling, SAMPLINGS)
    if one_step and (epochs is not None or steps is not None):
        given = "--epochs" if epochs is not None else "--steps"
        raise ValueError(f"{given}: is what --remaining asks for; leave it out")
    wanted = {
        "dataset_size": dataset_size,
        "batch_size": batch_size,
        "noise_multiplier": noise_multiplier,
    }
    # The size of the data set alone gives the default δ of a ledger; it describes no run.
    is_run = event is None or any(
        value is not None for value in (batch_size, noise_multiplier, epochs, steps)
    )
    if sampling is not None and not is_run:
        raise ValueError(
            f"--sampling {sampling}: says how a further run draws its batches, and none is "
            "described; add --batch-size, --noise-multiplier and the rest, or leave it out "
            "(the ledger has its own)"
        )
    sampling = sampling or SAMPLINGS[0]
    if is_run:
        for name, value in wanted.items():
            if value is None:
                other = " (or --event FILE)" if event is None else ""
                raise ValueError(f"{option(name)} is wanted{other}: it is missing")
        assert noise_multiplier is not None
        noise("noise_multiplier", noise_multiplier)
    inputs: dict[str, Input] = {}
    notes: tuple[str, ...] = ()
    spent = None
    if event is not None:
        spent, notes = _read(event, inputs)
        if relation is None and not is_run:
            name = _relation_for(spent)
        else:
            name = relation or _wider(default_relation(sampling), _relation_for(spent))
    else:
        name = relation or default_relation(sampling)
    run = step = None
    per_unit = 1
    if is_run and one_step:
        assert dataset_size is not None
        assert batch_size is not None
        assert noise_multiplier is not None
        check_sizes(sampling, dataset_size, batch_size)
        step, per_unit = one_unit(sampling, dataset_size, batch_size, noise_multiplier)
        inputs |= size_inputs(sampling, dataset_size, batch_size)
        inputs["sampling"] = Input(sampling)
    elif is_run:
        assert dataset_size is not None
        assert batch_size is not None
        run = resolve_run(
            dataset_size=dataset_size,
            batch_size=batch_size,
            epochs=epochs,
            steps=steps,
            sampling=sampling,
            relation=relation,
            supported=SAMPLINGS,
        )
        inputs |= run.inputs()
    elif dataset_size is not None:
        inputs["dataset_size"] = Input(positive_integer("dataset_size", dataset_size))
    inputs["relation"] = Input(name, default=relation is None)
    if noise_multiplier is not None:
        inputs["noise_multiplier"] = Input(noise_multiplier)
    return Described(spent, run, step, per_unit, noise_multiplier, name, inputs, notes)


def one_unit(
    sampling: str, dataset_size: int, batch_size: int, noise_multiplier: float
) -> "tuple[DpEvent, int]":
    """The event of one step, or of one epoch where epochs are shuffled, and its steps."""
    from accountants.events import sampled_gaussian_event

    description = describe_sampling(sampling, dataset_size, batch_size)
    once = sampled_gaussian_event(sampling=description, noise_multiplier=noise_multiplier)
    per_unit = -(-dataset_size // batch_size) if sampling == "shuffled-epochs" else 1
    return once, per_unit


def _read(path: Path, inputs: dict[str, Input]) -> "tuple[DpEvent, tuple[str, ...]]":
    from accountants.ledger import read_ledger

    ledger = read_ledger(path)
    inputs["event"] = Input(str(path))
    inputs["form"] = Input(ledger.form, default=True)
    notes: tuple[str, ...] = ()
    if ledger.form == "opacus history":
        notes = (
            f"{path}: a history does not say how batches were drawn; it is accounted as Poisson "
            "sampling, as Opacus does; for batches of fixed size write a list of runs with "
            "their sampling",
        )
    return ledger.event, notes


def kinds_of(event: "DpEvent") -> set[str]:
    """Names of the event classes in a tree."""
    found = {type(event).__name__}
    for child in [getattr(event, "event", None), *getattr(event, "events", [])]:
        if child is not None:
            found |= kinds_of(child)
    return found


def _relation_for(event: "DpEvent") -> str:
    fixed = {
        "SampledWithReplacementDpEvent",
        "SampledWithoutReplacementDpEvent",
        "WeightedWithReplacementDpEvent",
        "ShuffledEpochDpEvent",
        "ResqueOracleDpEvent",
    }
    return "replace-one" if kinds_of(event) & fixed else "add-or-remove-one"


def _wider(one: str, other: str) -> str:
    """One relation for parts that are each usually accounted under another."""
    return "replace-one" if "replace-one" in (one, other) else one


def last_step(event: "DpEvent") -> "DpEvent":
    """The step that a ledger ended with."""
    while True:
        events = getattr(event, "events", None)
        if events:
            event = events[-1]
        elif hasattr(event, "count") and hasattr(event, "event"):
            event = event.event
        else:
            return event
