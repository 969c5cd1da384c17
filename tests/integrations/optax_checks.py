"""Checks of the optax transformation: true of the real one, false of broken ones.

`library` has the functions ``dp2_rmsprop``, ``query`` and ``noisy_mean``.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from tests.integrations import dp2_cases as cases

START = np.linspace(-1, 1, cases.DIMENSION)


def tree(vector, dtype):
    """Parameters as a model has them; flattened they are in the order of the reference."""
    values = jnp.asarray(vector, dtype)
    return {"bias": values[0], "layers": [values[1:].reshape(2, 3)]}


def loss(params, features, target):
    logit = params["bias"] * features[0] + (params["layers"][0] * features[1:].reshape(2, 3)).sum()
    return jnp.logaddexp(0.0, logit) - target * logit


def per_example(params, dtype):
    features, targets = cases.toy()
    gradient = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))
    return gradient(params, jnp.asarray(features, dtype), jnp.asarray(targets, dtype))


def flat(each):
    return np.asarray(ravel_pytree(each)[0], np.float64)


def trained(library, settings, steps, dtype, key=0):
    """A loop as a user writes it; returns parameters, state and releases."""
    optimizer = library.dp2_rmsprop(settings)

    def step(params, state, key):
        released = library.noisy_mean(
            key,
            per_example(params, dtype),
            library.query(settings, state),
            expected_batch_size=cases.RECORDS,
        )
        updates, state = optimizer.update(released, state)
        return optax.apply_updates(params, updates), state, released

    params, releases = tree(START, dtype), []
    state = optimizer.init(params)
    for each in jax.random.split(jax.random.key(key), steps):
        params, state, released = step(params, state, each)
        releases.append(flat(released))
    return params, state, np.array(releases)


def check_run(library):
    """Noise off, sample rate 1: the parameters of the reference's own run."""
    settings = cases.dp2(noise_multiplier=1e-300)
    with jax.enable_x64(True):
        params, _, _ = trained(library, settings, 13, jnp.float64)
        expected, _ = cases.whole_batches(settings, 13)
        assert cases.relative_error(flat(params), expected.parameters) < 1e-12


def check_state_comes_from_releases(library):
    """Noise on: parameters and state are the reference's, given what was released."""
    settings = cases.dp2()
    with jax.enable_x64(True):
        params, state, releases = trained(library, settings, 13, jnp.float64)
        expected, reference = cases.from_releases(settings, START, releases)
        assert cases.relative_error(flat(params), expected) < 1e-12
        for name, value in reference.arrays.items():
            np.testing.assert_allclose(flat(getattr(state, name)), value, rtol=1e-12, atol=1e-15)


def phase_states(library, settings, dtype=jnp.float32):
    """State of the first step, and that of the first adaptive one."""
    optimizer = library.dp2_rmsprop(settings)
    first = state = optimizer.init(tree(START, dtype))
    for scale in range(settings.phases.sgd_steps):
        _, state = optimizer.update(tree((scale + 1) * START, dtype), state)
    return first, state


def check_one_example_moves_the_sum_by_the_clip_norm_at_most(library):
    """However long its gradient is, in whatever direction, before or after division."""
    settings = cases.dp2(noise_multiplier=1e-30)
    for state in phase_states(library, settings):
        asked = library.query(settings, state)
        for coordinate in range(cases.DIMENSION):
            vector = 50.0 * np.eye(cases.DIMENSION)[coordinate] + 1e-3
            gradients = jax.tree.map(lambda leaf: leaf[None], tree(vector, jnp.float32))
            moved = library.noisy_mean(jax.random.key(0), gradients, asked, expected_batch_size=1)
            assert np.linalg.norm(flat(moved)) <= float(asked.clip_norm) * (1 + 1e-6)


def check_noise(library, draws=20_000):
    """Standard deviation sigma C / b in each coordinate, C that of the phase; uncorrelated."""
    settings, found = cases.dp2(), []
    empty = jax.tree.map(lambda leaf: jnp.zeros((0, *leaf.shape)), tree(START, jnp.float32))
    keys = jax.random.split(jax.random.key(1), draws)
    norms = (settings.clip_norm, settings.preconditioned_clip_norm)
    for state, clip_norm in zip(phase_states(library, settings), norms, strict=True):
        asked = library.query(settings, state)
        released = jax.vmap(
            lambda key, asked=asked: ravel_pytree(
                library.noisy_mean(key, empty, asked, expected_batch_size=5)
            )[0]
        )(keys)
        ratios = np.std(released, axis=0) / (settings.noise_multiplier * clip_norm / 5)
        assert np.all(np.abs(ratios - 1) < 0.03), ratios
        assert np.all(np.abs(np.corrcoef(released.T) - np.eye(cases.DIMENSION)) < 0.04)
        found.append(ratios)
    return np.array(found)
