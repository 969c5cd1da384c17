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
# # A first private run
#
# We train a model so that nobody can tell from it whether a given record was in the data. This
# notebook does one step by hand, spends a budget on a whole run, reads the bill off the run's
# ledger, and then plays the attacker, to see what the number ε promises. Everything is computed
# here, in some seconds.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from accountants import ExactAccountant, GroupAccountant, NeighboringRelation
from accountants.calibration import calibrate_noise_multiplier
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson
from accountants.trade_off import trade_off
from dp2theory.optimizers.protocol import run
from dp2theory.optimizers.sgd import DpSgd
from dp2theory.problems.registry import get_problem

problem = get_problem("het:n=5000,d=60,amin=0.1,avg=6,seed=103")
print(f"{problem.dataset_size} records, {problem.dimension} parameters")

# %% [markdown]
# ## 1. One step
#
# A step draws a batch: each record enters by its own coin, here with probability 100/5000. Each
# record's gradient is cut down to length $C$ (the clip norm), so that no record moves the sum by
# more than $C$. Then comes noise of standard deviation $\sigma C$ on the sum, and the result is
# divided by the public expected batch size. $\sigma$ is the *noise multiplier*.

# %%
rng = np.random.default_rng(0)
clip_norm, batch_size = 1.0, 100
sampling = Poisson(batch_size / problem.dataset_size)
start = np.zeros(problem.dimension)
batch = np.flatnonzero(rng.random(problem.dataset_size) < sampling.sampling_probability)
clipped = problem.clipped_gradient_sum(start, batch, clip_norm=clip_norm)
moves = [
    np.linalg.norm(
        clipped - problem.clipped_gradient_sum(start, np.delete(batch, i), clip_norm=clip_norm)
    )
    for i in range(batch.size)
]
print(f"{batch.size} records in this batch; one of them moves the sum by {max(moves):.4f} at most")
assert max(moves) <= clip_norm * (1 + 1e-9)

# %% [markdown]
# ## 2. A budget, and the noise that spends it
#
# We want $(\varepsilon, \delta) = (2, 10^{-5})$ for *all* 1000 steps together. How much noise does
# that take? The accountant's answer has two ends: the upper one is a proved guarantee, the lower
# one is attained by some data, so that no correct accountant can promise less.

# %%
steps, delta = 1000, 1e-5


def whole_run(noise_multiplier):
    return dp_sgd_event(sampling=sampling, noise_multiplier=noise_multiplier, steps=steps)


found = calibrate_noise_multiplier(whole_run, target_epsilon=2.0, target_delta=delta)
print(f"noise multiplier {found.noise_multiplier:.6f}")
print(f"ε between {found.epsilon.lower:.10f} and {found.epsilon.upper:.10f}")
assert found.epsilon.upper <= 2.0
assert found.epsilon.lower > 2.0 - 1e-6, "some of the budget would be left unspent"

# %% [markdown]
# ## 3. The run and its ledger
#
# Two runs on the same batches: one with that noise, one with (almost) none. Each keeps a *ledger*
# of what it released, and the bill is computed from the ledger, not from what we meant to do.

# %%
runs = {}
for name, noise in (("private", found.noise_multiplier), ("hardly any noise", 1e-3)):
    optimizer = DpSgd(learning_rate=1.0, clip_norm=clip_norm, noise_multiplier=noise)
    runs[name] = run(optimizer, problem, sampling=sampling, steps=steps, rng=0, record_every=50)
private = runs["private"]
bill = ExactAccountant().compose(private.ledger).epsilon_bracket(delta)
print(private.ledger)
print(f"the ledger costs ε = {bill.upper:.6f}")
assert bill.upper <= 2.0
assert math.isclose(bill.upper, found.epsilon.upper, rel_tol=1e-9)

figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
for name, one in runs.items():
    axes.plot(one.loss_steps, one.losses, label=name)
axes.set(xlabel="step", ylabel="train loss")
axes.legend()
losses = {name: one.final_loss for name, one in runs.items()}
print(losses)
assert losses["hardly any noise"] < losses["private"] < private.losses[0]

# %% [markdown]
# Noise costs accuracy, and the run still learns. The losses in this picture were computed on the
# records without noise. They are for our eyes: ε does not cover them. Nor does it cover a learning
# rate that was chosen by looking at such losses.

