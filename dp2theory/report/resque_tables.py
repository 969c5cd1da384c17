"""Tables of the figures on ReSQue in text: title, header and rows, from given results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dp2theory.digits import short, within
from dp2theory.report.resque_common import named
from dp2theory.report.tables import number

#: Title, header, rows.
Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
#: Powers of the dimension that the text shows; the data have more.
THETAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 4 / 3, 1.5, 2.0)
#: Twelfths are the finest grid of powers.
FINEST = 12


def tables_of(result: Mapping[str, Any]) -> list[Table]:
    """The tables of one figure.

    Parameters
    ----------
    result : mapping
        The ``result`` of ``dp2theory figure``.
    """
    data = result["data"]
    makers: dict[str, Sequence[Callable[[Mapping[str, Any]], Table]]] = {
        "resque-fig1": (crossing_table, exponent_table),
        "resque-table1": (rate_table, parallel_slope_table, data_table),
        "resque-table2": (exponent_table, accountant_table, private_table),
        "ball-slope": (step_table, slope_table),
        "drift": (growth_table, moment_table),
    }
    return [make(data) for make in makers[result["figure"]]]


def crossing_table(data: Mapping[str, Any]) -> Table:
    """Where rates cross."""
    rows: list[tuple[str, ...]] = [
        (one["what"], "–" if one["at"] is None else f"{one['at']:.6g}", one["expected_words"])
        for one in (*data["crossings"], *data["meetings"])
    ]
    return ("where rates cross (accuracy ε, or theta)", ("", "at", "expected"), rows)


def exponent_table(data: Mapping[str, Any]) -> Table:
    """Exponents of n, method by method."""
    places = [
        (place, theta)
        for place, theta in enumerate(data["thetas"])
        if any(abs(theta - shown) < 1e-9 for shown in THETAS)
    ]
    rows = [
        (
            named(row, column),
            column,
            *(str(Fraction(values[place]).limit_denominator(100)) for place, _ in places),
        )
        for row in data["private"]
        for column, values in row["values"].items()
    ]
    header = tuple(str(Fraction(theta).limit_denominator(FINEST)) for _, theta in places)
    return ("exponents of n for d = n^theta, privacy ε = 1", ("theta", "", *header), rows)


def rate_table(data: Mapping[str, Any]) -> Table:
    """Table 1 at the accuracies of the data."""
    rows = [
        (
            named(row, column),
            column,
            *(f"{value:.4g}" for value in row["values"][column]),
        )
        for row in data["rates"]
        for column in row["values"]
    ]
    header = tuple(f"ε = {accuracy:g}" for accuracy in data["accuracies"])
    return (f"rates at d = {data['dimension']:,}", ("", "", *header), rows)


def parallel_slope_table(data: Mapping[str, Any]) -> Table:
    """Slopes of our runs beside those of the rates."""
    names = {run["method"]: run["row"] for run in data["runs"]}
    rows: list[tuple[str, ...]] = [
        (
            f"{names[one['method']]}, {one['function']}",
            "1/ε" if one["sweep"] == "accuracy" else "d",
            one["column"],
            "–" if one["measured"] is None else f"{one['measured']:.3f}",
            f"{one['rate']:.3f}",
        )
        for one in data["slopes"]
    ]
    return ("slopes of our runs", ("", "against", "of", "measured", "rate there"), rows)


def data_table(data: Mapping[str, Any]) -> Table:
    """Runs on real data, first seed."""
    runs = [run for run in data["runs"] if run["sweep"] == "data"]
    first = min((run["seed"] for run in runs), default=0)
    rows: list[tuple[str, ...]] = [
        (
            f"{run['row']}, {run['function']}", str(run["dimension"]), f"{run['accuracy']:g}",
            str(run["query_depth"]), str(run["computational_depth"]), str(run["queries"]),
            "–" if run["suboptimality"] is None else f"{run['suboptimality']:.3g}",
        )
        for run in runs
        if run["seed"] == first
    ]  # fmt: skip
    header = ("", "d", "ε", "query depth", "comp. depth", "queries", "f - f*")
    return (f"losses on real data, seed {first}", header, rows)


def accountant_table(data: Mapping[str, Any]) -> Table:
    """Upper ends of ε by four accountants, and the lower end of all."""
    rows: list[tuple[str, ...]] = [
        (
            f"{row['dataset_size']:,}", str(row["dimension"]), str(row["calls"]),
            str(row["draws"]), f"{row['noise_over_sensitivity']:g}",
            short(row["epsilon"]["exact"]["lower"], "lower", 4),
            *(short(bracket["upper"], "upper", 5) for bracket in row["epsilon"].values()),
        )
        for row in data["accounted"]
    ]  # fmt: skip
    names = ("exact", "Rényi", "truncated CDP", "advanced")
    header = ("n", "d", "calls", "draws", "noise/sensitivity", "lower end", *names)
    delta = data["accounted"][0]["target_delta"]
    return (f"ε of all oracle calls, δ = {delta:g}, replacement of a record", header, rows)


def private_table(data: Mapping[str, Any]) -> Table:
    """Our private runs; the start costs nothing."""
    study = data["study"]
    rows: list[tuple[str, ...]] = [
        ("start", f"{row['dataset_size']:,}", str(row["dimension"]), f"{row['excess']:.3g}",
         *("–",) * 5)
        for row in study["starts"]
    ]  # fmt: skip
    rows += [
        (
            row["method"], f"{row['dataset_size']:,}", str(row["dimension"]),
            f"{row['excess']:.3g}", f"{row['standard_error']:.2g}", f"{row['fresh_excess']:.3g}",
            f"{row['queries']:,.0f}", f"{row['query_depth']:,.0f}",
            within(row["epsilon"], 4),
        )
        for row in study["rows"]
    ]  # fmt: skip
    header = ("", "n", "d", "excess", "error", "on fresh", "gradients", "rounds", "ε")
    title = f"our runs, budget ε = {study['target_epsilon']:g}, δ = {study['target_delta']:g}"
    return (title, header, rows)


def step_table(data: Mapping[str, Any]) -> Table:
    """Counts at every radius."""
    columns = ("accepted", "calls", "leaping_accepted", "leaping_calls", "bisection_free", "naive")
    rows: list[tuple[str, ...]] = [
        (
            row["function"], f"{row['ratio']:g}",
            *("–" if row[name] is None else str(row[name]) for name in columns),
            f"{row['bound']:.1f}",
        )
        for row in data["rows"]
    ]  # fmt: skip
    header = (
        "", "R/r", "accepted", "calls", "accepted, warm", "calls, warm", "no bisection",
        "oracle alone", "bound",
    )  # fmt: skip
    return ("steps and calls (warm: the search begins at the last multiplier)", header, rows)


def slope_table(data: Mapping[str, Any]) -> Table:
    """Slopes of counts, function by function."""
    slopes = data["slopes"]
    functions = list(slopes["accepted"])
    rows: list[tuple[str, ...]] = [
        (name.replace("leaping_", "warm ").replace("_", " "),
         *(f"{values[function]:.3f}" for function in functions))
        for name, values in slopes.items()
    ]  # fmt: skip
    return ("slopes in log-log scale", ("", *functions), rows)


def growth_table(data: Mapping[str, Any]) -> Table:
    """Drift against the number of steps, by what the runs share."""
    rows: list[tuple[str, ...]] = [
        (
            f"{part['kind']}, {row['method']}", str(part["seed"]), str(row["steps"]),
            f"{row['ratio']:g}", f"{row['drift']:.5g}", f"{row['standard_error']:.1g}",
        )
        for part in data["parts"]
        if part["part"] in ("hard", "independent")
        for row in sorted(part["rows"], key=lambda row: str(row["method"]))
    ]  # fmt: skip
    return ("drift, root mean square", ("", "seed", "T", "r/ρ", "drift", "error"), rows)


def moment_table(data: Mapping[str, Any]) -> Table:
    """Moments of coupled drift beside their bounds."""
    rows: list[tuple[str, ...]] = [
        (
            part["kind"], str(part["seed"]), str(row["steps"]), f"{row['ratio']:g}",
            f"{row['order']:g}", f"{row['drift']:.5f}", f"{row['standard_error']:.1g}",
            *(number(row[name], 5) if row[name] is not None else "–"
              for name in ("sharp_bound", "bound")),
        )
        for part in data["parts"]
        for row in part["rows"]
        if row["bound"] is not None
    ]  # fmt: skip
    header = ("", "seed", "T", "r/ρ", "p", "drift", "error", "sharp bound", "bound")
    return ("moments of order p of coupled drift", header, rows)
