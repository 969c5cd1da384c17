"""Small settings and tasks that the tests of this folder share."""

from __future__ import annotations

import dataclasses
import functools

from dp2theory.experiments.settings import Setting
from dp2theory.experiments.tasks import Task, TaskResult, code_id, run_task

PROBLEM = "het:n=200,d=12,amin=0.1,avg=4,seed=1"
SETTING = Setting(PROBLEM, 20, steps=20, target_epsilon=3.0)
DP_SGD = {"learning_rate": 1.0, "clip_norm": 1.0}
TASK = Task(SETTING, "dp-sgd", DP_SGD, 1.5, seed=3, record_every=5)


def tasks(count: int) -> list[Task]:
    return [dataclasses.replace(TASK, seed=seed) for seed in range(count)]


@functools.cache
def result() -> TaskResult:
    """What `TASK` gives."""
    return run_task(TASK)


def made_up(**changes) -> TaskResult:
    fields = {
        "final_loss": 0.1 + 0.2,
        "metrics": {"train_loss": 0.1 + 0.2, "odd": float("nan")},
        "steps": 20,
        "loss_steps": (0, 10),
        "losses": (1 / 3, float("inf")),
        "diverged": False,
        "ledger": "made up",
        "code": code_id(),
    }
    return TaskResult(**(fields | changes))
