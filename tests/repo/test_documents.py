"""README and docs: the code in them runs, the commands in them exist, the links lead somewhere."""

import math
import re
import shlex
from functools import cache

import pytest
import typer

from dp2theory.cli.app import COMMANDS, main
from dp2theory.cli.app import _load as load
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


def test_the_page_of_the_command_line_lists_every_command():
    table = (ROOT / "docs" / "command-line.md").read_text().partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, flags=re.MULTILINE)) == set(COMMANDS)


def options_of(name: str) -> set[str]:
    """The long options of a command, as its parser has them."""
    app = typer.Typer(add_completion=False)
    app.command(name)(load(COMMANDS[name].location))
    parser = typer.main.get_command(app)
    options = {each for parameter in parser.params for each in parameter.opts}
    return {each for each in options if each.startswith("--")}


def untold_options(page: str) -> dict[str, set[str]]:
    """Options that neither the section of their command nor that of all commands names."""
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    common = sections["Options that mean the same everywhere"]
    untold = {}
    for name in COMMANDS:
        own = "".join(text for title, text in sections.items() if name in title.split())
        if missing := options_of(name) - set(re.findall(r"--[a-z][a-z-]*", common + own)):
            untold[name] = missing
    return untold


def test_the_page_of_the_command_line_names_every_option():
    page = (ROOT / "docs" / "command-line.md").read_text()
    assert untold_options(page) == {}
    assert untold_options(page.replace("--remaining", "--left")) == {"account": {"--remaining"}}
    moved = page.replace("--no-pilot", "").replace("## JSON", "## JSON\n--no-pilot")
    assert untold_options(moved) == {"plan": {"--no-pilot"}}


def test_first_lines_of_python_run_and_print_what_they_say(capsys):
    code = blocks(README.read_text(), "python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    said = [line.split("# ", 1)[1] for line in code.splitlines() if "print(" in line]
    assert said, "the example prints nothing"
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_in_documents_runs(path):
    for code in blocks(path.read_text(), "python"):
        exec(compile(code, str(path), "exec"), {"__name__": "document"})


def same_answer(got: str, said: str) -> bool:
    """Equal text up to a final number, which may differ in its last digits between machines."""
    (words, number), (said_words, said_number) = got.rsplit(" ", 1), said.rsplit(" ", 1)
    return words == said_words and math.isclose(float(number), float(said_number), rel_tol=1e-8)


def test_the_answer_check_bites():
    assert same_answer("epsilon <= 2.7241678313996", "epsilon <= 2.7241678313997")
    assert not same_answer("epsilon <= 2.7241678", "epsilon <= 2.7241679")
    assert not same_answer("epsilon >= 2.5", "epsilon <= 2.5")


def test_quick_commands_of_the_readme_run(capsys):
    """The commands that need no training: the first line of each answer stands below it."""
    (block,) = blocks(README.read_text(), "console")
    lines = block.splitlines()
    commands = [number for number, line in enumerate(lines) if line.startswith("$ dp2theory ")]
    assert len(commands) == 2
    for number in commands:
        assert main(shlex.split(lines[number].removeprefix("$ dp2theory "))) == 0
        assert same_answer(capsys.readouterr().out.splitlines()[0], lines[number + 1])


def unknown_options(text: str, help_of) -> list[str]:
    """Options in the shell blocks of a document that the named command does not have."""
    unknown = []
    for block in [*blocks(text, "sh"), *blocks(text, "console")]:
        for line in block.replace("\\\n", " ").splitlines():
            words = line.removeprefix("$ ").split()
            if words[:1] == ["dp2theory"] and len(words) > 1 and words[1] in COMMANDS:
                known = set(re.findall(r"--[a-z0-9-]+", help_of(words[1])))
                unknown += [word for word in words if word.startswith("--") and word not in known]
    return unknown


def test_options_in_documents_exist(capsys):
    @cache
    def help_of(command: str) -> str:
        assert main([command, "--help"]) == 0
        return capsys.readouterr().out

    broken = "```sh\ndp2theory account --steps 3 \\\n  --stepz 4\n```\n"
    assert unknown_options(broken, help_of) == ["--stepz"]
    found = {path.name: unknown_options(path.read_text(), help_of) for path in DOCUMENTS}
    assert {name: options for name, options in found.items() if options} == {}


def test_the_link_check_bites(tmp_path):
    text = "[a](there.md) [b](missing.md#part) [c](https://example.org)"
    (tmp_path / "there.md").write_text("x")
    assert broken_links(tmp_path / "page.md", text) == ["missing.md"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    assert broken_links(path, path.read_text()) == []


def missing_documents(text: str) -> list[str]:
    """Documents that code refers to by their path and that do not exist."""
    named = re.findall(r"\bdocs/[\w./-]+\.md\b", text)
    return [name for name in named if not (ROOT / name).exists()]


def test_documents_named_in_code_exist():
    assert missing_documents("see docs/no-such-page.md") == ["docs/no-such-page.md"]
    named = {
        path.relative_to(ROOT).as_posix(): missing
        for path in project_files()
        if path.suffix == ".py" and path.name != "test_documents.py"
        if (missing := missing_documents(path.read_text()))
    }
    assert named == {}


def test_decision_records_are_numbered_and_indexed():
    folder = ROOT / "docs" / "decisions"
    records = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))
    index = (folder / "README.md").read_text()
    for name in records:
        assert f"]({name})" in index
