"""The file that keeps a pilot, so that the run can go on from it.

An ``.npz`` archive: arrays as they are, everything else as one JSON text, and a digest of both.
Reading never unpickles. A file that does not add up is refused: continuing from it would make
the ledger a claim about something that was never run.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dp2theory.files import write_through
from dp2theory.planning.blocks import BlockMeans
from dp2theory.planning.budget import Budget
from dp2theory.planning.pilot import PilotState, check_step_sizes

if TYPE_CHECKING:
    from dp2theory.problems.protocol import Problem

#: What a file of this form says of itself.
FORMAT = "dp2theory pilot 1"
_SCALARS = (
    "problem", "noise_multiplier", "clip_norm", "learning_rate", "seed", "steps", "complete",
    "final_loss",
)  # fmt: skip
_ARRAYS = (
    "parameters", "block_last", "block_counts", "block_products", "block_moves",
    "loss_steps", "losses",
)  # fmt: skip


def save_pilot(path: str | Path, state: PilotState) -> None:
    """Write a pilot's state; the file appears under its name only when it is complete."""
    meta: dict[str, Any] = {name: getattr(state, name) for name in _SCALARS}
    meta |= {"format": FORMAT, "budget": state.budget.to_json()}
    meta["rng_state"] = _plain(state.rng_state)
    arrays: dict[str, NDArray[Any]] = {
        "parameters": state.parameters,
        "loss_steps": np.array(state.loss_steps, dtype=np.int64),
        "losses": np.array(state.losses, dtype=np.float64),
    }
    arrays |= state.blocks.to_arrays()
    text = json.dumps(meta)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            members: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
            members |= {"meta": np.array(text), "digest": np.array(_digest(text, arrays))}
            np.savez_compressed(stream, **members)

    write_through(path, write)


def load_pilot(path: str | Path) -> PilotState:
    """Read a pilot's state.

    Raises
    ------
    ValueError
        If the file is no pilot state, is damaged, or contradicts itself.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as stream:  # opened here: np.load forgets to close what it refuses
        try:
            archive = np.load(stream, allow_pickle=False)
            text = str(archive["meta"])
            digest = str(archive["digest"])
            arrays = {name: np.array(archive[name]) for name in _ARRAYS}
        except (
            Exception
        ):  # numpy and zipfile fail on rubbish in a dozen ways, and advise unpickling
            raise ValueError(
                f"{path}: not a pilot state, or damaged (`dp2theory plan --out` writes one)"
            ) from None
    if digest != _digest(text, arrays):
        raise ValueError(f"{path}: damaged pilot state (its digest does not match its content)")
    try:
        return _rebuild(json.loads(text), arrays)
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{path}: inconsistent pilot state: {_line(error)}") from None


def check_continues(state: PilotState, problem: Problem) -> None:
    """Refuse to go on from a pilot that was made on something else.

    Parameters
    ----------
    state : PilotState
    problem : Problem
        What the run is to go on with. Its mean train loss at the pilot's iterate must be the
        one that the pilot recorded, so that other records under the same name are noticed.

    Raises
    ------
    ValueError
        For another problem, other sizes or other data, or an interrupted pilot.
    """
    for name, ours, theirs in (
        ("problem", problem.name, state.problem),
        ("dataset_size", problem.dataset_size, state.budget.dataset_size),
        ("dimension", problem.dimension, state.parameters.size),
    ):
        if ours != theirs:
            raise ValueError(f"{name}={ours!r}: the plan was made with {theirs!r}")
    if not state.complete:
        raise ValueError(
            f"the plan's pilot stopped after {state.steps} of {state.budget.pilot_steps} steps: "
            "nothing can be continued, but account it as a discarded pilot"
        )
    loss = problem.loss(state.parameters)
    if not np.isclose(loss, state.final_loss, rtol=1e-9, atol=0.0):
        raise ValueError(
            f"problem={problem.name!r}: the train loss at the pilot's iterate is {loss!r} and was "
            f"{state.final_loss!r} when the plan was made: the records differ"
        )


def _rebuild(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PilotState:
    if meta["format"] != FORMAT:
        raise ValueError(f"format={meta['format']!r}: this version reads {FORMAT!r}")
    for name, array in arrays.items():
        if array.dtype.kind not in "iuf":
            raise ValueError(f"{name} holds {array.dtype}, must hold numbers")
    budget = Budget(**meta["budget"])
    blocks = BlockMeans.from_arrays(arrays)
    parameters = arrays["parameters"].astype(np.float64)
    losses = arrays["losses"].astype(np.float64)
    if not 0 <= meta["steps"] <= budget.pilot_steps:
        raise ValueError(f"steps={meta['steps']!r}: must be at most {budget.pilot_steps}")
    if meta["complete"] and not meta["steps"] == blocks.steps == budget.pilot_steps:
        raise ValueError(f"steps={meta['steps']!r} against {blocks.steps} block means")
    # An interrupted pilot may have been about to diverge; its ledger is owed nevertheless.
    bad = meta["complete"] and not np.isfinite(parameters).all()
    if parameters.shape != (blocks.dimension,) or bad:
        raise ValueError("parameters are not finite or not of the blocks' dimension")
    if losses.ndim != 1 or losses.shape != arrays["loss_steps"].shape:
        raise ValueError("losses and loss_steps differ in length")
    check_step_sizes(meta["clip_norm"], meta["learning_rate"])
    budget.event(meta["noise_multiplier"])  # its domain is checked where events are made
    state = PilotState(
        **{name: meta[name] for name in _SCALARS},
        budget=budget,
        parameters=parameters,
        blocks=blocks,
        loss_steps=tuple(int(step) for step in arrays["loss_steps"]),
        losses=tuple(float(loss) for loss in losses),
        rng_state=_state_of_arrays(meta["rng_state"]),
    )
    state.generator()  # a state that no generator takes must fail here, not in the run
    return state


def _plain(value: Any) -> Any:
    """A generator's state in JSON types; its arrays are of unsigned 64-bit integers."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _state_of_arrays(value: Any) -> Any:
    """The inverse of `_plain`."""
    if isinstance(value, dict):
        return {key: _state_of_arrays(item) for key, item in value.items()}
    return np.array(value, dtype=np.uint64) if isinstance(value, list) else value


def _digest(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in _ARRAYS:
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
