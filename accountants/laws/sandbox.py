"""Runs an accountant in a process of its own, so that a hang or a crash is an answer too.

The process is forked: the accountant may be a closure, and what it caches stays from one question
to the next, as in a user's program.  Where there is no fork the accountant runs in this process,
without limits.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import select
import signal
import struct
import sys
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

from accountants.laws.candidate import Candidate
from accountants.laws.hushed import hushed
from accountants.laws.program import Program, RenyiQuestion, Reply, Request, run

#: Seconds of CPU of one request, where nothing else is said.
CPU_SECONDS = 5
#: What one request may add to the memory of its process, in bytes.
MEMORY_BYTES = 2 * 2**30
_PATIENCE = 6  # wall time over CPU time: other work may share the cores
_PR_SET_PDEATHSIG = 1
_LENGTH = struct.Struct("!Q")


class Sandbox:
    """Answers requests about one candidate; closes its process when it is left.

    Parameters
    ----------
    candidate : Candidate
    cpu_seconds : int
        Limit for one request, if the request names none.
    memory_bytes : int
        Limit on what one request may add to the memory of the process.
    """

    def __init__(
        self,
        candidate: Candidate,
        *,
        cpu_seconds: int = CPU_SECONDS,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self.candidate = candidate
        self.cpu_seconds = cpu_seconds
        self.memory_bytes = memory_bytes
        self._pid = 0
        self._to = self._from = -1
        self._number = 0
        self._finished_cpu = self._running_cpu = 0.0
        self._too_much: dict[str, tuple[int, str]] = {}

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def cpu_time(self) -> float:
        """CPU time that the candidate has used."""
        return self._finished_cpu + self._running_cpu

    def ask(self, request: Request, cpu_seconds: int | None = None) -> tuple[Reply, ...]:
        """The replies to ``request``, one for each of its calls.

        What passed the limit once is not asked again within that limit.
        """
        limit = self.cpu_seconds if cpu_seconds is None else cpu_seconds
        key = repr(request)
        known, reason = self._too_much.get(key, (0, ""))
        if known >= limit:
            return _exhausted(request, reason)
        replies = self._ask(request, limit)
        if replies and replies[0].exhausted:
            self._too_much[key] = (limit, replies[0].exhausted)
        return replies

    def _ask(self, request: Request, limit: int) -> tuple[Reply, ...]:
        if not hasattr(os, "fork"):
            with hushed():
                return run(self.candidate, request)
        if not self._pid:
            self._start()
        try:
            patience = _PATIENCE * limit
            self._number += 1
            _send(self._to, pickle.dumps((self._number, request, limit)))
            replies, self._running_cpu = self._reply(patience)
        except (BrokenPipeError, EOFError):
            return _exhausted(request, self._reap(limit))
        except TimeoutError:
            os.kill(self._pid, signal.SIGKILL)
            self._reap(limit)
            return _exhausted(request, f"no answer within {patience} s")
        return replies

    def _reply(self, patience: int) -> tuple[tuple[Reply, ...], float]:
        """The replies to the last request: a candidate that forks may send others."""
        while True:
            number, replies, used = pickle.loads(_receive(self._from, patience))
            if number == self._number:
                return tuple(replies), float(used)

    def close(self) -> None:
        """End the process."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self._reap(0)

    def _start(self) -> None:
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about threads: the child only runs the candidate
            pid = os.fork()
        if pid == 0:
            try:
                os.close(down_write)
                os.close(up_read)
                self._serve(down_read, up_write)
            finally:
                os._exit(0)
        os.close(down_read)
        os.close(up_write)
        self._pid, self._to, self._from = pid, down_write, up_read

    def _serve(self, read: int, write: int) -> None:
        os.setsid()  # what the candidate starts ends with it; and Ctrl-C is for the parent
        _end_with_parent()
        faulthandler.disable()  # a crash is told by the signal
        own = os.getpid()
        silence = os.open(os.devnull, os.O_RDWR)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        with hushed():
            while True:
                try:
                    number, request, seconds = pickle.loads(_receive(read, None))
                except EOFError:
                    return
                lift = self._limit(seconds)
                # The parent may have died: then nobody else would end a wait.
                signal.setitimer(signal.ITIMER_REAL, 2 * _PATIENCE * seconds)
                answer = run(self.candidate, request)
                signal.setitimer(signal.ITIMER_REAL, 0)
                lift()
                if os.getpid() != own:
                    return  # forked by the candidate: not ours
                try:
                    _send(write, pickle.dumps((number, answer, time.process_time())))
                except BrokenPipeError:
                    return

    def _limit(self, seconds: int) -> Callable[[], None]:
        """Limit what one request may use; what it returns lifts the limit on memory."""
        import resource  # absent where there is no fork

        def at_most(wanted: int, hard: int) -> int:
            return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)

        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime) + 1
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (at_most(spent + seconds, hard), hard))
        # Private memory, not address space: libraries map far more than they use.
        free = resource.getrlimit(resource.RLIMIT_DATA)
        size = _data_pages() * resource.getpagesize()
        if size:
            most = at_most(size + self.memory_bytes, free[1])
            resource.setrlimit(resource.RLIMIT_DATA, (most, free[1]))
        return lambda: resource.setrlimit(resource.RLIMIT_DATA, free)

    def _reap(self, limit: int) -> str:
        _, status, used = os.wait4(self._pid, 0)
        with contextlib.suppress(OSError):
            os.killpg(self._pid, signal.SIGKILL)  # what the candidate started
        self._finished_cpu += used.ru_utime + used.ru_stime
        self._running_cpu = 0.0
        os.close(self._to)
        os.close(self._from)
        self._pid = 0
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGXCPU:
                return f"no answer within {limit} s of CPU"
            return f"died of signal {signal.Signals(number).name}"
        return f"ended with status {os.waitstatus_to_exitcode(status)}"


def _exhausted(request: Request, reason: str) -> tuple[Reply, ...]:
    if isinstance(request, Program):
        calls = len(request.steps)
    else:
        calls = len(request.orders) if isinstance(request, RenyiQuestion) else 1
    return (Reply(exhausted=reason),) * calls


def _end_with_parent() -> None:
    """Ask the system to kill this process when its parent ends (Linux; elsewhere a timer does)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _data_pages() -> int:
    """Pages of private memory of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[5])
    except (OSError, ValueError, IndexError):
        return 0


def _send(descriptor: int, data: bytes) -> None:
    data = _LENGTH.pack(len(data)) + data
    while data:
        data = data[os.write(descriptor, data) :]


def _receive(descriptor: int, seconds: float | None) -> bytes:
    deadline = None if seconds is None else time.monotonic() + seconds
    (length,) = _LENGTH.unpack(_exactly(descriptor, _LENGTH.size, deadline))
    return _exactly(descriptor, length, deadline)


def _exactly(descriptor: int, length: int, deadline: float | None) -> bytes:
    found: list[Any] = []
    while length:
        if deadline is not None:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
        part = os.read(descriptor, min(length, 2**20))
        if not part:
            raise EOFError
        found.append(part)
        length -= len(part)
    return b"".join(found)
