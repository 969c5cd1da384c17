"""Random command lines: options out of each command's own signature, with values good and bad."""

from __future__ import annotations

import shlex
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

from hypothesis import strategies as st

from dp2theory.cli.app import COMMANDS, main

HET = "het:n=200,d=12,amin=0.1,avg=4,seed=1"
SIZES = "--dataset-size 10 --batch-size 10 --steps 10"
#: Runs of each command that take next to no time; the fuzz starts from one of them.
SMALL: dict[str, tuple[str, ...]] = {
    "plan": (
        f"--problem {HET} --batch-size 200 --steps 20 --epsilon 30",
        "--dataset-size 1000 --dimension 20 --batch-size 100 --steps 40 --epsilon 3 --no-pilot",
        "--method snapshot --dataset-size 1000 --dimension 20 --batch-size 100 --steps 40"
        " --epsilon 3",
    ),
    "account": (
        f"{SIZES} --noise-multiplier 1 --tightness fast",
        "--event ledger.json --delta 1e-5 --accountant renyi",
    ),
    "calibrate": (
        f"--for noise-multiplier --epsilon 1 {SIZES} --tightness fast",
        "--for steps --epsilon 3 --dataset-size 10 --batch-size 2 --noise-multiplier 4"
        " --tightness fast",
    ),
    "train": (
        f"--problem {HET} --method dp-sgd --batch-size 200 --steps 5 --noise-multiplier 2",
        "--plan plan.npz --method dp2-rmsprop --delay 5",
        f"--problem {HET} --method dp2-rmsprop --compare dp-sgd --batch-size 200 --steps 8"
        " --epsilon 5 --delay 2 --seeds 2",
    ),
    "sweep": ("--spec good.toml --executor serial",),
    "figure": (
        f"fig3 --problem {HET} --batch-size 200 --steps 20 --epsilon 3 --delays 2,5 --seeds 1"
        " --tune-seeds 1 --executor serial",
        "drift --executor serial",
    ),
    "audit": ("--method dp-sgd --trials 100 --steps 1 --executor serial",),
    "audit-accountant": (
        "ours-exact --laws L1 --max-examples 1 --cpu-budget 0.1 --relation add-or-remove-one",
    ),
    "resque": (
        "parallel --function l1 --dimension 2 --accuracy 0.5",
        "private --records 500 --dimension 2 --accuracy 0.5 --draws 8 --plan-only",
    ),
    "theorems": ("dp2.noise.average",),
    "verify": ("dp2.noise.average --seed 3",),
}
FILES: dict[str, bytes] = {
    "good.toml": f'problems = ["{HET}"]\nmethods = ["dp-sgd"]\nepsilons = [3]\nbatch_size = 200\n'
    "steps = 5\n".encode(),
    "ledger.json": b'[{"noise_multiplier": 1.1, "sampling": "poisson", "sampling_probability": 0.1,'
    b' "steps": 3}]\n',
    "empty.txt": b"",
    "words.txt": b"no ledger, no spec, no plan, no store\n",
    "old.json": b"{}\n",
    "old.html": b"<p>old</p>\n",
}
NUMBERS = (
    "0", "1", "2", "3", "5", "10", "-1", "0.5", "nan", "inf", "-inf", "1e-300", "1e308", "1e400",
    "1e-400", "x", "", "1_0", "0x10", "٣", "1,2", str(2**63), "9" * 400, "9" * 5000, "-0.0", "1e-9",
    "1e9", "0.999999999999", str(10**18),
)  # fmt: skip
SENSIBLE = ("1", "2", "3", "4", "5", "10", "20", "100", "0.5", "0.1", "1.5", "1e-5")
WORDS = (
    "", "x", "é", "-", "--", "a=b", "a=", "=", ":", "json:loads", "os.path:join", "no.such:thing",
    "dp-sgd", "A" * 3000, "a\x01b", "{0}", "%s", "1,,2", "0.5,nan", "\ud800", "a\nb",
    "[red]x[/red]",
)  # fmt: skip
PATHS = (
    *FILES, "plan.npz", "missing", "missing/out.json", ".", "/dev/null", "/dev/full",
    "/proc/none.json", "old.json/out.json", "out.json", "out.html", "out.npz", "out.csv", "out.png",
    "out.svg", "out.pdf", "new.sqlite", "x" * 300, "a\nb.json", "",
)  # fmt: skip
_METHODS = (
    "dp-sgd", "sgd", "dp2-rmsprop", "dp2-adam", "dp2-adagrad", "snapshot", "dp-rmsprop", "adam",
    "resque-1", "resque-2", "randomized-smoothing", "noisy-sgd", "phased-localization", "nothing",
)  # fmt: skip
#: What an option of this name is likely to get; half of its values come from here.
LIKELY = {
    "--problem": (HET, "het:n=0", "het:n=5,d=x", "het:n=50,d=3,amin=1/10,avg=2,seed=0", "huber",
                  "digits", "imdb", "movielens-100k", "syn", "nothing"),
    "--data": ("words.txt", "missing", "."),
    "--method": _METHODS,
    "--compare": _METHODS,
    "--sampling": ("poisson", "with-replacement", "without-replacement", "shuffled-epochs"),
    "--relation": ("add-or-remove-one", "replace-one", "replace-special"),
    "--accountant": ("exact", "renyi", "tcdp", "all"),
    "--tightness": ("tight", "fast"),
    "--for": ("noise-multiplier", "steps", "batch-size"),
    "--executor": ("serial", "process:0", "process:1", "dask:", "dask:x", "threads"),
    "--format": ("png", "svg,pdf", "svg", "gif", "png,png"),
    "--delays": ("2", "2,5", "5,2", "0", "1000000", "2,2"),
    "--epsilon": ("0.1", "1", "3", "30", "1,3"),
    "--set": ("delay=0", "ema=nan", "momentum=0.5", "momentum=2", "learning_rate_schedule=cosine",
              "clip_norm=1", "rounds=3"),
    "--compare-set": ("momentum=0.9", "ema=0.5", "delay=2"),
    "--function": ("absolute", "hinge", "max", "max-flat", "l1", "l1-flat", "positive-max"),
    "--laws": ("L1", "L2,L2", "L1,L4", "l1", "L99"),
    "--optimizer": ("json:loads", "dp2theory.optimizers.sgd:DpSgd", "os:getcwd", "words:x"),
    "--event": ("ledger.json", "words.txt"),
    "--plan": ("plan.npz", "words.txt"),
    "--discarded-pilot": ("plan.npz", "words.txt"),
    "--spec": ("good.toml", "words.txt"),
    "--out": ("out.json", "out.npz", "out", "old.json", "old.html"),
    "--report": ("out.html", "old.html", "out.json", "out"),
    "--store": ("new.sqlite", "words.txt", "old.json"),
}  # fmt: skip
ARGUMENTS = {
    "figure": ("fig2", "fig3", "fig9", "table1", "drift", "ball-slope", "resque-fig1"),
    "audit-accountant": ("ours-exact", "ours-renyi", "json:loads", "os:path", "no.such:thing",
                         "accountants:ExactAccountant", "dp-accounting-rdp"),
    "resque": ("private", "parallel"),
    "theorems": ("dp2.A", "dp2.noise.average", "dp2.a", "resque.E6"),
    "verify": ("dp2.noise.average", "dp2.a", "nothing", "resque.E6"),
}  # fmt: skip
_GENERAL = {"number": NUMBERS, "words": WORDS, "path": PATHS}
#: What takes minutes by nature, and is tested by its own tests.
LONG = {"--full"}


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


