"""The store: append-only, whole after kill -9, shared by processes, honest about damage."""

import resource
import sqlite3
import subprocess
import sys

import pytest

from dp2theory.experiments.store import APPLICATION_ID, VERSION, Store
from dp2theory.experiments.tasks import code_id
from tests.experiments.runs import TASK, made_up, result, tasks
from tests.repo.project import ROOT


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite"


def raw(path, statement, *arguments):
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return connection.execute(statement, arguments).fetchall()
    finally:
        connection.close()


def test_what_is_put_is_there_after_reopening(path):
    with Store(path) as store:
        assert store.get(TASK.key()) is None
        store.put(TASK.key(), TASK, result())
        assert store.get(TASK.key()) == result()
    with Store(path) as store:
        assert store.get(TASK.key()) == result()
        assert len(store) == 1


def test_the_same_result_again_changes_nothing(path):
    with Store(path) as store:
        store.put(TASK.key(), TASK, result())
        store.put(TASK.key(), TASK, result())
        assert len(store) == 1


def test_another_result_of_the_same_task_is_refused(path):
    with Store(path) as store:
        store.put(TASK.key(), TASK, result())
        with pytest.raises(ValueError, match="another result of the task"):
            store.put(TASK.key(), TASK, made_up())
        assert store.get(TASK.key()) == result()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE results SET result = ''",
        "DELETE FROM results",
        "INSERT OR REPLACE INTO results SELECT key, code, task, 'x', digest, made FROM results",
    ],
)
def test_results_are_only_appended(path, statement):
    with Store(path) as store:
        store.put(TASK.key(), TASK, result())
    connection = sqlite3.connect(path)
    # SQLite runs triggers of a REPLACE only with this on; `put` never replaces.
    connection.execute("PRAGMA recursive_triggers = ON")
    with pytest.raises(sqlite3.IntegrityError, match="only appended"):
        connection.execute(statement)
    connection.close()
    with Store(path) as store:
        assert store.get(TASK.key()) == result()


def test_results_of_other_code_are_kept_and_not_used(path):
    old = made_up(code="0" * 64)
    with Store(path) as store:
        store.put(TASK.key(), TASK, old)
        assert store.get(TASK.key()) is None
        assert store.of_other_code() == 1
        assert not store.accepts("0" * 64)
        store.put(TASK.key(), TASK, result())
        assert store.get(TASK.key()) == result()
        assert (len(store), store.of_other_code()) == (2, 1)
    with Store(path, any_code=True) as store:
        assert store.get(TASK.key()).ledger == "made up"  # the first
        assert store.accepts("0" * 64)


def overwrite(path, position, data):
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def foreign(path):
    raw(path, "CREATE TABLE things (name)")


def filled(path):
    with Store(path) as store:
        for task in tasks(8):
            store.put(task.key(), task, made_up())


def truncated(path):
    filled(path)
    path.write_bytes(path.read_bytes()[:9000])


def other_version(path):
    filled(path)
    raw(path, f"PRAGMA user_version = {VERSION + 1}")


def without_header(path):
    filled(path)
    overwrite(path, 0, b"x" * 16)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b"\x07garbage" * 900),
        lambda path: path.write_text("hello\n"),
        foreign,
        truncated,
        other_version,
        without_header,
    ],
    ids=["garbage", "text", "foreign", "truncated", "version", "header"],
)
def test_a_file_that_is_no_whole_store_is_refused_and_left_alone(path, make):
    make(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"runs\.sqlite"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("new", [b"0.31", b"\xff\xff\xff\xff"])
def test_a_changed_row_is_noticed(path, new):
    filled(path)
    place = path.read_bytes().index(b"0.3000000000000000")
    overwrite(path, place, new)
    with Store(path) as store:
        outcomes = [outcome(store, task.key()) for task in tasks(8)]
    assert outcomes.count("damaged") == 1
    assert outcomes.count("whole") == 7


def outcome(store, key):
    try:
        return "whole" if store.get(key).ledger == "made up" else "changed"
    except ValueError as error:
        return "damaged" if "damaged" in str(error) else str(error)


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    filled(path)
    assert raw(path, "PRAGMA application_id") == [(APPLICATION_ID,)]


def test_odd_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store(":memory:") as store:  # to SQLite alone this is no file
        store.put(TASK.key(), TASK, result())
    assert (tmp_path / ":memory:").is_file()
    with pytest.raises(ValueError, match="must be a file"):
        Store(tmp_path)
    with pytest.raises(ValueError, match="folder does not exist"):
        Store(tmp_path / "none" / "runs.sqlite")


def python(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


WRITER = """
import itertools, sys
from dp2theory.experiments.store import Store
from tests.experiments.runs import made_up, tasks
with Store(sys.argv[1]) as store:
    for task in tasks(int(sys.argv[2])):
        store.put(task.key(), task, made_up())
        print(task.key(), flush=True)
"""


def test_nothing_that_was_put_is_lost_by_kill_9(path):
    writer = python(WRITER, path, 100_000)
    told = [writer.stdout.readline().strip() for _ in range(20)]
    writer.kill()
    rest, _ = writer.communicate()
    told += [line for line in rest.splitlines() if len(line) == 64]
    with Store(path) as store:
        assert all(store.get(key) is not None for key in told)
        assert len(store) - len(told) in (0, 1)  # the last may not have been told yet


def test_two_processes_on_one_file(path):
    writers = [python(WRITER, path, 40) for _ in range(2)]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    with Store(path) as store:
        assert len(store) == 40
        assert all(store.get(task.key()) is not None for task in tasks(40))


def test_a_full_disk_is_an_error_that_names_the_file(path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    writer = python(WRITER, path, 1000, preexec_fn=limit, stderr=subprocess.PIPE)
    told, errors = writer.communicate()
    assert writer.returncode == 1
    last = errors.strip().splitlines()[-1]
    assert last.startswith("OSError")
    assert "runs.sqlite" in last
    with Store(path) as store:  # what had been put is still there
        assert len(store) == len(told.splitlines()) > 0


def test_code_id_is_one_of_this_process():
    assert code_id() == code_id() == result().code
