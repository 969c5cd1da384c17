"""The file of a pilot: what is read is what was written, and damage is refused."""

import dataclasses
import json
import os
import stat

import numpy as np
import pytest

from dp2theory import files
from dp2theory.planning.pilot import run_pilot
from dp2theory.planning.state import check_continues, load_pilot, save_pilot
from dp2theory.problems.synthetic import het
from tests.planning.small import SIGMA, small_budget, small_problem


@pytest.fixture(scope="module")
def state():
    return run_pilot(
        small_problem(), small_budget(), noise_multiplier=SIGMA, clip_norm=0.8,
        learning_rate=1.5, seed=3, record_every=10,
    )  # fmt: skip


@pytest.fixture
def saved(state, tmp_path):
    path = tmp_path / "pilot.npz"
    save_pilot(path, state)
    return path


def rewrite(path, **changes):
    """The file again with members replaced, without a digest that fits."""
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    np.savez(path, **(members | changes))


def resign(path, state_changes):
    """A file that is whole by its digest and yet contradicts itself."""
    loaded = load_pilot(path)
    save_pilot(path, dataclasses.replace(loaded, **state_changes))


def test_round_trip(state, saved):
    loaded = load_pilot(saved)
    for field in dataclasses.fields(state):
        ours, theirs = getattr(state, field.name), getattr(loaded, field.name)
        if field.name == "blocks":
            assert loaded.statistics() == state.statistics()
        elif field.name == "rng_state":
            np.testing.assert_array_equal(state.generator().random(9), loaded.generator().random(9))
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=field.name)
    assert stat.S_IMODE(os.stat(saved).st_mode) & stat.S_IRUSR
    assert [path.name for path in saved.parent.iterdir()] == ["pilot.npz"]


def test_interrupted_write_leaves_the_old_file(state, saved, monkeypatch):
    before = saved.read_bytes()

    def half(stream, **members):
        stream.write(b"half a file")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", half)
    with pytest.raises(KeyboardInterrupt):
        save_pilot(saved, state)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["pilot.npz"]


@pytest.mark.parametrize("keep", [0, 10, 400, -1])
def test_truncated_file_is_refused(saved, keep):
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"pilot\.npz: not a pilot state, or damaged"):
        load_pilot(saved)


def test_other_files_are_refused(saved):
    for content in (b"not an archive", b'{"json": 1}', b"\x93NUMPY\x01\x00v\x00{'descr'"):
        saved.write_bytes(content)
        with pytest.raises(ValueError, match="damaged"):
            load_pilot(saved)
    with saved.open("wb") as stream:
        np.save(stream, np.ones(3))
    with pytest.raises(ValueError, match="damaged"):
        load_pilot(saved)
    with pytest.raises(FileNotFoundError):
        load_pilot(saved.with_name("absent.npz"))


def test_pickles_are_not_opened(saved):
    rewrite(saved, meta=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="damaged"):
        load_pilot(saved)


@pytest.mark.parametrize("name", ["parameters", "block_products", "losses", "block_last"])
def test_changed_array_is_refused(saved, name):
    with np.load(saved) as archive:
        changed = archive[name] * (1 + 1e-15) + 1e-12
    rewrite(saved, **{name: changed})
    with pytest.raises(ValueError, match="digest"):
        load_pilot(saved)


def test_changed_noise_multiplier_is_refused(saved):
    with np.load(saved) as archive:
        meta = json.loads(str(archive["meta"]))
    meta["noise_multiplier"] *= 2  # would halve what the ledger claims to have spent
    rewrite(saved, meta=np.array(json.dumps(meta)))
    with pytest.raises(ValueError, match="digest"):
        load_pilot(saved)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 39}, "steps=39"),
        ({"steps": 41}, "steps=41"),
        ({"clip_norm": -1.0}, "clip_norm=-1.0"),
        ({"noise_multiplier": float("nan")}, "noise_multiplier"),
        ({"parameters": np.ones(3)}, "parameters"),
        ({"parameters": np.full(21, np.nan)}, "parameters"),
        ({"losses": (1.0,)}, "losses"),
        ({"rng_state": {"bit_generator": "SFC64", "state": {}}}, "inconsistent"),
    ],
)
def test_contradictions_are_refused(saved, changes, words):
    resign(saved, changes)
    with pytest.raises(ValueError, match=words):
        load_pilot(saved)


def test_only_the_same_records_can_be_continued(state):
    check_continues(state, small_problem())
    relabelled = het(1500, 20, 1 / 10, 4, 7, name="other")
    fewer, narrower, others = (
        het(n, d, 1 / 10, 4, seed, name="small")
        for n, d, seed in ((1499, 20, 7), (1500, 19, 7), (1500, 20, 8))
    )
    for problem, words in (
        (relabelled, "problem='other'"),
        (fewer, "dataset_size=1499"),
        (narrower, "dimension=20"),
        (others, "records differ"),
    ):
        with pytest.raises(ValueError, match=words):
            check_continues(state, problem)


def test_interrupted_pilot_is_kept_but_not_continued(state, tmp_path):
    from dp2theory.planning.blocks import BlockMeans

    partial = dataclasses.replace(state, steps=17, complete=False, blocks=BlockMeans(21))
    save_pilot(tmp_path / "p.npz", partial)
    loaded = load_pilot(tmp_path / "p.npz")
    assert loaded.ledger.count == 17
    with pytest.raises(ValueError, match=r"17 of 40 steps.*discarded"):
        check_continues(loaded, small_problem())


def test_files_are_whole_or_not_there(tmp_path):
    files.write_json(tmp_path / "a.json", {"x": 1})
    with pytest.raises(ValueError, match="Out of range float"):
        files.write_json(tmp_path / "a.json", {"x": float("inf")})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": 1}
    with pytest.raises(ValueError, match="is a directory"):
        files.write_text(tmp_path, "x")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    umask = os.umask(0o022)
    try:
        files.write_text(tmp_path / "b.txt", "x")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o644


def test_the_ledger_of_a_pilot_about_to_diverge_is_kept(state, tmp_path):
    gone = dataclasses.replace(
        state, complete=False, parameters=np.full_like(state.parameters, np.inf)
    )
    save_pilot(tmp_path / "p.npz", gone)
    assert load_pilot(tmp_path / "p.npz").ledger == gone.ledger
    save_pilot(tmp_path / "q.npz", dataclasses.replace(gone, complete=True))
    with pytest.raises(ValueError, match="not finite"):
        load_pilot(tmp_path / "q.npz")