def _value(draw: st.DrawFn, command: str, option: str, kind: str) -> str:
    likely = LIKELY.get(option, ()) if option else ARGUMENTS.get(command, ())
    if kind == "number" and not likely:
        likely = SENSIBLE
    if likely and draw(st.booleans()):
        return draw(st.sampled_from(likely))
    return draw(st.sampled_from(_GENERAL[kind]))


@st.composite
def command_lines(draw: st.DrawFn, command: str) -> list[str]:
    """A small run of the command with one to three options changed, added or left out."""
    words = [command, *shlex.split(draw(st.sampled_from(SMALL[command])))]
    options = [one for one in signature(command) if one[0] not in LONG]
    for _ in range(draw(st.integers(1, 3))):
        option, kind = draw(st.sampled_from(options))
        given = [option] if option else []
        if kind != "flag":
            given.append(_value(draw, command, option, kind))
        if option in words and kind != "flag":
            at = words.index(option)
            keep = draw(st.integers(0, 5)) == 0
            words = words[:at] + (given[:1] if keep else given) + words[at + 2 :]
            if draw(st.integers(0, 7)) == 0:  # left out
                words = [word for i, word in enumerate(words) if i not in (at, at + 1)]
        elif not option and words[1:] and not words[1].startswith("-"):
            words[1] = given[-1]
        else:
            words += given
    return words


def fresh(folder: Path) -> None:
    """Put the files of the fuzz there and nothing else."""
    for path in folder.iterdir():
        path.unlink()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "plan.npz").write_bytes(_plan(folder))


_PLANS: list[bytes] = []


def _plan(folder: Path) -> bytes:
    """A pilot that `train --plan plan.npz` goes on from, made once."""
    if not _PLANS:
        made = folder / "made.npz"
        sizes = f"--problem {HET} --batch-size 200 --steps 20 --epsilon 30"
        assert main(["plan", *sizes.split(), "--quiet", "--out", str(made)]) == 0
        _PLANS.append(made.read_bytes())
        made.unlink()
    return _PLANS[0]
