"""Reads the numbers of a page back, and compares them with the JSON output they came from."""

import json
import re
from html import escape
from html.parser import HTMLParser

from dp2theory.digits import short
from dp2theory.report.html_numbers import KINDS, lookup

#: Headings that a page must have, besides those of its command.
SECTIONS = ("Inputs", "Kinds of numbers", "How this was made")
SECTIONS_OF = {
    "plan": ("Numbers", "Ledger"),
    "account": ("Numbers", "Ledger"),
    "audit": ("Numbers", "Ledger"),
    "train": ("Numbers", "Ledger", "What was run"),
    "sweep": ("Ledger",),
    "verify": ("Theorem by theorem", "Theorems"),
}
VERSIONS = ("Python", "dp2theory", "dp-accounting", "numpy", "scipy")


class Data(HTMLParser):
    """The ``<data>`` elements of a page, each as (attributes, text)."""

    def __init__(self, page):
        super().__init__()
        self.found, self._open = [], None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag == "data":
            self._open = (dict(attrs), [])

    def handle_data(self, data):
        if self._open is not None:
            self._open[1].append(data)

    def handle_endtag(self, tag):
        if tag == "data":
            attributes, words = self._open
            self.found.append((attributes, "".join(words)))
            self._open = None


def problems(page, document):
    """What is wrong with the numbers of a page: lines, none when all is right.

    Parameters
    ----------
    page : str
        HTML, as written or as a browser's DOM.
    document : mapping
        The JSON output.
    """
    found = []
    for attributes, text in Data(page).found:
        field, kind = attributes["data-field"], attributes["data-kind"]
        wanted, said = lookup(document, field), attributes["value"]
        if kind not in KINDS:
            found.append(f"{field}: kind {kind}")
        if isinstance(wanted, str):
            if not said == wanted == text:
                found.append(f"{field}: {said} shown as {text}, {wanted} wanted")
            continue
        if wanted is None or json.loads(said) != wanted:
            found.append(f"{field}: {said}, {wanted} wanted")
            continue
        shown = float(text.replace(",", ""))
        if (kind in ("upper", "chosen") and shown < wanted) or (kind == "lower" and shown > wanted):
            found.append(
                f"{field}: shown as {text}, which is rounded to the wrong side of {wanted}"
            )
        elif text not in {said, *(short(wanted, kind, digits) for digits in range(3, 18))}:
            found.append(f"{field}: shown as {text}, {wanted} wanted")
    return found


def missing(page, document):
    """What a page must have and has not: lines, none when all is there.

    Parameters
    ----------
    page : str
        HTML, as written or as a browser's DOM.
    document : mapping
        The JSON output.
    """
    page = page.replace('"', "'")  # a browser quotes attributes in its own way
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    wanted = (*SECTIONS, *SECTIONS_OF.get(document["command"], ()))
    found = [f"no section {name}" for name in wanted if name not in headings]
    terms = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    found += [f"no version of {name}" for name in VERSIONS if not terms.get(name)]
    if not (terms.get("seed") or terms.get("seeds")):
        found.append("no seed")
    if "<pre class='command'>" not in page:
        found.append("no command line")
    there = fields(page.replace("'", '"'))
    for name, entry in document["inputs"].items():
        words = escape(name.replace("_", " "))
        if f"<th scope='row'>{words}</th>" not in page:
            found.append(f"no input {words}")
        number = isinstance(entry["value"], int | float) and not isinstance(entry["value"], bool)
        if number and f"inputs.{name}.value" not in there:
            found.append(f"no value of the input {words}")
        if entry["unit"] not in ("1", "name", "yes or no") and escape(entry["unit"]) not in page:
            found.append(f"no unit of the input {words}: {entry['unit']}")
    if re.search(r"<img(?![^>]*alt='[^'])", page):
        found.append("a picture without words")
    if "<img" not in page:
        found.append("no picture")
    if re.search(r"<th(?![^>]*scope=)(?=[ >])", page):
        found.append("a header of a table without its scope")
    return found


def fields(page):
    """Where the numbers of a page stand in its JSON output."""
    return {attributes["data-field"] for attributes, _ in Data(page).found}
