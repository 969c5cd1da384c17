"""What is said where there is no browser, and what is read in the logs of one."""

import json
import subprocess

import pytest

from tests.browser import __main__ as program
from tests.browser import chromium


def test_without_a_chromium_one_line_and_exit_2(monkeypatch, capsys):
    monkeypatch.setenv(chromium.VARIABLE, "/nowhere/chromium")
    assert program.main([]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    for words in ("no Chromium found", "/nowhere/chromium", "apt-get install chromium"):
        assert words in said.err


def test_unknown_options_are_refused(capsys):
    assert program.main(["--all"]) == 2
    assert capsys.readouterr().err.startswith("usage:")


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A browser that writes what the test says to its log of the network and to stderr."""
    page = tmp_path / "a.html"
    page.write_text("<p>")

    def made(log, errors=""):
        def run(words, **_options):
            (name,) = [word for word in words if word.startswith("--log-net-log=")]
            with open(name.removeprefix("--log-net-log="), "w", encoding="utf-8") as file:
                file.write(log)
            return subprocess.CompletedProcess(words, 0, "<html>", errors)

        monkeypatch.setattr(subprocess, "run", run)
        return chromium.open_page("browser", page)

    return made


def event(url, initiator):
    return {"params": {"url": url, "initiator": initiator}}


def test_requests_of_the_page_and_not_of_the_browser_are_counted(opened):
    events = [
        event("http://a.example/x.png", "null"),
        event("https://update.example/", "not an origin"),
        event("data:,x", "null"),
        {"params": {"url": "http://clients.example/"}},
        {"type": 3},
    ]
    whole = json.dumps({"events": events})
    for log in (whole, whole.removesuffix("]}") + ",\n"):
        assert opened(log).requests == ["http://a.example/x.png"]


def test_lines_of_the_console_are_read(opened):
    for where in ("INFO:CONSOLE:68]", "INFO:CONSOLE(68)]"):
        line = f'[1:2:1130/2207.6:{where} "Uncaught <x>", source: file:///a.html (68)\n'
        assert opened('{"events": []}', f"noise\n{line}").console == ["Uncaught <x>"]
    assert opened('{"events": []}', "[1:2:ERROR:dbus/bus.cc:405] Failed").console == []
