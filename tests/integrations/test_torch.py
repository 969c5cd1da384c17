"""DP²-RMSProp as a torch optimizer inside Opacus."""

import io

import numpy as np
import pytest

from accountants import ExactAccountant
from accountants.events import dp_sgd_event
from accountants.sampling import Poisson
from tests.integrations import dp2_cases as cases
from tests.integrations.packages import needs

torch = needs("torch", "torch")
opacus = needs("opacus", "opacus")
ours = needs("dp2theory.integrations.torch", "torch")
from tests.integrations import torch_checks as checks  # noqa: E402

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]


def test_a_run_without_noise_is_the_reference_run():
    found = checks.check_run(ours)
    print(f"\n  float64, no noise, sample rate 1, clipped: {found} from the reference (the 1e-6")
    print(
        "  that Opacus adds to norms); equal to 1e-12 with that 1e-6, or where nothing is clipped"
    )


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)], ids=str
)
def test_state_comes_from_releases(dtype, tolerance):
    worst = checks.check_state_comes_from_releases(ours, dtype, tolerance)
    print(f"\n  {dtype}: parameters after 60 noisy steps within {worst:.1e} of the reference")


def test_one_example_moves_the_sum_by_the_clip_norm_at_most():
    checks.check_one_example_moves_the_sum_by_the_clip_norm_at_most(ours)


def test_noise_per_coordinate_in_both_phases():
    ratios = checks.check_noise(ours)
    print(f"\n  noise std over sigma C / b: {ratios.min():.4f} to {ratios.max():.4f}")


def whole_training(steps, *, resume_at=None):
    """Parameters after noisy steps, optionally stopped and taken up by new objects."""
    settings = cases.dp2()
    made = checks.model(torch.float32)
    optimizer = checks.optimizer_of(ours, made, settings, noise_multiplier=0.8)
    if resume_at is None:
        checks.trained(made, optimizer, steps, torch.float32)
        return checks.flat(optimizer.params)
    checks.trained(made, optimizer, resume_at, torch.float32)
    file = io.BytesIO()
    state = {
        "model": made.state_dict(),
        "optimizer": optimizer.state_dict(),
        "noise": optimizer.generator.get_state(),
    }
    torch.save(state, file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    made = checks.model(torch.float32)
    optimizer = checks.optimizer_of(ours, made, cases.dp2(delay=9), noise_multiplier=0.8, seed=1)
    made.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    optimizer.generator.set_state(state["noise"])
    assert optimizer.original_optimizer.steps == resume_at
    checks.trained(made, optimizer, steps - resume_at, torch.float32)
    return checks.flat(optimizer.params)


@pytest.mark.parametrize("resume_at", [1, 3, 4, 5, 9])
def test_a_run_resumes_bit_for_bit(resume_at):
    np.testing.assert_array_equal(whole_training(13, resume_at=resume_at), whole_training(13))


def loader(records=200, batch_size=20):
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(records, 3), torch.randn(records, 1))
    return torch.utils.data.DataLoader(data, batch_size=batch_size)


def private(accountant="rdp", batches=None, **options):
    engine = opacus.PrivacyEngine(accountant=accountant)
    made = ours.make_private(
        engine,
        module=torch.nn.Linear(3, 1),
        data_loader=loader() if batches is None else batches,
        settings=cases.dp2(),
        **options,
    )
    return engine, *made


def step_on(made, optimizer, features, targets):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(made(features), targets).backward()
    optimizer.step()


def test_the_engine_accounts_every_step_as_one_of_dp_sgd():
    from dp2theory.integrations import opacus as exact

    exact.register(force=True)
    engine, made, optimizer, batches = private("exact")
    for _ in range(2):
        for features, targets in batches:
            step_on(made, optimizer, features, targets)
    assert engine.accountant.history == [(0.8, 0.1, 20)]
    assert optimizer.original_optimizer.steps == 20
    event = dp_sgd_event(sampling=Poisson(0.1), noise_multiplier=0.8, steps=20)
    assert engine.get_epsilon(1e-5) == ExactAccountant().compose(event).get_epsilon(1e-5)


