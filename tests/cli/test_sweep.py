"""`dp2theory sweep`: output, errors, and what an interrupt keeps."""

import json
from pathlib import Path

import pytest

from dp2theory.experiments import sweep as sweep_module
from dp2theory.experiments.store import Store

SPEC = """
problems = "het:n=200,d=12,amin=0.1,avg=4,seed=1"
methods = ["dp-sgd", "dp2-rmsprop"]
epsilons = 3.0
delays = [2, 5]
seeds = 2
batch_size = 20
steps = 20
record_every = 10
"""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The command sets these for its own process; here that is the tests' one.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


SWEEP = "sweep --executor serial --spec spec.toml"


@pytest.fixture
def swept(cli, spec):
    return lambda *more: cli(SWEEP, *more)


def test_json_is_what_the_schema_says(swept):
    document = swept("--json --store runs.sqlite --out out.json").document
    assert document == json.loads(Path("out.json").read_text())
    (group,) = document["result"]["groups"]
    assert [len(cell["runs"]) for cell in group["cells"]] == [2, 2, 2]
    assert group["cells"][0]["runs"][0]["loss_steps"] == [0, 10, 20]
    assert document["result"]["runs"] == 6
    # A second call finds all in the store, and says the same to the last byte.
    before = Path("out.json").read_bytes()
    assert swept("--json --store runs.sqlite --out out.json").document == document
    assert Path("out.json").read_bytes() == before
    with Store("runs.sqlite") as store:
        assert len(store) == 6


def test_the_table_says_epsilon_unit_and_interval(swept):
    made = swept()
    assert (made.code, made.err) == (0, "")
    for words in ("unit of privacy: ", "add-or-remove-one", "95 % interval", "delay 5", "ε <= 3",
                  "note: "):  # fmt: skip
        assert words in made.out
    quiet = swept("--quiet")
    assert made.out.startswith(quiet.out.splitlines()[0])
    assert "note: " not in quiet.out


def test_the_upper_end_is_rounded_up(swept):
    cell = swept("--json").document["result"]["groups"][0]["cells"][0]
    shown = swept("--quiet").out.split("[")[1].split("]")[0].split(", ")
    assert float(shown[0]) <= cell["epsilon"]["lower"] <= cell["epsilon"]["upper"]
    assert cell["epsilon"]["upper"] <= float(shown[1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--spec none.toml", "cannot be read"),
        ("--executor threads", "--executor 'threads':"),
        ("--executor process:0", "1 to 1024"),
        ("--store spec.toml", "each needs a file of its own"),
        ("--out none/out.json", "folder does not exist"),
        ("--store none/runs.sqlite", "folder does not exist"),
        ("--store .", "is a directory"),
        ("--store runs.sqlite --out runs.sqlite", "each needs a file of its own"),
    ],
)
def test_bad_options_are_one_line(swept, words, said):
    swept(words).refused(2, said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nope = 1", "'nope' is unknown"),
        ("delta = nan", "delta=nan"),
        ("public_share = 0.999", "share"),
        ("relation = 'replace-special'", "replace-special"),
        ("[settings.dp-sgd]\nlearning_rate = 'fast'", "learning_rate='fast'"),
        ("[settings.dp-sgd]\nclip_norm = -1.0", "clip_norm=-1.0"),
    ],
)
def test_bad_specs_are_one_line(swept, spec, line, said):
    spec.write_text(f"{SPEC}\n{line}\n")
    made = swept()
    if made.code == 0 and "relation" in line:  # add-or-remove-one and replace-special may agree
        assert said in made.out
    else:
        made.refused(made.code, said)
        assert made.code in (2, 5)


def test_a_foreign_store_is_one_line(swept):
    Path("runs.sqlite").write_text("not a database, but a text of some length\n" * 50)
    swept("--store runs.sqlite").refused(2, "runs.sqlite", "no store")


class Stopped:
    """Stops the sweep at the third run."""

    def __init__(self, error):
        self.error, self.left = error, 2

    def __call__(self, store, key, task, made):
        if not self.left:
            raise self.error
        self.left -= 1
        type(store).kept_put(store, key, task, made)


@pytest.fixture
def stop(monkeypatch):
    def install(kind, error):
        stopped = Stopped(error)
        monkeypatch.setattr(kind, "kept_put", kind.put, raising=False)
        monkeypatch.setattr(kind, "put", lambda *args: stopped(*args))
        return lambda: monkeypatch.setattr(kind, "put", kind.kept_put)

    return install


def test_an_interrupt_keeps_what_is_done(swept, stop):
    go_on = stop(Store, KeyboardInterrupt())
    swept("--store runs.sqlite --out out.json").refused(130, "interrupted: 2 of 6", "runs.sqlite")
    partial = json.loads(Path("out.json").read_text())
    assert (partial["status"], partial["result"]["runs"]) == ("interrupted", 2)
    go_on()
    whole = swept("--json --store runs.sqlite").document
    assert whole == swept("--json").document


def test_an_interrupt_without_a_store_makes_one(swept, stop):
    go_on = stop(sweep_module.Memory, KeyboardInterrupt())
    kept = "dp2theory-sweep-interrupted.sqlite"
    swept().refused(130, "interrupted: 2 of 6", f"--store {kept}")
    go_on()
    with Store(kept) as store:
        assert len(store) == 2
    assert swept(f"--json --store {kept}").document == swept("--json").document


def test_an_interrupt_that_can_keep_nothing_is_still_one(swept, stop):
    Path("dp2theory-sweep-interrupted.sqlite").mkdir()
    stop(sweep_module.Memory, KeyboardInterrupt())
    swept().refused(130, "interrupted: 2 of 6", "none could be made")


def test_a_lost_worker_is_one_line_and_keeps_what_is_done(swept, stop):
    from dp2theory.experiments.tasks import WorkerError

    stop(Store, WorkerError("a worker died"))
    swept("--store runs.sqlite").refused(1, "a worker died: 2 of 6 runs are kept")


def test_results_of_other_code_are_told_of(swept, monkeypatch):
    swept("--store runs.sqlite")
    for module in ("task_data", "tasks", "store"):
        monkeypatch.setattr(f"dp2theory.experiments.{module}.code_id", lambda: "0" * 64)
    made = swept("--store runs.sqlite")
    assert made.code == 0
    assert "6 results of another version of the code are kept and not used" in made.err
