"""Results to draw, made by hand: the report must not need anything to have been run."""

import copy
from typing import Any


def plan_result(**changes: Any) -> dict[str, Any]:
    blocks = [
        {"length": 2**k, "value": 0.05 * 2**k, "blocks": 64 >> k, "signal": 1e-4,
         "noise": 1e-3 / 2**k, "drift": 1e-4}
        for k in range(5)
    ]  # fmt: skip
    result = {
        "noise_multiplier": 1.2345678,
        "epsilon": {"lower": 2.79, "upper": 2.8},
        "steps": 400,
        "advice": "marginal",
        "reason": "the average has ratio 0.5 <&> it is close",
        "delay": {"recommended": 7, "default": 10, "shortest": 5, "first_clear_length": 20},
        "snr": {"at_default_delay": 0.5, "noise_norm_at_default_delay": 0.1, "blocks": blocks},
        "pilot": {
            "steps": 100,
            "epsilon_spent": {"lower": 1.2, "upper": 1.21},
            "losses": [{"step": 10 * k, "train_loss": 0.69 - 0.01 * k} for k in range(11)],
        },
        "certified": {"missing": [], "answers": [certified("a-priori"), certified("estimate")]},
        "notes": ["a note about <private> losses"],
    }
    return copy.deepcopy(result | changes)


def certified(kind: str) -> dict[str, Any]:
    return {
        "kind": kind, "delay": 67, "value": 0.198,
        "flat_range": {"shortest": 42, "longest": 91, "delays": 48},
        "active_branch": "staleness", "updates": 7, "at_recommended_delay": 0.31,
        "dp_sgd": 0.224, "dp_sgd_with_same_knowledge": 0.133, "trivial": 7.07,
        "vacuous": False, "prefers_dp_sgd": False, "smooth_delay": 65.9,
        "verdict": "s = 67, below the <bound> of DP-SGD",
        "phi": {"base": 0.4, "informative": False, "relative_delay": None, "delay": None,
                "message": "bound uninformative for s"},
        "schedule": {"decay": 0.01, "delay": 7, "log10_factor": 116.0},
        "inputs": {}, "origin": {"mean_gradient": "estimate"},
        "theorems": {
            name: f"dp2.{name}"
            for name in ("value", "shape", "active_branch", "dp_sgd", "same_knowledge", "phi",
                         "schedule")
        },
    }  # fmt: skip


def inputs() -> dict[str, Any]:
    return {
        "problem": {"value": "<hetM>", "unit": "name", "default": False},
        "dataset_size": {"value": 40000, "unit": "records", "default": False},
        "delta": {"value": 1e-5, "unit": "probability", "default": True},
        "learning_rate": {"value": 13.2, "unit": "1", "default": False},
        "seed": {"value": 7, "unit": "1", "default": False},
        "tune": {"value": True, "unit": "yes or no", "default": False},
    }


def plan_document(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "dp2theory/plan/1", "version": "9.8.7", "command": "plan",
        "inputs": inputs(), "result": plan_result(**changes), "status": "ok",
    }  # fmt: skip


def arm(method: str, losses: list[float], **changes: Any) -> dict[str, Any]:
    runs = [
        {"seed": k, "completed": True, "steps": 20, "pilot_steps": 0, "delay": None,
         "train_loss": loss, "metrics": {"train_loss": loss, "test_loss": loss + 0.01},
         "loss_steps": [0, 10, 20], "losses": [0.7, loss + 0.1, loss]}
        for k, loss in enumerate(losses)
    ]  # fmt: skip
    mean = sum(losses) / len(losses) if losses else None
    described = {
        "method": method, "settings": {"method": method, "learning_rate": 1.0}, "runs": runs,
        "mean_train_loss": mean,
        "mean_metrics": None if mean is None else {"train_loss": mean, "test_loss": mean + 0.01},
        "mean_curve": {"steps": [0, 10, 20], "losses": [0.7, mean + 0.1, mean]}
        if mean is not None else {"steps": [], "losses": []},
        "epsilon": {"lower": 2.7, "upper": 2.8}, "releases": 20,
    }  # fmt: skip
    return described | changes