def test_physical_batches_of_any_size_are_one_step():
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    ends = []
    for physical in (1000, 6):
        torch.manual_seed(1)
        generator = torch.Generator().manual_seed(2)
        engine, made, optimizer, batches = private(noise_generator=generator)
        with BatchMemoryManager(
            data_loader=batches, max_physical_batch_size=physical, optimizer=optimizer
        ) as physical_batches:
            for features, targets in physical_batches:
                step_on(made, optimizer, features, targets)
        assert len(engine.accountant) == 1
        assert engine.accountant.history[0][2] == optimizer.original_optimizer.steps == 10
        ends.append(checks.flat(optimizer.params))
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-4)


def test_accumulated_gradients_are_divided_too():
    """Two passes before a step: Opacus then averages over both and accounts twice the rate."""
    settings = cases.dp2()
    made, optimizer = checks.first_adaptive_step(ours, settings, noise_multiplier=0.0)
    optimizer.zero_grad()
    divisor = checks.flat(optimizer.state[each]["preconditioner"] for each in optimizer.params)
    checks.backward(made, rows=slice(0, 15))
    checks.backward(made, rows=slice(15, 40))
    optimizer.step()
    twice = checks.flat(each.grad for each in optimizer.params)
    made, optimizer = checks.first_adaptive_step(ours, settings, noise_multiplier=0.0)
    optimizer.zero_grad()
    checks.backward(made)
    raw = checks.flat(each.grad_sample.mean(axis=0) for each in optimizer.params)
    optimizer.step()
    once = checks.flat(each.grad for each in optimizer.params)
    np.testing.assert_allclose(2 * twice, once, rtol=1e-12)
    assert np.all(np.abs(divisor) > 0)
    assert not np.allclose(once, raw)


def test_an_empty_batch_is_a_step_of_noise():
    settings = cases.dp2()
    made, optimizer = checks.first_adaptive_step(ours, settings, noise_multiplier=0.8)
    optimizer.zero_grad()
    checks.backward(made, rows=slice(0, 0))
    optimizer.step()
    assert np.all(np.isfinite(checks.flat(optimizer.params)))
    assert optimizer.original_optimizer.steps == 4


def test_gradients_that_were_not_released_here_are_refused():
    settings = cases.dp2()
    linear = torch.nn.Linear(3, 1)
    alone = ours.Dp2RMSprop(linear.parameters(), settings)
    linear(torch.ones(1, 3)).sum().backward()
    with pytest.raises(RuntimeError, match="make_private"):
        alone.step()
    engine = opacus.PrivacyEngine()
    linear = torch.nn.Linear(3, 1)
    made, plain, batches = engine.make_private(
        module=linear,
        optimizer=ours.Dp2RMSprop(linear.parameters(), settings),
        data_loader=loader(),
        noise_multiplier=1.0,
        max_grad_norm=settings.clip_norm,
    )
    features, targets = next(iter(batches))
    with pytest.raises(RuntimeError, match="make_private"):
        step_on(made, plain, features, targets)
    step_on(made, ours.preconditioned(plain), features, targets)


def test_gradients_are_never_used_twice():
    made, optimizer = checks.first_adaptive_step(ours, cases.dp2(), noise_multiplier=0.8)
    optimizer.zero_grad()
    checks.backward(made)
    optimizer.step()
    with pytest.raises(ValueError, match="zero_grad"):
        optimizer.step()


