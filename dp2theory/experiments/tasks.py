"""One run as plain data: what is to run goes in as JSON, what came out comes back as JSON.

A task names everything a run depends on, so that the same task gives the same bits wherever and
whenever it runs, and is not run twice. Floats survive the way through JSON exactly (the shortest
text that reads back as the same double).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy

from dp2theory.experiments.settings import Setting
from dp2theory.optimizers.protocol import DivergedRun, run
from dp2theory.optimizers.registry import METHODS, MODIFIERS, build
from dp2theory.problems.validation import whole_number

if TYPE_CHECKING:
    from dp2theory.optimizers.steps import Optimizer

#: Raised when the meaning of a task's or a result's JSON changes.
FORMAT = 1
#: Tasks handed to an executor before the first of them is done.
_IN_FLIGHT = 256
#: Times a task is handed out again after the process that had it died.
_RETRIES = 2


class WorkerError(RuntimeError):
    """A worker cannot go on: it died, or it runs another version of the code."""


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
        if not 0 <= self.noise_multiplier < math.inf:
            raise ValueError(
                f"noise_multiplier={self.noise_multiplier!r} must be a finite number >= 0"
            )
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


class ResultStore(Protocol):
    """Where results are kept; `dp2theory.experiments.store.Store` is one."""

    def get(self, key: str) -> TaskResult | None:
        """Return the result of a task, if it is there."""

    def put(self, key: str, task: Task, result: TaskResult) -> None:
        """Keep the result of a task."""

    def accepts(self, code: str) -> bool:
        """Whether results of this code may be used."""


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

    These are the sources of the optimizers and problems and of this module, and the versions of
    NumPy and SciPy. The machine is not in it: another processor may round otherwise.
    """
    here = Path(__file__).resolve()
    sources = [here, *sorted(here.parents[1].glob("optimizers/**/*.py"))]
    sources += sorted(here.parents[1].glob("problems/**/*.py"))
    whole = hashlib.sha256(f"{FORMAT} {np.__version__} {scipy.__version__}".encode())
    for source in sources:
        whole.update(f"{source.relative_to(here.parents[1])}\0".encode())
        whole.update(source.read_bytes())
    return whole.hexdigest()


# Now, and not when it is first asked for: the sources may be edited while the process runs.
code_id()


def run_task(task: Task) -> TaskResult:
    """Run a task in this process.

    Parameters
    ----------
    task : Task

    Returns
    -------
    TaskResult
        A run that diverged is a result too.

    Raises
    ------
    ValueError
        For settings outside their domain.
    KeyboardInterrupt
        When interrupted; nothing is kept of the run.
    """
    setting = task.setting
    problem, optimizer = setting.load(), task.optimizer()
    try:
        made = run(
            optimizer,
            problem,
            sampling=setting.description(),
            steps=setting.run_steps,
            rng=task.seed,
            expected_batch_size=float(setting.batch_size),
            record_every=task.record_every,
        )
    except DivergedRun as stop:
        made = stop.partial
    with np.errstate(over="ignore", invalid="ignore"):
        finite = made.completed and math.isfinite(made.final_loss)
        metrics = problem.metrics(made.parameters) if finite else {}
    return TaskResult(
        final_loss=float(made.final_loss) if finite else math.inf,
        metrics={name: float(metrics[name]) for name in sorted(metrics)},
        steps=made.steps,
        loss_steps=tuple(int(step) for step in made.loss_steps),
        losses=tuple(float(loss) for loss in made.losses),
        diverged=not finite,
        ledger=repr(made.ledger),
        code=code_id(),
    )


def run_task_text(text: str) -> str:
    """Run a task given as JSON text and return its result as JSON text; workers call this."""
    return canonical(run_task(Task.from_json(json.loads(text))).to_json())


