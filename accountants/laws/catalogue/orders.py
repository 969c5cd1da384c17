"""L6 and L7: what a grid of Rényi orders may do to an answer."""

from __future__ import annotations

import math

import dp_accounting
from hypothesis import strategies as st

from accountants.errors import AccuracyError
from accountants.laws import oracle, renyi_ball, strategies
from accountants.laws.candidate import Candidate
from accountants.laws.case import Case
from accountants.laws.catalogue import judging
from accountants.laws.catalogue.examples import at
from accountants.laws.law import Clause, Held, Law, Outcome, Refused, Scope, Skipped
from accountants.laws.program import Program, RenyiQuestion, Reply, compose, epsilon_at
from accountants.renyi.accountant import RenyiAccountant

#: Orders that an accountant is given first.
BASE = (2.0, 4.0, 8.0, 32.0)
#: Orders that are added to them: more orders never cost more.
MORE = (1 + 1e-8, 1.01, 1.5, 3.0, 6.5, 64.0, 1024.0)
#: Orders at which Rényi curves are asked.
ORDERS = (2.0, 8.0, 1.5, 64.0, 1.01, 3.7, 512.0, 1e4)
#: Relative, of ε: what a grid of orders of an accountant's own may lose against ours.
GRID_SLACK = 0.01


def _sampled(q: float, sigma: float, steps: int) -> dp_accounting.DpEvent:
    gaussian = dp_accounting.GaussianDpEvent(sigma)
    event = dp_accounting.PoissonSampledDpEvent(q, gaussian) if q < 1 else gaussian
    return dp_accounting.SelfComposedDpEvent(event, steps) if steps > 1 else event


_RUNS = (
    (1.0, 1.0, 1, 1e-5),
    (0.00105, 1.0, 1, 1e-3),
    (0.00105, 1.0, 1, 1e-5),
    (0.01, 1.0, 1000, 1e-5),
    (0.001, 20.0, 10, 1e-9),
    (0.01, 10.0, 10, 1e-5),
    (1.0, 20.0, 1, 1e-5),
    (0.01, 0.5, 100, 1e-5),
    (1.0, 0.05, 1, 1e-5),
    (0.5, 2.0, 100, 1e-6),
)


def _corners(scope: Scope) -> list[Case]:
    return [at(_sampled(q, s, t), scope.relation, delta) for q, s, t, delta in _RUNS]


def _any(scope: Scope) -> st.SearchStrategy[Case]:
    return st.builds(
        lambda q, sigma, steps, delta: at(_sampled(q, sigma, steps), scope.relation, delta),
        st.one_of(st.just(1.0), strategies.probabilities(1e-4, 0.5)),
        strategies.noise_multipliers(0.3, 100.0),
        strategies.steps(10_000),
        strategies.deltas(1e-12, 1e-2),
    )


def _with_orders(scope: Scope, case: Case, orders: tuple[float, ...]) -> Reply:
    assert case.delta is not None
    steps = (compose(case.event), epsilon_at(case.delta))
    return scope.ask(Program(case.relation, steps, orders=orders), judging.QUICK)[-1]


def _adding(scope: Scope, case: Case) -> Outcome:
    """Adding orders only lowers ε, and never below the truth."""
    few = _with_orders(scope, case, BASE)
    many = _with_orders(scope, case, tuple(sorted(BASE + MORE)))
    missing = judging.unanswered(few) or judging.unanswered(many)
    if missing is not None:
        return missing
    outcome = judging.judge_value("L6", "adding orders", case, many)
    if not isinstance(outcome, Held) or few.value is None or many.value is None:
        return outcome
    if many.value <= few.value * (1 + 1e-9) + judging.NEGLIGIBLE:
        return Held()
    return judging.contract(
        "L6",
        "adding orders",
        case,
        many,
        f"{few.value:.9g} from orders {BASE}, more with {MORE} added",
        confirmed_by="the accountant's own two answers",
    )


