"""`dp2theory resque`: private and parallel runs, their ledger, and their refusals."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from dp2theory.cli.app import main
from tests.cli.conftest import Outcome, validate

Cli = Callable[..., Outcome]
SMALL = "resque private --records 4000 --dimension 2 --accuracy 0.2 --draws 64 --max-calls 120"
QUICK = "resque parallel --dimension 4 --accuracy 0.3"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One private run beside a baseline, with the files that it wrote."""
    folder = tmp_path_factory.mktemp("resque")
    words = f"{SMALL} --compare noisy-sgd --ledger {folder}/ledger.json --out {folder}/out.json"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(words.split()) == 0
    document = json.loads((folder / "out.json").read_text())
    validate(document)
    return {"document": document, "text": printed.getvalue(), "ledger": folder / "ledger.json"}


def test_private_run_and_what_it_costs(kept: dict[str, Any]) -> None:
    result = kept["document"]["result"]
    assert 0 < result["epsilon"]["lower"] <= result["epsilon"]["upper"] <= 1
    calls = [part["calls"] for part in result["run"]["parts"]]
    counts = result["run"]["counts"]
    # Every oracle call is in the ledger of its part, with one round of all its draws.
    assert sum(calls) == counts["oracle_calls"] == counts["query_depth"]
    assert 0 < max(calls) <= 120
    assert [part["calls"] for part in result["run"]["ledger"]["parts"]] == calls
    assert counts["queries"] == 64 * sum(calls)
    claims = [row["guaranteed"]["upper"] for row in result["accountants"]]
    assert result["accountants"][0]["accountant"] == "exact"
    assert claims[0] == result["epsilon"]["upper"] == min(claims)
    for row in result["accountants"]:
        assert row["executed"]["upper"] <= row["guaranteed"]["upper"]
    assert result["compared"][0]["epsilon"]["upper"] <= 1
    assert all("source" in each for each in result["plan"]["constants"].values())
    assert result["plan"]["needed"]["dataset_size"] >= 1
    assert "what may be claimed" in kept["text"]


def test_the_event_that_is_written_is_the_one_that_is_claimed(
    cli: Cli, kept: dict[str, Any]
) -> None:
    document = kept["document"]
    delta = document["inputs"]["delta"]["value"]
    account = cli(f"account --event {kept['ledger']} --delta {delta} --json").document
    assert account["inputs"]["relation"]["value"] == "replace-one"
    claimed = document["result"]["epsilon"]
    found = account["result"]["epsilon"]
    assert found["upper"] == pytest.approx(claimed["upper"], rel=1e-6)
    assert found["lower"] <= claimed["lower"] * (1 + 1e-6)  # that of the dearest part alone


def test_the_same_seed_repeats_a_run(cli: Cli, kept: dict[str, Any]) -> None:
    again = cli(SMALL, "--json").document["result"]
    assert again["run"] == kept["document"]["result"]["run"]
    assert again["epsilon"] == kept["document"]["result"]["epsilon"]


def test_a_plan_without_a_run(cli: Cli) -> None:
    """With another constant by name."""
    text = cli(SMALL, "--plan-only --set drift_factor=1.5")
    assert text.code == 0
    assert "nothing was run" in text.out


def test_parallel_methods_side_by_side(cli: Cli) -> None:
    document = cli(QUICK, "--compare sgd --compare resque-1 --json").document
    runs = {run["method"]: run for run in document["result"]["runs"]}
    assert list(runs) == ["resque-2", "sgd", "resque-1"]
    for run in runs.values():
        assert run["suboptimality"] <= 0.3
    for name in ("resque-1", "resque-2"):
        counts = runs[name]["counts"]
        assert counts["oracle_calls"] == counts["query_depth"]
    assert runs["sgd"]["counts"]["query_depth"] == runs["sgd"]["counts"]["queries"]
    assert "gradients" in cli(QUICK).out
    assert float(cli(QUICK, "--quiet").out) == runs["resque-2"]["suboptimality"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("sideways", ["mode 'sideways'", "private, parallel"]),
        ("private --function nothing", ["--function 'nothing'", "absolute"]),
        ("private --records 1", ["--records 1", "at least 2"]),
        ("private --function max", ["--function max", "records"]),
        ("private --method sgd", ["--method sgd", "no meaning with private"]),
        ("parallel --epsilon 1", ["--epsilon 1.0", "no meaning with parallel"]),
        ("parallel --ledger x.json", ["--ledger x.json", "no meaning with parallel"]),
        ("parallel --plan-only", ["--plan-only"]),
        ("private --plan-only --compare noisy-sgd", ["--compare"]),
        ("private --epsilon nan", ["--epsilon nan", "greater than 0"]),
        ("private --epsilon -1", ["--epsilon -1.0"]),
        ("private --delta 1", ["--delta 1.0", "strictly between"]),
        ("private --draws 0", ["--draws 0"]),
        ("private --records 0", ["--records 0"]),
        ("private --records 100000000000", ["--records 100000000000", "100,000,000"]),
        ("parallel --dimension 100000000000", ["--dimension 100000000000", "100,000,000"]),
        ("private --accuracy 7", ["--accuracy 7.0", "at most"]),
        ("private --seed -1", ["--seed -1"]),
        ("private --compare sgd", ["--compare 'sgd'", "noisy-sgd"]),
        ("private --set c=2", ["--set c", "drift_factor"]),
        ("private --set band=2", ["--set band"]),
        ("private --set drift_factor=nan", ["drift_factor"]),
        ("private --set drift_factor=.5", ["drift_factor"]),
        ("parallel --set pool_factor=-1", ["pool_factor"]),
        ("parallel --method dp-sgd", ["--method 'dp-sgd'", "resque-1"]),
        ("parallel --records 5", ["--records 5:", "max"]),
        ("parallel --executor thread", ["executor"]),
        ("private --out /nowhere/x.json", ["--out /nowhere/x.json"]),
    ],
)
def test_refusals(cli: Cli, options: str, words: list[str]) -> None:
    cli(f"resque {options}").refused(2, *words)


def test_failures_that_eat_delta_are_infeasible(cli: Cli) -> None:
    """With r = rho the drift is not covered: no noise helps, and the message says what would."""
    found = cli(SMALL, "--set radius_over_smoothing=1")
    found.refused(4, "drift_factor", "delta/2", "nearest feasible")
