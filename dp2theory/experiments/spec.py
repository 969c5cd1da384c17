"""A sweep as a TOML file: what is varied, and what all runs share.

Lists multiply: every problem with every sampling, epsilon, method, and each combination of the
method's settings, on all seeds. Whatever the file does not know how to read is an error: a
misspelled key that is passed over would be a sweep over something else.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dp2theory.experiments.settings import SAMPLINGS, Setting, setting_for
from dp2theory.optimizers.grids import GRIDS
from dp2theory.optimizers.registry import METHODS, MODIFIERS
from dp2theory.problems.registry import takes_option
from dp2theory.problems.validation import positive_real, whole_number

#: Most runs of one sweep; more is a slip.
MAX_RUNS = 1_000_000
#: Largest file that is read.
MAX_BYTES = 1_000_000
#: Settings that a sweep does not take from the file, since it fills them in itself.
_FILLED = ("noise_multiplier", "public", "expected_batch_size")
_SIZES = ("batch_size", "epochs", "steps")
_KEYS = (
    "problems", "methods", "epsilons", "delays", "samplings", "seeds", "tune", "tune_seeds",
    "delta", "relation", "public_share", "record_every", "settings", "problem", *_SIZES,
)  # fmt: skip


@dataclass(frozen=True)
class Spec:
    """What a sweep varies; made by `parse_spec`.

    Attributes
    ----------
    settings : tuple of Setting
        One per problem, sampling and epsilon, in the order of the file.
    methods : tuple of str
        The first is what the others are compared with.
    choices : mapping of str to tuple of mapping
        For each method the combinations of its settings (one empty combination where nothing is
        given: the method's defaults, or its grid).
    seeds : tuple of int
    tune : bool
        Whether what is not given is chosen by the method's grid, where it has one.
    tune_seeds : int
    record_every : int or None
    """

    settings: tuple[Setting, ...]
    methods: tuple[str, ...]
    choices: Mapping[str, tuple[Mapping[str, Any], ...]] = field(hash=False)
    seeds: tuple[int, ...] = (0,)
    tune: bool = False
    tune_seeds: int = 3
    record_every: int | None = None

    @property
    def cells(self) -> int:
        """Number of configurations, each run on all seeds."""
        return len(self.settings) * sum(len(self.choices[method]) for method in self.methods)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "settings": [setting.to_json() for setting in self.settings],
            "methods": list(self.methods),
            "choices": {
                method: [dict(choice) for choice in self.choices[method]] for method in self.methods
            },
            "seeds": list(self.seeds),
            "tune": self.tune,
            "tune_seeds": self.tune_seeds if self.tune else None,
            "record_every": self.record_every,
        }


def read_spec(path: str | Path) -> Spec:
    """Return the sweep that a TOML file describes.

    Raises
    ------
    ValueError
        If the file cannot be read, is no TOML, or holds what `parse_spec` refuses.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"spec={str(path)!r} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise ValueError(f"spec={str(path)!r} is larger than {MAX_BYTES:,} bytes: no spec is")
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError: thousands of digits, too
        raise ValueError(f"spec={str(path)!r} is no TOML: {_short(error)}") from None
    try:
        return parse_spec(document)
    except ValueError as error:
        raise ValueError(f"spec={str(path)!r}: {_short(error)}") from None


def _short(error: Exception) -> str:
    """The message, without the middle where a key or value of the file is of any length."""
    text = str(error)
    return text if len(text) <= 1200 else f"{text[:600]} … {text[-600:]}"


def parse_spec(document: Mapping[str, Any]) -> Spec:
    """Return the sweep that a TOML document describes.

    Parameters
    ----------
    document : mapping
        ``problems`` and ``methods``, and if wanted ``epsilons``, ``delays``, ``samplings``,
        ``seeds`` (a number or a list), ``tune``, ``tune_seeds``, ``batch_size``, ``epochs`` or
        ``steps``, ``delta``, ``relation``, ``public_share``, ``record_every``, and the tables
        ``settings.METHOD`` and ``problem.NAME`` (sizes of one problem, and its ``options``).

    Raises
    ------
    ValueError
        Naming the key, its value and what is allowed.
    """
    _known("the spec", document, _KEYS)
    for name in ("problems", "methods"):
        if name not in document:
            raise ValueError(f"{name} is missing")
    methods = _listed("methods", document["methods"], _method)
    problems = _listed("problems", document["problems"], _problem)
    tables = _table("problem", document.get("problem", {}))
    for name in tables:
        if name not in problems:
            raise ValueError(f"problem.{name}: must be one of problems, {', '.join(problems)}")
    tune = document.get("tune", False)
    if not isinstance(tune, bool):
        raise ValueError(f"tune={tune!r} must be true or false")
    if "tune_seeds" in document and not tune:
        raise ValueError(f"tune_seeds={document['tune_seeds']!r}: nothing is tuned, see tune")
    delta = document.get("delta")
    if delta is not None and not 0 < positive_real("delta", delta) < 1:
        raise ValueError(f"delta={delta!r} must lie strictly between 0 and 1")
    record_every = document.get("record_every")
    if record_every is not None:
        whole_number("record_every", record_every)
    choices = _choices(document, methods, tune)
    seeds = _seeds(document.get("seeds", 1))
    runs = sum(len(choices[method]) for method in methods) * len(seeds)
    return Spec(
        settings=_settings(document, problems, tables, runs),
        methods=methods,
        choices=choices,
        seeds=seeds,
        tune=tune,
        tune_seeds=whole_number("tune_seeds", document.get("tune_seeds", 3), maximum=1000),
        record_every=record_every,
    )


def _few(runs: int) -> None:
    """Refuse more runs than a sweep has, before they are listed one by one."""
    if runs > MAX_RUNS:
        raise ValueError(f"the spec asks for {runs:,} runs, must be at most {MAX_RUNS:,}")


def _settings(
    document: Mapping[str, Any], problems: Sequence[str], tables: Mapping[str, Any], runs: int
) -> tuple[Setting, ...]:
    """Return the settings, each with so many runs."""
    epsilons: tuple[float | None, ...] = (None,)
    if "epsilons" in document:
        epsilons = _listed("epsilons", document["epsilons"], _epsilon)
    samplings = ("poisson",)
    if "samplings" in document:
        samplings = _listed("samplings", document["samplings"], _sampling)
    _few(len(problems) * len(samplings) * len(epsilons) * runs)
    shared = {name: document[name] for name in _SIZES if name in document}
    made = []
    for problem in problems:
        own = _table(f"problem.{problem}", tables.get(problem, {}))
        _known(f"problem.{problem}", own, (*_SIZES, "options"))
        options = _table(f"problem.{problem}.options", own.get("options", {}))
        for name, value in options.items():
            if not takes_option(problem, name):
                raise ValueError(f"problem.{problem}.options: {name}={value!r} is no option of it")
        sizes = {name: own[name] for name in _SIZES if name in own}
        if {"epochs", "steps"} & sizes.keys():
            sizes = {k: v for k, v in shared.items() if k == "batch_size"} | sizes
        else:
            sizes = shared | sizes
        for sampling, epsilon in itertools.product(samplings, epsilons):
            made.append(
                setting_for(
                    problem,
                    target_epsilon=epsilon,
                    target_delta=document.get("delta"),
                    sampling=sampling,
                    relation=document.get("relation"),
                    public_share=document.get("public_share"),
                    problem_options=dict(options),
                    **sizes,
                )
            )
    return tuple(made)


def _choices(
    document: Mapping[str, Any], methods: Sequence[str], tune: bool
) -> dict[str, tuple[Mapping[str, Any], ...]]:
    tables = _table("settings", document.get("settings", {}))
    for name in tables:
        if name not in methods:
            raise ValueError(f"settings.{name}: must be one of methods, {', '.join(methods)}")
    delays: tuple[int, ...] | None = None
    if "delays" in document:
        delays = _listed("delays", document["delays"], _delay)
        if not any("delay" in _settings_of(method) for method in methods):
            raise ValueError(f"delays={list(delays)!r}: none of the methods has a delay")
    choices: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for method in methods:
        label = f"settings.{method}"
        own = dict(_table(label, tables.get(method, {})))
        known = _settings_of(method)
        _known(label, own, known)
        if delays is not None and "delay" in known:
            phases = [name for name in ("delay", "sgd_steps", "adaptive_steps") if name in own]
            if phases:
                raise ValueError(f"{label}: {phases[0]} is given, and so is delays: give one")
            own["delay"] = list(delays)
        if tune and method in GRIDS and set(own) - {"delay"}:
            name = sorted(set(own) - {"delay"})[0]
            raise ValueError(
                f"{label}: {name}={own[name]!r} is what tune = true chooses; only the delay can be "
                "given besides"
            )
        axes = [
            [(name, value) for value in _listed(f"{label}.{name}", values, _plain)]
            for name, values in own.items()
        ]
        _few(math.prod(map(len, axes)))
        choices[method] = tuple(dict(one) for one in itertools.product(*axes))
    return choices


def _settings_of(method: str) -> tuple[str, ...]:
    own = [one.name for one in fields(METHODS[method]) if one.name not in _FILLED]
    return (*own, *MODIFIERS)


def _seeds(value: Any) -> tuple[int, ...]:
    if isinstance(value, list):
        return _listed("seeds", value, lambda name, one: whole_number(name, one, minimum=0))
    return tuple(range(whole_number("seeds", value, maximum=MAX_RUNS)))


def _listed(name: str, value: Any, check: Callable[[str, Any], Any]) -> tuple[Any, ...]:
    """Return one value or a list of them as a checked tuple; empty and repeated are refused."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError(f"{name}=[] must hold at least one value")
    checked = [check(name, one) for one in values]
    seen = set()
    for one in checked:
        # 1, 1.0 and true are equal in Python, and only the first two mean the same here.
        key = (isinstance(one, bool), one)
        if key in seen:
            raise ValueError(f"{name} holds {one!r} twice")
        seen.add(key)
    return tuple(checked)


def _method(name: str, value: Any) -> str:
    if not isinstance(value, str) or value not in METHODS:
        raise ValueError(f"{name}: {value!r} must be one of {', '.join(METHODS)}")
    return value


def _problem(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: {value!r} must be the name of a problem, such as het")
    takes_option(value, "path")  # refuses unknown names
    return value


def _sampling(name: str, value: Any) -> str:
    if value not in SAMPLINGS:
        raise ValueError(f"{name}: {value!r} must be one of {', '.join(SAMPLINGS)}")
    return str(value)


def _epsilon(name: str, value: Any) -> float:
    return positive_real(name, value)


def _delay(name: str, value: Any) -> int:
    return whole_number(name, value)


def _plain(name: str, value: Any) -> Any:
    """Return a number, text or truth value; settings that are neither have no place here."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name}={value!r} must be finite")
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"{name}={value!r} must be a number, a text, true or false")
    return value


def _table(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}={value!r} must be a table")
    return value


def _known(where: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"{where}: {name!r} is unknown, must be one of {', '.join(known)}")
