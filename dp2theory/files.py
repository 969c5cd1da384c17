"""Files that are either whole or not there."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_through(path: str | Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it to `path`.

    An error or an interrupt leaves whatever stood at `path` before. An `OSError` names `path`.

    Parameters
    ----------
    path : str or Path
    write : callable
        Gets the temporary path, which has the suffix of `path`.

    Raises
    ------
    ValueError
        If `path` is a folder, a device, or whatever else is no regular file.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path}: is a directory, a file name is wanted")
    if path.exists() and not path.is_file():  # a rename would destroy, say, /dev/null
        raise ValueError(f"{path}: exists and is no regular file")
    try:
        _write_and_rename(path, write)
    except OSError as error:
        # The user knows nothing of the temporary file.
        raise type(error)(error.errno, error.strerror, str(path)) from error


def temporary_prefix(path: Path) -> str:
    """How the names of temporary files for `path` begin; short, since the names go on."""
    return f".{path.stem[:20]}-"


def _write_and_rename(path: Path, write: Callable[[Path], None]) -> None:
    handle, name = tempfile.mkstemp(
        dir=path.parent, prefix=temporary_prefix(path), suffix=path.suffix
    )
    os.close(handle)
    try:
        write(Path(name))
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes files private to the user
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8."""
    write_through(path, lambda temporary: _fill(temporary, text))


def write_json(path: str | Path, document: Any) -> None:
    """Write a JSON document; it must hold no infinities or NaN."""
    write_text(path, json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1) + "\n")


def _fill(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
