"""JSON outputs to draw, made by hand, with what is dangerous in names and paths."""

import copy
from typing import Any

from dp2theory.report.html_page import About

#: A name, as of a problem or a path, that would run or break a page that does not escape it.
EVIL = "<script>alert('x')</script>&\"'$\\frac{"
PROVED = {"lower": 0.39358665389866276, "upper": 0.39358665390436187}
EVENT = {
    "module_name": "dp_accounting.dp_event", "class_name": "SelfComposedDpEvent",
    "event": {
        "module_name": "dp_accounting.dp_event", "class_name": "PoissonSampledDpEvent",
        "sampling_probability": 0.01,
        "event": {
            "module_name": "dp_accounting.dp_event", "class_name": "GaussianDpEvent",
            "noise_multiplier": 1.25,
        },
    },
    "count": 100,
}  # fmt: skip
ABOUT = About(
    command=f"dp2theory account --event '{EVIL}'",
    versions={
        "Python": "3.99.1",
        "dp2theory": "9.8.7",
        "dp-accounting": "0.9",
        "numpy": "9.9.9",
        "scipy": "9.9",
    },
    ledgers=[(EVIL, EVENT)],
    theorems=[{"id": "dp2.made", "title": EVIL, "statement": f"a <= {EVIL}"}],
)


