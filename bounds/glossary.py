"""The glossary: letter, LaTeX, parameter name, unit, domain and meaning of every symbol.

`bounds.symbols` and the `symbols` modules of the two papers register their symbols here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from bounds.operators import Index, deterministic, random_process


@dataclass(frozen=True)
class Entry:
    """One symbol of the glossary.

    Attributes
    ----------
    symbol : sympy.Basic
        The SymPy symbol, or the function for a process.
    latex : str
    parameter : str
        The name that functions and the command line use (`noise_multiplier`).
    unit : str
        ``"1"`` for a pure number.
    domain : str
        What is allowed, in words of `domain_error`: ``"> 0"``, ``"integer >= 1"``.
    meaning : str
    kind : str
        ``"parameter"``, ``"index"``, ``"process"`` (random) or ``"sequence"`` (deterministic).
    """

    symbol: Any
    latex: str
    parameter: str
    unit: str
    domain: str
    meaning: str
    kind: str

    @property
    def letter(self) -> str:
        """The name of the symbol in formulas as text."""
        return str(self.symbol.__name__ if self.kind in ("process", "sequence") else self.symbol)


_ENTRIES: dict[str, Entry] = {}

#: domain in words -> SymPy assumptions
DOMAINS: dict[str, dict[str, bool]] = {
    "> 0": {"positive": True},
    ">= 0": {"nonnegative": True},
    "real": {"real": True},
    "integer >= 1": {"integer": True, "positive": True},
    "integer >= 0": {"integer": True, "nonnegative": True},
    ">= 1": {"positive": True},
    "> 1": {"positive": True},
    "in (0, 1)": {"positive": True},
    "in (0, 1]": {"positive": True},
    "in [0, 1)": {"nonnegative": True},
    "in [0, 1]": {"nonnegative": True},
}


def _register(entry: Entry) -> None:
    before = _ENTRIES.get(entry.letter)
    if before is not None and before != entry:
        raise ValueError(f"letter = {entry.letter!r} stands for {before.parameter!r} already")
    for other in _ENTRIES.values():
        if other.parameter == entry.parameter and other.letter != entry.letter:
            raise ValueError(
                f"parameter = {entry.parameter!r} is the name of {other.letter!r} already"
            )
    _ENTRIES[entry.letter] = entry


def parameter(
    letter: str, latex: str, name: str, domain: str, meaning: str, unit: str = "1"
) -> sympy.Symbol:
    """Register a fixed number of a theorem and give its symbol.

    `domain` is a key of `DOMAINS`. Its SymPy assumptions are known to every proof step; a bound
    that SymPy has no assumption for (``"in (0, 1)"``) must stand among a theorem's assumptions
    where a proof needs it, and is checked when a theorem is evaluated.
    """
    if domain not in DOMAINS:
        raise ValueError(f"domain = {domain!r} is not allowed: one of {', '.join(DOMAINS)}")
    symbol = sympy.Symbol(letter, **{"real": True, **DOMAINS[domain]})
    _register(Entry(symbol, latex, name, unit, domain, meaning, "parameter"))
    return symbol


def index(letter: str, meaning: str, name: str) -> Index:
    """Register an index: a positive integer that sentences are general in."""
    symbol = Index(letter)
    _register(Entry(symbol, letter, name, "1", "integer >= 1", meaning, "index"))
    return symbol


def process(
    letter: str, latex: str, name: str, meaning: str, unit: str = "1", **assumptions: bool
) -> Any:
    """Register a random process: a function of indices."""
    made = random_process(letter, **assumptions)
    _register(Entry(made, latex, name, unit, _words(assumptions), meaning, "process"))
    return made


def sequence(
    letter: str, latex: str, name: str, meaning: str, unit: str = "1", **assumptions: bool
) -> Any:
    """Register a deterministic function of indices."""
    made = deterministic(letter, **assumptions)
    _register(Entry(made, latex, name, unit, _words(assumptions), meaning, "sequence"))
    return made


def _words(assumptions: dict[str, bool]) -> str:
    for words, known in DOMAINS.items():
        if known == assumptions:
            return words
    return ", ".join(assumptions) or "real"


def entries() -> dict[str, Entry]:
    """All entries by letter, in the order in which their modules define them.

    What was imported first does not matter: the shared symbols come first, then DP², then ReSQue.
    """
    from bounds import symbols
    from bounds.dp2 import symbols as dp2
    from bounds.resque import symbols as resque

    defined = [value for module in (symbols, dp2, resque) for value in vars(module).values()]
    ordered = [found.letter for each in defined if (found := entry_of(each)) is not None]
    return {letter: _ENTRIES[letter] for letter in dict.fromkeys([*ordered, *_ENTRIES])}


def entry_of(symbol: Any) -> Entry | None:
    """The entry of a symbol or process; None for a local variable of a lemma."""
    name = getattr(symbol, "__name__", None) or str(symbol)
    found = _ENTRIES.get(name)
    return found if found is not None and found.symbol == symbol else None


def latex_names(expression: sympy.Basic) -> dict[sympy.Symbol, str]:
    """Letters for `sympy.latex`: those of the symbols in an expression."""
    found = {}
    for symbol in expression.atoms(sympy.Symbol):
        entry = entry_of(symbol)
        if entry is not None:
            found[symbol] = entry.latex
    return found
