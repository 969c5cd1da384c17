"""What `resque` prints for a person."""

from collections.abc import Mapping
from typing import Any

from dp2theory.cli._output import describe_inputs
from dp2theory.digits import short
from dp2theory.report.tables import number, text_table


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
    claim = _outward(result["epsilon"])
    parts = [
        f"{function['name']}: n = {function['dataset_size']:,} records, d = "
        f"{function['dimension']}, Lipschitz constant L = {number(function['lipschitz'])}, "
        f"radius R = {number(function['radius'])}",
        f"ε <= {claim[1]} may be claimed, at δ = {number(plan['target_delta'])}, when one record "
        f"is replaced\n  (for the cap on oracle calls{_dearest(plan)}; who knows draws and noise "
        f"only cannot claim less than {claim[0]})",
        *(f"note: {note}" for note in plan["notes"]),
        "\nPlan, made before the data are read; one row for each disjoint part of the records",
        _plan_table(plan["parts"]),
        _LEGEND,
        f"the rate alone asks for n = {plan['needed']['dataset_size']:,} at accuracy "
        f"{number(plan['accuracy'])}; constants and logarithms, which it leaves out, ask for more",
        f"\nε of the ledger, {_BRACKET}; what may be claimed is the upper end for the cap",
        _accountant_table(result["accountants"], run is not None),
    ]
    if run is None:
        return "\n".join([*parts, "\nnothing was run: --plan-only"])
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
    more = ["each row spends its ε anew"] if result["compared"] else []
    return "\n".join(
        [
            *parts,
            f"\nRun: oracle calls made, by part: {made}",
            text_table(header, rows),
            *more,
            "losses are read from the data: they are for you and not for release, and so is the "
            "seed, which repeats the noise",
        ]
    )


_BRACKET = "[attained, proved]"
_LEGEND = (
    "ρ: smoothing; r: radius of a ball; draws: gradients of a call, drawn with replacement\n"
    "σ: noise multiplier, with which replacing a record moves a sum by up to 2\n"
    "failures: what of δ pays for drifts beyond the noise\n"
    "resolution: excess that the analysis promises for a call, over what it needs; above 1 nothing "
    "is promised"
)


def _dearest(plan: Mapping[str, Any]) -> str:
    return " of the dearest part" if len(plan["parts"]) > 1 else ""


def _outward(bracket: Mapping[str, Any], digits: int = 4) -> tuple[str, str]:
    """Both ends in a few digits, the lower one rounded down and the upper one up."""
    return short(bracket["lower"], "lower", digits), short(bracket["upper"], "upper", digits)


def _ends(bracket: Mapping[str, Any]) -> str:
    return f"[{', '.join(_outward(bracket))}]"


def _accountant_table(accountants: list[Mapping[str, Any]], executed: bool) -> str:
    header = ["accountant", "ε for the cap"]
    header += ["ε for the calls made"] * executed
    rows = [
        [row["accountant"], _ends(row["guaranteed"]), *[_ends(row["executed"])] * executed]
        for row in accountants
    ]
    return text_table(header, rows)


def _plan_table(parts: list[Mapping[str, Any]]) -> str:
    header = (
        "records", "ρ", "r", "calls ≤", "draws", "σ", "noise / sensitivity", "failures",
        "resolution",
    )  # fmt: skip
    rows = [
        (
            number(part["risk"]["dataset_size"]),
            number(part["smoothing"], 3),
            number(part["radius"], 3),
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
        _ends(epsilon),
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
    accuracy = result["runs"][0]["accuracy"]
    notes = []
    if result["runs"][0]["counts"]["query_depth"] == 0 and function["start_value"] <= (
        result["optimal_value"] + accuracy
    ):
        notes.append(
            "note: the start is within the accuracy already, nothing was asked: lower --accuracy"
        )
    methods = {run["method"]: run["stopped"] for run in result["runs"]}
    notes += [
        f"stopped, {name}: {words}" for name, words in _STOPPED.items() if name in methods.values()
    ]
    notes += [
        f"rate of {name}, without constants and logarithms: theorem {theorem} (docs/theorems)"
        for name, theorem in _RATES.items()
        if name in methods
    ]
    return "\n".join(
        [
            f"{function['name']}: d = {function['dimension']}, Lipschitz constant L = "
            f"{number(function['lipschitz'])}, radius R = {number(function['radius'])}, f at the "
            f"start {number(function['start_value'])}, f* = {number(result['optimal_value'])} "
            "within R of it",
            f"accuracy {number(accuracy)}, in units of f",
            "",
            text_table(header, rows, left=(0, 2)),
            *notes,
            _COUNTS,
        ]
    )


_COUNTS = (
    "accepted: steps of ball acceleration; calls: balls minimised, rejected tries included; "
    "rounds: one after\nthe other (query depth), the gradients of a round at once; steps: of "
    "computation (its depth)"
)
_RATES = {"resque-1": "resque.parallel.1", "resque-2": "resque.parallel.2"}
_STOPPED = {
    "accuracy": "f - f* was seen to be at most the accuracy, which reads f*",
    "guarantee": "after the steps that suffice by the method's own bound, for exact answers",
    "max_rounds": "it ran out of rounds",
}
