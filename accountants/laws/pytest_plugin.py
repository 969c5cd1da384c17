"""`pytest --accountant MODULE:CLASS`: every law as a test of its own.

Every pytest of an environment with this package loads this module, so that it imports nothing but
pytest itself before `--accountant` is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from accountants.laws.pytest_items import Settings

#: Selects or leaves out the laws: `-m accountant_law`.
MARKER = "accountant_law"
#: What only makes sense with `--accountant`: attribute of the parsed options -> option.
REFINEMENTS = {
    "accountant_laws": "--accountant-laws",
    "accountant_relation": "--accountant-relation",
    "accountant_seed": "--accountant-seed",
    "accountant_max_examples": "--accountant-max-examples",
    "accountant_cpu_budget": "--accountant-cpu-budget",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("accountant", "laws of privacy accountants")
    group.addoption(
        "--accountant",
        action="append",
        metavar="MODULE:CLASS",
        help="hold this privacy accountant (or a known one by name) to the laws; repeatable",
    )
    group.addoption(
        "--accountant-laws", metavar="L1,L4", help="only these laws. Default: all of them"
    )
    group.addoption(
        "--accountant-relation",
        metavar="RELATION",
        help="add-or-remove-one, replace-one or replace-special."
        " Default: each that the accountant states answers for",
    )
    group.addoption(
        "--accountant-seed", metavar="SEED", help="seed of the search, a whole number. Default: 0"
    )
    group.addoption(
        "--accountant-max-examples",
        metavar="COUNT",
        help="random examples for each law, beside its corner cases. Default: 25",
    )
    group.addoption(
        "--accountant-cpu-budget",
        metavar="SECONDS",
        help="CPU time for one accountant: a law gets a tenth of it for each unit of its weight."
        " inf: no limit. Default: 30",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load what is to be tested, or refuse in one line (exit code 4)."""
    config.addinivalue_line("markers", f"{MARKER}: a law of an accountant given by --accountant")
    if not config.getoption("accountant"):
        for name, option in REFINEMENTS.items():
            if config.getoption(name) is not None:
                raise pytest.UsageError(f"{option} needs --accountant MODULE:CLASS")
        return
    from accountants.laws.pytest_items import Laws, read_settings

    try:
        settings: Settings = read_settings(config)
    except ValueError as error:
        raise pytest.UsageError(" ".join(str(error).split())) from error
    config.pluginmanager.register(Laws(settings), "accountant-laws-session")
