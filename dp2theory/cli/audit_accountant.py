"""`dp2theory audit-accountant`: the laws of privacy accountants against any of them."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dp2theory.cli import _options
from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._inputs import option
from dp2theory.cli._output import Input, describe_inputs, emit, envelope
from dp2theory.cli._outputs import check_outputs
from dp2theory.cli._progress import progress

if TYPE_CHECKING:
    from accountants.laws.report import LawReport
    from accountants.laws.wanted import Wanted

#: Its name in messages and in the envelope.
COMMAND = "audit-accountant"
#: Random examples of a law; `check_accountant` has the same, and --help must not import it.
EXAMPLES = 25
#: Seconds of CPU for the search.
BUDGET = 30.0


def audit_accountant(
    accountant: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|MODULE:CLASS",
            help="A known accountant (--list), or a class or function in a module that can be"
            " imported from here.",
            show_default=False,
        ),
    ] = None,
    laws: Annotated[
        str | None,
        typer.Option(help="Only these, as in L1,L4. [default: all]", show_default=False),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(
            help="add-or-remove-one, replace-one or replace-special."
            " [default: each that the accountant states answers for]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the search; the same seed repeats the run.")
    ] = 0,
    max_examples: Annotated[
        int, typer.Option(help="Random examples for each law, beside its corner cases.")
    ] = EXAMPLES,
    cpu_budget: Annotated[
        float,
        typer.Option(help="Seconds of CPU for the search; inf: no limit, every example is asked."),
    ] = BUDGET,
    report: _options.Report = None,
    listing: Annotated[
        bool, typer.Option("--list", help="The accountants known by name, and the laws.")
    ] = False,
    json: _options.AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Only the number of confirmed violations.")
    ] = False,
) -> None:
    """What a privacy accountant gets wrong: laws that every accountant obeys, tested on examples.

    A violation counts when an enclosure in ball arithmetic, or the definition itself, confirms it;
    then the exit code is 3. What is not confirmed is called suspect and changes nothing. Where no
    question was answered nothing was checked, and the exit code is 3 as well.
    """
    if listing:
        _list(
            {"accountant": accountant, "laws": laws, "relation": relation, "report": report}, json
        )
        return
    if accountant is None:
        raise ValueError(
            "an accountant is wanted: MODULE:CLASS, or a known name (--list shows them)"
        )
    for name, number in (("seed", seed), ("max_examples", max_examples)):
        if number < 0:
            raise ValueError(f"{option(name)} {number}: must be a whole number >= 0")
    if not cpu_budget >= 0:
        raise ValueError(f"--cpu-budget {cpu_budget}: must be a number of seconds >= 0, or inf")
    check_outputs({"report": report})
    from accountants.laws.wanted import importable_from, read_wanted, relation_word

    # As `python -m` finds modules. The accountant may import more of its own while it runs.
    with importable_from(Path.cwd()), _apart():
        wanted = read_wanted(accountant, laws=laws, relation=relation)
        found = _run(wanted, relation, seed, max_examples, cpu_budget, quiet=quiet)
    relations = ",".join(map(relation_word, wanted.relations))
    inputs: dict[str, Any] = {
        "accountant": Input(accountant, unit="name"),
        "laws": Input(",".join(wanted.laws), default=laws is None),
        "relation": Input(relations, default=relation is None),
        "seed": Input(found.seed, default=seed == 0),
        "max_examples": Input(found.max_examples, default=max_examples == EXAMPLES),
        "cpu_budget": Input(cpu_budget, unit="s", default=cpu_budget == BUDGET),
    }
    result = found.to_json()
    status = found.status
    if report is not None:
        from dp2theory.cli._report import about
        from dp2theory.report.audit import write_audit_report

        document = envelope(COMMAND, inputs, result, status=status)
        write_audit_report(report, document, about(document))

    def human() -> None:
        from dp2theory.cli._audit_text import audit_text

        if quiet:
            print(len(found.violations))
            return
        print(audit_text(result))
        if report is not None:
            print(f"\nwritten: {report}")
        print(f"\ninputs:\n{describe_inputs(inputs)}")

    emit(COMMAND, inputs, result, json=json, human=human, status=status)
    if found.exit_code:
        from dp2theory.report.audit_tables import summary

        fail(f"{accountant}: {summary(result)}", ExitCode.VIOLATION)


@contextmanager
def _apart() -> Iterator[None]:
    """What somebody's module prints is no result, and its warnings are not ours to show."""
    with redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _run(
    wanted: "Wanted",
    relation: str | None,
    seed: int,
    max_examples: int,
    cpu_budget: float,
    *,
    quiet: bool,
) -> "LawReport":
    from accountants.laws.check import check_accountant

    questions = len(wanted.laws) * len(wanted.relations)
    begun = False
    with progress(f"auditing {wanted.candidate.name}", questions, quiet=quiet) as advance:

        def tell(law: str) -> None:  # before each law, so the one before it is done
            nonlocal begun
            advance(int(begun), note=law)
            begun = True

        return check_accountant(
            wanted.candidate,
            laws=wanted.laws,
            relation=None if relation is None else wanted.relations[0],
            seed=seed,
            max_examples=max_examples,
            cpu_budget=cpu_budget,
            progress=tell,
        )


def _list(given: dict[str, Any], json: bool) -> None:
    for name, value in given.items():
        if value is not None:
            what = value if name == "accountant" else option(name)
            raise ValueError(f"{what}: has no meaning with --list; leave it out")
    from accountants.laws import adapters, catalogue

    candidates = [
        candidate
        for module in adapters.MODULES
        for candidate in import_module(f"{adapters.__name__}.{module}").CANDIDATES
    ]
    installed = adapters.installed()
    known = [
        {
            "name": candidate.name,
            "package": candidate.package,
            "version": candidate.version,
            "installed": candidate.name in installed,
        }
        for candidate in candidates
    ]
    texts = ("id", "title", "statement", "needs", "tolerance", "reason", "source")
    result = {
        "accountants": known,
        "laws": [{key: getattr(law, key) for key in texts} for law in catalogue.laws().values()],
    }

    def human() -> None:
        from dp2theory.cli._audit_text import list_text

        print(list_text(result))

    emit(COMMAND, {}, result, json=json, human=human)
