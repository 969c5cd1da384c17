"""Outputs that cannot be written are refused before the data are touched."""

import errno

import pytest

from dp2theory.cli._output import Input, describe_inputs
from dp2theory.files import write_text

PROBLEM = "--problem het:n=1500,d=20,amin=1/10,avg=4,seed=7 --batch-size 100 --steps 160"
PLAN = f"plan {PROBLEM} --epsilon 3"
TRAIN = f"train {PROBLEM} --epsilon 3 --method dp-sgd"


@pytest.fixture
def untouched(monkeypatch):
    """No data may be loaded."""
    from dp2theory.problems import registry

    def touched(*_args, **_options):
        raise AssertionError("data were touched")

    monkeypatch.setattr(registry, "get_problem", touched)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("command", [PLAN, TRAIN])
def test_two_outputs_cannot_be_one_file(cli, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.x").symlink_to("same.x")
    for other in ("same.x", "./same.x", str(tmp_path / "same.x"), "link.x"):
        cli(command, f"--out same.x --report {other}").refused(2, "--report", "--out same.x")
    assert [path.name for path in tmp_path.iterdir()] == ["link.x"]


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("output", ["--out", "--report"])
@pytest.mark.parametrize("command", [PLAN, TRAIN])
def test_unwritable_outputs(cli, command, output, tmp_path):
    for path in ("/proc/x.npz", "/sys/x.npz", str(tmp_path), "/dev/null", "/nowhere/x.npz",
                 tmp_path / ("x" * 300)):  # fmt: skip
        cli(command, f"{output} {path}").refused(2, f"{output} {path}:")
    (tmp_path / "file").write_text("kept")
    cli(command, f"{output} {tmp_path}/file/x").refused(2, f"{output} {tmp_path}/file/x:")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("read", ["plan", "discarded-pilot", "data"])
def test_an_input_is_not_overwritten(cli, tmp_path, read):
    path = tmp_path / "p.npz"
    path.write_text("kept")
    cli(TRAIN, f"--{read} {path} --out {path}").refused(2, f"--out {path}", f"--{read} {path}")
    assert path.read_text() == "kept"


def test_long_names_are_no_hindrance(cli, tmp_path):
    path = tmp_path / ("n" * 250 + ".json")
    assert cli(TRAIN, f"--out {path}").code == 0
    assert path.is_file()


def test_a_late_error_names_the_path_given(tmp_path, monkeypatch):
    """The disk fills up between the check and the writing."""

    def full(source, _target):
        raise OSError(errno.ENOSPC, "No space left on device", source)

    monkeypatch.setattr("os.replace", full)
    path = tmp_path / "a.json"
    with pytest.raises(OSError, match="No space left") as stop:
        write_text(path, "x")
    assert stop.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []


def test_inputs_are_said_as_a_person_says_them():
    inputs = {
        "seeds": Input(1), "steps": Input(2), "tune": Input(True, unit="yes or no"),
        "pilot": Input(False, True, "yes or no"), "problem": Input("x"), "seed": Input(1),
        "epsilon": Input(1.0),
    }  # fmt: skip
    assert describe_inputs(inputs).splitlines() == [
        "  seeds: 1 run", "  steps: 2 steps", "  tune: yes", "  pilot: no  [default]",
        "  problem: x", "  seed: 1", "  epsilon: 1.0 nat",
    ]  # fmt: skip
