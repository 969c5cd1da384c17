"""What `resque` prints for a person."""

from collections.abc import Mapping
from typing import Any

from dp2theory.cli._output import describe_inputs
from dp2theory.report.tables import interval, number, text_table


def print_resque_run(
    result: Mapping[str, Any], inputs: Mapping[str, Any], *, quiet: bool = False
) -> None:
    """Print the result of a private or parallel run.

    Parameters
    ----------
    result : mapping
        The ``result`` of the JSON output.
    inputs : mapping
        Inputs with units.
    quiet : bool
        Only ε, or the excess.
    """
    private = result["mode"] == "private"
    if quiet:
        print(result["epsilon"]["upper"] if private else result["runs"][0]["suboptimality"])
        return
    print((_private if private else _parallel)(result))
    print(f"\ninputs:\n{describe_inputs(inputs)}")


def _private(result: Mapping[str, Any]) -> str:
    plan, function, run = result["plan"], result["function"], result["run"]
    parts = [
        f"{function['name']}: n = {function['dataset_size']:,} records, d = "
        f"{function['dimension']}, L = {number(function['lipschitz'])}, R = "
        f"{number(function['radius'])}",
        f"ε in {interval(result['epsilon'])} at δ = {number(plan['target_delta'])} "
        f"({result['relation']}), for the cap on oracle calls of the dearest part",
        f"the rate alone asks for n = {plan['needed']['dataset_size']:,} at accuracy "
        f"{number(plan['accuracy'])}, constants and logarithms left out",
        *(f"note: {note}" for note in plan["notes"]),
        "\nPlan, one row for each disjoint part of the data",
        _plan_table(plan["parts"]),
        "\nε of the ledger; what may be claimed is the upper end for the cap",
        text_table(
            ("accountant", "ε for the cap", "ε for the calls made"),
            [
                (row["accountant"], interval(row["guaranteed"]), interval(row["executed"]))
                for row in result["accountants"]
            ],
        ),
    ]
    if run is None:
        return "\n".join([*parts, "\nnothing was run"])
    rows = [
        ("start", number(function["start_value"]), "–", "–", "–"),
        _method_row("resque", run["value"], run["counts"], result["epsilon"]),
    ]
    rows += [
        _method_row(row["method"], row["value"], row["counts"], row["epsilon"])
        for row in result["compared"]
    ]
    header = ("point", "loss", "gradients", "rounds", "ε")
    made = ", ".join(f"{part['calls']:,} of {part['plan']['max_calls']:,}" for part in run["parts"])
    return "\n".join(
        [
            *parts,
            f"\nRun: oracle calls by part: {made}",
            text_table(header, rows),
            "losses read the data: they are for this page, not for release",
        ]
    )


def _plan_table(parts: list[Mapping[str, Any]]) -> str:
    header = (
        "records", "ρ", "r", "floor", "calls ≤", "draws", "noise σ", "s = σ/2", "failures in δ",
        "promised / needed",
    )  # fmt: skip
    rows = [
        (
            number(part["risk"]["dataset_size"]),
            number(part["smoothing"], 3),
            number(part["radius"], 3),
            number(part["floor"], 3),
            number(part["max_calls"]),
            number(part["draws"]),
            number(part["noise_multiplier"]),
            number(part["noise_multiplier"] / 2),
            number(part["failure_delta"], 2),
            number(part["resolution"], 2),
        )
        for part in parts
    ]
    return text_table(header, rows, left=())


def _method_row(
    name: str, value: float, counts: Mapping[str, int], epsilon: Mapping[str, Any]
) -> tuple[str, str, str, str, str]:
    return (
        name,
        number(value),
        number(counts["queries"]),
        number(counts["query_depth"]),
        interval(epsilon),
    )


def _parallel(result: Mapping[str, Any]) -> str:
    function = result["function"]
    header = (
        "method", "f - f*", "stopped", "accepted", "calls", "rounds", "steps", "gradients",
    )  # fmt: skip
    rows = [
        (
            run["method"],
            number(run["suboptimality"]),
            run["stopped"],
            number(run["accepted"]),
            number(run["counts"]["oracle_calls"]),
            number(run["counts"]["query_depth"]),
            number(run["counts"]["computational_depth"]),
            number(run["counts"]["queries"]),
        )
        for run in result["runs"]
    ]
    return "\n".join(
        [
            f"{function['name']}: d = {function['dimension']}, L = "
            f"{number(function['lipschitz'])}, R = {number(function['radius'])}, f at the start "
            f"{number(function['start_value'])}, f* = {number(result['optimal_value'])}",
            f"accuracy {number(result['runs'][0]['accuracy'])}; rounds are one after the other, "
            "the gradients of a round are parallel",
            "",
            text_table(header, rows, left=(0, 2)),
        ]
    )
