"""What `dp2theory figure` was asked for, and the checks that all figures share."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path

#: The problem of a figure on a problem, when none was named.
PROBLEM = "hetA"
#: The most seeds: what is larger is a slip.
MOST_SEEDS = 10_000


@dataclass(frozen=True)
class Request:
    """The options of `dp2theory figure` as they were given; None where one was not."""

    name: str
    problem: str | None
    data: str | None
    dimension: int | None
    batch_size: int | None
    epochs: int | None
    steps: int | None
    epsilon: str | None
    delta: float | None
    delays: str | None
    public_share: float | None
    seed: int
    seeds: int | None
    tune_seeds: int | None
    executor: str
    store: Path | None
    out: Path
    format: str
    json: bool
    quiet: bool


@dataclass(frozen=True)
class ProblemRequest(Request):
    """The options of a figure on a problem, with the defaults that all of them share."""

    problem: str
    seeds: int
    tune_seeds: int


def with_defaults(request: Request) -> ProblemRequest:
    """The request of a figure on a problem, with what was not given and has one default."""
    from dp2theory.experiments.figures.request import SEEDS, TUNE_SEEDS

    given = {field.name: getattr(request, field.name) for field in fields(request)}
    defaults = {"problem": PROBLEM, "seeds": SEEDS, "tune_seeds": TUNE_SEEDS}
    return ProblemRequest(
        **given | {name: each for name, each in defaults.items() if given[name] is None}
    )


def default_request(name: str, problem: str | None = None) -> Request:
    """What `dp2theory figure NAME` asks for, with `--problem PROBLEM` unless None."""
    import inspect

    from dp2theory.cli.figure import figure

    options = inspect.signature(figure).parameters
    given = {key: one.default for key, one in options.items()} | {"name": name, "problem": problem}
    return Request(**given)


def formats_of(text: str) -> tuple[str, ...]:
    """The kinds of picture that were asked for, each once."""
    from dp2theory.report.figures import FORMATS

    formats = tuple(dict.fromkeys(text.split(",")))
    for one in formats:
        if one not in FORMATS:
            raise ValueError(f"--format {text}: must be one or more of {', '.join(FORMATS)}")
    return formats


@contextmanager
def folder_for(out: Path) -> Iterator[None]:
    """The folder for the files, made if its own folder is there; gone again where all fails."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out}: is a file, a folder is wanted")
    if not out.is_dir():
        if not out.parent.is_dir():
            raise ValueError(f"--out {out}: its folder does not exist")
        out.mkdir()
        try:
            yield
        except BaseException:
            with suppress(OSError):  # it is not empty
                out.rmdir()
            raise
    else:
        yield
