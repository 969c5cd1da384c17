"""DP²-RMSProp for PyTorch: an optimizer, and the step before Opacus' clipping that it needs.

The settings are those of the reference, `dp2theory.optimizers.dp2.Dp2RmsProp`:

    engine = opacus.PrivacyEngine()
    model, optimizer, loader = make_private(
        engine, module=model, data_loader=loader, settings=settings
    )

Training then goes as with any optimizer of Opacus. In adaptive phases gradients per sample are
divided by D *before* Opacus clips them, the clip norm is that of the phase and the noise is
scaled to it. Opacus' accountant sees every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dp2theory.integrations.missing import MissingFrameworkError
from dp2theory.optimizers.dp2 import Dp2RmsProp, Phases

try:
    import torch
    from opacus.optimizers import DPOptimizer
except ModuleNotFoundError as error:
    raise MissingFrameworkError(__name__, error, "torch") from error

__all__ = ["Dp2RMSprop", "PreconditionedDPOptimizer", "make_private", "preconditioned"]


class Dp2RMSprop(torch.optim.Optimizer):
    """DP²-RMSProp on released noisy means, as `PreconditionedDPOptimizer` leaves them in ``.grad``.

    ``state_dict`` holds step, vectors and settings (but for the noise multiplier); loading it
    resumes bit for bit, with the settings that were saved.

    Parameters
    ----------
    params : iterable
        Parameters or groups of them, float32 or float64. Groups may have ``lr`` (of the SGD
        phases) and ``adaptive_lr`` of their own; everything else is common to all.
    settings : Dp2RmsProp

    Raises
    ------
    ValueError
        For other settings, parameters of another type, or groups that differ elsewhere.
    """

    def __init__(self, params: Iterable[Any], settings: Dp2RmsProp) -> None:
        if not isinstance(settings, Dp2RmsProp):
            raise ValueError(f"settings={settings!r}: must be dp2theory.optimizers.dp2.Dp2RmsProp")
        defaults = {
            "lr": settings.learning_rate,
            "adaptive_lr": settings.adaptive_learning_rate,
            "clip_norm": settings.clip_norm,
            "preconditioned_clip_norm": settings.preconditioned_clip_norm,
            "sgd_steps": settings.phases.sgd_steps,
            "adaptive_steps": settings.phases.adaptive_steps,
            "ema": settings.ema,
            "damping": settings.damping,
            "step": 0,
        }
        self.released_step: int | None = None  # the step whose release ``.grad`` holds
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters before the first step; only learning rates may be theirs."""
        super().add_param_group(param_group)
        first, new = self.param_groups[0], self.param_groups[-1]
        common = self.defaults.keys() - {"lr", "adaptive_lr"}
        differ = sorted(key for key in common if new[key] != first[key])
        kinds = {p.dtype for p in new["params"] if p.requires_grad}
        if differ or kinds - {torch.float32, torch.float64}:
            self.param_groups.pop()
            raise ValueError(
                f"parameter group with its own {', '.join(differ) or 'kind of number'}: all must "
                f"be alike but for lr and adaptive_lr, and float32 or float64, not {kinds}"
            )

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self.param_groups[0]["step"])

    @property
    def phases(self) -> Phases:
        """Lengths of the phases."""
        return Phases(self.param_groups[0]["sgd_steps"], self.param_groups[0]["adaptive_steps"])

    @property
    def clip_norm(self) -> float:
        """Clip norm of the next step."""
        sgd = self.phases.is_sgd(self.steps)
        return float(self.param_groups[0]["clip_norm" if sgd else "preconditioned_clip_norm"])

    def preconditioner(self, parameter: Any) -> Any | None:
        """What gradients of a parameter are divided by at the next step; None in SGD phases.

        Raises
        ------
        RuntimeError
            In an adaptive phase, for a parameter that no SGD phase has moved.
        """
        if self.phases.is_sgd(self.steps):
            return None
        if parameter not in self.state:
            raise RuntimeError(
                f"step {self.steps}: a parameter of shape {tuple(parameter.shape)} has no D, as it "
                "did not require gradients in the SGD phase before; let it do so from the start "
                "of one"
            )
        return self.state[parameter]["preconditioner"]

    def step(self, closure: Callable[[], float] | None = None) -> None:
        """Move by the released means in ``.grad``.

        Raises
        ------
        RuntimeError
            If they do not come from a `PreconditionedDPOptimizer`, which divides and then clips.
        """
        if closure is not None or self.released_step != self.steps:
            raise RuntimeError(
                "Dp2RMSprop moves by what PreconditionedDPOptimizer releases: make the optimizer "
                "with dp2theory.integrations.torch.make_private or preconditioned"
            )
        phases, t = self.phases, self.steps
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.requires_grad:
                        self._move(parameter, group, phases.is_sgd(t), phases.ends_sgd(t))
                group["step"] = t + 1
        self.released_step = None

    def _move(self, parameter: Any, group: dict[str, Any], sgd: bool, ends: bool) -> None:
        parameter.sub_(parameter.grad, alpha=group["lr"] if sgd else group["adaptive_lr"])
        if not sgd:
            return
        state = self.state[parameter]
        if not state:
            for name in ("gradient_sum", "second_moment"):
                state[name] = torch.zeros_like(parameter)
            state["preconditioner"] = torch.full_like(parameter, group["damping"])
        state["gradient_sum"] += parameter.grad
        if ends:
            mean = state["gradient_sum"] / group["sgd_steps"]
            state["second_moment"].mul_(group["ema"]).add_(mean**2, alpha=1 - group["ema"])
            state["preconditioner"] = state["second_moment"].sqrt() + group["damping"]
            state["gradient_sum"] = torch.zeros_like(parameter)


