"""Running tasks: here or on an executor, each once, with what a store has left out.

What is to run goes to a worker as JSON text, and what came out comes back as JSON text
(`dp2theory.experiments.task_data`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from dp2theory.experiments.task_data import Task as Task
from dp2theory.experiments.task_data import TaskResult as TaskResult
from dp2theory.experiments.task_data import canonical as canonical
from dp2theory.experiments.task_data import code_id as code_id
from dp2theory.optimizers.batched import LockstepError, run_batched
from dp2theory.optimizers.protocol import DivergedRun, run

if TYPE_CHECKING:
    from dp2theory.optimizers.results import RunResult
    from dp2theory.problems.protocol import Problem

#: A task with its key.
Keyed: TypeAlias = tuple[str, Task]

#: Configurations in a bundle: most of what is shared is shared by five.
_BUNDLE = 5
#: Bundles handed to an executor before the first of them is done.
_IN_FLIGHT = 256
#: Times a task is handed out again after the process that had it died.
_RETRIES = 2


class WorkerError(RuntimeError):
    """A worker cannot go on: it died, or it runs another version of the code."""


class ResultStore(Protocol):
    """Where results are kept; `dp2theory.experiments.store.Store` is one."""

    def get(self, key: str) -> TaskResult | None:
        """Return the result of a task, if it is there."""

    def put(self, key: str, task: Task, result: TaskResult) -> None:
        """Keep the result of a task."""

    def accepts(self, code: str) -> bool:
        """Whether results of this code may be used."""


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
    return _outcome(made, problem)


def run_bundle(tasks: Sequence[Task]) -> list[TaskResult]:
    """Run tasks of one bundle (`bundles`) in this process, in lockstep where that is possible.

    Returns
    -------
    list of TaskResult
        Those of `run_task`, to the last bit.
    """
    first = tasks[0]
    setting = first.setting
    if len(tasks) > 1:
        try:
            rows = run_batched(
                [task.optimizer() for task in tasks],
                setting.load(),
                sampling=setting.description(),
                steps=setting.run_steps,
                seeds=[first.seed],
                expected_batch_size=float(setting.batch_size),
            )
            return [_outcome(made, setting.load()) for (made,) in rows]
        except LockstepError:  # they release differently after all
            pass
    return [run_task(task) for task in tasks]


def _outcome(made: RunResult, problem: Problem) -> TaskResult:
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


def bundles(tasks: Iterable[Keyed]) -> list[list[Keyed]]:
    """Group tasks that one worker makes faster together: configurations that share a seed.

    They share its batches and normals. Recorded curves are made one by one.

    Parameters
    ----------
    tasks : iterable of (key, Task)

    Returns
    -------
    list of list of (key, Task)
        In the order in which the first of each comes.
    """
    groups: dict[str, list[list[Keyed]]] = {}
    order = []
    for key, task in tasks:
        shared = task.identity() | {"settings": None, "noise_multiplier": None}
        together = groups.setdefault(canonical(shared), [])
        if task.record_every is not None or not together or len(together[-1]) == _BUNDLE:
            together.append([])
            order.append(together[-1])
        together[-1].append((key, task))
    return order


def run_texts(texts: Sequence[str]) -> list[str]:
    """Run a bundle given as JSON texts and return keys and results as JSON texts.

    Workers call this. The key is computed anew there: it holds the contents of data files.
    """
    tasks = [Task.from_json(json.loads(text)) for text in texts]
    return [
        canonical({"key": task.key(), "result": result.to_json()})
        for task, result in zip(tasks, run_bundle(tasks), strict=True)
    ]


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
    missing = bundles((key, task) for key, task in wanted.items() if key not in found)
    if executor is None:
        for bundle in missing:
            left = _not_made_meanwhile(bundle, store, keep)
            if left:
                made = run_bundle([task for _, task in left])
                for (key, _), result in zip(left, made, strict=True):
                    keep(key, result)
    else:
        _Distributed(executor, store, keep).run(missing)
    return [found[key] for key, _ in ordered]


def _not_made_meanwhile(
    bundle: Sequence[Keyed],
    store: ResultStore | None,
    keep: Callable[[str, TaskResult], None],
) -> list[Keyed]:
    """The tasks of a bundle that no other process on the same store has made by now."""
    left = []
    for key, task in bundle:
        made = None if store is None else store.get(key)
        if made is None:
            left.append((key, task))
        else:
            keep(key, made)
    return left


class _Distributed:
    """Hands bundles to an executor, some at a time, and takes results as they come."""

    def __init__(
        self,
        executor: Executor,
        store: ResultStore | None,
        keep: Callable[[str, TaskResult], None],
    ) -> None:
        self._executor = executor
        self._store = store
        self._keep = keep
        self._running: dict[Future[list[str]], list[Keyed]] = {}
        self._failures: dict[str, int] = {}

    def run(self, missing: Sequence[list[Keyed]]) -> None:
        waiting = list(reversed(missing))
        try:
            while waiting or self._running:
                while waiting and len(self._running) < _IN_FLIGHT:
                    self._submit(waiting.pop())
                if not self._running:
                    break
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                # In the order they were handed out, whatever order the set has.
                for future in [one for one in self._running if one in done]:
                    bundle = self._running.pop(future)
                    if not self._take(future, bundle):
                        # One by one, so that a task that kills its worker does so alone.
                        waiting += [[one] for one in bundle]
        finally:
            for future in self._running:
                future.cancel()

    def _submit(self, bundle: list[Keyed]) -> None:
        left = _not_made_meanwhile(bundle, self._store, self._keep)
        if not left:
            return
        texts = [canonical(task.to_json()) for _, task in left]
        try:
            future = self._executor.submit(run_texts, texts)
        except BrokenExecutor as error:
            raise WorkerError(f"a worker process died: {_line(error)}") from error
        self._running[future] = left

    def _take(self, future: Future[list[str]], bundle: Sequence[Keyed]) -> bool:
        """Keep the results of a future; whether its tasks need no other attempt."""
        try:
            texts = future.result()
        except CancelledError as error:
            raise WorkerError("the executor dropped a task (is its scheduler gone?)") from error
        except BrokenExecutor as error:
            # Whoever killed the process, its tasks and those of its fellows are lost.
            for key, _ in bundle:
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
        for (key, _), text in zip(bundle, texts, strict=True):
            answer = json.loads(text)
            if answer["key"] != key:
                raise WorkerError(
                    "a worker has other data than this process: is a file or a package another "
                    "one there, or did it change?"
                )
            result = TaskResult.from_json(answer["result"])
            code = result.code
            if not (self._store.accepts(code) if self._store else code == code_id()):
                raise WorkerError(
                    f"a worker runs another version of the code ({code[:12]}) than this process "
                    f"({code_id()[:12]}): install the same everywhere"
                )
            self._keep(key, result)
        return True


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
