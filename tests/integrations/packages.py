"""The packages that these tests need, or the reason why they are skipped."""

import importlib
import warnings
from types import ModuleType

import pytest

TARGET = "make integrations"


def needs(name: str, package: str) -> ModuleType:
    """The module `name`; without `package` the tests of the calling module are skipped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs are not this project's
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or name.partition(".")[0] != error.name.partition(".")[0]:
                raise
    pytest.skip(f"{package} is not installed: `{TARGET}` runs this", allow_module_level=True)
