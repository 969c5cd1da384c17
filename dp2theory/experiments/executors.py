"""Where runs go: this process, processes of this machine, or a Dask cluster.

Whatever the executor, results are the same bits: a task holds its seed, and its arithmetic is
that of one thread (`one_thread`).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from dp2theory.problems.validation import whole_number

#: Arguments of what an executor runs.
P = ParamSpec("P")
#: What it gives back.
T = TypeVar("T")

#: What ``--executor`` may be.
FORMS = "serial, process, process:N (N workers) or dask:ADDRESS"
#: Most workers of process:N; more is a slip.
MAX_WORKERS = 1024
#: Seconds to wait for the scheduler of a Dask cluster, and for its first worker.
_PATIENCE = 10
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def one_thread() -> None:
    """Let the linear algebra of this process and of its children use one thread.

    Sums over several threads round in another order, and runs would depend on the machine's
    cores. It has no effect on a NumPy that is loaded already: commands call it first.
    """
    for name in _THREADS:
        os.environ[name] = "1"


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover (macOS, Windows)


def check_executor(spec: str) -> tuple[str, str]:
    """Return the kind of an executor and what follows it, without opening it.

    Raises
    ------
    ValueError
        For anything but "serial", "process", "process:N" and "dask:ADDRESS".
    """
    if not isinstance(spec, str):
        raise ValueError(f"executor={spec!r} must be {FORMS}")
    kind, colon, rest = spec.partition(":")
    if kind == "serial" and not colon:
        return kind, ""
    if kind == "process" and not colon:
        return kind, str(cores())
    if kind == "process" and rest.isascii() and rest.isdigit() and len(rest) <= 4:
        if not 1 <= int(rest) <= MAX_WORKERS:
            raise ValueError(f"executor={spec!r}: must have 1 to {MAX_WORKERS} workers")
        return kind, rest
    if kind == "dask" and rest:
        return kind, rest
    raise ValueError(f"executor={spec!r} must be {FORMS}")


@contextmanager
def open_executor(spec: str | None = None) -> Iterator[Executor | None]:
    """Open an executor by its name on the command line, and close it after the body.

    Parameters
    ----------
    spec : str, optional
        "serial", "process[:N]" (the default, with a worker for each core) or "dask:ADDRESS".

    Yields
    ------
    concurrent.futures.Executor or None
        None for serial, as `dp2theory.experiments.tasks.run_tasks` takes it.

    Raises
    ------
    ValueError
        For another spec, a missing package, or a cluster that does not answer.
    """
    kind, rest = check_executor("process" if spec is None else spec)
    if kind == "serial":
        yield None
    elif kind == "process":
        with Processes(int(rest)) as processes:
            yield processes
    else:
        with _dask(rest) as cluster:
            yield cluster


class Processes(Executor):
    """Worker processes that end with this process, and are replaced when they die.

    A plain pool would leave its workers behind when this process is killed, let an interrupt
    print a traceback in each of them, wait for running tasks before it closes, and take no more
    tasks once one worker died.

    Parameters
    ----------
    workers : int
        Number of processes, 1 to `MAX_WORKERS`.

    Raises
    ------
    ValueError
        For another number.
    """

    def __init__(self, workers: int) -> None:
        self.workers = whole_number("workers", workers, maximum=MAX_WORKERS)
        self._pool: ProcessPoolExecutor | None = None
        self._lifeline: Connection | None = None

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand a call to a worker; see `concurrent.futures.Executor.submit`."""
        try:
            return self._submit(function, args, kwargs)
        except BrokenExecutor:
            self._stop()
            return self._submit(function, args, kwargs)

    def _submit(self, function: Callable[..., T], args: Any, kwargs: Any) -> Future[T]:
        if self._pool is None:
            self._pool = self._start()
        with _interrupts_kept_off():  # the pool starts its processes one by one, as tasks come
            return self._pool.submit(function, *args, **kwargs)

    def _start(self) -> ProcessPoolExecutor:
        # Its start lets interrupts in again, whatever the mask was.
        resource_tracker.ensure_running()
        # Workers hold one end of this pipe, and end when the other one closes.
        theirs, self._lifeline = multiprocessing.Pipe(duplex=False)
        # Fresh interpreters: a fork copies locks that threads of this process may hold.
        return ProcessPoolExecutor(
            self.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin_worker,
            initargs=(theirs,),
        )

    def _stop(self) -> None:
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the workers.

        Parameters
        ----------
        wait : bool
            Wait for what was handed in.
        cancel_futures : bool
            End at once, running tasks included.
        """
        if self._pool is not None and wait and not cancel_futures:
            self._pool.shutdown(wait=True)
        self._stop()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        # After an error or an interrupt nobody waits for results any more.
        self.shutdown(cancel_futures=kind is not None)


def _begin_worker(lifeline: Connection) -> None:
    """Let a worker end when its parent does, or lets go of it."""

    def watch() -> None:
        try:
            lifeline.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_kept_off() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: they inherit the mask of this thread."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover (Windows)
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        import distributed
    except ImportError:
        raise ValueError(
            f"executor='dask:{address}' needs the package 'distributed', which is not installed: "
            "pip install 'dp2theory[scale]'"
        ) from None
    # What fails is said once, below; these logs would add tracebacks to it.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        make: Any = distributed.Client  # which has no types
        client = make(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:
        text = " ".join(str(error).split())[:200]
        raise ValueError(f"executor='dask:{address}': no scheduler answers there ({text})") from (
            None
        )
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except (TimeoutError, OSError):
            raise ValueError(f"executor='dask:{address}': the cluster has no worker") from None
        executor: Executor = client.get_executor(pure=False)
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False)
            raise
