"""The examples in docstrings run and print what they say."""

import doctest
import importlib

import pytest

from tests.repo.project import PACKAGES, ROOT, project_files


def modules_with_examples():
    for path in project_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        if path.suffix == ".py" and parts[0] in PACKAGES and "\n    >>> " in path.read_text():
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_examples(name):
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0
    assert results.failed == 0