def runs_document() -> dict[str, Any]:
    result = {
        "noise_multiplier": 1.25, "epsilon": {"lower": 2.7, "upper": 2.8}, "steps": 20,
        "releases": 20, "method": arm("dp2-rmsprop", [0.40, 0.42]),
        "compare": arm("dp-sgd", [0.45, 0.47]),
        "paired": {
            "pairs": 2, "mean": 0.41, "baseline_mean": 0.46,
            "difference": {"mean": -0.05, "interval": {"lower": -0.06, "upper": -0.04}},
            "ratio": {"value": 0.891, "interval": {"lower": 0.88, "upper": 0.90}},
            "confidence": 0.95,
        },
        "tuning": None, "discarded_pilot": None, "notes": ["one run, released alone"],
    }  # fmt: skip
    return {
        "schema": "dp2theory/train/1", "version": "9.8.7", "command": "train",
        "inputs": inputs(), "result": result, "status": "ok",
    }  # fmt: skip


def certificate(*, violated: bool = False) -> dict[str, Any]:
    def bound(theorem: str, kind: str, **more: Any) -> dict[str, Any]:
        return {
            "theorem": theorem, "gap_of": "mean over the <steps>", "reads": "raw gradients",
            "kind": kind, "bound": 0.20192505174, "gap": 0.016137601231,
            "bound_interval": {"lower": 0.2018, "upper": 0.2019} if kind == "estimate" else None,
            "gap_interval": {"lower": 0.0129076, "upper": 0.0193675}, "runs_above": 0,
            "holds": True,
        } | more  # fmt: skip

    last = {"gap": 0.25, "holds": False, "runs_above": 2} if violated else {}
    return {
        "statement": "an estimate over 2 runs, not for release: it reads raw gradients",
        "runs": 2, "box": {"low": -1.0, "high": 1.0, "dimension": 10},
        "optimal_value": 0.0043307, "trivial": 0.6324555, "vacuous": violated,
        "violated": violated, "confidence": 0.95,
        "bounds": [bound("dp2.master", "estimate"), bound("dp2.made", "upper", **last)],
        "not_applicable": {"dp2.A": "it is about <decaying> step sizes"},
    }  # fmt: skip


def certified_runs(*, violated: bool = False) -> dict[str, Any]:
    document = runs_document()
    document["result"] |= {"compare": None, "paired": None,
                           "certificate": certificate(violated=violated)}  # fmt: skip
    document["status"] = "violated" if violated else "ok"
    return document


def snapshot_document() -> dict[str, Any]:
    document = plan_document()
    document["inputs"]["method"] = {"value": "snapshot", "unit": "name", "default": False}
    del document["inputs"]["seed"]
    document["result"] = {
        "noise_multiplier": 0.90751562952, "noise_multiplier_without": 0.89957879174,
        "settings": {"refreshes": 2, "period": 50, "snapshot_noise_multiplier": 6.657150673,
                     "histogram_noise_multiplier": 99.0147542976},
        "snapshot_share": 0.05, "histogram_share": 0.00022602,
        "epsilon": {"lower": 2.799999998924242, "upper": 2.799999998924377}, "steps": 156,
        "releases": [
            {"what": "histogram", "count": 1, "noise_multiplier": 99.0147542976, "records": "all"},
            {"what": "snapshot", "count": 2, "noise_multiplier": 6.657150673, "records": "all"},
            {"what": "gradient", "count": 156, "noise_multiplier": 0.90751562, "records": "batch"},
        ],
        "events": "…", "reach": 597.87572, "notes": ["a <rule> of thumb"],
        "train_command": "dp2theory train --problem '<NAME>' --method snapshot",
    }  # fmt: skip
    return document
