"""The words a statement is written in, beside SymPy's own: indices, processes, expectation.

Every sentence (assumption or conclusion) is closed: it holds for all values of its indices and
variables. Parameters are fixed numbers. A process is a function of indices; it is random unless
it was declared deterministic, so that forgetting a declaration can only make a proof fail.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy.core.function import AppliedUndef, UndefinedFunction
from sympy.logic.boolalg import BooleanFunction

__all__ = [
    "SIGNS",
    "Conditional",
    "E",
    "Independent",
    "Index",
    "Max",
    "Min",
    "RandomVariable",
    "StandardNormal",
    "Variable",
    "deterministic",
    "is_random",
    "random_atoms",
    "random_process",
]

_DETERMINISTIC: set[str] = set()
_RANDOM: set[str] = set()


#: What SymPy may know of a variable or a process; a replacement is checked for just these.
SIGNS = ("positive", "nonnegative", "negative", "nonpositive", "nonzero", "integer", "real")


def _checked(assumptions: dict[str, bool]) -> dict[str, bool]:
    for name, value in assumptions.items():
        if name not in SIGNS or value is not True:
            raise ValueError(
                f"{name} = {value} is not allowed: an assumption is one of "
                f"{', '.join(SIGNS)}, set to True"
            )
    return {"real": True, **assumptions}


class Index(sympy.Symbol):
    """A positive integer that a sentence is general in: a step t, a coordinate j, a phase k.

    A proof may put another positive integer expression in its place.
    """

    __slots__ = ()

    def __new__(cls, name: str) -> Index:
        made: Index = sympy.Symbol.__new__(cls, name, integer=True, positive=True)
        return made


class Variable(sympy.Symbol):
    """A number that a sentence is general in.

    A proof may put any expression in its place that has the same SymPy assumptions
    (`Variable("x", positive=True)` wants positive ones). Real unless said otherwise.
    """

    __slots__ = ()

    def __new__(cls, name: str, **assumptions: bool) -> Variable:
        made: Variable = sympy.Symbol.__new__(cls, name, **_checked(assumptions))
        return made


class RandomVariable(sympy.Symbol):
    """A random number without an index."""

    __slots__ = ()

    def __new__(cls, name: str, **assumptions: bool) -> RandomVariable:
        made: RandomVariable = sympy.Symbol.__new__(cls, name, **_checked(assumptions))
        return made


def random_process(name: str, **assumptions: bool) -> UndefinedFunction:
    """A real function of indices whose values are random: ``g(t, j)``.

    Raises
    ------
    ValueError
        When the name is a deterministic function already.
    """
    if name in _DETERMINISTIC:
        raise ValueError(f"name = {name!r} is a deterministic function already: take another one")
    _RANDOM.add(name)
    return sympy.Function(name, **_checked(assumptions))


def deterministic(name: str, **assumptions: bool) -> UndefinedFunction:
    """A real function of indices that is fixed before the run: a step size ``a(t)``.

    Raises
    ------
    ValueError
        When the name is a random process already.
    """
    if name in _RANDOM:
        raise ValueError(f"name = {name!r} is a random process already: take another one")
    _DETERMINISTIC.add(name)
    return sympy.Function(name, **_checked(assumptions))


def random_atoms(expression: sympy.Basic) -> set[sympy.Basic]:
    """Random variables and values of random processes in an expression, outside expectations."""
    found: set[sympy.Basic] = set()
    stack = [expression]
    while stack:
        here = stack.pop()
        if isinstance(here, E):
            continue
        if isinstance(here, RandomVariable) or (
            isinstance(here, AppliedUndef) and here.func.__name__ not in _DETERMINISTIC
        ):
            found.add(here)
            # An index of a random process is deterministic; a random argument counts for itself.
        stack.extend(here.args)
    return found


def is_random(expression: sympy.Basic) -> bool:
    """Whether the value of an expression may differ from run to run."""
    return bool(random_atoms(expression))


class E(sympy.Function):
    """Expectation over the randomness of a run. ``E(c) = c`` for deterministic c."""

    nargs = 1

    @classmethod
    def eval(cls, argument: Any) -> Any:
        """A deterministic argument is its own expectation."""
        return None if is_random(argument) else argument

    def _eval_is_extended_real(self) -> bool | None:
        return True if self.args[0].is_extended_real else None

    def _eval_is_real(self) -> bool | None:
        return True if self.args[0].is_real else None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[0].is_nonnegative else None

    def _eval_is_positive(self) -> bool | None:
        return True if self.args[0].is_positive else None

    def _latex(self, printer: Any, exp: Any = None) -> str:
        inner = rf"\mathbb{{E}}\left[{printer.doprint(self.args[0])}\right]"
        return inner if exp is None else f"{inner}^{{{exp}}}"


class _Plain:
    """Max and Min as they are written.

    SymPy compares every pair of arguments by their signs each time such a term is made, which is
    a third of the time of a replay. Here numbers are compared, and terms of known sign with 0.
    """

    @classmethod
    def _collapse_arguments(cls, args: Any, **options: Any) -> Any:
        return args

    @classmethod
    def _find_localzeros(cls, values: Any, **options: Any) -> Any:
        numbers = [each for each in values if each.is_Rational]
        others = {each for each in values if not each.is_Rational}
        if not numbers:
            return others
        largest = issubclass(cls, sympy.Max)
        number = max(numbers) if largest else min(numbers)
        if number == 0:
            above = {each for each in others if each.is_nonnegative}
            below = {each for each in others if each not in above and each.is_nonpositive}
            settled, idle = (above, below) if largest else (below, above)
            return (others - idle) or {number} if settled else (others - idle) | {number}
        return others | {number}


class Max(_Plain, sympy.Max):
    """The largest of its arguments; equal to SymPy's, made faster."""


class Min(_Plain, sympy.Min):
    """The smallest of its arguments; equal to SymPy's, made faster."""


class _Fact(BooleanFunction):
    """A statement on laws, which only a rule of expectation reads."""

    @classmethod
    def eval(cls, *arguments: Any) -> Any:
        """Never evaluated: it is matched."""
        return


class Independent(_Fact):
    """``Independent(X, Y1, Y2, ...)``: X is independent of all the Ys together.

    Indices that occur in the Ys alone are general: ``Independent(N(t, j), w(t, i))`` says that
    N(t, j) is independent of w(t, 1), w(t, 2), … together.
    """


class Conditional(_Fact):
    """``Conditional(X, M, Y1, Y2, ...)``: M is the conditional mean of X given the Ys.

    M is a function of the Ys. Indices that occur in the Ys alone are general.
    """


class StandardNormal(_Fact):
    """``StandardNormal(Z)``: Z has the law N(0, 1)."""
