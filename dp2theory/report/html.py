"""One self-contained page per result: no scripts, no links to elsewhere, pictures inline."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dp2theory.files import write_text
from dp2theory.report import plots, tables

ADVICE_TITLES = {
    "dp2": "Use DP²",
    "marginal": "DP², but it is close",
    "dp-sgd": "Use DP-SGD",
    None: "No advice: no pilot was made",
}
_STYLE = """
:root{--ink:#1f2933;--muted:#5f6b76;--line:#dfe4e9;--page:#f6f7f9;--card:#fff}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
 font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 56px}
h1{font-size:1.7rem;margin:0 0 4px}h2{font-size:1.2rem;margin:40px 0 12px}
h1.scene{font-size:1.4rem;margin:48px 0 14px}
.sub{color:var(--muted);margin:0 0 20px}
.verdict{border-radius:10px;padding:16px 20px;margin:0 0 20px;border-left:6px solid}
.verdict strong{display:block;font-size:1.25rem}
.dp2,.kept{background:#e4f3ec;border-color:#009E73}.marginal{background:#fdf4dd;border-color:#E69F00}
.dp-sgd,.broken{background:#fbe9e4;border-color:#D55E00}.none{background:#e9edf1;border-color:#5f6b76}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:12px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 16px}
.card b{display:block;font-size:1.3rem;font-variant-numeric:tabular-nums}
.card span{color:var(--muted);font-size:.86rem}
figure{margin:0 0 18px;background:var(--card);border:1px solid var(--line);
 border-radius:10px;padding:14px}
figure svg{width:100%;height:auto;display:block}
figcaption{color:var(--muted);font-size:.9rem;margin-top:8px}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:10px}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:12px 16px 4px;font-weight:600}
th,td{padding:7px 16px;text-align:right;border-top:1px solid var(--line)}
thead th{border-top:0;color:var(--muted);font-weight:600}
th:first-child{text-align:left}tbody th{font-weight:500}
.inputs td{text-align:left}.inputs th{text-align:left}
.finding{background:var(--card);border:1px solid var(--line);border-radius:10px;
 padding:10px 16px;margin:10px 0}
.finding p{margin:4px 0}.finding code{overflow-wrap:anywhere}
ul{padding-left:1.2em}li{margin:4px 0}
footer{color:var(--muted);font-size:.86rem;margin-top:40px;border-top:1px solid var(--line);
 padding-top:12px}