def run_tasks(
    tasks: Iterable[Task],
    *,
    executor: Executor | None = None,
    store: ResultStore | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[TaskResult]:
    """Run tasks and return their results in the order of the tasks.

    Parameters
    ----------
    tasks : iterable of Task
        Equal ones are run once.
    executor : concurrent.futures.Executor, optional
        Where they run; in this process, one after the other, if None. Results do not depend on
        it.
    store : Store, optional
        What it holds is not run again; every result is put there as soon as it is made.
    progress : callable, optional
        Called with (tasks done, tasks in all), equal tasks counted once, at the start and after
        each task.

    Returns
    -------
    list of TaskResult

    Raises
    ------
    WorkerError
        When a worker died (twice more on the same task, where the executor recovers from that)
        or runs another version of the code. What was done is in the store.
    KeyboardInterrupt
        When interrupted; what was done is in the store.
    """
    ordered = [(task.key(), task) for task in tasks]
    wanted = dict(reversed(ordered))
    wanted = {key: wanted[key] for key, _ in ordered}  # the first of equals, in order
    found: dict[str, TaskResult] = {}
    if store is not None:
        held = ((key, store.get(key)) for key in wanted)
        found = {key: result for key, result in held if result is not None}

    def keep(key: str, result: TaskResult) -> None:
        if store is not None:
            store.put(key, wanted[key], result)
        found[key] = result
        if progress is not None:
            progress(len(found), len(wanted))

    if progress is not None:
        progress(len(found), len(wanted))
    missing = [(key, task) for key, task in wanted.items() if key not in found]
    if executor is None:
        for key, task in missing:
            # Another process on the same store may have made it in the meantime.
            made = None if store is None else store.get(key)
            keep(key, run_task(task) if made is None else made)
    else:
        _Distributed(executor, store, keep).run(missing)
    return [found[key] for key, _ in ordered]


class _Distributed:
    """Hands tasks to an executor, some at a time, and takes results as they come."""

    def __init__(
        self,
        executor: Executor,
        store: ResultStore | None,
        keep: Callable[[str, TaskResult], None],
    ) -> None:
        self._executor = executor
        self._store = store
        self._keep = keep
        self._running: dict[Future[str], tuple[str, Task]] = {}
        self._failures: dict[str, int] = {}

    def run(self, missing: Sequence[tuple[str, Task]]) -> None:
        waiting = list(reversed(missing))
        try:
            while waiting or self._running:
                while waiting and len(self._running) < _IN_FLIGHT:
                    self._submit(*waiting.pop())
                if not self._running:
                    break
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                # In the order they were handed out, whatever order the set has.
                for future in [one for one in self._running if one in done]:
                    key, task = self._running.pop(future)
                    if not self._take(future, key):
                        waiting.append((key, task))
        finally:
            for future in self._running:
                future.cancel()

    def _submit(self, key: str, task: Task) -> None:
        made = None if self._store is None else self._store.get(key)
        if made is not None:
            self._keep(key, made)
            return
        try:
            future = self._executor.submit(run_task_text, canonical(task.to_json()))
        except BrokenExecutor as error:
            raise WorkerError(f"a worker process died: {_line(error)}") from error
        self._running[future] = (key, task)

    def _take(self, future: Future[str], key: str) -> bool:
        """Keep the result of a future; whether the task needs no other attempt."""
        try:
            text = future.result()
        except CancelledError as error:
            raise WorkerError("the executor dropped a task (is its scheduler gone?)") from error
        except BrokenExecutor as error:
            # Whoever killed the process, its tasks and those of its fellows are lost.
            self._failures[key] = self._failures.get(key, 0) + 1
            if self._failures[key] > _RETRIES:
                raise WorkerError(
                    f"a worker process died {self._failures[key]} times with this task "
                    f"(out of memory?): {_line(error)}"
                ) from error
            return False
        except Exception as error:
            if type(error).__name__ == "KilledWorker":  # of Dask, which is not imported here
                raise WorkerError(f"a Dask worker died: {_line(error)}") from error
            raise
        result = TaskResult.from_json(json.loads(text))
        if not (self._store.accepts(result.code) if self._store else result.code == code_id()):
            raise WorkerError(
                f"a worker runs another version of the code ({result.code[:12]}) than this "
                f"process ({code_id()[:12]}): install the same everywhere"
            )
        self._keep(key, result)
        return True


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


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