# %% [markdown]
# ## 4. What ε means: a game
#
# The attacker knows all records but one, and how the run works. He sees everything that was
# released, and has to say whether the last record was there. Give him the worst case: the other
# records add nothing, and the last one pushes each sum by the whole clip norm in a known
# direction. In units of $C$ he then sees $\sigma z_t$ without the record and $\sigma z_t + b_t$
# with it, the coin $b_t$ being 1 with probability $q$. No test beats the likelihood ratio, so let
# him use that.
#
# A test accuses the innocent with probability $\alpha$ and misses the guilty with probability
# $\beta$. The promise is $1 - \beta \le e^\varepsilon \alpha + \delta$ and $1 - \alpha \le
# e^\varepsilon \beta + \delta$: *whoever* tests, on *whatever* data.

# %%
games, sigma, q = 10_000, found.noise_multiplier, sampling.sampling_probability


def evidence(present):
    """Log likelihood ratio of one game for each entry, summed over the steps of the run."""
    total = np.zeros(games)
    for _ in range(steps):
        seen = sigma * rng.standard_normal(games)
        if present:
            seen += rng.random(games) < q
        total += np.log1p(q * np.expm1((2 * seen - 1) / (2 * sigma**2)))
    return total


def errors_of(absent, present):
    """Innocent accused and guilty missed, at thresholds from lenient to strict."""
    cuts = np.quantile(absent, np.linspace(0.01, 0.99, 60))
    accused = np.array([(absent > cut).mean() for cut in cuts])
    return accused, np.array([(present <= cut).mean() for cut in cuts])


accused, missed = errors_of(evidence(False), evidence(True))

curve = trade_off(ExactAccountant().compose(private.ledger), np.linspace(0.01, 0.99, 25))
promised = np.maximum.reduce(
    [
        np.zeros_like(accused),
        1 - delta - math.exp(bill.upper) * accused,
        (1 - delta - accused) * math.exp(-bill.upper),
    ]
)
figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
axes.plot(accused, missed, ".", label="the attacker, measured")
axes.plot(curve.alpha, curve.lower, color="black", label="no test is below (proved)")
axes.plot(accused, promised, "--", color="grey", label=f"what ε = {bill.upper:.2f} promises")
axes.plot([0, 1], [1, 0], ":", color="grey", label="guessing")
axes.set(xlabel="innocent accused, α", ylabel="guilty missed, β")
axes.legend()

error = 5 * math.sqrt(0.25 / games)  # five standard errors of a frequency, at most
least = np.interp(accused, curve.alpha, curve.lower)
assert np.all(missed >= promised - 2 * error), "the attacker beats the promise"
assert np.all(np.abs(missed - least) < 2 * error), "the attacker should be on the proved curve"
assert np.all(missed < 1 - accused + error), "he should do no worse than guess"
half = np.argmin(np.abs(missed - 0.5))
print(f"to catch half of the guilty he accuses {accused[half]:.1%} of the innocent")

# %% [markdown]
# The attacker's dots lie *on* the black line: the accounting is not pessimistic, somebody can be
# as well informed as it says. The dashed lines are what the single pair (ε, δ) keeps of that
# curve; they touch it near the corners. A real attacker on real data can do no more than this, and
# often does much less.
#
# Would a broken run be noticed? Halve the noise and keep the bill:

# %%
sigma = found.noise_multiplier / 2
accused, missed = errors_of(evidence(False), evidence(True))
least = np.interp(accused, curve.alpha, curve.lower)
print(f"below the proved curve by up to {np.max(least - missed):.3f}")
assert np.max(least - missed) > 4 * error, "halved noise went unnoticed"

# %% [markdown]
# ## 5. Which data sets are neighbours, and who is protected
#
# The same ledger costs different amounts for different promises. *Add or remove one record* is what
# we used. If a record is *replaced* by another, the sum moves by up to $2C$. And if five records
# belong to one person, protecting the person costs more than five times as much.

# %%
promises = {"a record more or less": bill.upper}
replaced = ExactAccountant(NeighboringRelation.REPLACE_ONE).compose(private.ledger)
promises["a record is another one"] = replaced.epsilon_bracket(delta).upper
person = GroupAccountant(group_size=5).compose(private.ledger)
promises["five records of one person"] = person.epsilon_bracket(delta).upper
for name, epsilon in promises.items():
    print(f"{name:28} ε = {epsilon:.4f}")
assert promises["a record is another one"] > bill.upper
assert promises["five records of one person"] > 5 * bill.upper

# %% [markdown]
# So an ε is three things: a number, a relation, and a unit ("a record"). And it stands for a way of
# drawing batches: a loader that shuffles is not the coin of section 1 (see
# `accountants_compared.py`).