code{font-size:.92em}
@media print{body{background:#fff}main{padding:0}}
"""


def page(title: str, body: Sequence[str], *, footer: str) -> str:
    """A whole HTML document around `body`, which must be escaped already."""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body><main>\n"
        + "\n".join(body)
        + f"\n<footer>{html.escape(footer)}</footer></main></body></html>\n"
    )


def plan_sections(document: Mapping[str, Any], *, salt: str = "plan") -> list[str]:
    """The parts of a plan's page.

    Parameters
    ----------
    document : mapping
        The object that ``dp2theory plan --json`` prints.
    salt : str
        Different for each plan on one page.

    Returns
    -------
    list of str
        HTML fragments.
    """
    plan, inputs = document["result"], document["inputs"]
    parts = [_verdict(plan), _plan_cards(plan, inputs)]
    if plan["snr"]["blocks"]:
        with plots.styled():
            drawn, (left, right) = plots.new_figure(2)
            plots.draw_snr(left, plan)
            plots.draw_pilot_loss(right, plan)
        caption = (
            "Left: S(m)/N(m), the energy that means of neighbouring blocks of m released "
            "gradients share, over the noise energy of one such mean; triangles mark estimates "
            "at or below zero. Right: mean train loss along the pilot, computed on the records "
            "without noise and therefore not covered by ε."
        )
        parts.append(figure(drawn, "signal to noise, and pilot loss", salt, caption))
    parts.append("<h2>Inputs</h2>")
    parts.append(inputs_table(inputs))
    if plan["snr"]["blocks"]:
        parts.append("<h2>Signal to noise by block length</h2>")
        parts.append(tables.html_table(tables.SNR_HEADER, tables.snr_rows(plan)))
    parts += _certified(plan)
    parts.append(_notes("How to read this", plan.get("notes", ())))
    return parts


def _certified(plan: Mapping[str, Any]) -> list[str]:
    answers = plan["certified"]["answers"]
    if not answers:
        return []
    said = "".join(
        f"<li>{html.escape(tables.CERTIFIED_KINDS[each['kind']])}: "
        f"{html.escape(each['verdict'])}</li>"
        for each in answers
    )
    return [
        "<h2>What is certified</h2>",
        f"<ul>{said}</ul>",
        tables.html_table(tables.certified_header(plan), tables.certified_rows(plan)),
    ]


def runs_sections(document: Mapping[str, Any], *, salt: str = "runs") -> list[str]:
    """The parts of a page of runs.

    Parameters
    ----------
    document : mapping
        The object that ``dp2theory train --json`` prints.
    salt : str
        Different for each figure on one page.
    """
    result, inputs = document["result"], document["inputs"]
    arms = [arm for arm in (result["method"], result["compare"]) if arm is not None]
    parts = [_run_cards(result, inputs)]
    if any(arm["mean_curve"]["losses"] for arm in arms):
        drawn = plots.runs_figure(arms)
        caption = (
            "Left: mean train loss; faint lines are single seeds. Right: final losses, grey "
            "lines join the same seed, bars are means. Losses are computed on the records "
            "without noise and are not covered by ε."
        )
        parts.append(figure(drawn, "loss curves and final losses", salt, caption))
    parts.append(tables.html_table(tables.RUN_HEADER, tables.run_rows(arms, plots.METHOD_NAMES)))
    rows = tables.setting_rows(arms, plots.METHOD_NAMES)
    parts.append("<h2>What was run</h2>")
    parts.append(tables.html_table(tables.SETTING_HEADER, rows))
    parts.append("<h2>Inputs</h2>")
    parts.append(inputs_table(inputs))
    parts.append(_notes("What the figures cover", result.get("notes", ())))
    return parts


def write_plan_report(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write the page of a plan; the file appears only when it is complete."""
    inputs = document["inputs"]
    name = inputs["problem"]["value"] if "problem" in inputs else "sizes only"
    heading = [
        f"<h1>Delay plan: {html.escape(str(name))}</h1>",
        "<p class='sub'>Noise multiplier, delay and advice for a privacy budget</p>",
    ]
    footer = f"dp2theory {document['version']}"
    write_text(path, page(f"Delay plan: {name}", heading + plan_sections(document), footer=footer))


def write_runs_report(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write the page of a training comparison; the file appears only when it is complete."""
    name = document["inputs"]["problem"]["value"]
    heading = [f"<h1>Runs on {html.escape(str(name))}</h1>"]
    footer = f"dp2theory {document['version']}"
    write_text(path, page(f"Runs on {name}", heading + runs_sections(document), footer=footer))


def write_scenes_report(
    path: str | Path, scenes: Sequence[Mapping[str, Any]], *, title: str
) -> None:
    """Write one page of several problems, each planned and then tested by runs.

    Parameters
    ----------
    path : str or Path
    scenes : sequence of mapping
        Each with ``plan`` and ``runs``, the objects that the command line prints as JSON.
    title : str
    """
    body = [f"<h1>{html.escape(title)}</h1>"]
    for place, scene in enumerate(scenes):
        name = html.escape(str(scene["plan"]["inputs"]["problem"]["value"]))
        body.append(f"<section><h1 class='scene'>{name}: the plan</h1>")
        body += plan_sections(scene["plan"], salt=f"plan{place}")
        body.append(f"<h1 class='scene'>{name}: the test</h1>")
        body += runs_sections(scene["runs"], salt=f"runs{place}")
        body.append("</section>")
    footer = f"dp2theory {scenes[0]['plan']['version']}"
    write_text(path, page(title, body, footer=footer))


def _verdict(plan: Mapping[str, Any]) -> str:
    advice = plan["advice"]
    delay = plan["delay"]["recommended"]
    title = ADVICE_TITLES[advice]
    if delay is not None and advice is not None:
        title += f", delay s = {delay}"
    reason = html.escape(plan["reason"])
    return (
        f"<div class='verdict {advice or 'none'}'><strong>{html.escape(title)}</strong>"
        f"{reason[:1].upper()}{reason[1:]}.</div>"
    )


def cards(entries: Sequence[tuple[str, str]]) -> str:
    """Boxes that each show a value over its label."""
    boxes = "".join(
        f"<div class='card'><b>{html.escape(value)}</b><span>{html.escape(label)}</span></div>"
        for value, label in entries
    )
    return f"<div class='cards'>{boxes}</div><p></p>"


def _plan_cards(plan: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]]) -> str:
    delay, epsilon, pilot = plan["delay"], plan["epsilon"], plan["pilot"]
    recommended = "none" if delay["recommended"] is None else str(delay["recommended"])
    return cards(
        [
            (tables.number(plan["noise_multiplier"], 6), "noise multiplier σ [clip norms]"),
            (
                f"ε ≤ {tables.number(epsilon['upper'], 6)}",
                f"at δ = {tables.number(inputs['delta']['value'], 3)}, {plan['steps']:,} steps "
                f"in all, for {_unit(inputs)}",
            ),
            (recommended, f"delay s [steps]; default T // 40 = {delay['default']}"),
            (
                tables.number(plan["snr"]["at_default_delay"], 3),
                "signal to noise at the default delay",
            ),
            (
                f"ε ≤ {tables.number(pilot['epsilon_spent']['upper'], 4)}",
                f"spent by the pilot's {pilot['steps']:,} steps (part of the whole when the run "
                "goes on from it)",
            ),
        ]
    )


def _unit(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    """The unit of privacy; documents of earlier versions do not say it."""
    return str(inputs["unit_of_privacy"]["value"]) if "unit_of_privacy" in inputs else "a record"


def _run_cards(result: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]]) -> str:
    epsilon = result["epsilon"]
    entries = [
        (tables.number(result["noise_multiplier"], 6), "noise multiplier σ [clip norms]"),
        (
            f"ε ≤ {tables.number(epsilon['upper'], 6)}",
            f"{result['releases']:,} releases in all, for {_unit(inputs)}",
        ),
    ]
    if "group" in result:
        group = result["group"]
        entries.append(
            (
                f"ε ≤ {tables.number(group['epsilon']['upper'], 6)}",
                f"of the same run, for {group['size']} records of one person",
            )
        )
    paired = result["paired"]
    if paired is not None:
        percent = 100 * (paired["ratio"]["value"] - 1)
        compared = result["compare"]["method"]
        entries.append(
            (
                f"{percent:+.1f} %",
                f"mean final train loss against {plots.METHOD_NAMES.get(compared, compared)}"
                f", {paired['pairs']} paired seeds",
            )
        )
        entries.append(
            (
                tables.interval(paired["ratio"]["interval"], 4),
                f"{paired['confidence']:.0%} interval of the ratio of means",
            )
        )
    return cards(entries)


def figure(drawn: Any, label: str, salt: str, caption: str) -> str:
    """A matplotlib figure inline, with its caption; ``salt`` differs for each on one page."""
    drawing = plots.to_svg(drawn, label=label, salt=salt)
    return f"<figure>{drawing}<figcaption>{html.escape(caption)}</figcaption></figure>"


def inputs_table(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    """The ``inputs`` of the JSON output as a table."""
    table = tables.html_table(("input", "value", "unit", "origin"), tables.input_rows(inputs))
    return f"<div class='inputs'>{table}</div>"


def _notes(title: str, notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f"<h2>{html.escape(title)}</h2><ul>{items}</ul>"
