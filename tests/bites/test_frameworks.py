"""Broken DP² in JAX and PyTorch: the checks of tests/integrations must catch each."""

from types import SimpleNamespace

import pytest

from tests.integrations.packages import needs

jax = needs("jax", "jax")
needs("optax", "optax")
torch = needs("torch", "torch")
needs("opacus", "opacus")
from dp2theory.integrations import optax as in_jax  # noqa: E402
from dp2theory.integrations import torch as in_torch  # noqa: E402
from tests.integrations import optax_checks, torch_checks  # noqa: E402

jnp = jax.numpy
pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]


def jax_library(**broken):
    real = {name: getattr(in_jax, name) for name in ("dp2_rmsprop", "query", "noisy_mean")}
    return SimpleNamespace(**real | broken)


def clips_then_divides(key, gradients, asked, **options):
    ones = jax.tree.map(jnp.ones_like, asked.preconditioner)
    released = in_jax.noisy_mean(key, gradients, asked._replace(preconditioner=ones), **options)
    return jax.tree.map(jnp.divide, released, asked.preconditioner)


def noise_of_sgd_phases(key, gradients, asked, **options):
    clip_norm = torch_checks.cases.SETTINGS["clip_norm"]
    quieter = asked.noise_multiplier * clip_norm / asked.clip_norm
    return in_jax.noisy_mean(key, gradients, asked._replace(noise_multiplier=quieter), **options)


def half_the_noise(key, gradients, asked, **options):
    halved = asked._replace(noise_multiplier=asked.noise_multiplier / 2)
    return in_jax.noisy_mean(key, gradients, halved, **options)


def same_noise_in_all_leaves(key, gradients, asked, **options):
    clean = in_jax.noisy_mean(key, gradients, asked._replace(noise_multiplier=0.0), **options)
    scale = asked.noise_multiplier * asked.clip_norm / options["expected_batch_size"]
    return jax.tree.map(lambda each: each + scale * jax.random.normal(key, each.shape), clean)


def clips_each_leaf(key, gradients, asked, **options):
    del options["expected_batch_size"]
    return jax.tree.map(
        lambda leaf, divisor: in_jax.noisy_mean(
            key, [leaf], asked._replace(preconditioner=[divisor]), expected_batch_size=1
        )[0],
        gradients,
        asked.preconditioner,
    )


class Peeking:
    """v takes in the mean without noise: a library with a memory."""

    query = staticmethod(in_jax.query)

    def noisy_mean(self, key, gradients, asked, **options):
        self.clean = in_jax.noisy_mean(
            key, gradients, asked._replace(noise_multiplier=0.0), **options
        )
        return in_jax.noisy_mean(key, gradients, asked, **options)

    def dp2_rmsprop(self, settings):
        real = in_jax.dp2_rmsprop(settings)

        def update(updates, state, params=None):
            moves, _ = real.update(updates, state)
            return moves, real.update(self.clean, state)[1]

        return real._replace(update=update)


def query_without_phases(settings, state):
    return in_jax.query(settings, state._replace(step=jnp.zeros((), jnp.int32)))


ONE_EXAMPLE = "check_one_example_moves_the_sum_by_the_clip_norm_at_most"
JAX_FAULTS = [
    (clips_then_divides, "check_run"),
    (clips_then_divides, ONE_EXAMPLE),
    (clips_each_leaf, ONE_EXAMPLE),
    (noise_of_sgd_phases, "check_noise"),
    (half_the_noise, "check_noise"),
    (same_noise_in_all_leaves, "check_noise"),
    (Peeking, "check_state_comes_from_releases"),
    (query_without_phases, "check_run"),
]


def broken_library(fault):
    if fault is Peeking:
        return Peeking()
    if fault is query_without_phases:
        return jax_library(query=fault)
    return jax_library(noisy_mean=fault)


def ids(value):
    return value if isinstance(value, str) else value.__name__


@pytest.mark.parametrize(("fault", "check"), JAX_FAULTS, ids=ids)
def test_faults_in_jax_are_caught(fault, check):
    with pytest.raises(AssertionError):
        getattr(optax_checks, check)(broken_library(fault))


class ClipsThenDivides(in_torch.PreconditionedDPOptimizer):
    def clip_and_accumulate(self):
        in_torch.DPOptimizer.clip_and_accumulate(self)
        for each in self.params:
            divisor = self.original_optimizer.preconditioner(each)
            if divisor is not None:
                each.summed_grad = each.summed_grad / divisor


class NeverDivides(in_torch.PreconditionedDPOptimizer):
    def clip_and_accumulate(self):
        in_torch.DPOptimizer.clip_and_accumulate(self)


class ClipsToTheNormOfSgdPhases(in_torch.PreconditionedDPOptimizer):
    """Noise is scaled to it as well: private, but another algorithm."""

    @property
    def max_grad_norm(self):
        return self.original_optimizer.param_groups[0]["clip_norm"]

    @max_grad_norm.setter
    def max_grad_norm(self, value):
        pass


class NoiseOfSgdPhases(in_torch.PreconditionedDPOptimizer):
    def add_noise(self):
        group, kept = self.original_optimizer.param_groups[0], self.noise_multiplier
        self.noise_multiplier = kept * group["clip_norm"] / self.max_grad_norm
        super().add_noise()
        self.noise_multiplier = kept


class Peeks(in_torch.Dp2RMSprop):
    """v takes in the sum before noise."""

    def _move(self, parameter, group, sgd, ends):
        noisy = parameter.grad
        super()._move(parameter, group, sgd, False)
        if sgd:
            self.state[parameter]["gradient_sum"] += parameter.summed_grad / 40 - noisy
        if ends:
            parameter.grad = torch.zeros_like(noisy)
            super()._move(parameter, group, True, True)
            parameter.grad = noisy


class BiasCorrected(in_torch.Dp2RMSprop):
    def _move(self, parameter, group, sgd, ends):
        super()._move(parameter, group, sgd, ends)
        if ends:
            moment = self.state[parameter]["second_moment"] / (1 - group["ema"])
            self.state[parameter]["preconditioner"] = moment.sqrt() + group["damping"]


TORCH_FAULTS = [
    (ClipsThenDivides, "check_run"),
    (ClipsThenDivides, ONE_EXAMPLE),
    (NeverDivides, "check_run"),
    (ClipsToTheNormOfSgdPhases, "check_run"),
    (NoiseOfSgdPhases, "check_noise"),
    (Peeks, "check_state_comes_from_releases"),
    (BiasCorrected, "check_run"),
]


@pytest.mark.parametrize(("fault", "check"), TORCH_FAULTS, ids=ids)
def test_faults_in_torch_are_caught(fault, check):
    names = ("Dp2RMSprop", "PreconditionedDPOptimizer")
    parts = {name: getattr(in_torch, name) for name in names}
    (replaced,) = [name for name, real in parts.items() if issubclass(fault, real)]
    with pytest.raises(AssertionError):
        getattr(torch_checks, check)(SimpleNamespace(**parts | {replaced: fault}))
