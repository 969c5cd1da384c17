"""What all pages have in common: one file, no scripts, no links to elsewhere, pictures inside."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dp2theory.files import write_text
from dp2theory.report import plots, tables
from dp2theory.report.html_ledger import ledger_section
from dp2theory.report.html_numbers import inputs_table, kinds_legend
from dp2theory.report.html_style import STYLE
from dp2theory.report.tables import Markup

#: Ids of theorems in running text.
_IDS = re.compile(r"\b(?:dp2|resque)\.[A-Za-z0-9.-]*[A-Za-z0-9]")
_LINK = re.compile(r"<a href='#(?P<to>[^']*)'>(?P<said>[^<]*)</a>")


@dataclass(frozen=True)
class About:
    """What a page tells of its making, beside the JSON output.

    Attributes
    ----------
    command : str
        The command line that repeats it.
    versions : mapping
        Version by package.
    ledgers : sequence of (str, mapping)
        What each is about, and its event tree as JSON.
    theorems : sequence of mapping
        ``id``, ``title`` and ``statement`` of each theorem that the page names.
    """

    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    ledgers: Sequence[tuple[str, Mapping[str, Any]]] = ()
    theorems: Sequence[Mapping[str, str]] = ()


def page(title: str, body: Sequence[str], *, footer: str) -> str:
    """A whole HTML document around `body`, which must be escaped already."""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        # Nothing is fetched, whatever got in.
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; "
        "img-src data:; style-src 'unsafe-inline'\">"
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><main>\n"
        + _linked("\n".join(body))
        + f"\n<footer>{html.escape(footer)}</footer></main></body></html>\n"
    )


def write_page(
    path: str | Path,
    document: Mapping[str, Any],
    *,
    title: str,
    subtitle: str,
    sections: Sequence[str],
    about: About | None = None,
) -> None:
    """Write the page of a JSON output; the file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
    document : mapping
        The object that the command prints with ``--json``.
    title, subtitle : str
    sections : sequence of str
        HTML fragments: what was found, before what all pages have in common.
    about : About, optional
    """
    about = About() if about is None else about
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p class='sub'>{html.escape(subtitle)}</p>",
        *sections,
        "<h2>Inputs</h2>",
        inputs_table(document["inputs"]),
        *theorem_section(about.theorems),
        *ledger_section(about.ledgers),
        "<h2>Kinds of numbers</h2>",
        kinds_legend(),
        *_making(document, about),
    ]
    footer = f"dp2theory {document['version']}, {document['schema']}"
    write_text(path, page(title, body, footer=footer))


def theorem_link(name: str) -> Markup:
    """The id of a theorem, linked to its statement where the page has it (see `page`)."""
    return Markup(f"<a href='#{html.escape(name)}'>{html.escape(name)}</a>")


def with_theorems(text: str) -> Markup:
    """`text`, escaped, with the ids of theorems in it linked to their statements."""
    return Markup(_IDS.sub(lambda found: theorem_link(found[0]), html.escape(text)))


def _linked(body: str) -> str:
    """`body` without the links that lead to nothing on it."""
    there = set(re.findall(r"<p id='([^']*)'>", body))
    return _LINK.sub(lambda link: link[0] if link["to"] in there else link["said"], body)


def theorem_section(theorems: Sequence[Mapping[str, str]]) -> list[str]:
    """The theorems that a page names, each with what it says."""
    if not theorems:
        return []
    shown = [
        f"<p id='{html.escape(each['id'])}'><b>{html.escape(each['id'])}</b>: "
        f"{html.escape(each['title'])}<br>"
        f"<code>{html.escape(each['statement'])}</code></p>"
        for each in theorems
    ]
    return [
        "<h2>Theorems</h2>",
        "<p>The statements behind the figures; <code>dp2theory theorems ID</code> shows what each "
        "assumes, and its proof, checked anew.</p>",
        f"<div class='finding'>{''.join(shown)}</div>",
    ]


def _making(document: Mapping[str, Any], about: About) -> list[str]:
    parts = ["<h2>How this was made</h2>"]
    if about.command:
        parts.append(f"<pre class='command'>{html.escape(about.command)}</pre>")
    told = {"status": str(document["status"]), **_seeds(document)}
    told |= about.versions or {"dp2theory": str(document["version"])}
    items = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in told.items()
    )
    return [*parts, f"<dl>{items}</dl>"]


def _seeds(document: Mapping[str, Any]) -> dict[str, str]:
    """The seeds of what was random: those of each run, or the one that all come from."""
    seeds = document["result"].get("seeds")
    if seeds is not None:
        return {"seeds": ", ".join(map(str, seeds)) or "none: there are no runs"}
    inputs = document["inputs"]
    if "seed" not in inputs:
        return {"seed": "none: nothing random is in it"}
    first = int(inputs["seed"]["value"])
    count = int(inputs["seeds"]["value"]) if "seeds" in inputs else 1
    return {"seed": str(first)} if count == 1 else {"seeds": f"{first} to {first + count - 1}"}


def unit_of(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    """The unit of privacy; documents of earlier versions do not say it."""
    return str(inputs["unit_of_privacy"]["value"]) if "unit_of_privacy" in inputs else "a record"


def verdict(title: str, text: str, style: str) -> str:
    """The answer in a coloured box; `text` is a sentence without its point."""
    title, text = html.escape(title), html.escape(text)
    return f"<div class='verdict {style}'><strong>{title}</strong>{text}.</div>"


def capital(text: str) -> str:
    """`text` as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def cards(entries: Sequence[tuple[str, str]]) -> str:
    """Boxes that each show a value (text or `Markup`) over its label."""
    boxes = "".join(
        f"<div class='card'><b>{tables.escaped(value)}</b><span>{html.escape(label)}</span></div>"
        for value, label in entries
    )
    return f"<div class='cards'>{boxes}</div>"


def figure(drawn: Any, label: str, caption: str, *, wide: bool = False) -> str:
    """A matplotlib figure inside the page, with its caption.

    Parameters
    ----------
    drawn : matplotlib.figure.Figure
    label : str
        What it shows, for those who do not see it.
    caption : str
    wide : bool
        Several axes side by side, which narrow screens scroll through.
    """
    source = plots.to_data_uri(drawn)
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return (
        f"<figure{' class=wide' if wide else ''}><img src='{source}' "
        f"alt='{html.escape(label, quote=True)}'>{below}</figure>"
    )


def pictures(*figures: str) -> str:
    """Figures side by side where there is room."""
    return f"<div class='pictures'>{''.join(figures)}</div>"


def notes(title: str, lines: Sequence[str]) -> list[str]:
    """A list of remarks; nothing where there are none."""
    if not lines:
        return []
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return [f"<h2>{html.escape(title)}</h2><ul>{items}</ul>"]
