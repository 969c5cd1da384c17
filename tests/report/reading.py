"""Reads the numbers of a page back, and compares them with the JSON output they came from."""

import json
import math
from html.parser import HTMLParser

from dp2theory.report.html_numbers import KINDS, lookup


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
        if not math.isclose(shown, wanted, rel_tol=2e-2 if len(text) < 5 else 1e-3):
            found.append(f"{field}: shown as {text}, {wanted} wanted")
        elif (kind == "upper" and shown < wanted) or (kind == "lower" and shown > wanted):
            found.append(
                f"{field}: shown as {text}, which is rounded to the wrong side of {wanted}"
            )
    return found


def fields(page):
    """Where the numbers of a page stand in its JSON output."""
    return {attributes["data-field"] for attributes, _ in Data(page).found}
