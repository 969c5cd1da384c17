"""Random options and values of every command: an answer or one line, never a traceback or a hang.

Options come out of each command's own signature. A command starts from a small run that is fine,
and one to three of its options are changed, added or left out.
"""

from __future__ import annotations

import shlex
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from hypothesis import strategies as st

from dp2theory.cli.app import COMMANDS, main
from tests.fuzz.mutations import fuzz

HET = "het:n=200,d=12,amin=0.1,avg=4,seed=1"
#: A run of each command that takes next to no time.
SMALL = {
    "plan": f"--problem {HET} --batch-size 200 --steps 20 --epsilon 30",
    "account": "--dataset-size 10 --batch-size 10 --steps 10 --noise-multiplier 1 --tightness fast",
    "calibrate": "--for noise-multiplier --epsilon 1 --dataset-size 10 --batch-size 10 --steps 10"
    " --tightness fast",
    "train": f"--problem {HET} --method dp-sgd --batch-size 20 --steps 5 --noise-multiplier 2",
    "sweep": "--spec good.toml --executor serial",
    "figure": f"fig3 --problem {HET} --batch-size 20 --steps 20 --epsilon 3 --delays 2,5 --seeds 1"
    " --tune-seeds 1 --executor serial",
    "audit": "--method dp-sgd --trials 100 --steps 1 --executor serial",
    "audit-accountant": "ours-exact --laws L1 --max-examples 1 --cpu-budget 0.1"
    " --relation add-or-remove-one",
    "resque": "parallel --function l1 --dimension 2 --accuracy 0.5",
    "theorems": "dp2.noise.average",
}
FILES = {
    "good.toml": f'problems = ["{HET}"]\nmethods = ["dp-sgd"]\nepsilons = [3]\nbatch_size = 200\n'
    "steps = 5\n",
    "ledger.json": '[{"noise_multiplier": 1.1, "sampling": "poisson", "sampling_probability": 0.1,'
    ' "steps": 3}]\n',
    "empty.txt": "",
    "words.txt": "no ledger, no spec, no plan, no store\n",
    "old.json": "{}\n",
}
NUMBERS = (
    "0", "1", "2", "3", "-1", "0.5", "nan", "inf", "-inf", "1e-300", "1e308", "1e400", "1e-400",
    "x", "", "1_0", "0x10", "٣", "1,2", str(2**63), "9" * 400, "9" * 5000, "-0.0", "1e-9", "1e9",
)  # fmt: skip
WORDS = (
    "", "x", "é", "-", "--", "a=b", "a=", "=", ":", "json:loads", "os.path:join", "no.such:thing",
    "poisson", "with-replacement", "without-replacement", "shuffled-epochs", "add-or-remove-one",
    "replace-one", "replace-special", "dp-sgd", "dp2-rmsprop", "sgd", "dp2-adam", "snapshot",
    "hetA", HET, "het:n=0", "het:n=5,d=x", "imdb", "exact", "renyi", "tcdp", "all", "tight", "fast",
    "serial", "process:0", "dask:", "png", "svg,pdf", "fig2", "fig3", "fig9", "drift", "0.5,nan",
    "1,,2", "2", "private", "parallel", "max", "noise-multiplier", "steps", "batch-size", "delay=0",
    "ema=nan", "L1", "L2,L2", "dp2.A", "A" * 3000, "a\x01b", "{0}", "%s", "noisy-sgd",
)  # fmt: skip
PATHS = (
    *FILES, "missing", "missing/out.json", ".", "/dev/null", "/proc/none.json", "out.json",
    "out.html", "out.npz", "out.csv", "out.png", "new.sqlite", "x" * 300, "a\nb.json", "",
)  # fmt: skip


@cache
def signature(command: str) -> tuple[tuple[str, str], ...]:
    """The options of a command, and what each takes: flag, number, path or words."""
    module, _, function = COMMANDS[command].location.partition(":")
    hints = get_type_hints(getattr(import_module(module), function), include_extras=True)
    found = []
    for name, hint in hints.items():
        if name == "return":
            continue
        kind, about = get_args(hint)
        kinds = set(get_args(kind)) - {type(None)} or {kind}
        declared = (about.default, *(about.param_decls or ()))  # Annotated: the first is a name too
        names = [one for one in declared if isinstance(one, str) and one.startswith("--")]
        option = next(iter(names), f"--{name.replace('_', '-')}")
        if type(about).__name__ == "ArgumentInfo":
            found.append(("", "words"))
        elif kinds == {bool}:
            found.append((option, "flag"))
        else:
            takes = {int: "number", float: "number", Path: "path"}
            found.append((option, takes.get(kinds.pop(), "words")))
    return tuple(found)


VALUES = {"number": NUMBERS, "words": WORDS, "path": PATHS}


@st.composite
def command_lines(draw: st.DrawFn, command: str) -> list[str]:
    words = [command, *shlex.split(SMALL[command])]
    for _ in range(draw(st.integers(1, 3))):
        option, kind = draw(st.sampled_from(signature(command)))
        given = [option] if option else []
        if kind != "flag":
            given.append(draw(st.sampled_from(VALUES[kind])))
        if option in words and kind != "flag":
            at = words.index(option)
            keep = draw(st.integers(0, 5)) == 0
            words = words[:at] + (given[:1] if keep else given) + words[at + 2 :]
            if draw(st.integers(0, 7)) == 0:  # left out
                words = [word for i, word in enumerate(words) if i not in (at, at + 1)]
        elif not option and not words[1].startswith("-"):
            words[1] = given[-1]
        else:
            words += given
    return words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fresh(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    for name, text in FILES.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    "many", [pytest.param(4, id="light"), pytest.param(150, id="heavy", marks=pytest.mark.slow)]
)
# Not `verify`: it tests theorems for minutes where its few options are right.
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "verify"])
def test_an_answer_or_one_line(folder, capfd, command, many):
    def check(words):
        fresh(folder)
        code = main(words)
        out, err = capfd.readouterr()
        assert "internal error" not in err, (words, err)
        assert "Traceback" not in out + err, words
        assert code in (0, 2, 3, 4, 5), (words, code, err)
        if code in (2, 4, 5):
            assert out == "", words
            assert err.startswith("dp2theory: "), (words, err)
            assert err.count("\n") == 1, (words, err)
            assert len(err) < 12_000, words
            assert (folder / "old.json").read_text() == FILES["old.json"], words
        left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        assert left == [], words

    fuzz(command_lines(command), check, many)
