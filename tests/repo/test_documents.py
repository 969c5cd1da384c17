"""README and docs: the code in them runs, the commands in them exist, the links lead somewhere."""

import re
import shlex

import pytest

from dp2theory.cli.app import main
from tests.repo.project import ROOT, project_files

README = ROOT / "README.md"
DOCUMENTS = [path for path in project_files() if path.suffix == ".md"]


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def broken_links(path, text) -> list[str]:
    targets = re.findall(r"\]\(([^)\s#]+)[^)]*\)", text)
    local = [target for target in targets if "://" not in target and "mailto:" not in target]
    return [target for target in local if not (path.parent / target).exists()]


def test_first_lines_of_python_run_and_print_what_they_say(capsys):
    code = blocks(README.read_text(), "python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    said = [line.split("# ", 1)[1] for line in code.splitlines() if "print(" in line]
    assert said, "the example prints nothing"
    assert capsys.readouterr().out.splitlines() == said


def test_quick_commands_of_the_readme_run(capsys):
    """The commands that need no training; their answers are in the README beside them."""
    text = README.read_text()
    (block,) = [part for part in blocks(text, "console") if "dp2theory calibrate" in part]
    commands = block.replace("\\\n", " ").splitlines()
    for line, answer in zip(commands, [*commands[1:], ""], strict=True):
        if line.startswith("$ dp2theory "):
            assert main(shlex.split(line.removeprefix("$ dp2theory "))) == 0
            assert capsys.readouterr().out.splitlines()[0] == answer


def test_the_link_check_bites(tmp_path):
    text = "[a](there.md) [b](missing.md#part) [c](https://example.org)"
    (tmp_path / "there.md").write_text("x")
    assert broken_links(tmp_path / "page.md", text) == ["missing.md"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    assert broken_links(path, path.read_text()) == []


def test_decision_records_are_numbered_and_indexed():
    folder = ROOT / "docs" / "decisions"
    records = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))
    index = (folder / "README.md").read_text()
    for name in records:
        assert f"]({name})" in index
