"""DP²-RMSProp as an optax transformation."""

import numpy as np
import pytest

from dp2theory.optimizers.clipping import release_mean
from dp2theory.optimizers.dp2 import DelayedRmsProp
from dp2theory.planning.blocks import BlockMeans
from tests.integrations import dp2_cases as cases
from tests.integrations.packages import needs

jax = needs("jax", "jax")
optax = needs("optax", "optax")
ours = needs("dp2theory.integrations.optax", "optax")
from tests.integrations import optax_checks as checks  # noqa: E402

jnp = jax.numpy
pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("phases", cases.PHASES, ids=str)
def test_same_releases_give_the_parameters_of_the_reference(phases, dtype):
    settings = cases.dp2(**phases)
    _, releases = cases.whole_batches(settings, 60)
    with jax.enable_x64(dtype == "float64"):
        releases = np.asarray(releases, dtype)
        optimizer = ours.dp2_rmsprop(settings)
        params = checks.tree(checks.START, dtype)
        state, update = optimizer.init(params), jax.jit(optimizer.update)
        for released in releases:
            updates, state = update(checks.tree(released, dtype), state)
            params = optax.apply_updates(params, updates)
        start = checks.flat(checks.tree(checks.START, dtype))
        expected, reference = cases.from_releases(settings, start, releases.astype(float))
        worst = cases.relative_error(checks.flat(params), expected)
        print(f"\n  {dtype}, {phases}: parameters after 60 steps within {worst:.1e}")
        assert worst < TOLERANCE[dtype]
        for name, value in reference.arrays.items():
            got = checks.flat(getattr(state, name))
            np.testing.assert_allclose(got, value, rtol=10 * TOLERANCE[dtype], atol=1e-7)
        assert int(state.step) == 60


def test_a_run_without_noise_is_the_reference_run():
    checks.check_run(ours)


def test_state_comes_from_releases():
    checks.check_state_comes_from_releases(ours)


def test_one_example_moves_the_sum_by_the_clip_norm_at_most():
    checks.check_one_example_moves_the_sum_by_the_clip_norm_at_most(ours)


def test_noise_per_coordinate_in_both_phases():
    ratios = checks.check_noise(ours)
    print(f"\n  noise std over sigma C / b: {ratios.min():.4f} to {ratios.max():.4f}")


def test_what_is_released_is_what_the_reference_releases():
    """The same clipped sums, state by state, with single precision as well."""
    settings = cases.dp2(noise_multiplier=1e-300)
    _, releases = cases.whole_batches(settings, 5)
    state = settings.initial_state(cases.DIMENSION)
    for step, released in enumerate(releases):
        parameters, reference = cases.from_releases(settings, checks.START, releases[:step])
        vectors = {name: checks.tree(value, "float32") for name, value in reference.arrays.items()}
        state = ours.Dp2State(step, **vectors)
        asked = ours.query(settings, state)
        again = release_mean(
            cases.toy_problem(),
            parameters,
            np.arange(cases.RECORDS),
            settings.query(reference),
            expected_batch_size=cases.RECORDS,
            rng=np.random.default_rng(0),
        )
        np.testing.assert_allclose(again, released, rtol=1e-12)
        params = checks.tree(parameters, "float32")
        got = ours.noisy_mean(
            jax.random.key(0),
            checks.per_example(params, "float32"),
            asked,
            expected_batch_size=cases.RECORDS,
        )
        assert cases.relative_error(checks.flat(got), released) < 2e-6


def test_padding_counts_for_nothing_and_neither_does_what_is_not_finite():
    settings = cases.dp2()
    for state in checks.phase_states(ours, settings):
        asked, key = ours.query(settings, state), jax.random.key(4)
        gradients = checks.per_example(checks.tree(checks.START, "float32"), "float32")
        wild = jax.tree.map(lambda leaf: leaf.at[30].set(jnp.nan).at[31].set(jnp.inf), gradients)
        mask = np.arange(cases.RECORDS) < 30
        few = jax.tree.map(lambda leaf: leaf[:30], gradients)
        two_more = np.arange(cases.RECORDS) < 32
        expected = ours.noisy_mean(key, few, asked, expected_batch_size=9)
        for given, rows in ((gradients, mask), (wild, mask), (wild, two_more)):
            got = ours.noisy_mean(key, given, asked, expected_batch_size=9, mask=rows)
            np.testing.assert_allclose(checks.flat(got), checks.flat(expected), atol=1e-6)


