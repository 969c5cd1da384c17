"""What `pytest --accountant` runs: one item for each accountant, law and relation."""

from __future__ import annotations

import inspect
import os
import shlex
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from accountants.laws import catalogue
from accountants.laws.candidate import Candidate
from accountants.laws.check import (
    DEFAULT_BUDGET,
    DEFAULT_EXAMPLES,
    check_accountant,
    law_budget,
)
from accountants.laws.pytest_plugin import MARKER
from accountants.laws.report import Finding, LawReport, Verdict
from accountants.laws.wanted import (
    Wanted,
    importable_from,
    read_wanted,
    relation_word,
    seconds,
    whole_number,
)
from accountants.relations import NeighboringRelation

#: Names of `user_properties`: they reach JUnit files, and come back from processes of pytest-xdist.
SUSPECT = "accountant_law_suspect"
#: Name under which loose answers are listed in user properties of a test report.
LOOSE = "accountant_law_loose"


@dataclass(frozen=True)
class Settings:
    """The options, read.

    Attributes
    ----------
    wanted : tuple of Wanted
        One for each `--accountant`.
    seed, max_examples : int
        As for `check_accountant`.
    cpu_budget : float
        As for `check_accountant`; a law has its part of it.
    """

    wanted: tuple[Wanted, ...]
    seed: int
    max_examples: int
    cpu_budget: float

    def command(self, name: str, law: str, relation: NeighboringRelation) -> str:
        """What repeats one item."""
        words = ["pytest", "--accountant", name, "--accountant-laws", law]
        words += ["--accountant-relation", relation_word(relation)]
        words += ["--accountant-seed", str(self.seed)]
        words += ["--accountant-max-examples", str(self.max_examples)]
        if self.cpu_budget != DEFAULT_BUDGET:
            words += ["--accountant-cpu-budget", str(self.cpu_budget)]
        return shlex.join(words)


def read_settings(config: pytest.Config) -> Settings:
    """The options of a run; ``ValueError`` in one line where they cannot be met."""
    seed = whole_number("--accountant-seed", config.getoption("accountant_seed"))
    size = whole_number("--accountant-max-examples", config.getoption("accountant_max_examples"))
    budget = seconds("--accountant-cpu-budget", config.getoption("accountant_cpu_budget"))
    # As `python -m pytest` finds modules. It stays for the run: they may import more of their own.
    places = ExitStack()
    places.enter_context(importable_from(config.invocation_params.dir, config.rootpath))
    config.add_cleanup(places.close)
    wanted = [
        read_wanted(
            name,
            laws=config.getoption("accountant_laws"),
            relation=config.getoption("accountant_relation"),
        )
        for name in dict.fromkeys(config.getoption("accountant"))
    ]
    return Settings(
        tuple(wanted),
        seed or 0,
        DEFAULT_EXAMPLES if size is None else size,
        DEFAULT_BUDGET if budget is None else budget,
    )


class LawViolated(AssertionError):
    """A law is broken; the message is the whole report of it."""


