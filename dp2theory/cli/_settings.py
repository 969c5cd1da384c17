"""Settings given as `--set NAME=VALUE`: every field of a method, without an option for each."""

from collections.abc import Sequence
from typing import Any

_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}


def parse_settings(option_name: str, pairs: Sequence[str] | None) -> dict[str, Any]:
    """The settings by name; numbers, true, false and none are read as such.

    Parameters
    ----------
    option_name : str
        As on the command line, for messages.
    pairs : sequence of str or None
        Each ``NAME=VALUE``.

    Raises
    ------
    ValueError
        For a pair that is not of this form, or a name that is given twice.
    """
    values: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier() or not text.strip():
            raise ValueError(f"{option_name} {pair}: must be NAME=VALUE")
        if name in values:
            raise ValueError(f"{option_name} {pair}: {name} is given twice")
        if name in ("noise_multiplier", "public", "expected_batch_size", "more"):
            raise ValueError(f"{option_name} {pair}: {name} comes from the run, leave it out")
        values[name] = _value(text.strip())
    return values


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
