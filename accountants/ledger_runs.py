"""Ledgers that are lists of runs: Opacus' history, and lists of described runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dp_accounting

from accountants import sampling as schemes
from accountants import validation
from accountants.events import sampled_gaussian_event
from accountants.ledger_trees import Malformed, number

__all__ = ["SAMPLING_FIELDS", "history_from_json", "runs_from_json"]

#: Per sampling of a described run: the fields that it has beside ``noise_multiplier``.
SAMPLING_FIELDS: dict[str, tuple[str, ...]] = {
    "none": ("steps",),
    "poisson": ("sampling_probability", "steps"),
    "without-replacement": ("dataset_size", "batch_size", "steps"),
    "with-replacement": ("dataset_size", "batch_size", "steps"),
    "weighted-with-replacement": ("largest_probability", "batch_size", "steps"),
    "shuffled-epochs": ("dataset_size", "batch_size", "epochs"),
    "truncated-poisson": (
        "dataset_size",
        "sampling_probability",
        "truncated_batch_size",
        "steps",
    ),
}
_MAKERS: dict[str, Callable[..., schemes.Sampling]] = {
    "none": lambda: schemes.Poisson(1.0),
    "poisson": schemes.Poisson,
    "without-replacement": schemes.WithoutReplacement,
    "with-replacement": schemes.WithReplacement,
    "weighted-with-replacement": schemes.WeightedWithReplacement,
    "shuffled-epochs": schemes.ShuffledEpochs,
    "truncated-poisson": schemes.TruncatedPoisson,
}
_COUNTS = ("dataset_size", "batch_size", "steps", "epochs", "truncated_batch_size")


def history_from_json(history: Any, place: str = "$") -> list[dp_accounting.DpEvent]:
    """Opacus' history as events: one per entry ``[noise_multiplier, sample_rate, num_steps]``.

    Opacus accounts every history as Poisson sampling, and so does this: whether batches really
    were drawn so (``poisson_sampling=True``) is not in the history.

    Parameters
    ----------
    history : list
        The history of an accountant of Opacus, as JSON.
    place : str
        Where it stands, for messages.

    Returns
    -------
    list of dp_accounting.DpEvent

    Raises
    ------
    Malformed
        A ``ValueError`` that names the place, what stands there and what is allowed.
    """
    if not isinstance(history, list):
        raise Malformed(place, history, "a list of [noise_multiplier, sample_rate, num_steps]")
    events = []
    for i, entry in enumerate(history):
        here = f"{place}[{i}]"
        if not isinstance(entry, list) or len(entry) != 3:
            raise Malformed(here, entry, "[noise_multiplier, sample_rate, num_steps]")
        noise, rate, steps = entry
        described = {"noise_multiplier": noise, "sampling_probability": rate, "steps": steps}
        places = {
            "noise_multiplier": f"{here}[0]",
            "sampling_probability": f"{here}[1]",
            "steps": f"{here}[2]",
        }
        events.append(_event("poisson", described, places))
    return events


def runs_from_json(runs: Any, place: str = "$") -> list[dp_accounting.DpEvent]:
    """A list of described runs as events.

    Parameters
    ----------
    runs : list of dict
        Each with ``noise_multiplier``, ``sampling`` and the fields that `SAMPLING_FIELDS` gives
        for it. For ``poisson``, ``dataset_size`` and ``batch_size`` may stand in place of
        ``sampling_probability``.
    place : str
        Where the list stands, for messages.

    Returns
    -------
    list of dp_accounting.DpEvent

    Raises
    ------
    Malformed
        A ``ValueError`` that names the place, what stands there and what is allowed.

    Examples
    --------
    >>> runs_from_json([{"noise_multiplier": 1, "sampling": "without-replacement",
    ...                  "dataset_size": 1000, "batch_size": 10, "steps": 50}])[0].count
    50
    """
    if not isinstance(runs, list):
        raise Malformed(place, runs, "a list of runs")
    return [_run(run, f"{place}[{i}]") for i, run in enumerate(runs)]


def _run(run: Any, place: str) -> dp_accounting.DpEvent:
    if not isinstance(run, dict):
        raise Malformed(place, run, "a run: an object with noise_multiplier, sampling and steps")
    scheme = run.get("sampling")
    if not isinstance(scheme, str) or scheme not in SAMPLING_FIELDS:
        raise Malformed(f"{place}.sampling", scheme, f"one of {', '.join(SAMPLING_FIELDS)}")
    fields = ("noise_multiplier", *SAMPLING_FIELDS[scheme])
    described = {key: value for key, value in run.items() if key != "sampling"}
    if scheme == "poisson" and "sampling_probability" not in described:
        fields = ("noise_multiplier", "dataset_size", "batch_size", "steps")
    for key, value in described.items():
        if key not in fields:
            allowed = f"left out: a run of {scheme} sampling has {', '.join(fields)}"
            raise Malformed(f"{place}.{key}", value, allowed)
    for key in fields:
        if key not in described:
            raise Malformed(f"{place}.{key}", None, f"given: {scheme} sampling needs it")
    return _event(scheme, described, {key: f"{place}.{key}" for key in fields} | {"": place})


def _event(
    scheme: str, described: Mapping[str, Any], places: Mapping[str, str]
) -> dp_accounting.DpEvent:
    values: dict[str, Any] = {}
    for name, value in described.items():
        at = places[name]
        try:
            if name in _COUNTS:
                values[name] = validation.whole(value, name, 0 if name == "steps" else 1)
            elif name == "noise_multiplier":
                values[name] = validation.noise_multiplier(number(value, at), name)
            else:
                values[name] = validation.probability(number(value, at), name)
        except Malformed:
            raise
        except ValueError as error:
            raise Malformed(at, value, str(error).split(": must be ", 1)[-1]) from None
    noise = values.pop("noise_multiplier")
    steps = values.pop("epochs" if scheme == "shuffled-epochs" else "steps")
    if "dataset_size" in values and scheme == "poisson":
        n, b = values.pop("dataset_size"), values.pop("batch_size")
        if b > n:
            raise Malformed(places["batch_size"], b, f"at most dataset_size={n}")
        values["sampling_probability"] = b / n
    try:
        once = sampled_gaussian_event(sampling=_MAKERS[scheme](**values), noise_multiplier=noise)
        return dp_accounting.SelfComposedDpEvent(once, steps)
    except ValueError as error:  # what concerns two fields at once
        raise Malformed(places.get("", "$"), dict(described), str(error)) from None