def test_what_is_not_covered_is_refused():
    linear = torch.nn.Linear(3, 1)
    with pytest.raises(ValueError, match="settings="):
        ours.Dp2RMSprop(linear.parameters(), None)
    with pytest.raises(ValueError, match="float16"):
        ours.Dp2RMSprop(torch.nn.Linear(3, 1).half().parameters(), cases.dp2())
    groups = [{"params": [linear.weight]}, {"params": [linear.bias], "ema": 0.5}]
    with pytest.raises(ValueError, match="ema"):
        ours.Dp2RMSprop(groups, cases.dp2())
    with pytest.raises(ValueError, match="SGD"):
        ours.PreconditionedDPOptimizer(
            torch.optim.SGD(linear.parameters()), noise_multiplier=1.0, expected_batch_size=1
        )
    with pytest.raises(ValueError, match="DPPerLayerOptimizer"):
        ours.preconditioned(
            opacus.optimizers.DPPerLayerOptimizer(
                ours.Dp2RMSprop(linear.parameters(), cases.dp2()),
                noise_multiplier=1.0,
                max_grad_norm=[1.0, 1.0],
                expected_batch_size=1,
            )
        )
    other_norm = opacus.optimizers.DPOptimizer(
        ours.Dp2RMSprop(linear.parameters(), cases.dp2()),
        noise_multiplier=1.0,
        max_grad_norm=7.0,
        expected_batch_size=1,
    )
    with pytest.raises(ValueError, match=r"max_grad_norm=7\.0"):
        ours.preconditioned(other_norm)
    _, _, optimizer, _ = private()
    with pytest.raises(ValueError, match=r"max_grad_norm=7\.0"):
        optimizer.max_grad_norm = 7.0
    for options in ({"clipping": "per_layer"}, {"grad_sample_mode": "ghost"}):
        with pytest.raises(ValueError, match="flat"):
            private(**options)
    with pytest.raises(ValueError, match="loss_reduction='sum': must be 'mean'"):
        private(loss_reduction="sum")
    for name in ("optimizer", "noise_multiplier", "max_grad_norm"):
        with pytest.raises(ValueError, match=f"{name}=2: is in the settings"):
            private(**{name: 2})


def test_what_has_no_preconditioner_is_not_divided_by_another():
    settings = cases.dp2()
    made = checks.model()
    linear = made._module
    linear.bias.requires_grad_(False)
    optimizer = checks.optimizer_of(ours, made, settings, noise_multiplier=0.8)
    checks.trained(made, optimizer, settings.phases.sgd_steps)
    linear.bias.requires_grad_(True)
    with pytest.raises(RuntimeError, match=r"shape \(1,\) has no D"):
        checks.trained(made, optimizer, 1)


def test_schedules_of_the_learning_rate_change_that_of_sgd_phases():
    _, made, optimizer, batches = private()
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    features, targets = next(iter(batches))
    step_on(made, optimizer, features, targets)
    schedule.step()
    (group,) = optimizer.param_groups
    assert (group["lr"], group["adaptive_lr"]) == (0.35, 0.02)


def test_a_checkpoint_of_the_engine_holds_it(tmp_path):
    engine, made, optimizer, batches = private()
    for features, targets in batches:
        step_on(made, optimizer, features, targets)
    engine.save_checkpoint(path=tmp_path / "run.pt", module=made, optimizer=optimizer)
    engine, made, again, _ = private()
    engine.load_checkpoint(path=tmp_path / "run.pt", module=made, optimizer=again)
    assert engine.accountant.history == [(0.8, 0.1, 10)]
    assert again.original_optimizer.steps == 10
    for old, new in zip(optimizer.params, again.params, strict=True):
        assert torch.equal(old, new)
        for name, value in optimizer.state[old].items():
            assert torch.equal(value, again.state[new][name])


def test_learning_rates_of_a_group_are_its_own():
    linear = torch.nn.Linear(3, 1)
    groups = [{"params": [linear.weight]}, {"params": [linear.bias], "lr": 0.0}]
    inner = ours.Dp2RMSprop(groups, cases.dp2())
    optimizer = ours.PreconditionedDPOptimizer(inner, noise_multiplier=1.0, expected_batch_size=4)
    made, before = opacus.GradSampleModule(linear), linear.bias.clone()
    step_on(made, optimizer, torch.ones(4, 3), torch.ones(4, 1))
    assert torch.equal(linear.bias, before)
    assert inner.state[linear.bias]["gradient_sum"].abs() > 0
