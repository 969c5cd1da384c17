"""What other packages answer to the same question, each labelled with what its answer is about.

For comparison only: nothing here enters a result of this project. This is the one module beside
the benchmarks that calls other accountants (see the import contracts in pyproject.toml).
"""

import importlib
import math
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple

from accountants.laws.hushed import hushed
from dp2theory.cli._answers import Question
from dp2theory.cli._exit import reason

if TYPE_CHECKING:
    from dp_accounting import DpEvent

CLIP_NORM = "noise standard deviation / clip norm"
DIAMETER = "noise standard deviation / replace diameter (2 clip norms)"
POISSON = "Poisson sampling at the same rate, add-or-remove-one"


class Asked(NamedTuple):
    """A question to a peer: the event tree, and the same as Opacus' history if it is one."""

    event: "DpEvent"
    history: list[tuple[float, float, int]] | None
    poisson: bool
    question: Question


class Peer(NamedTuple):
    """A peer: its package, its name, and how it is asked."""

    package: str
    name: str
    ask: Callable[[Asked], dict[str, Any]]


class NotItsQuestion(Exception):
    """The peer has no answer to this; the message says why."""


def peer_answers(event: "DpEvent", question: Question) -> list[dict[str, Any]]:
    """What each known peer answers.

    Parameters
    ----------
    event : DpEvent
    question : Question

    Returns
    -------
    list of dict
        ``name``; ``version`` (None where it is not installed); ``value`` (None where it gives
        none, with the reason in ``note``); ``claim`` ("upper" or "estimate", in the peer's own
        words); ``about`` (sampling and relation that the value is about); ``unit`` (of the noise
        multiplier it was given); ``same_question`` (whether that is the question asked).
    """
    history, poisson = _history(event, question)
    asked = Asked(event, history, poisson, question)
    found = []
    for peer in PEERS:
        answer: dict[str, Any] = {
            "name": peer.name,
            "version": None,
            "value": None,
            "claim": None,
            "about": None,
            "unit": None,
            "same_question": False,
            "note": None,
        }
        try:
            answer["version"] = version(peer.package)
            with hushed():
                answer |= peer.ask(asked)
        except (PackageNotFoundError, ImportError):
            answer["note"] = f"not installed (pip install {peer.package})"
        except NotItsQuestion as error:
            answer["note"] = str(error)
        except Exception as error:  # a peer's failure is its answer, and no reason to stop
            answer["note"] = f"failed: {type(error).__name__}: {' '.join(str(error).split())}"
        found.append(answer)
    return found


def _history(
    event: "DpEvent", question: Question
) -> tuple[list[tuple[float, float, int]] | None, bool]:
    """(noise multiplier, rate, releases) of each leaf, and whether all are Poisson samples."""
    from accountants.sampling import OracleDraws, Poisson
    from accountants.walk import Release, leaves

    history = []
    poisson = True
    for leaf, count in leaves(event, 1, question.relation):
        if not isinstance(leaf, Release) or leaf.reveals_everything:
            return None, False
        if isinstance(leaf.sampling, OracleDraws):  # no noisy sum: a history says something else
            return None, False
        if count and not leaf.reveals_nothing:
            whole = isinstance(leaf.sampling, Poisson)
            poisson = poisson and whole
            rate = leaf.chance if leaf.releases == 1 else 1 / leaf.releases
            history.append((leaf.noise_multiplier, rate, count * leaf.releases))
    return history, poisson


def _relation_name(question: Question) -> str:
    return str(question.relation.name).lower().replace("_", "-")


def _dp_accounting(maker: Any, asked: Asked, *, halve: bool) -> dict[str, Any]:
    from dp_accounting.privacy_accountant import UnsupportedEventError

    accountant = maker(neighboring_relation=asked.question.relation)
    event = _with_half_noise(asked.event) if halve else asked.event
    try:
        accountant.compose(event)
    except UnsupportedEventError as error:
        raise NotItsQuestion(f"does not cover this: {reason(error)}") from None
    return {
        "value": _asked_of(accountant, asked.question),
        "claim": "upper",
        "about": f"this run, {_relation_name(asked.question)}",
        "unit": DIAMETER if halve else CLIP_NORM,
        "same_question": True,
    }


def _asked_of(accountant: Any, question: Question) -> float:
    if question.delta is not None:
        return float(accountant.get_epsilon(question.delta))
    return float(accountant.get_delta(question.epsilon))


