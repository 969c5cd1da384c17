"""Refusals of the libraries name the option that gave the value, and no other."""

from pathlib import Path

import pytest

from dp2theory.cli._exit import CommandError, ExitCode
from dp2theory.cli._naming import names_options, with_option
from dp2theory.cli.app import main

GIVEN = {
    "ema": -1.0,
    "seed": 12,
    "steps": 10**5000,
    "method": "dp-sgd",
    "compare": "xx",
    "laws": "L1,l99",
    "public_share": None,
    "data": "u.data",
    "event": Path("run.json"),
}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("ema=-1.0 must be in [0, 1)", "--ema -1.0: must be in [0, 1)"),
        ("ema=-1.0: must be in [0, 1)", "--ema -1.0: must be in [0, 1)"),
        ("method='dp-sgd' is unknown", "--method 'dp-sgd' is unknown"),
        ("method='xx': must be one of y", "--compare 'xx': must be one of y"),
        ("laws='L99': must be of L1", "--laws 'L99': must be of L1"),
        ("path='u.data' is empty", "--data 'u.data' is empty"),
        ("event='run.json' is none", "--event 'run.json' is none"),
        ("run.json: No such file", "--event run.json: No such file"),
        ("steps=(about 10^5000) must be", "--steps (about 10^5000): must be"),
        # Values that no option gave are told as they are.
        ("ema=-2.0 must be in [0, 1)", "ema=-2.0 must be in [0, 1)"),
        ("seed=1 must be", "seed=1 must be"),
        ("seed=12.5 must be", "seed=12.5 must be"),
        ("seed=120 must be", "seed=120 must be"),
        ("method='yy': must be one of y", "method='yy': must be one of y"),
        ("public_share=None must be", "public_share=None must be"),
        ("delay=3 must be", "delay=3 must be"),
        ("no data: ema=-1.0", "no data: ema=-1.0"),
        ("other.json: No such file", "other.json: No such file"),
    ],
)
def test_the_option_is_named_where_its_value_is_the_one(message, told):
    assert with_option(message, GIVEN) == told


def test_only_refusals_of_input_are_told_anew():
    def command(ema):
        raise ValueError(f"ema={ema!r} must be in [0, 1)") if ema < 0 else RuntimeError("ema=3")

    with pytest.raises(CommandError, match=r"^--ema -1: must be in \[0, 1\)$") as refused:
        names_options(command)(ema=-1)
    assert refused.value.code == ExitCode.USAGE
    assert isinstance(refused.value.__cause__, ValueError)
    with pytest.raises(RuntimeError, match=r"^ema=3$"):
        names_options(command)(ema=3)


TRAIN = ["train", "--problem", "het:n=200,d=10,amin=1/3,avg=3,seed=4", "--epsilon", "3"]
SIZES = ["--batch-size", "50", "--steps", "4"]
WITHOUT_SIZE = ["--steps", "4", "--method", "dp-sgd"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([*TRAIN, *SIZES, "--method", "dp2-rmsprop", "--ema", "-1"], "--ema -1.0: must be in"),
        ([*TRAIN, *SIZES, "--method", "dp-sgd", "--compare", "xx"], "--compare 'xx': must be one"),
        ([*TRAIN, "--batch-size", "-1", *WITHOUT_SIZE], "--batch-size -1: must be an integer"),
        (["train", "--plan", "missing.npz"], "--plan missing.npz: No such file"),
        (["account", "--event", "missing.json"], "--event missing.json: No such file"),
        (["figure", "fig6", "--problem", "xx"], "--problem 'xx' is unknown"),
        (["figure", "table1", "--public-share", "-1"], "--public-share -1.0: must be in [0, 1)"),
        (["sweep", "--spec", "missing.toml"], "--spec 'missing.toml' cannot be read"),
        (["sweep", "--spec", "s.toml", "--executor", "x"], "--executor 'x': must be serial"),
        (["audit", "--method", "dp-sgd", "--clip-norm", "inf"], "--clip-norm inf: must be in"),
        (["audit", "--method", "dp-sgd", "--delay", "2"], "--delay 2: dp-sgd has no such setting"),
        (["audit-accountant", "ours-exact", "--laws", "l1,l99"], "--laws 'L99': must be 'all'"),
        (["resque", "private", "--executor", "x"], "--executor 'x': must be serial"),
    ],
)
def test_commands_name_the_option(words, line, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text('problems = ["hetA"]\nmethods = ["dp-sgd"]\n')
    assert main(words) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dp2theory: {line}")
    assert err.count("\n") == 1
