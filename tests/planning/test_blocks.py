"""Streaming block means against their definition, and what they must not be."""

from itertools import pairwise

import numpy as np
import pytest

from dp2theory.planning.blocks import BlockMeans, noise_energy


def by_definition(vectors, length):
    """S(m), mean squared move and number of blocks, from the list of all vectors."""
    count = len(vectors) // length
    means = vectors[: count * length].reshape(count, length, -1).mean(axis=1)
    signal = np.mean([a @ b for a, b in pairwise(means)])
    move = np.mean([(a - b) @ (a - b) for a, b in pairwise(means)])
    return signal, move, count


def stream(vectors):
    blocks = BlockMeans(vectors.shape[1])
    for vector in vectors:
        blocks.add(vector)
    return blocks


@pytest.mark.parametrize("steps", [4, 5, 31, 32, 33, 100, 155])
def test_streaming_agrees_with_the_definition(steps):
    vectors = np.random.default_rng(steps).normal(0.3, 1.0, (steps, 7))
    rows = stream(vectors).statistics(noise_multiplier=1.5, clip_norm=0.7, batch_size=16)
    assert [row.length for row in rows] == [
        2**level for level in range(12) if steps // 2**level >= 4
    ]
    for row in rows:
        signal, move, count = by_definition(vectors, row.length)
        noise = 7 * 1.5**2 * 0.7**2 / (16**2 * row.length)
        assert row.blocks == count
        assert row.signal == pytest.approx(signal, rel=1e-12, abs=1e-14)
        assert row.noise == pytest.approx(noise, rel=1e-14)
        assert row.snr == pytest.approx(max(signal, 0) / noise, rel=1e-12)
        assert row.drift == pytest.approx(move - 2 * noise, rel=1e-11, abs=1e-13)


def test_noise_energy_is_the_energy_of_averaged_releases():
    """N(m) against simulated means of releases: off by a factor b, m or C it would fail."""
    rng = np.random.default_rng(0)
    d, sigma, clip, b, m = 40, 1.3, 0.6, 32, 8
    noise = sigma * clip * rng.standard_normal((4000, m, d)) / b
    measured = np.mean(np.sum(noise.mean(axis=1) ** 2, axis=1))
    assert noise_energy(d, sigma, clip, b, m) == pytest.approx(measured, rel=0.01)


def test_noise_cancels_in_the_signal_and_drift_of_a_constant_gradient():
    rng = np.random.default_rng(1)
    d, sigma, clip, b = 200, 1.0, 1.0, 10
    gradient = rng.normal(0, 0.05, d)
    releases = gradient + sigma * clip / b * rng.standard_normal((4096, d))
    rows = stream(releases).statistics(noise_multiplier=sigma, clip_norm=clip, batch_size=b)
    energy = gradient @ gradient
    for row in rows[:8]:
        # <A_k, A_{k+1}> has mean ||g||^2 whatever the block length: no noise bias.
        spread = row.noise / np.sqrt(d * row.blocks) + 2 * np.sqrt(
            energy * row.noise / d / row.blocks
        )
        assert abs(row.signal - energy) < 6 * spread
        assert abs(row.drift) < 8 * row.noise * np.sqrt(8 / d / row.blocks)


def test_pure_noise_has_no_signal():
    releases = np.random.default_rng(2).standard_normal((1024, 100)) / 10
    rows = stream(releases).statistics(noise_multiplier=1, clip_norm=1, batch_size=10)
    assert all(row.snr < 5 / np.sqrt(100 * row.blocks) for row in rows)
    # The squared mean of one block, DP²'s own statistic, would have shown ratio 1 here.
    assert rows[0].noise == pytest.approx(np.mean(np.sum(releases**2, axis=1)), rel=0.02)


def test_negative_signal_counts_as_zero():
    vectors = np.array([[(-1.0) ** t] for t in range(16)])
    row = stream(vectors).statistics(noise_multiplier=1, clip_norm=1, batch_size=1)[0]
    assert row.signal == -1.0
    assert row.snr == 0.0


def test_no_ratio_from_fewer_than_four_blocks():
    rows = stream(np.ones((15, 2))).statistics(noise_multiplier=1, clip_norm=1, batch_size=1)
    assert [(row.length, row.blocks) for row in rows] == [(1, 15), (2, 7)]
    assert not stream(np.ones((3, 2))).statistics(noise_multiplier=1, clip_norm=1, batch_size=1)


def test_state_survives_arrays_and_goes_on():
    vectors = np.random.default_rng(3).normal(size=(77, 5))
    half = BlockMeans.from_arrays(stream(vectors[:30]).to_arrays())
    for vector in vectors[30:]:
        half.add(vector)
    sizes = {"noise_multiplier": 1.0, "clip_norm": 1.0, "batch_size": 4}
    assert half.statistics(**sizes) == stream(vectors).statistics(**sizes)


def test_a_reused_buffer_does_not_leak_into_old_blocks():
    buffer, blocks = np.empty(2), BlockMeans(2)
    for step in range(8):
        buffer[:] = step
        blocks.add(buffer)
    rows = blocks.statistics(noise_multiplier=1, clip_norm=1, batch_size=1)
    assert rows[0].signal == pytest.approx(np.mean([2 * t * (t + 1) for t in range(7)]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_diverged_gradient_is_refused(bad):
    blocks = BlockMeans(2)
    blocks.add([1.0, 2.0])
    with pytest.raises(ValueError, match=r"step 1 is not finite.*learning_rate"):
        blocks.add([1.0, bad])
    assert blocks.steps == 1


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="dimension=0"):
        BlockMeans(0)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        BlockMeans(2).add([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="noise_multiplier=nan"):
        BlockMeans(2).statistics(noise_multiplier=np.nan, clip_norm=1, batch_size=1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda a: a.pop("block_last"),
        lambda a: a.update(block_counts=a["block_counts"] + 1),
        lambda a: a.update(block_products=a["block_products"][:-1]),
        lambda a: a.update(block_moves=a["block_moves"] * np.nan),
    ],
)
def test_inconsistent_arrays_are_refused(damage):
    arrays = stream(np.ones((9, 3))).to_arrays()
    damage(arrays)
    with pytest.raises(ValueError, match="block state"):
        BlockMeans.from_arrays(arrays)


def test_latest_block_is_the_mean_of_the_last_complete_one():
    rng = np.random.default_rng(8)
    stream = rng.standard_normal((13, 3))
    blocks = BlockMeans(3)
    for vector in stream:
        blocks.add(vector)
    for length, start in ((1, 12), (2, 10), (4, 8), (8, 0)):
        found, mean = blocks.latest(length)
        assert found == length
        assert np.allclose(mean, stream[start : start + length].mean(axis=0))
    longest, mean = blocks.latest()
    assert longest == 8
    mean[:] = 0  # a copy
    assert blocks.latest()[1].any()
    with pytest.raises(ValueError, match="length=16: 13 steps hold complete blocks of 1, 2, 4, 8"):
        blocks.latest(16)
    with pytest.raises(ValueError, match="no length"):
        BlockMeans(3).latest()
