"""What all pages have in common: one file, no scripts, no links to elsewhere, pictures inside."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dp2theory.files import write_text
from dp2theory.report import plots, tables
from dp2theory.report.html_ledger import ledger_section
from dp2theory.report.html_numbers import inputs_table, kinds_legend
from dp2theory.report.html_style import STYLE


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
        + "\n".join(body)
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


def theorem_section(theorems: Sequence[Mapping[str, str]]) -> list[str]:
    """The theorems that a page names, each with what it says."""
    if not theorems:
        return []
    shown = [
        f"<p><b>{html.escape(each['id'])}</b>: {html.escape(each['title'])}<br>"
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
    told = {"status": str(document["status"])}
    if "seeds" in document["result"]:
        told["seeds"] = ", ".join(map(str, document["result"]["seeds"]))
    told |= {
        name: str(document["inputs"][name]["value"])
        for name in ("seed", "seeds")
        if name in document["inputs"] and name not in told
    }
    if document["command"] == "account":
        told["seed"] = "none: nothing random is in it"
    told |= about.versions or {"dp2theory": str(document["version"])}
    items = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in told.items()
    )
    return [*parts, f"<dl>{items}</dl>"]


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
