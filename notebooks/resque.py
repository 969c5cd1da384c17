# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # ReSQue, step by step
#
# Carmon et al. (FOCS 2023) minimise a convex, non-smooth function by asking for many gradients at
# once, around one point, and then walking through a whole ball on these answers alone. The same
# idea gives private optimization with about as many gradients as records (while d is below the root
# of their number). This notebook goes from one estimate to a private run; every figure in it is
# computed here, in less than a minute.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from dp2theory.resque.estimator import QueryPool
from dp2theory.resque.losses import AbsoluteLoss

rng = np.random.default_rng(0)

# %% [markdown]
# ## 1. One query serves a whole ball
#
# Smooth a function by a Gaussian: $f_\rho(x) = E f(x + \xi)$, $\xi \sim N(0, \rho^2 I)$. Its
# gradient is the mean of subgradients at $x + \xi$, which seems to need new queries at every new
# $x$. It does not: with $u = x - \bar x$, the answer found at $\bar x + \xi$, multiplied by the
# ratio of two Gaussian densities,
#
# $$ \log w = \langle u, \xi\rangle/\rho^2 - \|u\|^2/(2\rho^2), $$
#
# has the same mean for every $\bar x$ (theorem `resque.E1`). For $f(x) = |\langle a, x\rangle - b|$
# the smoothed gradient has a closed form (`resque.F5`) to compare with.

# %%
function = AbsoluteLoss(np.array([[1.0, 2.0, 2.0]]) / 3, np.array([0.2]))
x, smoothing = np.array([0.3, -0.1, 0.4]), 0.5
truth = function.smoothed_gradient(x, smoothing)
direction = np.array([1.0, 0.0, 0.0])

shifts, estimates, errors, moments = np.linspace(0, 1.5, 7), [], [], []
for shift in shifts:
    pool = QueryPool.draw(
        function, x - shift * smoothing * direction, smoothing=smoothing, size=100_000, rng=rng
    )
    along = pool.estimates(x) @ function.features[0]
    estimates.append(along.mean())
    errors.append(along.std() / math.sqrt(along.size))
    moments.append(np.square(pool.estimates(x)).sum(axis=1).mean())

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.errorbar(shifts, estimates, 2 * np.array(errors), fmt="o", label="estimate, 2 standard errors")
left.axhline(float(truth @ function.features[0]), color="black", label="closed form")
left.set(xlabel="distance from the pool's centre / ρ", ylabel="gradient along a")
left.legend()
right.semilogy(shifts, moments, "o", label="measured")
right.semilogy(shifts, np.exp(shifts**2), color="black", label="exp(shift²)")
right.set(xlabel="distance from the pool's centre / ρ", ylabel="second moment / L²")
right.legend()
worst = np.max(np.abs(np.array(estimates) - truth @ function.features[0]) / np.array(errors))
print(f"largest distance from the closed form: {worst:.2f} standard errors")
assert worst < 5

# %% [markdown]
# On the left nothing is biased, on the right is the price: the second moment grows like
# $\exp(\|u\|^2/\rho^2)$ (`resque.E4`). Up to $\rho$ it is at most $e$; that is the ball in which
# a pool is reused.

# %% [markdown]
# ## 2. How fast two estimates part
#
# For two points $x, x'$ of the ball, with the same query, the estimates differ in the $p$-th mean
# by at most $L \frac{\|x - x'\|}{\rho} \kappa_p(r/\rho)$, where $\kappa_p$ is a moment of a normal
# variable that the theorem `resque.E6` writes out, and no smaller constant will do: points on one
# ray attain it in the limit.

# %%
from dp2theory.resque.moments import kappa, log_difference_norm, sharpest_pair

for order in (2, 4, 8, 16):
    radius = 1 / order
    a, b = sharpest_pair(order, radius)
    exact = math.exp(float(log_difference_norm(order, a, b)))
    bound = float(np.linalg.norm(a - b) * kappa(order, radius))
    print(
        f"p = {order:2}: κ = {float(kappa(order, radius)):.5f}, attained {exact / bound:.6f} of it"
    )
    assert 0.999 <= exact / bound <= 1 + 1e-9

