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
# # Accountants compared, with and without replacement
#
# Two accountants rarely disagree; mostly they answer different questions. Before comparing, make
# four things equal: how batches are drawn, which data sets are neighbours, the unit of the noise,
# and what the number claims. This notebook asks several accountants about the same run, and then
# changes one of these at a time.

# %%
import math

import dp_accounting
import matplotlib.pyplot as plt
import numpy as np
from dp_accounting.pld import PLDAccountant  # noqa: TID251, to compare with
from dp_accounting.rdp import RdpAccountant  # noqa: TID251, to compare with
from scipy.stats import norm

from accountants import (
    ExactAccountant,
    NeighboringRelation,
    RenyiAccountant,
    TruncatedCdpAccountant,
    central_limit_estimate,
)
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson, WithoutReplacement, WithReplacement

ADD_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
records, batch, sigma, delta = 50_000, 256, 2.0, 1e-6

# %% [markdown]
# ## 1. Something to trust: one Gaussian release
#
# For a single release of a sum that a record moves by one clip norm, everything is known in closed
# form: $\delta(\varepsilon) = \Phi(\tfrac1{2\sigma} - \varepsilon\sigma) - e^\varepsilon
# \Phi(-\tfrac1{2\sigma} - \varepsilon\sigma)$.

# %%
single = ExactAccountant().compose(dp_accounting.GaussianDpEvent(sigma))
for epsilon in (0.5, 1.0, 2.0):
    known = norm.cdf(1 / (2 * sigma) - epsilon * sigma) - math.exp(epsilon) * norm.cdf(
        -1 / (2 * sigma) - epsilon * sigma
    )
    ends = single.delta_bracket(epsilon)
    print(f"δ({epsilon}) = {known:.12e}, here between {ends.lower:.12e} and {ends.upper:.12e}")
    assert ends.lower * (1 - 1e-9) <= known <= ends.upper * (1 + 1e-9)
    assert ends.upper - ends.lower < 1e-9 * known

# %% [markdown]
# ## 2. One run, six answers
#
# Poisson sampling with probability 256/50000, data sets that differ in one record's presence. The
# exact accountant composes the privacy profile itself; its two ends meet. Rényi accountants bound
# every order of a divergence and convert, which loses something; truncated CDP keeps even less of
# the run. A central limit theorem gives an *estimate*, which is no bound.

# %%
poisson = Poisson(batch / records)
horizons = np.array([100, 300, 1000, 3000, 10_000])
ours = {
    "exact": ExactAccountant,
    "Rényi": RenyiAccountant,
    "truncated CDP": TruncatedCdpAccountant,
}
peers = {"dp_accounting RDP": RdpAccountant, "dp_accounting PLD": PLDAccountant}
curves = {name: [] for name in (*ours, *peers, "central limit (estimate)")}
for steps in horizons:
    event = dp_sgd_event(sampling=poisson, noise_multiplier=sigma, steps=int(steps))
    for name, accountant in ours.items():
        curves[name].append(accountant().compose(event).get_epsilon(delta))
    for name, accountant in peers.items():
        curves[name].append(accountant().compose(event).get_epsilon(delta))
    estimate = central_limit_estimate(
        sampling_probability=poisson.sampling_probability,
        noise_multiplier=sigma,
        steps=int(steps),
    )
    curves["central limit (estimate)"].append(estimate.epsilon_estimate(delta))

figure, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
for name, values in curves.items():
    style = {"exact": "k-", "central limit (estimate)": ":"}.get(name, "o-")
    axes.loglog(horizons, values, style, markersize=3, label=name)
axes.set(xlabel="steps", ylabel=f"ε at δ = {delta:g}")
axes.legend(fontsize=8)
for name, values in curves.items():
    print(f"{name:25}", "  ".join(f"{value:8.5f}" for value in values))
exact = np.array(curves["exact"])
assert all(np.all(np.array(curves[name]) >= exact) for name in ("Rényi", "truncated CDP"))
assert np.allclose(curves["Rényi"], curves["dp_accounting RDP"], rtol=0.02)
assert np.all(np.abs(np.array(curves["dp_accounting PLD"]) / exact - 1) < 0.01)
assert np.all(np.array(curves["central limit (estimate)"]) < exact), "the estimate is too low"

# %% [markdown]
# The exact accountant and dp_accounting's PLD agree: they compute the same quantity, one with a
# proved error, one on a grid. Both Rényi accountants nearly agree (one tries more orders) and are
# above it, most at few steps. And the estimate lies *below* the truth everywhere: a run that is
# calibrated by it has spent more than it says.

# %% [markdown]
# ## 3. The relation, and the unit of the noise
#
# When a record is replaced by another, the sum moves by up to twice the clip norm. Here, and in
# dp_accounting's PLD, the noise multiplier is relative to the clip norm under every relation. In
# dp_accounting's RDP accountant it is relative to what the sum moves by *under the relation*: the
# same σ then means twice the noise. Its answer to "σ" is right for its own unit, and wrong for
# ours.