class PreconditionedDPOptimizer(DPOptimizer):
    """Opacus' DPOptimizer, with gradients per sample divided by D before they are clipped.

    Parameters
    ----------
    optimizer : Dp2RMSprop
        Says clip norm and preconditioner of each step.
    **options
        For ``opacus.optimizers.DPOptimizer``, but for ``max_grad_norm``. The noise multiplier is
        the noise std on the sum over the clip norm of the phase, hence one for all phases.

    Raises
    ------
    ValueError
        If `optimizer` is another one, or sums are to be released instead of means.
    """

    def __init__(self, optimizer: Dp2RMSprop, **options: Any) -> None:
        if not isinstance(optimizer, Dp2RMSprop):
            raise ValueError(f"optimizer of type {type(optimizer).__name__}: must be a Dp2RMSprop")
        if options.get("loss_reduction", "mean") != "mean":  # learning rates and D are of means
            raise ValueError(
                f"loss_reduction={options['loss_reduction']!r}: must be 'mean' with DP²"
            )
        self.original_optimizer = optimizer
        super().__init__(optimizer, max_grad_norm=optimizer.clip_norm, **options)

    @property
    def max_grad_norm(self) -> float:
        """Clip norm of this step: Opacus clips to it and scales the noise to it."""
        return self.original_optimizer.clip_norm

    @max_grad_norm.setter
    def max_grad_norm(self, value: float) -> None:
        """Refuse another one."""
        if value != self.max_grad_norm:
            raise ValueError(f"max_grad_norm={value!r}: clip norms are in the settings of DP²")

    def clip_and_accumulate(self) -> None:
        """Divide gradients per sample by D in adaptive phases; then as Opacus does."""
        for parameter in self.params:
            divisor = self.original_optimizer.preconditioner(parameter)
            if divisor is not None:
                parameter.grad_sample = _divided(parameter.grad_sample, divisor)
        super().clip_and_accumulate()

    def pre_step(self, closure: Callable[[], float] | None = None) -> bool:
        """Clip, accumulate and, unless Opacus skips this step, add noise."""
        ready = bool(super().pre_step(closure))
        if ready:
            self.original_optimizer.released_step = self.original_optimizer.steps
        return ready


def _divided(gradients: Any, divisor: Any) -> Any:
    if isinstance(gradients, list):
        return [_divided(each, divisor) for each in gradients]
    if gradients is None or hasattr(gradients, "_processed"):
        return gradients  # Opacus refuses gradients that are missing or were used before
    return gradients.to(divisor.dtype) / divisor


def preconditioned(optimizer: DPOptimizer) -> PreconditionedDPOptimizer:
    """Replace the optimizer that Opacus made around a `Dp2RMSprop`; its step hook is kept.

    Others are a ValueError: clipping per layer, adaptive or without gradients per sample
    ("ghost"), and distributed training are not covered.
    """
    if type(optimizer) is not DPOptimizer:
        raise ValueError(
            f"optimizer of type {type(optimizer).__name__}: must be Opacus' DPOptimizer (flat "
            "clipping of gradients per sample, not distributed)"
        )
    kept = ("noise_multiplier", "expected_batch_size", "loss_reduction", "generator", "secure_mode")
    made = PreconditionedDPOptimizer(
        optimizer.original_optimizer, **{name: getattr(optimizer, name) for name in kept}
    )
    if optimizer.max_grad_norm != made.param_groups[0]["clip_norm"]:
        raise ValueError(f"max_grad_norm={optimizer.max_grad_norm!r}: must be clip_norm of DP²")
    made.step_hook = optimizer.step_hook
    return made


def make_private(
    engine: Any, *, module: Any, data_loader: Any, settings: Dp2RmsProp, **options: Any
) -> tuple[Any, PreconditionedDPOptimizer, Any]:
    """``engine.make_private`` with DP²-RMSProp.

    Parameters
    ----------
    engine : opacus.PrivacyEngine
    module, data_loader, **options
        As for ``engine.make_private``; clip norms and noise multiplier are in the settings.
    settings : Dp2RmsProp

    Returns
    -------
    tuple
        Module, optimizer and data loader.
    """
    for name in ("optimizer", "noise_multiplier", "max_grad_norm"):
        if name in options:
            raise ValueError(f"{name}={options[name]!r}: is in the settings of DP²")
    if options.get("clipping", "flat") != "flat":
        raise ValueError(f"clipping={options['clipping']!r}: must be flat with DP²")
    made = engine.make_private(
        module=module,
        optimizer=Dp2RMSprop(module.parameters(), settings),
        data_loader=data_loader,
        noise_multiplier=settings.noise_multiplier,
        max_grad_norm=settings.clip_norm,
        **options,
    )
    return made[0], preconditioned(made[1]), made[-1]
