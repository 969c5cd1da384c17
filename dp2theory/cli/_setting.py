"""What `plan` and `train` share: the problem, the sizes, and the noise budget behind a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.cli._inputs import (
    RunInputs,
    option,
    positive_integer,
    resolve_delta,
    resolve_run,
)
from dp2theory.cli._output import Input
from dp2theory.cli._progress import progress
from dp2theory.cli._unit import unit_inputs

if TYPE_CHECKING:
    from dp2theory.planning.budget import Budget
    from dp2theory.problems.protocol import Problem
    from dp2theory.problems.public import PublicData


@dataclass(frozen=True)
class Setting:
    """A problem (or only its sizes) with the resolved run and δ.

    With a public share `problem` is the private part, and the sizes are its own.
    """

    problem: "Problem | None"
    dimension: int | None
    run: RunInputs
    delta: Input
    given: dict[str, Input]
    public: "PublicData | None" = None

    def inputs(self) -> dict[str, Any]:
        """The resolved inputs for the output envelope."""
        unit = unit_inputs(problem=self.problem)
        return self.given | self.run.inputs() | {"delta": self.delta} | unit

    def budget(self, epsilon: float) -> "Budget":
        """The budget of this run at a target ε."""
        from dp2theory.planning.budget import Budget

        return Budget(
            dataset_size=self.run.dataset_size,
            batch_size=self.run.batch_size,
            steps=self.run.steps,
            target_epsilon=epsilon,
            target_delta=self.delta.value,
            relation=self.run.relation,
            sampling_scheme=self.run.sampling,
        )


def load_problem(name: str, *, data: str | None, dimension: int | None, quiet: bool) -> "Problem":
    """The problem of that name; unknown names list the known ones."""
    from dp2theory.problems.registry import get_problem, takes_option

    for option_name, path, value in (("data", "path", data), ("dimension", "dimension", dimension)):
        if value is not None and not takes_option(name, path):
            raise ValueError(
                f"{option(option_name)} {value}: problem {name!r} takes none; leave it out"
            )
    if takes_option(name, "path"):
        if data is None:
            raise ValueError(f"--data is wanted: problem {name!r} needs the path of its data file")
        if not Path(data).exists():
            raise ValueError(f"--data {data}: must be an existing file (or folder, for imdb)")
    options = {} if dimension is None else {"dimension": dimension}
    with progress(f"loading {name}", 1, quiet=quiet) as advance:
        problem = get_problem(name, path=data, **options)
        advance()
    return problem


def resolve_setting(
    *,
    problem: str | None,
    data: str | None,
    dataset_size: int | None,
    dimension: int | None,
    batch_size: int,
    epochs: int | None,
    steps: int | None,
    delta: float | None,
    sampling: str,
    relation: str | None,
    quiet: bool,
    public_share: float | None = None,
    supported: tuple[str, ...] = ("poisson",),
) -> Setting:
    """Load the problem, or take the sizes as given, and resolve the run on it.

    Raises
    ------
    ValueError
        Naming the option; also when neither or contradicting sizes are given.
    """
    if dimension is not None:
        positive_integer("dimension", dimension)
    if dataset_size is not None:
        positive_integer("dataset_size", dataset_size)
    given: dict[str, Input] = {}
    public = None
    if problem is None:
        if dataset_size is None:
            raise ValueError("--problem or --dataset-size is wanted: neither was given")
        if data is not None:
            raise ValueError(f"{option('data')} {data}: needs --problem")
        loaded = None
        if dimension is not None:
            given["dimension"] = Input(dimension)
    else:
        # What needs no data is refused before a data set is loaded.
        # (Its size is not known yet, so that any will do.)
        positive_integer("batch_size", batch_size)
        _resolve_run(batch_size, batch_size, epochs, steps, sampling, relation, supported)
        loaded = load_problem(problem, data=data, dimension=dimension, quiet=quiet)
        if dataset_size not in (None, loaded.dataset_size):
            raise ValueError(
                f"--dataset-size {dataset_size}: contradicts problem {problem!r}, which has "
                f"{loaded.dataset_size} records; leave it out"
            )
        if public_share is not None:
            loaded, public = _split_public(loaded, public_share)
            given["public_share"] = Input(public_share)
        dataset_size = loaded.dataset_size
        given["problem"] = Input(loaded.name)
        if data is not None:
            given["data"] = Input(data)
        given["dimension"] = Input(loaded.dimension, default=dimension is None)
    return Setting(
        problem=loaded,
        dimension=dimension if loaded is None else loaded.dimension,
        run=_resolve_run(dataset_size, batch_size, epochs, steps, sampling, relation, supported),
        delta=resolve_delta(delta, dataset_size),
        given=given,
        public=public,
    )


def _split_public(problem: "Problem", share: float) -> "tuple[Problem, PublicData]":
    if not 0 < share < 1:
        raise ValueError(f"{option('public_share')} {share}: must lie strictly between 0 and 1")
    from dp2theory.problems.public import split_public

    return split_public(problem, share)


def _resolve_run(
    dataset_size: int,
    batch_size: int,
    epochs: int | None,
    steps: int | None,
    sampling: str,
    relation: str | None,
    supported: tuple[str, ...],
) -> RunInputs:
    return resolve_run(
        dataset_size=dataset_size,
        batch_size=batch_size,
        epochs=epochs,
        steps=steps,
        sampling=sampling,
        relation=relation,
        supported=supported,
    )
