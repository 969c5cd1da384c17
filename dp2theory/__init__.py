"""dp2theory: what theory and experiment say about private adaptive optimisation.

From a problem and a privacy budget the toolkit finds the noise multiplier, the delay of the
preconditioner (or the advice not to precondition), the reasons, and the runs that check it.

Rooms, from the bottom up (each imports only rooms below it):

* `dp2theory.problems`: losses with per-record clipped gradients and known constants;
* `dp2theory.optimizers`: reference optimizers that keep a ledger of what they released;
* `dp2theory.resque`: reweighted queries, ball acceleration, parallel and private optimization;
* `dp2theory.planning`: budgets, the pilot run and the plan;
* `dp2theory.experiments`: sweeps, figures, the study;
* `dp2theory.verification`: audits, and theorems against runs;
* `dp2theory.report`: pictures and pages of results that are handed to it;
* `dp2theory.cli`: the command line.

`dp2theory.files`, below all rooms, writes files that are either whole or not there.

The privacy accounting is a library of its own, `accountants`; theorems live in `bounds`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dp2theory.planning.plan import make_plan as plan

__version__ = "0.1.0"
__all__ = ["__version__", "plan"]


def __getattr__(name: str) -> Any:
    """`plan` is `dp2theory.planning.plan.make_plan`, loaded when it is asked for."""
    if name == "plan":
        from dp2theory.planning.plan import make_plan

        return make_plan
    raise AttributeError(f"module 'dp2theory' has no attribute {name!r}")
