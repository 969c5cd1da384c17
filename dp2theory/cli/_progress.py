"""Progress bars and spinners on stderr, for a person who waits.

Nothing is drawn with `--quiet` or when stderr is no terminal, and rich is not imported then.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

#: Seconds without a spinner.
PATIENCE = 1.0


class Advance(Protocol):
    """Moves a bar on by `count`; `note`, when given, replaces the text beside it."""

    def __call__(self, count: int = 1, *, note: str | None = None) -> None: ...


def _silent(count: int = 1, *, note: str | None = None) -> None:
    pass


@contextmanager
def progress(description: str, total: int, *, quiet: bool = False) -> Iterator[Advance]:
    """A bar of `total` units while the body runs; yields the function that moves it.

    Parameters
    ----------
    description
        What is going on, in a few words.
    total
        Number of units that make it full.
    quiet
        Draw nothing.

    Examples
    --------
    >>> with progress("training", 100, quiet=True) as advance:
    ...     for _ in range(100):
    ...         advance()
    """
    if quiet or not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)

        def advance(count: int = 1, *, note: str | None = None) -> None:
            if note is None:
                bar.advance(task, count)
            else:
                bar.update(task, advance=count, description=f"{description}: {note}")

        yield advance


@contextmanager
def waiting(description: str, *, quiet: bool = False) -> Iterator[None]:
    """A spinner while the body runs, once that has taken longer than `PATIENCE` seconds.

    Parameters
    ----------
    description
        What is going on, in a few words.
    quiet
        Draw nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    over = threading.Event()

    def show() -> None:
        if over.wait(PATIENCE):
            return
        from rich.console import Console

        with Console(stderr=True).status(description):
            over.wait()

    # A thread of its own, so that rich is not even imported where the answer is quick.
    spinner = threading.Thread(target=show, daemon=True)
    spinner.start()
    try:
        yield
    finally:
        over.set()
        spinner.join()


def on_step(advance: Advance) -> Callable[[int], None]:
    """An `on_step(t)` callback for `dp2theory.optimizers.protocol.run` that moves a bar by one."""

    def step(_t: int) -> None:
        advance()

    return step
