"""The order of the tests: the longest wait comes first."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the wheel: as the last test it would keep the other process waiting."""
    items.sort(key=lambda item: "wheel" not in getattr(item, "fixturenames", ()))
