"""Results that stay: an append-only SQLite file that many processes may share.

Each result is one transaction, on the disk before `put` returns. A process that is killed leaves
a rollback journal, from which the next one to open the file restores the last whole state.
"""

from __future__ import annotations

import errno
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from dp2theory.experiments.task_data import Task, TaskResult, canonical, code_id

#: Marks the file as ours ("DP2t"), and the version of its tables.
APPLICATION_ID = 0x44503274
#: Of the form of the file.
VERSION = 1
#: Seconds to wait for another process that is writing.
_PATIENCE = 60.0

_TABLES = (
    """CREATE TABLE results (
        key TEXT NOT NULL, code TEXT NOT NULL, task TEXT NOT NULL, result TEXT NOT NULL,
        digest TEXT NOT NULL, made TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (key, code)) STRICT""",
    "CREATE TRIGGER no_update BEFORE UPDATE ON results BEGIN"
    " SELECT RAISE(ABORT, 'results are only appended'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON results BEGIN"
    " SELECT RAISE(ABORT, 'results are only appended'); END",
)


class Store:
    """Results by task key, in a file.

    Parameters
    ----------
    path : str or Path
        Made if there is none.
    any_code : bool
        Also use results that another version of the code made. Where several versions made one,
        the first counts.

    Raises
    ------
    ValueError
        If the file is no store, is damaged, or is of another version.
    OSError
        If it cannot be opened for writing.
    """

    def __init__(self, path: str | Path, *, any_code: bool = False) -> None:
        self.path = Path(path)
        self.any_code = any_code
        if not self.path.parent.is_dir():
            raise ValueError(f"store={str(path)!r}: its folder does not exist")
        if self.path.exists() and not self.path.is_file():
            raise ValueError(f"store={str(path)!r} must be a file")
        with self._explained():
            # An absolute path: ":memory:" and "" mean something else to SQLite.
            self._connection = sqlite3.connect(
                self.path.absolute(), timeout=_PATIENCE, isolation_level=None
            )
        # Broken text is found by its digest, like all other damage.
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            with self._explained():
                self._open()
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():  # fails here, and not after hours, if writing is impossible
            (tables,) = self._one("SELECT count(*) FROM sqlite_master")
            (application,) = self._one("PRAGMA application_id")
            if not tables and not application:
                for statement in _TABLES:
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version = {VERSION}")
                return
            if application != APPLICATION_ID:
                raise ValueError(f"store={str(self.path)!r} is a database of something else")
            (version,) = self._one("PRAGMA user_version")
            if version != VERSION:
                raise ValueError(
                    f"store={str(self.path)!r} has version {version}, must have {VERSION}"
                )
            (report,) = self._one("PRAGMA quick_check(1)")
            if report != "ok":
                raise ValueError(f"store={str(self.path)!r} is damaged: {report}")

    def get(self, key: str) -> TaskResult | None:
        """Return the result of the task with that key, or None.

        Raises
        ------
        ValueError
            If the row was changed after it was written, or holds no result.
        """
        query = "SELECT code, task, result, digest FROM results WHERE key = ?"
        arguments: tuple[str, ...] = (key,)
        if not self.any_code:
            query, arguments = f"{query} AND code = ?", (key, code_id())
        with self._explained():
            row = self._connection.execute(f"{query} ORDER BY rowid LIMIT 1", arguments).fetchone()
        if row is None:
            return None
        code, task, result, digest = row
        if digest != _digest(key, code, task, result):
            raise ValueError(f"store={str(self.path)!r}: the row of key {key} is damaged")
        try:
            return TaskResult.from_json(json.loads(result))
        except (
            ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError
        ) as error:  # fmt: skip
            raise ValueError(
                f"store={str(self.path)!r}: the row of key {key} holds no result: {error!s:.300}"
            ) from None

    def put(self, key: str, task: Task, result: TaskResult) -> None:
        """Append a result; the same one again changes nothing.

        Raises
        ------
        ValueError
            If the store holds another result of the same task and code: runs are to be
            repeatable bit for bit.
        OSError
            If it cannot be written.
        """
        described, made = canonical(task.identity()), canonical(result.to_json())
        digest = _digest(key, result.code, described, made)
        with self._explained(), self._transaction():
            self._connection.execute(
                "INSERT OR IGNORE INTO results (key, code, task, result, digest)"
                " VALUES (?, ?, ?, ?, ?)",
                (key, result.code, described, made, digest),
            )
            (held,) = self._one(
                "SELECT digest FROM results WHERE key = ? AND code = ?", key, result.code
            )
        if held != digest:
            raise ValueError(
                f"store={str(self.path)!r} holds another result of the task {key}: a run was not "
                "repeatable (another machine?), or the row is damaged"
            )

    def accepts(self, code: str) -> bool:
        """Whether results of this code are used."""
        return self.any_code or code == code_id()

    def __len__(self) -> int:
        with self._explained():
            (count,) = self._one("SELECT count(*) FROM results")
        return int(count)

    def of_other_code(self) -> int:
        """Return the number of results that another version of the code made."""
        with self._explained():
            (count,) = self._one("SELECT count(*) FROM results WHERE code <> ?", code_id())
        return int(count)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _one(self, query: str, *arguments: str) -> tuple[Any, ...]:
        with closing(self._connection.execute(query, arguments)) as cursor:
            row: tuple[Any, ...] = cursor.fetchone()
        return row

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # Some errors (a full disk) have rolled back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn SQLite's errors into those of the house, which name the file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OSError(errno.EIO, f"cannot be used as a store ({error})", str(self.path)) from (
                error
            )
        except sqlite3.DatabaseError as error:
            raise ValueError(f"store={str(self.path)!r} is no store, or damaged: {error}") from None


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
