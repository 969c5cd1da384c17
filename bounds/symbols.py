"""Symbols that both papers use, as glossary entries."""

from __future__ import annotations

from bounds.glossary import index, parameter

t = index("t", "step, counted from 1", "step")
i = index("i", "a second step or coordinate", "other_index")
j = index("j", "coordinate, counted from 1", "coordinate")
k = index("k", "phase or update, counted from 1", "phase")

n = parameter("n", "n", "dataset_size", "integer >= 1", "number of records", "records")
d = parameter("d", "d", "dimension", "integer >= 1", "number of parameters of the model")
b = parameter("b", "b", "batch_size", "integer >= 1", "records in a batch", "records")
T = parameter("T", "T", "steps", "integer >= 1", "number of steps of a run", "steps")
sigma = parameter(
    "sigma",
    r"\sigma",
    "noise_multiplier",
    ">= 0",
    "noise std on the summed gradient divided by the clip norm",
)
eps_dp = parameter(
    "eps_dp", r"\varepsilon_{\mathrm{dp}}", "target_epsilon", "> 0", "privacy budget: epsilon"
)
delta = parameter("delta", r"\delta", "target_delta", "in (0, 1)", "privacy budget: delta")
