"""Open every report in a headless Chromium: pictures, console, network, numbers read back.

Exits with 0 when all is right, 1 when something is wrong, 2 when there is no Chromium. Pictures go
to build/browser; with ``--images``, small ones of the first screen go to docs/images.
"""

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.browser.chromium import NoChromium, find, open_page, screenshot
from tests.browser.looks import measure
from tests.browser.pages import Report, made_reports
from tests.report.reading import fields, missing, problems

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "browser"
IMAGES = ROOT / "docs" / "images"
WIDTHS = {"desktop": 1200, "phone": 390}
#: Of the picture in the documentation.
SCREEN = (1000, 620)
LARGEST = 120_000
DOCUMENTED = ("account",)
TALLEST = 16_000


def wrong_with(browser: str, report: Report) -> list[str]:
    """What is wrong with a page, in lines."""
    opened = open_page(browser, report.page)
    found = [f"console: {line}" for line in opened.console]
    found += [f"asks the network for {address}" for address in opened.requests]
    found += problems(opened.dom, report.document)
    found += missing(opened.dom, report.document)
    if not fields(opened.dom):
        found.append("no number was found")
    return found


def look_at(browser: str, report: Report, folder: Path) -> list[str]:
    """Make the pictures of a page; what does not fit, in lines."""
    found = []
    for name, size in measure(browser, report.page, tuple(WIDTHS.values())).items():
        if size.width > name:
            found.append(f"{size.width} wide in a window of {name}")
        if size.drawn < max(1, size.pictures):
            found.append(f"{size.drawn} of {size.pictures} pictures drawn")
        kind = next(kind for kind, width in WIDTHS.items() if width == name)
        picture = folder / f"report-{report.name}-{kind}.png"
        screenshot(browser, report.page, picture, (name, min(size.height, TALLEST)))
    return found


def unnoticed(browser: str, report: Report) -> list[str]:
    """Pages that are broken on purpose and pass all the same: none, or this check has no teeth."""
    page = report.page.read_text(encoding="utf-8")
    start = page.index("<meta http-equiv=")
    free = page[:start] + page[page.index(">", page.index("content=", start)) + 1 :]
    first = page.index(">", page.index("<data ")) + 1
    broken = {
        "a picture from elsewhere": free.replace(
            "<h1>", "<img src='http://127.0.0.1:9/a.png'><h1>"
        ),
        "a script that fails": free.replace("<h1>", "<script>nothing.at.all</script><h1>", 1),
        "a policy that stops something": page.replace("<h1>", "<script>1</script><h1>", 1),
        "another number": page[:first] + "9" + page[first:],
        "a last digit that is one off": _last_digit(page, "counted", +1),
        "an upper end that is rounded down": _last_digit(page, "upper", -1),
        "a section that is not there": page.replace("<h2>Ledger</h2>", "", 1),
        "a value of the attribute": page.replace("<data value='1", "<data value='2", 1),
        "a version that is not there": page.replace("<dt>scipy</dt>", "<dt>sciPy</dt>", 1),
        "a picture without words": re.sub(" alt='[^']+'", " alt=''", page, count=1),
    }
    assert len({*broken.values(), page}) == 1 + len(broken), "a page was not broken"
    found = []
    for name, text in broken.items():
        path = report.page.with_name("broken.html")
        path.write_text(text, encoding="utf-8")
        if not wrong_with(browser, Report(report.name, path, report.document)):
            found.append(f"{name} was not noticed")
    return found


def _last_digit(page: str, kind: str, step: int) -> str:
    """The page with the last digit of the first shown number of a kind moved by a step."""
    found = next(
        one
        for one in re.finditer(rf"data-kind='{kind}'>([^<]*)(\d)</data>", page)
        if 0 <= int(one[2]) + step <= 9
    )
    start, end = found.span(2)
    return page[:start] + str(int(found[2]) + step) + page[end:]


def _documentation_image(browser: str, report: Report) -> None:
    """The first screen of a page, where the picture of it is small enough to be kept."""
    picture = IMAGES / f"report-{report.name}.png"
    screenshot(browser, report.page, picture, SCREEN)
    if picture.stat().st_size > LARGEST:
        print(f"  {picture.name}: {picture.stat().st_size:,} bytes are too many; not kept")
        picture.unlink()


def main(arguments: Sequence[str] | None = None) -> int:
    """Make, open, look at and read all reports."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given not in ([], ["--images"]):
        print("usage: python -m tests.browser [--images]", file=sys.stderr)
        return 2
    try:
        browser = find()
    except NoChromium as error:
        print(f"tests.browser: {error}", file=sys.stderr)
        return 2
    PICTURES.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for place, report in enumerate(made_reports(Path(folder))):
            wrong = wrong_with(browser, report) + look_at(browser, report, PICTURES)
            if place == 0:
                wrong += unnoticed(browser, report)
            if given and report.name in DOCUMENTED:
                _documentation_image(browser, report)
            count = len(fields(report.page.read_text(encoding="utf-8")))
            print(f"{report.name}: {count} numbers read back, {len(wrong)} problems", flush=True)
            for line in wrong:
                print(f"  {line}", flush=True)
            failed |= bool(wrong)
    print(f"pictures: {PICTURES}")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
