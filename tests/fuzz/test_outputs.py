"""Every output option of every command, where it cannot be written: one line that names it."""

from __future__ import annotations

import resource
import shlex
import subprocess
import sys

import pytest

from dp2theory.cli.app import COMMANDS, main
from tests.fuzz.command_lines import HET, SMALL, fresh, signature
from tests.fuzz.outcomes import check_files, check_streams, content_of
from tests.fuzz.test_writers import full_disk

READ = {"--event", "--plan", "--discarded-pilot", "--spec"}
ENDINGS = {"--curve": "csv", "--plot": "png", "--report": "html", "--store": "sqlite"}
#: Where the small run of the command has no use for the option.
OTHER = {
    ("resque", "--ledger"): SMALL["resque"][1],
    ("theorems", "--plot"): "dp2.A",
    ("figure", "--store"): f"fig3 --problem {HET} --batch-size 200 --steps 4 --epsilon 3 --delays 2"
    " --seeds 1 --tune-seeds 1 --executor serial",
}
SLOW = {"verify", "figure", "theorems", "resque", "audit-accountant", "plan", "sweep"}
OUTPUTS = [
    pytest.param(command, option, marks=[pytest.mark.slow] * (command in SLOW))
    for command in COMMANDS
    for option, kind in signature(command)
    if kind == "path" and option not in READ
]
NOWHERE = (
    "missing/x", "old.json/x", "/proc/x", "/dev/null", "/dev/full", ".", "x" * 300, "/proc/self/x",
)  # fmt: skip


def words_of(command, option, path):
    base = OTHER.get((command, option), SMALL[command][0])
    return [command, *shlex.split(base), "--quiet", option, path]


def ending_of(command, option):
    if option == "--out":
        return "npz" if command == "plan" else "json"
    return ENDINGS.get(option, "json")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fresh(tmp_path)
    return tmp_path


def test_all_are_known():
    assert len(OUTPUTS) >= 20
    for command in COMMANDS:
        assert READ | {"--out", *ENDINGS, "--ledger"} >= {
            option for option, kind in signature(command) if kind == "path"
        }


@pytest.mark.parametrize(("command", "option"), OUTPUTS)
def test_a_place_that_cannot_be_written(folder, capfd, command, option):
    before = content_of(folder)
    if (command, option) == ("figure", "--out"):  # a folder
        places = [place for place in NOWHERE if place not in (".", "missing/x")] + ["a/b/c"]
    else:
        ending = ending_of(command, option)
        places = [f"{place}.{ending}" if place[-1] == "x" else place for place in NOWHERE]
    for place in places:
        words = words_of(command, option, place)
        code = main(words)
        out, err = capfd.readouterr()
        assert code == 2, (words, code, err)
        check_streams(code, out, err, words)
        check_files(code, before, folder, words)
        assert option in err, (words, err)
        assert place[:30] in err, (words, err)
        assert content_of(folder) == before, words


@pytest.mark.parametrize(("command", "option"), OUTPUTS)
def test_a_disk_that_is_full(folder, capfd, command, option):
    name = "." if (command, option) == ("figure", "--out") else f"a.{ending_of(command, option)}"
    if name != "." and option != "--store":
        (folder / name).write_text("the old one")
    before = content_of(folder)
    words = words_of(command, option, name)
    with full_disk(200):
        code = main(words)
    out, err = capfd.readouterr()
    assert code == 2, (words, code, err)
    check_streams(code, out, err, words)
    after = content_of(folder)
    if option == "--store":
        assert after.pop(name, b"") == b"", words  # an empty file is no store yet
    assert after == before, words
    assert name.strip(".") in err, (words, err)
    for message in ("File too large", "disk is full", "disk I/O error", "cannot be used"):
        if message in err:
            break
    else:
        raise AssertionError(err)


ACCOUNT = "account --dataset-size 9 --batch-size 9 --steps 3 --noise-multiplier 2 --quiet"


@pytest.mark.parametrize(
    ("words", "stream", "code"),
    [
        ("theorems --quiet", "stdout", 1),
        ("theorems --quiet", "stderr", 0),
        ("theorems dp2.nothing", "stderr", 2),
    ],
)
def test_a_stream_that_takes_nothing(words, stream, code):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with open("/dev/full", "wb") as full:
        streams[stream] = full
        done = subprocess.run([sys.executable, "-m", "dp2theory", *words.split()], **streams)
    assert done.returncode == code
    if stream == "stdout":
        told = b"dp2theory: input or output failed: No space left on device\n"
        assert done.stderr == told
    else:
        assert (done.stdout != b"") == (code == 0)


@pytest.mark.parametrize(
    ("closed", "code", "err"),
    [(">&-", 1, b"dp2theory: stdout is closed: the result would be lost\n"), ("2>&-", 0, b"")],
)
def test_a_stream_that_is_closed(closed, code, err):
    words = f'"{sys.executable}" -m dp2theory theorems --quiet {closed}'
    done = subprocess.run(["sh", "-c", words], capture_output=True)
    assert (done.returncode, done.stderr) == (code, err)
    assert (done.stdout != b"") == (code == 0)


def test_a_folder_for_figures_goes_again_with_the_figure(folder, capfd):
    base = f"figure fig3 --problem {HET} --executor serial --epsilon"
    assert main(f"{base} -1 --out new".split()) == 2
    assert not (folder / "new").exists()
    (folder / "kept").mkdir()
    assert main(f"{base} -1 --out kept".split()) == 2
    assert (folder / "kept").is_dir()
    capfd.readouterr()


FORBIDDEN = """
import os, sys
from dp2theory.cli.app import main
words = sys.argv[3:]
os.chdir(sys.argv[1])
assert main(words) == 0  # imports what it needs, which nobody else may read
os.chdir(sys.argv[2])
if os.geteuid() == 0:  # whom permissions do not bind
    os.setuid(65534)
sys.exit(main(words))
"""


def test_a_folder_in_which_nothing_may_be_written(tmp_path):
    option = "--curve"
    opened, closed = tmp_path / "opened", tmp_path / "closed"
    opened.mkdir()
    closed.mkdir()
    closed.chmod(0o555)
    name = f"a.{ENDINGS[option]}"
    words = [sys.executable, "-c", FORBIDDEN, opened, closed, *ACCOUNT.split(), option, name]
    done = subprocess.run(words, capture_output=True, text=True)
    told = f"dp2theory: {option} {name}: cannot be written (Permission denied)\n"
    assert (done.returncode, done.stderr) == (2, told)
    assert list(closed.iterdir()) == []
    assert (opened / name).is_file()


@pytest.mark.parametrize("option", ["--curve", "--report"])
def test_a_file_that_is_read_only(folder, capfd, option):
    name = f"a.{ENDINGS[option]}"
    (folder / name).write_text("the old one")
    (folder / name).chmod(0o444)
    assert main([*ACCOUNT.split(), option, name]) == 2
    assert capfd.readouterr() == ("", f"dp2theory: {option} {name}: is read-only\n")
    assert (folder / name).read_text() == "the old one"


def test_the_limit_is_lifted_again():
    with full_disk(200):
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 200
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 200
