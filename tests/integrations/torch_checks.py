"""Checks of the torch optimizer: true of the real one, false of broken ones.

`library` has the classes ``Dp2RMSprop`` and ``PreconditionedDPOptimizer``.
"""

import numpy as np
import torch
from opacus import GradSampleModule

from tests.integrations import dp2_cases as cases

START = np.linspace(-1, 1, cases.DIMENSION)
TINY = 1e-6  # Opacus adds it to norms before it divides by them


def model(dtype=torch.float64):
    """A linear model whose flattened parameters are in the order of the reference."""
    made = torch.nn.Linear(cases.DIMENSION - 1, 1).to(dtype)
    with torch.no_grad():
        made.bias.copy_(torch.tensor(START[:1]))
        made.weight.copy_(torch.tensor(START[None, 1:]))
    return GradSampleModule(made)


def optimizer_of(library, made, settings, *, noise_multiplier, seed=0, batch=cases.RECORDS):
    linear = made._module
    inner = library.Dp2RMSprop([linear.bias, linear.weight], settings)
    return library.PreconditionedDPOptimizer(
        inner,
        noise_multiplier=noise_multiplier,
        expected_batch_size=batch,
        generator=torch.Generator().manual_seed(seed),
    )


def flat(tensors):
    return torch.cat([each.detach().flatten() for each in tensors]).numpy().astype(np.float64)


def backward(made, dtype=torch.float64, rows=slice(None), scale=1.0):
    features, targets = cases.toy()
    logits = made(scale * torch.tensor(features[rows, 1:], dtype=dtype))
    aim = torch.tensor(targets[rows, None], dtype=dtype)
    torch.nn.functional.binary_cross_entropy_with_logits(logits, aim).backward()


def trained(made, optimizer, steps, dtype=torch.float64):
    """A loop as a user writes it; returns what was released."""
    releases = []
    for _ in range(steps):
        optimizer.zero_grad()
        backward(made, dtype)
        optimizer.step()
        releases.append(flat(each.grad for each in optimizer.params))
    return np.array(releases)


def literal(settings, steps):
    """The reference's `apply` on sums clipped by Opacus' rule, C / (norm + 1e-6)."""
    features, targets = cases.toy()
    parameters, state = START, settings.initial_state(cases.DIMENSION)
    for _ in range(steps):
        query = settings.query(state)
        slopes = 1 / (1 + np.exp(-features @ parameters)) - targets
        gradients = slopes[:, None] * features
        if query.preconditioner is not None:
            gradients = gradients / query.preconditioner
        norms = np.linalg.norm(gradients, axis=1) + TINY
        clipped = gradients * np.minimum(1, query.clip_norm / norms)[:, None]
        released = clipped.sum(axis=0) / cases.RECORDS
        parameters, state = settings.apply(parameters, state, released)
    return parameters


def check_run(library):
    """Noise off, sample rate 1: the parameters of the reference's own run."""
    found = {}
    for steps in (1, 3, 5, 13):
        settings = cases.dp2(noise_multiplier=1e-300)
        made = model()
        optimizer = optimizer_of(library, made, settings, noise_multiplier=0.0)
        trained(made, optimizer, steps)
        got = flat(optimizer.params)
        assert cases.relative_error(got, literal(settings, steps)) < 1e-12
        # the reference divides by the norm itself: what 1e-6 does to a clipped gradient remains
        found[steps] = cases.relative_error(got, cases.whole_batches(settings, steps)[0].parameters)
        assert found[steps] < 1e-4
    # where nothing is clipped, nothing remains
    settings = cases.dp2(noise_multiplier=1e-300, clip_norm=1e4, preconditioned_clip_norm=1e6)
    made = model()
    optimizer = optimizer_of(library, made, settings, noise_multiplier=0.0)
    trained(made, optimizer, 13)
    expected, _ = cases.whole_batches(settings, 13)
    assert cases.relative_error(flat(optimizer.params), expected.parameters) < 1e-12
    return found


def check_state_comes_from_releases(library, dtype=torch.float64, tolerance=1e-12):
    """Noise on: parameters and state are the reference's, given what was released."""
    settings = cases.dp2()
    made = model(dtype)
    start = flat(made.parameters())[[6, 0, 1, 2, 3, 4, 5]]
    optimizer = optimizer_of(library, made, settings, noise_multiplier=0.8)
    releases = trained(made, optimizer, 60, dtype)
    expected, reference = cases.from_releases(settings, start, releases)
    worst = cases.relative_error(flat(optimizer.params), expected)
    assert worst < tolerance
    for name, value in reference.arrays.items():
        got = flat(optimizer.state[each][name] for each in optimizer.params)
        np.testing.assert_allclose(got, value, rtol=10 * tolerance, atol=tolerance / 10)
    return worst


def first_adaptive_step(library, settings, *, noise_multiplier):
    """A model and its optimizer after the first SGD phase."""
    made = model()
    optimizer = optimizer_of(library, made, settings, noise_multiplier=noise_multiplier)
    trained(made, optimizer, settings.phases.sgd_steps)
    return made, optimizer


def check_one_example_moves_the_sum_by_the_clip_norm_at_most(library):
    """However long its gradient is, before or after division."""
    settings = cases.dp2()
    for steps in (0, settings.phases.sgd_steps):
        for record in range(10):
            made = model()
            optimizer = optimizer_of(library, made, settings, noise_multiplier=0.0)
            trained(made, optimizer, steps)
            clip_norm = (settings.clip_norm, settings.preconditioned_clip_norm)[steps > 0]
            optimizer.zero_grad()
            backward(made, rows=slice(record, record + 1), scale=100.0)
            optimizer.clip_and_accumulate()
            length = np.linalg.norm(flat(each.summed_grad for each in optimizer.params))
            assert length <= clip_norm * (1 + 1e-9)


def check_noise(library, draws=20_000):
    """Standard deviation sigma C / b in each coordinate, C that of the phase; uncorrelated."""
    settings, found = cases.dp2(), []
    norms = (settings.clip_norm, settings.preconditioned_clip_norm)
    for steps, clip_norm in zip((0, settings.phases.sgd_steps), norms, strict=True):
        made = model()
        optimizer = optimizer_of(library, made, settings, noise_multiplier=0.8)
        trained(made, optimizer, steps)
        optimizer.zero_grad()
        backward(made, rows=slice(0, 0))
        released = []
        for _ in range(draws):
            for each in optimizer.params:
                each.summed_grad = torch.zeros_like(each)
            optimizer.add_noise()
            optimizer.scale_grad()
            released.append(flat(each.grad for each in optimizer.params))
        ratios = np.std(released, axis=0) / (0.8 * clip_norm / cases.RECORDS)
        assert np.all(np.abs(ratios - 1) < 0.03), ratios
        assert np.all(np.abs(np.corrcoef(np.array(released).T) - np.eye(len(START))) < 0.04)
        found.append(ratios)
    return np.array(found)
