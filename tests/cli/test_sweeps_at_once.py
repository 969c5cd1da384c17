"""Two `sweep` commands on one store at the same time: both end, nothing is lost or doubled."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

SPEC = """\
problems = "het:n=200,d=12,amin=0.1,avg=4,seed=1"
methods = ["dp-sgd", "dp2-rmsprop"]
epsilons = 3.0
delays = [2, 5]
seeds = 4
batch_size = 20
steps = 20
"""


def command(folder, out):
    words = ["sweep", "--spec", "spec.toml", "--store", "runs.sqlite", "--out", out]
    code = "import sys; from dp2theory.cli.app import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words, "--executor", "serial", "--quiet"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_two_commands_on_one_store(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC)
    both = [command(tmp_path, out) for out in ("a.json", "b.json")]
    for process in both:
        _, err = process.communicate()
        assert (process.returncode, err) == (0, "")
    first, second = (json.loads((tmp_path / out).read_text()) for out in ("a.json", "b.json"))
    assert first["result"]["groups"] == second["result"]["groups"]
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as store:
        rows, keys = store.execute("SELECT count(*), count(DISTINCT key) FROM results").fetchone()
        assert rows == keys == 12  # three settings, four seeds
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    alone = command(tmp_path, "c.json")
    assert alone.communicate()[1] == ""
    assert alone.returncode == 0
    again = json.loads((tmp_path / "c.json").read_text())
    assert again["result"]["groups"] == first["result"]["groups"]
