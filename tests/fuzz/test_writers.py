"""A disk that is full: one error that names the file, the old file untouched, nothing beside it."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import contextmanager

import dp_accounting
import pytest

from accountants import ExactAccountant
from accountants.ledger import write_ledger, write_state
from dp2theory.cli.app import main
from dp2theory.files import write_json

LONG = dp_accounting.ComposedDpEvent([dp_accounting.GaussianDpEvent(1.0 + i) for i in range(400)])
WRITERS = {
    "document": lambda path: write_json(path, list(range(9000))),
    "ledger": lambda path: write_ledger(path, LONG),
    "state": lambda path: write_state(path, ExactAccountant().compose(LONG)),
}


@contextmanager
def full_disk(size):
    """No file of this process may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", WRITERS)
def test_writers(tmp_path, name):
    path = tmp_path / "kept.json"
    path.write_text("old")
    with full_disk(10_000), pytest.raises(OSError) as caught:
        WRITERS[name](path)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert [each.name for each in tmp_path.iterdir()] == ["kept.json"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_no_file_is_left_alone(tmp_path, name):
    """For root a rename over a device succeeds, and the machine has none any more."""
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    with pytest.raises(ValueError, match=r"pipe\.json: exists and is no regular file"):
        WRITERS[name](path)
    assert path.is_fifo()
    assert [each.name for each in tmp_path.iterdir()] == ["pipe.json"]


@pytest.mark.parametrize("option", ["--curve kept.csv", "--plot kept.png", "--report kept.html"])
def test_outputs_of_a_command(tmp_path, monkeypatch, capfd, option):
    monkeypatch.chdir(tmp_path)
    name = option.split()[1]
    (tmp_path / name).write_text("old")
    words = f"account --dataset-size 9 --batch-size 9 --steps 3 --noise-multiplier 2 {option}"
    with full_disk(100):
        code = main(words.split())
    out, err = capfd.readouterr()
    assert (code, out) == (2, "")
    assert err == f"dp2theory: {option}: File too large\n"
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"
