"""dp2theory: what theory and experiment say about private adaptive optimisation.

From a problem and a privacy budget the toolkit finds the noise multiplier, the delay of the
preconditioner (or the advice not to precondition), the reasons, and the runs that check it.

Rooms, from the bottom up (each imports only rooms below it):

* `dp2theory.problems`: losses with per-record clipped gradients and known constants;
* `dp2theory.optimizers`: reference optimizers that keep a ledger of what they released;
* `dp2theory.planning`: budgets, the pilot run and the plan;
* `dp2theory.report`: pictures and pages of results that are handed to it;
* `dp2theory.cli`: the command line.

`dp2theory.files`, below all rooms, writes files that are either whole or not there.

The privacy accounting is a library of its own, `accountants`; theorems live in `bounds`.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