class LawItem(pytest.Item):
    """One law for one accountant under one relation."""

    def __init__(
        self, *, settings: Settings, wanted: Wanted, law: str, relation: NeighboringRelation,
        place: tuple[str | None, int], **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(**options)
        self.settings, self.wanted = settings, wanted
        self.law, self.relation = law, relation
        self.place = place
        self.add_marker(MARKER)

    def runtest(self) -> None:
        """Search for an example that breaks the law."""
        with warnings.catch_warnings():
            # A project that makes warnings errors must not turn an answer into a refusal.
            warnings.simplefilter("ignore")
            report = check_accountant(
                self.wanted.candidate,
                laws=(self.law,),
                relation=self.relation,
                seed=self.settings.seed,
                max_examples=self.settings.max_examples,
                cpu_budget=law_budget(self.law, self.settings.cpu_budget),
            )
        self.user_properties += [(SUSPECT, finding.describe()) for finding in report.suspects]
        self.user_properties += [(LOOSE, finding.describe()) for finding in report.looseness]
        if not report.ok:
            raise LawViolated(self._told(report))
        silent = (Verdict.NOT_APPLICABLE, Verdict.REFUSED)
        for result in report.results:
            if result.verdict in silent:
                reason = f"{self.law} {result.title}, {relation_word(self.relation)}: "
                reason += str(result.verdict) + (f" ({result.note})" if result.note else "")
                raise pytest.skip.Exception(reason, _use_item_location=True)

    def _told(self, report: LawReport) -> str:
        shown = [_shown(finding) for finding in report.violations]
        statement = catalogue.laws()[self.law].statement
        command = self.settings.command(self.wanted.candidate.name, self.law, self.relation)
        return "\n\n".join([f"{self.law}: {statement}", *shown, f"again: {command}"])

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The report alone, whole under "FAILURES", and its first line in the summary.

        pytest cuts the summary's line at the width of the terminal, but not on a CI machine, where
        a text without a headline of its own would be printed whole a second time. pytest's own
        representation is used because it alone comes back whole from processes of pytest-xdist.
        """
        if not isinstance(excinfo.value, LawViolated):
            return super().repr_failure(excinfo, style)
        shown = excinfo.getrepr(style="value")  # a traceback would lead through the search
        path, line = self.place
        if shown.reprcrash is not None:
            shown.reprcrash.message = str(excinfo.value).partition("\n")[0]
            shown.reprcrash.path, shown.reprcrash.lineno = path or str(self.path), line + 1
        return shown

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where the accountant is written, and the headline of a failure."""
        path, line = self.place
        return path or self.path, line, f"{self.wanted.candidate.name} {self.name}"


def _shown(finding: Finding) -> str:
    case = finding.case
    lines = [
        finding.describe(),
        "  in Python:",
        "    import dp_accounting as dp",
        f"    event = {case.to_json()['code']}",
        f"    relation = dp.NeighboringRelation.{case.relation.name}",
    ]
    for name in ("count", "delta", "epsilon"):
        value = getattr(case, name)
        if value is not None and (name, value) != ("count", 1):
            lines.append(f"    {name} = {_literal(value)}")
    return "\n".join(lines)


def _literal(value: float) -> str:
    text = repr(value)
    return f'float("{text}")' if text in ("nan", "inf", "-inf") else text


def _source(candidate: Candidate) -> tuple[str | None, int]:
    """File and line (from 0) of the accountant's class, where it has one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind = type(candidate.make(candidate.relations[0]))
        return inspect.getsourcefile(kind), inspect.getsourcelines(kind)[1] - 1
    except Exception:  # only where it stands is lost
        return None, 0


class AccountantNode(pytest.Collector):
    """One accountant in the tree of items."""

    def __init__(self, *, settings: Settings, wanted: Wanted, **options: Any) -> None:
        super().__init__(**options)
        self.settings, self.wanted = settings, wanted

    def collect(self) -> Iterator[pytest.Item]:
        """Its items, relation by relation."""
        place = _source(self.wanted.candidate)
        for relation in self.wanted.relations:
            for law in self.wanted.laws:
                title = catalogue.laws()[law].title.lower().replace(" ", "-")
                yield LawItem.from_parent(
                    self,
                    name=f"{law}-{title}[{relation_word(relation)}]",
                    settings=self.settings,
                    wanted=self.wanted,
                    law=law,
                    relation=relation,
                    place=place,
                )


class Laws:
    """The plugin of a run with `--accountant`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.told: dict[str, list[tuple[str, str]]] = {SUSPECT: [], LOOSE: []}

    def pytest_report_header(self) -> list[str]:
        """Which accountants at which versions."""
        lines = []
        for wanted in self.settings.wanted:
            version = f" {wanted.candidate.version}" if wanted.candidate.version else ""
            lines.append(f"accountant: {wanted.candidate.name}{version}")
        return lines

    # First of all, so that -k, -m and --deselect choose among the laws too.
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Put the laws after the tests that pytest found in files, if any."""
        for wanted in self.settings.wanted:
            name = wanted.candidate.name
            node = AccountantNode.from_parent(
                session, name=name, nodeid=name, settings=self.settings, wanted=wanted
            )
            # Through the hooks, so that the terminal counts them.
            node.ihook.pytest_collectstart(collector=node)
            report = node.ihook.pytest_make_collect_report(collector=node)
            node.ihook.pytest_collectreport(report=report)
            items += report.result

    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Suspects are counted apart, neither as passed nor as failed."""
        if report.when == "call" and report.passed and _properties(report, SUSPECT):
            return "suspect", "?", ("SUSPECT", {"yellow": True})
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is worth a line at the end."""
        if report.when == "call":
            for name, kept in self.told.items():
                kept += [(report.nodeid, text) for text in _properties(report, name)]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What is no failure and yet worth a look."""
        for name, heading in (
            (SUSPECT, "suspect: seems to break a law, nothing independent confirms it"),
            (LOOSE, "loose: correct, and larger than it could be"),
        ):
            if self.told[name]:
                terminalreporter.section(heading)
                for nodeid, text in self.told[name]:
                    terminalreporter.line(nodeid)
                    terminalreporter.line("  " + text.replace("\n", "\n  "))


def _properties(report: Any, name: str) -> list[str]:
    return [str(value) for key, value in getattr(report, "user_properties", ()) if key == name]