def test_one_compiled_program_goes_through_all_phases():
    settings, traces = cases.dp2(delay=2), []
    optimizer = ours.dp2_rmsprop(settings)

    def step(carry, key):
        traces.append(key)
        params, state = carry
        gradients = checks.per_example(params, "float32")
        asked = ours.query(settings, state)
        released = ours.noisy_mean(key, gradients, asked, expected_batch_size=cases.RECORDS)
        updates, state = optimizer.update(released, state)
        return (optax.apply_updates(params, updates), state), released

    params = checks.tree(checks.START, "float32")
    keys = jax.random.split(jax.random.key(0), 11)
    (params, state), released = jax.lax.scan(step, (params, optimizer.init(params)), keys)
    assert len(traces) <= 2
    releases = [checks.flat(jax.tree.map(lambda leaf, t=t: leaf[t], released)) for t in range(11)]
    expected, _ = cases.from_releases(settings, checks.START, releases)
    assert cases.relative_error(checks.flat(params), expected) < 1e-6
    assert int(state.step) == 11


def test_low_precision_parameters_keep_a_state_of_single_precision():
    settings = cases.dp2()
    optimizer = ours.dp2_rmsprop(settings)
    params = checks.tree(checks.START, "bfloat16")
    state = optimizer.init(params)
    released = ours.noisy_mean(
        jax.random.key(0),
        checks.per_example(params, "bfloat16"),
        ours.query(settings, state),
        expected_batch_size=cases.RECORDS,
    )
    updates, state = optimizer.update(released, state)
    kinds = {leaf.dtype.name for leaf in jax.tree.leaves((released, updates, state[1:]))}
    assert kinds == {"float32"}
    assert optax.apply_updates(params, updates)["bias"].dtype == jnp.bfloat16


def test_inside_a_chain():
    settings = cases.dp2()
    chain = optax.chain(ours.dp2_rmsprop(settings), optax.scale(0.5))
    params = checks.tree(checks.START, "float32")
    state = chain.init(params)
    assert float(ours.query(settings, state[0]).clip_norm) == pytest.approx(settings.clip_norm)
    updates, _ = chain.update(params, state, params)
    np.testing.assert_allclose(
        checks.flat(updates), -0.5 * settings.learning_rate * checks.START, rtol=1e-6
    )


def test_blocks_of_a_run_are_those_of_its_releases():
    _, _, releases = checks.trained(ours, cases.dp2(delay=16), 16, jnp.float32)
    blocks = BlockMeans(cases.DIMENSION)
    for released in releases:
        blocks.add(released)
    known = {"noise_multiplier": 0.8, "clip_norm": 0.4, "batch_size": cases.RECORDS}
    (first, *_) = blocks.statistics(**known)
    assert (first.length, first.blocks) == (1, 16)
    assert first.signal == pytest.approx(np.mean((releases[:-1] * releases[1:]).sum(axis=1)))


def test_what_is_refused():
    settings = cases.dp2()
    optimizer = ours.dp2_rmsprop(settings)
    state = optimizer.init(checks.tree(checks.START, "float32"))
    with pytest.raises(ValueError, match="settings="):
        ours.dp2_rmsprop(DelayedRmsProp(1.0, 1.0, delay=3))
    with pytest.raises(ValueError, match="int32"):
        optimizer.init({"a": jnp.arange(3)})
    with pytest.raises(ValueError, match="Dp2State"):
        ours.query(settings, (state,))
    with pytest.raises(ValueError, match="expected_batch_size="):
        ours.noisy_mean(jax.random.key(0), {}, ours.query(settings, state), expected_batch_size=0)
    with pytest.raises(ValueError, match="holds no array"):
        ours.noisy_mean(jax.random.key(0), {}, ours.query(settings, state), expected_batch_size=1)
    with pytest.raises(ValueError, match="updates of shapes"):
        optimizer.update({"bias": jnp.zeros(())}, state)
    gradients = checks.per_example(checks.tree(checks.START, "float32"), "float32")
    with pytest.raises(ValueError, match="updates of shapes"):  # not released yet
        optimizer.update(gradients, state)


def test_shapes_that_would_be_stretched_in_silence_are_refused():
    state, _ = checks.phase_states(ours, cases.dp2())
    asked, key = ours.query(cases.dp2(), state), jax.random.key(0)
    gradients = checks.per_example(checks.tree(checks.START, "float32"), "float32")
    one = jax.tree.map(lambda leaf: leaf[:1], gradients)
    mean = jax.tree.map(lambda leaf: leaf[0], gradients)
    for given, mask in (
        (mean, None),
        ({**gradients, "bias": gradients["bias"][:1]}, None),
        ({**gradients, "layers": one["layers"]}, None),
        (gradients, np.array(True)),
        (gradients, np.ones(1, bool)),
    ):
        with pytest.raises(ValueError, match=r"gradients of shapes|Incompatible shapes"):
            ours.noisy_mean(key, given, asked, expected_batch_size=4, mask=mask)
