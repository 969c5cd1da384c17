"""The commands of docs/tutorial.md, one after the other, print what stands below them."""

import math
import re
import shlex

import pytest

from docs.site.places import DOCS
from dp2theory.cli.app import main
from tests.repo.test_documents import blocks

TUTORIAL = (DOCS / "tutorial.md").read_text()
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\d)")


def same_line(got: str, said: str) -> bool:
    """Equal words, numbers as exact as they are written or to a thousandth."""
    if NUMBER.sub("#", got).split() != NUMBER.sub("#", said).split():
        return False
    pairs = zip(NUMBER.findall(got), NUMBER.findall(said), strict=True)
    return all(math.isclose(float(one), float(other), rel_tol=1e-3) for one, other in pairs)


def missing_lines(output: str, said: list[str]) -> list[str]:
    """What is said and does not follow in the output; `…` stands for any number of lines."""
    lines, missing, skipping = output.splitlines(), [], False
    for line in said:
        if line == "…":
            skipping = True
            continue
        reach = len(lines) if skipping else 1
        place = next((n for n in range(min(reach, len(lines))) if same_line(lines[n], line)), None)
        if place is None:
            missing.append(line)
        else:
            lines, skipping = lines[place + 1 :], False
    return missing


def test_the_comparison_bites():
    assert same_line("epsilon <= 2.39421", "epsilon <= 2.3942")
    assert not same_line("epsilon <= 2.39421", "epsilon <= 2.40")
    assert not same_line("epsilon <= 2.39421", "epsilon >= 2.3942")
    assert same_line("a      1  0.5105", "a 1 0.5105")
    assert missing_lines("a 1\nb\nc 2\n", ["a 1", "…", "c 2"]) == []
    assert missing_lines("a 1\nb\nc 2\n", ["a 1", "c 2"]) == ["c 2"]
    assert missing_lines("a 1\nb\nc 2\n", ["…", "c 3", "…"]) == ["c 3"]
    assert missing_lines("", ["a"]) == ["a"]


def sessions(text: str) -> list[tuple[str, list[str]]]:
    """The commands of the console blocks, each with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(text, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line)
    return found


def test_commands_print_what_the_tutorial_says(tmp_path, monkeypatch, capsys):
    pytest.importorskip("z3", reason="needs dp2theory[prove]")
    monkeypatch.chdir(tmp_path)
    done = sessions(TUTORIAL)
    assert len(done) >= 7
    for command, said in done:
        words = shlex.split(command)
        assert words.pop(0) == "dp2theory"
        assert main(words) == 0, command
        assert missing_lines(capsys.readouterr().out, said) == [], command
