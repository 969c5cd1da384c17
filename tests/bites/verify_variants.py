"""Wrong variants of the theorems, and which of them the tests of `verify` notice by themselves.

A constant of a statement is halved (or doubled), a term of a sum dropped, a sign of one turned.
Proofs are left aside: every variant is put to the runs, draws, models and points of a quick call,
without its searches. What passes is handed to the catalogue's hunt for counterexamples: what that
refutes was missed, of the rest nobody knows whether it is false.

``python -m tests.bites.verify_variants`` prints the figures that the documentation quotes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from bounds import theorems
from bounds.counterexample import search
from bounds.mutants_constants import constants
from bounds.theorem import Theorem
from dp2theory.verification.bounds_case import Case
from dp2theory.verification.bounds_families import FAMILIES, examined, jobs
from dp2theory.verification.bounds_models import try_models

KINDS = ("constant", "term", "sign")
#: Models that a quick call looks at.
MODELS = 8


@dataclass(frozen=True)
class Variant:
    """A wrong theorem; `others` are taken together with it (the constant doubled)."""

    id: str
    kind: str
    shown: str
    others: tuple[Theorem, ...]


@dataclass(frozen=True)
class Fate:
    """What became of a variant: caught by ``"runs"``, by ``"models"``, ``"missed"``, ``"unknown"``.

    Points count as models.
    """

    variant: Variant
    by: str


def variants(theorem: Theorem) -> Iterator[Variant]:
    """All variants of a theorem."""

    def made(*statements: Any) -> tuple[Theorem, ...]:
        plain = (sympy.true, sympy.false, theorem.statement)
        return tuple(replace(theorem, statement=each) for each in statements if each not in plain)

    for each in constants(theorem.statement):
        yield Variant(theorem.id, "constant", each.shown, made(each.halved, each.doubled))
    for kind, factor in (("term", 0), ("sign", -1)):
        for shown, statement in _terms(theorem.statement, factor):
            yield Variant(theorem.id, kind, shown, made(statement))


def _terms(here: Any, factor: int) -> Iterator[tuple[str, Any]]:
    """Every term of every sum times a factor; exponents, indices and limits are left alone."""
    if not here.args or isinstance(here, (sympy.Tuple, AppliedUndef)):
        return
    for place, part in enumerate(here.args):
        if here.is_Add:
            changed = here.func(*here.args[:place], factor * part, *here.args[place + 1 :])
            yield str(part)[:60], changed
        if here.is_Pow and place == 1:
            continue
        for shown, other in _terms(part, factor):
            yield shown, _put(here, place, other)


def _put(here: Any, place: int, part: Any) -> Any:
    args = (*here.args[:place], part, *here.args[place + 1 :])
    if isinstance(here, sympy.Rel):
        return here.func(*args, evaluate=False)
    return here.func(*args)


def drawn(count: int, seed: int = 0) -> list[Variant]:
    """Variants of different theorems, one each, kinds in turn where there are such."""
    rng = np.random.default_rng(seed)
    known = theorems()
    ids = [str(id) for id in rng.permutation(sorted(known))]
    found: list[Variant] = []
    for id in ids:
        made = [each for each in variants(known[id]) if each.others]
        kind = KINDS[len(found) % len(KINDS)]
        these = [each for each in made if each.kind == kind] or made
        if these:
            found.append(these[int(rng.integers(len(these)))])
        if len(found) == count:
            break
    return found


def cases(ids: set[str]) -> dict[str, list[Case]]:
    """The runs of a quick call, for those theorems."""
    found: dict[str, list[Case]] = {}
    for job in jobs("quick", 0):
        if ids & set(job.ids):
            for case in FAMILIES[job.family][0](job.setting):
                for id in ids & set(case.ids):
                    found.setdefault(id, []).append(case)
    return found


def fate(variant: Variant, runs: Mapping[str, list[Case]]) -> Fate:
    """What becomes of a variant; one of `others` that is caught is enough."""
    for other in variant.others:
        if any(_fails(other, case) for case in runs.get(variant.id, ())):
            return Fate(variant, "runs")
    for other in variant.others:
        if any(test.violation for test in try_models(other, seed=0, tries=MODELS)):
            return Fate(variant, "models")
    for other in variant.others:
        if search(other, tries=100) is not None:
            return Fate(variant, "missed")
    return Fate(variant, "unknown")


def _fails(theorem: Theorem, case: Case) -> bool:
    try:
        return bool(examined(theorem, case).violation)
    except (ValueError, ZeroDivisionError, TypeError):
        return False  # the variant cannot be evaluated


def fates(count: int, seed: int = 0) -> list[Fate]:
    """`fate` of as many variants."""
    chosen = drawn(count, seed)
    runs = cases({each.id for each in chosen})
    return [fate(each, runs) for each in chosen]


def main() -> None:
    """Print the fates and the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    found = fates(count)
    for each in found:
        print(f"{each.by:8} {each.variant.id:32} {each.variant.kind:9} {each.variant.shown}")
    names = ("runs", "models", "missed", "unknown")
    print({by: sum(each.by == by for each in found) for by in names})


if __name__ == "__main__":
    main()
