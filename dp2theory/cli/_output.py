"""What a command prints: the `--json` envelope, or text for a person.

Stdout carries the result only, in one write at the end, so that an error leaves nothing there.
"""

import dataclasses
import enum
import json as json_module
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dp2theory import __version__

SCHEMA_VERSION = 1

# One unit per input name, so that the same name never means two things in two commands.
UNITS: dict[str, str] = {
    "adaptive_learning_rate": "1",
    "adaptive_steps": "steps",
    "batch_size": "records (expected batch size)",
    "clip_norm": "gradient norm",
    "damping": "gradient size",
    "delay": "steps",
    "delta": "probability",
    "dimension": "coordinates",
    "dataset_size": "records",
    "draw_probability": "per record and draw",
    "effective_step": "learning rate x clip norm",
    "ema": "1",
    "epochs": "passes",
    "epsilon": "nats",
    "learning_rate": "1",
    "max_examples": "random examples for each law",
    "noise_multiplier": "clip norms (noise standard deviation on the summed gradient)",
    "remaining": "nats",
    "preconditioned_clip_norm": "preconditioned gradient norm",
    "seed": "1",
    "sampling_probability": "per record and step",
    "seeds": "runs",
    "sgd_steps": "steps",
    "steps": "steps",
}


#: Units as they are said of one thing.
SINGULAR = {"coordinates": "coordinate", "nats": "nat", "passes": "pass", "records": "record",
            "runs": "run", "snapshots": "snapshot", "steps": "step"}  # fmt: skip


class Input(NamedTuple):
    """One resolved input of a command.

    Attributes
    ----------
    value
        The value that was used, after defaults were filled in.
    default
        True when the user did not give it and the command chose it.
    unit
        Its unit; when left out, `UNITS` by the input's name, else "1" for numbers and "name" for
        text.
    """

    value: Any
    default: bool = False
    unit: str | None = None


def jsonable(value: Any) -> Any:
    """`value` in plain JSON types, with infinities and NaN as the strings "inf", "-inf", "nan"."""
    if isinstance(value, enum.Enum):
        return jsonable(value.value)
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        # float(): a numpy double is a float whose own repr is not JSON.
        return float(value) if math.isfinite(value) else str(float(value))
    if hasattr(value, "to_json"):
        return jsonable(value.to_json())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: jsonable(getattr(value, field.name)) for field in fields}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return jsonable(value._asdict())
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return jsonable(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    raise TypeError(f"no JSON form for {type(value).__name__}: {value!r}")


def _input(name: str, given: Any) -> dict[str, Any]:
    entry = given if isinstance(given, Input) else Input(given)
    unit = entry.unit or UNITS.get(name)
    if unit is None:
        unit = "name" if isinstance(entry.value, str) else "1"
    return {"value": jsonable(entry.value), "unit": unit, "default": entry.default}


def envelope(
    command: str, inputs: Mapping[str, Any], result: Any, *, status: str = "ok"
) -> dict[str, Any]:
    """The object that `--json` prints.

    Parameters
    ----------
    command
        Name of the command, which is also the name of its schema file in `dp2theory/schemas`.
    inputs
        Resolved inputs by name; an `Input`, or a bare value when the user gave it.
    result
        Anything `jsonable` takes. Every ε in it is a bracket `{lower, upper}`.
    status
        "ok", "interrupted" when partial results are shown, "violated" when a check found
        something, or "unchecked" when it could check nothing.
    """
    return {
        "schema": f"dp2theory/{command}/{SCHEMA_VERSION}",
        "version": __version__,
        "command": command,
        "inputs": {name: _input(name, value) for name, value in inputs.items()},
        "result": jsonable(result),
        "status": status,
    }


def emit(
    command: str,
    inputs: Mapping[str, Any],
    result: Any,
    *,
    json: bool,
    human: Callable[[], None] | str,
    status: str = "ok",
) -> None:
    """Print the result: the envelope when `json`, else `human` (text, or a function that prints).

    Parameters are those of `envelope`, and `json` and `human`.
    """
    if json:
        document = envelope(command, inputs, result, status=status)
        print(json_module.dumps(document, allow_nan=False), flush=True)
    elif isinstance(human, str):
        print(human, flush=True)
    else:
        human()


def worded(value: Any, unit: str) -> tuple[str, str]:
    """A value and its unit as a person says them: ``("yes", "")``, ``("1", "run")``."""
    if isinstance(value, bool):
        return ("yes" if value else "no"), ""
    if unit in ("1", "name"):
        return str(value), ""
    return str(value), SINGULAR.get(unit, unit) if value == 1 else unit


def describe_inputs(inputs: Mapping[str, Any]) -> str:
    """The resolved inputs as lines for a person, one each, with units and where a default stood."""
    lines = []
    for name, given in inputs.items():
        entry = _input(name, given)
        value, unit = worded(entry["value"], entry["unit"])
        origin = "  [default]" if entry["default"] else ""
        lines.append(f"  {name.replace('_', '-')}: {value}{unit and ' '}{unit}{origin}")
    return "\n".join(lines)