def _with_half_noise(event: "DpEvent") -> "DpEvent":
    """The same run with noise multipliers relative to the replace diameter."""
    import attr

    changes: dict[str, Any] = {}
    if hasattr(event, "noise_multiplier"):
        changes["noise_multiplier"] = event.noise_multiplier / 2
    if hasattr(event, "event"):
        changes["event"] = _with_half_noise(event.event)
    if hasattr(event, "events"):
        changes["events"] = [_with_half_noise(child) for child in event.events]
    return attr.evolve(event, **changes)


def _rdp(asked: Asked) -> dict[str, Any]:
    from dp_accounting.rdp import RdpAccountant

    # Under replace-one its Gaussian is one whose sensitivity is 1: half the unit of this project.
    halve = asked.question.relation.name == "REPLACE_ONE"
    answer = _dp_accounting(RdpAccountant, asked, halve=halve)
    if halve:
        answer["note"] = "asked with half the noise multiplier, which is the same run in its unit"
    return answer


def _pld(asked: Asked) -> dict[str, Any]:
    from dp_accounting.pld import PLDAccountant

    return _dp_accounting(PLDAccountant, asked, halve=False)


def _opacus(mechanism: str) -> Callable[[Asked], dict[str, Any]]:
    def ask(asked: Asked) -> dict[str, Any]:
        history = _poisson_history(asked)
        if asked.question.delta is None:
            raise NotItsQuestion("answers ε at a δ only")
        accountants = importlib.import_module("opacus.accountants")
        accountant = accountants.create_accountant(mechanism)
        accountant.history = history
        value = float(accountant.get_epsilon(delta=asked.question.delta))
        return _about_poisson(asked, value, "estimate" if mechanism == "gdp" else "upper")

    return ask


def _prv(asked: Asked) -> dict[str, Any]:
    history = _poisson_history(asked)
    if asked.question.delta is None:
        raise NotItsQuestion("is asked for ε at a δ only")
    package = importlib.import_module("prv_accountant")
    counts = [count for _, _, count in history]
    accountant = package.PRVAccountant(
        prvs=[
            package.PoissonSubsampledGaussianMechanism(
                noise_multiplier=noise, sampling_probability=rate
            )
            for noise, rate, _ in history
        ],
        max_self_compositions=counts,
        eps_error=0.01,
        delta_error=asked.question.delta / 1000,
    )
    lower, estimate, upper = accountant.compute_epsilon(asked.question.delta, counts)
    answer = _about_poisson(asked, float(upper), "upper")
    answer["note"] = f"its estimate {float(estimate)!r}, its lower end {float(lower)!r}"
    return answer


def _poisson_history(asked: Asked) -> list[tuple[float, float, int]]:
    if not asked.history:
        raise NotItsQuestion("takes Gaussian releases with noise on sampled batches only")
    if not all(math.isfinite(noise) for noise, _, _ in asked.history):
        raise NotItsQuestion("takes finite noise multipliers only")
    return asked.history


def _about_poisson(asked: Asked, value: float, claim: str) -> dict[str, Any]:
    same = asked.poisson and asked.question.relation.name != "REPLACE_ONE"
    return {
        "value": value,
        "claim": claim,
        "about": POISSON,
        "unit": CLIP_NORM,
        "same_question": same,
    }


PEERS = (
    Peer("dp-accounting", "dp_accounting RDP", _rdp),
    Peer("dp-accounting", "dp_accounting PLD", _pld),
    Peer("opacus", "Opacus RDP", _opacus("rdp")),
    Peer("opacus", "Opacus PRV", _opacus("prv")),
    Peer("opacus", "Opacus GDP", _opacus("gdp")),
    Peer("prv-accountant", "prv_accountant", _prv),
)


def describe_peers(peers: list[dict[str, Any]], asked: str) -> str:
    """The peers' answers as lines for a person, apart from those of this project."""
    lines = ["peers (for comparison; no part of the answer above):"]
    for peer in peers:
        title = peer["name"] if peer["version"] is None else f"{peer['name']} {peer['version']}"
        if peer["value"] is None:
            lines.append(f"  {title}: {peer['note']}")
            continue
        sign = "<=" if peer["claim"] == "upper" else "≈"
        other = "" if peer["same_question"] else "  [another question than yours]"
        lines.append(f"  {title}: {asked} {sign} {peer['value']!r}{other}")
        lines.append(f"    about: {peer['about']}; unit: {peer['unit']}")
        if peer["note"]:
            lines.append(f"    {peer['note']}")
    return "\n".join(lines)
