"""docs/optimizers.md names every optimizer, and nothing else as one."""

from __future__ import annotations

import re
from pathlib import Path

from dp2theory.optimizers.grids import GRIDS
from dp2theory.optimizers.registry import METHODS, is_private

PAGE = Path(__file__).resolve().parents[2] / "docs" / "optimizers.md"


def test_the_page_names_every_optimizer() -> None:
    named = set(re.findall(r"`([a-z0-9-]+)`", PAGE.read_text(encoding="utf-8")))
    assert set(METHODS) <= named
    families = ("dp-", "dp2-", "delayed-")
    assert {name for name in named if name.startswith(families)} <= set(METHODS)


def test_names_and_classes_agree() -> None:
    for name, kind in METHODS.items():
        assert kind.name == name
        assert ("Privacy\n" in (kind.__doc__ or "")) == is_private(name) or name == "dp-sgd"


def test_every_private_method_has_a_grid() -> None:
    assert {name for name in METHODS if is_private(name)} == set(GRIDS)