# %% [markdown]
# ## 3. Balls, accelerated
#
# With an oracle that minimises inside a ball of radius $r$, walking from ball to ball takes $R/r$
# steps; acceleration takes about $(R/r)^{2/3}$, and `resque.ball.count` proves a number.

# %%
from dp2theory.resque.slopes import slope_study

study = slope_study(("max",), (4, 8, 16, 32, 64), dimension=64)
rows = study.rows
figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
ratios = [row.ratio for row in rows]
axes.loglog(ratios, [row.bound for row in rows], color="black", label="proved")
axes.loglog(ratios, [row.accepted for row in rows], "o-", label="accelerated")
axes.loglog(ratios, [row.naive for row in rows], "s-", label="ball after ball")
axes.set(xlabel="R / r", ylabel="steps")
axes.legend()
assert all(row.accepted <= row.bound for row in rows)

# %% [markdown]
# ## 4. In parallel
#
# Each ball is one subproblem, its pool one parallel round, and the walk inside it needs no other.
# Many gradients are asked for, few rounds are waited for.

# %%
from dp2theory.resque.named_functions import function_named
from dp2theory.resque.parallel import solve_parallel

maximum = function_named("max", dimension=16)
for method in ("sgd", "resque-1", "resque-2"):
    run = solve_parallel(maximum, accuracy=0.05, method=method, rng=0)
    counts = run.counts
    print(
        f"{method:9} f - f* = {run.suboptimality:.4f}: {counts.query_depth:4} rounds, "
        f"{counts.computational_depth:5} steps, {counts.queries:5} gradients"
    )
    assert run.suboptimality <= 0.05

# %% [markdown]
# ## 5. What one record can move
#
# Two runs on data sets that differ in one record share indices and Gaussian offsets. On a
# non-smooth function a subgradient method sends them apart like $\sqrt{T}$; ReSQue keeps them
# together, since each estimate's mean is the gradient of a smooth convex function. That is what
# makes it cheap to hide the record.

# %%
from dp2theory.resque.drift import drift_table

table = drift_table("hard", horizons=(50, 100, 200), ratios=(0.25,), paths=200, rng=0)
figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
for method, label in (("raw", "subgradients"), ("shared", "ReSQue, shared offsets")):
    cells = [row for row in table.rows if row.method == method]
    axes.plot([row.steps for row in cells], [row.drift for row in cells], "o-", label=label)
axes.set(xlabel="steps T", ylabel="distance of the runs / (2ηL)", xscale="log", yscale="log")
axes.legend()

# %% [markdown]
# ## 6. A private run and its ledger
#
# Every ball is solved privately: draws with replacement, phases with shrinking steps, each average
# released with noise. A record costs something only when it is drawn, and then the noise covers
# what it can move, but for a failure of a tiny probability that is counted in δ. Everything between
# the releases is post-processing; tries of the search that were thrown away are paid for as well.
#
# The data are made up, so a seed and losses may be shown. On yours they must not be:
# docs/how-to/private-run-on-your-data.md.

# %%
from dp2theory.resque.private import run_private
from dp2theory.resque.private_plan import plan_private

regression = function_named("absolute", records=4000, dimension=2)
delta = 1e-5
plan = plan_private(
    regression, accuracy=0.3, target_epsilon=1.0, target_delta=delta, smoothing=0.3, parts=1
)
run = run_private(regression, plan, rng=0)
print(f"loss {regression.value(regression.start):.4f} -> {regression.value(run.parameters):.4f}")
for part in run.ledger.parts:
    print(f"oracle calls: {part.calls} of {part.plan.max_calls}, {part.plan.draws} draws each")
assert run.counts.oracle_calls == sum(part.calls for part in run.ledger.parts)
for row in run.ledger.table(delta):
    claim = math.ceil(1e4 * row.guaranteed.upper) / 1e4  # rounded up: it is a promise
    attained = math.floor(1e4 * row.guaranteed.lower) / 1e4
    print(f"{row.accountant:9} ε <= {claim:.4f}, attained {attained:.4f}")
print("\n".join(plan.notes))

# %% [markdown]
# The same event by four accountants: only the first follows the whole privacy profile of a call.
# What may be claimed is the upper end for the *cap* on oracle calls. When a run ends depends on
# what it released, so that the calls it happened to make are no bound.
