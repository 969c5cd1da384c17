"""`dp2theory audit`: its output, its refusals, and the exit code of a finding."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import validate

# Without sampling the accountant answers at once.
FAST = "audit --executor serial --trials 150 --sampling-probability 1"

OWN = '''
from dataclasses import dataclass

import numpy as np

from dp2theory.optimizers.sgd import DpSgd


class Leaky(DpSgd):
    """Moves by the exact gradient."""

    def apply(self, parameters, state, released):
        everybody = np.arange(self.problem.dataset_size)
        exact = self.problem.clipped_gradient_sum(parameters, everybody, clip_norm=1.0)
        return super().apply(parameters, state, exact)


def leaky(problem):
    optimizer = Leaky(0.1, 1.0, 1.0)
    object.__setattr__(optimizer, "problem", problem)
    return optimizer


right = DpSgd(0.1, 1.0, 1.0)
kind = DpSgd
nothing = len


def open_one(problem):
    from dp2theory.optimizers.sgd import Sgd

    return Sgd(0.1)
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module `own_optimizers` that is found from where the command is called."""
    (tmp_path / "own_optimizers.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    yield "own_optimizers"
    sys.modules.pop("own_optimizers", None)


def test_nothing_is_found_in_a_right_optimizer(cli: Any) -> None:
    done = cli(f"{FAST} --method dp2-rmsprop --json")
    document = done.document
    assert done.code == 0
    assert document["status"] == "ok"
    result = document["result"]
    assert not result["violated"]
    assert result["epsilon"]["shown_lower"] <= result["epsilon"]["accounted"]["upper"]
    assert result["unit_of_privacy"] == "a record"
    inputs = document["inputs"]
    assert inputs["preconditioned_clip_norm"] == {
        "value": 4.0, "unit": "preconditioned gradient norm", "default": True,
    }  # fmt: skip
    assert inputs["noise_multiplier"]["value"] == 1.0
    assert inputs["trials"]["value"] == 150
    again = cli(f"{FAST} --method dp2-rmsprop --json").document
    assert again == document


def test_a_person_reads_the_verdict(cli: Any) -> None:
    done = cli(f"{FAST} --method dp-sgd --sampling without-replacement".replace(
        "--sampling-probability 1", "--batch-size 4"))  # fmt: skip
    assert done.code == 0
    for words in ("nothing found", "no proof", "false alarms", "unit of privacy: a record",
                  "likelihood ratio", "relation: replace-one"):  # fmt: skip
        assert words in done.out


def test_quiet_prints_the_lower_end_alone(cli: Any) -> None:
    done = cli(f"{FAST} --method dp-sgd --quiet")
    assert float(done.out) >= 0
    assert done.err == ""


def test_settings_reach_the_method(cli: Any) -> None:
    words = "--delay 2 --clip-norm 0.5 --set damping=0.01 --noise-multiplier 3"
    inputs = cli(f"{FAST} --method dp2-rmsprop {words} --json").document["inputs"]
    assert inputs["delay"] == {"value": 2, "unit": "steps", "default": False}
    assert inputs["clip_norm"]["value"] == 0.5
    assert inputs["damping"]["value"] == 0.01
    assert inputs["noise_multiplier"] | {"unit": ""} == {"value": 3.0, "unit": "", "default": False}


def test_a_leak_in_an_own_optimizer_is_exit_code_3(cli: Any, own: str, tmp_path: Path) -> None:
    done = cli(f"{FAST} --optimizer {own}:leaky --json --out found.json")
    assert done.code == 3
    assert done.document["status"] == "violated"
    assert done.document["result"]["violated"]
    assert done.err.startswith("dp2theory: dp-sgd: ε is at least ")
    assert json.loads((tmp_path / "found.json").read_text()) == done.document
    said = cli(f"{FAST} --optimizer {own}:leaky")
    assert said.code == 3
    assert "VIOLATED" in said.out


def test_a_right_own_optimizer_passes(cli: Any, own: str) -> None:
    assert cli(f"{FAST} --optimizer {own}:right --quiet").code == 0


def test_an_optimizer_without_noise_has_no_epsilon(cli: Any, own: str) -> None:
    done = cli(f"{FAST} --optimizer {own}:open_one --json")
    assert done.code == 0
    assert done.document["result"]["epsilon"]["accounted"]["upper"] == "inf"
    assert done.document["result"]["power"] == 0


@pytest.mark.parametrize(("name", "told"), [("kind", "TypeError"), ("nothing", "len")])
def test_what_makes_no_optimizer_is_refused(cli: Any, own: str, name: str, told: str) -> None:
    cli(f"{FAST} --optimizer {own}:{name}").refused(2, f"--optimizer {own}:{name}", told)


def test_the_option_is_named_once(cli: Any) -> None:
    cli(f"{FAST} --optimizer nowhere").refused(2, "--optimizer nowhere: must be MODULE:ATTRIBUTE")


def test_a_claim_is_judged(cli: Any) -> None:
    words = "--method dp-sgd --noise-multiplier 0.4 --delta 1e-5"
    done = cli(f"{FAST} {words} --claimed-epsilon 1 --json")
    assert done.code == 3
    assert done.document["result"]["claimed"]
    assert done.document["result"]["profile"] == []
    assert "claimed is 1" in done.err
    assert cli(f"{FAST} {words} --claimed-epsilon 50 --quiet").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", ("--method", "--optimizer", "neither")),
        ("--method dp-sgd --optimizer a:b", ("both",)),
        ("--method dpsgd", ("dpsgd", "dp2-rmsprop")),
        ("--method sgd", ("no noise",)),
        ("--method dp-sgd --delay 3", ("delay",)),
        ("--method dp-sgd --clip-norm 1e308", ("--clip-norm 1e+308: must be in",)),
        ("--method dp-sgd --set learning_rate=1e308", ("--method dp-sgd", "diverged")),
        ("--method dp-sgd --trials 10", ("--trials 10:", "100")),
        ("--method dp-sgd --trials 0", ("--trials 0",)),
        ("--method dp-sgd --steps 0", ("--steps 0",)),
        ("--method dp-sgd --steps 1001", ("--steps 1001", "1,000")),
        ("--method dp-sgd --steps 100", ("steps=100", "400,000")),
        ("--method dp-sgd --dataset-size 101", ("--dataset-size 101",)),
        ("--method dp-sgd --delta 0", ("--delta 0",)),
        ("--method dp-sgd --delta nan", ("--delta nan",)),
        ("--method dp-sgd --seed -1", ("--seed -1",)),
        ("--method dp-sgd --noise-multiplier 0", ("--noise-multiplier 0",)),
        ("--method dp-sgd --sampling shuffled-epochs", ("shuffled-epochs", "poisson")),
        ("--method dp-sgd --sampling-probability 0", ("--sampling-probability 0",)),
        ("--method dp-sgd --sampling-probability 1.5", ("--sampling-probability 1.5",)),
        ("--method dp-sgd --batch-size 2", ("--batch-size 2", "poisson")),
        (
            "--method dp-sgd --sampling with-replacement --sampling-probability .5",
            ("--sampling-probability", "--batch-size"),
        ),
        ("--method dp-sgd --sampling without-replacement --batch-size 5", ("--batch-size 5:",)),
        ("--method dp-sgd --dataset-size 1", ("--dataset-size 1:",)),
        ("--method dp-sgd --relation other", ("--relation", "replace-one")),
        ("--method dp-sgd --claimed-epsilon -1", ("--claimed-epsilon -1",)),
        ("--method dp-sgd --executor threads", ("executor", "threads")),
        ("--method dp-sgd --out /no/such/folder/x.json", ("--out", "folder")),
        ("--method dp-sgd --set clip_norm=1 --clip-norm 2", ("clip_norm", "--clip-norm")),
        ("--method dp-sgd --set nothing=1", ("nothing",)),
        ("--optimizer nothing", ("nothing", "MODULE:ATTRIBUTE")),
        ("--optimizer no_such_module:x", ("no_such_module",)),
        ("--optimizer math:pi", ("math:pi",)),
        ("--optimizer math:pi --clip-norm 1", ("--clip-norm", "--optimizer")),
        ("--optimizer math:pi --noise-multiplier 1", ("--noise-multiplier", "--optimizer")),
    ],
)
def test_bad_input_is_one_line(cli: Any, words: str, told: tuple[str, ...]) -> None:
    cli(f"audit --executor serial {words}" if "--executor" not in words else f"audit {words}",
        "").refused(2, *told)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"violated": None},
        {"epsilon": {"delta": 0.05}},
        {"attempts": []},
        {"direction": "both"},
        {"more": 1},
    ],
)
def test_the_schema_bites(cli: Any, change: dict[str, Any]) -> None:
    document = _document(cli)
    validate(document)
    document["result"] |= change
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


_KEPT: dict[str, Any] = {}


def _document(cli: Any) -> dict[str, Any]:
    if not _KEPT:
        _KEPT.update(cli(f"{FAST} --method dp-sgd --json").document)
    document: dict[str, Any] = json.loads(json.dumps(_KEPT))
    return document
