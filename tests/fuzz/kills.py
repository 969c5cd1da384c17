"""Runs that kill themselves: ``python -m tests.fuzz.kills FOLDER``, a process without threads.

A run is taken apart into steps: every time it opens a file for writing, renames, removes or changes
one, and every statement of a database. It is killed before its first step, then before its
second, and so on; then within what it writes, after a number of bytes. Each killed run begins in a
copy of `start`, and another one goes on in what it left.

FOLDER holds `job.json` (what runs: `Job`) and `start`. It gets `whole` (the run, not killed), for
each kill `killed-NAME` and `again-NAME`, and `outcomes.json`.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

#: Audit events of the interpreter that change files.
CHANGES = {"os.rename", "os.remove", "os.chmod", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True)
class Job:
    """What runs, and how it is killed.

    Attributes
    ----------
    function : str
        MODULE:FUNCTION, called with the words as one list; 0 or None is success.
    words : tuple of str
    every : int
        Kill before every so many-th step.
    sizes : tuple of int
        Kill where a file would grow beyond so many bytes.
    """

    function: str
    words: tuple[str, ...]
    every: int = 1
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """One killed run: the signal that ended it, and the exit code of the one that went on."""

    name: str
    signal: int
    again: int


class Steps:
    """Counts the steps of this process, and kills it before one of them.

    Parameters
    ----------
    folder : Path
        Only files in it count.
    last : int or None
    """

    def __init__(self, folder: Path, last: int | None) -> None:
        self.folder = os.path.realpath(folder)
        self.last = last
        self.done = 0
        sys.addaudithook(self._audit)
        connect = sqlite3.connect

        def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection = connect(*arguments, **options)
            connection.set_trace_callback(lambda _statement: self._step())
            return connection

        sqlite3.connect = watched  # type: ignore[assignment]

    def _step(self) -> None:
        self.done += 1
        if self.done == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = any(letter in (mode or "") for letter in "wax+") or (flags or 0) & WRITING
        elif event in CHANGES:
            path, writes = arguments[0], True
        else:
            return
        if writes and isinstance(path, str | bytes | os.PathLike):
            place = os.path.realpath(os.fsdecode(path))
            if os.path.commonpath((place, self.folder)) == self.folder:
                self._step()


def child(folder: Path, run: Callable[[], int], prepare: Callable[[], Any]) -> tuple[int, int]:
    """Fork, run in a folder, and return how it ended (a wait status) and its number of steps."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.chdir(folder)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            steps = prepare()
            code = run()
            if isinstance(steps, Steps):
                os.write(writing, str(steps.done).encode())
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as stream:
        told = stream.read()
    return os.waitpid(pid, 0)[1], int(told or 0)


def limit(size: int) -> None:
    """Die, as of a kill -9, where a file would grow beyond so many bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and gets an error instead
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def play(folder: Path) -> list[Outcome]:
    """Do the job of a folder."""
    given = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    job = Job(**{**given, "words": tuple(given["words"]), "sizes": tuple(given["sizes"])})
    module, _, name = job.function.partition(":")
    function = getattr(import_module(module), name)

    def run() -> int:
        return function(list(job.words)) or 0

    def begin(name: str) -> Path:
        shutil.copytree(folder / "start", folder / name)
        return folder / name

    os.chdir(begin("warm"))
    assert run() == 0  # imports what it needs, so that the others need not
    whole = begin("whole")
    status, steps = child(whole, run, partial(Steps, whole, None))
    assert (status, steps > 0) == (0, True), (status, steps)
    kills = [(f"step-{k}", k, None) for k in range(1, steps + 1, job.every)]
    kills += [(f"size-{size}", None, size) for size in job.sizes]
    outcomes = []
    for name, step, size in kills:
        here = begin(f"killed-{name}")
        prepare = partial(Steps, here, step) if size is None else partial(limit, size)
        status, _ = child(here, run, prepare)
        shutil.copytree(here, folder / f"again-{name}")
        again, _ = child(folder / f"again-{name}", run, lambda: None)
        outcomes.append(Outcome(name, os.WTERMSIG(status), os.waitstatus_to_exitcode(again)))
    return outcomes


if __name__ == "__main__":
    place = Path(sys.argv[1]).resolve()
    found = [asdict(one) for one in play(place)]
    (place / "outcomes.json").write_text(json.dumps(found), encoding="utf-8")
