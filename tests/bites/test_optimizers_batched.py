"""Slips of lockstep runs that the comparison with single runs must notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accountants.sampling import Poisson
from dp2theory.optimizers import batched
from dp2theory.optimizers.batched import run_batched
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.optimizers.protocol import run
from dp2theory.problems.rows import SparseBlock
from dp2theory.problems.synthetic import het

PROBLEM = het(80, 12, 0.1, 4, 1)
GRID = [
    Dp2RmsProp(rate, clip, 0.02, 3.0, 0.8, delay=2, ema=0.6, damping=0.01)
    for rate, clip in ((0.3, 0.7), (0.1, 0.2))
]


def agrees() -> bool:
    settings: dict[str, Any] = {"sampling": Poisson(0.2), "steps": 6}
    found = run_batched(GRID, PROBLEM, seeds=(0, 1), **settings)
    return all(
        np.array_equal(one.parameters, run(optimizer, PROBLEM, rng=seed, **settings).parameters)
        and repr(one.ledger) == repr(run(optimizer, PROBLEM, rng=seed, **settings).ledger)
        for row, optimizer in zip(found, GRID, strict=True)
        for seed, one in enumerate(row)
    )


def test_the_true_one_agrees() -> None:
    assert agrees()


def noise_drawn_anew(self: batched._Seed, shape: tuple[int, ...]) -> Any:
    return self.generator.standard_normal(shape)


def noise_kept(self: batched._Seed, shape: tuple[int, ...]) -> Any:
    if "kept" not in self.__dict__:
        self.__dict__["kept"] = self.generator.standard_normal(shape)
    return self.__dict__["kept"]


def noise_halved(self: batched._Seed, shape: tuple[int, ...]) -> Any:
    if shape not in self.normals:
        self.normals[shape] = 0.5 * self.generator.standard_normal(shape)
    return self.normals[shape]


@pytest.mark.parametrize("broken", [noise_drawn_anew, noise_kept, noise_halved])
def test_noise_of_its_own_is_noticed(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched._Seed, "noise", broken)
    assert not agrees()


def test_columns_without_offsets_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def folded(values: Any, columns: Any, starts: Any, lengths: Any, features: int) -> SparseBlock:
        return SparseBlock(values, columns % PROBLEM.dimension, starts, lengths, features)

    monkeypatch.setattr(batched, "SparseBlock", _Folding(folded))
    assert not agrees()


class _Folding(type):
    """Stands for `SparseBlock`: makes folded ones, and every `SparseBlock` is one of it."""

    def __new__(cls, make: Any) -> Any:
        return super().__new__(cls, "Folding", (), {"make": staticmethod(make)})

    def __init__(cls, make: Any) -> None:
        super().__init__("Folding", (), {})

    def __call__(cls, *parts: Any) -> Any:
        return cls.make(*parts)  # type: ignore[attr-defined]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, SparseBlock)


def test_one_clip_norm_for_all_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = np.repeat

    def first_only(values: Any, counts: Any, *rest: Any) -> Any:
        if np.asarray(values).dtype == np.float64:
            values = np.full_like(values, values[0])
        return true(values, counts, *rest)

    class Broken:
        def __getattr__(self, name: str) -> Any:
            return first_only if name == "repeat" else getattr(np, name)

    monkeypatch.setattr(batched, "np", Broken())
    assert not agrees()


def test_batches_of_the_first_seed_for_all_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = batched._sums

    def sums(problem: Any, lanes: Any, queries: Any, batches: Any) -> Any:
        return true(problem, lanes, queries, [batches[0]] * len(batches))

    monkeypatch.setattr(batched, "_sums", sums)
    assert not agrees()


def test_a_ledger_without_its_last_release_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = batched.Ledger.add
    seen: list[object] = []

    def add(self: Any, query: Any) -> None:
        seen.append(query)
        if len(seen) > 1:
            true(self, query)

    monkeypatch.setattr(batched.Ledger, "add", add)
    assert not agrees()
