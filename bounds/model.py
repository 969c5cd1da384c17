"""Finite models: a probability space with a few scenarios, on which every sentence can be checked.

Noise of plus or minus nu with probability 1/2 has mean 0 and variance nu**2 and is independent of
the past, so that finite spaces satisfy the assumptions of most theorems exactly. A model in which
the assumptions hold and a statement does not is a counterexample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from bounds.evaluate_functions import Values
from bounds.evaluate_numpy import Arrays
from bounds.evaluate_scalar import free_symbols
from bounds.model_facts import conditional, independent, standard_normal
from bounds.model_truth import Worst, margin, worst_place
from bounds.operators import Conditional, E, Independent, Index, StandardNormal, Variable

__all__ = ["MARGIN", "NORMAL_MARGIN", "TOLERANCE", "Model", "Worst"]

TOLERANCE = 1e-12  #: relative: what an assumption may be off by rounding
MARGIN = 1e-9  #: relative: what a statement must be off to be called false
NORMAL_MARGIN = 1e-2  #: the same where a normal variable stands there by a quadrature
_DRAWS = 200


class Model:
    """A finite probability space with values for symbols and processes.

    Parameters
    ----------
    values : mapping of symbol to number or array
        Parameters; an array over scenarios for a random variable.
    processes : mapping of letter to array
        Index axes first (index 1 at position 0); for a random process the scenario axis last. An
        array without that axis is the same in every scenario. A random variable may stand here by
        its name.
    weights : array, optional
        Probabilities of the scenarios; all the same by default.
    seed : int
        For the values that variables of a sentence are given.
    note : str
        What the model is meant to show.

    Raises
    ------
    ValueError
        When the weights are no probabilities.
    """

    def __init__(
        self,
        values: Mapping[Any, Any],
        processes: Mapping[Any, Any] | None = None,
        weights: Any = None,
        *,
        seed: int = 0,
        note: str = "",
    ) -> None:
        self.processes = {name: np.asarray(array, float) for name, array in _items(processes)}
        self.values: dict[str, Values] = {
            str(key): np.asarray(value) for key, value in values.items()
        }
        self.weights = None if weights is None else np.asarray(weights, dtype=float)
        self.seed = seed
        self.note = note
        if self.weights is not None:
            good = self.weights.ndim == 1 and (self.weights >= 0).all()
            if not good or abs(self.weights.sum() - 1) > 1e-9:
                raise ValueError(
                    f"weights = {weights!r} is not allowed: one axis of numbers >= 0 with sum 1"
                )

    def value(self, expression: Any) -> Values:
        """Values of an expression: axes of its free indices, then of variables, then scenarios."""
        return self._space(expression).arrays.value(sympy.sympify(expression))

    def margin(self, sentence: Any) -> Values:
        """By how much a sentence holds (negative: fails), relative to the size of its sides.

        NaN where an index is not covered by the arrays.
        """
        return margin(sentence, self._space(sentence).arrays)

    def holds(self, sentence: Any) -> bool:
        """Whether a sentence holds for all indices that the arrays cover, in every scenario.

        Raises
        ------
        ValueError
            When it has a symbol without a value, or something that cannot be evaluated.
        """
        if isinstance(sentence, sympy.And):
            return all(self.holds(each) for each in sentence.args)
        if isinstance(sentence, Independent | Conditional | StandardNormal):
            return self._fact(sentence, None)
        if isinstance(sentence, sympy.Implies):
            guard, then = sentence.args
            if isinstance(then, Independent | Conditional):
                return self._fact(then, guard)
        margins = self.margin(sentence)
        return not bool(np.any(margins < -TOLERANCE))

    def violates(self, sentence: Any, by: float = MARGIN) -> bool:
        """Whether a sentence fails somewhere by more than a relative margin."""
        return bool(np.any(self.margin(sentence) < -by))

    def worst(self, sentence: Any) -> Worst:
        """Where a sentence fails most: indices, scenario, both sides."""
        space = self._space(sentence)
        return worst_place(sympy.sympify(sentence), space.arrays, space.names, space.axes)

    def _fact(self, fact: Any, guard: Any) -> bool:
        space = self._space(fact if guard is None else sympy.Tuple(guard, fact))
        weights = self._weights(space.scenarios)
        if isinstance(fact, StandardNormal):
            return standard_normal(space.arrays.value(fact.args[0]), weights)
        check = independent if isinstance(fact, Independent) else conditional
        return check(fact, space.arrays, space.names, weights, guard)

    def _weights(self, scenarios: int) -> Values:
        return np.full(scenarios, 1 / scenarios) if self.weights is None else self.weights

    def _space(self, sentence: Any) -> _Space:
        return _Space.of(self, sympy.sympify(sentence))

    def tables(self) -> list[str]:
        """The processes as text, small ones in full."""
        lines = []
        for name, array in sorted(self.processes.items()):
            text = np.array2string(array, precision=6, threshold=64, separator=", ")
            lines.append(f"{name}, shape {array.shape}: {text}".replace("\n", " "))
        if self.weights is not None:
            weights = np.array2string(self.weights, precision=6, threshold=64, separator=", ")
            lines.append(f"probabilities: {weights}".replace("\n", " "))
        return lines

    def __repr__(self) -> str:
        shown = [f"{name} = {_short(value)}" for name, value in sorted(self.values.items())]
        shown += [f"{name} {array.shape}" for name, array in sorted(self.processes.items())]
        return f"Model({', '.join(shown)}{'; ' + self.note if self.note else ''})"


def _items(mapping: Mapping[Any, Any] | None) -> Iterator[tuple[str, Any]]:
    for key, array in (mapping or {}).items():
        yield (key if isinstance(key, str) else getattr(key, "__name__", str(key))), array


def _short(value: Values) -> str:
    return f"{value.item():.6g}" if value.ndim == 0 else f"array{value.shape}"


@dataclass(frozen=True)
class _Space:
    """The arrays of a sentence: one axis an index, one for all variables, one for scenarios."""

    arrays: _Expectations
    names: tuple[Any, ...]  # an index for every axis but the last, None for that of variables
    axes: dict[Any, Values]
    scenarios: int

    @classmethod
    def of(cls, model: Model, sentence: Any) -> _Space:
        arities = _arities(sentence)
        free = free_symbols(sentence)
        indices = sorted((each for each in free if isinstance(each, Index)), key=str)
        indices = [each for each in indices if str(each) not in model.values]
        variables = sorted((each for each in free if isinstance(each, Variable)), key=str)
        variables = [each for each in variables if str(each) not in model.values]
        scenarios = _scenarios(model, arities, free)
        total = len(indices) + bool(variables) + 1
        values: dict[Any, Values] = {}
        axes: dict[Any, Values] = {}
        for place, index in enumerate(indices):
            axes[index] = np.arange(1, _length(index, sentence, model) + 1)
            values[index] = axes[index].reshape([-1 if at == place else 1 for at in range(total)])
        rng = np.random.default_rng(model.seed)
        for variable in variables:
            axes[variable] = _draws(variable, rng)
            values[variable] = axes[variable].reshape((1,) * len(indices) + (-1, 1))
        for symbol in free - set(indices) - set(variables):
            values[symbol] = _given(symbol, model, total)
        tables = {}
        for name, arity in arities.items():
            if name in model.processes:
                tables[name] = _table(name, model.processes[name], arity, scenarios)
        weights = np.full(scenarios, 1 / scenarios) if model.weights is None else model.weights
        names = (*indices, None) if variables else tuple(indices)
        return cls(_Expectations(values, tables, total, weights), names, axes, scenarios)


class _Expectations(Arrays):
    """Arrays on which ``E`` is a weighted mean, and an index that is not covered gives NaN."""

    def other(self, here: Any) -> Values:
        if not isinstance(here, E):
            return super().other(here)
        inner = self.value(here.args[0])
        if inner.shape[-1:] in ((), (1,)):
            return inner
        return np.asarray((inner * self.weights).sum(axis=-1, keepdims=True))

    def outside(self, here: Any, table: Values, inside: Values) -> None:
        return


def _arities(sentence: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in sentence.atoms(sympy.core.function.AppliedUndef):
        found[each.func.__name__] = len(each.args)
    return found


def _scenarios(model: Model, arities: dict[str, int], free: Any) -> int:
    if model.weights is not None:
        return int(model.weights.size)
    sizes = {1}
    for symbol in free:
        value = model.values.get(str(symbol), model.processes.get(str(symbol)))
        if value is not None:
            sizes.add(int(value.size))
    for name, arity in arities.items():
        array = model.processes.get(name)
        if array is not None and array.ndim == arity + 1:
            sizes.add(int(array.shape[-1]))
    return max(sizes)


def _table(name: str, array: Values, arity: int, scenarios: int) -> Values:
    if array.ndim == arity:
        return array[..., np.newaxis]
    if array.ndim == arity + 1 and array.shape[-1] in (1, scenarios):
        return array
    raise ValueError(
        f"processes[{name!r}] has shape {array.shape}: {arity} index axes are wanted, then "
        f"{scenarios} scenarios"
    )


def _given(symbol: Any, model: Model, total: int) -> Values:
    value = model.values.get(str(symbol), model.processes.get(str(symbol)))
    if value is None:
        raise ValueError(f"the model has no value for {symbol}")
    return value.reshape((1,) * (total - 1) + (-1,))


def _length(index: Any, sentence: Any, model: Model) -> int:
    """How many values of an index the arrays can cover."""
    sizes = []
    for each in sentence.atoms(sympy.core.function.AppliedUndef):
        array = model.processes.get(each.func.__name__)
        for place, argument in enumerate(each.args):
            if array is not None and index in free_symbols(argument) and place < array.ndim:
                sizes.append(array.shape[place])
    if sizes:
        return int(max(sizes))
    return max((max(array.shape[:2], default=1) for array in model.processes.values()), default=4)


def _draws(variable: Any, rng: np.random.Generator) -> Values:
    """Values for a variable: corners and a wide range, within its SymPy assumptions."""
    size = 10.0 ** rng.uniform(-3, 3, _DRAWS)
    if variable.is_integer:
        size = np.floor(size) + bool(variable.is_positive)
    if variable.is_nonnegative is None:
        size = size * rng.choice([-1.0, 1.0], _DRAWS)
    corners = [1.0, 2.0] if variable.is_positive else [0.0, 1.0]
    size[: len(corners)] = corners
    return rng.permutation(size)
