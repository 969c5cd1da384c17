"""One run as plain data: what is to run, what came out, and the key under which it is found.

A task names everything a run depends on, so that the same task gives the same bits wherever and
whenever it runs, and need not run twice. Floats survive the way through JSON exactly (the shortest
text that reads back as the same double).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from dp2theory.experiments.settings import Setting
from dp2theory.optimizers.registry import METHODS, MODIFIERS, build
from dp2theory.problems.validation import real_in, whole_number

if TYPE_CHECKING:
    from dp2theory.optimizers.steps import Optimizer

#: Raised when the meaning of a task's or a result's JSON changes.
FORMAT = 1
#: What the bits of a run depend on, below the package.
_SOURCES = (
    "optimizers/**/*.py",
    "problems/**/*.py",
    "experiments/settings.py",
    "experiments/task_data.py",
    "experiments/tasks.py",
)


@dataclass(frozen=True)
class Task:
    """One run.

    Attributes
    ----------
    setting : Setting
        What it runs on.
    method : str
        A key of `dp2theory.optimizers.registry.METHODS`.
    settings : mapping
        Fields of the method's class, all but those that the task itself fills in:
        ``noise_multiplier``, ``public`` (the setting's public part) and
        ``expected_batch_size``; besides them `dp2theory.optimizers.registry.MODIFIERS`. A field
        that is left out has the default of the class.
    noise_multiplier : float
        sigma; 0 for the methods without noise.
    seed : int
    record_every : int or None
        Steps between records of the train loss.
    """

    setting: Setting
    method: str
    settings: Mapping[str, Any]
    noise_multiplier: float
    seed: int
    record_every: int | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(METHODS)}")
        whole_number("seed", self.seed, minimum=0)
        if self.record_every is not None:
            whole_number("record_every", self.record_every)
        real_in("noise_multiplier", self.noise_multiplier, 0.0, math.inf, open_high=True)
        canonical(dict(self.settings))

    def identity(self) -> dict[str, Any]:
        """Return what the result depends on, with the number of the format."""
        return {
            "format": FORMAT,
            "setting": self.setting.run_identity(),
            "method": self.method,
            "settings": dict(self.settings),
            "noise_multiplier": float(self.noise_multiplier),
            "seed": int(self.seed),
            "record_every": self.record_every,
        }

    def key(self) -> str:
        """Return the sha256 of the canonical JSON of `identity`."""
        return hashlib.sha256(canonical(self.identity()).encode()).hexdigest()

    def optimizer(self) -> Optimizer:
        """Return the optimizer that runs.

        Raises
        ------
        ValueError
            For a setting that the method does not have, or a value outside its domain.
        """
        known = {one.name for one in dataclasses.fields(METHODS[self.method])}
        filled: dict[str, Callable[[], Any]] = {
            "noise_multiplier": lambda: float(self.noise_multiplier),
            "public": self._public,
            "expected_batch_size": lambda: float(self.setting.batch_size),
        }
        values = dict(self.settings)
        own = (known - set(filled)) | set(MODIFIERS)
        for name, value in values.items():
            if name not in own:
                raise ValueError(
                    f"{name}={value!r} is no setting of {self.method}, which has "
                    f"{', '.join(sorted(own))}"
                )
        if "noise_multiplier" not in known and self.noise_multiplier:
            raise ValueError(
                f"noise_multiplier={self.noise_multiplier!r} must be 0: {self.method} adds no noise"
            )
        for name in filled.keys() & known:
            values[name] = filled[name]()
        try:
            return build(self.method, values, steps=self.setting.run_steps)
        except TypeError as error:  # a field without default that is not given
            raise ValueError(f"settings={dict(self.settings)!r} of {self.method}: {error}") from (
                None
            )

    def _public(self) -> Any:
        public = self.setting.public()
        if public is None:
            raise ValueError(
                f"public_share={self.setting.public_share!r} must be > 0: {self.method} needs "
                "public records"
            )
        return public

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {
            "format": FORMAT,
            "setting": self.setting.to_json(),
            "method": self.method,
            "settings": dict(self.settings),
            "noise_multiplier": float(self.noise_multiplier),
            "seed": int(self.seed),
            "record_every": self.record_every,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Task:
        """Return the task that `to_json` wrote."""
        values = _fields_of(fields, "task", [one.name for one in dataclasses.fields(cls)])
        return cls(**(values | {"setting": Setting.from_json(values["setting"])}))


@dataclass(frozen=True)
class TaskResult:
    """What a run left.

    Attributes
    ----------
    final_loss : float
        Mean train loss of the last iterate; inf when the run diverged. Losses and metrics are
        computed on private records without noise, for the experimenter's eyes.
    metrics : dict
        The problem's figures at the last iterate; empty when the run diverged.
    steps : int
        Steps executed.
    loss_steps, losses : tuple
        Recorded curve.
    diverged : bool
        Whether a release or the final loss was not finite.
    ledger : str
        The event of the releases that were executed, as text.
    code : str
        `code_id` of the process that ran it.
    """

    final_loss: float
    metrics: Mapping[str, float]
    steps: int
    loss_steps: tuple[int, ...]
    losses: tuple[float, ...]
    diverged: bool
    ledger: str
    code: str = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return plain values; what is not finite becomes "inf", "-inf" or "nan"."""
        return {
            "format": FORMAT,
            "final_loss": _number(self.final_loss),
            "metrics": {name: _number(value) for name, value in self.metrics.items()},
            "steps": self.steps,
            "loss_steps": list(self.loss_steps),
            "losses": [_number(value) for value in self.losses],
            "diverged": self.diverged,
            "ledger": self.ledger,
            "code": self.code,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> TaskResult:
        """Return the result that `to_json` wrote."""
        values = _fields_of(fields, "result", [one.name for one in dataclasses.fields(cls)])
        return cls(
            final_loss=float(values["final_loss"]),
            metrics={str(name): float(value) for name, value in values["metrics"].items()},
            steps=int(values["steps"]),
            loss_steps=tuple(int(step) for step in values["loss_steps"]),
            losses=tuple(float(value) for value in values["losses"]),
            diverged=bool(values["diverged"]),
            ledger=str(values["ledger"]),
            code=str(values["code"]),
        )


def canonical(value: Any) -> str:
    """Return the one JSON text of plain values.

    Raises
    ------
    ValueError
        For NaN, infinities, and what JSON does not hold.
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{value!r} must hold plain finite values: {error}") from None


@functools.cache
def code_id() -> str:
    """Return the sha256 of what a run's bits depend on besides its task.

    These are the sources of optimizers, problems and tasks, and the versions of NumPy and SciPy.
    The machine is not in it: another processor may round otherwise.
    """
    package = Path(__file__).resolve().parents[1]
    whole = hashlib.sha256(f"{FORMAT} {np.__version__} {scipy.__version__}".encode())
    for pattern in _SOURCES:
        for source in sorted(package.glob(pattern)):
            whole.update(f"{source.relative_to(package)}\0".encode())
            whole.update(source.read_bytes())
    return whole.hexdigest()


# Now, and not when it is first asked for: the sources may be edited while the process runs.
code_id()


def _number(value: float) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _fields_of(fields: Mapping[str, Any], what: str, known: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a JSON object without its format number, or raise ValueError."""
    if fields.get("format") != FORMAT:
        raise ValueError(f"{what} has format={fields.get('format')!r}, must be {FORMAT}")
    values = {name: value for name, value in fields.items() if name != "format"}
    if set(values) != set(known):
        raise ValueError(f"{what} holds {sorted(values)}, must hold {sorted(known)}")
    return values
