"""Eight kinds of findings that a run on the peers at the locked versions has to come up with.

Each looks for its kind in the report of ``python -m tests.peers``; none looks for one input.
"""

from collections.abc import Callable, Iterator
from typing import Any

Finding = dict[str, Any]


def _of(report: dict[str, Any]) -> Iterator[Finding]:
    """Violations of all accountants."""
    for audit in report["audits"]:
        yield from (*audit["understatements"], *audit["violations"])


def _below(finding: Finding) -> bool:
    return bool(finding["kind"] == "understatement")


def _relation(finding: Finding) -> str:
    return str(finding["case"]["relation"])


def _mechanisms(plain: dict[str, Any]) -> set[str]:
    """The kinds of what is sampled, repeated or composed in the end."""
    if "events" in plain:
        return set().union(*(_mechanisms(part) for part in plain["events"]))
    return _mechanisms(plain["event"]) if "event" in plain else {plain["kind"]}


def _unit(report: dict[str, Any]) -> bool:
    return any(
        _below(f) and _relation(f) == "REPLACE_ONE" and f["case"]["event"]["kind"] == "gaussian"
        for f in _of(report)
    )


def _dropped_count(report: dict[str, Any]) -> bool:
    return any(
        _below(f) and "randomized-response" in _mechanisms(f["case"]["event"]) for f in _of(report)
    )


def _nan_to_zero(report: dict[str, Any]) -> bool:
    return any("nan" in f["message"].lower() and f["value"] == 0 for f in _of(report))


def _negative(report: dict[str, Any]) -> bool:
    return any(
        f["law"] == "L1" and isinstance(f["value"], float) and f["value"] < 0 for f in _of(report)
    )


def _central_limit(report: dict[str, Any]) -> bool:
    return any(
        _below(f)
        and _relation(f) == "ADD_OR_REMOVE_ONE"
        and f["case"]["delta"] is not None
        and f["case"]["delta"] > 1e-8
        and _repeated_sample(f["case"]["event"])
        for f in _of(report)
    )


def _repeated_sample(plain: dict[str, Any]) -> bool:
    """Many equal steps on Poisson samples."""
    return plain["kind"] == "self-composed" and plain["event"]["kind"] == "poisson-sampled"


def _delta_floor(report: dict[str, Any]) -> bool:
    return any(f["law"] == "L13" and 0 < f["case"]["delta"] < 1e-10 for f in _of(report))


def _above_one(report: dict[str, Any]) -> bool:
    return any(
        f["law"] == "L2" and f["clause"] == "sampling_probability" and "q = 1.5" in f["message"]
        for f in _of(report)
    )


def _unbounded(report: dict[str, Any]) -> bool:
    return any(f["law"] == "L14" and f["clause"] == "calibration" for f in _of(report))


KINDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "unit under REPLACE_ONE": _unit,
    "dropped count": _dropped_count,
    "NaN answered with 0": _nan_to_zero,
    "negative epsilon": _negative,
    "central limit below the truth": _central_limit,
    "floor of delta": _delta_floor,
    "q above 1 accepted": _above_one,
    "unbounded calibration": _unbounded,
}


def missing(report: dict[str, Any]) -> list[str]:
    """The kinds that a report does not have."""
    return [kind for kind, found in KINDS.items() if not found(report)]
