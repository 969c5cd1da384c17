"""Ledgers on pages: what was released, as a tree for people and as JSON for programs."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

#: Class of an event -> how it is said, with its fields in braces.
WORDS = {
    "SelfComposedDpEvent": "{count} times",
    "ComposedDpEvent": "one after the other",
    "PoissonSampledDpEvent": "each record drawn with probability {sampling_probability}",
    "SampledWithoutReplacementDpEvent": "{sample_size} of {source_dataset_size} records drawn, "
    "without replacement",
    "SampledWithReplacementDpEvent": "{sample_size} draws from {source_dataset_size} records, with "
    "replacement",
    "GaussianDpEvent": "a sum with Gaussian noise, noise multiplier {noise_multiplier}",
    "NoOpDpEvent": "nothing is released",
}


def tree(event: Mapping[str, Any]) -> str:
    """An event tree, as `accountants.ledger.event_to_json` writes it, as nested lists."""
    return f"<ul class='tree'>{_node(event)}</ul>"


def _node(event: Mapping[str, Any]) -> str:
    name = str(event.get("class_name", "?"))
    children: list[Mapping[str, Any]] = []
    fields: dict[str, Any] = {}
    for key, value in event.items():
        if key in ("module_name", "class_name"):
            continue
        if isinstance(value, Mapping):
            children.append(value)
        elif isinstance(value, Sequence) and value and isinstance(value[0], Mapping):
            children += value
        else:
            fields[key] = value
    if name in WORDS and all("{" + key + "}" in WORDS[name] for key in fields):
        said = WORDS[name].format(**fields)
    else:
        named = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in fields.items())
        said = f"{name}: {named}" if named else name
    inner = "".join(_node(child) for child in children)
    below = f"<ul>{inner}</ul>" if inner else ""
    return f"<li><b>{html.escape(said)}</b>{below}</li>"


def ledger_section(ledgers: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """The section of a page; nothing where no ledger was handed in.

    Parameters
    ----------
    ledgers : sequence of (str, mapping)
        What each is about, and its event tree as JSON.
    """
    if not ledgers:
        return []
    parts = [
        "<h2>Ledger</h2>",
        "<p>What the figures are about: every release, in order. Saved to a file, the JSON goes "
        "into <code>dp2theory account --event FILE</code>.</p>",
    ]
    for label, event in ledgers:
        if label:
            parts.append(f"<h3>{html.escape(label)}</h3>")
        parts.append(tree(event))
        text = html.escape(json.dumps(event, indent=1, ensure_ascii=False))
        parts.append(
            f"<details><summary>as JSON</summary><pre class='ledger'>{text}</pre></details>"
        )
    return parts
