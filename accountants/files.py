"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: Path, *, newline: str | None = None) -> Iterator[TextIO]:
    """A text file beside ``path`` to write to, renamed to it when it is complete.

    Parameters
    ----------
    path : Path
    newline : str, optional
        As for ``open``.

    Yields
    ------
    file object

    Raises
    ------
    ValueError
        If ``path`` is a folder, a device, or whatever else is no regular file.
    OSError
        Naming ``path``, if the file cannot be written; what stood there before stays.
    """
    if path.exists() and not path.is_file():  # a rename would destroy, say, /dev/null
        raise ValueError(f"{path}: exists and is no regular file")
    name = ""
    try:
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.stem[:20]}-", suffix=path.suffix or ".part"
        )
        with os.fdopen(handle, "w", encoding="utf-8", newline=newline) as stream:
            yield stream
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp makes files private to the user
        os.replace(name, path)
    except BaseException as error:
        if name:
            with suppress(FileNotFoundError):
                os.unlink(name)
        # A full disk names no file, and the user knows nothing of the temporary one.
        if isinstance(error, OSError) and error.errno is not None:
            raise type(error)(error.errno, error.strerror, str(path)) from error
        raise