def _single(scope: Scope, case: Case) -> Outcome:
    """ε from one order alone is an upper bound too."""
    refused: Refused | None = None
    answered = 0
    for order in ORDERS:
        reply = _with_orders(scope, case, (order,))
        missing = judging.unanswered(reply)
        if missing is not None:
            refused = missing
            continue
        answered += 1
        if reply.value is not None and math.isnan(reply.value):
            continue  # one order that gives nothing may be left out; L1 is about answers
        outcome = judging.judge_value("L6", f"order {order!r}", case, reply)
        if not isinstance(outcome, Held):
            return outcome
    return Held() if answered or refused is None else refused


def _divergences(scope: Scope, case: Case) -> Outcome:
    """Rényi divergences are at least the true ones, not negative, and rise with the order."""
    replies = scope.ask(RenyiQuestion(case.relation, case.event, tuple(sorted(ORDERS))))
    missing = next((m for m in map(judging.unanswered, replies) if m is not None), None)
    if missing is not None:
        return missing
    values = [math.nan if reply.value is None else reply.value for reply in replies]
    kept = [(o, v) for o, v in zip(sorted(ORDERS), values, strict=True) if not math.isnan(v)]
    last = 0.0
    for order, value in kept:
        if value < 0 or value < last * (1 - 1e-9):
            return judging.contract(
                "L6", "divergences", case, value, f"{value:.9g} at order {order!r} after {last:.9g}"
            )
        last = value
    try:
        accountant = RenyiAccountant(case.relation).compose(case.event)
        truth = accountant.rdp([order for order, _ in kept])
    except (ValueError, AccuracyError) as error:
        return Skipped(str(error))
    for (order, value), true in zip(kept, truth, strict=True):
        if value < true * (1 - judging.TOLERANCE):
            return judging.contract(
                "L6",
                "divergences",
                case,
                value,
                f"the Rényi divergence of order {order!r} is at least {float(true):.9g}",
                confirmed_by=None,
                settle=lambda order=order, value=value: renyi_ball.too_small(  # type: ignore[misc]
                    case.whole, case.relation, order, value
                ),
            )
    return Held()


def _slack(scope: Scope, case: Case) -> Outcome:
    """Beside the optimum over all real orders."""
    reply = judging.ask_epsilon(scope, case)
    missing = judging.unanswered(reply)
    if missing is not None:
        return missing
    assert case.delta is not None
    try:
        best = RenyiAccountant(case.relation).compose(case.event).get_epsilon(case.delta)
        truth = judging.true_epsilon(case)
    except (ValueError, AccuracyError, oracle.NoOracle) as error:
        return Skipped(str(error))
    if reply.value is None or reply.value <= best * (1 + GRID_SLACK) + judging.NEGLIGIBLE:
        return Held()
    ratio = reply.value / best if best else math.inf
    return judging.loose(
        "L7",
        "grid",
        case,
        reply.value,
        truth,
        f"{ratio:.4g} times {best:.9g}, the infimum over real orders",
    )


def _takes_orders(candidate: Candidate) -> str:
    return "" if candidate.make_with_orders or candidate.renyi else "no Rényi accountant"


L6 = Law(
    id="L6",
    title="orders",
    statement="adding an order lowers epsilon or leaves it, never below the truth; every Rényi "
    "divergence is at least the true one, not negative, and does not fall with the order",
    needs="a constructor that takes orders, or Rényi divergences",
    tolerance=judging.TOLERANCE,
    reason="as for L4",
    source="tensorflow/privacy#166",
    clauses=(
        Clause("adding orders", _corners, _adding, _any),
        Clause("single order", _corners, _single, _any),
        Clause("divergences", _corners, _divergences, _any),
    ),
    applies=_takes_orders,
)
L7 = Law(
    id="L7",
    title="grid slack",
    statement="an answer from Rényi orders is within 1 % of the infimum over real orders",
    needs="a constructor that takes orders, or Rényi divergences",
    tolerance=GRID_SLACK,
    reason="the law's own figure",
    source="pytorch/opacus#670, tensorflow/privacy#47",
    clauses=(Clause("grid", _corners, _slack, _any),),
    applies=_takes_orders,
)
