"""Pages of plans, and of problems that were planned and then run."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dp2theory.files import write_text
from dp2theory.report import html_plots, plots, tables
from dp2theory.report.html_numbers import Entry, datum, inputs_table, numbers_table
from dp2theory.report.html_page import (
    About,
    capital,
    cards,
    figure,
    notes,
    page,
    pictures,
    unit_of,
    verdict,
    with_theorems,
    write_page,
)
from dp2theory.report.html_runs import runs_sections
from dp2theory.report.tables import Markup

#: The first words of the page of a plan, by advice.
ADVICE_TITLES = {
    "dp2": "Use DP²",
    "marginal": "DP², but it is close",
    "dp-sgd": "Use DP-SGD",
    None: "No advice: no pilot was made",
}


def plan_sections(document: Mapping[str, Any]) -> list[str]:
    """The parts of a plan's page, its inputs apart.

    Parameters
    ----------
    document : mapping
        The object that ``dp2theory plan --json`` prints.

    Returns
    -------
    list of str
        HTML fragments.
    """
    plan, inputs = document["result"], document["inputs"]
    parts = [_advice(plan), _plan_cards(document)]
    if plan["snr"]["blocks"]:
        with plots.styled():
            left, (snr,) = plots.new_figure(size=html_plots.SIZE)
            plots.draw_snr(snr, plan)
            right, (losses,) = plots.new_figure(size=html_plots.SIZE)
            plots.draw_pilot_loss(losses, plan)
        said = plan["snr"]["at_default_delay"]
        parts.append(
            pictures(
                figure(
                    left,
                    "signal to noise of averages of released gradients against block length; at "
                    f"the default delay {tables.number(said, 3)}",
                    "S(m)/N(m), the energy that means of neighbouring blocks of m released "
                    "gradients share, over the noise energy of one such mean; triangles mark "
                    "estimates at or below zero.",
                ),
                figure(
                    right,
                    f"train loss along the {plan['pilot']['steps']} steps of the pilot",
                    "Mean train loss along the pilot, computed on the records without noise and "
                    "therefore not covered by ε.",
                ),
            )
        )
    parts += ["<h2>Numbers</h2>", numbers_table(document, plan_entries(plan, inputs))]
    if plan["snr"]["blocks"]:
        parts.append("<h2>Signal to noise by block length (estimates)</h2>")
        parts.append(tables.html_table(tables.SNR_HEADER, tables.snr_rows(plan)))
    parts += _certified(plan)
    parts += notes("How to read this", plan.get("notes", ()))
    return parts


def plan_entries(plan: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    """The numbers of a plan with their kinds."""
    whole = f"nats, {plan['steps']:,} steps, {unit_of(inputs)}"
    pilot = f"nats, {plan['pilot']['steps']:,} steps"
    delay = "rule on the pilot's estimates" if plan["pilot"]["steps"] else "the default"
    entries = [
        Entry("noise multiplier σ", "result.noise_multiplier", "clip norms", "chosen",
              "the least found whose proved ε keeps the budget"),
        Entry("ε of the whole run", "result.epsilon.upper", whole, "upper", "exact accountant"),
        Entry("ε of the whole run", "result.epsilon.lower", whole, "lower", "exact accountant"),
        Entry("steps of the whole run", "result.steps", "steps", "counted"),
        Entry("delay s, advised", "result.delay.recommended", "steps", "chosen", delay),
        Entry("delay s, default", "result.delay.default", "steps", "chosen", "T // 40"),
        Entry("signal to noise at the default delay", "result.snr.at_default_delay", "1",
              "estimate", "released gradients of the pilot"),
        Entry("ε that the pilot spent", "result.pilot.epsilon_spent.upper", pilot, "upper",
              "exact accountant; part of the whole when the run goes on from it"),
        Entry("ε that the pilot spent", "result.pilot.epsilon_spent.lower", pilot, "lower",
              "exact accountant"),
        Entry("steps of the pilot", "result.pilot.steps", "steps", "counted"),
    ]  # fmt: skip
    if "group" in plan:
        group = f"nats, {plan['group']['size']} records of one person"
        entries += [
            Entry("ε for a group", "result.group.epsilon.upper", group, "upper"),
            Entry("ε for a group", "result.group.epsilon.lower", group, "lower"),
        ]
    return entries


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
        "<p>A priori values are proved upper ends, under the assumptions of their theorems; "
        "those from the pilot are estimates.</p>",
        tables.html_table(
            tables.certified_header(plan),
            [[*row[:-1], with_theorems(row[-1])] for row in tables.certified_rows(plan)],
        ),
    ]


def write_plan_report(
    path: str | Path, document: Mapping[str, Any], about: About | None = None
) -> None:
    """Write the page of a plan; the file appears only when it is complete."""
    inputs = document["inputs"]
    name = inputs["problem"]["value"] if "problem" in inputs else "sizes only"
    write_page(
        path,
        document,
        title=f"Delay plan: {name}",
        subtitle="Noise multiplier, delay and advice for a privacy budget",
        sections=plan_sections(document),
        about=about,
    )


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
    for scene in scenes:
        name = html.escape(str(scene["plan"]["inputs"]["problem"]["value"]))
        for word, sections, document in (
            ("plan", plan_sections, scene["plan"]),
            ("test", runs_sections, scene["runs"]),
        ):
            body.append(f"<section><h1 class='scene'>{name}: the {word}</h1>")
            body += sections(document)
            body += ["<h2>Inputs</h2>", inputs_table(document["inputs"]), "</section>"]
    footer = f"dp2theory {scenes[0]['plan']['version']}"
    write_text(path, page(title, body, footer=footer))


def _advice(plan: Mapping[str, Any]) -> str:
    advice = plan["advice"]
    delay = plan["delay"]["recommended"]
    title = ADVICE_TITLES[advice]
    if delay is not None and advice is not None:
        title += f", delay s = {delay}"
    return verdict(title, capital(plan["reason"]), advice or "none")


def _plan_cards(document: Mapping[str, Any]) -> str:
    plan, inputs = document["result"], document["inputs"]
    delay, pilot = plan["delay"], plan["pilot"]

    def shown(field: str, kind: str, digits: int = 6) -> Markup:
        return datum(document, f"result.{field}", kind, digits=digits)

    recommended = "none" if delay["recommended"] is None else str(delay["recommended"])
    return cards(
        [
            (shown("noise_multiplier", "chosen"), "noise multiplier σ [clip norms]"),
            (
                Markup(f"ε ≤ {shown('epsilon.upper', 'upper')}"),
                f"proved upper end at δ = {tables.number(inputs['delta']['value'], 3)}, "
                f"{plan['steps']:,} steps in all, for {unit_of(inputs)}",
            ),
            (recommended, f"delay s [steps]; default T // 40 = {delay['default']}"),
            (
                shown("snr.at_default_delay", "estimate", 3),
                "signal to noise at the default delay (estimate)",
            ),
            (
                Markup(f"ε ≤ {shown('pilot.epsilon_spent.upper', 'upper', 4)}"),
                f"proved upper end, spent by the pilot's {pilot['steps']:,} steps (part of the "
                "whole when the run goes on from it)",
            ),
        ]
    )
