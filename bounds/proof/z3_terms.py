"""SymPy sentences as z3 formulas.

What z3 has no theory for (expectations, sums, processes, exponentials, powers with a symbol in
the exponent) becomes an unknown real number with the sign that SymPy knows. A formula that holds
for all values of these unknowns holds for the ones they stand for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from bounds.operators import E
from bounds.proof.wellformed import is_real

_SIGNS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("is_positive", lambda x: x > 0),
    ("is_negative", lambda x: x < 0),
    ("is_nonnegative", lambda x: x >= 0),
    ("is_nonpositive", lambda x: x <= 0),
    ("is_nonzero", lambda x: x != 0),
)

#: Marks of terms that the translation itself makes.
_ROOT, _INVERSE, _ELSEWHERE = (sympy.Function(name) for name in ("root", "inverse", "elsewhere"))


class Translator:
    """Translates sentences and collects the facts that their unknowns satisfy.

    Parameters
    ----------
    z3 : module
    integers : bool
        Whether integer symbols and floors are integers for z3 too; otherwise they are reals with
        what follows from being one (>= 1 for a positive one), which z3 decides more often.
    linear : bool
        Whether products and powers are unknowns as well: what then follows is decided at once.
    """

    #: Names of `_ROOT`, `_INVERSE` and `_ELSEWHERE`.
    reserved = ("root", "inverse", "elsewhere")

    def __init__(self, z3: Any, *, integers: bool = False, linear: bool = False) -> None:
        self.z3 = z3
        self.linear = linear
        self.integers = integers
        self.facts: list[Any] = []
        self.names: dict[sympy.Basic, Any] = {}
        self._cache: dict[sympy.Basic, Any] = {}

    # --- sentences

    def sentence(self, formula: Any) -> Any:
        """A Boolean of SymPy as one of z3."""
        z3 = self.z3
        if formula in (True, sympy.true):
            return z3.BoolVal(True)
        if formula in (False, sympy.false):
            return z3.BoolVal(False)
        if isinstance(formula, Relational):
            left, right = (self.number(side) for side in formula.args)
            if all(side.is_integer for side in formula.args):
                # What reals do not know: integers that differ, differ by 1 at least.
                self.facts.append(z3.Or(left <= right, left >= right + 1))
                self.facts.append(z3.Or(left >= right, left <= right - 1))
            return {
                sympy.Eq: lambda: left == right,
                sympy.Ne: lambda: left != right,
                sympy.Le: lambda: left <= right,
                sympy.Lt: lambda: left < right,
                sympy.Ge: lambda: left >= right,
                sympy.Gt: lambda: left > right,
            }[formula.func]()
        connectives = {
            sympy.And: z3.And,
            sympy.Or: z3.Or,
            sympy.Not: z3.Not,
            sympy.Implies: z3.Implies,
            sympy.Xor: z3.Xor,
        }
        if formula.func in connectives:
            return connectives[formula.func](*[self.sentence(each) for each in formula.args])
        if isinstance(formula, sympy.Equivalent):
            first, *others = [self.sentence(each) for each in formula.args]
            return z3.And(*[first == other for other in others])
        if isinstance(formula, sympy.ITE):
            return z3.If(*[self.sentence(each) for each in formula.args])
        # A statement on laws, or a Boolean symbol: true or false, and nothing else is known.
        if formula not in self.names:
            self.names[formula] = z3.Bool(f"fact_{len(self.names)}")
        return self.names[formula]

    # --- numbers

    def number(self, expression: Any) -> Any:
        """A real expression of SymPy as a term of z3."""
        found = self._cache.get(expression)
        if found is None:
            found = self._cache[expression] = self._number(expression)
        return found

    def _number(self, e: Any) -> Any:
        z3 = self.z3
        if e.is_Rational:
            return z3.RealVal(f"{e.p}/{e.q}")
        if e.is_Add:
            return z3.Sum([self.number(each) for each in e.args])
        if self.linear and (e.is_Mul or e.is_Pow):
            factor, rest = e.as_coeff_Mul()
            number = self._unknown(rest) if rest.is_Mul or rest.is_Pow else self.number(rest)
            return number if factor == 1 else self.number(factor) * number
        if e.is_Mul:
            numerator = [x for x in e.args if not _is_inverse(x)]
            inverses = [self.number(x) for x in e.args if _is_inverse(x)]
            return z3.Product([self.number(x) for x in numerator] + inverses)
        if e.is_Pow:
            return self._power(e)
        if isinstance(e, sympy.Abs):
            x = self.number(e.args[0])
            return z3.If(x >= 0, x, -x)
        if isinstance(e, sympy.Max | sympy.Min):
            first, *others = [self.number(each) for each in e.args]
            for other in others:
                keep = first >= other if isinstance(e, sympy.Max) else first <= other
                first = z3.If(keep, first, other)
            return first
        if isinstance(e, sympy.sign):
            x = self.number(e.args[0])
            return z3.If(x > 0, z3.RealVal(1), z3.If(x < 0, z3.RealVal(-1), z3.RealVal(0)))
        if isinstance(e, sympy.floor | sympy.ceiling):
            return self._rounded(e)
        if isinstance(e, sympy.Piecewise):
            return self._piecewise(e)
        return self._unknown(e)

    def _power(self, e: Any) -> Any:
        base, exponent = e.as_base_exp()
        if exponent.is_Integer and abs(exponent) <= 24:
            value = self._inverse(base) if exponent < 0 else self.number(base)
            return self.z3.Product([value] * int(abs(exponent)))
        if exponent.is_Rational and exponent.q == 2 and abs(exponent.p) <= 24:
            root = self._root(base)
            if exponent < 0:
                root = self._inverse(sympy.sqrt(base))
            return self.z3.Product([root] * int(abs(exponent.p)))
        return self._unknown(e)

    def _root(self, base: Any) -> Any:
        key = _ROOT(base)
        if key not in self.names:
            root = self._new(key, "sqrt")
            x = self.number(base)
            square = root * root == x
            self.facts.append(root >= 0)
            self.facts.append(square if base.is_nonnegative else self.z3.Implies(x >= 0, square))
            if base.is_positive:
                self.facts.append(root > 0)
        return self.names[key]

    def _inverse(self, base: Any) -> Any:
        key = _INVERSE(base)
        if key not in self.names:
            inverse = self._new(key, "inv")
            x = self._root(base.args[0]) if _is_root(base) else self.number(base)
            product = x * inverse == 1
            if base.is_positive:
                self.facts.extend([product, inverse > 0, x > 0])
            elif base.is_nonzero:
                self.facts.append(product)
            else:
                self.facts.append(self.z3.Implies(x != 0, product))
                self.facts.append(self.z3.Implies(x > 0, inverse > 0))
        return self.names[key]

    def _rounded(self, e: Any) -> Any:
        z3 = self.z3
        if e not in self.names:
            if self.integers:
                whole = z3.Int(f"floor_{len(self.names)}")
                value = z3.ToReal(whole)
            else:
                value = z3.Real(f"floor_{len(self.names)}")
            self.names[e] = value
            x = self.number(e.args[0])
            if isinstance(e, sympy.floor):
                self.facts.extend([value <= x, x < value + 1])
            else:
                self.facts.extend([value >= x, x > value - 1])
            self._signs(e, value)
        return self.names[e]

    def _piecewise(self, e: Any) -> Any:
        z3 = self.z3
        value = self._new(_ELSEWHERE(e), "elsewhere")
        for branch, condition in reversed(e.args):
            value = z3.If(self.sentence(condition), self.number(branch), value)
        return value

    def _unknown(self, e: Any) -> Any:
        if e not in self.names:
            if not is_real(e, total=True):
                raise ValueError(f"{e} is not known to be real")
            whole = self.integers and isinstance(e, sympy.Symbol) and e.is_integer
            if whole:
                value = self.z3.ToReal(self.z3.Int(f"{e}_{len(self.names)}"))
            else:
                named = isinstance(e, sympy.Symbol | AppliedUndef | E)
                label = str(e) if named else e.func.__name__
                value = self.z3.Real(f"{label}_{len(self.names)}")
            self.names[e] = value
            self._signs(e, value)
        return self.names[e]

    def _new(self, key: Any, label: str) -> Any:
        self.names[key] = self.z3.Real(f"{label}_{len(self.names)}")
        return self.names[key]

    def _signs(self, e: Any, value: Any) -> None:
        for attribute, fact in _SIGNS:
            if getattr(e, attribute):
                self.facts.append(fact(value))
        if isinstance(e, sympy.Sum) and e.function.is_nonnegative:
            self.facts.append(value >= 0)  # without terms it is 0
        if e.is_integer:
            if e.is_positive:
                self.facts.append(value >= 1)
            elif e.is_negative:
                self.facts.append(value <= -1)
        # Numbers such as pi or exp(1/8): SymPy's own digits, outwards.
        if e.is_number and e.is_real and not e.has(AppliedUndef, E):
            digits = sympy.Rational(str(sympy.N(e, 30)))
            error = (1 + sympy.Abs(digits)) * sympy.Rational(1, 10**25)
            low, high = digits - error, digits + error
            self.facts.append(value >= self.z3.RealVal(f"{low.p}/{low.q}"))
            self.facts.append(value <= self.z3.RealVal(f"{high.p}/{high.q}"))


def _is_inverse(e: Any) -> bool:
    return bool(e.is_Pow and e.exp.is_Rational and e.exp < 0)


def _is_root(e: Any) -> bool:
    return bool(e.is_Pow and e.exp == sympy.Rational(1, 2))
