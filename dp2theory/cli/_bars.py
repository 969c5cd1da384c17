"""A progress bar for work in several parts whose sizes are found on the way."""

from contextlib import ExitStack

from dp2theory.cli._progress import Advance, progress


class Bars:
    """One bar at a time: a new one whenever what is going on changes.

    Called with what is going on, how much of it is done, and how much there is in all. What was
    done when a part began (found in a store, say) is left out of its bar: it took no time, and
    would spoil the time left.

    Parameters
    ----------
    quiet : bool
        Draw nothing.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._stack = ExitStack()
        self._what: str | None = None
        self._done = 0
        self._advance: Advance | None = None

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        if what != self._what or done < self._done:
            self._stack.close()
            self._what, self._done = what, done
            self._advance = self._stack.enter_context(
                progress(what, total - done, quiet=self._quiet or done == total)
            )
        if self._advance is not None and done > self._done:
            self._advance(done - self._done)
        self._done = done

    def __enter__(self) -> "Bars":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
