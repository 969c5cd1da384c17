"""Executors: processes that end with their parent and are replaced, a real Dask cluster."""

import os
import signal
import subprocess
import sys

import pytest

from dp2theory.experiments.executors import (
    Processes,
    check_executor,
    cores,
    one_thread,
    open_executor,
)
from dp2theory.experiments.tasks import run_tasks
from tests.experiments.runs import tasks
from tests.repo.project import ROOT


@pytest.mark.parametrize(
    "spec",
    ["", "serial:2", "process:", "process:0", "process:-1", "process:1.5", "process:٢",
     "process:9999", "process:99999", "dask", "dask:", "threads"],
)  # fmt: skip
def test_unknown_executors_are_refused(spec):
    with pytest.raises(ValueError, match="executor="):
        check_executor(spec)


def test_known_executors():
    assert check_executor("serial") == ("serial", "")
    assert check_executor("process") == ("process", str(cores()))
    assert check_executor("process:3") == ("process", "3")
    assert check_executor("dask:tcp://127.0.0.1:8786") == ("dask", "tcp://127.0.0.1:8786")
    with open_executor("serial") as executor:
        assert executor is None


def test_one_thread(monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "7")
    one_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


def die_once(flag):
    """Kill the worker at the first call, and answer at the second."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still here")


def test_workers_are_the_same_bits_and_one_that_dies_is_replaced(tmp_path):
    wanted = run_tasks(tasks(3))
    with Processes(1) as executor:
        assert run_tasks(tasks(3), executor=executor) == wanted
        dying = executor.submit(die_once, str(tmp_path / "flag"))
        with pytest.raises(Exception, match="terminated abruptly"):
            dying.result()
        assert executor.submit(die_once, str(tmp_path / "flag")).result() != os.getpid()
        assert run_tasks(tasks(1), executor=executor) == wanted[:1]


ORPHANS = """
import os, signal, sys, time
from dp2theory.experiments.executors import Processes

def work():
    os.write(1, b"busy\\n")
    time.sleep(600)

if __name__ == "__main__":
    # A shell starts what runs in the background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Processes(1) as executor:
        executor.submit(work).result()
"""


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path, stop):
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    parent = subprocess.Popen(
        [sys.executable, str(script)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert parent.stdout.readline() == "busy\n"
    if stop == signal.SIGINT:  # Ctrl-C reaches the whole group, workers included
        os.killpg(parent.pid, stop)
    else:
        parent.kill()
    # The worker holds the same pipes: they end only when it has ended too.
    _, errors = parent.communicate(timeout=60)
    assert errors.count("Traceback") == (1 if stop == signal.SIGINT else 0)  # the parent's own
    assert "SpawnProcess" not in errors


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs dp2theory[scale]")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as running:
        yield running.scheduler_address


def test_a_dask_cluster_gives_the_same_bits(cluster):
    with open_executor(f"dask:{cluster}") as executor:
        assert run_tasks(tasks(5), executor=executor) == run_tasks(tasks(5))


def test_no_scheduler_is_one_line(monkeypatch):
    pytest.importorskip("distributed", reason="needs dp2theory[scale]")
    monkeypatch.setattr("dp2theory.experiments.executors._PATIENCE", 0.2)
    with pytest.raises(ValueError, match="no scheduler answers"), open_executor("dask:127.0.0.1:1"):
        pass


def test_dask_that_is_not_installed_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"dp2theory\[scale\]"), open_executor("dask:host:1"):
        pass
