"""Output files, checked before anything is spent on what goes into them."""

import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dp2theory.cli._inputs import option
from dp2theory.files import temporary_prefix


def check_outputs(
    outputs: Mapping[str, Path | None], read: Mapping[str, str | Path | None] | None = None
) -> None:
    """Refuse outputs that could not be written, or that would overwrite each other or an input.

    Parameters
    ----------
    outputs : mapping
        Option name to the path given; None where the option was not.
    read : mapping, optional
        The same for files that the command reads.

    Raises
    ------
    ValueError
        Naming the option and the path as they were given.
    """
    taken = {_resolved(path): (name, path) for name, path in (read or {}).items()
             if path is not None}  # fmt: skip
    for name, path in outputs.items():
        if path is None:
            continue
        check_writable(f"{option(name)} {path}", path)
        other = taken.setdefault(_resolved(path), (name, path))
        if other[0] != name:
            raise ValueError(
                f"{option(name)} {path}: is the file of {option(other[0])} {other[1]}; "
                "each needs a file of its own"
            )


def check_writable(label: str, path: Path) -> None:
    """Refuse a path that no file could be renamed to.

    Parameters
    ----------
    label : str
        What the message begins with.
    path : Path
    """
    if not path.parent.is_dir():
        raise ValueError(f"{label}: its folder does not exist")
    try:
        with suppress(FileNotFoundError):
            mode = os.stat(path).st_mode
            if stat.S_ISDIR(mode):
                raise ValueError(f"{label}: is a directory, a file name is wanted")
            if not stat.S_ISREG(mode):  # renaming over it would destroy, say, /dev/null
                raise ValueError(f"{label}: exists and is no regular file")
            # A rename would replace it, and root may write anything: its bits say what is wanted.
            if not mode & 0o222 or not os.access(path, os.W_OK):
                raise ValueError(f"{label}: is read-only")
        # Permission bits do not tell (/proc, read-only mounts, root); a file beside it does.
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=temporary_prefix(path), suffix=path.suffix
        )
    except OSError as error:
        raise ValueError(f"{label}: cannot be written ({error.strerror})") from None
    os.close(handle)
    os.unlink(name)


def _resolved(path: str | Path) -> Path:
    return Path(path).resolve()
