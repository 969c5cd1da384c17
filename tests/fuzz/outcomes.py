"""What a command may leave behind: one answer, or one line and nothing else."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from dp2theory.experiments.store import Store

#: Every exit code of docs/command-line.md but 1 (a defect) and 130 (nobody interrupts here).
DOCUMENTED = (0, 2, 3, 4, 5)
#: Those that are errors: stdout stays empty.
ERRORS = (2, 4, 5)
#: Longer lines are no help; the longest honest ones list all theorems or settings.
LONGEST = 12_000


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file of the folder and of those in it, by its place."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def hidden_of(names: Iterable[str]) -> set[str]:
    """The hidden ones, as temporary files are."""
    return {name for name in names if Path(name).name.startswith(".")}


def check_streams(code: int, out: str, err: str, words: Sequence[str] = ()) -> None:
    """Hold an outcome to the promises on streams and exit codes."""
    assert "internal error" not in err, (words, err)
    assert "Traceback" not in out + err, (words, err)
    assert code in DOCUMENTED, (words, code, err)
    if code in ERRORS:
        assert out == "", (words, out)
        assert err.startswith("dp2theory: "), (words, err)
        assert err.endswith("\n"), (words, err)
        assert err.count("\n") == 1, (words, err)
        assert len(err) < LONGEST, words


def check_files(
    code: int, before: Mapping[str, bytes], folder: Path, words: Sequence[str] = ()
) -> None:
    """Hold the folder to the promises on files: old ones as they were, new ones whole.

    After an error only a store may be new, since it keeps what was done.
    """
    after = content_of(folder)
    assert hidden_of(after) == set(), words
    gone = [name for name in before if name not in after]
    assert gone == [], (words, gone)
    for name, content in after.items():
        if before.get(name) == content:
            continue
        if code in ERRORS:
            assert name not in before, (words, f"{name} was changed")
            assert content.startswith(b"SQLite format 3\0"), (words, f"{name} is left")
        check_whole(folder / name, words)


def check_whole(path: Path, words: Sequence[str] = ()) -> None:
    """Read a file that a command wrote to its end."""
    content = path.read_bytes()
    if content.startswith(b"SQLite format 3\0"):
        Store(path).close()
    elif content.startswith(b"PK"):
        with np.load(io.BytesIO(content)) as archive:
            assert all(archive[name] is not None for name in archive.files), words
    elif content.startswith(b"\x89PNG"):
        assert content.rstrip().endswith(b"IEND\xaeB`\x82"), (words, path.name)
    elif content.startswith(b"%PDF"):
        assert content.rstrip().endswith(b"%%EOF"), (words, path.name)
    elif content.lstrip().startswith(b"<"):
        assert content.rstrip().endswith((b"</html>", b"</svg>")), (words, path.name)
    elif content.startswith((b"{", b"[")):
        try:
            json.loads(content)
        except ValueError as error:
            raise AssertionError((words, path.name, str(error))) from None
    else:
        assert content.startswith(b"epsilon,"), (words, path.name, content[:60])
        assert content.endswith(b"\n"), (words, path.name)