def envelope(command: str, inputs: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    told = {
        name: {"value": value, "unit": "records", "default": name == "delta"}
        for name, value in inputs.items()
    }
    return {
        "schema": f"dp2theory/{command}/1", "version": "9.8.7", "command": command,
        "inputs": told, "result": copy.deepcopy(result), "status": "ok",
    }  # fmt: skip


def account_document(**changes: Any) -> dict[str, Any]:
    result = {
        "epsilon": PROVED, "steps": 100,
        "explanation": {"upper": EVIL, "lower": "the same pair", "exact": True,
                        "source": "docs/proofs/poisson.md"},
        "answers": [
            {"accountant": "exact", "claim": "two-sided", "tightness": "tight", "releases": 100,
             "epsilon": PROVED},
            {"accountant": "renyi", "claim": "upper", "releases": 100,
             "epsilon": {"lower": 0.0, "upper": 0.7086682645522262}},
            {"accountant": "tcdp", "claim": "none", "refused": EVIL},
        ],
        "peers": [
            {"name": "opacus", "version": "1.5", "value": 0.40123, "claim": "upper",
             "about": "poisson", "unit": "clip norms", "same_question": True, "note": EVIL},
            {"name": "prv", "version": None, "value": None, "claim": None, "about": None,
             "unit": None, "same_question": False, "note": "not installed"},
        ],
        "alternatives": [{"sampling": "poisson", "relation": "replace-one",
                          "epsilon": {"lower": 0.7, "upper": 0.8}}],
        "against_steps": {"steps": [1, 10, 100],
                          "exact": {"lower": [0.1, 0.2, 0.39], "upper": [0.1, 0.2, "inf"]},
                          "renyi": {"upper": [0.5, 0.6, 0.7]}},
        "notes": [EVIL],
    }  # fmt: skip
    inputs = {"delta": 1e-5, "event": EVIL, "unit_of_privacy": "a record"}
    return envelope("account", inputs, result | changes)


def delta_document() -> dict[str, Any]:
    result = account_document()["result"]
    for part in (result, *result["answers"][:2], *result["alternatives"]):
        part["delta"] = part.pop("epsilon")
    del result["against_steps"]
    result["log_delta"] = {"lower": -800.25, "upper": -800.125}
    return envelope("account", {"epsilon": 2.5}, result)


def remaining_document() -> dict[str, Any]:
    result = {
        "remaining_steps": 2265, "remaining_epochs": 22, "spent": PROVED,
        "epsilon": {"lower": 1.998, "upper": 1.9999}, "notes": [EVIL],
        "next_epsilon": {"lower": 2.0, "upper": 2.0001},
    }  # fmt: skip
    return envelope("account", {"remaining": 2.0, "delta": 1e-5}, result)


def audit_document(**changes: Any) -> dict[str, Any]:
    def point(delta: float, shown: float) -> dict[str, Any]:
        return {"delta": delta, "shown_lower": shown, "accounted": {"lower": 1.22, "upper": 1.23}}

    result = {
        "optimizer": EVIL, "violated": False, "epsilon": point(0.05, 0.9), "power": 0.731707,
        "worst": point(0.05, 0.9), "profile": [point(0.01, 0.8), point(0.1, 1.0)],
        "confidence": 0.999,
        "evidence": {"trials": 40000, "hits": 97, "false_alarms": 28, "hit_chance_lower": 0.17612,
                     "false_alarm_chance_upper": 0.12167, "largest_provable": 3.97268},
        "data_sets": EVIL, "attack": "likelihood ratio", "direction": "remove",
        "attempts": [{"data_sets": EVIL, "attack": EVIL, "promise": 0.40108},
                     {"data_sets": "turned", "attack": "learned", "promise": 0.0}],
        "claimed": False, "unit_of_privacy": "a record",
    }  # fmt: skip
    return envelope("audit", {"optimizer": EVIL, "seed": 77}, result | changes)


def sweep_document(**changes: Any) -> dict[str, Any]:
    def cell(method: str, losses: list[Any], **more: Any) -> dict[str, Any]:
        runs = [{"seed": k, "train_loss": loss, "diverged": loss == "inf", "metrics": {},
                 "loss_steps": [0, 10], "losses": [0.69, loss]}
                for k, loss in enumerate(losses)]  # fmt: skip
        return {
            "method": method, "settings": {"learning_rate": 1.5}, "noise_multiplier": 0.78186085,
            "epsilon": {"lower": 2.999, "upper": 2.9999}, "ledger": "x", "grid_size": None,
            "mean_train_loss": "inf" if "inf" in losses else sum(losses) / max(1, len(losses)),
            "mean_metrics": None, "diverged": losses.count("inf"), "paired": None, "runs": runs,
        } | more  # fmt: skip

    paired = {
        "pairs": 2, "mean": 0.66, "baseline_mean": 0.6, "confidence": 0.95,
        "difference": {"mean": 0.06, "interval": {"lower": -0.08, "upper": 0.2}},
        "ratio": {"value": 1.0940086, "interval": {"lower": 0.84384, "upper": 1.26935}},
    }  # fmt: skip
    group = {
        "problem": EVIL, "problem_options": {"data": EVIL}, "unit": "a record",
        "dataset_size": 40000, "dimension": 13, "public_share": 0.0, "batch_size": 20, "steps": 20,
        "sampling": "poisson", "relation": "add-or-remove-one", "target_epsilon": 3.0,
        "delta": 0.0029435, "baseline": 0,
        "cells": [
            cell("dp-sgd", [0.61, 0.62]),
            cell("dp2-rmsprop", [0.66, 0.68], settings={"delay": 2}, paired=paired),
            cell("dp2-rmsprop", [0.7, "inf"], settings={"delay": 5}),
            cell("dp2-rmsprop", [], settings={"delay": 7}, mean_train_loss=None),
        ],
    }  # fmt: skip
    result = {"groups": [group], "runs": 6, "seeds": [5, 6], "tuning_seeds": [900, 901],
              "notes": [EVIL]}  # fmt: skip
    return envelope("sweep", {"spec": EVIL, "seeds": 2}, result | changes)


def verify_document(*, violated: bool = False) -> dict[str, Any]:
    def theorem(id: str, **more: Any) -> dict[str, Any]:
        return {
            "id": id, "title": EVIL, "kind": "upper", "proof": "proved", "assumed": [],
            "failed": [], "tested": [], "words": "not tested", "verdict": "holds",
            "slack": None, "why_not": "", "seconds": 0.125,
        } | more  # fmt: skip

    def test(**more: Any) -> dict[str, Any]:
        return {"on": "runs", "what": EVIL, "count": 64, "slack": 1.6125, "interval": [1.55, 1.675],
                "violation": "", "searched": 12} | more  # fmt: skip

    made = [
        theorem("dp2.W", tested=[test(), test(on="models", interval=None, slack=2.5, count=9)],
                words="tested on 64 runs, 9 models", slack=1.6125),
        theorem("dp2.A", proof="proved, with assumed steps", assumed=[EVIL],
                verdict="proved, not tested", why_not=EVIL),
    ]  # fmt: skip
    if violated:
        broken = test(slack=0.625, interval=None, violation=EVIL, searched=0)
        made.append(theorem("dp2.master", tested=[broken], slack=0.625, verdict="violated",
                            failed=["step <3>"], proof="failed"))  # fmt: skip
    result = {
        "level": "quick", "seed": 0, "seconds": 12.34,
        "violated": ["dp2.master"] if violated else [],
        "counts": {"theorems": len(made), "violated": int(violated), "proved": 1, "assuming": 1,
                   "failed": int(violated), "tested_on_runs": 1 + violated,
                   "tested_on_models_only": 0, "not_tested": 1},
        "notes": [EVIL], "unfinished": [], "theorems": made,
    }  # fmt: skip
    return envelope("verify", {"ids": [EVIL, "dp2.A"], "seed": 0, "none": None}, result)
