"""Formulas as MathML: browsers draw it themselves, so that no script and no network is needed.

docutils converts; what it does not know is put in other words first.
"""

from __future__ import annotations

import re
from typing import Any

SUBSTACK = re.compile(r"\\substack\{((?:[^{}]|\{[^{}]*\})*)\}")


def in_other_words(latex: str) -> str:
    """A formula without what docutils' converter does not know.

    Parameters
    ----------
    latex : str
        As it stands in a page; a Git host's inline formulas carry backticks.
    """
    plain = latex.strip().removeprefix("`").removesuffix("`")
    plain = SUBSTACK.sub(r"\\begin{matrix}\1\\end{matrix}", plain)
    plain = re.sub(r"\\dots(?![a-zA-Z])", r"\\ldots", plain)
    return re.sub(r"\\middle\s*", "", plain)


def to_mathml(latex: str, *, block: bool) -> str:
    """MathML of a formula; raises docutils' MathError for one that it cannot read."""
    from docutils.utils.math.latex2mathml import tex2mathml

    return str(tex2mathml(in_other_words(latex), as_block=block))


def _write(translator: Any, node: Any, *, block: bool) -> None:
    from docutils.nodes import SkipNode
    from docutils.utils.math import MathError
    from sphinx.util import logging

    try:
        formula = to_mathml(node.astext(), block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula: %s", error, location=node)
        formula = translator.encode(node.astext())
    before, after = ('<div class="math">', "</div>\n") if block else ("", "")
    translator.body.append(f"{before}{formula}{after}")
    raise SkipNode


def inline(translator: Any, node: Any) -> None:
    """Write a formula in a line."""
    _write(translator, node, block=False)


def display(translator: Any, node: Any) -> None:
    """Write a formula on lines of its own."""
    _write(translator, node, block=True)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
