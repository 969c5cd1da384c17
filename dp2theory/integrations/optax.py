"""DP²-RMSProp for JAX: what to clip at each step, and an optax transformation that takes it.

The settings are those of the reference, `dp2theory.optimizers.dp2.Dp2RmsProp`:

    optimizer = dp2_rmsprop(settings)
    state = optimizer.init(params)
    # at each step, with gradients per example (a leading axis on every leaf):
    released = noisy_mean(key, gradients, query(settings, state), expected_batch_size=256)
    updates, state = optimizer.update(released, state)
    params = optax.apply_updates(params, updates)

In adaptive phases each example's gradient is divided by D *before* it is clipped: a transformation
of the noisy mean alone cannot do that, hence `query`. Whoever clips elsewhere reads the divisor,
the clip norm and the noise multiplier from it. All functions can be compiled by ``jax.jit``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dp2theory.integrations.missing import MissingFrameworkError
from dp2theory.optimizers.dp2 import Dp2RmsProp
from dp2theory.problems.validation import positive_real

try:
    import jax
    import jax.numpy as jnp
    import optax
except ModuleNotFoundError as error:
    raise MissingFrameworkError(__name__, error, "jax") from error

__all__ = ["Dp2Query", "Dp2State", "dp2_rmsprop", "noisy_mean", "query"]


class Dp2State(NamedTuple):
    """What the transformation carries; computed from released means alone.

    Attributes
    ----------
    step : jax.Array
        Steps taken, a whole number; phases count from 0.
    gradient_sum, second_moment, preconditioner : pytree
        Sum of the releases of the SGD phase so far, v, and D = sqrt(v) + damping.
    """

    step: Any
    gradient_sum: Any
    second_moment: Any
    preconditioner: Any


class Dp2Query(NamedTuple):
    """One noisy clipped sum to be released; compare `dp2theory.optimizers.steps.Query`.

    Attributes
    ----------
    clip_norm : float or jax.Array
        l2 norm to which an example's divided gradient is clipped, over all leaves together.
    noise_multiplier : float or jax.Array
        Noise std on the sum over `clip_norm`.
    preconditioner : pytree
        What each example's gradient is divided by *before* it is clipped: ones in SGD phases.
    """

    clip_norm: Any
    noise_multiplier: Any
    preconditioner: Any


def dp2_rmsprop(settings: Dp2RmsProp) -> optax.GradientTransformation:
    """The update of DP²-RMSProp, given what the `query` of each step released.

    Parameters
    ----------
    settings : Dp2RmsProp
        Learning rates are in here: the updates are to be added to the parameters as they are.

    Returns
    -------
    optax.GradientTransformation
        Its state is a `Dp2State`, kept in float32 at least. ``update`` must be called exactly
        once per release, and needs no parameters.

    Raises
    ------
    ValueError
        For other settings, or (``init``) parameters that are no floating-point arrays.
    """
    _check_settings(settings)
    phases = settings.phases

    def init(params: Any) -> Dp2State:
        return Dp2State(
            step=jnp.zeros((), jnp.int32),
            gradient_sum=_filled(params, 0.0),
            second_moment=_filled(params, 0.0),
            preconditioner=_filled(params, settings.damping),
        )

    def update(updates: Any, state: Dp2State, params: Any = None) -> tuple[Any, Dp2State]:
        del params
        _check_state(state)
        _check_shapes("updates", updates, state.gradient_sum)
        position = state.step % phases.cycle
        sgd, ends = position < phases.sgd_steps, position == phases.sgd_steps - 1
        rate = jnp.where(sgd, settings.learning_rate, settings.adaptive_learning_rate)
        total = jax.tree.map(
            lambda old, new: jnp.where(sgd, old + new.astype(old.dtype), old),
            state.gradient_sum,
            updates,
        )
        second = jax.tree.map(
            lambda v, summed: jnp.where(
                ends,
                settings.ema * v + (1 - settings.ema) * (summed / phases.sgd_steps) ** 2,
                v,
            ),
            state.second_moment,
            total,
        )
        divisor = jax.tree.map(
            lambda old, v: jnp.where(ends, jnp.sqrt(v) + settings.damping, old),
            state.preconditioner,
            second,
        )
        total = jax.tree.map(lambda summed: jnp.where(ends, 0, summed), total)
        moves = jax.tree.map(lambda released: -rate.astype(released.dtype) * released, updates)
        return moves, Dp2State(state.step + 1, total, second, divisor)

    return optax.GradientTransformation(init, update)


def query(settings: Dp2RmsProp, state: Dp2State) -> Dp2Query:
    """What is to be released at the next step.

    Parameters
    ----------
    settings : Dp2RmsProp
        The same as of `dp2_rmsprop`.
    state : Dp2State
        Its state (inside ``optax.chain``: its entry of the chain's tuple).

    Returns
    -------
    Dp2Query
        Every step has the same noise multiplier, so that every step is the same event for an
        accountant: a sampled Gaussian, as in DP-SGD. The delay does not enter.
    """
    _check_settings(settings)
    _check_state(state)
    sgd = state.step % settings.phases.cycle < settings.phases.sgd_steps
    return Dp2Query(
        clip_norm=jnp.where(sgd, settings.clip_norm, settings.preconditioned_clip_norm),
        noise_multiplier=settings.noise_multiplier,
        preconditioner=jax.tree.map(lambda each: jnp.where(sgd, 1, each), state.preconditioner),
    )


def noisy_mean(
    key: Any,
    gradients: Any,
    asked: Dp2Query,
    *,
    expected_batch_size: float,
    mask: Any = None,
) -> Any:
    """Return (sum_i clip(g_i / D) + N(0, (sigma C)^2 I)) / b.

    Parameters
    ----------
    key : jax.Array
        Of ``jax.random``, used for this release alone. Its noise is repeatable, and hence no
        source of randomness for a deployment: whoever knows the key removes the noise.
    gradients : pytree
        Gradients per example, each leaf of shape (batch, *shape of the parameter).
    asked : Dp2Query
        D, C and sigma.
    expected_batch_size : float
        The public divisor b > 0, a Python number; never the size of the batch that was drawn.
    mask : array of bool, shape (batch,), optional
        Which rows are examples of the batch; the others pad it to a fixed shape, so that
        Poisson batches of all sizes share one compiled program.

    Returns
    -------
    pytree
        Of the structure of the parameters, in float32 at least. An example whose divided
        gradient has no finite norm counts as zero: a single one would tell of itself otherwise.

    Raises
    ------
    ValueError
        For another divisor, trees that do not match, or one without arrays.
    """
    positive_real("expected_batch_size", expected_batch_size)
    if not jax.tree.leaves(gradients):
        raise ValueError("gradients holds no array: must have one per parameter")
    divided = jax.tree.map(
        lambda gradient, divisor: jnp.asarray(gradient) / divisor, gradients, asked.preconditioner
    )
    leaves, structure = jax.tree.flatten(divided)
    examples = jnp.shape(leaves[0])[:1] if mask is None else jnp.shape(mask)
    _check_shapes("gradients", gradients, asked.preconditioner, examples or (0,))
    norms = jnp.sqrt(sum(jnp.sum(leaf**2, axis=tuple(range(1, leaf.ndim))) for leaf in leaves))
    counted = jnp.isfinite(norms)
    if mask is not None:
        counted &= jnp.asarray(mask, bool)
    factors = asked.clip_norm / jnp.maximum(norms, asked.clip_norm)

    def released(leaf: Any, own_key: Any) -> Any:
        shape = (-1,) + (1,) * (leaf.ndim - 1)
        # Zeroed, not only multiplied by zero: an infinity times zero is no number.
        clipped = jnp.where(counted.reshape(shape), factors.reshape(shape) * leaf, 0)
        total = clipped.sum(axis=0)
        noise = jax.random.normal(own_key, total.shape, total.dtype)
        scale = jnp.asarray(asked.noise_multiplier * asked.clip_norm, total.dtype)
        return (total + scale * noise) / expected_batch_size

    keys = jax.random.split(key, len(leaves))
    return jax.tree.unflatten(
        structure, [released(*each) for each in zip(leaves, keys, strict=True)]
    )


def _filled(params: Any, value: float) -> Any:
    def one(leaf: Any) -> Any:
        leaf = jnp.asarray(leaf)
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            raise ValueError(f"params holds an array of {leaf.dtype}: must be floating point")
        return jnp.full(leaf.shape, value, jnp.promote_types(leaf.dtype, jnp.float32))

    return jax.tree.map(one, params)


def _check_shapes(name: str, given: Any, like: Any, leading: tuple[int, ...] = ()) -> None:
    wanted = jax.tree.map(lambda each: leading + jnp.shape(each), like)
    found = jax.tree.map(jnp.shape, given)
    if found != wanted:  # would be stretched in silence otherwise
        raise ValueError(f"{name} of shapes {found}: must have shapes {wanted}")


def _check_settings(settings: object) -> None:
    if not isinstance(settings, Dp2RmsProp):
        raise ValueError(f"settings={settings!r}: must be a dp2theory.optimizers.dp2.Dp2RmsProp")


def _check_state(state: object) -> None:
    if not isinstance(state, Dp2State):
        raise ValueError(
            f"state of type {type(state).__name__}: must be the Dp2State of dp2_rmsprop"
        )
