"""The work of `dp2theory train`: resolve, tune, run, save after every run, print."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp2theory.cli._arms import make_arms
from dp2theory.cli._certify import NOTE, certified_runs, exit_if_violated
from dp2theory.cli._exit import ExitCode, fail
from dp2theory.cli._output import emit, envelope
from dp2theory.cli._progress import on_step, progress, waiting
from dp2theory.cli._resolve_training import Resolved, exceeds, resolve
from dp2theory.cli._training_text import print_result

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from dp2theory.planning.comparison import Arm
    from dp2theory.verification.certify import Certificate

INTERRUPTED_FILE = "dp2theory-train-interrupted.json"
RECORDS = 60  # points of each loss curve


@dataclass(frozen=True)
class Request:
    """The options of `dp2theory train` as they were given."""

    problem: str | None
    method: str | None
    compare: str | None
    plan: Path | None
    pilot: bool
    discarded_pilot: Path | None
    data: str | None
    dimension: int | None
    batch_size: int | None
    epochs: int | None
    steps: int | None
    epsilon: float | None
    noise_multiplier: float | None
    delta: float | None
    sampling: str
    relation: str | None
    learning_rate: float | None
    clip_norm: float | None
    adaptive_learning_rate: float | None
    preconditioned_clip_norm: float | None
    delay: int | None
    sgd_steps: int | None
    adaptive_steps: int | None
    ema: float | None
    damping: float | None
    compare_learning_rate: float | None
    compare_clip_norm: float | None
    set_values: list[str] | None
    compare_set: list[str] | None
    public_share: float | None
    group_size: int
    tune: bool
    tune_seeds: int
    certify: bool
    seed: int
    seeds: int
    out: Path | None
    ledger: Path | None
    report: Path | None
    json: bool
    quiet: bool


NOTES = (
    "ε is that of one run of the method, released alone. Releasing the runs of several seeds or "
    "of both methods costs more, and runs of one seed share their noise, so that their costs do "
    "not even add up.",
    "Losses and metrics are computed on the records without noise: they are for the "
    "experimenter's eyes and are not covered by ε.",
)


class Session:
    """One call of `dp2theory train`, with what it has made so far."""

    def __init__(self, request: Request, resolved: Resolved) -> None:
        self.request = request
        self.resolved = resolved
        self.method: Arm | None = None
        self.compare: Arm | None = None
        self.tuned: dict[str, Any] = {}
        self.certificate: Certificate | None = None

    def run(self) -> None:
        """Tune where asked to, make the arms, run them on all seeds."""
        from dp2theory.planning.comparison import run_arms

        resolved, request = self.resolved, self.request
        seeds = range(request.seed, request.seed + request.seeds)
        self.method, self.compare = make_arms(request, resolved, seeds, self.tuned)
        arms = [arm for arm in (self.method, self.compare) if arm is not None]
        steps = resolved.budget.steps
        done = resolved.plan.steps if resolved.plan is not None else 0
        total = len(seeds) * (len(arms) * steps - done)
        with progress("training", total, quiet=request.quiet) as advance:
            if request.certify:
                self.certificate = certified_runs(
                    self.method,
                    resolved,
                    seeds,
                    record_every=max(1, steps // RECORDS),
                    on_step=on_step(advance),
                    on_run=lambda: self.save("interrupted"),
                )
                return
            run_arms(
                arms,
                resolved.problem,
                resolved.budget,
                seeds,
                record_every=max(1, steps // RECORDS),
                on_step=on_step(advance),
                on_run=lambda _arm, _run: self.save("interrupted"),
            )

    def result(self) -> dict[str, Any]:
        """The result object, of the runs made so far."""
        from dp2theory.planning.comparison import comparison_result

        resolved = self.resolved
        discarded = resolved.discarded
        if self.method is None:  # interrupted before the first run
            return {"method": None, "compare": None, "tuning": self.tuned or None}
        result = comparison_result(
            self.method,
            self.compare,
            resolved.budget,
            noise_multiplier=resolved.noise_multipliers[resolved.method],
            discarded=None if discarded is None else discarded.ledger,
        )
        result["tuning"] = self.tuned or None
        result["discarded_pilot"] = None
        if discarded is not None:
            result["discarded_pilot"] = {
                "steps": discarded.steps,
                "epsilon_spent": resolved.budget.account(discarded.ledger).to_json(),
                "budget_exceeded": exceeds(float(result["epsilon"]["upper"]), resolved.budget),
            }
        result |= self._group()
        if self.certificate is not None:
            result["certificate"] = self.certificate.to_json()
        result["notes"] = self._notes(result)
        return result

    def _group(self) -> dict[str, Any]:
        """What one run of the method costs a group of records, where that was asked for."""
        size = self.request.group_size
        if size == 1 or self.method is None:
            return {}
        from dp2theory.cli._unit import group_epsilon

        budget = self.resolved.budget
        epsilon = group_epsilon(
            self.dearest(self.method),
            group_size=size,
            delta=budget.target_delta,
            relation=budget.neighboring_relation,
        )
        return {"group": {"size": size, "epsilon": epsilon.to_json()}}

    def dearest(self, arm: "Arm") -> "DpEvent":
        """What the longest run of an arm released, a pilot that was thrown away included."""
        from dp2theory.planning.comparison import costliest

        discarded = self.resolved.discarded
        return costliest(arm.runs, None if discarded is None else discarded.ledger)

    def document(self, status: str) -> dict[str, Any]:
        """The envelope of the results so far."""
        return envelope("train", self.resolved.inputs, self.result(), status=status)

    def save(self, status: str, *, path: Path | None = None) -> None:
        """Write the results so far to `--out` (or `path`), if there is one."""
        from dp2theory.files import write_json

        target = path or self.request.out
        if target is not None:
            write_json(target, self.document(status))

    def _notes(self, result: dict[str, Any]) -> list[str]:
        notes = list(NOTES)
        resolved, request = self.resolved, self.request
        if request.certify:
            notes.append(NOTE)
        if request.tune:
            from dp2theory.optimizers.tuning import NOT_ACCOUNTED

            notes.append(NOT_ACCOUNTED)
        elif resolved.compare is not None:
            notes.append(
                "Neither method was tuned here: what separates them may be their step sizes. "
                "--tune chooses both by their grids."
            )
        if resolved.plan is not None or request.pilot:
            notes.append(
                "Runs of the method go on from a pilot, whose releases are in their ledger; the "
                "phases of DP² are counted from the switch."
            )
        if resolved.discarded is not None:
            notes.append("ε includes the releases of the pilot that was thrown away.")
            if result["discarded_pilot"]["budget_exceeded"]:
                notes.append(
                    "ε exceeds the budget of the plan, which was made without the pilot that was "
                    "thrown away."
                )
        return notes


def train_request(request: Request) -> None:
    """Do what the options ask for, and print it; see `dp2theory.cli.train`."""
    session = Session(request, resolve(request))
    with _kept_when_interrupted(session):
        session.run()
        with waiting("accounting the ledgers", quiet=request.quiet):
            result = session.result()
            violated = session.certificate is not None and session.certificate.violated
            status = "violated" if violated else "ok"
            if request.out is not None:
                session.save(status)
        if request.ledger is not None and session.method is not None:
            from accountants.ledger import write_ledger

            write_ledger(request.ledger, session.dearest(session.method))
        if request.report is not None:
            _write_report(request.report, session, envelope("train", session.resolved.inputs,
                                                            result, status=status))  # fmt: skip
    emit(
        "train", session.resolved.inputs, result, json=request.json, status=status,
        human=lambda: print_result(result, session.resolved.inputs, request),
    )  # fmt: skip
    exit_if_violated(result)


def _write_report(path: Path, session: Session, document: dict[str, Any]) -> None:
    from dp2theory.cli._report import about, by_event
    from dp2theory.report.html_runs import write_runs_report

    arms = [arm for arm in (session.method, session.compare) if arm is not None]
    ledgers = by_event([(f"one run of {arm.method}", session.dearest(arm)) for arm in arms])
    write_runs_report(path, document, about(document, ledgers))


@contextmanager
def _kept_when_interrupted(session: Session) -> Iterator[None]:
    """Write what there is when the user stops the body, and say where."""
    try:
        yield
    except KeyboardInterrupt as stop:
        path = session.request.out or Path(INTERRUPTED_FILE)
        session.save("interrupted", path=path)
        arms = [arm for arm in (session.method, session.compare) if arm is not None]
        whole = sum(run.completed for arm in arms for run in arm.runs)
        fail(
            f"interrupted ({str(stop) or 'between runs'}): {whole} finished runs and what else was "
            f"released are kept in {path}",
            ExitCode.INTERRUPTED,
        )