# %%
once = dp_accounting.GaussianDpEvent(1.0)
here = ExactAccountant(REPLACE).compose(once).get_epsilon(1e-5)
pld = PLDAccountant(REPLACE).compose(once).get_epsilon(1e-5)
rdp = RdpAccountant(neighboring_relation=REPLACE).compose(once).get_epsilon(1e-5)
halved = dp_accounting.GaussianDpEvent(0.5)
same_run = RdpAccountant(neighboring_relation=REPLACE).compose(halved).get_epsilon(1e-5)
print(f"here {here:.4f}, PLD {pld:.4f}; RDP asked with σ {rdp:.4f}, with σ/2 {same_run:.4f}")
assert math.isclose(here, pld, rel_tol=1e-3)
assert rdp < here < same_run, "asked in our unit it is below the truth, in its own above"

# %% [markdown]
# ## 4. Batches of fixed size
#
# A loader that draws exactly 256 records, without replacement, is another mechanism, and so is one
# that draws with replacement. Under REPLACE_ONE no closed answer is known for them: the exact
# accountant has a lower end, attained by explicit data, and two proved upper ends, a fast one and a
# tight one. dp_accounting's Rényi bound covers draws without replacement, for any base mechanism;
# asked with σ/2, its unit, it is about the same run.

# %%
steps = 1000
loaders = {
    "Poisson": poisson,
    "without replacement": WithoutReplacement(records, batch),
    "with replacement": WithReplacement(records, batch),
}
table = {}
for name, sampling in loaders.items():
    event = dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=steps)
    fast = ExactAccountant(REPLACE).compose(event).epsilon_bracket(delta)
    ends = fast  # for Poisson sampling they meet
    if name != "Poisson":
        ends = ExactAccountant(REPLACE, tightness="tight").compose(event).epsilon_bracket(delta)
    renyi = RenyiAccountant(REPLACE).compose(event).get_epsilon(delta)
    table[name] = ends
    print(
        f"{name:20} attained {ends.lower:.4f}, proved {ends.upper:.4f} "
        f"(fast {fast.upper:.4f}, Rényi {renyi:.4f})"
    )
    assert ends.lower <= ends.upper <= min(fast.upper * (1 + 1e-9), renyi)

half = dp_sgd_event(
    sampling=loaders["without replacement"], noise_multiplier=sigma / 2, steps=steps
)
theirs = RdpAccountant(neighboring_relation=REPLACE).compose(half).get_epsilon(delta)
print(f"dp_accounting RDP, without replacement: {theirs:.4f}")
assert theirs > table["without replacement"].upper
assert table["with replacement"].lower > table["without replacement"].lower
assert table["without replacement"].lower > table["Poisson"].upper

try:
    RdpAccountant(neighboring_relation=REPLACE).compose(
        dp_sgd_event(
            sampling=loaders["with replacement"], noise_multiplier=sigma, steps=steps
        )
    )  # fmt: skip
    raise AssertionError("dp_accounting has no theorem for draws with replacement")
except dp_accounting.UnsupportedEventError as refusal:
    print(f"dp_accounting RDP, with replacement: refused ({str(refusal)[:60]}...)")

# %% [markdown]
# Accounting a loader of fixed size as if it were Poisson sampling gives a number well below what is
# *attained*: not a loose promise but a broken one. Here is the whole picture over the steps; bands
# reach from the attained to the (fast) proved end.

# %%
figure, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
longer, bands = horizons[1:], {}
for name, sampling in loaders.items():
    ends = [
        ExactAccountant(REPLACE)
        .compose(dp_sgd_event(sampling=sampling, noise_multiplier=sigma, steps=int(steps)))
        .epsilon_bracket(delta)
        for steps in longer
    ]
    bands[name] = np.array([[end.lower, end.upper] for end in ends])
    (line,) = axes.loglog(longer, bands[name][:, 0], label=name)
    axes.fill_between(longer, *bands[name].T, alpha=0.2, color=line.get_color())
axes.set(xlabel="steps", ylabel=f"ε at δ = {delta:g}, a record replaced")
axes.legend()
assert np.all(bands["Poisson"][:, 1] < bands["without replacement"][:, 0])
assert np.all(bands["without replacement"][:, 0] <= bands["with replacement"][:, 0] * (1 + 1e-9))

# %% [markdown]
# With replacement costs more than without, because a record may be drawn several times into one
# batch; the more steps and noise, the less it matters.

# %%
extra = bands["with replacement"][:, 0] / bands["without replacement"][:, 0] - 1
print("with replacement costs more by", "  ".join(f"{each:.1%}" for each in extra))
assert np.all(extra > -1e-9)
