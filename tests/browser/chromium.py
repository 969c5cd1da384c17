"""Headless Chromium, started once for each question, with a profile of its own."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Names this program when it is not on the path.
VARIABLE = "CHROMIUM"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
SECONDS = 120
_CONSOLE = re.compile(r'CONSOLE[:(]\d+\)?\] "(.*)", source: ')
#: What the log of the network calls requests of Chromium itself, which no flag stops.
_ITS_OWN = "not an origin"


class NoChromium(Exception):
    """There is no browser to open pages with."""


@dataclass(frozen=True)
class Opened:
    """What a page did.

    Attributes
    ----------
    dom : str
        The document after everything has run.
    console : list of str
        What was written to the console, errors included.
    requests : list of str
        Addresses that the page asked the network for.
    """

    dom: str
    console: list[str]
    requests: list[str]


def find() -> str:
    """The browser.

    Raises
    ------
    NoChromium
        In one line, with what to do.
    """
    named = os.environ.get(VARIABLE)
    names = NAMES if named is None else (named,)
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise NoChromium(
            f"no Chromium found among {', '.join(names)}: install it (Debian: apt-get install "
            f"chromium), or name it with {VARIABLE}=PATH"
        )
    return found


def open_page(browser: str, page: Path) -> Opened:
    """Open a page without a network, and say what it did."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "net.json"
        done = _run(browser, page, "--enable-logging=stderr", f"--log-net-log={log}", "--dump-dom")
        return Opened(done.stdout, _CONSOLE.findall(done.stderr), _requests(log))


def screenshot(browser: str, page: Path, picture: Path, size: tuple[int, int]) -> None:
    """A picture of a page in a window of that size."""
    window = f"--window-size={size[0]},{size[1]}"
    _run(browser, page, window, f"--screenshot={picture.resolve()}")
    if not picture.is_file():
        raise RuntimeError(f"{page.name}: Chromium made no picture")


def _run(browser: str, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [browser, *FLAGS, f"--user-data-dir={profile}", *options, page.resolve().as_uri()],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise RuntimeError(f"{page.name}: Chromium ended with {done.returncode}: {last}")
    return done


def _requests(log: Path) -> list[str]:
    """The addresses in a log of the network that a page, and not the browser, asked for."""
    text = log.read_text(encoding="utf-8")
    try:
        events = json.loads(text)["events"]
    except json.JSONDecodeError:  # the log was cut off before its last line
        events = json.loads(text.rstrip().removesuffix(",") + "]}")["events"]
    found = []
    for event in events:
        told = event.get("params")
        if isinstance(told, dict) and "url" in told and told.get("initiator", _ITS_OWN) != _ITS_OWN:
            found.append(str(told["url"]))
    return [address for address in found if not address.startswith(("file:", "data:"))]
